//! `durward lab plan`.

use crate::failure::{Failure, Outcome};

/// How many nodes a goal needs, and what they cost
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

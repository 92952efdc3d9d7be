//! `durward lab compare`.

use crate::failure::{Failure, Outcome};

/// Compare records, with intervals and a verdict
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

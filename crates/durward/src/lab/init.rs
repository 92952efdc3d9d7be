//! `durward lab init`.

use crate::failure::{Failure, Outcome};

/// Write a scenario for a server of your own
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

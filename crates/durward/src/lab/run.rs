//! `durward lab run`.

use crate::failure::{Failure, Outcome};

/// Run a scenario: make load, watch the target, write a record and a report
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

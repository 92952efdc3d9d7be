//! `durward lab simulate`.

use crate::failure::{Failure, Outcome};

/// Simulate a deployment, with service times that were measured
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

//! `durward lab fit`.

use crate::failure::{Failure, Outcome};

/// Fit the Universal Scalability Law to measurements, and say how far it scales
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

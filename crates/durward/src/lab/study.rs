//! `durward lab study`.

use crate::failure::{Failure, Outcome};

/// Run a whole study and write its report
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

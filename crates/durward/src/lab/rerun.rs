//! `durward lab rerun`.

use crate::failure::{Failure, Outcome};

/// Run again what a record or report came from
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

//! `durward lab report`.

use crate::failure::{Failure, Outcome};

/// Draw records: one page, PDF, pictures, data
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

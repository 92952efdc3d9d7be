//! `durward lab agent`.

use crate::failure::{Failure, Outcome};

/// Make load for a `durward lab run` on another machine
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

/// Runs the command.
pub(super) fn run(_: &Arguments) -> Outcome {
    Err(Failure::new("not built yet"))
}

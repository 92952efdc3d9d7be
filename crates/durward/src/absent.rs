//! Commands that this build is without: each names the feature of cargo that brings it.

use crate::failure::{CommandError, CommandResult};

/// Whatever follows the command: none of it is looked at.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// What the command would be given
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<String>,
}

/// Says which feature the command comes with.
pub(crate) fn run(command: &str, feature: &str) -> CommandResult {
    Err(CommandError::new(format!(
        "this durward was built without the feature `{feature}`, which `{command}` needs"
    ))
    .hint("build it with all: `cargo install --path crates/durward --profile optimised --features full`"))
}

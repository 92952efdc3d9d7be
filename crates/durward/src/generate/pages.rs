//! `durward generate man` and `durward generate completions`: what packages install beside the binary, from the commands themselves.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::{CommandError, CommandResult, without_number};
use crate::{Arguments, to_stdout};

const MAN_EXAMPLES: &str = "\
Examples:
  durward generate man man1/ && man man1/durward-serve.1";

const COMPLETION_EXAMPLES: &str = "\
Examples:
  durward generate completions bash > ~/.local/share/bash-completion/completions/durward
  durward generate completions zsh > ~/.zfunc/_durward      # a directory of fpath
  durward generate completions fish > ~/.config/fish/completions/durward.fish";

#[derive(Debug, clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManPages {
    /// Where the pages go; durward makes the directory if it is missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

#[derive(Debug, clap::Args)]
#[command(after_help = COMPLETION_EXAMPLES)]
pub(crate) struct Completions {
    /// The shell that reads the script
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Writes one page for each command, such as `durward-serve.1`.
pub(crate) fn man(arguments: &ManPages) -> CommandResult {
    let directory = &arguments.directory;
    std::fs::create_dir_all(directory).map_err(|error| unwritable(directory, &error))?;
    clap_mangen::generate_to(Arguments::command(), directory)
        .map_err(|error| unwritable(directory, &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the script for the shell.
pub(crate) fn completions(arguments: &Completions) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "durward", &mut script);
    to_stdout(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandError {
    let why = without_number(&error.to_string());
    CommandError::new(format!("cannot write to {}: {why}", path.display()))
}

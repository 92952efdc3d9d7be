//! `durward lab rerun`.

use std::fs;
use std::path::PathBuf;

use durward_lab::record::RunRecord;

use super::run::{RunArguments, run_text};
use crate::failure::{CommandError, CommandResult};

/// Run again what a record came from: the same scenario, the same seed
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The record: `record.json` of an earlier run, or the page of its report
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Where the files are that the scenario names; without it the current directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    how: RunArguments,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let path = &arguments.record;
    let text = fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let record = RunRecord::read(&text).map_err(|error| CommandError::new(error.to_string()).at(path))?;
    if record.about.scenario.is_empty() {
        return Err(CommandError::new("holds no scenario to run again").at(path));
    }
    let name = format!("{}-again", record.about.name.replace(|letter: char| !letter.is_alphanumeric(), "-"));
    run_text(&record.about.scenario, path, &arguments.folder, &name, &arguments.how)
}

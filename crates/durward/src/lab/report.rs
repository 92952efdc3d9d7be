//! `durward lab report`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_lab::record::Record;
use durward_lab::report::{self, Options, ReportError};

use crate::failure::{Failure, Outcome, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab report run.json --out report/
  durward lab report run.json --out report/ --pdf

Writes index.html, which stands alone: the verdict in words, throughput with its fit, percentiles, resources, errors, what was
run and on what. Beside it each picture as SVG and PNG, the numbers as CSV and JSON, the histograms as an interval log of
HdrHistogram, and with --pdf the same as report.pdf. docs/lab-report.md says how to read it.";

/// Draw records: one page, PDF, pictures, data
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What `durward lab run` wrote; several stand one after the other
    #[arg(value_name = "RECORD.json", required = true)]
    records: Vec<PathBuf>,
    /// Where to; the directory is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Also write report.pdf
    #[arg(long)]
    pdf: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let records = arguments.records.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let options = Options { has_pdf: arguments.pdf };
    let names = report::write(&records, &arguments.out, &options).map_err(|error| failure(&error))?;
    to_stdout(&format!("{}: {}\n", arguments.out.display(), names.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a record.
pub(super) fn read(path: &Path) -> Result<Record, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(path, &error))?;
    Record::read(&text).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display())).hint("give files that `durward lab run` wrote")
    })
}

/// Why a report is not there.
pub(crate) fn failure(error: &ReportError) -> Failure {
    match error {
        ReportError::Write(path, why) => {
            Failure::new(format!("cannot write to {}: {}", path.display(), without_number(&why.to_string())))
        }
        ReportError::Draw(..) => Failure::new(error.to_string()),
    }
}

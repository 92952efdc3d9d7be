//! `durward lab report`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_bench::report::BenchReport as Measurements;
use durward_lab::record::RunRecord;
use durward_lab::report::{self, Options, ReportError};

use crate::failure::{CommandError, CommandResult, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward lab report run.json --out report/
  durward lab report run.json --out report/ --pdf

Writes index.html, which stands alone: the verdict in words, throughput with its fit, percentiles, resources, errors, what was
run and on what. Beside it each picture as SVG, and as PNG with the cargo feature `pictures`, the numbers as CSV and JSON, the
histograms as an interval log of HdrHistogram, and with --pdf the same as report.pdf. docs/lab-report.md says how to read it.";

/// Draw records: one page, PDF, pictures, data
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What `durward lab run` wrote, or `durward bench` with `--json`; several stand one after the other
    #[arg(value_name = "RECORD.json", required = true)]
    records: Vec<PathBuf>,
    /// Where to; the directory is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Also write report.pdf: needs the cargo feature `pictures`
    #[arg(long)]
    pdf: bool,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let texts = arguments.records.iter().map(|path| text(path)).collect::<Result<Vec<_>, _>>()?;
    let options = Options { has_pdf: arguments.pdf };
    let records: Result<Vec<RunRecord>, CommandError> =
        texts.iter().map(|(name, text)| record(name, text)).collect();
    let written = match records {
        Ok(records) => report::write(&records, &arguments.out, &options),
        // What `durward bench` measured is reported as well, alone or beside records.
        Err(failure) => match Measurements::read(&texts) {
            Ok(measurements) => measurements.write_to(&arguments.out, &options),
            Err(_) => return Err(failure),
        },
    };
    let names = written.map_err(|error| self::failure(&error))?;
    to_stdout(&format!("{}: {}\n", arguments.out.display(), names.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a record.
pub(super) fn read(path: &Path) -> Result<RunRecord, CommandError> {
    let (name, text) = text(path)?;
    record(&name, &text)
}

/// The name and text of a file.
fn text(path: &Path) -> Result<(String, String), CommandError> {
    let text = fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    Ok((path.display().to_string(), text))
}

fn record(name: &str, text: &str) -> Result<RunRecord, CommandError> {
    RunRecord::read(text).map_err(|error| {
        CommandError::new(format!("{name}: {error}")).hint("give files that `durward lab run` wrote")
    })
}

/// Why a report is not there.
pub(crate) fn failure(error: &ReportError) -> CommandError {
    match error {
        ReportError::Write(path, why) => CommandError::new(format!(
            "cannot write to {}: {}",
            path.display(),
            without_number(&why.to_string())
        )),
        ReportError::Draw(..) => CommandError::new(error.to_string()),
    }
}

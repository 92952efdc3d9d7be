//! `durward bench report`: pictures of measurements, and a page that explains them.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use durward_bench::report::{BenchReport, BenchReportError};

use durward_lab::report::Options;

use crate::failure::{CommandError, CommandResult};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  for n in 1 10 100 1000; do durward bench embedded --scenario hospital-$n --index all --json > hospital-$n.json; done
  durward bench report --in hospital-*.json --out report/

Draws decisions per second and percentiles of latency, by scenario and, of scenarios that differ in their size, by the
number of policies. Each picture is written as SVG, and as PNG with the cargo feature `pictures`; index.html shows all, the numbers,
the machine and the commands, and says how to read them; --pdf writes the same as report.pdf. Of servers, sessions and streams (`durward bench
server|sessions|streams --json`) every rate and every time is drawn, of OPC UA (`durward bench opcua --json`) the paper's tables,
and records of `durward lab run` are reported as `durward lab report` does. Of two measurements of the same thing the later counts in pictures.";

/// Draw measurements: a page, and its pictures
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What `durward bench` printed with `--json`; several files are put together
    #[arg(long = "in", value_name = "FILE.json", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// Where to; the directory is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Also write report.pdf: needs the cargo feature `pictures`
    #[arg(long)]
    pdf: bool,
    /// Also write it as Markdown, with its pictures in `pictures/` beside that
    #[arg(long, value_name = "FILE.md")]
    page: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
        Ok((path.display().to_string(), text))
    };
    let files = arguments.files.iter().map(read).collect::<Result<Vec<_>, CommandError>>()?;
    let report = measurements(&files)?;
    let names = report
        .write_to(&arguments.out, &Options { has_pdf: arguments.pdf })
        .map_err(|error| crate::lab::report_failure(&error))?;
    if let Some(page) = &arguments.page {
        report.write_page(page).map_err(|error| crate::lab::report_failure(&error))?;
    }
    to_stdout(&format!("{}: {}\n", arguments.out.display(), names.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads files: the name and text of each.
fn measurements(files: &[(String, String)]) -> Result<BenchReport, CommandError> {
    BenchReport::read(files).map_err(|error| {
        let failure = CommandError::new(error.to_string());
        match error {
            BenchReportError::File(..) => failure.hint(
                "give files that `durward bench` wrote with `--json`: embedded, server, sessions, streams, opcua; or records of \
                 `durward lab run`",
            ),
            BenchReportError::Empty => failure.hint("`durward bench embedded --json` prints measurements"),
            BenchReportError::TooMany(_) => failure.hint("report fewer files at a time"),
        }
    })
}

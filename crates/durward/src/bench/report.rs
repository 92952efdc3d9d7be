//! `durward bench report`: pictures of measurements, and a page that explains them.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use durward_bench::report::{Report, ReportError};

use crate::failure::{Failure, Outcome, without_number};
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  for n in 1 10 100 1000; do durward bench embedded --scenario hospital-$n --index all --json > hospital-$n.json; done
  durward bench report --in hospital-*.json --out report/

Draws decisions per second and percentiles of latency, by scenario and, of scenarios that differ in their size, by the
number of policies. Each picture is written as SVG and as PNG; index.html shows all, the numbers, the machine and the
commands, and says how to read them. Servers and sessions (`durward bench server --json`, `durward bench sessions --json`)
are shown in tables. Of two measurements of the same thing the later counts in pictures.";

/// Draw measurements: a page, and pictures as SVG and PNG
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// What `durward bench` printed with `--json`; several files are put together
    #[arg(long = "in", value_name = "FILE.json", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// Where to; the directory is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(path, &error))?;
        Ok((path.display().to_string(), text))
    };
    let files = arguments.files.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let report = Report::read(&files).map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error {
            ReportError::File(..) => failure
                .hint("give files that `durward bench` wrote with `--json`: embedded, server, sessions"),
            ReportError::Empty => failure.hint("`durward bench embedded --json` prints measurements"),
            ReportError::TooMany(_) => failure.hint("report fewer files at a time"),
        }
    })?;
    let out = arguments.out.display();
    let names = report.write_to(&arguments.out).map_err(|error| {
        Failure::new(format!("cannot write to {out}: {}", without_number(&error.to_string())))
    })?;
    to_stdout(&format!("{out}: {}\n", names.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

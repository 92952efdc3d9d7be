//! `durward test`: scenarios of `.sapltest` files against SAPL documents, and what of the documents they covered.

mod files;
mod gate;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_scenario::{TestDocuments, TestReport, TestSuite, TestText, report};

use crate::failure::{BAD_INPUT, CommandError, CommandResult, DIFFERENT, SUCCESS};
use crate::to_stdout;
use files::{DirectoryFiles, beside};
use gate::CoverageGate;

const EXAMPLES: &str = "\
Examples:
  durward test --dir policies/
  durward test --dir policies/ --testdir tests/ --no-html
  durward test --dir policies/ --policy-hit-ratio 100 --condition-hit-ratio 80

A scenario names documents by their path below --dir without `.sapl` (without folders below a folder `policies`), by
the name of the file, or by the name of the policy. Paths in `configuration` and `pdp-configuration` begin at --dir.

Ratios are counted as by SAPL: of the sets, policies and conditions that scenarios reached. The output and the report
list what no scenario reached. 0 requires nothing.

Exit codes: 0 all passed, 1 scenarios failed, 2 nothing to test or files that cannot be read, 3 all passed and less
was covered than asked for. (SAPL's own command swaps 1 and 2.)";

/// All passed, but less was covered than asked for.
const UNCOVERED: u8 = 3;

/// Test SAPL policies
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The documents: all *.sapl below this directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The tests: all *.sapltest below this directory; that of --dir unless given
    #[arg(long, value_name = "DIR")]
    testdir: Option<PathBuf>,
    /// Where reports are written
    #[arg(long, value_name = "DIR", default_value = "./sapl-coverage")]
    output: PathBuf,
    /// Write coverage as pages, to `html/index.html` in --output; the default
    #[arg(long, overrides_with = "no_html")]
    html: bool,
    /// Write no pages
    #[arg(long)]
    no_html: bool,
    /// Write coverage for SonarQube, to `sonar/sonar-generic-coverage.xml` in --output
    #[arg(long, overrides_with = "no_sonar")]
    sonar: bool,
    /// Write nothing for SonarQube; the default
    #[arg(long)]
    no_sonar: bool,
    #[command(flatten)]
    gate: CoverageGate,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let testdir = arguments.testdir.as_deref().unwrap_or(&arguments.dir);
    let documents = documents(&arguments.dir)?;
    let tests = tests(testdir)?;
    let below = DirectoryFiles { directory: arguments.dir.clone() };
    let report = TestSuite::new(documents, &below).run(&tests);
    to_stdout(&(report::scenarios(&report) + "\n" + &report::coverage(&report.coverage)))?;
    write(arguments, &report)?;
    let count = report.count();
    let code = if count.failed + count.errors > 0 {
        DIFFERENT
    } else if count.unreadable > 0 {
        BAD_INPUT
    } else {
        let missed = arguments.gate.missed(&report.coverage);
        to_stdout(&missed)?;
        if missed.is_empty() { SUCCESS } else { UNCOVERED }
    };
    Ok(ExitCode::from(code))
}

fn documents(directory: &Path) -> Result<TestDocuments, CommandError> {
    let mut documents = TestDocuments::default();
    let found = files::below(directory, "sapl")?;
    if found.is_empty() {
        let message = format!("no documents `*.sapl` below {}", directory.display());
        return Err(CommandError::new(message).hint("say with `--dir` where they are"));
    }
    for path in found {
        let text = files::read(&path)?;
        documents.add(&files::called(&path), &files::name_below(directory, &path), &text);
    }
    Ok(documents)
}

fn tests(directory: &Path) -> Result<Vec<TestText>, CommandError> {
    let found = files::below(directory, "sapltest")?;
    if found.is_empty() {
        let message = format!("no tests `*.sapltest` below {}", directory.display());
        return Err(CommandError::new(message).hint("say with `--testdir` where they are"));
    }
    let test = |path: &PathBuf| Ok(TestText { path: files::called(path), text: files::read(path)? });
    found.iter().map(test).collect()
}

fn write(arguments: &Arguments, tested: &TestReport) -> Result<(), CommandError> {
    if !arguments.no_html {
        let directory = arguments.output.join("html");
        write_pages(&directory, tested).map_err(|error| unwritable(&directory, &error))?;
        to_stdout(&format!("pages: {}\n", files::called(&directory.join("index.html"))))?;
    }
    if arguments.sonar {
        let path = arguments.output.join("sonar").join("sonar-generic-coverage.xml");
        let written = beside(&path, report::sonar(&tested.coverage).as_bytes());
        written.map_err(|error| unwritable(&path, &error))?;
        to_stdout(&format!("for SonarQube: {}\n", files::called(&path)))?;
    }
    Ok(())
}

/// Pages that an earlier report left and this one does not have are removed: they would tell of documents that are gone.
fn write_pages(directory: &Path, tested: &TestReport) -> io::Result<()> {
    let pages = report::pages(tested);
    for page in &pages {
        beside(&directory.join(&page.name), page.text.as_bytes())?;
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_page =
            name.to_str().is_some_and(|name| name.starts_with("document-") && name.ends_with(".html"));
        if is_page && !pages.iter().any(|page| name == *page.name) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn unwritable(path: &Path, error: &io::Error) -> CommandError {
    let why = crate::failure::without_number(&error.to_string());
    CommandError::new(format!("cannot write {}: {why}", path.display()))
        .hint("say with `--output` where to write")
}

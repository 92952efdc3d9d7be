//! `durward test`: scenarios of `.sapltest` files against SAPL documents, and what of the documents they covered.

mod files;
mod gate;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use durward_scenario::report::{JunitCase, JunitOutcome, JunitProblem, JunitSuite, junit_suites};
use durward_scenario::{TestDocuments, TestReport, TestSuite, TestText, report};

use crate::console::colour;
use crate::console::progress::Progress;
use crate::failure::{BAD_INPUT, CommandError, CommandResult, DIFFERENT, SUCCESS};
use crate::junit::JunitArguments;
use files::{DirectoryFiles, beside};
use gate::CoverageGate;

const EXAMPLES: &str = "\
Examples:
  durward test --dir policies/
  durward test --dir policies/ --testdir tests/ --no-html
  durward test --dir policies/ --policy-hit-ratio 100 --condition-hit-ratio 80
  durward test --dir policies/ --junit test.xml

A scenario names documents by their path below --dir without `.sapl` (without folders below a folder `policies`), by
the name of the file, or by the name of the policy. Paths in `configuration` and `pdp-configuration` begin at --dir.

Ratios count as SAPL's own do, over the sets, policies and conditions that a scenario reached. The report lists what no
scenario reached, and counts it in its coverage. 0 disables a gate.

Exit codes: 0 all passed, 1 scenarios failed or less was covered than asked for, 2 nothing to test or files that cannot be
read. (SAPL's own command has 2 for failed scenarios, 1 for files, and 3 for coverage.)";

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
    junit: JunitArguments,
    #[command(flatten)]
    gate: CoverageGate,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let progress = Progress::start("reading policies and tests");
    let testdir = arguments.testdir.as_deref().unwrap_or(&arguments.dir);
    let documents = documents(&arguments.dir)?;
    let tests = tests(testdir)?;
    let below = DirectoryFiles { directory: arguments.dir.clone() };
    let begun = Instant::now();
    let clock = || begun.elapsed();
    progress.turn_to(format!("testing {} files", tests.len()));
    let report = TestSuite::new(documents, &below).timed_by(&clock).run(&tests);
    let time = begun.elapsed();
    drop(progress);
    let scenarios = colour::tests(&report::scenarios(&report), arguments.junit.output());
    arguments.junit.tell(&(scenarios + "\n" + &report::coverage(&report.coverage)))?;
    write(arguments, &report)?;
    let count = report.count();
    let has_passed = count.failed + count.errors + count.unreadable == 0;
    // What scenarios that failed covered says little.
    let missed = if has_passed { arguments.gate.missed(&report.coverage) } else { String::new() };
    arguments.junit.tell(&missed)?;
    let suites = || {
        let mut suites = junit_suites(&report);
        suites.extend(uncovered(&missed));
        suites
    };
    arguments.junit.write("durward test", suites, time)?;
    Ok(ExitCode::from(if count.failed + count.errors > 0 || !missed.is_empty() {
        DIFFERENT
    } else if count.unreadable > 0 {
        BAD_INPUT
    } else {
        SUCCESS
    }))
}

/// Coverage that is missed, as a suite of its own: no file of tests is to blame.
fn uncovered(missed: &str) -> Option<JunitSuite> {
    let case = |line: &str| JunitCase {
        name: line.split(':').next().unwrap_or_default().to_owned(),
        class_name: "coverage".to_owned(),
        outcome: JunitOutcome::Failed(JunitProblem {
            kind: "uncovered".to_owned(),
            message: line.to_owned(),
            text: String::new(),
        }),
        time: Duration::ZERO,
    };
    let cases: Vec<JunitCase> = missed.lines().map(case).collect();
    (!cases.is_empty()).then(|| JunitSuite { name: "coverage".to_owned(), cases })
}

fn documents(directory: &Path) -> Result<TestDocuments, CommandError> {
    let mut documents = TestDocuments::default();
    let found = files::below(directory, "sapl")?;
    if found.is_empty() {
        let message = format!("no documents `*.sapl` below {}", directory.display());
        return Err(CommandError::new(message)
            .hint("say with `--dir` where they are; `durward init` writes a project with tests"));
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
        arguments.junit.tell(&format!("pages: {}\n", files::called(&directory.join("index.html"))))?;
    }
    if arguments.sonar {
        let path = arguments.output.join("sonar").join("sonar-generic-coverage.xml");
        let written = beside(&path, report::sonar(&tested.coverage).as_bytes());
        written.map_err(|error| unwritable(&path, &error))?;
        arguments.junit.tell(&format!("for SonarQube: {}\n", files::called(&path)))?;
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

//! What ran, what was skipped and why: the table at the end of `cargo xtask check` and `test`.

pub(crate) use durward_testdata::on_build_machine;
use std::fmt;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How one step ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All is well; the note says what there is to know, often nothing.
    Passed(String),
    /// Something is wrong, and what.
    Failed(String),
    /// It could not run here, and what would make it run.
    Skipped(String),
    /// It counted its own tests.
    Counted { passed: u64, failed: u64, note: String },
}

impl Outcome {
    /// Passed with nothing to add, or failed and why.
    pub(crate) fn of(result: Result<(), String>) -> Outcome {
        match result {
            Ok(()) => Outcome::Passed(String::new()),
            Err(why) => Outcome::Failed(why),
        }
    }

    /// Passed with nothing to add, or failed with what was found.
    pub(crate) fn of_findings(findings: &[String]) -> Outcome {
        match findings {
            [] => Outcome::Passed(String::new()),
            found => {
                for finding in found {
                    println!("  {finding}");
                }
                Outcome::Failed(format!("{} findings, above", found.len()))
            }
        }
    }

    fn passed(&self) -> u64 {
        match self {
            Outcome::Passed(_) => 1,
            Outcome::Counted { passed, .. } => *passed,
            Outcome::Failed(_) | Outcome::Skipped(_) => 0,
        }
    }

    fn failed(&self) -> u64 {
        match self {
            Outcome::Failed(_) => 1,
            Outcome::Counted { failed, .. } => *failed,
            Outcome::Passed(_) | Outcome::Skipped(_) => 0,
        }
    }

    fn note(&self) -> &str {
        match self {
            Outcome::Passed(note) | Outcome::Failed(note) | Outcome::Skipped(note) => note,
            Outcome::Counted { note, .. } => note,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.failed() > 0 { "FAILED" } else { "passed" };
        out.pad(if matches!(self, Outcome::Skipped(_)) { "skipped" } else { word })
    }
}

struct Step {
    name: String,
    outcome: Outcome,
    took: Duration,
}

/// The steps so far.
pub(crate) struct Report {
    steps: Vec<Step>,
    nothing_may_be_skipped: bool,
}

impl Report {
    pub(crate) fn new() -> Report {
        Report { steps: Vec::new(), nothing_may_be_skipped: on_build_machine() }
    }

    /// Runs one step and keeps how it ended. On the build machine a skipped step is a failed one.
    pub(crate) fn step(&mut self, name: &str, run: impl FnOnce() -> Outcome) {
        println!("\n== {name}");
        let start = Instant::now();
        let mut outcome = run();
        if self.nothing_may_be_skipped
            && let Outcome::Skipped(why) = outcome
        {
            outcome = Outcome::Failed(why);
        }
        self.steps.push(Step { name: name.to_owned(), outcome, took: start.elapsed() });
    }

    /// Prints the table; the last line is `N passed, M failed`.
    pub(crate) fn close(self) -> ExitCode {
        let width = self.steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        println!();
        for Step { name, outcome, took } in &self.steps {
            let line =
                format!("{name:width$}  {outcome:7}  {:6.1} s  {}", took.as_secs_f64(), outcome.note());
            println!("{}", line.trim_end());
        }
        let passed: u64 = self.steps.iter().map(|step| step.outcome.passed()).sum();
        let failed: u64 = self.steps.iter().map(|step| step.outcome.failed()).sum();
        println!("\n{passed} passed, {failed} failed");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

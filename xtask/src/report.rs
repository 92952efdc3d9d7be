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
    start: Instant,
    nothing_may_be_skipped: bool,
}

impl Report {
    pub(crate) fn new() -> Report {
        Report { steps: Vec::new(), start: Instant::now(), nothing_may_be_skipped: on_build_machine() }
    }

    /// Runs one step and keeps how it ended. On the build machine a skipped step is a failed one.
    pub(crate) fn step(&mut self, name: &str, run: impl FnOnce() -> Outcome) {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = run();
        self.add(name, outcome, start.elapsed());
    }

    /// Adds a step that ran already, perhaps beside others, and how long it took by itself.
    pub(crate) fn add(&mut self, name: &str, mut outcome: Outcome, took: Duration) {
        if self.nothing_may_be_skipped
            && let Outcome::Skipped(why) = outcome
        {
            outcome = Outcome::Failed(why);
        }
        self.steps.push(Step { name: name.to_owned(), outcome, took });
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
        let took: Vec<(&str, Duration)> =
            self.steps.iter().map(|step| (step.name.as_str(), step.took)).collect();
        println!("\n{}", longest(&took, self.start.elapsed()));
        println!("\n{passed} passed, {failed} failed");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// How many parts are named of where the time went.
const PARTS: usize = 8;

/// Where the time went: all of it, and the longest parts with their shares.
pub(crate) fn longest(parts: &[(&str, Duration)], all: Duration) -> String {
    let mut parts = parts.to_vec();
    parts.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    let share = |took: Duration| 100.0 * took.as_secs_f64() / all.as_secs_f64().max(0.001);
    let part = |(name, took): &(&str, Duration)| {
        format!("{name} {:.0} s ({:.0} %)", took.as_secs_f64(), share(*took))
    };
    let named: Vec<String> = parts.iter().take(PARTS).map(part).collect();
    format!("{:.0} s in all, the longest: {}", all.as_secs_f64(), named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_part_comes_first_with_its_share() {
        let s = Duration::from_secs;
        let text = longest(&[("lints", s(20)), ("tests", s(60))], s(100));
        assert_eq!(text, "100 s in all, the longest: tests 60 s (60 %), lints 20 s (20 %)");
    }
}

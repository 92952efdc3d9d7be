//! What ran, what was skipped and why: the table at the end of `cargo xtask check` and `test`.

pub(crate) use durward_testdata::on_build_machine;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How one step ended.
#[derive(Debug, PartialEq, Eq)]
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

    /// For another process: `{"passed": NOTE}`, `{"failed": WHY}`, `{"skipped": WHY}`, or `{"counted": [PASSED, FAILED, NOTE]}`.
    pub(crate) fn to_json(&self) -> String {
        let value = match self {
            Outcome::Passed(note) => json!({ "passed": note }),
            Outcome::Failed(why) => json!({ "failed": why }),
            Outcome::Skipped(why) => json!({ "skipped": why }),
            Outcome::Counted { passed, failed, note } => json!({ "counted": [passed, failed, note] }),
        };
        value.to_string()
    }

    /// What [`Outcome::to_json`] wrote, all of it.
    pub(crate) fn from_json(text: &str) -> Option<Outcome> {
        let value: Value = serde_json::from_str(text).ok()?;
        let (kind, value) = value.as_object()?.iter().next()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match kind.as_str() {
            "passed" => text(value).map(Outcome::Passed),
            "failed" => text(value).map(Outcome::Failed),
            "skipped" => text(value).map(Outcome::Skipped),
            "counted" => {
                let [passed, failed, note] = value.as_array()?.as_slice() else { return None };
                Some(Outcome::Counted {
                    passed: passed.as_u64()?,
                    failed: failed.as_u64()?,
                    note: text(note)?,
                })
            }
            _ => None,
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
    ran: Ran,
}

/// Where a step ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ran {
    InTurn,
    /// In the lane: its time is not to be added to that of the others.
    Beside,
}

/// How long the lane ran, and how long it was waited for in the end.
struct LaneTime {
    all: Duration,
    waited: Duration,
}

/// The steps so far.
pub(crate) struct Report {
    steps: Vec<Step>,
    start: Instant,
    lane: Option<LaneTime>,
    nothing_may_be_skipped: bool,
}

impl Report {
    pub(crate) fn new() -> Report {
        Report {
            steps: Vec::new(),
            start: Instant::now(),
            lane: None,
            nothing_may_be_skipped: on_build_machine(),
        }
    }

    /// Runs one step and keeps how it ended. On the build machine a skipped step is a failed one.
    pub(crate) fn step(&mut self, name: &str, run: impl FnOnce() -> Outcome) {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = run();
        self.add(name, outcome, start.elapsed());
    }

    /// Adds a step that ran already, perhaps beside others of its kind, and how long it took by itself.
    pub(crate) fn add(&mut self, name: &str, outcome: Outcome, took: Duration) {
        self.push(name, outcome, took, Ran::InTurn);
    }

    /// Adds a step of the lane.
    pub(crate) fn add_beside(&mut self, name: &str, outcome: Outcome, took: Duration) {
        self.push(name, outcome, took, Ran::Beside);
    }

    /// Says how long the lane ran, and how long it was waited for.
    pub(crate) fn ran_beside(&mut self, all: Duration, waited: Duration) {
        self.lane = Some(LaneTime { all, waited });
    }

    /// Whether there is a step of that name, and it is well.
    pub(crate) fn has_passed(&self, name: &str) -> bool {
        let found = self.steps.iter().find(|step| step.name == name);
        found.is_some_and(|step| step.outcome.failed() == 0 && step.outcome.passed() > 0)
    }

    fn push(&mut self, name: &str, mut outcome: Outcome, took: Duration, ran: Ran) {
        if self.nothing_may_be_skipped
            && let Outcome::Skipped(why) = outcome
        {
            outcome = Outcome::Failed(why);
        }
        self.steps.push(Step { name: name.to_owned(), outcome, took, ran });
    }

    /// Prints the table; the last line is `N passed, M failed`.
    pub(crate) fn close(self) -> ExitCode {
        let width = self.steps.iter().map(|step| step.name.len()).max().unwrap_or(0);
        println!();
        for Step { name, outcome, took, .. } in &self.steps {
            let line =
                format!("{name:width$}  {outcome:7}  {:6.1} s  {}", took.as_secs_f64(), outcome.note());
            println!("{}", line.trim_end());
        }
        let passed: u64 = self.steps.iter().map(|step| step.outcome.passed()).sum();
        let failed: u64 = self.steps.iter().map(|step| step.outcome.failed()).sum();
        println!("\n{}", self.times(self.start.elapsed()));
        println!("\n{passed} passed, {failed} failed");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Where the time went: of `all` that passed, and of the lane's.
    fn times(&self, all: Duration) -> String {
        let of = |ran: Ran| -> Vec<(&str, Duration)> {
            let steps = self.steps.iter().filter(|step| step.ran == ran);
            steps.map(|step| (step.name.as_str(), step.took)).collect()
        };
        let mut text = longest(&of(Ran::InTurn), all);
        if let Some(LaneTime { all, waited }) = self.lane {
            let (beside, waited) = (longest(&of(Ran::Beside), all), waited.as_secs_f64());
            // Writing to a string does not fail.
            let _ = write!(text, "\nbeside it: {beside}; {waited:.0} s of them waited for");
        }
        text
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
    fn an_outcome_comes_back_from_another_process() {
        let counted = Outcome::Counted { passed: 3, failed: 1, note: "a \"note\"\n".to_owned() };
        let words = || "words".to_owned();
        for outcome in
            [counted, Outcome::Passed(words()), Outcome::Failed(words()), Outcome::Skipped(words())]
        {
            let text = outcome.to_json();
            assert_eq!(Outcome::from_json(&text), Some(outcome), "{text}");
        }
        for broken in ["", "{}", "[]", r#"{"passed": 1}"#, r#"{"counted": [1]}"#, r#"{"well": ""}"#] {
            assert_eq!(Outcome::from_json(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_lane_is_told_apart_from_what_ran_in_turn() {
        let s = Duration::from_secs;
        let mut report = Report::new();
        report.add("tests", Outcome::Passed(String::new()), s(60));
        report.add_beside("fuzz: build", Outcome::Passed(String::new()), s(40));
        report.ran_beside(s(80), s(10));
        let wanted = "100 s in all, the longest: tests 60 s (60 %)\n\
                      beside it: 80 s in all, the longest: fuzz: build 40 s (50 %); 10 s of them waited for";
        assert_eq!(report.times(s(100)), wanted);
    }

    #[test]
    fn only_a_step_that_is_well_has_passed() {
        let mut report = Report::new();
        report.add("a", Outcome::Passed(String::new()), Duration::ZERO);
        report.add("b", Outcome::Failed(String::new()), Duration::ZERO);
        report.add("c", Outcome::Skipped(String::new()), Duration::ZERO);
        let passed = ["a", "b", "c", "d"].map(|name| report.has_passed(name));
        assert_eq!(passed, [true, false, false, false]);
    }

    #[test]
    fn the_longest_part_comes_first_with_its_share() {
        let s = Duration::from_secs;
        let text = longest(&[("lints", s(20)), ("tests", s(60))], s(100));
        assert_eq!(text, "100 s in all, the longest: tests 60 s (60 %), lints 20 s (20 %)");
    }
}

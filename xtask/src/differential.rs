//! `cargo xtask differential`: every index against the plain evaluator, with a million questions or more; to be run every
//! night. `cargo xtask test` asks a hundredth of them, as one of the tests. Plans are compared with decisions, row by row.

use crate::process::{cargo, run};
use crate::recorded;
use crate::report::{Outcome, Report};
use std::process::{Command, ExitCode};

/// Of a nightly run.
const QUESTIONS: u64 = 1_000_000;

/// Where nothing else is said, every run asks the same.
const SEED: u64 = 0x5eed;

/// Each random program is asked so many questions, by the test of the indexes themselves.
const QUESTIONS_A_PROGRAM: u64 = 12;

/// `cargo xtask differential [--questions N] [--seed S]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let (mut questions, mut seed) = (QUESTIONS, SEED);
    for pair in words.chunks(2) {
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
        match pair {
            ["--questions", text] => questions = number(text)?,
            ["--seed", text] => seed = number(text)?,
            other => {
                let said = other.join(" ");
                return Err(format!("`cargo xtask differential [--questions N] [--seed S]`, not `{said}`"));
            }
        }
    }
    let mut report = Report::new();
    report.step("recorded data", recorded::check);
    report.step("policies as texts", || Outcome::of(texts(questions, seed)));
    report.step("policies as programs", || Outcome::of(programs(questions, seed)));
    report.step("policies that change", || Outcome::of(changes()));
    report.step("plans", || Outcome::of(plans(questions, seed)));
    Ok(report.close())
}

fn texts(questions: u64, seed: u64) -> Result<(), String> {
    let mut command = cargo(&["run", "--release", "-p", "durward-testkit", "--bin", "differential", "--"]);
    command.args(["--questions", &questions.to_string(), "--seed", &seed.to_string()]);
    run(&mut command)
}

/// Plans against decisions row by row, and what they select in SQLite, which every Python brings.
fn plans(questions: u64, seed: u64) -> Result<(), String> {
    let rows = std::env::temp_dir().join(format!("durward-plans-{}.jsonl", std::process::id()));
    let mut command = cargo(&["run", "--release", "-p", "durward-testkit", "--bin", "plans", "--"]);
    command.args(["--policies", &(questions / 10).to_string(), "--seed", &seed.to_string()]);
    let compared = run(command.arg("--rows").arg(&rows)).and_then(|()| {
        let mut databases = Command::new("python3");
        databases.arg("crates/durward-testkit/plans/databases.py").arg(&rows).arg("sqlite");
        run(&mut databases)
    });
    // A file in the way is none that anybody misses.
    let _ = std::fs::remove_file(&rows);
    compared
}

/// Changed one by one, beside those built anew; the seeds are the test's own.
fn changes() -> Result<(), String> {
    let mut command = cargo(&["test", "--release", "-p", "durward-pdp", "--test", "pdp", "--"]);
    run(command.arg("changes").env("DURWARD_LONG", "1"))
}

/// Vote by vote, with sources that have yet to be asked.
fn programs(questions: u64, seed: u64) -> Result<(), String> {
    let test = "every_index_answers_as_the_plain_evaluator";
    let mut command = cargo(&["test", "--release", "-p", "durward-index", "--test", "index", "--"]);
    command.args(["--exact", test, "--nocapture"]).env("INDEX_SEED", seed.to_string());
    run(command.env("INDEX_PROGRAMS", (questions / 4 / QUESTIONS_A_PROGRAM).to_string()))
}

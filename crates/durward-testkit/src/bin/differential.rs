//! `differential [--questions N] [--seed S]`: every index against the plain evaluator; what was compared, source by source,
//! or the first difference and exit code 1.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

use std::process::ExitCode;

use durward_testkit::differential::{Count, Plan, run};

/// Of a nightly run.
const QUESTIONS: u64 = 1_000_000;

/// Where nothing else is said, every run asks the same.
const SEED: u64 = 0x5eed;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match plan(&words) {
        Ok(plan) => compare(&plan),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn plan(words: &[String]) -> Result<Plan, String> {
    let mut plan = Plan { questions: QUESTIONS, seed: SEED, data: durward_testdata::recorded("") };
    for pair in words.chunks(2) {
        let (name, number) = match pair {
            [name, number] => {
                (name.as_str(), number.parse().map_err(|_| format!("`{number}` is no number"))?)
            }
            _ => return Err("differential [--questions N] [--seed S]".to_owned()),
        };
        match name {
            "--questions" => plan.questions = number,
            "--seed" => plan.seed = number,
            other => return Err(format!("unknown option `{other}`: there are `--questions` and `--seed`")),
        }
    }
    Ok(plan)
}

fn compare(plan: &Plan) -> ExitCode {
    println!("seed {}, at least {} questions", plan.seed, plan.questions);
    let shown = |source: &str, Count { sets, questions, answers }: Count| {
        if questions > 0 {
            println!("{source:40} {sets:>8} sets {questions:>9} questions {answers:>10} answers compared");
        }
    };
    match run(plan, shown) {
        Ok(total) => {
            shown("all, without a difference", total);
            ExitCode::SUCCESS
        }
        Err(difference) => {
            eprintln!("{difference}");
            ExitCode::FAILURE
        }
    }
}

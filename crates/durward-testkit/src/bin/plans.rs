//! `plans [--policies N] [--seed S] [--rows FILE]`: plans against decisions, row by row; what was compared, or the first
//! difference and exit code 1. With `--rows`, each plan that is a filter is written to the file, one line of JSON each, with
//! its rows, behind the cases that have names: for the scripts in `plans/`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use durward_pdp::plan::{Columns, Plan, Row};
use durward_testkit::differential::{compare_plans, is_filter, plan_cases, plan_line};

/// Of a nightly run.
const POLICIES: u64 = 100_000;

/// Where nothing else is said, every run asks the same.
const SEED: u64 = 0x5eed;

fn main() -> ExitCode {
    let (mut policies, mut seed, mut rows) = (POLICIES, SEED, None);
    let words: Vec<String> = std::env::args().skip(1).collect();
    for pair in words.chunks(2) {
        match pair {
            [name, number] if name == "--policies" => policies = number.parse().unwrap_or(policies),
            [name, number] if name == "--seed" => seed = number.parse().unwrap_or(seed),
            [name, path] if name == "--rows" => match File::create(path) {
                Ok(file) => rows = Some(BufWriter::new(file)),
                Err(error) => {
                    eprintln!("{path}: {error}");
                    return ExitCode::from(2);
                }
            },
            _ => {
                eprintln!("plans [--policies N] [--seed S] [--rows FILE]");
                return ExitCode::from(2);
            }
        }
    }
    println!("seed {seed}, at least {policies} policies and rules");
    let mut failed = None;
    let mut write = |name: &str, plan: &Plan, columns: &Columns, of_rows: &[Row]| {
        let Some(file) = rows.as_mut().filter(|_| is_filter(plan)) else { return };
        let written = plan_line(name, plan, columns, of_rows)
            .map_err(|error| error.to_string())
            .and_then(|line| writeln!(file, "{line}").map_err(|error| error.to_string()));
        if let Err(error) = written {
            failed.get_or_insert(error);
        }
    };
    for case in plan_cases() {
        match case.check() {
            Ok((plan, columns, of_rows)) => write(case.name, &plan, &columns, &of_rows),
            Err(message) => {
                eprintln!("{message}");
                return ExitCode::FAILURE;
            }
        }
    }
    let compared = compare_plans(seed, policies, |plan, columns, of_rows| write("", plan, columns, of_rows));
    match (compared, failed) {
        (Ok(count), None) => {
            println!(
                "{} sets, {} policies and rules, {} plans ({} exact, {} filters), {} rows ({} permitted): no difference",
                count.sets,
                count.policies,
                count.plans,
                count.exact,
                count.filters,
                count.rows,
                count.permitted
            );
            ExitCode::SUCCESS
        }
        (Ok(_), Some(error)) => {
            eprintln!("the rows cannot be written: {error}");
            ExitCode::from(2)
        }
        (Err(difference), _) => {
            eprintln!("{difference}");
            ExitCode::FAILURE
        }
    }
}

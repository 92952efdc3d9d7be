//! `plans [--policies N] [--seed S] [--rows FILE]`: plans against decisions, row by row; what was compared, or the first
//! difference and exit code 1. With `--rows`, each plan that is a filter is written to the file, one line of JSON each, with
//! its rows, for `plans/databases.py`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks to its terminal")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use durward_testkit::differential::{compare_plans, plan_line};

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
    let compared = compare_plans(seed, policies, |plan, columns, of_rows| {
        if let (Some(file), Some(line)) = (&mut rows, plan_line(plan, columns, of_rows))
            && let Err(error) = writeln!(file, "{line}")
        {
            failed.get_or_insert(error);
        }
    });
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
            eprintln!("the rows could not be written: {error}");
            ExitCode::from(2)
        }
        (Err(difference), _) => {
            eprintln!("{difference}");
            ExitCode::FAILURE
        }
    }
}

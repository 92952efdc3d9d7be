//! `cargo xtask frameworks`: programs of Express, Fastify, FastAPI and Spring Boot, as somebody writes them, with our guards and under load.
//!
//! The programs are the examples of the packages. Each is asked what has a known answer, over and over: one wrong answer fails the run.
//! Its memory is looked at meanwhile. Then the same page is asked for with a guard and without, in turns: the ratio of
//! processor time says what the guard leaves, also on a machine that is busy with something else.

mod programs;

use crate::frameworks::programs::{PROGRAMS, Program};
use crate::lab::{self, Point, Run, mebibytes, median};
use crate::metadata::{self, Metadata};
use crate::release;
use crate::report::{Outcome, Report};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "`cargo xtask frameworks [--binary DURWARD] [--seconds N] [--rounds N] [--only NAME]`";

/// By how much of itself, and how many MiB beyond, memory may have grown in the end: what compilers and collectors of the languages take.
const GROWTH_MAX: f64 = 1.25;
const GROWTH_MIB_MAX: f64 = 16.0;

/// What is run.
struct Plan {
    /// What makes the load; needs the feature `lab`.
    binary: Option<PathBuf>,
    seconds: u32,
    rounds: u32,
    only: String,
}

impl Plan {
    fn of(words: &[&str]) -> Result<Plan, String> {
        let mut plan = Plan { binary: None, seconds: 60, rounds: 5, only: String::new() };
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|it| *it > 0).ok_or_else(|| USAGE.to_owned());
        for pair in words.chunks(2) {
            match pair {
                ["--binary", path] => plan.binary = Some(PathBuf::from(path)),
                ["--seconds", text] => plan.seconds = number(text)?,
                ["--rounds", text] => plan.rounds = number(text)?,
                ["--only", name] => plan.only = (*name).to_owned(),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(plan)
    }
}

/// `cargo xtask frameworks [FLAG...]`.
pub(crate) fn run_alone(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    let durward = match &plan.binary {
        Some(path) => fs::canonicalize(path).map_err(|error| format!("`{}`: {error}", path.display()))?,
        None => release::dist()?,
    };
    let folder = Metadata::read()?.target_directory.join("frameworks");
    let mut report = Report::new();
    for program in PROGRAMS.iter().filter(|program| program.name.contains(&plan.only)) {
        let place = folder.join(program.short);
        let (known, ratio) =
            (format!("{}: answers", program.name), format!("{}: guarded and not", program.name));
        let mut command = Vec::new();
        report.step(&known, || match programs::outcome((program.install)(&place)) {
            Ok(found) => {
                command = found;
                answers(&plan, program, &command, &durward, &place)
                    .map_or_else(Outcome::Failed, Outcome::Passed)
            }
            Err(other) => other,
        });
        if report.has_passed(&known) {
            report.step(&ratio, || {
                compared(&plan, program, &command, &durward, &place)
                    .map_or_else(Outcome::Failed, Outcome::Passed)
            });
        }
    }
    Ok(report.close())
}

fn answers(
    plan: &Plan,
    program: &Program,
    command: &[String],
    durward: &Path,
    place: &Path,
) -> Result<String, String> {
    let run = run("known", plan, program, command, durward, place)?;
    match run.points.as_slice() {
        [point] => judged(point),
        points => Err(format!("{} points instead of one", points.len())),
    }
}

fn judged(point: &Point) -> Result<String, String> {
    let (first, last) = point.memory_first_and_last();
    let (first, last) = (mebibytes(first), mebibytes(last));
    let said = format!(
        "{} right answers; memory by {}: {first:.0} MiB at first, {last:.0} at last",
        point.right, point.source
    );
    if point.wrong > 0 || point.right == 0 {
        Err(format!("{}; {said}", point.causes.join(", ")))
    } else if last > first * GROWTH_MAX + GROWTH_MIB_MAX {
        Err(format!("memory grows: {said}"))
    } else {
        Ok(said)
    }
}

fn compared(
    plan: &Plan,
    program: &Program,
    command: &[String],
    durward: &Path,
    place: &Path,
) -> Result<String, String> {
    let run = run("ratio", plan, program, command, durward, place)?;
    let of = |page: &str| -> Vec<f64> {
        let points = run.points.iter().filter(|point| point.configuration.contains(page));
        points.map(Point::cost_us).collect()
    };
    let (open, guarded) = (of("open"), of("records"));
    if let Some(point) = run.points.iter().find(|point| point.wrong > 0 || point.cpu_s <= 0.0) {
        return Err(format!("{} at {}", point.causes.join(", "), point.configuration));
    }
    if open.is_empty() || open.len() != guarded.len() {
        return Err(format!("{} and {} points", open.len(), guarded.len()));
    }
    let ratio = median(&open) / median(&guarded).max(0.001);
    let range = |costs: &[f64]| {
        let lowest = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = costs.iter().copied().fold(0.0, f64::max);
        format!("{:.0} us ({lowest:.0} to {highest:.0})", median(costs))
    };
    Ok(format!(
        "a core serves {ratio:.2} of what it serves without a guard: {} a request and {}, medians of {} turns",
        range(&guarded),
        range(&open),
        open.len()
    ))
}

/// Fills a scenario in, and runs it.
fn run(
    name: &str,
    plan: &Plan,
    program: &Program,
    command: &[String],
    durward: &Path,
    place: &Path,
) -> Result<Run, String> {
    let template = metadata::root().join("xtask/frameworks").join(format!("{name}.toml"));
    let text = fs::read_to_string(&template).map_err(|error| format!("`{}`: {error}", template.display()))?;
    let words: Vec<String> = command.iter().map(|word| format!("{word:?}")).collect();
    let text = text
        .replace("@COMMAND@", &words.join(", "))
        .replace("@HEADER@", program.header)
        .replace("@DOCTOR@", program.roles[0])
        .replace("@NURSE@", program.roles[1])
        .replace("@VISITOR@", program.roles[2])
        .replace("@NOBODY@", program.nobody)
        .replace("@WARM_UP@", program.warm_up)
        .replace("@MEASURE@", &format!("{}s", plan.seconds))
        .replace("@ROUNDS@", &plan.rounds.to_string());
    let scenario = place.join(format!("{name}.toml"));
    fs::write(&scenario, text).map_err(|error| format!("`{}`: {error}", scenario.display()))?;
    let run = lab::run(durward, &scenario, &place.join(name), &[])?;
    match run.cut_short {
        Some(why) => Err(why),
        None => Ok(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(wrong: u64, memory: &[f64]) -> Point {
        let memory = memory.iter().map(|mib| mib * f64::from(1 << 20)).collect();
        let (configuration, source) = (String::new(), "/proc".to_owned());
        let causes = vec!["ask: status 200 x 1".to_owned()];
        Point {
            configuration,
            right: 9,
            wrong,
            causes,
            seconds: 1.0,
            cpu_s: 1.0,
            memory,
            memory_peak: 0.0,
            source,
            killed: 0.0,
        }
    }

    #[test]
    fn one_wrong_answer_or_memory_that_grows_fails() {
        let level = [100.0, 130.0, 90.0, 120.0, 101.0];
        assert!(judged(&point(0, &level)).is_ok());
        assert!(judged(&point(1, &level)).unwrap_err().starts_with("ask: status 200"));
        assert!(
            judged(&point(0, &[100.0, 110.0, 120.0, 130.0, 142.0])).unwrap_err().starts_with("memory grows")
        );
    }

    #[test]
    fn flags_have_values() {
        let plan = Plan::of(&["--seconds", "5", "--only", "Express"]).unwrap();
        assert_eq!((plan.seconds, plan.rounds, plan.only.as_str()), (5, 5, "Express"));
        assert!(Plan::of(&["--seconds"]).is_err() && Plan::of(&["--rounds", "0"]).is_err());
    }
}

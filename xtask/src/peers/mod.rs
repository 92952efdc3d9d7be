//! `cargo xtask peers`: other engines on the same policies and requests, on this machine, in turns with durward.
//!
//! The engines are built from Maven Central into the target folder and driven from outside, one process each, by
//! the harness in `xtask/peers`. First all decisions are compared; then durward and the engine are measured in
//! turns, on the same processor where `taskset` is there. A ratio is of two neighbouring measurements; numbers of
//! different runs say nothing about each other.

mod data;
mod durward;
mod engine;

use crate::process::{cargo, run as run_program};
use crate::tools::{JAVA, MAVEN};
use data::Set;
use durward::Durward;
use engine::{Engine, Running};
use std::process::ExitCode;

/// What counts as one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A request that was read before, to a decision.
    Parsed,
    /// The text of a request to the text of the response, both XML.
    Text,
}

impl What {
    fn words(self) -> &'static str {
        match self {
            What::Parsed => "read request to decision",
            What::Text => "XML to XML",
        }
    }
}

/// What to measure and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan<'a> {
    rounds: usize,
    seconds: f64,
    only: Option<&'a str>,
}

const USAGE: &str = "`cargo xtask peers [--rounds N] [--seconds N] [--only balana|att|authzforce]`";

impl<'a> Plan<'a> {
    fn of(words: &[&'a str]) -> Result<Plan<'a>, String> {
        let mut plan = Plan { rounds: 5, seconds: 4.0, only: None };
        for pair in words.chunks(2) {
            match pair {
                ["--rounds", number] => plan.rounds = number.parse().map_err(|_| USAGE.to_owned())?,
                ["--seconds", number] => plan.seconds = number.parse().map_err(|_| USAGE.to_owned())?,
                ["--only", name] => plan.only = Some(name),
                _ => return Err(USAGE.to_owned()),
            }
        }
        let is_sane = plan.rounds > 0 && plan.seconds > 0.0;
        if is_sane { Ok(plan) } else { Err(USAGE.to_owned()) }
    }
}

/// Runs it all and prints a table in Markdown.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    JAVA.get()?;
    MAVEN.get()?;
    run_program(&mut cargo(&["build", "--release", "--package", "durward"]))?;
    let durward = Durward::find()?;
    let engines = Engine::all(plan.only)?;
    let mut table = Table::default();
    for set in data::sets()? {
        let ours = durward.decisions(&set)?;
        for engine in &engines {
            println!("\n== {} on {}", engine.name, set.name);
            let mut running = engine.start(&set)?;
            let agreement = agreement(&ours, &running.decisions(&set)?);
            println!("{agreement}");
            for what in [What::Parsed, What::Text] {
                let rounds = measure(&plan, &durward, &mut running, &set, what)?;
                table.add(&set, engine, what, &rounds, &agreement);
            }
        }
    }
    println!("\n{}", table.text);
    Ok(ExitCode::SUCCESS)
}

/// One round: decisions a second of the engine and of durward, measured one right after the other.
#[derive(Clone, Copy, Debug)]
struct Round {
    engine: f64,
    durward: f64,
}

fn measure(
    plan: &Plan<'_>,
    durward: &Durward,
    engine: &mut Running,
    set: &Set,
    what: What,
) -> Result<Vec<Round>, String> {
    warm_up(engine, what, plan.seconds)?;
    let mut rounds = Vec::new();
    for number in 1..=plan.rounds {
        let round = Round {
            engine: engine.measure(what, plan.seconds)?,
            durward: durward.measure(set, what, plan.seconds)?,
        };
        let ratio = round.durward / round.engine;
        println!("{number}: {:.0} and {:.0} a second, {ratio:.1} times", round.engine, round.durward);
        rounds.push(round);
    }
    Ok(rounds)
}

/// A virtual machine compiles what it runs often: nothing counts until it gets no faster.
fn warm_up(engine: &mut Running, what: What, seconds: f64) -> Result<(), String> {
    let mut last = 0.0;
    for number in 0..WARM_UPS_MAX {
        let rate = engine.measure(what, seconds)?;
        if number >= WARM_UPS_MIN && rate < last * STILL_FASTER {
            break;
        }
        last = rate;
    }
    Ok(())
}

const WARM_UPS_MIN: usize = 2;
const WARM_UPS_MAX: usize = 12;
/// A gain below this is noise.
const STILL_FASTER: f64 = 1.03;

fn agreement(ours: &[String], theirs: &[String]) -> String {
    let differing = ours.iter().zip(theirs).filter(|(ours, theirs)| ours != theirs).count();
    if ours.len() != theirs.len() {
        format!("{} and {} decisions", ours.len(), theirs.len())
    } else if differing > 0 {
        format!("{differing} of {} decisions differ", ours.len())
    } else {
        format!("all {} decisions agree", ours.len())
    }
}

/// The results as a table in Markdown.
struct Table {
    text: String,
}

impl Default for Table {
    fn default() -> Table {
        let head = "| data | what | engine | decisions/s | durward | times as many: min | median | max | decisions |\n";
        Table { text: format!("{head}|---|---|---|---:|---:|---:|---:|---:|---|\n") }
    }
}

impl Table {
    fn add(&mut self, set: &Set, engine: &Engine, what: What, rounds: &[Round], agreement: &str) {
        let theirs = sorted(rounds.iter().map(|round| round.engine));
        let ours = sorted(rounds.iter().map(|round| round.durward));
        let ratios = sorted(rounds.iter().map(|round| round.durward / round.engine));
        let (least, most) = (ratios.first().copied(), ratios.last().copied());
        self.text.push_str(&format!(
            "| {} | {} | {} | {:.0} | {:.0} | {:.1} | {:.1} | {:.1} | {agreement} |\n",
            set.name,
            what.words(),
            engine.title,
            median(&theirs),
            median(&ours),
            least.unwrap_or(f64::NAN),
            median(&ratios),
            most.unwrap_or(f64::NAN),
        ));
    }
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_from_words() {
        let plan = Plan::of(&["--only", "att", "--rounds", "3"]).unwrap();
        assert_eq!(plan, Plan { rounds: 3, seconds: 4.0, only: Some("att") });
        assert!(Plan::of(&["--rounds", "0"]).is_err());
        assert!(Plan::of(&["--rounds"]).is_err());
    }

    #[test]
    fn ratios_are_of_neighbouring_measurements() {
        let set = Set { name: "s", folder: std::path::PathBuf::new() };
        let engine = Engine { name: "e", title: "E 1", program: Vec::new() };
        let rounds =
            [(1.0, 10.0), (2.0, 10.0), (4.0, 10.0)].map(|(engine, durward)| Round { engine, durward });
        let mut table = Table::default();
        table.add(&set, &engine, What::Parsed, &rounds, "-");
        assert!(table.text.ends_with("| E 1 | 2 | 10 | 2.5 | 5.0 | 10.0 | - |\n"), "{}", table.text);
    }
}

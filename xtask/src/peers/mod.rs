//! `cargo xtask peers`: other engines on the same policies and questions, on this machine, in turns with durward.
//!
//! The engines come from crates.io, the Go module proxy and Maven Central, are built into the target folder and driven
//! from outside, one process each, by the harness in `xtask/peers/common` (for Java in `crates/durward-lab/peers`). XACML
//! engines get recorded XACML; the others get SAPL's scenarios in their own language (`translate`). First all decisions
//! are compared, and one that differs ends it all; then durward and the engine are measured in turns, on the same
//! processor where `taskset` is there. A ratio is of two neighbouring measurements; numbers of different runs say nothing
//! about each other.

mod data;
mod durward;
mod engine;
pub(crate) mod table;
mod translate;

use crate::report::{Outcome, Report};
use data::Set;
use durward::Durward;
use engine::{Engine, Profile, Running};
use std::process::ExitCode;
use table::{Table, short};

/// What counts as one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// A question that was read before, to a decision.
    Parsed,
    /// The text of a question to the text of the decision.
    Text,
}

impl What {
    fn words(self) -> &'static str {
        match self {
            What::Parsed => "read question, decision",
            What::Text => "text, text",
        }
    }
}

/// What to measure and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan<'a> {
    rounds: usize,
    seconds: f64,
    only: Option<&'a str>,
    on: &'a str,
}

const USAGE: &str = "`cargo xtask peers [--rounds N] [--seconds N] [--only ENGINE] [--on WORD]`: ENGINE is cedar, casbin, \
                     opa, opa-data, balana, att or authzforce; WORD is in the names of policies";

impl<'a> Plan<'a> {
    fn of(words: &[&'a str]) -> Result<Plan<'a>, String> {
        let mut plan = Plan { rounds: 5, seconds: 2.0, only: None, on: "" };
        for pair in words.chunks(2) {
            match pair {
                ["--rounds", number] => plan.rounds = number.parse().map_err(|_| USAGE.to_owned())?,
                ["--seconds", number] => plan.seconds = number.parse().map_err(|_| USAGE.to_owned())?,
                ["--only", name] => plan.only = Some(name),
                ["--on", word] => plan.on = word,
                _ => return Err(USAGE.to_owned()),
            }
        }
        let is_known = plan.only.is_none_or(|name| engine::ALL.iter().any(|engine| engine.name == name));
        let is_sane = plan.rounds > 0 && plan.seconds > 0.0;
        if is_sane && is_known { Ok(plan) } else { Err(USAGE.to_owned()) }
    }
}

/// Runs it all and prints a table in Markdown.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode, String> {
    let plan = Plan::of(words)?;
    let durward = Durward::dist()?;
    let engines = engines(plan.only);
    let mut table = Table::default();
    for name in data::SCENARIOS.into_iter().filter(|name| name.contains(plan.on)) {
        on_set(&plan, &durward, &engines, &data::scenario(&durward, name)?, &mut table)?;
    }
    for name in data::XACML_SCENARIOS.into_iter().filter(|name| name.contains(plan.on)) {
        on_set(&plan, &durward, &engines, &data::scenario_in_xacml(&durward, name)?, &mut table)?;
    }
    for set in data::recorded(plan.on)? {
        on_set(&plan, &durward, &engines, &set, &mut table)?;
    }
    println!("\n{}", table.text);
    Ok(ExitCode::SUCCESS)
}

/// Those that can be built here.
fn engines(only: Option<&str>) -> Vec<Engine> {
    let mut engines = Vec::new();
    for plan in engine::ALL.into_iter().filter(|plan| only.is_none_or(|only| only == plan.name)) {
        match plan.build(Profile::Release) {
            Ok(engine) => engines.push(engine),
            Err(why) => println!("left out: {}: {why}", plan.title),
        }
    }
    engines
}

fn on_set(
    plan: &Plan<'_>,
    durward: &Durward,
    engines: &[Engine],
    set: &Set,
    table: &mut Table,
) -> Result<(), String> {
    let ours = durward.decisions(set)?;
    for engine in engines {
        let mut running = match engine.start(set) {
            Ok(Some(running)) => running,
            Ok(None) => continue,
            Err(why) => {
                println!("left out: {} on {}: {why}", engine.title, set.name);
                continue;
            }
        };
        println!("\n== {} on {}", engine.title, set.name);
        agree(set, &ours, &running.decisions(set)?)?;
        println!("all {} decisions agree", ours.len());
        for what in [What::Parsed, What::Text] {
            let rounds = measure(plan, durward, &mut running, set, what)?;
            println!("{}", table.add(&set.name, engine.title, what.words(), &rounds));
        }
    }
    Ok(())
}

/// Engines that say something else do something else: what they cost then is of no use.
fn agree(set: &Set, ours: &[String], theirs: &[String]) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{}: {} and {} decisions", set.name, ours.len(), theirs.len()));
    }
    let differing = |(_, (ours, theirs)): &(usize, (&String, &String))| !ours.eq_ignore_ascii_case(theirs);
    match ours.iter().zip(theirs).enumerate().find(differing) {
        None => Ok(()),
        Some((number, (ours, theirs))) => Err(format!(
            "{}: durward says {ours} and the engine {theirs} to\n{}",
            set.name,
            set.question(number)
        )),
    }
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
        println!("{number}: {:.0} and {:.0} a second, {} times", round.engine, round.durward, short(ratio));
        rounds.push(round);
    }
    Ok(rounds)
}

/// A virtual machine compiles what it runs often: nothing counts until it gets no faster.
fn warm_up(engine: &mut Running, what: What, seconds: f64) -> Result<(), String> {
    let mut last = 0.0;
    for number in 0..WARM_UPS_MAX {
        let rate = engine.measure(what, seconds.max(WARM_UP_S_MIN))?;
        if number >= WARM_UPS_MIN && rate < last * STILL_FASTER {
            break;
        }
        last = rate;
    }
    Ok(())
}

/// The compiler works on the same processor: what is shorter says little about whether it has finished.
const WARM_UP_S_MIN: f64 = 2.0;
const WARM_UPS_MIN: usize = 2;
const WARM_UPS_MAX: usize = 12;
/// A gain below this is noise.
const STILL_FASTER: f64 = 1.03;

/// `cargo xtask peers check`.
pub(crate) fn check_alone() -> ExitCode {
    let mut report = Report::new();
    steps(&mut report);
    report.close()
}

/// The short form for every test run: that scenarios are still translated, and the engines in Rust, which are built soon
/// enough, still decide them as durward does. Nothing is measured.
pub(crate) fn steps(report: &mut Report) {
    report.step("peers: translations", || match small_sets() {
        Ok(sets) => compare(&sets),
        Err(why) => Outcome::Failed(why),
    });
}

/// Small scenarios and durward's decisions.
fn small_sets() -> Result<Vec<(Set, Vec<String>)>, String> {
    let durward = Durward::debug()?;
    let small = |name| {
        let set = data::scenario(&durward, name)?;
        let decisions = durward.decisions(&set)?;
        Ok((set, decisions))
    };
    data::SMALL_SCENARIOS.into_iter().map(small).collect()
}

fn compare(sets: &[(Set, Vec<String>)]) -> Outcome {
    let (mut passed, mut failed) = (0, 0);
    for plan in engine::IN_RUST {
        let engine = match plan.build(Profile::Dev) {
            Ok(engine) => engine,
            Err(why) => return Outcome::Failed(why),
        };
        for (set, ours) in sets {
            let decisions = engine.start(set).and_then(|running| match running {
                Some(mut running) => running.decisions(set),
                None => Err("there is no translation".to_owned()),
            });
            match decisions.and_then(|theirs| agree(set, ours, &theirs)) {
                Ok(()) => passed += 1,
                Err(why) => {
                    failed += 1;
                    println!("FAILED {} on {}: {why}", plan.title, set.name);
                }
            }
        }
    }
    Outcome::Counted { passed, failed, note: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_read_from_words() {
        let plan = Plan::of(&["--only", "att", "--rounds", "3"]).unwrap();
        assert_eq!(plan, Plan { rounds: 3, seconds: 2.0, only: Some("att"), on: "" });
        for wrong in [["--rounds", "0"].as_slice(), &["--rounds"], &["--only", "nobody"]] {
            assert!(Plan::of(wrong).is_err(), "{wrong:?}");
        }
    }
}

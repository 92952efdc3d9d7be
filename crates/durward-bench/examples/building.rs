//! What building a decision point takes, step by step, and what it keeps: `building hospital-300 8` builds the scenario
//! eight times over, keeps all of them, and prints the best time of each step.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

use std::time::{Duration, Instant};

use durward_bench::scenario::Scenario;
use durward_pdp::index::Index;
use durward_pdp::ir::combine::{Algorithm, Effects};
use durward_pdp::ir::program::{Builder, Program, Set, SetKind, SourceLocation, Voters};
use durward_pdp::sapl::{self, Configuration, Document};
use durward_pdp::{IndexKind, IndexSettings};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "hospital-300".to_owned());
    let rounds = arguments.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(8);
    let Ok(scenario) = Scenario::named(&name) else { return println!("there is no scenario `{name}`") };
    let documents: Vec<Document> = scenario
        .policies
        .iter()
        .enumerate()
        .filter_map(|(number, text)| {
            Document::read(&format!("policy-{number:07}.sapl"), text.as_bytes()).ok()
        })
        .collect();
    let Ok(configuration) = Configuration::read("pdp.json", &scenario.configuration()) else { return };
    let (mut steps, mut kept, mut before) = (Vec::new(), Vec::new(), 0);
    for round in 0..rounds {
        let Some((program, index, times)) = build(&documents, &configuration) else { return };
        steps.push(times);
        kept.push((program, index));
        if round == 0 {
            before = resident_bytes();
        }
    }
    let best = |step: fn(&[Duration; 3]) -> Duration| steps.iter().map(step).min().unwrap_or_default();
    println!(
        "{name}: lowering {:?}, the rest of the program {:?}, the index {:?}, all {:?}",
        best(|[lower, _, _]| *lower),
        best(|[_, finish, _]| *finish),
        best(|[_, _, index]| *index),
        best(|times| times.iter().sum()),
    );
    let grown = resident_bytes().saturating_sub(before) / (rounds - 1).max(1);
    println!("{} policies, {} bytes each", documents.len(), grown / (documents.len() as u64).max(1));
    if let Some((_, index)) = kept.last() {
        println!("{}", index.describe());
    }
}

/// From trees to an index; how long lowering, finishing the program and making the index take.
fn build(documents: &[Document], configuration: &Configuration) -> Option<(Program, Index, [Duration; 3])> {
    let start = Instant::now();
    let mut builder = Builder::new();
    let children = sapl::lower::lower(documents, configuration, &mut builder).ok()?;
    let lowered = Instant::now();
    let effects =
        children.iter().filter_map(|child| builder.effects(*child)).fold(Effects::NONE, Effects::union);
    let program = builder.finish(Set {
        id: "root".into(),
        version: "".into(),
        kind: SetKind::Root,
        target: None,
        algorithm: Algorithm::Voting(configuration.voting),
        effects,
        children,
        voters: Voters::default(),
        duties: Vec::new(),
        place: SourceLocation::default(),
    });
    let finished = Instant::now();
    let index = Index::build(IndexKind::Auto, &program, &IndexSettings::default());
    let times = [lowered - start, finished - lowered, finished.elapsed()];
    Some((program, index, times))
}

/// The memory of this process, where the system tells.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0) * 4096
}

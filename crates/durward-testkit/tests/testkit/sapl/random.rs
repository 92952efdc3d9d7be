//! Generated cases, decided by the real engine: every row, with every index.

use std::thread;

use durward_pdp::IndexKind;
use durward_testkit::cases::{Case, read};
use durward_testkit::data;

fn check(file: &str) {
    let Some(folder) = data::folder("sapl/random") else { return };
    let cases = read(&folder.join(file)).unwrap();
    assert!(!cases.is_empty());
    let differences: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> =
            cases.chunks(cases.len().div_ceil(2)).map(|part| scope.spawn(|| differences(part))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let shown = differences.len().min(30);
    assert!(
        differences.is_empty(),
        "{file}: {} differences:\n{}",
        differences.len(),
        differences[..shown].join("\n")
    );
}

fn differences(cases: &[Case]) -> Vec<String> {
    let ask = |(case, index): (&Case, IndexKind)| {
        let differences = case.differences(index).into_iter();
        differences.map(move |difference| format!("{difference} with {index}")).collect::<Vec<_>>()
    };
    cases.iter().flat_map(|case| IndexKind::ALL.map(|index| (case, index))).flat_map(ask).collect()
}

#[test]
fn known_causes_are_mended() {
    check("known.jsonl");
}

#[test]
fn sets_beside_policies_decide_as_recorded() {
    check("sets.jsonl");
}

#[test]
fn configurations_decide_as_recorded() {
    check("configurations.jsonl");
}

#[test]
fn expressions_come_to_what_was_recorded() {
    check("expressions.jsonl");
}

#[test]
fn functions_come_to_what_was_recorded() {
    check("functions.jsonl");
}

#[test]
fn parsers_read_as_recorded() {
    check("parsers.jsonl");
}

#[test]
fn schemas_judge_as_recorded() {
    check("jsonschema.jsonl");
}

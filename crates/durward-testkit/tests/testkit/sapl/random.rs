//! Generated cases, decided by the real engine: every row, with every index.

use std::thread;

use durward_pdp::IndexKind;
use durward_testkit::cases::{EngineCase, read};

/// Rows that are answered otherwise, and why. May only shrink: one that is answered as recorded fails the run.
const SKIPPED: [(&str, &str); 2] = [
    ("fn-521-1576#0", "half a surrogate pair: an error here, as no text can hold it"),
    ("fn-521-4740#0", "half a surrogate pair: an error here, as no text can hold it"),
];

fn check(file: &str) {
    let Some(folder) = durward_testdata::recorded("sapl/random") else { return };
    let cases = read(&folder.join(file)).unwrap();
    assert!(!cases.is_empty());
    let differences: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> =
            cases.chunks(cases.len().div_ceil(2)).map(|part| scope.spawn(|| differences(part))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let is_skipped = |line: &str| SKIPPED.iter().any(|(row, _)| line.starts_with(&format!("{row}:")));
    let (skipped, differences): (Vec<String>, Vec<String>) =
        differences.into_iter().partition(|line| is_skipped(line));
    let there = |row: &str| {
        cases.iter().any(|case| row.strip_prefix(&case.id).is_some_and(|rest| rest.starts_with('#')))
    };
    let rows = SKIPPED.iter().filter(|(row, _)| there(row)).count();
    assert_eq!(
        skipped.len(),
        rows * IndexKind::ALL.len(),
        "{file}: take off the list what passes: {skipped:?}"
    );
    let shown = differences.len().min(30);
    assert!(
        differences.is_empty(),
        "{file}: {} differences:\n{}",
        differences.len(),
        differences[..shown].join("\n")
    );
}

fn differences(cases: &[EngineCase]) -> Vec<String> {
    let ask = |(case, index): (&EngineCase, IndexKind)| {
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

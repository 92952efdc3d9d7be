//! Comparisons of records.

use durward_lab::record::{MeasuredPoint, RunRecord};
use durward_lab::report::{
    self, CompareOptions, Judgement, Links, Metric, compare, comparison_document, text_table,
};

use super::fixtures;

/// The same run, each request so many times as long, and the rate so many times as great.
fn changed(record: &RunRecord, longer: f64, rate: f64) -> RunRecord {
    let mut changed = record.clone();
    for point in &mut changed.points {
        for step in &mut point.steps {
            let mut since_due = durward_lab::record::LatencyRecord::default();
            step.since_due
                .counts()
                .for_each(|(ns, count)| since_due.record_many((ns as f64 * longer) as u64, count));
            step.since_due = since_due;
            step.answered = (step.answered as f64 * rate) as u64;
        }
    }
    changed
}

fn single(seed: u64) -> RunRecord {
    let mut record = fixtures::by_users(seed);
    record.points.retain(|point: &MeasuredPoint| point.replicate == 0);
    record
}

#[test]
fn a_run_against_itself_is_no_worse() {
    let record = fixtures::by_users(1);
    let options = CompareOptions { fail_if_slower: Some(0.0), seed: 1 };
    let comparison = compare(&record, &record, &options);
    assert!(
        !comparison.is_failed && comparison.warnings.iter().all(|it| it.contains("marked")),
        "{comparison:?}"
    );
    assert!(comparison.verdict.starts_with("No difference is sure"), "{}", comparison.verdict);
    assert!(comparison.differences.iter().all(|it| it.change == 0.0 || it.before == 0.0));
}

#[test]
fn what_is_slower_is_found_with_and_without_replicates() {
    let options = CompareOptions { fail_if_slower: Some(0.05), seed: 1 };
    for (name, before) in [("replicates", fixtures::by_users(1)), ("single", single(1))] {
        let slower = compare(&before, &changed(&before, 1.3, 0.8), &options);
        assert!(slower.is_failed && slower.verdict.starts_with("Slower"), "{name}: {}", slower.verdict);
        let faster = compare(&before, &changed(&before, 0.7, 1.2), &options);
        assert!(!faster.is_failed && faster.verdict.starts_with("Faster"), "{name}: {}", faster.verdict);
        let within = compare(&before, &changed(&before, 1.0, 0.99), &options);
        assert!(!within.is_failed, "{name}: {}", within.verdict);
    }
}

#[test]
fn the_method_of_each_interval_is_said() {
    let of = |record: &RunRecord, metric| {
        let all = compare(record, record, &CompareOptions::default()).differences;
        all.iter().find(|it| it.metric == metric && it.step.is_none()).unwrap().method
    };
    let (many, one) = (fixtures::by_users(1), single(1));
    assert_eq!(of(&many, Metric::P99), "replicates (Welch's t)");
    assert_eq!(of(&one, Metric::P99), "bootstrap of the histograms");
    assert_eq!(of(&one, Metric::Rate), "bootstrap of the seconds");
    assert_eq!(of(&one, Metric::CpuUs), "none: one measurement each");
    assert_eq!(of(&one, Metric::Errors), "counts (Newcombe)");
}

#[test]
fn more_errors_are_worse() {
    let before = single(1);
    let mut after = before.clone();
    after.points[2].steps[0].failed.insert("timeout".into(), 500);
    let differences = compare(&before, &after, &CompareOptions::default()).differences;
    let worse: Vec<Metric> =
        differences.iter().filter(|it| it.judgement == Judgement::Worse).map(|it| it.metric).collect();
    assert_eq!(worse, [Metric::Errors, Metric::Errors]);
}

#[test]
fn other_machines_and_scenarios_are_warned_of() {
    let before = fixtures::by_users(1);
    let mut after = before.clone();
    after.machines[0].cores = 64;
    after.about.scenario.push_str("# changed");
    after.about.targets[0].limits.clear();
    let warnings = compare(&before, &after, &CompareOptions::default()).warnings.join("\n");
    assert!(warnings.contains("Machines differ") && warnings.contains("64 threads"), "{warnings}");
    assert!(
        warnings.contains("scenarios differ") && warnings.contains("Limits of the targets differ"),
        "{warnings}"
    );
}

#[test]
fn records_without_a_load_in_common_do_not_pass() {
    let (before, after) = (fixtures::by_users(1), fixtures::open(1));
    let options = CompareOptions { fail_if_slower: Some(0.05), seed: 1 };
    let comparison = compare(&before, &after, &options);
    assert!(comparison.is_failed && comparison.differences.is_empty());
    assert!(comparison.verdict.contains("no load in common") && comparison.only_in_one.len() > 6);
}

#[test]
fn comparisons_are_tables_json_and_pages_whatever_things_are_called() {
    for (before, after) in [
        (fixtures::by_users(1), fixtures::by_users(2)),
        (fixtures::hostile(), fixtures::hostile()),
        (fixtures::empty(), fixtures::silent()),
        (fixtures::silent(), fixtures::silent()),
    ] {
        let comparison = compare(&before, &after, &CompareOptions::default());
        let text = text_table(&comparison);
        assert!(text.chars().all(|it| it == '\n' || !it.is_control()), "control characters");
        assert!(text.lines().all(|line| line.chars().count() < 1_000));
        assert!(serde_json::to_string(&comparison).unwrap().contains("\"verdict\""));
        let names = [("<before>".to_owned(), &before), ("after".to_owned(), &after)];
        let page = report::html(&comparison_document(&names, &[comparison]), Links::Nothing);
        assert!(page.contains("&lt;before&gt;") && !page.contains("<script") && !page.contains("NaN"));
    }
}

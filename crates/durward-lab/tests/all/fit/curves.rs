//! From records to curves: what N is, what is left out, what replicates weigh, and Little's law.

use durward_lab::fit::{self, FitOptions, FitRefusal, LoadUnit, Weights};
use durward_lab::record::{LatencyRecord, MeasuredPoint, PointLoad, PointWarning, RunRecord, StepResult};

/// A measurement of 10 s: so many nodes and users, so many answers a second that took so many ms each.
fn point(nodes: usize, users: u64, rate: u64, ms: u64) -> MeasuredPoint {
    let mut waits = LatencyRecord::default();
    waits.record_many(ms * 1_000_000, rate * 10);
    let step = StepResult {
        name: "validate".into(),
        answered: rate * 10,
        since_due: waits.clone(),
        since_sent: waits,
        ..StepResult::default()
    };
    MeasuredPoint {
        nodes,
        load: PointLoad::Users(users),
        measured_s: 10.0,
        steps: vec![step],
        ..MeasuredPoint::default()
    }
}

fn record(points: Vec<MeasuredPoint>) -> RunRecord {
    RunRecord { format: 1, points, ..RunRecord::default() }
}

fn pairs(curve: &fit::RecordCurve) -> Vec<(f64, f64)> {
    curve.observations.iter().map(|one| (one.n, one.x.round())).collect()
}

#[test]
fn by_nodes_each_number_counts_with_its_greatest_throughput() {
    let record = record(vec![
        point(1, 10, 100, 10),
        point(1, 50, 140, 90),
        point(2, 50, 250, 80),
        point(2, 99, 240, 90),
        point(3, 99, 330, 90),
    ]);
    assert_eq!(fit::by(&record), LoadUnit::Nodes);
    let curves = fit::curves(&record, LoadUnit::Nodes);
    assert_eq!(curves.len(), 1);
    assert_eq!(pairs(&curves[0]), [(1.0, 140.0), (2.0, 250.0), (3.0, 330.0)]);
}

#[test]
fn by_users_each_number_of_nodes_is_a_curve() {
    let record = record(vec![point(1, 10, 100, 100), point(2, 10, 100, 100), point(2, 20, 190, 100)]);
    let curves = fit::curves(&record, LoadUnit::Users);
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    assert_eq!(names, ["1 node", "2 nodes"]);
    assert_eq!(pairs(&curves[1]), [(10.0, 100.0), (20.0, 190.0)]);
}

#[test]
fn configurations_are_curves_of_their_own() {
    let of =
        |name: &str, users| MeasuredPoint { configuration: name.into(), ..point(1, users, users * 9, 100) };
    let curves =
        fit::curves(&record(vec![of("sticky", 1), of("random", 1), of("sticky", 2)]), LoadUnit::Users);
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    assert_eq!((names, pairs(&curves[0]).len()), (vec!["sticky", "random"], 2));
}

#[test]
fn users_who_pause_are_counted_by_what_is_under_way() {
    // 100 users, 4 requests/s each, 10 ms: 4 under way.
    let paced = record(vec![point(1, 100, 400, 10), point(1, 200, 790, 20)]);
    assert_eq!(fit::by(&paced), LoadUnit::Concurrency);
    let curve = fit::curves(&paced, LoadUnit::Concurrency).remove(0);
    assert!(
        (curve.observations[0].n - 4.0).abs() < 0.02 && (curve.observations[1].n - 15.8).abs() < 0.1,
        "{curve:?}"
    );
    assert!((curve.residence[0].little.unwrap() - 0.04).abs() < 1e-3, "{:?}", curve.residence);
    // 10 users who never pause: 100 a second of 100 ms.
    let busy = record(vec![point(1, 10, 100, 100)]);
    assert_eq!(fit::by(&busy), LoadUnit::Users);
    let residence = &fit::curves(&busy, LoadUnit::Users)[0].residence[0];
    assert!((residence.little.unwrap() - 1.0).abs() < 1e-2, "{residence:?}");
    assert!(
        (residence.steps[0].p99_s - 0.1).abs() < 1e-3 && (residence.mean_s - 0.1).abs() < 1e-3,
        "{residence:?}"
    );
}

#[test]
fn marked_points_are_left_out_and_a_generator_at_its_limit_is_refused() {
    let mut points: Vec<MeasuredPoint> = [(1, 100), (2, 190), (4, 340), (8, 560), (16, 800), (32, 980)]
        .map(|(users, rate)| point(1, users, rate, 10))
        .to_vec();
    let mut last = point(1, 64, 990, 10);
    last.marks = vec![PointWarning::GeneratorLimit("99 % busy".into())];
    points.push(last);
    let text = record(points).to_json().unwrap();
    let curve = fit::read(&text, Some(LoadUnit::Users), Weights::Auto).unwrap().curves.remove(0);
    assert_eq!((curve.observations.len(), curve.left_out.len()), (6, 1));
    let report =
        fit::of(&curve.observations, &FitOptions { left_out: curve.left_out, ..FitOptions::default() });
    assert!(report.refused.contains(&FitRefusal::GeneratorAtItsLimit), "{}", report.verdict);
    assert!(report.reasons[&FitRefusal::GeneratorAtItsLimit].contains("N = 64"), "{:?}", report.reasons);
}

#[test]
fn replicates_weigh_by_their_spread() {
    let replicate = |rate, replicate| MeasuredPoint { replicate, ..point(1, 2, rate, 10) };
    let steady = [point(1, 1, 100, 10), point(1, 1, 101, 10)];
    let all = record(steady.into_iter().chain([replicate(150, 0), replicate(230, 1)]).collect());
    let curve = fit::curves(&all, LoadUnit::Users).remove(0);
    assert!(curve.observations[0].weight > 2.0 * curve.observations[2].weight, "{:?}", curve.observations);
    // By concurrency their N differ, and they are replicates all the same.
    let curve = fit::curves(&all, LoadUnit::Concurrency).remove(0);
    assert!(curve.observations[0].weight > 2.0 * curve.observations[2].weight, "{:?}", curve.observations);
}

//! What screens show of a run: where it is, how long it still takes, what was measured.

use std::sync::atomic::Ordering;
use std::time::Duration;

use durward_lab::live::{RunEnding, RunPhase, RunStatus, SECONDS_KEPT, StatusBoard, clock};
use durward_lab::record::{
    LatencyRecord, MeasuredPoint, MeasuredSecond, PointLoad, PointWarning, StepResult,
};
use durward_lab::run::{NodeNow, RunOptions, RunPosition, RunSecond, RunWatcher, StepNow, Watchers, run};
use durward_lab::scenario::Scenario;

use crate::run::server::{Reply, Server, ok};

pub(super) fn scenario(url: &str, load: &str) -> Scenario {
    let text = format!(
        "name = \"seen\"\n[target]\naddresses = [{url:?}]\n[load]\n{load}\n[[steps]]\nname = \"ask\"\npath = \"/a\"\n"
    );
    Scenario::read(&text).unwrap()
}

pub(super) fn place(number: usize, count: usize) -> RunPosition {
    RunPosition {
        number,
        count,
        configuration: "sticky".into(),
        nodes: 2,
        load: PointLoad::Users(8),
        replicate: 0,
    }
}

/// A second with 100 right answers of 2 ms and 3 failed requests.
pub(super) fn moment(at_s: f64) -> RunSecond {
    let mut since_due = LatencyRecord::default();
    since_due.record_many(2_000_000, 100);
    let node = |name: &str| NodeNow { name: name.into(), answered: 50, ..NodeNow::default() };
    RunSecond {
        second: MeasuredSecond { at_s, answered: 100, failed: 3, p50_ns: 2_000_000, p99_ns: 2_000_000 },
        since_due,
        causes: [("timeout".to_owned(), 3)].into(),
        steps: vec![StepNow { name: "ask".into(), answered: 100, failed: 3 }],
        nodes: vec![node("http://one"), node("http://two")],
        generator_busy: 0.25,
    }
}

pub(super) fn point() -> MeasuredPoint {
    let mut step = StepResult { name: "ask".into(), answered: 200, ..StepResult::default() };
    step.since_due.record_many(2_000_000, 200);
    let marks = vec![PointWarning::NotSteady("it rose".into())];
    MeasuredPoint {
        load: PointLoad::Users(8),
        nodes: 2,
        measured_s: 2.0,
        steps: vec![step],
        marks,
        ..MeasuredPoint::default()
    }
}

#[test]
fn a_status_follows_a_run() {
    let scenario = scenario("http://127.0.0.1:1", "users = 8\nwarm_up = \"1s\"\nmeasure = \"2s\"");
    let mut status = RunStatus::new(&scenario);
    assert_eq!((status.head.phase, status.head.left_s), (RunPhase::Waiting, None));
    status.generator_limit();
    assert_eq!(status.head.phase, RunPhase::GeneratorLimit);
    status.begin(&place(1, 4));
    let left = status.head.left_s.unwrap();
    assert!((11.9..=12.0).contains(&left), "four points of three seconds: {left}");
    status.second(&place(1, 4), &moment(-1.0));
    assert_eq!((status.head.phase, status.head.so_far.p50), (RunPhase::WarmUp, 0.0));
    status.second(&place(1, 4), &moment(0.0));
    assert_eq!(status.head.phase, RunPhase::Measuring);
    assert!((status.head.so_far.p50 - 2.0).abs() < 0.01, "{:?}", status.head.so_far);
    // What comes after measuring is not shown: the last answers are waited for.
    status.second(&place(1, 4), &moment(2.0));
    assert_eq!((status.seconds.len(), status.head.causes["timeout"]), (2, 6));
    status.end(&place(1, 4), &point());
    assert_eq!((status.points[0].rate, status.points[0].size), (100.0, 8.0));
    assert_eq!(status.points[0].marks, ["not steady: it rose"]);
    status.finish(RunEnding::default());
    assert_eq!((status.head.phase, status.head.progress, status.head.left_s), (RunPhase::Ended, 1.0, None));
}

#[test]
fn a_run_that_was_cut_short_is_not_whole() {
    let mut status = RunStatus::new(&scenario("http://127.0.0.1:1", "users = 8"));
    status.begin(&place(1, 4));
    status.finish(RunEnding { cut_short: Some("stopped".into()), ..RunEnding::default() });
    assert!(status.head.progress < 0.1, "{}", status.head.progress);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut status = RunStatus::new(&scenario("http://127.0.0.1:1", "users = 8\nmeasure = \"10h\""));
    status.begin(&place(1, 1));
    for at in 0..SECONDS_KEPT as u32 + 100 {
        let mut moment = moment(f64::from(at));
        moment.causes = [(format!("status {at}"), 1)].into();
        moment.nodes = vec![NodeNow::default(); 100];
        status.second(&place(1, 1), &moment);
    }
    assert_eq!(status.seconds.len(), SECONDS_KEPT);
    assert!(status.head.causes.len() <= 41 && status.seconds[0].nodes.len() <= 16);
    assert_eq!(status.head.causes.values().sum::<u64>(), SECONDS_KEPT as u64 + 100);
}

#[test]
fn several_watchers_see_a_real_run_with_its_causes_and_nodes() {
    let server = Server::start({
        let count = std::sync::atomic::AtomicU64::new(0);
        move |_| match count.fetch_add(1, Ordering::Relaxed) % 4 {
            3 => Reply::Answer(503, "", String::new()),
            _ => ok("{}"),
        }
    });
    let scenario =
        scenario(&server.url, "users = [1, 2]\nwarm_up = \"0s\"\nmeasure = \"2s\"\nthink = \"1ms\"");
    let (one, other) = (StatusBoard::new(&scenario), StatusBoard::new(&scenario));
    let mut watchers = Watchers::default();
    watchers.add(one.clone());
    watchers.add(other.clone());
    let options = RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() };
    let record = run(&scenario, &options, &mut watchers).unwrap();
    for board in [one, other] {
        board.with(|status| {
            assert_eq!(status.points.len(), 2);
            assert_eq!(status.seconds.len(), 4, "{:?}", status.seconds);
            let failed: u64 = status.seconds.iter().map(|second| second.failed).sum();
            assert!(failed > 10 && status.head.causes["status 503"] == failed, "{:?}", status.head.causes);
            let second = status.seconds.back().unwrap();
            let (step, node) = (&status.head.steps[0], &status.head.nodes[0]);
            assert_eq!(
                (step.name.as_str(), step.answered, step.failed),
                ("ask", second.answered, second.failed)
            );
            assert_eq!(
                (&node.name, node.answered, node.failed),
                (&server.url, second.answered, second.failed)
            );
            assert!(second.times.p50 > 0.0 && second.times.p50 <= second.times.p999, "{second:?}");
            assert!(second.busy > 0.0 && second.busy <= 1.0, "{second:?}");
            // A server of this process can be seen: it is this process.
            assert!(node.memory.is_some_and(|bytes| bytes > 1 << 20), "{node:?}");
            let rates: Vec<f64> = record.points.iter().map(MeasuredPoint::throughput).collect();
            assert!(
                (status.points[0].rate - rates[0]).abs() < 0.01
                    && (status.points[1].rate - rates[1]).abs() < 0.01
            );
        });
    }
}

/// Keeps at which moments seconds were told.
#[derive(Default)]
struct Moments(Vec<f64>);

impl RunWatcher for Moments {
    fn second(&mut self, _: &RunPosition, moment: &RunSecond) {
        self.0.push(moment.second.at_s);
    }
}

#[test]
fn seconds_of_a_warm_up_that_ends_by_itself_are_before_measuring() {
    let server = Server::plain();
    let scenario = scenario(&server.url, "users = 1\nwarm_up = \"auto\"\nmeasure = \"2s\"\npace = \"20ms\"");
    let mut moments = Moments::default();
    let options = RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() };
    let record = run(&scenario, &options, &mut moments).unwrap();
    let before = moments.0.iter().filter(|at_s| **at_s < 0.0).count();
    assert!(before >= 4 && before as f64 >= record.points[0].warm_up_s - 1.5, "{:?}", moments.0);
    let measured: Vec<f64> = moments.0.iter().copied().filter(|at_s| (0.0..1.5).contains(at_s)).collect();
    assert_eq!(measured, [0.0, 1.0], "{:?}", moments.0);
}

#[test]
fn a_watcher_may_be_a_board() {
    let mut board = StatusBoard::new(&scenario("http://127.0.0.1:1", "users = 8"));
    board.begin(&place(2, 3));
    board.with(|status| assert_eq!(status.head.place.as_ref().unwrap().number, 2));
}

#[test]
fn times_are_shown_as_clocks_do() {
    let shown = [0.0, 7.9, 61.0, 3_723.0, -1.0, f64::NAN].map(clock);
    assert_eq!(shown, ["0:00", "0:07", "1:01", "1:02:03", "0:00", "0:00"]);
}

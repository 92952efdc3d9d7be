//! Plans: against numbers computed by hand, against the page of the manual, and with bad input.

use durward_lab::fit::{
    self, ExtrapolationZone, FitOptions, FitRefusal, FitReport, Law, LoadUnit, Observation,
};
use durward_lab::plan::{self, PlanGoal, Prices};
use durward_lab::record::{
    LatencyRecord, MeasuredPoint, NodeResult, NodeUse, PointLoad, RunRecord, StepResult,
};

/// The law itself, measured without any spread at these nodes.
fn report(law: Law, nodes: &[f64]) -> FitReport {
    let points: Vec<Observation> = nodes.iter().map(|n| Observation::new(*n, law.x(*n))).collect();
    fit::of(&points, &FitOptions { n_is: LoadUnit::Nodes, ..FitOptions::default() })
}

const LAW: Law = Law { lambda: 1_000.0, sigma: 0.02, kappa: 0.002 };
const MEASURED: [f64; 9] = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 24.0, 32.0];

fn goal(text: &str) -> PlanGoal {
    PlanGoal::read(text).unwrap()
}

/// The least number of nodes by trying one after the other.
fn by_trying(law: Law, needed: f64) -> Option<f64> {
    (1..=100).map(f64::from).find(|n| law.x(*n) >= needed)
}

#[test]
fn nodes_are_the_least_that_do_it() {
    let report = report(LAW, &MEASURED);
    for rate in [100.0, 700.0, 1_500.0, 3_000.0, 5_000.0, 6_000.0] {
        for (may_fail, utilisation_percent) in [(0, 100.0), (1, 70.0), (2, 50.0)] {
            let goal = PlanGoal { rate: Some(rate), may_fail, utilisation_percent, ..PlanGoal::default() };
            let plan = plan::of(&report, None, &goal, None, &FitRefusal::ALL).unwrap();
            let expected =
                by_trying(LAW, rate * 100.0 / utilisation_percent).map(|n| n + f64::from(may_fail));
            assert_eq!(
                plan.nodes.as_ref().map(|nodes| nodes.planned),
                expected,
                "{rate} {may_fail} {utilisation_percent}"
            );
            if let Some(nodes) = plan.nodes {
                let after = rate / LAW.x(nodes.planned - f64::from(may_fail));
                assert!((nodes.utilisation_after_failure - after).abs() < 1e-3);
                assert!(after <= utilisation_percent / 100.0 + 1e-6);
            }
        }
    }
}

#[test]
fn a_fit_without_a_law_is_no_plan() {
    let report = report(LAW, &[4.0]);
    assert!(report.fits.usl.is_none());
    let plan = plan::of(&report, None, &goal("rate = 100"), None, &FitRefusal::ALL).unwrap();
    assert!(!plan.is_met && plan.nodes.is_none() && plan.furthest.is_none());
    let said = plan.to_string();
    assert!(said.starts_with("No plan: no law was fitted") && said.contains("100 requests/s"), "{said}");
}

#[test]
fn beyond_the_peak_there_is_no_plan_but_shards() {
    let report = report(LAW, &MEASURED);
    // The peak: sqrt(0.98 / 0.002) = 22.1 nodes.
    let peak = 22.0;
    let plan =
        plan::of(&report, None, &goal("rate = 40000\nutilisation_percent = 100"), None, &FitRefusal::ALL)
            .unwrap();
    assert!(plan.nodes.is_none() && !plan.is_met, "{}", plan.verdict);
    let furthest = plan.furthest.unwrap();
    assert_eq!(furthest.nodes, Some(peak));
    assert!((furthest.rate - LAW.x(peak)).abs() < 1.0, "{furthest:?}");
    let shards = plan.shards.unwrap();
    assert!(shards.clusters * LAW.x(shards.nodes_each) >= 40_000.0 - 1.0, "{shards:?}");
    // Fewer nodes would not do, however they are divided.
    let fewest = (1..=peak as u32)
        .map(f64::from)
        .map(|each| (40_000.0 / LAW.x(each)).ceil() * each)
        .fold(f64::INFINITY, f64::min);
    assert!(shards.nodes <= fewest * 1.35, "{shards:?} {fewest}");
    assert!(plan.verdict.contains("cannot be met") && plan.verdict.contains("clusters"), "{}", plan.verdict);
}

#[test]
fn what_is_far_beyond_the_measured_is_said() {
    let law = Law { lambda: 1_000.0, sigma: 0.001, kappa: 0.0 };
    let report = report(law, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]);
    for (rate, zone) in [
        (5_000.0, ExtrapolationZone::Measured),
        (12_000.0, ExtrapolationZone::Extrapolated),
        (30_000.0, ExtrapolationZone::Grey),
    ] {
        let goal = PlanGoal { rate: Some(rate), utilisation_percent: 100.0, ..PlanGoal::default() };
        let plan = plan::of(&report, None, &goal, None, &FitRefusal::ALL).unwrap();
        assert_eq!(plan.nodes.unwrap().zone, zone, "{rate}");
    }
}

#[test]
fn a_refused_fit_is_no_plan() {
    let report = report(LAW, &[1.0, 2.0, 3.0]);
    let plan = plan::of(&report, None, &goal("rate = 1000"), None, &[]).unwrap();
    assert!(!plan.is_met && plan.refused.contains(&FitRefusal::FewPoints), "{plan:?}");
    assert!(plan.verdict.starts_with("No plan: the fit is refused (few-points"), "{}", plan.verdict);
}

/// A record of 1 to 8 nodes in which p99 grows with the load of a node: 10 ms at half of it, 40 ms at 800, 90 ms at 900.
fn record() -> RunRecord {
    let point = |nodes: usize, rate: f64, p99_ms: u64| {
        let mut times = LatencyRecord::default();
        let answered = (rate * nodes as f64) as u64 * 10;
        times.record_many(1_000_000, answered * 98 / 100);
        times.record_many(p99_ms * 1_000_000, answered - answered * 98 / 100);
        let used = NodeUse {
            cpu_s: answered as f64 * 0.0005,
            cores: 2.0,
            memory_bytes: (100 << 20) + (rate as u64) * 4096,
            ..NodeUse::default()
        };
        let node =
            NodeResult { answered: answered / nodes as u64, used: Some(used), ..NodeResult::default() };
        let step = StepResult {
            name: "ask".into(),
            answered,
            since_due: times.clone(),
            since_sent: times,
            ..StepResult::default()
        };
        // As many users as requests a second of each node: memory is a line over them.
        let load = PointLoad::Users((rate * nodes as f64) as u64);
        let by_node = vec![node; nodes].into_iter().map(|mut node| {
            if let Some(used) = &mut node.used {
                used.cpu_s /= nodes as f64;
            }
            node
        });
        MeasuredPoint {
            nodes,
            load,
            measured_s: 10.0,
            steps: vec![step],
            by_node: by_node.collect(),
            ..MeasuredPoint::default()
        }
    };
    let points = [1, 2, 3, 4, 6, 8]
        .into_iter()
        .flat_map(|nodes| [point(nodes, 500.0, 10), point(nodes, 800.0, 40), point(nodes, 900.0, 90)]);
    RunRecord { format: durward_lab::record::FORMAT, points: points.collect(), ..RunRecord::default() }
}

fn fitted(record: &RunRecord) -> FitReport {
    let curve = fit::curves(record, LoadUnit::Nodes).remove(0);
    fit::of(&curve.observations, &FitOptions { n_is: LoadUnit::Nodes, ..FitOptions::default() })
}

#[test]
fn p99_is_what_was_measured_at_the_load_of_a_node() {
    let record = record();
    let report = fitted(&record);
    let plan = |p99: f64| {
        let goal = PlanGoal {
            rate: Some(4_000.0),
            utilisation_percent: 100.0,
            p99_ms: Some(p99),
            ..PlanGoal::default()
        };
        plan::of(&report, Some(&record), &goal, None, &FitRefusal::ALL).unwrap()
    };
    // 900 a node and second would do for throughput, 800 keep 50 ms, 500 keep 20 ms, nothing keeps 5 ms.
    for (p99, nodes, why) in [(100.0, 5.0, "throughput"), (50.0, 5.0, "throughput"), (20.0, 8.0, "p99")] {
        let plan = plan(p99);
        let planned = plan.nodes.as_ref().unwrap();
        assert_eq!((planned.planned, planned.because_of.as_str()), (nodes, why), "{p99}");
        assert!(plan.promise.as_ref().unwrap().measured_ms.unwrap() <= p99 && plan.is_met, "{plan:?}");
    }
    let never = plan(5.0);
    assert!(!never.is_met && never.nodes.is_none(), "{}", never.verdict);
    assert!(never.notes.iter().any(|note| note.contains("more nodes do not help")), "{:?}", never.notes);
    // Without a record nothing is known of p99.
    let goal = PlanGoal { rate: Some(4_000.0), p99_ms: Some(100.0), ..PlanGoal::default() };
    let blind = plan::of(&report, None, &goal, None, &FitRefusal::ALL).unwrap();
    assert!(!blind.is_met && blind.promise.unwrap().is_kept.is_none());
}

#[test]
fn memory_cores_and_money_are_those_of_the_record() {
    let record = record();
    let prices = Prices::read("currency = 'EUR'\ncore_hour = 0.04\ngib_hour = 0.005\n[[node]]\nname = 'big'\ncores = 4\nmemory_gib = 16\nhour = 0.2\n[[node]]\nname = 'tiny'\ncores = 2\nmemory_gib = 0.01\nhour = 0.01").unwrap();
    let goal = goal("users = 1000000\nrequests_per_hour = 3.6\npeak = 4\nutilisation_percent = 100");
    let plan = plan::of(&fitted(&record), Some(&record), &goal, Some(&prices), &FitRefusal::ALL).unwrap();
    let (cores, memory, cost) = (plan.cores.unwrap(), plan.memory.unwrap(), plan.cost.unwrap());
    let nodes = plan.nodes.unwrap().planned;
    assert_eq!((plan.peak_rate, cores.total), (4_000.0, nodes * 2.0));
    assert!(
        (cores.cpu_us_per_request.unwrap() - 500.0).abs() < 1.0
            && (cores.busy_at_peak.unwrap() - 2.0).abs() < 0.01
    );
    // 4,096 bytes for each user and 100 MiB without any.
    assert_eq!(memory.session_bytes_are, "measured");
    assert!(
        (memory.session_bytes - 4_096.0).abs() < 1.0
            && (memory.base_bytes / 104_857_600.0 - 1.0).abs() < 1e-3
    );
    let per_node = 104_857_600.0 + 4_096.0 * 1e6 / nodes;
    assert!((memory.per_node_bytes / per_node - 1.0).abs() < 1e-3);
    let hour = nodes * (0.08 + 0.005 * per_node / 1_073_741_824.0);
    assert!(
        (cost.hour / hour - 1.0).abs() < 1e-3 && (cost.million_requests / (hour / 3.6) - 1.0).abs() < 1e-3
    );
    // Twice the cores: half as many nodes, rounded up. The tiny one is cheap and too small, so it stands last.
    assert_eq!(
        plan.alternatives.iter().map(|other| other.name.as_str()).collect::<Vec<_>>(),
        ["big", "tiny"]
    );
    assert_eq!(plan.alternatives[0].nodes, (nodes / 2.0).ceil());
    assert!(plan.alternatives[1].but.contains("memory"), "{:?}", plan.alternatives[1]);
}

#[test]
fn goals_that_cannot_be_are_refused() {
    for (text, words) in [
        ("", "`users`: a goal needs"),
        ("users = 5", "`requests_per_hour`: users alone"),
        ("rate = 5\nrequests_per_hour = 2", "`rate`: contradicts"),
        ("rate = 0", "`rate`: 0 is not from"),
        ("rate = -3", "`rate`: -3 is not from"),
        ("rate = nan", "`rate`: NaN is not from"),
        ("rate = inf", "`rate`: inf is not from"),
        ("rate = 5\npeak = 0.5", "`peak`: 0.5 is not from 1"),
        ("rate = 5\nutilisation_percent = 0", "`utilisation_percent`: 0 is not from 1"),
        ("rate = 5\nutilisation_percent = 120", "`utilisation_percent`: 120"),
        ("users = 1e12\nrequests_per_hour = 1e12", "`rate`: "),
        ("rate = 5\np99_ms = 0", "`p99_ms`: 0 is not"),
    ] {
        let error = goal(text).check().unwrap_err().to_string();
        assert!(error.starts_with(words), "{text}: {error}");
    }
    let error = PlanGoal::read("user = 5").unwrap_err().to_string();
    assert!(error.contains("unknown field `user`") && error.contains("line 1"), "{error}");
    for (text, words) in [
        ("currency = 'EUR'", "nothing has a price"),
        ("currency = 'EUR'\ncore_hour = -1", "`core_hour`: -1"),
        ("currency = 'EUR'\ncore_hours = 1", "unknown field `core_hours`"),
        ("core_hour = 1", "missing field `currency`"),
        (
            "currency = 'EUR'\ncore_hour = 1\n[[node]]\nname = 'x'\ncores = 0\nmemory_gib = 1",
            "`node.x.cores`: 0",
        ),
    ] {
        let error = Prices::read(text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

/// The worked example of docs/lab-plan.md: its points, goal and prices give what it prints, word for word.
#[test]
fn the_page_prints_what_the_plan_says() {
    let page = std::fs::read_to_string(durward_testdata::workspace().join("docs/lab-plan.md")).unwrap();
    let block = |name: &str| {
        let from = page.find(&format!("<!-- {name} -->")).unwrap_or_else(|| panic!("no block {name}"));
        let text = page[from..].split("```").nth(1).unwrap();
        text.split_once('\n').unwrap().1.to_owned()
    };
    let input = fit::read(&block("points"), Some(LoadUnit::Nodes), fit::Weights::Auto).unwrap();
    let report = fit::of(
        &input.curves[0].observations,
        &FitOptions { n_is: LoadUnit::Nodes, ..FitOptions::default() },
    );
    let prices = Prices::read(&block("prices")).unwrap();
    let plan = plan::of(&report, None, &goal(&block("goal")), Some(&prices), &[]).unwrap();
    if std::env::var_os("DURWARD_BLESS").is_some() {
        println!("{plan}");
    }
    assert_eq!(plan.to_string(), block("plan"));
    let deployment = durward_lab::simulate::Deployment::read(&block("deployment")).unwrap();
    durward_lab::simulate::run(&deployment).unwrap();
}

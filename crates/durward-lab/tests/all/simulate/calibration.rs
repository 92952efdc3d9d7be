//! A record that was simulated is a deployment whose truth is known: calibrated by its lightest point, the others must come out alike.

use durward_lab::record::{MachineInfo, RunRecord};
use durward_lab::simulate::{self, Deployment, TimeDistribution};

fn record(service: &str, delay: &str, rates: &[f64]) -> RunRecord {
    let all: Vec<_> = rates
        .iter()
        .map(|rate| {
            let text = format!(
                "seconds = 60\nnodes = {{ count = 2, cores = 2 }}\nload = {{ rate = {rate} }}\nsteps = [{{ name = 'validate', service = {service}, delay = {delay} }}]"
            );
            let deployment = Deployment::read(&text).unwrap();
            let outcome = simulate::run(&deployment).unwrap();
            (deployment, outcome)
        })
        .collect();
    RunRecord::read(&simulate::record(&all, "test", Vec::new()).to_json().unwrap()).unwrap()
}

#[test]
fn a_simulated_record_is_found_again() {
    for (service, delay) in [
        ("{ exponential_ms = 5 }", "{ constant_ms = 0.5 }"),
        ("{ constant_ms = 2 }", "{ exponential_ms = 6 }"),
    ] {
        let light = record(service, delay, &[40.0]);
        let calibration = simulate::calibrate(&light).unwrap();
        let heavy = record(service, delay, &[300.0, 500.0, 640.0]);
        for compared in simulate::against(&calibration, &heavy).unwrap() {
            assert!(compared.is_close, "{service}: {compared:?}");
        }
    }
}

#[test]
fn work_and_waiting_are_told_apart_by_processor_time() {
    let calibration =
        simulate::calibrate(&record("{ constant_ms = 2 }", "{ exponential_ms = 6 }", &[40.0])).unwrap();
    assert!(calibration.notes.is_empty(), "{:?}", calibration.notes);
    let step = &calibration.deployment.steps[0];
    assert!((step.service.mean_s() - 0.002).abs() < 0.0001, "{}", step.service.mean_s());
    assert!(
        matches!(step.service, TimeDistribution::ConstantMs(_))
            && (step.delay.mean_s() - 0.006).abs() < 0.0003
    );
    // Without processor time all of it is taken to be work, and that is said.
    let mut blind = record("{ constant_ms = 2 }", "{ exponential_ms = 6 }", &[40.0]);
    blind.points[0].by_node.iter_mut().for_each(|node| node.used = None);
    let calibration = simulate::calibrate(&blind).unwrap();
    assert!((calibration.deployment.steps[0].service.mean_s() - 0.008).abs() < 0.0004);
    assert!(calibration.notes.iter().any(|note| note.contains("no processor time")));
    assert!(
        simulate::calibrate(&RunRecord::default())
            .unwrap_err()
            .to_string()
            .contains("no point of the record")
    );
}

/// As the kernel tells it of a node that works with so many cores at once and is always held back by a quota of 0.3 cores: each of them
/// is held back for the period without the time in which all of them spend the quota.
fn held_back(cores: f64) -> RunRecord {
    let mut record = record("{ constant_ms = 2 }", "{ constant_ms = 0 }", &[40.0]);
    record.machines.push(MachineInfo { cores: 4, ..MachineInfo::default() });
    record.about.targets[0].limits =
        vec!["cpus = 0.3 (cgroup v1, cpu.cfs_quota_us = 15000 of 50000)".to_owned()];
    for used in record.points[0].by_node.iter_mut().filter_map(|node| node.used.as_mut()) {
        (used.cores, used.periods, used.throttled_periods) = (0.3, 1200, 1190);
        used.throttled_s = 1190.0 * cores * (0.05 - 0.015 / cores);
        used.more.insert("threads".to_owned(), 3.0);
    }
    record
}

#[test]
fn a_quota_tells_with_how_many_cores_a_node_works() {
    for cores in [1, 2, 3] {
        let calibration = simulate::calibrate(&held_back(f64::from(cores))).unwrap();
        let nodes = &calibration.deployment.nodes;
        assert_eq!((nodes.cores, nodes.quota, nodes.period_s), (cores, Some(0.3), 0.05));
    }
    // Where it seldom holds back, that is not seen, and said.
    let mut seldom = held_back(1.0);
    seldom.points[0].by_node.iter_mut().filter_map(|node| node.used.as_mut()).for_each(|used| {
        (used.throttled_periods, used.throttled_s) = (12, 0.1);
    });
    let calibration = simulate::calibrate(&seldom).unwrap();
    assert_eq!(calibration.deployment.nodes.cores, 3);
    assert!(calibration.notes.iter().any(|note| note.contains("how many cores")), "{:?}", calibration.notes);
}

/// An idle node has to be woken, a busy one does not: what a request costs at two loads tells both apart.
#[test]
fn what_waking_costs_is_found_again() {
    let text = |rate: f64| {
        format!(
            "seconds = 60\nnodes = {{ count = 1, wake_ms = 0.5 }}\nload = {{ rate = {rate} }}\nsteps = [{{ name = 'ask', service = {{ constant_ms = 1 }} }}]"
        )
    };
    let all: Vec<_> = [50.0, 300.0, 700.0]
        .iter()
        .map(|rate| Deployment::read(&text(*rate)).unwrap())
        .map(|deployment| (deployment.clone(), simulate::run(&deployment).unwrap()))
        .collect();
    let record = simulate::record(&all, "test", Vec::new());
    let calibration = simulate::calibrate(&record).unwrap();
    let (wake_ms, service_s) =
        (calibration.deployment.nodes.wake_ms, calibration.deployment.steps[0].service.mean_s());
    assert!((wake_ms - 0.5).abs() < 0.05 && (service_s - 0.001).abs() < 0.0001, "{wake_ms} {service_s}");
    for compared in simulate::against(&calibration, &record).unwrap() {
        assert!(compared.is_close, "{compared:?}");
    }
}

/// Who asked is taken from the scenario of the record that is compared, not from the one of the calibration.
#[test]
fn bursts_are_simulated_as_bursts_and_thinking_as_it_was() {
    let calibration =
        simulate::calibrate(&record("{ constant_ms = 2 }", "{ constant_ms = 0 }", &[40.0])).unwrap();
    let steps = "steps = [{ name = 'validate', service = { constant_ms = 2 } }]";
    for (load, scenario, bound_ms) in [
        ("rate = 80, arrivals = { burst = 20 }", "arrivals = { burst = 20, every = \"250ms\" }", 10.0),
        ("rate = 400, arrivals = 'constant'", "arrivals = { rate = 400 }", 1.9),
        ("users = 30, think_s = 0.1, think = 'constant'", "users = 30\nthink = \"100ms\"", 1.9),
        ("users = 30, think_s = 0.1", "users = 30\nthink = { mean = \"100ms\" }", 1.9),
    ] {
        let text = format!(
            "seconds = 60\nbalance = 'random'\nnodes = {{ count = 2, cores = 2 }}\nload = {{ {load} }}\n{steps}"
        );
        let deployment = Deployment::read(&text).unwrap();
        let outcome = simulate::run(&deployment).unwrap();
        let mut measured = simulate::record(&[(deployment, outcome)], "test", Vec::new());
        measured.about.scenario = format!(
            "[target]\naddresses = [\"http://127.0.0.1:1\", \"http://127.0.0.1:2\"]\n[load]\nbalance = \"random\"\n{scenario}\n[[steps]]\npath = \"/\""
        );
        let compared = simulate::against(&calibration, &measured).unwrap().remove(0);
        assert!(compared.is_close && compared.notes.is_empty(), "{scenario}: {compared:?}");
        assert!(compared.p99_ms[0] > bound_ms, "{scenario}: {compared:?}");
    }
}

/// Ten at once on one core: the first is done after 1 ms, the last after 10. Waking it takes 3 ms more, once.
#[test]
fn a_burst_waits_for_itself() {
    for (wake_ms, first, last) in [(0, 1, 10), (3, 4, 13)] {
        let outcome = super::simulate(&format!(
            "seconds = 20\nnodes = {{ count = 1, wake_ms = {wake_ms} }}\nload = {{ rate = 10, arrivals = {{ burst = 10 }} }}\nsteps = [{{ name = 'ask', service = {{ constant_ms = 1 }} }}]"
        ));
        let times = outcome.since_due();
        assert_eq!(times.count(), 200);
        let is = |percent, ms: u64| times.percentile_ns(percent).abs_diff(ms * 1_000_000) < 20_000;
        assert!(is(10.0, first) && is(50.0, first + 4) && is(100.0, last), "{wake_ms}");
    }
}

#[test]
fn deployments_that_cannot_be_are_refused() {
    let good = "nodes = { count = 2 }\nload = { rate = 5 }\nsteps = [{ name = 'a', service = { constant_ms = 1 } }]\n";
    assert!(Deployment::read(good).is_ok());
    for (from, to, words) in [
        ("count = 2", "count = 0", "`nodes.count`: 0 is not from 1"),
        ("count = 2", "count = 2, quota = 3", "`nodes.quota`: 3"),
        ("count = 2", "count = 2, wake_ms = -1", "`nodes.wake_ms`: -1"),
        ("rate = 5", "rate = 5, arrivals = { burst = 0 }", "`load.arrivals`: a burst of 0"),
        ("rate = 5", "rate = nan", "`load.rate`: NaN"),
        ("rate = 5", "rate = 5, users = 3", "`load`: either"),
        ("rate = 5", "", "`load`: nobody asks"),
        ("rate = 5", "users = 3000000", "`load.think_s`: more than"),
        ("rate = 5", "rate = 1e9", "`seconds`: about"),
        ("constant_ms = 1", "constant_ms = -1", "`steps.a.service`: -1 ms"),
        ("constant_ms = 1", "normal_ms = 1", "unknown variant `normal_ms`"),
        ("name = 'a',", "name = 'a', weight = 0,", "`steps`: no step"),
        ("nodes =", "node =", "unknown field `node`"),
        (
            "steps =",
            "events = [{ fail = { at_s = 1, nodes = 2 } }]\nsteps =",
            "`events[0].nodes`: 2 of 2 nodes",
        ),
    ] {
        let error = Deployment::read(&good.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(words), "{to}: {error}");
    }
}

//! Records as runs would make them, from a seed: not measured, but of the shapes that measurements have.

use std::collections::BTreeMap;

use durward_lab::fit::Law;
use durward_lab::random::LabRandom;
use durward_lab::record::{
    FORMAT, GeneratorLimit, GeneratorUse, LatencyRecord, MachineInfo, MeasuredPoint, MeasuredSecond,
    NodeResult, NodeUse, PointLoad, PointWarning, RunInfo, RunRecord, StepResult, TargetInfo,
    ThresholdResult, UsedSample,
};

const SECONDS: u32 = 20;

/// What a target does.
pub const LAW: Law = Law { lambda: 1_800.0, sigma: 0.06, kappa: 0.0008 };

fn base(name: &str) -> RunRecord {
    RunRecord {
        format: FORMAT,
        about: RunInfo {
            name: name.into(),
            version: "0.1.0".into(),
            command: ["durward", "lab", "run", "shop front.toml"].map(str::to_owned).into(),
            scenario: format!("name = \"{name}\"\n\n[load]\nusers = [1, 2, 4, 8, 16, 32, 64]\n"),
            started_unix_ms: 1_795_400_000_000,
            seed: 42,
            targets: vec![TargetInfo {
                name: "shop".into(),
                started_as: "shop-server --port {port}".into(),
                version: "2.4.1".into(),
                limits: vec!["cpus = 0.4 (cgroup v1, cpu.cfs_quota_us)".into()],
                limits_missing: vec!["memory = 64M: no memory controller that may be written to".into()],
            }],
        },
        machines: vec![MachineInfo {
            name: "local".into(),
            processor: Some("Example CPU 3.0 GHz".into()),
            cores: 8,
            memory_bytes: Some(16 << 30),
            system: "Linux 6.8.0 x86_64".into(),
            ..MachineInfo::default()
        }],
        generator_limit: Some(GeneratorLimit { requests_per_s: 58_000.0, busy: 0.99, threads: 2 }),
        ..RunRecord::default()
    }
}

fn step(name: &str, answered: u64, mean_ns: f64, seed: u64) -> StepResult {
    let mut random = LabRandom::new(seed);
    let mut step = StepResult { name: name.into(), answered, ..StepResult::default() };
    // Few draws, each for many requests: percentiles of an exponential time above a floor.
    let draws = answered.clamp(1, 4_000);
    for number in 0..draws {
        let count = answered / draws + u64::from(number < answered % draws);
        let wait = mean_ns * (0.4 - 0.6 * (1.0 - random.unit()).ln());
        step.since_sent.record_many(wait as u64, count);
        step.since_due.record_many((wait * 1.05) as u64 + 20_000, count);
    }
    step
}

fn point(load: PointLoad, nodes: usize, rate: f64, mean_ns: f64, seed: u64) -> MeasuredPoint {
    let total = rate * f64::from(SECONDS);
    let steps = vec![
        step("login", (total * 0.1) as u64, mean_ns * 3.0, seed),
        step("validate", (total * 0.8) as u64, mean_ns, seed + 1),
        step("logout", (total * 0.1) as u64, mean_ns * 1.4, seed + 2),
    ];
    let mut random = LabRandom::new(seed + 3);
    let seconds = (-3..SECONDS as i32)
        .map(|at| MeasuredSecond {
            at_s: f64::from(at),
            answered: (rate * (0.95 + 0.1 * random.unit()) * if at < 0 { 0.8 } else { 1.0 }) as u64,
            failed: 0,
            p50_ns: (mean_ns * 0.8) as u64,
            p99_ns: (mean_ns * (3.0 + random.unit())) as u64,
        })
        .collect();
    let answered: u64 = steps.iter().map(|step| step.answered).sum();
    MeasuredPoint {
        nodes,
        load,
        started_unix_ms: 1_795_400_000_000 + seed * 40_000,
        measured_s: f64::from(SECONDS),
        warm_up_s: 3.0,
        by_node: (0..nodes).map(|node| node_result(node, nodes, answered, rate, seed)).collect(),
        generator: GeneratorUse {
            busy: rate / 60_000.0,
            cpu_s: rate / 60_000.0 * f64::from(SECONDS) * 2.0,
            lateness: step("late", 1_000, 30_000.0, seed + 4).since_due,
            connections: 64,
            backlog_max: 2,
            ..GeneratorUse::default()
        },
        steps,
        seconds,
        ..MeasuredPoint::default()
    }
}

fn node_result(node: usize, nodes: usize, answered: u64, rate: f64, seed: u64) -> NodeResult {
    let mut random = LabRandom::new(seed + 100 + node as u64);
    let busy = (rate / nodes as f64 / 11_000.0).min(0.98);
    let samples = (0..SECONDS).map(|at| UsedSample {
        at_s: f64::from(at),
        cpus: busy * (0.96 + 0.06 * random.unit()),
        memory_bytes: (40 << 20) + u64::from(at) * 200_000,
        throttled: 0.0,
    });
    NodeResult {
        name: format!("127.0.0.1:{}", 8_100 + node),
        answered: answered / nodes as u64,
        failed: 0,
        since_due: step("node", 500, 2e6, seed).since_due,
        used: Some(NodeUse {
            source: "cgroup v1".into(),
            cpu_s: busy * f64::from(SECONDS),
            cores: 1.0,
            throttled_s: 0.1,
            throttled_periods: 3,
            periods: 200,
            memory_bytes: 44 << 20,
            memory_peak_bytes: 47 << 20,
            memory_max_bytes: Some(64 << 20),
            more: BTreeMap::from([("net_out_bytes".into(), 4e8), ("net_in_bytes".into(), 1e8)]),
            samples: samples.collect(),
        }),
    }
}

/// Users from 1 to 64, three replicates each; the last two points limited by the generator and by errors.
pub fn by_users(seed: u64) -> RunRecord {
    let mut record = base("Login and validate, one node");
    let mut random = LabRandom::new(seed);
    for users in [1_u64, 2, 4, 8, 16, 24, 32, 48, 64] {
        for replicate in 0..3 {
            let rate = LAW.x(users as f64) * (0.98 + 0.04 * random.unit());
            let mut point = point(
                PointLoad::Users(users),
                1,
                rate,
                users as f64 / rate * 1e9 / 1.24,
                random.next_u64() >> 40,
            );
            point.replicate = replicate;
            if users == 64 {
                point.steps[1].failed = BTreeMap::from([("status 503".into(), 900), ("timeout".into(), 41)]);
                point.steps[1].not_sent = 12;
            }
            record.points.push(point);
        }
    }
    let mut limited = point(PointLoad::Users(96), 1, 5_000.0, 1.9e7, 77);
    limited.generator.busy = 0.97;
    limited.marks = vec![PointWarning::GeneratorLimit("97 % of its cores were in use".into())];
    record.points.push(limited);
    let mut unsteady = point(PointLoad::Users(80), 1, 8_500.0, 9e6, 78);
    unsteady.marks =
        vec![PointWarning::NotSteady("the rate still rose by 4 % in the last 5 s of the warm-up".into())];
    record.points.push(unsteady);
    record.thresholds = vec![
        ThresholdResult { threshold: "p99 < 50ms".into(), measured: "31ms".into(), is_kept: true },
        ThresholdResult { threshold: "errors < 0.1%".into(), measured: "0.6%".into(), is_kept: false },
    ];
    record
}

/// Nodes from 1 to 8, sticky and at random.
pub fn by_nodes(seed: u64) -> RunRecord {
    let mut record = base("Cluster of 1 to 8, sticky and at random");
    let mut random = LabRandom::new(seed);
    for (configuration, sigma, kappa) in
        [("sticky, 5 % logout", 0.03, 0.0004), ("random, 5 % logout", 0.12, 0.012)]
    {
        let law = Law { lambda: 2_400.0, sigma, kappa };
        for nodes in [1_usize, 2, 3, 4, 6, 8] {
            for users in [16_u64 * nodes as u64, 64 * nodes as u64] {
                let rate = law.x(nodes as f64)
                    * if users > 16 * nodes as u64 { 1.0 } else { 0.7 }
                    * (0.98 + 0.04 * random.unit());
                let mut point = point(
                    PointLoad::Users(users),
                    nodes,
                    rate,
                    users as f64 / rate * 1e9,
                    random.next_u64() >> 40,
                );
                point.configuration = configuration.into();
                record.points.push(point);
            }
        }
    }
    record
}

/// Arrivals by a schedule.
pub fn open(seed: u64) -> RunRecord {
    let mut record = base("Open arrivals");
    record.generator_limit = None;
    for (number, rate) in [500.0, 1_000.0, 2_000.0, 4_000.0, 6_000.0, 7_500.0].into_iter().enumerate() {
        let mut point = point(
            PointLoad::Arrivals(rate),
            1,
            rate,
            1e6 / (1.0 - rate / 8_000.0),
            seed + number as u64 * 10,
        );
        point.by_node.iter_mut().for_each(|node| node.used = None);
        record.points.push(point);
    }
    record.cut_short = Some("SIGINT".into());
    record
}

/// Nothing but names, each of which tries to be more.
pub fn hostile() -> RunRecord {
    let evil =
        format!("<script>alert(1)</script>]]>&\"'\u{0}\u{7}\u{1b}[31m\u{202e}=cmd()|{}", "x".repeat(10_000));
    let mut record = open(3);
    record.about.name = evil.clone();
    record.about.version = evil.clone();
    record.about.command = vec![evil.clone()];
    record.about.scenario = evil.clone();
    record.cut_short = Some(evil.clone());
    record.notes = vec![evil.clone()];
    record.machines[0].processor = Some(evil.clone());
    for target in &mut record.about.targets {
        *target = TargetInfo {
            name: evil.clone(),
            started_as: evil.clone(),
            version: evil.clone(),
            limits: vec![evil.clone()],
            limits_missing: vec![evil.clone()],
        };
    }
    record.thresholds =
        vec![ThresholdResult { threshold: evil.clone(), measured: evil.clone(), is_kept: false }];
    for (number, point) in record.points.iter_mut().enumerate() {
        point.configuration = format!("{number}{evil}");
        point.marks = vec![PointWarning::Neighbour(evil.clone())];
        point.by_node.iter_mut().for_each(|node| node.name = evil.clone());
        point.steps[0].name = evil.clone();
        point.steps[0].failed = BTreeMap::from([(evil.clone(), 5)]);
    }
    record
}

/// So many points of one curve.
pub fn long(count: u64) -> RunRecord {
    let mut record = base("Long");
    for users in 1..=count {
        let mut latency = LatencyRecord::default();
        latency.record_many(1_000_000 + users * 1_000, 500);
        let step = StepResult {
            name: "get".into(),
            answered: 500,
            since_due: latency.clone(),
            since_sent: latency,
            ..StepResult::default()
        };
        record.points.push(MeasuredPoint {
            load: PointLoad::Users(users),
            nodes: 1,
            measured_s: 1.0,
            steps: vec![step],
            ..MeasuredPoint::default()
        });
    }
    record
}

/// One point at which nothing was answered.
pub fn silent() -> RunRecord {
    let mut record = base("Silent");
    let failed = BTreeMap::from([("refused".into(), 10)]);
    let step = StepResult { name: "get".into(), failed, ..StepResult::default() };
    record.points.push(MeasuredPoint {
        load: PointLoad::Users(3),
        nodes: 1,
        measured_s: 1.0,
        steps: vec![step],
        ..MeasuredPoint::default()
    });
    record
}

/// A record without points.
pub fn empty() -> RunRecord {
    base("Empty")
}

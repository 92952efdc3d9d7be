//! From a record to a deployment: service times of the lightest load that was measured.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Balance, Deployment, Kind, Load, Nodes, Step, Think, Times};
use crate::record::{self, Latency, Point, Record};
use crate::scenario::Scenario;

/// Points with fewer answers are not calibrated by: their 99th percentile is one of ten answers.
const ANSWERS_MIN: u64 = 1_000;

/// A deployment as it was measured, and what it was taken from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// One node or several, as at that point, under its load.
    pub deployment: Deployment,
    /// The point, in words.
    pub from: String,
    /// Where service times come from, and what was assumed.
    pub notes: Vec<String>,
}

/// Why a record says too little to be simulated, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibrationError(String);

impl fmt::Display for CalibrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CalibrationError {}

/// Takes service times, cores, quota, mix and think time from the point of a record with the least load on each node.
///
/// A core works on a request for as long as processor time was used for one (that of a node, by requests), distributed over steps in
/// proportion to their mean times; the rest of the time that answers took passes without a core. Where most of the time is work,
/// work varies as measured, else the rest does. Without processor time in the record, all of the time is taken to be work.
///
/// # Errors
/// A record without a point that has a thousand answers, or one that makes no deployment.
pub fn calibrate(record: &Record) -> Result<Calibration, CalibrationError> {
    let load = |point: &Point| point.throughput() / point.nodes.max(1) as f64;
    let lightest = record
        .points
        .iter()
        .filter(|point| point.answered() >= ANSWERS_MIN)
        .min_by(|one, other| load(one).total_cmp(&load(other)))
        .ok_or_else(|| {
            CalibrationError(format!(
                "no point of the record has {ANSWERS_MIN} answers: nothing to take service times from"
            ))
        })?;
    let mut notes = Vec::new();
    let mean_s = Latency::merged(lightest.steps.iter().map(sent)).mean_ns() / 1e9;
    let work = work_share(lightest, mean_s, &mut notes);
    let steps =
        lightest.steps.iter().filter(|step| step.answered > 0).map(|step| calibrated(step, work)).collect();
    let scenario = Scenario::read(&record.about.scenario).ok();
    let deployment = Deployment {
        seed: record.about.seed,
        seconds: lightest.measured_s.clamp(1.0, 600.0),
        warm_up_s: 5.0,
        nodes: nodes(record, lightest, &mut notes),
        load: load_of(lightest, &lightest.load, think_s(lightest), scenario.as_ref()),
        balance: scenario.as_ref().map_or(Balance::default(), |it| balance(it, &lightest.configuration)),
        steps,
        replication: None,
        events: Vec::new(),
    };
    deployment
        .check()
        .map_err(|error| CalibrationError(format!("the record makes no deployment: {error}")))?;
    let from = format!(
        "{} answers at {:.0} a second of each of {}; a core works {:.0} us of the {:.0} us that an answer takes",
        lightest.answered(),
        load(lightest),
        record::nodes_in_words(lightest.nodes),
        work * mean_s * 1e6,
        mean_s * 1e6
    );
    Ok(Calibration { deployment, from, notes })
}

fn sent(step: &record::StepResult) -> &Latency {
    if step.since_sent.count() > 0 { &step.since_sent } else { &step.since_due }
}

/// The share of the time of an answer in which a core works on it.
fn work_share(point: &Point, mean_s: f64, notes: &mut Vec<String>) -> f64 {
    let used: Vec<f64> =
        point.by_node.iter().filter_map(|node| node.used.as_ref()).map(|used| used.cpu_s).collect();
    let cpu_s: f64 = used.iter().sum();
    if used.len() < point.nodes.max(1) || cpu_s <= 0.0 || mean_s <= 0.0 {
        notes.push("the record has no processor time of all nodes: all of the time of an answer is taken to be work of a core".to_owned());
        return 1.0;
    }
    let each = cpu_s / (point.answered() + point.failed()).max(1) as f64;
    if each > mean_s {
        notes.push(format!(
            "{:.0} us of processor time a request, more than the {:.0} us an answer takes: threads of the node work beside each other",
            each * 1e6,
            mean_s * 1e6
        ));
    }
    each / mean_s
}

fn calibrated(step: &record::StepResult, work: f64) -> Step {
    let times = sent(step);
    let mean_ms = times.mean_ns() / 1e6;
    let (service, delay) = if work >= 0.5 {
        (
            Times::Measured { times: times.clone(), scale: work },
            Times::ConstantMs((mean_ms * (1.0 - work)).max(0.0)),
        )
    } else {
        let work_ns = mean_ms * work * 1e6;
        let mut rest = Latency::default();
        times.counts().for_each(|(ns, count)| rest.record_many(ns.saturating_sub(work_ns as u64), count));
        (Times::ConstantMs(work_ns / 1e6), Times::Measured { times: rest, scale: 1.0 })
    };
    Step { name: step.name.clone(), kind: kind(&step.name), weight: step.answered as f64, service, delay }
}

/// What a step does with sessions, by its name. Users in a record took their steps as they did, so logins keep their weight:
/// no step is of the kind that users without a session must take first.
fn kind(name: &str) -> Kind {
    let name = name.to_ascii_lowercase();
    match () {
        () if name.contains("login") || name.contains("logout") || name.contains("authenticate") => {
            Kind::Write
        }
        () if name.contains("valid") => Kind::Read,
        () => Kind::Plain,
    }
}

fn nodes(record: &Record, point: &Point, notes: &mut Vec<String>) -> Nodes {
    let allowed =
        point.by_node.iter().filter_map(|node| node.used.as_ref()).map(|used| used.cores).fold(0.0, f64::max);
    let machine = record.machines.first().map_or(1, |machine| machine.cores.max(1)) as f64;
    let limits = || record.about.targets.iter().flat_map(|target| &target.limits);
    let is_quota =
        limits().any(|limit| limit.contains("quota") || limit.contains("cpu.max")) || allowed.fract() > 0.0;
    if allowed <= 0.0 {
        notes.push("the record does not say how many cores a node has: one is taken".to_owned());
    }
    let quota = (is_quota && allowed > 0.0 && allowed < machine).then_some(allowed);
    let cores = if quota.is_some() { machine } else { allowed.round().max(1.0) };
    Nodes {
        count: point.nodes.clamp(1, super::NODES_MAX as usize) as u32,
        cores: cores as u32,
        quota,
        ..Nodes::default()
    }
}

/// How long users think, by Little's law: users over rate is think time and time of an answer.
fn think_s(point: &Point) -> f64 {
    let record::Load::Users(users) = point.load else { return 0.0 };
    let cycle = users as f64 / point.throughput();
    let think = cycle - Latency::merged(point.steps.iter().map(sent)).mean_ns() / 1e9;
    if think > 0.02 * cycle { think } else { 0.0 }
}

fn load_of(point: &Point, load: &record::Load, think_s: f64, scenario: Option<&Scenario>) -> Load {
    match load {
        record::Load::Users(users) => {
            let pace = scenario.and_then(|scenario| scenario.load.pace).map(|pace| pace.0.as_secs_f64());
            let (think, think_s) = pace.map_or((Think::Constant, think_s), |pace| (Think::Pace, pace));
            Load { users: Some((*users).max(1)), think_s, think, sessions_at_start: true, ..Load::default() }
        }
        record::Load::Arrivals(rate) => {
            Load { rate: Some(if *rate > 0.0 { *rate } else { point.throughput() }), ..Load::default() }
        }
    }
}

/// Where a scenario tries several, the configuration of a point names its own.
fn balance(scenario: &Scenario, configuration: &str) -> Balance {
    use crate::scenario::Balance as Measured;
    let tried = &scenario.load.balance.0;
    let named = tried.iter().find(|one| configuration.split(", ").any(|word| word == one.as_str()));
    match named.or(tried.first()).copied().unwrap_or_default() {
        Measured::Sticky => Balance::Sticky,
        Measured::Random => Balance::Random,
        Measured::RoundRobin => Balance::RoundRobin,
        Measured::LeastOutstanding => Balance::LeastOutstanding,
        Measured::TwoChoices => Balance::TwoChoices,
    }
}

/// A point of a record beside its simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Nodes and load of the point, in words.
    pub point: String,
    /// Whether marks leave the point out of fits.
    pub is_marked: bool,
    /// Requests a second: measured and simulated.
    pub throughput: [f64; 2],
    /// The median in milliseconds.
    pub p50_ms: [f64; 2],
    /// The 99th percentile in milliseconds.
    pub p99_ms: [f64; 2],
    /// Whether throughput is within [`THROUGHPUT_WITHIN`] and the 99th percentile within [`P99_WITHIN`] of what was measured.
    pub is_close: bool,
}

/// How far a simulated throughput may be off, as a part of the measured one.
pub const THROUGHPUT_WITHIN: f64 = 0.10;
/// The same of the 99th percentile.
pub const P99_WITHIN: f64 = 0.25;

/// How far the second lies from the first, as a part of the first.
pub fn difference([measured, simulated]: [f64; 2]) -> f64 {
    if measured > 0.0 { simulated / measured - 1.0 } else { 0.0 }
}

/// Simulates each point of a record with what another one was calibrated to. Users think as long as there.
///
/// # Errors
/// A point whose load cannot be simulated.
pub fn against(calibration: &Calibration, record: &Record) -> Result<Vec<Compared>, super::DeploymentError> {
    let scenario = Scenario::read(&record.about.scenario).ok();
    let think = calibration.deployment.load.think_s;
    let compare = |point: &Point| {
        let mut deployment = calibration.deployment.clone();
        deployment.nodes.count = point.nodes.clamp(1, super::NODES_MAX as usize) as u32;
        deployment.load = load_of(point, &point.load, think, scenario.as_ref());
        deployment.balance =
            scenario.as_ref().map_or(deployment.balance, |it| balance(it, &point.configuration));
        deployment.seconds = point.measured_s.clamp(1.0, 600.0);
        let outcome = super::run(&deployment)?;
        let (measured, simulated) = (point.since_due(), outcome.since_due());
        let ms = |percent| [&measured, &simulated].map(|times| times.percentile_ns(percent) as f64 / 1e6);
        let (throughput, p99_ms) = ([point.throughput(), outcome.throughput()], ms(99.0));
        Ok(Compared {
            point: format!("{}, {}", record::nodes_in_words(point.nodes), point.load),
            is_marked: !point.is_fitted(),
            throughput,
            p50_ms: ms(50.0),
            p99_ms,
            is_close: difference(throughput).abs() <= THROUGHPUT_WITHIN
                && difference(p99_ms).abs() <= P99_WITHIN,
        })
    };
    record.points.iter().filter(|point| point.answered() > 0).map(compare).collect()
}

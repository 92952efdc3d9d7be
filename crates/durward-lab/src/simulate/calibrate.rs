//! From a record to a deployment: service times of the lightest load that was measured.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    BalancePolicy, Deployment, DeploymentNodes, RequestKind, SessionUse, TimeDistribution, recorded,
};
use crate::record::{self, LatencyRecord, MeasuredPoint, RunRecord};

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
/// A core works on a request for as long as processor time was used for one, distributed over steps in proportion to their mean times;
/// the rest of the time that answers took passes without a core. Where most of the time is work, work varies as measured, else the
/// rest does. Without processor time in the record, all of the time is taken to be work.
///
/// A process that waits has to be woken for a request, one that is busy finds the next without: under load a request costs less. How much
/// less is taken from all points of the record ([`DeploymentNodes::wake_ms`](super::DeploymentNodes::wake_ms)). Points that marks leave out of fits are only
/// used where there are no others.
///
/// # Errors
/// A record without a point that has a thousand answers, or one that makes no deployment.
pub fn calibrate(record: &RunRecord) -> Result<Calibration, CalibrationError> {
    let load = |point: &MeasuredPoint| point.throughput() / point.nodes.max(1) as f64;
    let mut notes = Vec::new();
    let points = usable(record, &mut notes);
    let lightest = points.iter().min_by(|one, other| load(one).total_cmp(&load(other))).ok_or_else(|| {
        CalibrationError(format!(
            "no point of the record has {ANSWERS_MIN} answers: nothing to take service times from"
        ))
    })?;
    let mean_s = LatencyRecord::merged(lightest.steps.iter().map(sent)).mean_ns() / 1e9;
    let scenario = recorded::scenario(record);
    let mut nodes = recorded::nodes(record, lightest, &mut notes);
    let work = ServiceTime::of(&points, lightest, mean_s, &nodes, &mut notes);
    nodes.wake_ms = work.wake_s * 1e3;
    let answered = lightest.steps.iter().filter(|step| step.answered > 0);
    let think_s = recorded::think_s(lightest);
    let deployment = Deployment {
        seed: record.about.seed,
        seconds: lightest.measured_s.clamp(1.0, 600.0),
        warm_up_s: 5.0,
        nodes,
        load: recorded::load(lightest, think_s, scenario.as_ref(), &mut notes),
        balance: scenario.as_ref().map_or(BalancePolicy::default(), |it| recorded::balance(it, lightest)),
        steps: answered.map(|step| calibrated(step, &work, mean_s)).collect(),
        replication: None,
        events: Vec::new(),
    };
    deployment
        .check()
        .map_err(|error| CalibrationError(format!("the record makes no deployment: {error}")))?;
    let from = format!(
        "{} answers at {:.0} a second of each of {}; a core works {:.0} us of the {:.0} us that an answer takes, {:.0} us of them to be woken",
        lightest.answered(),
        load(lightest),
        record::nodes_in_words(lightest.nodes),
        work.light_s * 1e6,
        mean_s * 1e6,
        (work.light_s - work.each_s).max(0.0) * 1e6
    );
    Ok(Calibration { deployment, from, notes })
}

/// Points with enough answers: those that count, else all.
fn usable<'r>(record: &'r RunRecord, notes: &mut Vec<String>) -> Vec<&'r MeasuredPoint> {
    let all: Vec<&MeasuredPoint> =
        record.points.iter().filter(|point| point.answered() >= ANSWERS_MIN).collect();
    let good: Vec<&MeasuredPoint> = all.iter().copied().filter(|point| point.is_fitted()).collect();
    if good.is_empty() && !all.is_empty() {
        notes.push(
            "every point of the record has a mark: what it was calibrated by is not to be believed"
                .to_owned(),
        );
        return all;
    }
    good
}

pub(super) fn sent(step: &record::StepResult) -> &LatencyRecord {
    if step.since_sent.count() > 0 { &step.since_sent } else { &step.since_due }
}

/// For how long a core works on a request, in seconds.
#[derive(Clone, Copy, Debug)]
struct ServiceTime {
    /// On each.
    each_s: f64,
    /// And on one that finds its node idle.
    wake_s: f64,
    /// Both together on average at the lightest load.
    light_s: f64,
}

impl ServiceTime {
    fn of(
        points: &[&MeasuredPoint],
        lightest: &MeasuredPoint,
        mean_s: f64,
        nodes: &DeploymentNodes,
        notes: &mut Vec<String>,
    ) -> ServiceTime {
        let Some((_, light_s)) = cost(lightest, nodes).filter(|_| mean_s > 0.0) else {
            notes.push("the record has no processor time of all nodes: all of the time of an answer is taken to be work of a core".to_owned());
            return ServiceTime { each_s: mean_s, wake_s: 0.0, light_s: mean_s };
        };
        if light_s > mean_s {
            notes.push(format!(
                "{:.0} us of processor time a request, more than the {:.0} us an answer takes: threads of the node work beside each other",
                light_s * 1e6,
                mean_s * 1e6
            ));
        }
        let costs: Vec<(f64, f64)> = points.iter().filter_map(|point| cost(point, nodes)).collect();
        let line = line(&costs).filter(|(each_s, wake_s)| *wake_s > 0.0 && *each_s > 0.0);
        let (each_s, wake_s) = line.unwrap_or((light_s, 0.0));
        ServiceTime { each_s, wake_s, light_s }
    }
}

/// The share of time in which a node is idle, and the processor time of a request in seconds; `None` where that was not seen.
fn cost(point: &MeasuredPoint, nodes: &DeploymentNodes) -> Option<(f64, f64)> {
    let used: Vec<&record::NodeUse> = point.by_node.iter().filter_map(|node| node.used.as_ref()).collect();
    let cpu_s: f64 = used.iter().map(|used| used.cpu_s).sum();
    if used.len() < point.nodes.max(1) || cpu_s <= 0.0 || point.measured_s <= 0.0 {
        return None;
    }
    let held_s: f64 = used.iter().map(|used| used.throttled_s).sum();
    let all_s = point.measured_s * used.len() as f64 * f64::from(nodes.cores);
    let idle = (1.0 - (cpu_s + held_s) / all_s).clamp(0.0, 1.0);
    Some((idle, cpu_s / (point.answered() + point.failed()).max(1) as f64))
}

/// The least squares line through points: its value at 0, and its slope. `None` where they lie too close to each other.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len().max(1) as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    // Two points 0.3 apart have a spread of 0.045.
    (spread > 0.045).then_some((y - slope * x, slope))
}

fn calibrated(step: &record::StepResult, work: &ServiceTime, mean_s: f64) -> RequestKind {
    let times = sent(step);
    let mean_ms = times.mean_ns() / 1e6;
    // Parts of the time that an answer takes.
    let (each, light) = (work.each_s / mean_s, work.light_s / mean_s);
    let (service, delay) = if light >= 0.5 {
        let rest_ms = (mean_ms * (1.0 - light)).max(0.0);
        (
            TimeDistribution::Measured { times: times.clone(), scale: each },
            TimeDistribution::ConstantMs(rest_ms),
        )
    } else {
        let mut rest = LatencyRecord::default();
        let light_ns = (mean_ms * light * 1e6) as u64;
        times.counts().for_each(|(ns, count)| rest.record_many(ns.saturating_sub(light_ns), count));
        (TimeDistribution::ConstantMs(mean_ms * each), TimeDistribution::Measured { times: rest, scale: 1.0 })
    };
    RequestKind {
        name: step.name.clone(),
        kind: kind(&step.name),
        weight: step.answered as f64,
        service,
        delay,
    }
}

/// What a step does with sessions, by its name. Users in a record took their steps as they did, so logins keep their weight:
/// no step is of the kind that users without a session must take first.
fn kind(name: &str) -> SessionUse {
    let name = name.to_ascii_lowercase();
    match () {
        () if name.contains("login") || name.contains("logout") || name.contains("authenticate") => {
            SessionUse::Write
        }
        () if name.contains("valid") => SessionUse::Read,
        () => SessionUse::Plain,
    }
}

//! What a record says of its nodes and of who asked them, as parts of a deployment.

use super::{ArrivalProcess, BalancePolicy, DeploymentNodes, OfferedLoad, ThinkTimes};
use crate::record::{self, LatencyRecord, MeasuredPoint, RunRecord};
use crate::scenario::{self, ArrivalShape, Distribution, Scenario};

/// A quota that held nodes back in fewer of its periods does not tell how many cores they work with.
const HELD_BACK_MIN: f64 = 0.5;
/// The period of a quota where the record does not say it, in seconds: that of Linux.
const PERIOD_S: f64 = 0.1;

/// The scenario of a record; `None` where it has none, as one that was simulated.
pub(super) fn scenario(record: &RunRecord) -> Option<Scenario> {
    Scenario::read(&record.about.scenario).ok()
}

/// The nodes of a point: cores and quota.
///
/// A quota is spent by all cores that a node works with at once, so one that works with two is held back for longer than one that works
/// with one. Which it is, is seen where the quota holds it back for most of the time: then it is held back for the period without the
/// time in which so many cores spend the quota, and the kernel adds that up by core.
pub(super) fn nodes(record: &RunRecord, point: &MeasuredPoint, notes: &mut Vec<String>) -> DeploymentNodes {
    let used = || point.by_node.iter().filter_map(|node| node.used.as_ref());
    let allowed = used().map(|used| used.cores).fold(0.0, f64::max);
    let machine = record.machines.first().map_or(1, |machine| machine.cores.max(1)) as f64;
    let limits = || record.about.targets.iter().flat_map(|target| &target.limits);
    let is_quota =
        limits().any(|limit| limit.contains("quota") || limit.contains("cpu.max")) || allowed.fract() > 0.0;
    if allowed <= 0.0 {
        notes.push("the record does not say how many cores a node has: one is taken".to_owned());
    }
    let quota = (is_quota && allowed > 0.0 && allowed < machine).then_some(allowed);
    let period_s = limits().find_map(|limit| period_s(limit)).unwrap_or(PERIOD_S);
    let cores = match quota {
        None => allowed.round().max(1.0),
        Some(quota) => {
            let seen = record.points.iter().filter_map(|point| cores_at_once(point, quota, period_s));
            seen.max_by(f64::total_cmp).map_or_else(
                || {
                    let threads = used().filter_map(|used| used.more.get("threads")).copied();
                    let cores = threads.fold(0.0, f64::max).clamp(1.0, machine);
                    notes.push(format!("no point is held back by its quota for most of the time, so it is not seen with how many cores a node works at once: {cores} by its threads"));
                    cores
                },
                |cores| cores.round().clamp(quota.ceil(), machine.max(quota.ceil())),
            )
        }
    };
    DeploymentNodes {
        count: point.nodes.clamp(1, super::NODES_MAX as usize) as u32,
        cores: cores as u32,
        quota,
        period_s,
        ..DeploymentNodes::default()
    }
}

/// With how many cores nodes of a point work at once, where their quota holds them back for most of the time.
fn cores_at_once(point: &MeasuredPoint, quota: f64, period_s: f64) -> Option<f64> {
    let used = || point.by_node.iter().filter_map(|node| node.used.as_ref());
    let held = used().map(|used| used.throttled_periods).sum::<u64>() as f64;
    let periods = used().map(|used| used.periods).sum::<u64>() as f64;
    let time_s: f64 = used().map(|used| used.throttled_s).sum();
    // Of each period, k cores are held back for `period - quota / k` each.
    (periods > 0.0 && held / periods >= HELD_BACK_MIN).then(|| (time_s / held) / period_s + quota)
}

/// The period in a limit such as `cpus = 0.4 (cgroup v1, cpu.cfs_quota_us = 40000 of 100000)`, in seconds.
fn period_s(limit: &str) -> Option<f64> {
    let (_, values) = limit.split_once("cpu.cfs_quota_us = ").or_else(|| limit.split_once("cpu.max = "))?;
    let mut numbers = values.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let period_us: f64 = numbers.next_back()?.parse().ok()?;
    (period_us >= 1_000.0).then_some(period_us / 1e6)
}

/// How long users think, by Little's law: users over rate is think time and time of an answer.
pub(super) fn think_s(point: &MeasuredPoint) -> f64 {
    let record::PointLoad::Users(users) = point.load else { return 0.0 };
    let cycle = users as f64 / point.throughput();
    let sent = point.steps.iter().map(super::calibrate::sent);
    let think = cycle - LatencyRecord::merged(sent).mean_ns() / 1e9;
    if think > 0.02 * cycle { think } else { 0.0 }
}

/// Who asked at a point. Without a scenario, or where its steps have think times of their own, users think for `think_s`.
pub(super) fn load(
    point: &MeasuredPoint,
    think_s: f64,
    scenario: Option<&Scenario>,
    notes: &mut Vec<String>,
) -> OfferedLoad {
    match point.load {
        record::PointLoad::Users(users) => {
            let (think, think_s) = scenario.and_then(thinking).unwrap_or((ThinkTimes::Constant, think_s));
            OfferedLoad {
                users: Some(users.max(1)),
                think_s,
                think,
                sessions_at_start: true,
                ..OfferedLoad::default()
            }
        }
        record::PointLoad::Arrivals(rate) => {
            let rate = if rate > 0.0 { rate } else { point.throughput() };
            let arrivals =
                scenario.map_or(ArrivalProcess::Poisson, |scenario| arrivals(scenario, rate, notes));
            OfferedLoad { rate: Some(rate), arrivals, ..OfferedLoad::default() }
        }
    }
}

fn thinking(scenario: &Scenario) -> Option<(ThinkTimes, f64)> {
    if let Some(pace) = scenario.load.pace {
        return Some((ThinkTimes::Pace, pace.0.as_secs_f64()));
    }
    let mut is_one = true;
    for step in &scenario.steps {
        step.get_ref().visit(&mut |step| is_one &= step.think.is_none());
    }
    is_one.then_some(match scenario.load.think {
        scenario::ThinkTime::None => (ThinkTimes::Constant, 0.0),
        scenario::ThinkTime::Constant(time) => (ThinkTimes::Constant, time.0.as_secs_f64()),
        scenario::ThinkTime::Exponential(mean) => (ThinkTimes::Exponential, mean.0.as_secs_f64()),
    })
}

/// How arrivals of this rate follow each other in a scenario.
fn arrivals(scenario: &Scenario, rate: f64, notes: &mut Vec<String>) -> ArrivalProcess {
    let shapes = scenario.load.arrivals.iter().flat_map(scenario::ArrivalSpec::shapes);
    let is_it = |other: f64| (other / rate - 1.0).abs() < 1e-6;
    for shape in shapes {
        match shape {
            ArrivalShape::Rate(one, Distribution::Constant) if is_it(one) => return ArrivalProcess::Constant,
            ArrivalShape::Rate(one, Distribution::Poisson) if is_it(one) => return ArrivalProcess::Poisson,
            ArrivalShape::Burst(size, every, _) if is_it(size as f64 / every.0.as_secs_f64()) => {
                return ArrivalProcess::Burst(size);
            }
            ArrivalShape::Rate(..)
            | ArrivalShape::Burst(..)
            | ArrivalShape::Steps(..)
            | ArrivalShape::Replay(..) => {}
        }
    }
    let note = "arrivals by steps or by a log are simulated as independent ones of the same mean rate";
    if !notes.iter().any(|one| one == note) {
        notes.push(note.to_owned());
    }
    ArrivalProcess::Poisson
}

/// How requests of a point found a node. Where a scenario tries several ways, the configuration of a point names its own.
pub(super) fn balance(scenario: &Scenario, point: &MeasuredPoint) -> BalancePolicy {
    use crate::scenario::NodeChoice;
    let tried = &scenario.load.balance.0;
    let named = tried.iter().find(|one| point.configuration.split(", ").any(|word| word == one.as_str()));
    match named.or(tried.first()).copied().unwrap_or_default() {
        // Places of arrivals stick to nodes, and have their turns.
        NodeChoice::Sticky if matches!(point.load, record::PointLoad::Arrivals(_)) => {
            BalancePolicy::RoundRobin
        }
        NodeChoice::Sticky => BalancePolicy::Sticky,
        NodeChoice::Random => BalancePolicy::Random,
        NodeChoice::RoundRobin => BalancePolicy::RoundRobin,
        NodeChoice::LeastOutstanding => BalancePolicy::LeastOutstanding,
        NodeChoice::TwoChoices => BalancePolicy::TwoChoices,
    }
}

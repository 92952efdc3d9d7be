//! Cores, memory and money of a plan.

use serde::{Deserialize, Serialize};

use super::{PlanGoal, Prices};
use crate::record::{MeasuredPoint, NodeUse, PointLoad, RunRecord};

const GIB: f64 = (1_u64 << 30) as f64;
/// Hours of a month, as clouds count them.
pub const MONTH_HOURS: f64 = 730.0;

/// Cores of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedCores {
    /// Of a node.
    pub per_node: f64,
    /// Of all nodes.
    pub total: f64,
    /// How many of them work at the busiest time, by the processor time a request took; `None` where that was not measured.
    pub busy_at_peak: Option<f64>,
    /// Processor time a request, in microseconds, at the greatest load measured.
    pub cpu_us_per_request: Option<f64>,
}

/// Memory of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedMemory {
    /// Sessions at once, of all nodes, without copies.
    pub sessions: f64,
    /// Bytes of a session.
    pub session_bytes: f64,
    /// `given` or `measured`.
    pub session_bytes_are: String,
    /// Bytes of a node without sessions.
    pub base_bytes: f64,
    /// Bytes of each node, when the nodes have failed that may.
    pub per_node_bytes: f64,
    /// Bytes of all nodes.
    pub total_bytes: f64,
}

/// What a plan costs, in the currency of the price file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanCost {
    /// As the file says.
    pub currency: String,
    /// All nodes, for an hour.
    pub hour: f64,
    /// For a month of [`MONTH_HOURS`].
    pub month: f64,
    /// A month with the least and the greatest number of nodes of the interval; `None` where that end is not known.
    pub month_interval: [Option<f64>; 2],
    /// A million requests at the average rate.
    pub million_requests: f64,
}

/// The same goal with nodes of another size, which are taken to do as much more as they have cores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AlternativeSize {
    /// The size's name.
    pub name: String,
    /// How many.
    pub nodes: f64,
    /// Cores of a node.
    pub cores: f64,
    /// Memory of a node.
    pub memory_gib: f64,
    /// All of them for a month.
    pub month: f64,
    /// What speaks against it; empty where nothing does.
    pub but: String,
}

fn used(point: &MeasuredPoint) -> impl Iterator<Item = &NodeUse> {
    point.by_node.iter().filter_map(|node| node.used.as_ref())
}

/// Cores of a plan with so many nodes; `None` where neither record nor goal say how many a node has.
pub(super) fn cores(record: Option<&RunRecord>, goal: &PlanGoal, nodes: f64) -> Option<PlannedCores> {
    let points = || record.into_iter().flat_map(|record| &record.points).filter(|point| point.is_fitted());
    let measured = points().flat_map(used).map(|used| used.cores).fold(0.0, f64::max);
    let per_node = Some(measured).filter(|cores| *cores > 0.0).or(goal.cores)?;
    let busiest = points()
        .filter(|point| point.answered() > 0 && used(point).count() > 0)
        .max_by(|one, other| one.throughput().total_cmp(&other.throughput()));
    #[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
    let cpu_s =
        busiest.map(|point| used(point).map(|used| used.cpu_s).sum::<f64>() / point.answered() as f64);
    Some(PlannedCores {
        per_node,
        total: per_node * nodes,
        busy_at_peak: cpu_s.map(|cpu| cpu * goal.peak_rate()),
        cpu_us_per_request: cpu_s.map(|cpu| cpu * 1e6),
    })
}

/// Memory of a plan; `None` where nothing of it is known.
pub(super) fn memory(
    record: Option<&RunRecord>,
    goal: &PlanGoal,
    nodes: f64,
    working: f64,
) -> Option<PlannedMemory> {
    let sessions = goal.sessions.or(goal.users).unwrap_or(0.0);
    let slope = record.and_then(by_users);
    let lightest =
        record.into_iter().flat_map(|record| &record.points).flat_map(used).map(|used| used.memory_bytes);
    #[expect(clippy::cast_precision_loss, reason = "no memory has 2^53 bytes")]
    let least = lightest.min().map_or(0.0, |bytes| bytes as f64);
    let (session_bytes, are, base_bytes) = match (goal.session_bytes, slope) {
        (Some(given), slope) => (given, "given", slope.map_or(least, |(base, _)| base)),
        (None, Some((base, each))) => (each, "measured", base),
        (None, None) if least > 0.0 => (0.0, "unknown", least),
        (None, None) => return None,
    };
    let per_node_bytes = base_bytes + session_bytes * sessions * goal.session_copies.min(working) / working;
    Some(PlannedMemory {
        sessions,
        session_bytes,
        session_bytes_are: are.to_owned(),
        base_bytes,
        per_node_bytes,
        total_bytes: per_node_bytes * nodes,
    })
}

/// The least-squares line of a node's memory over its users, from three different numbers of them on: bytes without any, and for each.
#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 users or bytes")]
fn by_users(record: &RunRecord) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> = record
        .points
        .iter()
        .filter_map(|point| match point.load {
            PointLoad::Users(users) if used(point).count() > 0 => {
                let nodes = used(point).count() as f64;
                Some((
                    users as f64 / nodes,
                    used(point).map(|used| used.memory_bytes as f64).sum::<f64>() / nodes,
                ))
            }
            PointLoad::Users(_) | PointLoad::Arrivals(_) => None,
        })
        .collect();
    let mut different: Vec<u64> = points.iter().map(|(users, _)| users.to_bits()).collect();
    different.sort_unstable();
    different.dedup();
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (users, bytes) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = points.iter().map(|point| (point.0 - users) * (point.1 - bytes)).sum();
    let square: f64 = points.iter().map(|point| (point.0 - users).powi(2)).sum();
    let each = both / square;
    let base = bytes - each * users;
    (different.len() >= 3 && each > 0.0 && base > 0.0).then_some((base, each))
}

/// What so many nodes cost.
pub(super) fn cost(
    prices: &Prices,
    goal: &PlanGoal,
    nodes: [Option<f64>; 3],
    cores: f64,
    memory_bytes: f64,
) -> Option<PlanCost> {
    let [low, planned, high] = nodes;
    let each = prices.node_price(cores, memory_bytes / GIB);
    let hour = each * planned?;
    let month = |nodes: f64| nodes * each * MONTH_HOURS;
    Some(PlanCost {
        currency: prices.currency.clone(),
        hour,
        month: hour * MONTH_HOURS,
        month_interval: [low.map(month), high.map(month)],
        million_requests: hour / (goal.mean_rate() * 3600.0) * 1e6,
    })
    .filter(|cost| cost.hour > 0.0)
}

/// The goal with other sizes of nodes, the cheapest first. `nodes_for` says how many nodes do a rate in terms of the measured node.
pub(super) fn alternatives(
    prices: &Prices,
    goal: &PlanGoal,
    cores: f64,
    memory: Option<&PlannedMemory>,
    nodes_for: impl Fn(f64) -> Option<f64>,
) -> Vec<AlternativeSize> {
    let one = |size: &super::NodeSize| {
        // A node of twice the cores is taken to do twice as much: half as much is asked of the measured ones.
        let times = size.cores / cores;
        let working = nodes_for(goal.peak_rate() / times)?;
        let nodes = working + f64::from(goal.may_fail);
        let needed = memory.map(|memory| {
            memory.base_bytes
                + memory.session_bytes * memory.sessions * goal.session_copies.min(working) / working
        });
        let hour = if size.hour > 0.0 { size.hour } else { prices.node_price(size.cores, size.memory_gib) };
        let but = match needed {
            Some(bytes) if bytes > size.memory_gib * GIB => {
                format!("needs {:.1} GiB of memory on each node", bytes / GIB)
            }
            Some(_) | None => String::new(),
        };
        let month = nodes * hour * MONTH_HOURS;
        Some(AlternativeSize {
            name: size.name.clone(),
            nodes,
            cores: size.cores,
            memory_gib: size.memory_gib,
            month,
            but,
        })
    };
    let mut all: Vec<AlternativeSize> = prices.node.iter().filter_map(one).collect();
    all.sort_by(|one, other| {
        (!one.but.is_empty(), one.month)
            .partial_cmp(&(!other.but.is_empty(), other.month))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    all
}

//! The 99th percentile: measured at so much load on each node, or simulated; never derived from the law, which knows no queue.

use serde::{Deserialize, Serialize};

use super::PlanGoal;
use crate::record::RunRecord;
use crate::simulate;

/// How long a plan's requests take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectedLatency {
    /// What was asked for, in milliseconds; `None`: nothing was.
    pub asked_ms: Option<f64>,
    /// Requests a second of each node, when the nodes have failed that may.
    pub rate_per_node: f64,
    /// The 99th percentile measured at that load of a node or the next higher one, in milliseconds; `None` where no such load was measured.
    pub measured_ms: Option<f64>,
    /// The load of a node at which that was measured.
    pub measured_at_rate: Option<f64>,
    /// The 99th percentile of a simulation of the plan with service times of the lightest load measured, in milliseconds.
    pub simulated_ms: Option<f64>,
    /// Whether the promise is kept: by what was measured, else by the simulation; `None` where neither can say.
    pub is_kept: Option<bool>,
}

/// What was measured at a load of a node: requests a second, and the 99th percentile in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 nodes or nanoseconds")]
fn measured(record: &RunRecord) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = record
        .points
        .iter()
        .filter(|point| point.is_fitted() && point.answered() > 0)
        .map(|point| {
            let p99 = point.since_due().percentile_ns(99.0) as f64 / 1e6;
            (point.throughput() / point.nodes.max(1) as f64, p99)
        })
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    all
}

/// The greatest load of a node up to which every one that was measured keeps the promise. `None` where the lightest does not.
pub(super) fn load_max(record: &RunRecord, p99_ms: f64) -> Option<f64> {
    measured(record).iter().take_while(|(_, p99)| *p99 <= p99_ms).last().map(|(rate, _)| *rate)
}

/// Whether anything was measured that a promise could be held to.
pub(super) fn is_measured(record: Option<&RunRecord>) -> bool {
    record.is_some_and(|record| !measured(record).is_empty())
}

/// What is known of a plan with so many nodes working.
pub(super) fn of(record: Option<&RunRecord>, goal: &PlanGoal, working: f64) -> ExpectedLatency {
    let rate_per_node = goal.peak_rate() / working;
    let next =
        record.and_then(|record| measured(record).into_iter().find(|(rate, _)| *rate >= rate_per_node));
    let simulated_ms = record.and_then(|record| simulated(record, goal, working));
    let known = next.map(|(_, p99)| p99).or(simulated_ms);
    ExpectedLatency {
        asked_ms: goal.p99_ms,
        rate_per_node,
        measured_ms: next.map(|(_, p99)| p99),
        measured_at_rate: next.map(|(rate, _)| rate),
        simulated_ms,
        is_kept: goal.p99_ms.and_then(|asked| known.map(|known| known <= asked)),
    }
}

/// Requests of the simulation: the 99th percentile has a thousand beyond it.
const REQUESTS: f64 = 200_000.0;

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number of nodes is bounded before"
)]
fn simulated(record: &RunRecord, goal: &PlanGoal, working: f64) -> Option<f64> {
    let calibrated = simulate::calibrate(record).ok()?;
    // Nodes alike, balanced at random, are alike: some of them tell of all.
    let nodes = working.min(1_000.0);
    let rate = goal.peak_rate() * nodes / working;
    let mut deployment = calibrated.deployment;
    deployment.nodes.count = nodes as u32;
    deployment.load = simulate::OfferedLoad { rate: Some(rate), ..simulate::OfferedLoad::default() };
    deployment.seconds = (REQUESTS / rate).clamp(0.01, 86_400.0);
    deployment.warm_up_s = deployment.seconds / 5.0;
    let outcome = simulate::run(&deployment).ok()?;
    (outcome.answered() > 0).then(|| outcome.since_due().percentile_ns(99.0) as f64 / 1e6)
}

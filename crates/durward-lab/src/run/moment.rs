//! One second of a run for live watchers, in more detail than a record keeps.

use std::collections::BTreeMap;

use crate::load::{LoadPlan, SecondTally};
use crate::record::{LatencyRecord, MeasuredSecond, UsedSample};
use crate::target::UsageWatch;

/// What was last seen of nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct LastUsage {
    used: Vec<Option<UsedSample>>,
    /// Cores and bytes of memory.
    limits: Vec<Option<(f64, Option<u64>)>>,
}

impl LastUsage {
    pub(super) fn of(watch: &UsageWatch) -> LastUsage {
        LastUsage { used: watch.latest(), limits: watch.limits() }
    }
}

/// One second of a run, with what looks on need and a record has at the end only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunSecond {
    /// As the record has it.
    pub second: MeasuredSecond,
    /// How long its right answers took since they were due.
    pub since_due: LatencyRecord,
    /// Its failed requests by cause: `status 503`, `timeout`.
    pub causes: BTreeMap<String, u64>,
    /// What became of the requests of each step, in the scenario's order.
    pub steps: Vec<StepNow>,
    /// What each node did and uses, in their order.
    pub nodes: Vec<NodeNow>,
    /// How much of the cores of its threads the generator had, from 0 to 1.
    pub generator_busy: f64,
}

/// Requests of one step in one second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepNow {
    /// The step's name.
    pub name: String,
    /// Right answers.
    pub answered: u64,
    /// Failed requests.
    pub failed: u64,
}

/// One node in one second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeNow {
    /// Its address.
    pub name: String,
    /// Right answers.
    pub answered: u64,
    /// Failed requests.
    pub failed: u64,
    /// What it used last; `None` while nothing is measured, and where nothing can be seen of it.
    pub used: Option<UsedSample>,
    /// How many cores it may use; 0 where that is not known.
    pub cores: f64,
    /// Its limit of memory in bytes; `None` where it has none of its own.
    pub memory_max_bytes: Option<u64>,
}

impl RunSecond {
    /// What was counted in a second by so many threads of the generator, and seen of nodes by those who watch them.
    #[expect(clippy::cast_precision_loss, reason = "a machine has fewer than 2^53 threads")]
    pub(super) fn of(
        second: &MeasuredSecond,
        tally: &SecondTally,
        plan: &LoadPlan,
        threads: usize,
        seen: &LastUsage,
    ) -> RunSecond {
        let step = |(at, name): (usize, &str)| {
            let counts = tally.steps.get(at).copied().unwrap_or_default();
            StepNow { name: name.to_owned(), answered: counts.answered, failed: counts.failed }
        };
        let node = |(at, name): (usize, &str)| {
            let counts = tally.nodes.get(at).copied().unwrap_or_default();
            let (cores, memory_max_bytes) = seen.limits.get(at).copied().flatten().unwrap_or_default();
            NodeNow {
                name: name.to_owned(),
                answered: counts.answered,
                failed: counts.failed,
                used: seen.used.get(at).copied().flatten(),
                cores,
                memory_max_bytes,
            }
        };
        RunSecond {
            second: *second,
            since_due: tally.since_due.clone(),
            causes: tally.causes.clone(),
            steps: plan.step_names().enumerate().map(step).collect(),
            nodes: plan.node_names().enumerate().map(node).collect(),
            generator_busy: (tally.cpu_s / threads.max(1) as f64).min(1.0),
        }
    }
}

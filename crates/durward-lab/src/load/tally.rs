//! Request outcomes of one thread, and how those of several threads become the results of a point.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cause::FailureCause;
use crate::record::{LatencyRecord, MeasuredSecond, NodeResult, StepResult};

/// What became of the requests of one thread.
#[derive(Debug, Default)]
pub(super) struct ThreadTally {
    pub(super) steps: Vec<StepTally>,
    pub(super) nodes: Vec<NodeTally>,
    pub(super) lateness: LatencyRecord,
    pub(super) backlog_max: u64,
    pub(super) connections: u64,
    /// Processor time between the borders of the measurement, in seconds.
    pub(super) cpu_s: f64,
}

#[derive(Debug, Default)]
pub(super) struct StepTally {
    pub(super) answered: u64,
    pub(super) failed: BTreeMap<FailureCause, u64>,
    pub(super) not_sent: u64,
    pub(super) since_due: LatencyRecord,
    pub(super) since_sent: LatencyRecord,
    pub(super) failed_since_due: LatencyRecord,
    pub(super) events: u64,
    pub(super) gaps: LatencyRecord,
}

#[derive(Debug, Default)]
pub(super) struct NodeTally {
    pub(super) answered: u64,
    pub(super) failed: u64,
    pub(super) since_due: LatencyRecord,
}

/// What one thread saw in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SecondTally {
    /// Its number since the load began, from 0.
    pub(crate) number: u64,
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) since_due: LatencyRecord,
    /// Failed requests by cause, as records tell it.
    pub(crate) causes: BTreeMap<String, u64>,
    /// By the number of the request in the plan.
    pub(crate) steps: Vec<RequestCounts>,
    /// By the number of the node.
    pub(crate) nodes: Vec<RequestCounts>,
    /// Processor time of the thread, in seconds.
    pub(crate) cpu_s: f64,
}

/// Requests of one step or one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestCounts {
    pub(crate) answered: u64,
    pub(crate) failed: u64,
}

impl RequestCounts {
    fn add(&mut self, other: RequestCounts) {
        self.answered += other.answered;
        self.failed += other.failed;
    }
}

impl ThreadTally {
    pub(super) fn new(steps: usize, nodes: usize) -> ThreadTally {
        ThreadTally {
            steps: (0..steps).map(|_| StepTally::default()).collect(),
            nodes: (0..nodes).map(|_| NodeTally::default()).collect(),
            ..ThreadTally::default()
        }
    }

    /// By step, for the record.
    pub(super) fn step_results(&self, names: &[String]) -> Vec<StepResult> {
        let result = |(step, name): (&StepTally, &String)| StepResult {
            name: name.clone(),
            answered: step.answered,
            failed: step.failed.iter().map(|(cause, count)| (cause.to_string(), *count)).collect(),
            not_sent: step.not_sent,
            since_due: step.since_due.clone(),
            since_sent: step.since_sent.clone(),
            failed_since_due: step.failed_since_due.clone(),
            events: step.events,
            gaps: step.gaps.clone(),
        };
        self.steps.iter().zip(names).map(result).collect()
    }

    /// By node, for the record.
    pub(super) fn node_results(&self, names: &[String]) -> Vec<NodeResult> {
        let result = |(node, name): (&NodeTally, &String)| NodeResult {
            name: name.clone(),
            answered: node.answered,
            failed: node.failed,
            since_due: node.since_due.clone(),
            used: None,
        };
        self.nodes.iter().zip(names).map(result).collect()
    }
}

impl SecondTally {
    /// Adds what another thread saw in the same second.
    pub(crate) fn add(&mut self, other: &SecondTally) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.since_due.add(&other.since_due);
        for (cause, count) in &other.causes {
            *self.causes.entry(cause.clone()).or_default() += count;
        }
        add_all(&mut self.steps, &other.steps);
        add_all(&mut self.nodes, &other.nodes);
        self.cpu_s += other.cpu_s;
    }

    /// Counts one request that ended: `cause` says why it failed.
    pub(super) fn count(&mut self, step: u32, node: u32, cause: Option<&FailureCause>, since_due: u64) {
        let counts = match cause {
            None => {
                self.answered += 1;
                self.since_due.record(since_due);
                RequestCounts { answered: 1, failed: 0 }
            }
            Some(cause) => {
                self.failed += 1;
                *self.causes.entry(cause.to_string()).or_default() += 1;
                RequestCounts { answered: 0, failed: 1 }
            }
        };
        for (all, number) in [(&mut self.steps, step), (&mut self.nodes, node)] {
            let number = number as usize;
            if all.len() <= number {
                all.resize(number + 1, RequestCounts::default());
            }
            if let Some(one) = all.get_mut(number) {
                one.add(counts);
            }
        }
    }

    /// For the record; `at_s` is its begin.
    pub(crate) fn second(&self, at_s: f64) -> MeasuredSecond {
        MeasuredSecond {
            at_s,
            answered: self.answered,
            failed: self.failed,
            p50_ns: self.since_due.percentile_ns(50.0),
            p99_ns: self.since_due.percentile_ns(99.0),
        }
    }
}

fn add_all(all: &mut Vec<RequestCounts>, others: &[RequestCounts]) {
    if all.len() < others.len() {
        all.resize(others.len(), RequestCounts::default());
    }
    all.iter_mut().zip(others).for_each(|(one, other)| one.add(*other));
}

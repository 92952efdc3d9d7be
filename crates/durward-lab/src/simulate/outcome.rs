//! The results of a simulation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::LatencyRecord;

/// What a simulation came to, of the time in which it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulationOutcome {
    /// How long was measured, in simulated seconds.
    pub measured_s: f64,
    /// Requests that were sent, of all steps.
    pub sent: u64,
    /// Requests under way when measuring began, and when it ended.
    pub under_way: [u64; 2],
    /// Requests under way on average over time (L).
    pub under_way_mean: f64,
    /// By step, in the order of the deployment.
    pub steps: Vec<StepOutcome>,
    /// By node, in order.
    pub nodes: Vec<NodeOutcome>,
    /// The store, where there is one.
    pub store: Option<NodeOutcome>,
    /// Second by second of simulated time; while warming up below 0.
    pub seconds: Vec<SecondOutcome>,
    /// How many things happened, warm-up included.
    pub events: u64,
    /// Why it ended before its time; `None` where it did not.
    pub stopped: Option<String>,
    /// What else a reader has to know.
    pub notes: Vec<String>,
}

/// What became of the requests of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepOutcome {
    /// Its name.
    pub name: String,
    /// Requests with an answer.
    pub answered: u64,
    /// Requests without one, by cause: `refused`, `closed`, `timeout`.
    pub failed: BTreeMap<String, u64>,
    /// How long answers took since requests were due, and since they were sent.
    pub since_due: LatencyRecord,
    /// The same since they were sent.
    pub since_sent: LatencyRecord,
    /// How long failures took since requests were due.
    pub failed_since_due: LatencyRecord,
    /// How long failures took since requests were sent.
    pub failed_since_sent: LatencyRecord,
}

/// What a node did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeOutcome {
    /// The share of what it may use of its cores, from 0 to 1.
    pub utilisation: f64,
    /// Requests it answered.
    pub answered: u64,
    /// Requests that failed there.
    pub failed: u64,
    /// Requests that waited, on average over time and at most.
    pub waiting_mean: f64,
    /// At most.
    pub waiting_max: u64,
    /// The share of time in which its quota held it back, from 0 to 1.
    pub throttled: f64,
}

/// One second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondOutcome {
    /// Its begin, in seconds since measuring began; below 0 while warming up.
    pub at_s: f64,
    /// Answers.
    pub answered: u64,
    /// Failures.
    pub failed: u64,
    /// Percentiles of answers since they were due, in nanoseconds.
    pub p50_ns: u64,
    /// 99 of 100.
    pub p99_ns: u64,
    /// Requests under way at its end.
    pub under_way: u64,
    /// The most requests of one node, worked on and waiting, at its end.
    pub fullest: u64,
}

impl SimulationOutcome {
    /// Answers of all steps.
    pub fn answered(&self) -> u64 {
        self.steps.iter().map(|step| step.answered).sum()
    }

    /// Failures of all steps.
    pub fn failed(&self) -> u64 {
        self.steps.iter().map(|step| step.failed.values().sum::<u64>()).sum()
    }

    /// Answers a second.
    pub fn throughput(&self) -> f64 {
        if self.measured_s > 0.0 { self.answered() as f64 / self.measured_s } else { 0.0 }
    }

    /// How long answers of all steps took since requests were due.
    pub fn since_due(&self) -> LatencyRecord {
        LatencyRecord::merged(self.steps.iter().map(|step| &step.since_due))
    }

    /// Little's law, for who wants to check: rate times mean time, of answers and failures, which is [`SimulationOutcome::under_way_mean`]
    /// but for requests under way at either border.
    pub fn rate_times_time(&self) -> f64 {
        let all = self.steps.iter().flat_map(|step| [&step.since_sent, &step.failed_since_sent]);
        all.map(|times| times.count() as f64 * times.mean_ns() / 1e9).sum::<f64>()
            / self.measured_s.max(f64::MIN_POSITIVE)
    }

    /// Utilisation of nodes: the least, the mean, the greatest.
    pub fn utilisation(&self) -> (f64, f64, f64) {
        let of = |pick: fn(f64, f64) -> f64, begin| {
            self.nodes.iter().map(|node| node.utilisation).fold(begin, pick)
        };
        let mean = of(|sum, one| sum + one, 0.0) / self.nodes.len().max(1) as f64;
        (of(f64::min, f64::INFINITY), mean, of(f64::max, 0.0))
    }
}

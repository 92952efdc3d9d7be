//! What became of requests, by step and by node.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LatencyRecord, NodeUse};

/// What became of the requests of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// The step's name.
    pub name: String,
    /// Requests with an answer that is right.
    pub answered: u64,
    /// Requests without one, by cause: `status 503`, `timeout`, `refused`, `closed`, `wrong answer`.
    #[serde(default)]
    pub failed: BTreeMap<String, u64>,
    /// Requests that were due and never sent, since the measurement ended or there was no room.
    #[serde(default)]
    pub not_sent: u64,
    /// How long right answers took since the request was due.
    pub since_due: LatencyRecord,
    /// How long right answers took since the request was sent: what a stall holds back is missing here.
    #[serde(default)]
    pub since_sent: LatencyRecord,
    /// How long failed requests took since they were due.
    #[serde(default)]
    pub failed_since_due: LatencyRecord,
    /// Of a step that holds streams: events that came while it was measured, first ones included.
    #[serde(default)]
    pub events: u64,
    /// How long after the one before events of a stream came.
    #[serde(default)]
    pub gaps: LatencyRecord,
}

/// What one node did and used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    /// Its address.
    pub name: String,
    /// Requests with an answer that is right.
    pub answered: u64,
    /// Requests without one.
    pub failed: u64,
    /// How long right answers took since the request was due.
    #[serde(default)]
    pub since_due: LatencyRecord,
    /// What it used of its machine while it was measured; `None` where that cannot be seen.
    #[serde(default)]
    pub used: Option<NodeUse>,
}

impl StepResult {
    /// Adds what another thread or agent counted of the same step.
    pub(crate) fn add(&mut self, other: &StepResult) {
        // A field that is new must be added here as well, or this does not compile.
        let StepResult {
            name: _,
            answered,
            failed,
            not_sent,
            since_due,
            since_sent,
            failed_since_due,
            events,
            gaps,
        } = other;
        self.answered += answered;
        self.not_sent += not_sent;
        for (cause, count) in failed {
            *self.failed.entry(cause.clone()).or_default() += count;
        }
        self.since_due.add(since_due);
        self.since_sent.add(since_sent);
        self.failed_since_due.add(failed_since_due);
        self.events += events;
        self.gaps.add(gaps);
    }
}

impl NodeResult {
    /// Adds what another thread or agent counted of the same node; what the node used is not theirs to say.
    pub(crate) fn add(&mut self, other: &NodeResult) {
        let NodeResult { name: _, answered, failed, since_due, used: _ } = other;
        self.answered += answered;
        self.failed += failed;
        self.since_due.add(since_due);
    }

    /// What one request cost: microseconds of processor time for each right answer. `None` where nothing was answered, or
    /// its processor time cannot be seen.
    #[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
    pub fn cpu_us_per_request(&self) -> Option<f64> {
        let used = self.used.as_ref().filter(|used| used.cpu_s > 0.0)?;
        (self.answered > 0).then(|| used.cpu_s * 1e6 / self.answered as f64)
    }
}

/// Adds results of another thread or agent to those at the same place: all of them have one plan. One of another name is put behind.
pub(crate) fn add_all<T>(
    all: &mut Vec<T>,
    more: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> &str,
    add: impl Fn(&mut T, &T),
) {
    for (at, one) in more.into_iter().enumerate() {
        match all.get_mut(at).filter(|known| name(known) == name(&one)) {
            Some(known) => add(known, &one),
            None => all.push(one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_tells_what_a_request_cost() {
        let used = NodeUse { cpu_s: 1.5, ..NodeUse::default() };
        let node = NodeResult { answered: 30_000, used: Some(used), ..NodeResult::default() };
        assert_eq!(node.cpu_us_per_request(), Some(50.0));
        assert_eq!(NodeResult { answered: 0, ..node.clone() }.cpu_us_per_request(), None);
        assert_eq!(NodeResult { used: None, ..node }.cpu_us_per_request(), None);
    }

    #[test]
    fn results_of_threads_are_added_in_every_field() {
        let step = |wait: u64| {
            let mut step = StepResult { name: "watch".into(), answered: 1, ..StepResult::default() };
            (step.not_sent, step.events) = (2, 3);
            step.failed.insert("timeout".into(), 4);
            for latency in
                [&mut step.since_due, &mut step.since_sent, &mut step.failed_since_due, &mut step.gaps]
            {
                latency.record(wait);
            }
            step
        };
        let mut all = Vec::new();
        for wait in [1_000, 2_000] {
            add_all(&mut all, [step(wait)], |step| &step.name, StepResult::add);
        }
        let [both] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((both.answered, both.not_sent, both.events, both.failed["timeout"]), (2, 4, 6, 8));
        for latency in [&both.since_due, &both.since_sent, &both.failed_since_due, &both.gaps] {
            assert_eq!((latency.count(), latency.max_ns()), (2, 2_000));
        }
        add_all(&mut all, [StepResult::default()], |step| &step.name, StepResult::add);
        assert_eq!(all.len(), 2);
    }
}

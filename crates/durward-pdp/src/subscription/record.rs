//! What a record says of the answer to a subscription.

use std::sync::Arc;

use durward_index::Index;
use durward_ir::evaluate::{Evaluator, Everything, ListPolicies};
use durward_ir::question::{Attributes, Question, UNENCODED};
use durward_sapl::{Decision, Outcome, Subscription};

use super::{Attempt, Supplied};
use crate::Pdp;
use crate::record::{Record, Recording, Watch};
use crate::snapshot::Snapshot;
use crate::stream::NothingKnown;

/// A decision of a stream with its record.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The decision.
    pub decision: Arc<Decision>,
    /// What is recorded of it.
    pub record: Arc<Record>,
}

impl Pdp {
    /// As [`Pdp::attempt_once`], with the record of the decision. Where something is needed still, there is nothing to
    /// record.
    pub fn attempt_once_recorded(
        &self,
        subscription: &Subscription,
        recording: Recording,
    ) -> (Attempt, Record) {
        let snapshot = self.snapshot.load();
        let attempt = self.attempt_once_by(&snapshot, subscription, &NothingKnown);
        let record = match attempt.needs.is_empty() {
            true => {
                let supplied = Supplied { subscription, known: &NothingKnown };
                self.record(&snapshot, &supplied, &attempt.decision, recording)
            }
            false => Record::default(),
        };
        (attempt, record)
    }

    /// The record of a decision that was made of this by these policies.
    pub(crate) fn record(
        &self,
        snapshot: &Snapshot,
        known: &dyn Attributes,
        decision: &Decision,
        recording: Recording,
    ) -> Record {
        let is_failed = decision.outcome == Outcome::Indeterminate;
        if !is_failed && !recording.policies {
            return Record { snapshot: snapshot.info.id, ..Record::default() };
        }
        let mut watch = Watch::new(&snapshot.program);
        let is_known = self.asking(snapshot, known, &UNENCODED, |question| {
            watched(snapshot, question, &Index::Scan(Everything), &watch, recording);
            question.invocations().is_empty()
        });
        if !is_known {
            // The index in force asks of attribute finders what the decision asked, and no more.
            watch = Watch::new(&snapshot.program);
            self.asking(snapshot, known, &UNENCODED, |question| {
                watched(snapshot, question, &snapshot.index, &watch, recording);
            });
        }
        let mut record = watch.record(snapshot.info.id);
        if !is_failed {
            record.failures.clear();
            record.failures_more = 0;
        }
        if !recording.policies {
            record.policies.clear();
        }
        record
    }
}

fn watched(
    snapshot: &Snapshot,
    question: &Question<'_>,
    shortlist: &Index,
    watch: &Watch<'_>,
    recording: Recording,
) {
    let list = if recording.policies { ListPolicies::Yes } else { ListPolicies::No };
    let evaluator = Evaluator::new(&snapshot.program, question, shortlist, watch, list);
    let vote = evaluator.decide();
    if evaluator.is_spent() {
        watch.fail_outside(&vote);
    }
}

//! SAPL's subscriptions to the policies of a decision point.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::json;
use durward_ir::path::Element;
use durward_ir::value::ObjectBuilder;
use durward_sapl::{Decision, Outcome, Subscription, SubscriptionError};

use super::decider::{Answer, Decider, KnownAttributes, Step};
use super::identical::identical;
use super::invocation::Surroundings;
use crate::Pdp;
use crate::record::{Record, Recorded, Recording};
use crate::snapshot::Snapshot;
use crate::subscription::Supplied;

/// A subscription as it is kept: the text of its JSON, which takes a tenth of the room of its values. It is read anew for
/// each decision; that takes about a microsecond.
#[derive(Clone)]
pub struct PackedSubscription(Box<[u8]>);

impl PackedSubscription {
    /// Reads a subscription; see [`Subscription::from_json`].
    ///
    /// # Errors
    /// The text is no subscription.
    pub fn from_json(text: &[u8]) -> Result<PackedSubscription, SubscriptionError> {
        Subscription::from_json(text).map(|subscription| PackedSubscription::from(&subscription))
    }

    /// Not by [`Subscription::from_json`]: over RSocket, a subject may be undefined too.
    fn unpack(&self) -> Option<Subscription> {
        let value = json::read(&self.0).ok()?;
        let object = value.as_object()?;
        let named = |name: &str| object.get(name).cloned().unwrap_or(Value::Undefined);
        let [subject, action, resource, environment] = Element::ALL.map(|element| named(element.as_str()));
        Some(Subscription::new(subject, action, resource, environment).with_secrets(named("secrets")))
    }
}

impl From<&Subscription> for PackedSubscription {
    /// Without white space, and without what means nothing.
    fn from(subscription: &Subscription) -> PackedSubscription {
        let mut object = ObjectBuilder::with_capacity(5);
        let elements = Element::ALL.map(|element| (element.as_str(), subscription.element(element)));
        for (name, value) in elements.into_iter().chain([("secrets", subscription.secrets())]) {
            if !matches!(value, Value::Undefined) {
                object.insert(name, value.clone());
            }
        }
        let text = Value::Object(Arc::new(object.finish())).to_json();
        PackedSubscription(text.into_bytes().into_boxed_slice())
    }
}

/// Secrets are not for logs.
impl fmt::Debug for PackedSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PackedSubscription({} bytes)", self.0.len())
    }
}

/// The policies that a decision point had in force at one moment, for [`super::Streams`].
pub struct PoliciesInForce(Option<PdpSnapshot>);

struct PdpSnapshot {
    pdp: Arc<Pdp>,
    snapshot: Arc<Snapshot>,
}

impl fmt::Debug for PoliciesInForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0.as_ref().map(|in_force| &in_force.snapshot.info);
        f.debug_tuple("PoliciesInForce").field(&info).finish()
    }
}

impl PoliciesInForce {
    /// What the decision point has in force now. Give it to [`super::Streams::replace`] whenever that changes.
    pub fn of(pdp: &Arc<Pdp>) -> Arc<PoliciesInForce> {
        let in_force = PdpSnapshot { pdp: Arc::clone(pdp), snapshot: pdp.snapshot.load_full() };
        Arc::new(PoliciesInForce(Some(in_force)))
    }

    /// No policies at all, not even none that apply: every decision is INDETERMINATE.
    pub fn absent() -> Arc<PoliciesInForce> {
        Arc::new(PoliciesInForce(None))
    }
}

impl Decider for PoliciesInForce {
    type Subscription = PackedSubscription;
    type Decision = Decision;

    fn step(&self, packed: &PackedSubscription, known: &dyn KnownAttributes) -> Step<Decision> {
        let Some(PdpSnapshot { pdp, snapshot }) = &self.0 else {
            return Step::Decided(Decision::plain(Outcome::Indeterminate));
        };
        // What was packed can be unpacked.
        let Some(subscription) = packed.unpack() else {
            return Step::Decided(Decision::plain(Outcome::Indeterminate));
        };
        let attempt = pdp.attempt_once_by(snapshot, &subscription, known);
        if attempt.needs.is_empty() { Step::Decided(attempt.decision) } else { Step::Needs(attempt.needs) }
    }

    fn indeterminate(&self, _: &str) -> Decision {
        Decision::plain(Outcome::Indeterminate)
    }

    fn surroundings(&self) -> Surroundings {
        let Some(PdpSnapshot { snapshot, .. }) = &self.0 else { return Surroundings::default() };
        Surroundings {
            variables: Value::Object(Arc::clone(&snapshot.variables)),
            secrets: snapshot.secrets.reveal(),
        }
    }

    fn secrets(&self, packed: &PackedSubscription) -> Value {
        packed.unpack().map_or(Value::Undefined, |subscription| subscription.secrets().clone())
    }
}

/// The same policies, with a record of every decision: [`super::Streams`] of these take more memory, and decide what is
/// INDETERMINATE twice.
#[derive(Debug)]
pub struct RecordedPolicies {
    policies: Arc<PoliciesInForce>,
    recording: Recording,
}

impl RecordedPolicies {
    /// With a record of every decision that these policies make.
    pub fn of(policies: Arc<PoliciesInForce>, recording: Recording) -> Arc<RecordedPolicies> {
        Arc::new(RecordedPolicies { policies, recording })
    }

    fn record(
        &self,
        packed: &PackedSubscription,
        known: &dyn KnownAttributes,
        decision: &Decision,
    ) -> Record {
        let Some(PdpSnapshot { pdp, snapshot }) = &self.policies.0 else {
            return Record::failed(0, "the tenant has no policies in force");
        };
        match packed.unpack() {
            None => Record::failed(snapshot.info.id, "the subscription could not be kept"),
            Some(subscription) => {
                let supplied = Supplied { subscription: &subscription, known };
                pdp.record(snapshot, &supplied, decision, self.recording)
            }
        }
    }
}

impl Decider for RecordedPolicies {
    type Subscription = PackedSubscription;
    type Decision = Recorded;

    fn step(&self, packed: &PackedSubscription, known: &dyn KnownAttributes) -> Step<Recorded> {
        match self.policies.step(packed, known) {
            Step::Needs(needs) => Step::Needs(needs),
            Step::Decided(decision) => {
                let record = Arc::new(self.record(packed, known, &decision));
                Step::Decided(Recorded { decision: Arc::new(decision), record })
            }
        }
    }

    fn indeterminate(&self, reason: &str) -> Recorded {
        let snapshot = self.policies.0.as_ref().map_or(0, |in_force| in_force.snapshot.info.id);
        let decision = Arc::new(self.policies.indeterminate(reason));
        Recorded { decision, record: Arc::new(Record::failed(snapshot, reason)) }
    }

    fn surroundings(&self) -> Surroundings {
        self.policies.surroundings()
    }

    fn secrets(&self, packed: &PackedSubscription) -> Value {
        self.policies.secrets(packed)
    }
}

/// Subscribers are told of decisions, whatever their records are.
impl Answer for Recorded {
    fn equals(&self, other: &Recorded) -> bool {
        Answer::equals(&*self.decision, &other.decision)
    }

    fn is_identical(&self, other: &Recorded) -> bool {
        self.record == other.record && self.decision.is_identical(&other.decision)
    }

    fn hash(&self, mut state: &mut dyn Hasher) {
        Answer::hash(&*self.decision, state);
        self.record.hash(&mut state);
    }
}

impl Answer for Decision {
    fn equals(&self, other: &Decision) -> bool {
        Decision::equals(self, other)
    }

    fn is_identical(&self, other: &Decision) -> bool {
        let same = |a: Option<&Value>, b: Option<&Value>| match (a, b) {
            (Some(a), Some(b)) => identical(a, b),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let all_same = |mut a: Values<'_>, mut b: Values<'_>| {
            a.len() == b.len() && a.all(|value| same(Some(&value), b.next().as_ref()))
        };
        self.outcome == other.outcome
            && all_same(Box::new(self.obligations()), Box::new(other.obligations()))
            && all_same(Box::new(self.advice()), Box::new(other.advice()))
            && same(self.resource(), other.resource())
    }

    fn hash(&self, mut state: &mut dyn Hasher) {
        state.write_u8(self.outcome as u8);
        self.obligations().for_each(|value| value.hash_content(&mut state));
        self.advice().for_each(|value| value.hash_content(&mut state));
        self.resource().into_iter().for_each(|value| value.hash_content(&mut state));
    }
}

type Values<'a> = Box<dyn ExactSizeIterator<Item = Value> + 'a>;

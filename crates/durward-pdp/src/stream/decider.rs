//! Deciding, as streams see it: a function of a subscription and the attribute values that are known.

use std::hash::Hasher;
use std::panic::{AssertUnwindSafe, catch_unwind};

use durward_ir::Value;
use durward_ir::fault::Evaluated;

use super::invocation::{Invocation, Surroundings};

/// The attribute values that are known while deciding.
pub trait KnownAttributes {
    /// The value of an attribute, or the error that it is; `None` while it is not known. What is asked for here counts
    /// as used: when it changes, the subscription is decided again.
    fn get(&self, invocation: &Invocation) -> Option<&Evaluated<Value>>;
}

/// What one attempt to decide came to.
#[derive(Clone, Debug)]
pub enum Step<D> {
    /// A decision that no attribute still unknown could change.
    Decided(D),
    /// The decision depends on attributes that are not known yet. They are kept up to date from now on.
    Needs(Vec<Invocation>),
}

/// A decision, as far as streams look into it.
pub trait Answer: Send + Sync + 'static {
    /// Whether giving the one after the other would tell the subscriber nothing new. SAPL's equality: deep, with the
    /// order of obligations counting and `1` being `1.0`.
    fn equals(&self, other: &Self) -> bool;

    /// Whether nothing could tell the two apart: then they are kept once. Stricter than [`Answer::equals`].
    fn is_identical(&self, other: &Self) -> bool;

    /// Feeds the decision to a hasher: identical ones alike.
    fn hash(&self, state: &mut dyn Hasher);
}

/// Policies in force, as streams see them: never changed, but replaced as a whole.
pub trait Decider: Send + Sync + 'static {
    /// A subscription: what is asked. It is kept for as long as the stream lives, so it should be small.
    type Subscription: Send + 'static;
    /// A decision.
    type Decision: Answer;

    /// Decides, or says what is missing.
    fn step(&self, subscription: &Self::Subscription, known: &dyn KnownAttributes) -> Step<Self::Decision>;

    /// The decision when deciding failed for a reason that lies in no policy.
    fn indeterminate(&self, reason: &str) -> Self::Decision;

    /// What attribute finders may read of the configuration.
    fn surroundings(&self) -> Surroundings {
        Surroundings::default()
    }

    /// The secrets of a subscription, for attribute finders; `undefined` where there are none.
    fn secrets(&self, subscription: &Self::Subscription) -> Value {
        let _ = subscription;
        Value::Undefined
    }
}

/// Nothing is known.
pub struct NothingKnown;

impl KnownAttributes for NothingKnown {
    fn get(&self, _: &Invocation) -> Option<&Evaluated<Value>> {
        None
    }
}

/// One attempt; a panic in it is this subscription's affair only.
pub(crate) fn attempt<P: Decider>(
    policies: &P,
    subscription: &P::Subscription,
    known: &dyn KnownAttributes,
) -> Step<P::Decision> {
    catch_unwind(AssertUnwindSafe(|| policies.step(subscription, known)))
        .unwrap_or_else(|_| Step::Decided(policies.indeterminate("the decision point panicked")))
}

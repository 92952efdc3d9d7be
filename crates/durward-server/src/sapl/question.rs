//! Subscriptions and decisions, as their protocols bring and take them.

use std::sync::Arc;

use durward_pdp::ir::Value;
use smol_str::SmolStr;

/// A question: may this subject do this to that?
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Who asks.
    pub subject: Value,
    /// What is to be done.
    pub action: Value,
    /// What it is to be done to.
    pub resource: Value,
    /// Where and when; usually undefined.
    pub environment: Value,
    /// What attribute finders may use and policies never see.
    pub secrets: Value,
}

/// Several questions, each with an id of the client's.
#[derive(Clone, Debug, Default)]
pub struct MultiSubscription {
    /// The questions in the order of the client. INVARIANT: ids are unique and not blank.
    pub subscriptions: Vec<(SmolStr, Subscription)>,
}

/// The word of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It cannot be said.
    Indeterminate,
    /// Yes.
    Permit,
    /// No.
    Deny,
    /// No policy says anything.
    NotApplicable,
    /// Not now.
    Suspend,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The word.
    pub outcome: Outcome,
    /// What has to be done, or it is no.
    pub obligations: Arc<[Value]>,
    /// What may be done.
    pub advice: Arc<[Value]>,
    /// What takes the place of the resource; undefined where nothing does.
    pub resource: Value,
}

impl Default for Subscription {
    /// Everything undefined, which is a question too.
    fn default() -> Subscription {
        Subscription {
            subject: Value::Undefined,
            action: Value::Undefined,
            resource: Value::Undefined,
            environment: Value::Undefined,
            secrets: Value::Undefined,
        }
    }
}

impl Decision {
    /// A decision of one word.
    pub fn of(outcome: Outcome) -> Decision {
        Decision { outcome, obligations: Arc::default(), advice: Arc::default(), resource: Value::Undefined }
    }

    /// It cannot be said: what every mistake comes down to.
    pub fn indeterminate() -> Decision {
        Decision::of(Outcome::Indeterminate)
    }
}

impl PartialEq for Decision {
    /// Deep equality that tells the order of obligations apart: what differs is emitted anew.
    fn eq(&self, other: &Decision) -> bool {
        let same = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b));
        self.outcome == other.outcome
            && same(&self.obligations, &other.obligations)
            && same(&self.advice, &other.advice)
            && self.resource.equals(&other.resource)
    }
}

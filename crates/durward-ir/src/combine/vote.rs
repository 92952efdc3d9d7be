//! What is combined: the vote of one policy element, and the obligations and advice that go along with it.

use smol_str::SmolStr;

use crate::effect::{Effect, Effects};
use crate::fault::Fault;
use crate::value::Value;

/// What one policy element says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// Access is granted.
    Permit,
    /// Access is refused.
    Deny,
    /// The matter is held until somebody else has decided it (SAPL).
    Suspend,
    /// The element has nothing to say about this question.
    NotApplicable,
    /// An error kept the element from deciding; the effects it might have had.
    Indeterminate(Effects),
}

impl From<Effect> for Verdict {
    fn from(effect: Effect) -> Verdict {
        match effect {
            Effect::Permit => Verdict::Permit,
            Effect::Deny => Verdict::Deny,
            Effect::Suspend => Verdict::Suspend,
        }
    }
}

/// One attribute of an obligation or advice, evaluated.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The attribute's identifier.
    pub id: SmolStr,
    /// Its category, where the policy gives one.
    pub category: Option<SmolStr>,
    /// Its issuer, where the policy gives one.
    pub issuer: Option<SmolStr>,
    /// Its value.
    pub value: Value,
}

/// An obligation or advice, evaluated: something the enforcement point must (or may) do.
#[derive(Clone, Debug)]
pub enum Duty {
    /// As XACML has them.
    Named(NamedDuty),
    /// As SAPL has them: any value.
    Plain(Value),
}

/// A duty with an identifier and attributes.
#[derive(Clone, Debug)]
pub struct NamedDuty {
    /// The obligation's or advice's identifier.
    pub id: SmolStr,
    /// The effect it goes with (XACML 2.0 responses repeat it).
    pub on: Effect,
    /// Its attributes, in the order of the policy.
    pub assignments: Vec<Assignment>,
}

impl Duty {
    /// Whether both say the same.
    pub fn equals(&self, other: &Duty) -> bool {
        match (self, other) {
            (Duty::Plain(one), Duty::Plain(other)) => one.equals(other),
            (Duty::Named(one), Duty::Named(other)) => {
                one.id == other.id && one.on == other.on && are_equal(&one.assignments, &other.assignments)
            }
            (Duty::Named(_), Duty::Plain(_)) | (Duty::Plain(_), Duty::Named(_)) => false,
        }
    }
}

fn are_equal(some: &[Assignment], others: &[Assignment]) -> bool {
    some.len() == others.len()
        && some.iter().zip(others).all(|(one, other)| {
            (&one.id, &one.category, &one.issuer) == (&other.id, &other.category, &other.issuer)
                && one.value.equals(&other.value)
        })
}

/// What goes along with a verdict: obligations, advice, and what stands for the resource.
#[derive(Clone, Debug, Default)]
pub struct Duties {
    /// What must be done.
    pub obligations: Vec<Duty>,
    /// What may be done.
    pub advice: Vec<Duty>,
    /// What is to stand for the resource, if anything (SAPL).
    pub resource: Option<Value>,
}

impl Duties {
    /// Adds `other` behind what is here; of two resources the first stays.
    pub fn append(&mut self, other: Duties) {
        if self.obligations.is_empty() {
            self.obligations = other.obligations;
        } else {
            self.obligations.extend(other.obligations);
        }
        if self.advice.is_empty() {
            self.advice = other.advice;
        } else {
            self.advice.extend(other.advice);
        }
        if self.resource.is_none() {
            self.resource = other.resource;
        }
    }

    /// Whether both say the same, in the same order.
    pub fn equals(&self, other: &Duties) -> bool {
        let are_same = |some: &[Duty], others: &[Duty]| {
            some.len() == others.len() && some.iter().zip(others).all(|(one, other)| one.equals(other))
        };
        let is_same_resource = match (&self.resource, &other.resource) {
            (Some(one), Some(other)) => one.equals(other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        is_same_resource
            && are_same(&self.obligations, &other.obligations)
            && are_same(&self.advice, &other.advice)
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.obligations.is_empty() && self.advice.is_empty() && self.resource.is_none()
    }
}

/// Adds duties behind those that are there.
pub(crate) fn append(duties: &mut Option<Box<Duties>>, more: Option<Box<Duties>>) {
    match (duties.as_mut(), more) {
        (_, None) => {}
        (None, more) => *duties = more,
        (Some(duties), Some(more)) => duties.append(*more),
    }
}

/// What one element says, with what goes along with it.
#[derive(Clone, Debug)]
pub struct Vote {
    /// The verdict.
    pub verdict: Verdict,
    /// Obligations and advice, if there are any; none unless the verdict is Permit, Deny or Suspend. Boxed because most
    /// votes have none, and votes are handed on at every level.
    pub duties: Option<Box<Duties>>,
    /// The first error met; set exactly when the verdict is Indeterminate.
    pub fault: Option<Box<Fault>>,
    /// Whether the error kept the element from telling whether it applies, rather than from doing what it says then.
    pub is_undecided: bool,
}

impl Vote {
    /// A vote without duties.
    pub fn plain(verdict: Verdict) -> Vote {
        Vote { verdict, duties: None, fault: None, is_undecided: false }
    }

    /// An element with nothing to say.
    pub fn not_applicable() -> Vote {
        Vote::plain(Verdict::NotApplicable)
    }

    /// An element that an error kept from deciding.
    pub fn indeterminate(effects: Effects, fault: Box<Fault>) -> Vote {
        Vote { fault: Some(fault), ..Vote::plain(Verdict::Indeterminate(effects)) }
    }

    /// An element that an error kept from telling whether it applies.
    pub fn undecided(effects: Effects, fault: Box<Fault>) -> Vote {
        Vote { is_undecided: true, ..Vote::indeterminate(effects, fault) }
    }

    /// The vote of a set that chose this one vote among its children's: such algorithms do not track effects, so
    /// their Indeterminate counts as {DP} above (C.1).
    #[must_use]
    #[inline]
    pub fn without_effects(mut self) -> Vote {
        if let Verdict::Indeterminate(effects) = &mut self.verdict {
            *effects = Effects::DENY_OR_PERMIT;
        }
        self.is_undecided = false;
        self
    }
}

/// Whether a fold wants more votes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// The next child may still change something.
    Continue,
    /// The result stands.
    Stop,
}

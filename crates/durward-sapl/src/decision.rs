//! Decisions: the answers of SAPL.

use durward_ir::Value;
use durward_ir::combine::{Duties, Duty, Verdict, Vote};
use durward_ir::value::ObjectBuilder;
use std::fmt;

/// What was decided, without what goes along with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Access is granted.
    Permit,
    /// Access is refused.
    Deny,
    /// The matter is held until somebody else has decided it.
    Suspend,
    /// No policy has anything to say.
    NotApplicable,
    /// An error kept the policies from deciding.
    Indeterminate,
}

impl Outcome {
    /// Its name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Permit => "PERMIT",
            Outcome::Deny => "DENY",
            Outcome::Suspend => "SUSPEND",
            Outcome::NotApplicable => "NOT_APPLICABLE",
            Outcome::Indeterminate => "INDETERMINATE",
        }
    }
}

impl From<Verdict> for Outcome {
    #[inline]
    fn from(verdict: Verdict) -> Outcome {
        match verdict {
            Verdict::Permit => Outcome::Permit,
            Verdict::Deny => Outcome::Deny,
            Verdict::Suspend => Outcome::Suspend,
            Verdict::NotApplicable => Outcome::NotApplicable,
            Verdict::Indeterminate(_) => Outcome::Indeterminate,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A decision.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What was decided.
    pub outcome: Outcome,
    /// What goes along with it; boxed because most decisions have nothing.
    constraints: Option<Box<Duties>>,
}

impl Decision {
    /// A decision that nothing goes along with.
    pub const fn plain(outcome: Outcome) -> Decision {
        Decision { outcome, constraints: None }
    }

    /// A decision with what goes along with it, as a client reads it.
    pub fn new(
        outcome: Outcome,
        obligations: impl IntoIterator<Item = Value>,
        advice: impl IntoIterator<Item = Value>,
        resource: Option<Value>,
    ) -> Decision {
        let obligations: Vec<Duty> = obligations.into_iter().map(Duty::Plain).collect();
        let advice: Vec<Duty> = advice.into_iter().map(Duty::Plain).collect();
        if obligations.is_empty() && advice.is_empty() && resource.is_none() {
            return Decision::plain(outcome);
        }
        Decision { outcome, constraints: Some(Box::new(Duties { obligations, advice, resource })) }
    }

    /// What must be done.
    pub fn obligations(&self) -> impl ExactSizeIterator<Item = Value> {
        values(self.constraints.as_deref().map_or(&[], |constraints| &constraints.obligations))
    }

    /// What may be done.
    pub fn advice(&self) -> impl ExactSizeIterator<Item = Value> {
        values(self.constraints.as_deref().map_or(&[], |constraints| &constraints.advice))
    }

    /// What stands for the resource, if anything.
    pub fn resource(&self) -> Option<&Value> {
        self.constraints.as_ref()?.resource.as_ref()
    }

    /// Whether both say the same, in the same order; numbers as numbers.
    pub fn equals(&self, other: &Decision) -> bool {
        let nothing = Duties::default();
        let constraints = self.constraints.as_deref().unwrap_or(&nothing);
        self.outcome == other.outcome && constraints.equals(other.constraints.as_deref().unwrap_or(&nothing))
    }

    /// The decision as SAPL writes it: `decision`, `obligations`, `advice`, `resource`, what is empty left out.
    pub fn to_value(&self) -> Value {
        let mut object = ObjectBuilder::with_capacity(4);
        object.insert("decision", Value::Text(self.outcome.as_str().into()));
        if self.obligations().len() > 0 {
            object.insert("obligations", Value::array(self.obligations()));
        }
        if self.advice().len() > 0 {
            object.insert("advice", Value::array(self.advice()));
        }
        if let Some(resource) = self.resource() {
            object.insert("resource", resource.clone());
        }
        Value::Object(object.finish().into())
    }

    /// The JSON of [`Decision::to_value`]. A decision with undefined values somewhere inside cannot be written, and
    /// is written as INDETERMINATE.
    pub fn to_json(&self) -> String {
        if self.constraints.is_none() {
            return format!("{{\"decision\":\"{}\"}}", self.outcome);
        }
        let value = self.to_value();
        if value.holds_undefined() {
            return Decision::plain(Outcome::Indeterminate).to_json();
        }
        value.to_json()
    }
}

impl From<Vote> for Decision {
    #[inline]
    fn from(vote: Vote) -> Decision {
        Decision { outcome: vote.verdict.into(), constraints: vote.duties }
    }
}

fn values(duties: &[Duty]) -> impl ExactSizeIterator<Item = Value> {
    duties.iter().map(|duty| match duty {
        Duty::Plain(value) => value.clone(),
        Duty::Named(named) => crate::xacml::duty(named),
    })
}

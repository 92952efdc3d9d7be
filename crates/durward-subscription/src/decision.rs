//! Decisions: the answers of SAPL.

use durward_ir::Value;
use durward_ir::combine::{Duties, Duty, Verdict, Vote};
use durward_ir::json::{self, JsonError};
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

impl Outcome {
    /// The outcome with this name in JSON.
    pub fn named(name: &str) -> Option<Outcome> {
        use Outcome::{Deny, Indeterminate, NotApplicable, Permit, Suspend};
        [Permit, Deny, Suspend, NotApplicable, Indeterminate].into_iter().find(|one| one.as_str() == name)
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

    /// Reads a decision, as a client does; other keys mean nothing.
    ///
    /// # Errors
    /// No JSON, no object, a decision that does not exist, or constraints that are no array: what cannot be understood
    /// must not be taken for a permit without them.
    pub fn from_json(text: &[u8]) -> Result<Decision, DecisionError> {
        let value = json::read(text).map_err(DecisionError::Json)?;
        let object = value.as_object().ok_or(DecisionError::NoObject)?;
        let outcome = object.get("decision").and_then(Value::as_text).and_then(Outcome::named);
        let outcome = outcome.ok_or(DecisionError::Outcome)?;
        let list = |name: &'static str| match object.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(values)) => Ok(values.to_vec()),
            Some(_) => Err(DecisionError::NoArray(name)),
        };
        let (obligations, advice) = (list("obligations")?, list("advice")?);
        Ok(Decision::new(outcome, obligations, advice, object.get("resource").cloned()))
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

/// Why something is no decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DecisionError {
    /// It is no JSON.
    Json(JsonError),
    /// It is no object.
    NoObject,
    /// Its `decision` is none of the five there are.
    Outcome,
    /// This must be an array.
    NoArray(&'static str),
}

impl fmt::Display for DecisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecisionError::Json(error) => error.fmt(f),
            DecisionError::NoObject => f.write_str("a decision is an object"),
            DecisionError::Outcome => f.write_str("`decision` is none of the decisions there are"),
            DecisionError::NoArray(name) => write!(f, "`{name}` must be an array"),
        }
    }
}

impl std::error::Error for DecisionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_can_be_read() {
        for text in [
            r#"{"decision":"PERMIT"}"#,
            r#"{"decision":"SUSPEND","obligations":[{"n":1.50}],"advice":["a",null],"resource":null}"#,
        ] {
            assert_eq!(Decision::from_json(text.as_bytes()).unwrap().to_json(), text);
        }
    }

    #[test]
    fn what_cannot_be_understood_is_no_decision() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"decision":"permit"}"#,
            r#"{"decision":true}"#,
            r#"{"decision":"PERMIT","obligations":{"log":1}}"#,
            r#"{"decision":"PERMIT","obligations":null}"#,
        ] {
            assert!(Decision::from_json(text.as_bytes()).is_err(), "{text}");
        }
    }
}

//! What was decided, whichever language decided it: the outcome, and what is to be done with it.

use durward_pdp::ir::Value;
use durward_pdp::ir::datatype::Decimal;
use durward_pdp::ir::value::{Object, ObjectBuilder};
use durward_pdp::xacml::response::Duty as XacmlDuty;
use durward_pdp::{Decision as XacmlDecision, ResultOf};
use smol_str::{SmolStr, format_smolstr};

use crate::decider::{Decision, Outcome};

/// The obligation to use another resource in the place of the one that was asked about: what SAPL's `transform` does.
pub const REPLACE_RESOURCE: &str = "urn:durward:obligation:replace-resource";

/// The type of an obligation or advice of SAPL that is no object with a `type` and no text.
const VALUE: &str = "urn:durward:obligation:value";

/// What was decided, whichever language decided it.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The decision.
    pub outcome: Outcome,
    /// What the caller must do.
    pub obligations: Vec<Duty>,
    /// What the caller may ignore.
    pub advice: Vec<Duty>,
}

/// An obligation or advice.
#[derive(Clone, Debug)]
pub struct Duty {
    /// Its own, or its number from 1.
    pub id: SmolStr,
    /// Its type: the id of an obligation of XACML, `type` of one of SAPL.
    pub kind: SmolStr,
    /// An object.
    pub properties: Value,
}

impl Verdict {
    /// What somebody decided who gave no reasons.
    pub fn plain(outcome: Outcome) -> Verdict {
        Verdict { outcome, obligations: Vec::new(), advice: Vec::new() }
    }

    /// What a decision of SAPL comes to.
    pub fn of_sapl(decision: &Decision) -> Verdict {
        let mut obligations: Vec<Duty> = numbered(decision.obligations(), Duty::of_sapl);
        if let Some(resource) = decision.resource() {
            let kind = SmolStr::new_static(REPLACE_RESOURCE);
            let properties = Value::object([("resource", resource.clone())]);
            obligations.push(Duty { id: kind.clone(), kind, properties });
        }
        let advice = numbered(decision.advice(), Duty::of_sapl);
        Verdict { outcome: decision.outcome, obligations, advice }.written()
    }

    /// Of one result: a response with several is about several requests, and none was asked.
    pub(super) fn of_xacml(results: &[ResultOf]) -> Verdict {
        let [result] = results else { return Verdict::plain(Outcome::Indeterminate) };
        let outcome = match result.decision {
            XacmlDecision::Permit => Outcome::Permit,
            XacmlDecision::Deny => Outcome::Deny,
            XacmlDecision::NotApplicable => Outcome::NotApplicable,
            XacmlDecision::Indeterminate => Outcome::Indeterminate,
        };
        let obligations = numbered(result.obligations.iter(), Duty::of_xacml);
        let advice = numbered(result.advice.iter(), Duty::of_xacml);
        Verdict { outcome, obligations, advice }.written()
    }

    /// What cannot be written is an error, as SAPL has it.
    fn written(self) -> Verdict {
        let all = self.obligations.iter().chain(&self.advice);
        if all.map(|duty| &duty.properties).any(Value::holds_undefined) {
            return Verdict::plain(Outcome::Indeterminate);
        }
        self
    }

    /// Whether access is granted to somebody who understands obligations of these types.
    pub fn is_permit_for(&self, understands: impl Fn(&str) -> bool) -> bool {
        match self.outcome {
            Outcome::Permit => self.obligations.iter().all(|duty| understands(&duty.kind)),
            Outcome::Deny | Outcome::Suspend | Outcome::NotApplicable | Outcome::Indeterminate => false,
        }
    }

    /// Whether nothing goes along with it.
    pub fn is_plain(&self) -> bool {
        self.obligations.is_empty() && self.advice.is_empty()
    }
}

/// Makes duties, each with its number from 1.
fn numbered<T>(duties: impl Iterator<Item = T>, make: impl Fn(usize, T) -> Duty) -> Vec<Duty> {
    duties.enumerate().map(|(at, duty)| make(at + 1, duty)).collect()
}

impl Duty {
    /// An object with `type`, an obligation of XACML in a decision of SAPL (`id`, `attributes`), a text, or any other value.
    fn of_sapl(number: usize, value: Value) -> Duty {
        let id = format_smolstr!("{number}");
        if let Some(kind) = value.as_text() {
            return Duty { id, kind: kind.into(), properties: empty() };
        }
        let Some(object) = value.as_object().cloned() else {
            let kind = SmolStr::new_static(VALUE);
            return Duty { id, kind, properties: Value::object([("value", value)]) };
        };
        let text = |name: &str| object.get(name).and_then(Value::as_text).map(SmolStr::new);
        if let Some(kind) = text("type") {
            let own_id = text("id");
            let is_property = |name: &str| name != "type" && (name != "id" || own_id.is_none());
            let rest = object.iter().filter(|(name, _)| is_property(name));
            let rest = rest.map(|(name, value)| (name.clone(), value.clone()));
            return Duty { kind, properties: Value::object(rest), id: own_id.clone().unwrap_or(id) };
        }
        if let (Some(kind), Some(Value::Array(attributes)), 2) =
            (text("id"), object.get("attributes"), object.len())
        {
            let pairs = attributes.iter().filter_map(|attribute| {
                let attribute = attribute.as_object()?;
                Some((attribute.get("id")?.as_text()?, attribute.get("value")?.clone()))
            });
            return Duty { id, kind, properties: gathered(pairs) };
        }
        let kind = SmolStr::new_static(VALUE);
        Duty { id, kind, properties: Value::object([("value", Value::Object(object))]) }
    }

    fn of_xacml(number: usize, duty: &XacmlDuty) -> Duty {
        let pairs =
            duty.assignments.iter().map(|assignment| (assignment.id.as_str(), json(&assignment.value)));
        Duty { id: format_smolstr!("{number}"), kind: duty.id.clone(), properties: gathered(pairs) }
    }
}

fn empty() -> Value {
    Value::Object(Object::default().into())
}

/// An object of these; what comes several times is an array.
fn gathered<'n>(pairs: impl Iterator<Item = (&'n str, Value)>) -> Value {
    let mut all: Vec<(&str, Vec<Value>)> = Vec::new();
    for (name, value) in pairs {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.push(value),
            None => all.push((name, vec![value])),
        }
    }
    let mut object = ObjectBuilder::with_capacity(all.len());
    for (name, mut values) in all {
        let value = if values.len() == 1 { values.swap_remove(0) } else { Value::array(values) };
        object.insert(name, value);
    }
    Value::Object(object.finish().into())
}

/// A value of XACML as one of JSON: numbers and booleans as such, the rest as text.
fn json(value: &Value) -> Value {
    if matches!(value, Value::Boolean(_) | Value::Number(_)) {
        return value.clone();
    }
    let number = if let Value::Integer(integer) = value {
        integer.to_i64().map(Decimal::from)
    } else if let Value::Double(double) = value {
        Decimal::from_f64(*double)
    } else {
        None
    };
    number.map_or_else(|| Value::text(value.lexical()), Value::number)
}

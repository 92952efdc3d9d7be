//! Decisions of either language in AuthZEN's words.
//!
//! `true` is a permit whose obligations the caller is known to understand, and nothing else. Obligations and advice stand in `context`, in the
//! form of the draft of the obligations profile.

use durward_pdp::ir::Value;
use durward_pdp::ir::datatype::Decimal;
use durward_pdp::ir::value::{Object, ObjectBuilder, write_json_text};
use durward_pdp::xacml::response::Duty as XacmlDuty;
use durward_pdp::{Decision as XacmlDecision, ResultOf};
use hyper::StatusCode;
use smol_str::{SmolStr, format_smolstr};

use super::question::Wrong;
use crate::base::settings::AuthzenReasons;
use crate::decider::{Decision, Outcome};

/// The obligation to use another resource in the place of the one that was asked about: what SAPL's `transform` does.
const REPLACE_RESOURCE: &str = "urn:durward:obligation:replace-resource";

/// The type of an obligation or advice of SAPL that is no object with a `type` and no text.
const VALUE: &str = "urn:durward:obligation:value";

/// What was decided, whichever language decided it.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    outcome: Outcome,
    obligations: Vec<Duty>,
    advice: Vec<Duty>,
}

/// An obligation or advice.
#[derive(Clone, Debug)]
struct Duty {
    id: SmolStr,
    kind: SmolStr,
    properties: Value,
}

/// What a caller is told, and which obligations it understands.
pub(super) struct Telling<'t> {
    pub(super) reasons: AuthzenReasons,
    /// Types that every caller understands.
    pub(super) understood: &'t [String],
    /// The context of the request, which names more (`supported_obligations`).
    pub(super) context: Option<&'t Object>,
}

impl Verdict {
    /// What somebody decided who gave no reasons.
    pub(super) fn plain(outcome: Outcome) -> Verdict {
        Verdict { outcome, obligations: Vec::new(), advice: Vec::new() }
    }

    pub(super) fn of_sapl(decision: &Decision) -> Verdict {
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

    /// Whether access is granted to this caller.
    pub(super) fn is_true(&self, telling: &Telling<'_>) -> bool {
        match self.outcome {
            Outcome::Permit => self.obligations.iter().all(|duty| telling.understands(&duty.kind)),
            Outcome::Deny | Outcome::Suspend | Outcome::NotApplicable | Outcome::Indeterminate => false,
        }
    }

    /// Whether nothing goes along with it.
    pub(super) fn is_plain(&self) -> bool {
        self.obligations.is_empty() && self.advice.is_empty()
    }

    /// The decision as AuthZEN writes it.
    pub(super) fn write(&self, telling: &Telling<'_>, out: &mut String) {
        let is_true = self.is_true(telling);
        out.push_str(if is_true { "{\"decision\":true" } else { "{\"decision\":false" });
        let mut context = Members::new(",\"context\":");
        if !is_true && telling.reasons == AuthzenReasons::Outcome {
            context.member(out, "outcome");
            write_json_text(self.outcome.as_str(), out);
        }
        let is_refused = !is_true && self.outcome == Outcome::Permit;
        if is_refused {
            // What is to be done with a permit is not to be done without one.
            context.member(out, "obligations_not_understood");
            let kinds = self.obligations.iter().map(|duty| &duty.kind);
            let kinds = kinds.filter(|kind| !telling.understands(kind)).cloned().map(Value::Text);
            Value::array(kinds).write_json(out);
        } else {
            for (name, duties) in [("obligations", &self.obligations), ("advice", &self.advice)] {
                if !duties.is_empty() {
                    context.member(out, name);
                    Value::array(duties.iter().map(Duty::to_value)).write_json(out);
                }
            }
        }
        context.end(out);
        out.push('}');
    }
}

/// Members of an object that is there only if it has one.
struct Members {
    before: &'static str,
    is_begun: bool,
}

impl Members {
    fn new(before: &'static str) -> Members {
        Members { before, is_begun: false }
    }

    fn member(&mut self, out: &mut String, name: &str) {
        if self.is_begun {
            out.push(',');
        } else {
            out.push_str(self.before);
            out.push('{');
        }
        self.is_begun = true;
        write_json_text(name, out);
        out.push(':');
    }

    fn end(&self, out: &mut String) {
        if self.is_begun {
            out.push('}');
        }
    }
}

impl Telling<'_> {
    fn understands(&self, kind: &str) -> bool {
        let named = self.context.and_then(|context| context.get("supported_obligations"));
        let named = named.and_then(Value::as_array).map(|kinds| &**kinds).unwrap_or_default();
        self.understood.iter().any(|known| known == kind)
            || named.iter().any(|known| known.as_text() == Some(kind))
    }
}

/// The answer to one evaluation of a batch that cannot be decided.
pub(super) fn write_error(wrong: &Wrong, out: &mut String) {
    out.push_str("{\"decision\":false,\"context\":{\"error\":{\"status\":");
    out.push_str(wrong.status.as_str());
    out.push_str(",\"message\":");
    let message = match wrong.status {
        StatusCode::INTERNAL_SERVER_ERROR => "a mistake in durward; nothing was decided",
        _ => &wrong.message,
    };
    write_json_text(message, out);
    out.push_str("}}}");
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

    fn to_value(&self) -> Value {
        Value::object([
            ("id", Value::Text(self.id.clone())),
            ("type", Value::Text(self.kind.clone())),
            ("properties", self.properties.clone()),
        ])
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

#[cfg(test)]
mod tests {
    use super::*;

    fn told(decision: &str, understood: &[&str], context: &str, reasons: AuthzenReasons) -> String {
        let verdict = Verdict::of_sapl(&Decision::from_json(decision.as_bytes()).unwrap());
        let context = durward_pdp::ir::json::read(context).unwrap();
        let understood: Vec<String> = understood.iter().map(|&kind| kind.to_owned()).collect();
        let context = context.as_object().map(|object| &**object);
        let mut out = String::new();
        verdict.write(&Telling { reasons, understood: &understood, context }, &mut out);
        out
    }

    fn plain(decision: &str) -> String {
        told(decision, &[], "{}", AuthzenReasons::None)
    }

    #[test]
    fn only_a_permit_is_true() {
        assert_eq!(plain(r#"{"decision":"PERMIT"}"#), r#"{"decision":true}"#);
        for outcome in ["DENY", "INDETERMINATE", "NOT_APPLICABLE", "SUSPEND"] {
            let decision = format!(r#"{{"decision":"{outcome}"}}"#);
            assert_eq!(plain(&decision), r#"{"decision":false}"#);
            let reason = told(&decision, &[], "{}", AuthzenReasons::Outcome);
            assert_eq!(reason, format!(r#"{{"decision":false,"context":{{"outcome":"{outcome}"}}}}"#));
        }
    }

    #[test]
    fn an_obligation_that_is_not_understood_is_no_permit() {
        let log = r#"{"decision":"PERMIT","obligations":[{"type":"log","n":1}],"advice":["hint"]}"#;
        assert_eq!(plain(log), r#"{"decision":false,"context":{"obligations_not_understood":["log"]}}"#);
        let both = r#"{"decision":true,"context":{"obligations":[{"id":"1","type":"log","properties":{"n":1}}],"advice":[{"id":"1","type":"hint","properties":{}}]}}"#;
        assert_eq!(told(log, &["log"], "{}", AuthzenReasons::None), both);
        assert_eq!(told(log, &[], r#"{"supported_obligations":["log"]}"#, AuthzenReasons::None), both);
        for not_named in [r#"{"supported_obligations":"log"}"#, r#"{"supported_obligations":[["log"],null]}"#]
        {
            assert!(told(log, &[], not_named, AuthzenReasons::None).starts_with(r#"{"decision":false"#));
        }
        let deny = r#"{"decision":"DENY","obligations":[7]}"#;
        assert_eq!(
            plain(deny),
            r#"{"decision":false,"context":{"obligations":[{"id":"1","type":"urn:durward:obligation:value","properties":{"value":7}}]}}"#
        );
    }

    #[test]
    fn another_resource_is_an_obligation_to_use_it() {
        let replaced = r#"{"decision":"PERMIT","resource":{"name":"***"}}"#;
        assert!(plain(replaced).starts_with(r#"{"decision":false"#));
        assert_eq!(
            told(replaced, &[REPLACE_RESOURCE], "{}", AuthzenReasons::None),
            format!(
                r#"{{"decision":true,"context":{{"obligations":[{{"id":"{REPLACE_RESOURCE}","type":"{REPLACE_RESOURCE}","properties":{{"resource":{{"name":"***"}}}}}}]}}}}"#
            )
        );
    }

    #[test]
    fn an_obligation_of_xacml_has_its_attributes_as_properties() {
        let named = r#"{"decision":"DENY","obligations":[{"id":"urn:mail","attributes":[{"id":"to","value":"a"},{"id":"to","value":"b"},{"id":"n","value":1}]}]}"#;
        assert_eq!(
            plain(named),
            r#"{"decision":false,"context":{"obligations":[{"id":"1","type":"urn:mail","properties":{"to":["a","b"],"n":1}}]}}"#
        );
    }
}

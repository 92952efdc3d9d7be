//! Decisions of either language in AuthZEN's words.
//!
//! `true` is a permit whose obligations the caller is known to understand, and nothing else. Obligations and advice stand in `context`, in the
//! form of the draft of the obligations profile.

use durward_common::decider::Outcome;
use durward_common::question::{Duty, Verdict, Wrong};
use durward_pdp::ir::Value;
use durward_pdp::ir::value::{Object, write_json_text};
use durward_settings::AuthzenReasons;
use hyper::StatusCode;

/// What a caller is told, and which obligations it understands.
pub(super) struct Telling<'t> {
    pub(super) reasons: AuthzenReasons,
    /// Types that every caller understands.
    pub(super) understood: &'t [String],
    /// The context of the request, which names more (`supported_obligations`).
    pub(super) context: Option<&'t Object>,
}

impl Telling<'_> {
    /// Whether access is granted to this caller.
    pub(super) fn is_true(&self, verdict: &Verdict) -> bool {
        verdict.is_permit_for(|kind| self.understands(kind))
    }

    /// Writes the decision as AuthZEN does.
    pub(super) fn write(&self, verdict: &Verdict, out: &mut String) {
        let is_true = self.is_true(verdict);
        out.push_str(if is_true { "{\"decision\":true" } else { "{\"decision\":false" });
        let mut context = Members::new(",\"context\":");
        if !is_true && self.reasons == AuthzenReasons::Outcome {
            context.member(out, "outcome");
            write_json_text(verdict.outcome.as_str(), out);
        }
        let is_refused = !is_true && verdict.outcome == Outcome::Permit;
        if is_refused {
            // What is to be done with a permit is not to be done without one.
            context.member(out, "obligations_not_understood");
            let kinds = verdict.obligations.iter().map(|duty| &duty.kind);
            let kinds = kinds.filter(|kind| !self.understands(kind)).cloned().map(Value::Text);
            Value::array(kinds).write_json(out);
        } else {
            for (name, duties) in [("obligations", &verdict.obligations), ("advice", &verdict.advice)] {
                if !duties.is_empty() {
                    context.member(out, name);
                    Value::array(duties.iter().map(written)).write_json(out);
                }
            }
        }
        context.end(out);
        out.push('}');
    }

    fn understands(&self, kind: &str) -> bool {
        let named = self.context.and_then(|context| context.get("supported_obligations"));
        let named = named.and_then(Value::as_array).map(|kinds| &**kinds).unwrap_or_default();
        self.understood.iter().any(|known| known == kind)
            || named.iter().any(|known| known.as_text() == Some(kind))
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

fn written(duty: &Duty) -> Value {
    Value::object([
        ("id", Value::Text(duty.id.clone())),
        ("type", Value::Text(duty.kind.clone())),
        ("properties", duty.properties.clone()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use durward_common::decider::Decision;
    use durward_common::question::REPLACE_RESOURCE;

    fn told(decision: &str, understood: &[&str], context: &str, reasons: AuthzenReasons) -> String {
        let verdict = Verdict::of_sapl(&Decision::from_json(decision.as_bytes()).unwrap());
        let context = durward_pdp::ir::json::read(context).unwrap();
        let understood: Vec<String> = understood.iter().map(|&kind| kind.to_owned()).collect();
        let context = context.as_object().map(|object| &**object);
        let mut out = String::new();
        Telling { reasons, understood: &understood, context }.write(&verdict, &mut out);
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

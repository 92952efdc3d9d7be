//! One line of the decision log, with what must not be written left out.

use std::collections::HashSet;

use durward_pdp::xacml::request::AttributeView;
use durward_pdp::xacml::response::{PolicyIdentifier, PolicyKind};
use durward_pdp::{Decision, Request, Response, ResultOf};
use jiff::Timestamp;
use serde::Serialize;
use smol_str::SmolStr;

use super::Entry;
use crate::settings::{DecisionLogSettings, Redaction};

/// How lines are written.
pub(super) struct Style {
    redact: Redaction,
    always_redacted: HashSet<String>,
}

#[derive(Serialize)]
struct Line<'e> {
    time: String,
    request_id: &'e str,
    client: String,
    decision: &'static str,
    snapshot: u64,
    duration_us: f64,
    results: Vec<ResultLine<'e>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Vec<CategoryLine<'e>>>,
}

#[derive(Serialize)]
struct ResultLine<'e> {
    decision: &'static str,
    status: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'e str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    obligations: Vec<&'e str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyLine<'e>>,
}

#[derive(Serialize)]
struct PolicyLine<'e> {
    kind: &'static str,
    id: &'e str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'e str>,
}

#[derive(Serialize)]
struct CategoryLine<'e> {
    category: &'e str,
    attributes: Vec<AttributeLine>,
}

#[derive(Serialize)]
struct AttributeLine {
    id: SmolStr,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<SmolStr>,
    /// Absent where values are redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<String>>,
}

impl Style {
    pub(super) fn new(settings: &DecisionLogSettings) -> Style {
        Style {
            redact: settings.redact,
            always_redacted: settings.redact_attributes.iter().cloned().collect(),
        }
    }

    /// The entry as JSON, without line end.
    pub(super) fn line(&self, entry: &Entry) -> String {
        let policies = entry.policies.iter().map(Some).chain(std::iter::repeat(None));
        let results = entry.response.results.iter().zip(policies);
        let line = Line {
            time: Timestamp::try_from(entry.time).map_or_else(|_| String::new(), |time| time.to_string()),
            request_id: &entry.request_id,
            client: match entry.client.port() {
                0 => entry.client.ip().to_string(),
                _ => entry.client.to_string(),
            },
            decision: overall(&entry.response),
            snapshot: entry.snapshot,
            duration_us: (entry.duration.as_secs_f64() * 1e7).round() / 10.0,
            results: results.map(|(result, policies)| self.result(result, policies)).collect(),
            attributes: self.attributes(&entry.request),
        };
        serde_json::to_string(&line).unwrap_or_default()
    }

    fn result<'e>(
        &self,
        result: &'e ResultOf,
        policies: Option<&'e Vec<PolicyIdentifier>>,
    ) -> ResultLine<'e> {
        ResultLine {
            decision: result.decision.as_str(),
            status: &result.status.code.value,
            message: if self.shows_all() { result.status.message.as_deref() } else { None },
            obligations: result.obligations.iter().map(|duty| duty.id.as_str()).collect(),
            policies: policies.into_iter().flatten().map(policy).collect(),
        }
    }

    /// Status messages quote values, so they are written only where every value may be.
    fn shows_all(&self) -> bool {
        self.redact == Redaction::None && self.always_redacted.is_empty()
    }

    /// The attributes by category, in the order of the request.
    fn attributes<'e>(&self, request: &'e Request) -> Option<Vec<CategoryLine<'e>>> {
        let shows_values = match self.redact {
            Redaction::All => return None,
            Redaction::Values => false,
            Redaction::None => true,
        };
        let mut categories: Vec<CategoryLine<'e>> = Vec::new();
        for attribute in request.categories.attributes() {
            let line = self.attribute(attribute, shows_values);
            match categories.last_mut() {
                Some(last) if last.category == attribute.category() => last.attributes.push(line),
                _ => categories.push(CategoryLine { category: attribute.category(), attributes: vec![line] }),
            }
        }
        Some(categories)
    }

    fn attribute(&self, attribute: AttributeView<'_>, shows_values: bool) -> AttributeLine {
        let is_shown = shows_values && !self.always_redacted.contains(attribute.id.as_str());
        let values = || attribute.values().iter().map(|value| value.lexical().into_owned()).collect();
        AttributeLine {
            id: attribute.id.clone(),
            issuer: attribute.issuer.clone(),
            values: is_shown.then(values),
        }
    }
}

/// The decision, if all results agree on it.
fn overall(response: &Response) -> &'static str {
    let mut decisions = response.results.iter().map(|result| result.decision);
    match decisions.next() {
        None => Decision::Indeterminate.as_str(),
        Some(first) if decisions.all(|other| other == first) => first.as_str(),
        Some(_) => "mixed",
    }
}

fn policy(policy: &PolicyIdentifier) -> PolicyLine<'_> {
    let kind = match policy.kind {
        PolicyKind::Policy => "policy",
        PolicyKind::PolicySet => "policy set",
    };
    PolicyLine { kind, id: &policy.id, version: policy.version.as_deref() }
}

//! Writes responses as JSON (JSON Profile of XACML 3.0, version 1.1, section 5).

use super::{
    Decision, Duty, MissingAttribute, PolicyIdentifier, PolicyKind, Response, ResultOf, Status, StatusCode,
    StatusDetail,
};
use crate::json::write::{array, key, member, text};
use crate::json::{write_categories, write_value};

/// What most responses fit into.
const USUAL_LENGTH: usize = 256;

/// A response of one result without anything but the decision, as one constant.
macro_rules! plain_response {
    ($decision:literal) => {
        concat!(
            "{\"Response\":[{\"Decision\":\"",
            $decision,
            "\",\"Status\":{\"StatusCode\":{\"Value\":\"urn:oasis:names:tc:xacml:1.0:status:ok\"}}}]}"
        )
    };
}

impl Response {
    /// The response in JSON; `Response` is an array however many results there are.
    ///
    /// ```
    /// use durward_xacml::response::{Decision, Response, ResultOf};
    ///
    /// let response = Response::of(ResultOf::new(Decision::Deny));
    /// assert!(response.to_json().starts_with(r#"{"Response":[{"Decision":"Deny""#));
    /// ```
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(USUAL_LENGTH);
        self.write_json(&mut out);
        out
    }

    /// Appends what [`Response::to_json`] gives.
    pub fn write_json(&self, out: &mut String) {
        if let [result] = self.results.as_slice()
            && result.is_plain()
        {
            return out.push_str(plain(result.decision));
        }
        out.push_str("{\"Response\":");
        array(out, &self.results, write_result);
        out.push('}');
    }
}

fn plain(decision: Decision) -> &'static str {
    match decision {
        Decision::Permit => plain_response!("Permit"),
        Decision::Deny => plain_response!("Deny"),
        Decision::Indeterminate => plain_response!("Indeterminate"),
        Decision::NotApplicable => plain_response!("NotApplicable"),
    }
}

fn write_result(out: &mut String, result: &ResultOf) {
    out.push('{');
    member(out, "Decision", result.decision.as_str());
    key(out, "Status");
    write_status(out, &result.status);
    write_duties(out, "Obligations", &result.obligations);
    write_duties(out, "AssociatedAdvice", &result.advice);
    if !result.attributes.is_empty() {
        key(out, "Category");
        write_categories(out, &result.attributes);
    }
    if let Some(policies) = &result.policy_ids {
        key(out, "PolicyIdentifierList");
        out.push('{');
        write_policy_ids(out, "PolicyIdReference", policies, PolicyKind::Policy);
        write_policy_ids(out, "PolicySetIdReference", policies, PolicyKind::PolicySet);
        out.push('}');
    }
    out.push('}');
}

fn write_status(out: &mut String, status: &Status) {
    out.push('{');
    key(out, "StatusCode");
    write_status_code(out, &status.code);
    if let Some(message) = &status.message {
        member(out, "StatusMessage", message);
    }
    match &status.detail {
        None => {}
        Some(StatusDetail::Raw(raw)) => member(out, "StatusDetail", raw),
        Some(StatusDetail::MissingAttributes(missing)) => {
            key(out, "StatusDetail");
            array(out, missing, write_missing);
        }
    }
    out.push('}');
}

fn write_status_code(out: &mut String, code: &StatusCode) {
    // Codes nest; they are written without recursion, because a response may have been read from elsewhere.
    let mut depth = 0;
    let mut next = Some(code);
    while let Some(code) = next {
        if depth > 0 {
            key(out, "StatusCode");
        }
        out.push('{');
        member(out, "Value", &code.value);
        depth += 1;
        next = code.minor.as_deref();
    }
    out.extend(std::iter::repeat_n('}', depth));
}

fn write_missing(out: &mut String, missing: &MissingAttribute) {
    out.push('{');
    if !missing.values.is_empty() {
        key(out, "AttributeValue");
        array(out, &missing.values, |out, value| text(out, &value.lexical()));
    }
    member(out, "Category", &missing.name.category);
    member(out, "AttributeId", &missing.name.id);
    member(out, "DataType", missing.data_type_uri.as_deref().unwrap_or(missing.name.data_type.uri()));
    if let Some(issuer) = &missing.name.issuer {
        member(out, "Issuer", issuer);
    }
    out.push('}');
}

fn write_duties(out: &mut String, name: &str, duties: &[Duty]) {
    if duties.is_empty() {
        return;
    }
    key(out, name);
    array(out, duties, |out, duty| {
        out.push('{');
        member(out, "Id", &duty.id);
        if !duty.assignments.is_empty() {
            key(out, "AttributeAssignment");
            array(out, &duty.assignments, |out, assignment| {
                out.push('{');
                member(out, "AttributeId", &assignment.id);
                if let Some(category) = &assignment.category {
                    member(out, "Category", category);
                }
                if let Some(issuer) = &assignment.issuer {
                    member(out, "Issuer", issuer);
                }
                write_value(out, &assignment.value);
                out.push('}');
            });
        }
        out.push('}');
    });
}

fn write_policy_ids(out: &mut String, name: &str, policies: &[PolicyIdentifier], kind: PolicyKind) {
    let mut of_kind = policies.iter().filter(|policy| policy.kind == kind).peekable();
    if of_kind.peek().is_none() {
        return;
    }
    key(out, name);
    array(out, of_kind, |out, policy| {
        out.push('{');
        member(out, "Id", &policy.id);
        if let Some(version) = &policy.version {
            member(out, "Version", version);
        }
        out.push('}');
    });
}

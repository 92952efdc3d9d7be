//! Writes responses as XML, of XACML 3.0 or of the generation the request was written in.

use durward_ir::Value;

use super::{
    Assignment, Decision, Duty, MissingAttribute, PolicyIdentifier, PolicyKind, Response, ResultOf, Status,
    StatusCode, StatusDetail, StatusParts,
};
use crate::request::identifiers::data_type_uri;
use crate::request::{AttributeView, Categories, Form, Version, Written};
use crate::xml::{CONTEXT1, CONTEXT2, CORE3, POLICY1, POLICY2, write};

/// What most responses fit into: one result, a decision and a status.
const USUAL_LENGTH: usize = 256;

/// A response of one result without anything but the decision, which is what almost all are, is one constant.
macro_rules! plain_response {
    ($decision:literal) => {
        concat!(
            "<Response xmlns=\"urn:oasis:names:tc:xacml:3.0:core:schema:wd-17\"><Result><Decision>",
            $decision,
            "</Decision><Status><StatusCode Value=\"urn:oasis:names:tc:xacml:1.0:status:ok\"/></Status></Result>",
            "</Response>"
        )
    };
}

impl Response {
    /// The response as an XML document without prolog, in the namespace of `version`.
    ///
    /// Advice, echoed attributes and policy identifiers exist in 3.0 only and are left out before it.
    ///
    /// ```
    /// use durward_xacml::request::Version;
    /// use durward_xacml::response::{Decision, Response, ResultOf};
    ///
    /// let response = Response::of(ResultOf::new(Decision::Permit));
    /// assert!(response.to_xml(Version::V3).contains("<Decision>Permit</Decision>"));
    /// ```
    pub fn to_xml(&self, version: Version) -> String {
        let mut out = String::with_capacity(USUAL_LENGTH);
        self.write_xml(version, &mut out);
        out
    }

    /// Appends what [`Response::to_xml`] gives.
    pub fn write_xml(&self, version: Version, out: &mut String) {
        if let (Version::V3, [result]) = (version, self.results.as_slice())
            && result.is_plain()
        {
            return out.push_str(plain(result.decision));
        }
        let context = match version {
            Version::V1 => CONTEXT1,
            Version::V2 => CONTEXT2,
            Version::V3 => CORE3,
        };
        out.push_str("<Response");
        attribute(out, "xmlns", context);
        out.push('>');
        let repeated = repeated_ids(&self.results);
        for result in &self.results {
            match version {
                Version::V3 => write_result(out, result, &repeated),
                Version::V2 => write_result_before_3(out, result, POLICY2),
                Version::V1 => write_result_before_3(out, result, POLICY1),
            }
        }
        out.push_str("</Response>");
    }
}

impl ResultOf {
    /// Whether there is nothing to say but the decision.
    pub(super) fn is_plain(&self) -> bool {
        let StatusParts { code, message, detail } = &*self.status;
        self.obligations.is_empty()
            && self.advice.is_empty()
            && self.attributes.is_empty()
            && self.policy_ids.is_none()
            && message.is_none()
            && detail.is_none()
            && code.minor.is_none()
            && code.value == super::status::OK
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

/// XACML 3.0, section 5.48.
fn write_result(out: &mut String, result: &ResultOf, repeated: &[&str]) {
    out.push_str("<Result>");
    write_decision(out, result.decision);
    write_status(out, &result.status, Version::V3);
    write_duties(out, &result.obligations, ("Obligations", "Obligation", "ObligationId"));
    write_duties(out, &result.advice, ("AssociatedAdvice", "Advice", "AdviceId"));
    write_attributes(out, &result.attributes, repeated);
    if let Some(policies) = &result.policy_ids {
        write_policy_ids(out, policies);
    }
    out.push_str("</Result>");
}

/// XACML 2.0, section 6.10: the resource is named, obligations are elements of the policy namespace.
fn write_result_before_3(out: &mut String, result: &ResultOf, policy_namespace: &str) {
    out.push_str("<Result");
    if let Some(resource) = &result.resource_id {
        attribute(out, "ResourceId", resource);
    }
    out.push('>');
    write_decision(out, result.decision);
    write_status(out, &result.status, Version::V2);
    if !result.obligations.is_empty() {
        out.push_str("<Obligations");
        attribute(out, "xmlns", policy_namespace);
        out.push('>');
        for obligation in &result.obligations {
            out.push_str("<Obligation");
            attribute(out, "ObligationId", &obligation.id);
            attribute(out, "FulfillOn", result.decision.as_str());
            out.push('>');
            for assignment in &obligation.assignments {
                out.push_str("<AttributeAssignment");
                attribute(out, "AttributeId", &assignment.id);
                write_value(out, &assignment.value);
                out.push_str("</AttributeAssignment>");
            }
            out.push_str("</Obligation>");
        }
        out.push_str("</Obligations>");
    }
    out.push_str("</Result>");
}

fn write_decision(out: &mut String, decision: Decision) {
    out.push_str("<Decision>");
    out.push_str(decision.as_str());
    out.push_str("</Decision>");
}

fn write_status(out: &mut String, status: &Status, version: Version) {
    out.push_str("<Status>");
    write_status_code(out, &status.code);
    if let Some(message) = &status.message {
        out.push_str("<StatusMessage>");
        write::text(out, message);
        out.push_str("</StatusMessage>");
    }
    match &status.detail {
        None => {}
        Some(StatusDetail::Raw(xml)) => {
            out.push_str("<StatusDetail>");
            out.push_str(xml);
            out.push_str("</StatusDetail>");
        }
        Some(StatusDetail::MissingAttributes(missing)) => {
            out.push_str("<StatusDetail>");
            missing.iter().for_each(|missing| write_missing(out, missing, version));
            out.push_str("</StatusDetail>");
        }
    }
    out.push_str("</Status>");
}

fn write_status_code(out: &mut String, code: &StatusCode) {
    // Codes nest; they are written without recursion, because a response may have been read from elsewhere.
    let mut depth = 0;
    let mut next = Some(code);
    while let Some(code) = next {
        out.push_str("<StatusCode");
        attribute(out, "Value", &code.value);
        next = code.minor.as_deref();
        match next {
            Some(_) => {
                out.push('>');
                depth += 1;
            }
            None => out.push_str("/>"),
        }
    }
    for _ in 0..depth {
        out.push_str("</StatusCode>");
    }
}

fn write_missing(out: &mut String, missing: &MissingAttribute, version: Version) {
    out.push_str("<MissingAttributeDetail");
    if version == Version::V3 {
        attribute(out, "Category", &missing.name.category);
    }
    attribute(out, "AttributeId", &missing.name.id);
    attribute(out, "DataType", missing.data_type_uri.as_deref().unwrap_or(missing.name.data_type.uri()));
    if let Some(issuer) = &missing.name.issuer {
        attribute(out, "Issuer", issuer);
    }
    if missing.values.is_empty() {
        return out.push_str("/>");
    }
    out.push('>');
    for value in &missing.values {
        out.push_str("<AttributeValue");
        write_value(out, value);
        out.push_str("</AttributeValue>");
    }
    out.push_str("</MissingAttributeDetail>");
}

/// Obligations or advice; `names` are those of the list, of one duty, and of its identifier.
fn write_duties(out: &mut String, duties: &[Duty], (list, duty_name, id): (&str, &str, &str)) {
    if duties.is_empty() {
        return;
    }
    open(out, list);
    for duty in duties {
        out.push('<');
        out.push_str(duty_name);
        attribute(out, id, &duty.id);
        out.push('>');
        duty.assignments.iter().for_each(|assignment| write_assignment(out, assignment));
        close(out, duty_name);
    }
    close(out, list);
}

fn write_assignment(out: &mut String, assignment: &Assignment) {
    out.push_str("<AttributeAssignment");
    attribute(out, "AttributeId", &assignment.id);
    if let Some(category) = &assignment.category {
        attribute(out, "Category", category);
    }
    if let Some(issuer) = &assignment.issuer {
        attribute(out, "Issuer", issuer);
    }
    write_value(out, &assignment.value);
    out.push_str("</AttributeAssignment>");
}

/// The `xml:id`s that several echoed categories have. Results of one request echo the same ones, and an identifier
/// that stands twice makes a document invalid (xml:id 1.0, section 4): those are left out of all results.
fn repeated_ids(results: &[ResultOf]) -> Vec<&str> {
    if results.len() < 2 {
        return Vec::new();
    }
    let categories = results.iter().flat_map(|result| result.attributes.iter());
    let mut ids: Vec<&str> = categories.filter_map(|category| category.id()).collect();
    ids.sort_unstable();
    let mut repeated: Vec<&str> = ids
        .windows(2)
        .filter(|pair| pair.first() == pair.last())
        .filter_map(|pair| pair.first().copied())
        .collect();
    repeated.dedup();
    repeated
}

/// `<Attributes>` elements, as in a result or in a request; without the identifiers in `repeated`, which is sorted.
pub(crate) fn write_attributes(out: &mut String, categories: &Categories, repeated: &[&str]) {
    for category in categories.iter() {
        out.push_str("<Attributes");
        attribute(out, "Category", &category.category);
        if let Some(id) = category.id().filter(|id| repeated.binary_search(id).is_err()) {
            attribute(out, "xml:id", id);
        }
        out.push('>');
        if let Some(content) = &category.content {
            out.push_str("<Content");
            write_namespaces(out, &content.namespaces);
            out.push('>');
            out.push_str(&content.xml);
            out.push_str("</Content>");
        }
        category.attributes().filter(|attribute| !attribute.values().is_empty()).for_each(|attribute| {
            write_attribute(out, attribute);
        });
        out.push_str("</Attributes>");
    }
}

fn write_attribute(out: &mut String, found: AttributeView<'_>) {
    out.push_str("<Attribute");
    attribute(out, "AttributeId", &found.id);
    if let Some(issuer) = &found.issuer {
        attribute(out, "Issuer", issuer);
    }
    attribute(out, "IncludeInResult", if found.include_in_result { "true" } else { "false" });
    out.push('>');
    for (value, written) in found.values_as_written() {
        out.push_str("<AttributeValue");
        match written {
            Some(written) => write_as_sent(out, value, written),
            None => write_value(out, value),
        }
        out.push_str("</AttributeValue>");
    }
    out.push_str("</Attribute>");
}

fn write_policy_ids(out: &mut String, policies: &[PolicyIdentifier]) {
    open(out, "PolicyIdentifierList");
    for policy in policies {
        let name = match policy.kind {
            PolicyKind::Policy => "PolicyIdReference",
            PolicyKind::PolicySet => "PolicySetIdReference",
        };
        out.push('<');
        out.push_str(name);
        if let Some(version) = &policy.version {
            attribute(out, "Version", version);
        }
        out.push('>');
        write::text(out, &policy.id);
        close(out, name);
    }
    close(out, "PolicyIdentifierList");
}

/// The rest of a start tag whose element holds a value, and the value's text.
fn write_value(out: &mut String, value: &Value) {
    attribute(out, "DataType", data_type_uri(value));
    if let Value::XPathExpression(expression) = value {
        attribute(out, "XPathCategory", &expression.category);
        write_namespaces(out, &expression.namespaces);
    }
    out.push('>');
    write::text(out, &value.lexical());
}

/// The same for a value whose form was kept.
fn write_as_sent(out: &mut String, value: &Value, written: &Written) {
    attribute(out, "DataType", data_type_as_written(value, Some(written)));
    if let Value::XPathExpression(expression) = value {
        attribute(out, "XPathCategory", &expression.category);
        write_namespaces(out, &expression.namespaces);
    }
    match &written.form {
        Form::Text(text) => {
            out.push('>');
            write::text(out, text);
        }
        Form::Markup(namespaces) => {
            write_namespaces(out, namespaces);
            out.push('>');
            out.push_str(&value.lexical());
        }
    }
}

/// The identifier of a value's data type, as it was sent where that is known.
pub(crate) fn data_type_as_written<'a>(value: &'a Value, written: Option<&'a Written>) -> &'a str {
    written.and_then(|written| written.data_type.as_deref()).unwrap_or_else(|| data_type_uri(value))
}

/// Prefixes an expression or a content needs. The default namespace is left out: it is that of the response's own
/// elements here. So is `xml`, which means the same everywhere.
fn write_namespaces(out: &mut String, namespaces: &[(smol_str::SmolStr, smol_str::SmolStr)]) {
    let declared = |prefix: &str| !prefix.is_empty() && prefix != "xml";
    for (prefix, uri) in namespaces.iter().filter(|(prefix, _)| declared(prefix)) {
        out.push_str(" xmlns:");
        out.push_str(prefix);
        out.push_str("=\"");
        write::value(out, uri);
        out.push('"');
    }
}

fn attribute(out: &mut String, name: &str, value: &str) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    write::value(out, value);
    out.push('"');
}

fn open(out: &mut String, name: &str) {
    out.push('<');
    out.push_str(name);
    out.push('>');
}

fn close(out: &mut String, name: &str) {
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

//! Tells how two responses differ in meaning, for conformance tests and for comparing decision points.

use durward_ir::Value;
use smol_str::SmolStr;

use super::{
    Assignment, Decision, Duty, PolicyIdentifier, PolicyKind, Response, ResultOf, Status, StatusDetail,
};
use crate::request::identifiers::data_type_uri;
use crate::request::{AttributeView, Categories};

/// How `found` differs from `expected`, one sentence each; empty where both mean the same.
///
/// Results, decisions and status codes are compared in order; obligations, advice, echoed attributes, policy
/// identifiers and missing attributes as sets. Values are equal when their data types and canonical texts are,
/// status messages do not count, and a status without code is `ok`.
pub fn differences(expected: &Response, found: &Response) -> Vec<String> {
    let mut differences = Vec::new();
    let (expected, found) = (&expected.results, &found.results);
    if expected.len() != found.len() {
        differences.push(format!("{} results expected, {} found", expected.len(), found.len()));
    }
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        let before = differences.len();
        compare(expected, found, &mut differences);
        for difference in differences.iter_mut().skip(before) {
            difference.insert_str(0, &format!("result {}: ", number + 1));
        }
    }
    differences
}

fn compare(expected: &ResultOf, found: &ResultOf, differences: &mut Vec<String>) {
    let word = Decision::as_str;
    if expected.decision != found.decision {
        let difference = format!(
            "decision {} expected, {} found{}",
            word(expected.decision),
            word(found.decision),
            why(found)
        );
        differences.push(difference);
    }
    if codes(&expected.status) != codes(&found.status) {
        let difference = format!(
            "status {:?} expected, {:?} found{}",
            codes(&expected.status),
            codes(&found.status),
            why(found)
        );
        differences.push(difference);
    }
    // A detail is not compared where none is expected: whether to give one is up to the decision point.
    if let Some(StatusDetail::MissingAttributes(_)) = expected.status.detail {
        let (expected, found) = (missing(&expected.status), missing(&found.status));
        sets("missing attribute", &expected, &found, String::eq, String::clone, differences);
    }
    sets("obligation", &expected.obligations, &found.obligations, same_duty, duty_text, differences);
    sets("advice", &expected.advice, &found.advice, same_duty, duty_text, differences);
    let (echo_expected, echo_found) = (echoes(&expected.attributes), echoes(&found.attributes));
    sets("attribute", &echo_expected, &echo_found, same_echo, echo_text, differences);
    let none = Vec::new();
    let (policies_expected, policies_found) =
        (expected.policy_ids.as_ref().unwrap_or(&none), found.policy_ids.as_ref().unwrap_or(&none));
    sets("policy", policies_expected, policies_found, PolicyIdentifier::eq, policy_text, differences);
    if let (Some(expected), Some(found)) = (&expected.resource_id, &found.resource_id)
        && expected != found
    {
        differences.push(format!("resource `{expected}` expected, `{found}` found"));
    }
}

/// The message of the status found, to make a surprise understandable.
fn why(found: &ResultOf) -> String {
    found.status.message.as_ref().map(|message| format!(" ({message})")).unwrap_or_default()
}

/// What is only in one of two collections; repeats count.
fn sets<T>(
    what: &str,
    expected: &[T],
    found: &[T],
    same: impl Fn(&T, &T) -> bool,
    text: impl Fn(&T) -> String,
    differences: &mut Vec<String>,
) {
    let (lacking, surplus) = unmatched(expected, found, same);
    differences.extend(
        lacking.into_iter().map(|lacking| format!("{what} expected and not found: {}", text(lacking))),
    );
    differences.extend(
        surplus.into_iter().map(|surplus| format!("{what} found and not expected: {}", text(surplus))),
    );
}

/// What has no partner in the other collection.
fn unmatched<'a, T>(
    expected: &'a [T],
    found: &'a [T],
    same: impl Fn(&T, &T) -> bool,
) -> (Vec<&'a T>, Vec<&'a T>) {
    let mut surplus: Vec<&T> = found.iter().collect();
    let mut lacking = Vec::new();
    for expected in expected {
        match surplus.iter().position(|found| same(expected, found)) {
            Some(index) => drop(surplus.remove(index)),
            None => lacking.push(expected),
        }
    }
    (lacking, surplus)
}

/// The major code and the finer ones.
fn codes(status: &Status) -> Vec<&str> {
    let first = if status.code.value.is_empty() { super::status::OK } else { &status.code.value };
    let finer = std::iter::successors(status.code.minor.as_deref(), |code| code.minor.as_deref());
    std::iter::once(first).chain(finer.map(|code| code.value.as_str())).collect()
}

fn missing(status: &Status) -> Vec<String> {
    match &status.detail {
        Some(StatusDetail::MissingAttributes(missing)) => {
            let name = |missing: &super::MissingAttribute| {
                let data_type = missing.data_type_uri.as_deref().unwrap_or(missing.name.data_type.uri());
                format!("{} {} {data_type} {:?}", missing.name.category, missing.name.id, missing.name.issuer)
            };
            missing.iter().map(name).collect()
        }
        Some(StatusDetail::Raw(_)) | None => Vec::new(),
    }
}

fn same_duty(one: &Duty, other: &Duty) -> bool {
    let (lacking, surplus) = unmatched(&one.assignments, &other.assignments, same_assignment);
    one.id == other.id && lacking.is_empty() && surplus.is_empty()
}

fn same_assignment(one: &Assignment, other: &Assignment) -> bool {
    (&one.id, &one.category, &one.issuer) == (&other.id, &other.category, &other.issuer)
        && same_value(&one.value, &other.value)
}

fn duty_text(duty: &Duty) -> String {
    let assignment_text = |assignment: &Assignment| {
        let Assignment { id, category, issuer, value } = assignment;
        let part =
            |text: &Option<SmolStr>| text.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
        format!("{id}{}{} = {}", part(category), part(issuer), value_text(value))
    };
    let assignments: Vec<String> = duty.assignments.iter().map(assignment_text).collect();
    format!("{} {{{}}}", duty.id, assignments.join(", "))
}

/// One value of one attribute, so that one attribute with two values equals two with one each.
type Echo<'a> = (AttributeView<'a>, &'a Value);

fn echoes(categories: &Categories) -> Vec<Echo<'_>> {
    categories
        .attributes()
        .flat_map(|attribute| attribute.values().iter().map(move |value| (attribute, value)))
        .collect()
}

fn same_echo((one, value): &Echo<'_>, (other, other_value): &Echo<'_>) -> bool {
    one.category() == other.category()
        && one.id == other.id
        && one.issuer == other.issuer
        && same_value(value, other_value)
}

fn echo_text((attribute, value): &Echo<'_>) -> String {
    format!("{} {} {:?} = {}", attribute.category(), attribute.id, attribute.issuer, value_text(value))
}

fn policy_text(policy: &PolicyIdentifier) -> String {
    let kind = match policy.kind {
        PolicyKind::Policy => "policy",
        PolicyKind::PolicySet => "policy set",
    };
    format!("{kind} {} {}", policy.id, policy.version.as_deref().unwrap_or("without version"))
}

/// Equal by the standard's function, or of the same data type and written the same: `NaN` is what was expected.
fn same_value(one: &Value, other: &Value) -> bool {
    if let (Value::XPathExpression(one), Value::XPathExpression(other)) = (one, other) {
        // Both forms carry all namespaces in scope, used or not.
        return (&one.path, &one.category) == (&other.path, &other.category);
    }
    one.equals(other) || value_text(one) == value_text(other)
}

fn value_text(value: &Value) -> String {
    format!("{} `{}`", data_type_uri(value), value.canonical().lexical())
}

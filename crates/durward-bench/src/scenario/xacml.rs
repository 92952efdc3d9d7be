//! Policies and requests of XACML 3.0 that say the same as those of SAPL.
//!
//! One policy set holds all policies, up to [`POLICIES_A_DOCUMENT`] of them; above that, a set refers to several. A deny
//! counts more than a permit. Where SAPL's `pdp.json` makes a deny of no answer, that set is followed by a policy that
//! always denies, and the first of the two that applies counts: errors stay errors in both languages.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use super::rules::{RuleAttribute, RuleCategory, RuleDocument, RuleEffect, RuleTest, ScenarioRule};
use super::{GroupMembership, NoAnswerDecision};

/// How many policies stand in one document: less than a tenth of what durward reads as one by default.
const POLICIES_A_DOCUMENT: usize = 10_000;

const POLICY_SCHEMA: &str = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
const DENY_OVERRIDES: &str = "urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:deny-overrides";
const FIRST_APPLICABLE: &str = "urn:oasis:names:tc:xacml:1.0:policy-combining-algorithm:first-applicable";
const FIRST_RULE: &str = "urn:oasis:names:tc:xacml:1.0:rule-combining-algorithm:first-applicable";
const STRING: &str = "http://www.w3.org/2001/XMLSchema#string";
const INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";
const FUNCTION: &str = "urn:oasis:names:tc:xacml:1.0:function:";
const STARTS_WITH: &str = "urn:oasis:names:tc:xacml:3.0:function:string-starts-with";
/// Everything that a subject belongs to, which SAPL's policies find by a graph.
const MEMBER_OF: &str = "memberOf";

/// The documents that say the same as these, in the order of their numbers.
pub(super) fn documents(
    name: &str,
    mut all: impl Iterator<Item = RuleDocument>,
    default: NoAnswerDecision,
) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    loop {
        let mut policies = String::new();
        all.by_ref().take(POLICIES_A_DOCUMENT).for_each(|document| write_document(&mut policies, &document));
        if policies.is_empty() {
            break;
        }
        parts.push(set(&format!("{name}-part-{}", parts.len() + 1), DENY_OVERRIDES, &policies));
    }
    let (all, parts) = match parts.len() {
        1 => (parts.concat(), Vec::new()),
        several => {
            let reference =
                |number| format!("<PolicySetIdReference>{name}-part-{number}</PolicySetIdReference>\n");
            let references: String = (1..=several).map(reference).collect();
            (set(&format!("{name}-all"), DENY_OVERRIDES, &references), parts)
        }
    };
    let root = match default {
        NoAnswerDecision::Abstain => all,
        NoAnswerDecision::Deny => {
            let otherwise =
                ScenarioRule { name: "otherwise".into(), effect: RuleEffect::Deny, tests: vec![], log: None };
            let mut policies = all;
            write_document(&mut policies, &RuleDocument::Policy(otherwise));
            set(name, FIRST_APPLICABLE, &policies)
        }
    };
    std::iter::once(&root).chain(&parts).map(|set| document(set)).collect()
}

fn document(set: &str) -> String {
    let set = set.replacen("<PolicySet ", &format!("<PolicySet xmlns=\"{POLICY_SCHEMA}\" "), 1);
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{set}")
}

fn set(name: &str, algorithm: &str, policies: &str) -> String {
    format!(
        "<PolicySet PolicySetId=\"{name}\" Version=\"1.0\" PolicyCombiningAlgId=\"{algorithm}\"><Target/>\n\
         {policies}</PolicySet>\n"
    )
}

fn write_document(text: &mut String, document: &RuleDocument) {
    // Writing to a string cannot fail.
    let _ = match document {
        RuleDocument::Policy(rule) => {
            let name = &rule.name;
            let _ = write!(
                text,
                "<Policy PolicyId=\"{name}\" Version=\"1.0\" RuleCombiningAlgId=\"{FIRST_RULE}\">"
            );
            write_target(text, &rule.tests);
            let one = ScenarioRule { tests: conditions(&rule.tests), ..rule.clone() };
            write_rule(text, &one);
            writeln!(text, "</Policy>")
        }
        RuleDocument::Set { name, target, rules } => {
            let _ = write!(
                text,
                "<Policy PolicyId=\"{name}\" Version=\"1.0\" RuleCombiningAlgId=\"{FIRST_RULE}\">"
            );
            write_target(text, std::slice::from_ref(target));
            rules.iter().for_each(|rule| write_rule(text, rule));
            writeln!(text, "</Policy>")
        }
    };
}

/// Those tests that a target cannot say.
fn conditions(tests: &[RuleTest]) -> Vec<RuleTest> {
    tests
        .iter()
        .filter(|test| matches!(test, RuleTest::AtLeast(..) | RuleTest::IsAbove(..)))
        .cloned()
        .collect()
}

fn write_rule(text: &mut String, rule: &ScenarioRule) {
    let effect = match rule.effect {
        RuleEffect::Permit => "Permit",
        RuleEffect::Deny => "Deny",
    };
    let _ = write!(text, "<Rule RuleId=\"{}\" Effect=\"{effect}\">", rule.name);
    write_target(text, &rule.tests);
    let conditions: Vec<String> = rule.tests.iter().filter_map(condition).collect();
    let _ = match conditions.as_slice() {
        [] => Ok(()),
        [only] => write!(text, "<Condition>{only}</Condition>"),
        several => write!(text, "<Condition>{}</Condition>", apply("and", &several.concat())),
    };
    if let Some(policy) = &rule.log {
        let value = value(STRING, policy);
        let _ = write!(
            text,
            "<ObligationExpressions><ObligationExpression ObligationId=\"log\" FulfillOn=\"Permit\">\
             <AttributeAssignmentExpression AttributeId=\"policy\">{value}</AttributeAssignmentExpression>\
             </ObligationExpression></ObligationExpressions>"
        );
    }
    text.push_str("</Rule>");
}

fn write_target(text: &mut String, tests: &[RuleTest]) {
    let mut any_of = String::new();
    for test in tests {
        let (attribute, values) = match test {
            RuleTest::IsOneOf(attribute, values) | RuleTest::HasOneOf(attribute, values) => {
                (attribute, values)
            }
            RuleTest::IsMemberOf(group) => {
                let member = RuleAttribute::of(RuleCategory::Subject, MEMBER_OF);
                any_of.push_str(&format!("<AnyOf>{}</AnyOf>", match_one(&member, group)));
                continue;
            }
            RuleTest::IsWithin(attribute, from, to) => {
                any_of.push_str(&format!("<AnyOf>{}</AnyOf>", match_range(attribute, *from, *to)));
                continue;
            }
            RuleTest::StartsWith(attribute, prefix) => {
                let matching = matching(STARTS_WITH, &value(STRING, prefix), &designator(attribute, STRING));
                any_of.push_str(&format!("<AnyOf><AllOf>{matching}</AllOf></AnyOf>"));
                continue;
            }
            RuleTest::AtLeast(..) | RuleTest::IsAbove(..) => continue,
        };
        let matches: String = values.iter().map(|value| match_one(attribute, value)).collect();
        any_of.push_str(&format!("<AnyOf>{matches}</AnyOf>"));
    }
    if any_of.is_empty() {
        text.push_str("<Target/>");
    } else {
        let _ = write!(text, "<Target>{any_of}</Target>");
    }
}

fn match_one(attribute: &RuleAttribute, text: &str) -> String {
    let function = format!("{FUNCTION}string-equal");
    format!("<AllOf>{}</AllOf>", matching(&function, &value(STRING, text), &designator(attribute, STRING)))
}

/// The literal comes first: it is at most the value, or greater.
fn match_range(attribute: &RuleAttribute, from: usize, to: usize) -> String {
    let bound = |function: &str, number: usize| {
        let function = format!("{FUNCTION}{function}");
        matching(&function, &value(INTEGER, &number.to_string()), &designator(attribute, INTEGER))
    };
    let (from, to) = (bound("integer-less-than-or-equal", from), bound("integer-greater-than", to));
    format!("<AllOf>{from}{to}</AllOf>")
}

fn matching(function: &str, value: &str, designator: &str) -> String {
    format!("<Match MatchId=\"{function}\">{value}{designator}</Match>")
}

fn condition(test: &RuleTest) -> Option<String> {
    let number = |attribute| apply("integer-one-and-only", &designator(attribute, INTEGER));
    match test {
        RuleTest::AtLeast(attribute, least) => {
            let least = value(INTEGER, &least.to_string());
            Some(apply("integer-greater-than-or-equal", &(number(attribute) + &least)))
        }
        RuleTest::IsAbove(attribute, other) => {
            Some(apply("integer-greater-than", &(number(attribute) + &number(other))))
        }
        RuleTest::IsOneOf(..)
        | RuleTest::HasOneOf(..)
        | RuleTest::IsWithin(..)
        | RuleTest::StartsWith(..)
        | RuleTest::IsMemberOf(_) => None,
    }
}

fn apply(function: &str, arguments: &str) -> String {
    format!("<Apply FunctionId=\"{FUNCTION}{function}\">{arguments}</Apply>")
}

fn value(data_type: &str, text: &str) -> String {
    format!("<AttributeValue DataType=\"{data_type}\">{text}</AttributeValue>")
}

fn designator(attribute: &RuleAttribute, data_type: &str) -> String {
    let (category, id) = (category_of(attribute.category), id_of(attribute.category, attribute.key));
    format!(
        "<AttributeDesignator Category=\"{category}\" AttributeId=\"{id}\" DataType=\"{data_type}\" \
         MustBePresent=\"false\"/>"
    )
}

fn category_of(category: RuleCategory) -> &'static str {
    match category {
        RuleCategory::Subject => "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject",
        RuleCategory::Resource => "urn:oasis:names:tc:xacml:3.0:attribute-category:resource",
        RuleCategory::Action => "urn:oasis:names:tc:xacml:3.0:attribute-category:action",
        RuleCategory::Environment => "urn:oasis:names:tc:xacml:3.0:attribute-category:environment",
    }
}

/// The identifier of an attribute: the standard's where it has one for this.
fn id_of(category: RuleCategory, key: &str) -> &str {
    match (category, key) {
        (RuleCategory::Subject, "" | "id") => "urn:oasis:names:tc:xacml:1.0:subject:subject-id",
        (RuleCategory::Resource, "" | "id") => "urn:oasis:names:tc:xacml:1.0:resource:resource-id",
        (RuleCategory::Action, "" | "id") => "urn:oasis:names:tc:xacml:1.0:action:action-id",
        (_, other) => other,
    }
}

/// A request in both of its forms.
#[derive(Clone, Debug, PartialEq)]
pub struct XacmlRequest {
    /// The text of an element `Request`.
    pub xml: String,
    /// An object with one member, `Request`, as the JSON profile has it.
    pub json: Json,
}

/// The request that asks what this subscription asks. Subjects are given what they belong to, where `membership` knows
/// it.
pub(super) fn request(subscription: &Json, membership: &GroupMembership) -> XacmlRequest {
    let mut categories = vec![
        ("subject", RuleCategory::Subject),
        ("resource", RuleCategory::Resource),
        ("action", RuleCategory::Action),
    ];
    if subscription.get("environment").is_some() {
        categories.push(("environment", RuleCategory::Environment));
    }
    let (mut elements, mut objects) = (String::new(), Vec::new());
    for (name, category) in categories {
        let mut attributes = attributes_of(subscription.get(name), category);
        if category == RuleCategory::Subject
            && let Some(groups) = subscription.pointer("/subject/id").and_then(|id| membership.groups(id))
        {
            attributes.push((MEMBER_OF.to_owned(), groups.into_iter().map(Json::from).collect()));
        }
        let uri = category_of(category);
        let _ = write!(elements, "<Attributes Category=\"{uri}\">");
        attributes.iter().for_each(|(id, values)| write_attribute(&mut elements, id, values));
        elements.push_str("</Attributes>");
        let attributes: Vec<Json> =
            attributes.iter().map(|(id, values)| json_attribute(id, values)).collect();
        objects.push(json!({ "CategoryId": uri, "Attribute": attributes }));
    }
    XacmlRequest {
        xml: format!(
            "<Request xmlns=\"{POLICY_SCHEMA}\" CombinedDecision=\"false\" ReturnPolicyIdList=\"false\">{elements}\
             </Request>"
        ),
        json: json!({ "Request": { "Category": objects } }),
    }
}

/// The attributes of one part of a subscription, each with its values.
fn attributes_of(part: Option<&Json>, category: RuleCategory) -> Vec<(String, Vec<Json>)> {
    let values = |value: &Json| match value {
        Json::Array(several) => several.clone(),
        one @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => {
            vec![one.clone()]
        }
    };
    match part {
        None => Vec::new(),
        Some(Json::Object(members)) => {
            members.iter().map(|(key, value)| (id_of(category, key).to_owned(), values(value))).collect()
        }
        Some(value) => vec![(id_of(category, "").to_owned(), values(value))],
    }
}

fn write_attribute(text: &mut String, id: &str, values: &[Json]) {
    let _ = write!(text, "<Attribute AttributeId=\"{id}\" IncludeInResult=\"false\">");
    for one in values {
        match one.as_str() {
            Some(string) => text.push_str(&value(STRING, string)),
            None => text.push_str(&value(INTEGER, &one.to_string())),
        }
    }
    text.push_str("</Attribute>");
}

fn json_attribute(id: &str, values: &[Json]) -> Json {
    let data_type = if values.iter().all(Json::is_string) { "string" } else { "integer" };
    let value = match values {
        [only] => only.clone(),
        several => json!(several),
    };
    json!({ "AttributeId": id, "DataType": data_type, "Value": value })
}

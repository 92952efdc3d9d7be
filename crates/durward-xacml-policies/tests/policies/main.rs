//! Policy text to tree: real policies are read, bad ones are refused with the right words, hostile ones quickly.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test says what it expects, and fails where it is not so"
)]

mod encodings;
mod hostile;
mod kept;
mod real;
mod refused;

use durward_xacml_policies::policy::{Limits, read_policy};
use durward_xacml_policies::tree::{Document, Policy, PolicyOrSet};

const V3: &str = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17";
const V2: &str = "urn:oasis:names:tc:xacml:2.0:policy:schema:os";
const V1: &str = "urn:oasis:names:tc:xacml:1.0:policy";

fn read(text: &str) -> Result<Document, Vec<String>> {
    read_bytes(text.as_bytes(), &Limits::default())
}

fn read_bytes(text: &[u8], limits: &Limits) -> Result<Document, Vec<String>> {
    let problems = |found: Vec<_>| found.iter().map(ToString::to_string).collect();
    read_policy("p.xml", text, limits).map_err(problems)
}

fn policy_of(document: &Document) -> &Policy {
    let PolicyOrSet::Policy(policy) = &document.root else { panic!("not a policy") };
    policy
}

/// A 3.0 policy whose content after the start tag (line 1) is given.
fn policy_3(content: &str) -> String {
    format!("<Policy xmlns='{V3}' PolicyId='p' Version='1.0' RuleCombiningAlgId='a'>{content}</Policy>")
}

fn policy_2(content: &str) -> String {
    format!("<Policy xmlns='{V2}' PolicyId='p' RuleCombiningAlgId='a'>{content}</Policy>")
}

fn condition_3(content: &str) -> String {
    let rule = format!("<Rule RuleId='r' Effect='Deny'><Condition>{content}</Condition></Rule>");
    policy_3(&format!("<Target/>{rule}"))
}

//! Checking policies beyond what they need to be put in force: rules never reached, variables never used, documents
//! never asked, and what people find surprising.
//!
//! A finding is only made where it holds for every request there can be. So a target that asks `role = a` and
//! `role = b` is no contradiction (attributes are bags, and a subject may have both roles); it is reported as what
//! it certainly is, a target that needs both values at once.

mod clauses;
mod documents;
mod expression;
mod finding;
mod names;
mod reach;
mod target;
mod variables;

use std::collections::{HashMap, HashSet};

use crate::tree::{Document, Policy, PolicyOrSet, PolicySet, PolicySetChild};
use documents::Library;
use finding::Findings;

pub use finding::{Finding, Severity};

/// What the check is told besides the documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings<'s> {
    /// The policy to start from; `None`: every document that no other document refers to.
    pub root: Option<&'s str>,
    /// Whether documents are missing because they could not be read: then references and unused documents are not
    /// judged.
    pub is_incomplete: bool,
}

/// Checks documents that were read without errors. What lowering refuses is not repeated here, except unknown
/// functions and data types, missing references and duplicate identifiers, which are said with more help; see
/// [`merge`].
///
/// The findings are in the order of the documents, and within one in its order.
///
/// ```
/// use durward_xacml_policies::check::{Settings, check};
/// use durward_xacml_policies::policy::{Limits, read_policy};
///
/// let text = br#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
///   RuleCombiningAlgId="urn:oasis:names:tc:xacml:1.0:rule-combining-algorithm:first-applicable">
///   <Target/>
///   <Rule RuleId="all" Effect="Permit"/>
///   <Rule RuleId="none" Effect="Deny"/>
/// </Policy>"#;
/// let document = read_policy("p.xml", text, &Limits::default()).unwrap();
/// let findings = check(&[document], &Settings::default());
/// assert_eq!(
///     findings[0].to_string(),
///     "p.xml:5:3: warning: rule `none` is never reached: rule `all` (line 4) before it always applies, and the \
///      first answer counts [unreachable-rule]"
/// );
/// ```
pub fn check(documents: &[Document], settings: &Settings<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for document in documents {
        let mut here = Findings::of(document);
        match &document.root {
            PolicyOrSet::Policy(policy) => check_policy(policy, &mut here),
            PolicyOrSet::PolicySet(set) => check_set(set, &mut here),
        }
        findings.extend(here.into_list());
    }
    let library = Library::of(documents);
    findings.extend(library.duplicates());
    if !settings.is_incomplete {
        findings.extend(library.missing_references());
        findings.extend(library.use_of_documents(settings.root));
    }
    sort(&mut findings, documents);
    findings
}

/// Adds the errors of reading and lowering to the findings of a check. Where both speak about one place, the
/// check's error is kept.
pub fn merge(mut findings: Vec<Finding>, errors: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
    let place = |it: &Finding| (it.source.clone(), it.line, it.column);
    let known: HashSet<_> =
        findings.iter().filter(|it| it.severity == Severity::Error && it.line > 0).map(place).collect();
    let is_known = |error: &Finding| known.contains(&place(error));
    findings.extend(errors.into_iter().filter(|error| !is_known(error)));
    findings.sort_by(|one, other| {
        (&one.source, one.line, one.column).cmp(&(&other.source, other.line, other.column))
    });
    findings
}

fn sort(findings: &mut [Finding], documents: &[Document]) {
    let order: HashMap<&str, usize> =
        documents.iter().enumerate().map(|(number, document)| (document.source.as_str(), number)).collect();
    findings
        .sort_by_key(|finding| (order.get(finding.source.as_str()).copied(), finding.line, finding.column));
}

fn check_set(set: &PolicySet, findings: &mut Findings) {
    names::algorithm(&set.combining_algorithm, "policy", set.place, findings);
    names::target(&set.target, findings);
    target::target(&set.target, findings);
    reach::children(set, findings);
    if set.children.is_empty() {
        let message = format!("policy set `{}` holds no policies", set.id);
        findings.warn("empty-policy", set.place, message, "add policies or references to some");
    }
    for assignment in set.obligations.iter().chain(&set.advice).flat_map(|notice| &notice.assignments) {
        expression::expression(&assignment.expression, findings);
    }
    for child in &set.children {
        match child {
            PolicySetChild::Policy(policy) => check_policy(policy, findings),
            PolicySetChild::PolicySet(inner) => check_set(inner, findings),
            PolicySetChild::PolicyReference(_) | PolicySetChild::PolicySetReference(_) => {}
        }
    }
}

fn check_policy(policy: &Policy, findings: &mut Findings) {
    names::policy(policy, findings);
    target::target(&policy.target, findings);
    policy.rules.iter().filter_map(|rule| rule.target.as_ref()).for_each(|it| target::target(it, findings));
    reach::rules(policy, findings);
    variables::variables(policy, findings);
    expression::of_policy(policy).for_each(|it| expression::expression(it, findings));
    duplicate_rules(policy, findings);
    if policy.rules.is_empty() {
        let message = format!("policy `{}` has no rules", policy.id);
        findings.warn("empty-policy", policy.place, message, "add a rule");
    }
}

/// The standard asks for no uniqueness, but messages and combiner parameters name rules by their identifiers.
fn duplicate_rules(policy: &Policy, findings: &mut Findings) {
    let mut seen = HashMap::new();
    for rule in &policy.rules {
        if let Some(line) = seen.insert(rule.id.as_str(), rule.place.line) {
            let message = format!("rule `{}` has the identifier of the rule in line {line}", rule.id);
            findings.warn(
                "duplicate-rule-id",
                rule.place,
                message,
                "give each rule of a policy its own identifier",
            );
        }
    }
}

#[cfg(test)]
mod tests;

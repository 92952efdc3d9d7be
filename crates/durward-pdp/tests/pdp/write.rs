//! Short ways to write policies, so that a test shows what it is about and nothing else.

use durward_pdp::{Pdp, Request, ResultOf};

pub(crate) const STRING: &str = "http://www.w3.org/2001/XMLSchema#string";
pub(crate) const INTEGER: &str = "http://www.w3.org/2001/XMLSchema#integer";
pub(crate) const SUBJECT: &str = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject";

/// A policy of these rules. `algorithm` is the end of its identifier, such as `3.0:...:deny-overrides` without what
/// comes between.
pub(crate) fn policy(id: &str, algorithm: &str, target: &str, rules: &str) -> String {
    let (version, name) = algorithm.split_once(' ').unwrap();
    format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="{id}" Version="1.0"
             RuleCombiningAlgId="urn:oasis:names:tc:xacml:{version}:rule-combining-algorithm:{name}">
             <Target>{target}</Target>{rules}</Policy>"#
    )
}

/// A policy set of these children.
pub(crate) fn policy_set(id: &str, algorithm: &str, target: &str, children: &str) -> String {
    let (version, name) = algorithm.split_once(' ').unwrap();
    format!(
        r#"<PolicySet xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicySetId="{id}" Version="1.0"
             PolicyCombiningAlgId="urn:oasis:names:tc:xacml:{version}:policy-combining-algorithm:{name}">
             <Target>{target}</Target>{children}</PolicySet>"#
    )
}

/// A rule; `inside` is its target, condition and duties.
pub(crate) fn rule(effect: &str, inside: &str) -> String {
    format!(r#"<Rule RuleId="r" Effect="{effect}">{inside}</Rule>"#)
}

/// A target: the subject's attribute `id` is `value`.
pub(crate) fn is(id: &str, value: &str) -> String {
    matching(id, value, "false")
}

/// The same, and an error where the attribute is missing.
pub(crate) fn must_be(id: &str, value: &str) -> String {
    matching(id, value, "true")
}

fn matching(id: &str, value: &str, must: &str) -> String {
    let designator = designator(id, STRING, must);
    format!(
        r#"<AnyOf><AllOf><Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
             <AttributeValue DataType="{STRING}">{value}</AttributeValue>{designator}</Match></AllOf></AnyOf>"#
    )
}

/// The bag of an attribute of the subject.
pub(crate) fn designator(id: &str, data_type: &str, must: &str) -> String {
    format!(
        r#"<AttributeDesignator Category="{SUBJECT}" AttributeId="{id}" DataType="{data_type}" MustBePresent="{must}"/>"#
    )
}

/// A call; `function` is the end of the identifier with its version: `1.0 integer-add`.
pub(crate) fn apply(function: &str, arguments: &str) -> String {
    let (version, name) = function.split_once(' ').unwrap();
    format!(r#"<Apply FunctionId="urn:oasis:names:tc:xacml:{version}:function:{name}">{arguments}</Apply>"#)
}

pub(crate) fn integer(value: i64) -> String {
    format!(r#"<AttributeValue DataType="{INTEGER}">{value}</AttributeValue>"#)
}

pub(crate) fn text(value: &str) -> String {
    format!(r#"<AttributeValue DataType="{STRING}">{value}</AttributeValue>"#)
}

pub(crate) fn target(inside: &str) -> String {
    format!("<Target>{inside}</Target>")
}

pub(crate) fn condition(inside: &str) -> String {
    format!("<Condition>{inside}</Condition>")
}

/// A boolean that fails whenever it is evaluated: 1 / 0 = 1.
pub(crate) fn failing() -> String {
    let division =
        apply("1.0 integer-divide", &(integer(1) + &apply("1.0 integer-subtract", &(number() + &number()))));
    apply("1.0 integer-equal", &(division + &integer(1)))
}

/// The one value of the integer attribute `n`; not a constant, so that nothing is folded.
pub(crate) fn number() -> String {
    apply("1.0 integer-one-and-only", &designator("n", INTEGER, "false"))
}

pub(crate) fn pdp(policies: &[String]) -> Pdp {
    try_pdp(policies).unwrap_or_else(|errors| panic!("{}", errors.join("\n")))
}

/// The decision point, or what is wrong with the policies.
pub(crate) fn try_pdp(policies: &[String]) -> Result<Pdp, Vec<String>> {
    let mut builder = Pdp::builder();
    for (number, policy) in policies.iter().enumerate() {
        builder = builder.policy(&format!("{number}.xml"), policy.as_str());
    }
    builder.build().map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

/// The one result, checked to agree with what the explanation says at its top.
pub(crate) fn decide(pdp: &Pdp, request: &Request) -> ResultOf {
    let mut response = pdp.decide(request);
    assert_eq!(response.results.len(), 1);
    let result = response.results.remove(0);
    let explained = &pdp.explain(request).results[0].outcome;
    assert!(explained.starts_with(result.decision.as_str()), "{explained} is not {:?}", result.decision);
    result
}

/// What the only root element says, with the extended Indeterminate that responses do not show.
pub(crate) fn outcome(policies: &[String], request: &Request) -> String {
    let pdp = pdp(policies);
    let explanation = pdp.explain(request);
    explanation.results[0].children[0].outcome.clone()
}

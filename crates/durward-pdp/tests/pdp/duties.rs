//! Obligations and advice: XACML 3.0, section 7.18.

use durward_pdp::xacml::request::Version;
use durward_pdp::{Decision, Request, ResultOf};

use crate::write::{
    INTEGER, STRING, SUBJECT, decide, designator, failing, is, pdp, policy, policy_set, rule, target, text,
};

fn obligation(id: &str, on: &str, value: &str) -> String {
    format!(
        r#"<ObligationExpressions><ObligationExpression ObligationId="{id}" FulfillOn="{on}">
             <AttributeAssignmentExpression AttributeId="a">{value}</AttributeAssignmentExpression>
           </ObligationExpression></ObligationExpressions>"#
    )
}

fn advice(id: &str, on: &str, value: &str) -> String {
    obligation(id, on, value).replace("Obligation", "Advice").replace("FulfillOn", "AppliesTo")
}

fn ids(result: &ResultOf) -> Vec<&str> {
    result.obligations.iter().map(|duty| duty.id.as_str()).collect()
}

fn doctor() -> Request {
    Request::builder().subject("role", "doctor").subject("n", 1).build()
}

#[test]
fn only_those_along_the_deciding_path_come_out_children_first() {
    let permitting = rule("Permit", &obligation("rule", "Permit", &text("x")));
    let denied = rule("Deny", &(target(&is("role", "nobody")) + &obligation("denied", "Deny", &text("x"))));
    let inner = policy(
        "p",
        "3.0 deny-overrides",
        "",
        &(permitting + &denied + &obligation("policy", "Permit", &text("x"))),
    );
    let outer =
        policy_set("s", "3.0 deny-overrides", "", &(inner + &obligation("set", "Permit", &text("x"))));
    let result = decide(&pdp(&[outer]), &doctor());
    assert_eq!(ids(&result), ["rule", "policy", "set"]);
}

#[test]
fn deny_overrides_drops_the_obligations_of_what_it_overrides() {
    let rules = rule("Permit", &obligation("permit", "Permit", &text("x")))
        + &rule("Deny", &obligation("deny", "Deny", &text("x")));
    let result = decide(&pdp(&[policy("p", "3.0 deny-overrides", "", &rules)]), &doctor());
    assert_eq!((result.decision, ids(&result)), (Decision::Deny, vec!["deny"]));
}

#[test]
fn every_permitting_rule_under_deny_overrides_has_its_say() {
    let rules = rule("Permit", &obligation("first", "Permit", &text("x")))
        + &rule("Permit", &obligation("second", "Permit", &text("x")));
    let result = decide(&pdp(&[policy("p", "3.0 deny-overrides", "", &rules)]), &doctor());
    assert_eq!(ids(&result), ["first", "second"]);
}

#[test]
fn an_error_counts_only_where_the_effect_is_the_decision() {
    for (on, decision) in [("Permit", Decision::Indeterminate), ("Deny", Decision::Permit)] {
        for duty in [obligation("o", on, &failing()), advice("a", on, &failing())] {
            for inside in [rule("Permit", &duty), rule("Permit", "") + &duty] {
                let policies = [policy("p", "3.0 deny-overrides", "", &inside)];
                assert_eq!(
                    decide(&pdp(&policies), &Request::builder().subject("n", 1).build()).decision,
                    decision
                );
            }
        }
    }
}

#[test]
fn a_bag_gives_an_assignment_for_each_value_and_an_empty_one_none() {
    let rules = rule("Permit", &obligation("o", "Permit", &designator("n", INTEGER, "false")));
    let pdp = pdp(&[policy("p", "3.0 deny-overrides", "", &rules)]);
    for count in [0, 1, 3] {
        let mut request = Request::builder();
        for value in 0..count {
            request = request.subject("n", value);
        }
        let result = decide(&pdp, &request.build());
        let values: Vec<String> =
            result.obligations[0].assignments.iter().map(|one| one.value.lexical().into_owned()).collect();
        assert_eq!(values, (0..count).map(|value| value.to_string()).collect::<Vec<_>>());
    }
}

#[test]
fn results_before_3_0_name_their_resources_where_there_are_several() {
    let resource = |id: &str| {
        format!(
            r#"<Resource><Attribute AttributeId="urn:oasis:names:tc:xacml:1.0:resource:resource-id" DataType="{STRING}">
                 <AttributeValue>{id}</AttributeValue></Attribute></Resource>"#
        )
    };
    let ask = |resources: &str| {
        let text = format!(
            r#"<Request xmlns="urn:oasis:names:tc:xacml:2.0:context:schema:os"><Subject/>{resources}<Action/>
                 <Environment/></Request>"#
        );
        let pdp = pdp(&[policy("p", "3.0 deny-overrides", "", &rule("Permit", ""))]);
        let results = pdp.decide(&Request::from_xml(text.as_bytes()).unwrap()).results;
        results.into_iter().map(|result| result.resource_id.map(String::from)).collect::<Vec<_>>()
    };
    assert_eq!(ask(&(resource("a") + &resource("b"))), [Some("a".to_owned()), Some("b".to_owned())]);
    assert_eq!(ask(&resource("a")), [None]);
}

#[test]
fn an_expression_in_an_obligation_declares_what_it_needs() {
    let path = format!(
        r#"<AttributeValue DataType="urn:oasis:names:tc:xacml:3.0:data-type:xpathExpression" XPathCategory="{SUBJECT}"
             xmlns:m="urn:m">//m:a</AttributeValue>"#
    );
    let obligation = format!(
        r#"<ObligationExpressions><ObligationExpression ObligationId="o" FulfillOn="Permit">
             <AttributeAssignmentExpression AttributeId="a">{path}</AttributeAssignmentExpression>
             </ObligationExpression></ObligationExpressions>"#
    );
    let pdp = pdp(&[policy("p", "3.0 deny-overrides", "", &rule("Permit", &obligation))]);
    let response = pdp.decide(&Request::builder().subject("a", "x").build());
    let xml = response.to_xml(Version::V3);
    assert!(xml.contains(r#"xmlns:m="urn:m""#) && !xml.contains("xmlns:xml"), "{xml}");
    let json = response.to_json();
    assert!(json.contains(r#""Namespaces":[{"Prefix":"m","Namespace":"urn:m"}]"#), "{json}");
}

//! Obligations and advice: XACML 3.0, section 7.18.

use durward_pdp::xacml::request::Version;
use durward_pdp::{Decision, Request, ResultOf};

use crate::write::{
    INTEGER, STRING, SUBJECT, condition, decide, designator, failing, is, pdp, policy, policy_set, rule,
    target, text,
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

/// Every algorithm that combines policies.
const ALGORITHMS: [&str; 13] = [
    "3.0 deny-overrides",
    "3.0 permit-overrides",
    "3.0 ordered-deny-overrides",
    "3.0 ordered-permit-overrides",
    "3.0 deny-unless-permit",
    "3.0 permit-unless-deny",
    "3.0 on-permit-apply-second",
    "1.0 first-applicable",
    "1.0 only-one-applicable",
    "1.0 deny-overrides",
    "1.0 permit-overrides",
    "1.1 ordered-deny-overrides",
    "1.1 ordered-permit-overrides",
];

/// Says something of its own with either effect.
fn child(position: usize, kind: &str) -> String {
    let rules = match kind {
        "silent" => String::new(),
        "failing Permit" => rule("Permit", &condition(&failing())),
        "failing Deny" => rule("Deny", &condition(&failing())),
        effect => rule(effect, ""),
    };
    let own = |on: &str| obligation(&format!("{position} {on}"), on, &text("x"));
    let notices = format!("{}{}", own("Permit"), own("Deny"));
    let obligations = notices.replace("</ObligationExpressions><ObligationExpressions>", "");
    let advice = obligations.replace("Obligation", "Advice").replace("FulfillOn", "AppliesTo");
    policy(&position.to_string(), "3.0 deny-overrides", "", &(rules + &obligations + &advice))
}

/// 7.18: what was evaluated and says what the set says passes on its duties, whatever the algorithm. Which policies were
/// evaluated is in the list of those that applied. `on-permit-apply-second` once dropped those of the first policy.
#[test]
fn every_evaluated_child_that_says_the_decision_has_its_say() {
    const KINDS: [&str; 5] = ["Permit", "Deny", "silent", "failing Permit", "failing Deny"];
    let mut request = doctor();
    request.return_policy_ids = true;
    let mut with_duties = 0;
    for algorithm in ALGORITHMS {
        for number in 0..KINDS.len().pow(3) {
            let kinds = [0, 1, 2].map(|place| KINDS[number / KINDS.len().pow(place) % KINDS.len()]);
            let children: String = (0..).zip(kinds).map(|(position, kind)| child(position, kind)).collect();
            let result = decide(&pdp(&[policy_set("s", algorithm, "", &children)]), &request);
            let decision = result.decision.as_str();
            let listed = result.policy_ids.as_ref().unwrap();
            let expected: Vec<String> = (0..3)
                .filter(|position| kinds[*position] == decision)
                .map(|position| position.to_string())
                .filter(|position| listed.iter().any(|policy| policy.id == *position))
                .map(|position| format!("{position} {decision}"))
                .collect();
            assert_eq!(ids(&result), expected, "{algorithm} {kinds:?}");
            let advice: Vec<&str> = result.advice.iter().map(|duty| duty.id.as_str()).collect();
            assert_eq!(advice, expected, "{algorithm} {kinds:?}");
            with_duties += usize::from(expected.len() > 1);
        }
    }
    assert!(with_duties > 50, "{with_duties}");
}

#[test]
fn on_permit_apply_second_passes_on_what_the_first_policy_says_with_the_same_decision() {
    for (kinds, expected) in [
        (vec!["Permit", "Permit"], vec!["0 Permit", "1 Permit"]),
        (vec!["Permit", "Deny"], vec!["1 Deny"]),
        (vec!["Permit", "silent"], vec![]),
        (vec!["Permit", "Permit", "Permit"], vec!["0 Permit", "1 Permit"]),
        (vec!["Deny", "Permit", "Deny"], vec!["0 Deny", "2 Deny"]),
        (vec!["Deny", "Permit", "Permit"], vec!["2 Permit"]),
        (vec!["Deny", "Permit"], vec![]),
    ] {
        let children: String = (0..).zip(&kinds).map(|(position, kind)| child(position, kind)).collect();
        let result = decide(&pdp(&[policy_set("s", "3.0 on-permit-apply-second", "", &children)]), &doctor());
        assert_eq!(ids(&result), expected, "{kinds:?}");
    }
}

//! Texts of XACML that are longer than a word of a row: equal ones are equal whichever came first, the policy or the request.

use durward_pdp::xacml::request::Limits;
use durward_pdp::{Decision, Pdp, PolicyText, Request, Value};

use crate::write::{STRING, designator, is, policy, rule, target};

const ANY_URI: &str = "http://www.w3.org/2001/XMLSchema#anyURI";

fn permit_if(role: &str) -> String {
    policy("p", "3.0 deny-overrides", "", &rule("Permit", &target(&is("role", role))))
}

fn pdp(text: String) -> Pdp {
    Pdp::builder().policy("p.xml", text).build().unwrap()
}

fn replace(pdp: &Pdp, text: String) {
    pdp.replace(&[PolicyText { name: "p.xml".into(), text: text.into() }]).unwrap();
}

/// As read, and from its text.
#[track_caller]
fn check(pdp: &Pdp, request: &Request, expected: Decision) {
    assert_eq!(pdp.decide(request).results[0].decision, expected);
    let text = request.to_xml();
    let (response, _) = pdp.decide_xml(text.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(response.results[0].decision, expected);
}

#[test]
fn a_text_is_found_whether_it_was_read_before_the_policy_or_after() {
    let pdp = pdp(permit_if("somebody of whom no other test speaks"));
    let request = |role: &str| Request::builder().subject("role", role).build();
    let early = request("a role that is known only later on");
    check(&pdp, &early, Decision::NotApplicable);
    replace(&pdp, permit_if("a role that is known only later on"));
    let late = request("a role that is known only later on");
    check(&pdp, &early, Decision::Permit);
    check(&pdp, &late, Decision::Permit);
    check(&pdp, &request("a role that is known only later on."), Decision::NotApplicable);
    check(&pdp, &request("somebody of whom no other test speaks"), Decision::NotApplicable);
    replace(&pdp, permit_if("somebody of whom no other test speaks"));
    check(&pdp, &early, Decision::NotApplicable);
    check(&pdp, &late, Decision::NotApplicable);
}

/// Only the text has a number: what it is of is in the row.
#[test]
fn the_same_text_of_another_data_type_is_another_value() {
    let of = |short: &str, data_type: &str| {
        let target = format!(
            r#"<Target><AnyOf><AllOf><Match MatchId="urn:oasis:names:tc:xacml:1.0:function:{short}-equal">
                 <AttributeValue DataType="{data_type}">urn:example:both-a-text-and-a-uri</AttributeValue>{}
               </Match></AllOf></AnyOf></Target>"#,
            designator("role", data_type, "false")
        );
        pdp(policy("p", "3.0 deny-overrides", "", &rule("Permit", &target)))
    };
    let (of_texts, of_uris) = (of("string", STRING), of("anyURI", ANY_URI));
    let text = Request::builder().subject("role", "urn:example:both-a-text-and-a-uri").build();
    let uri = Value::AnyUri("urn:example:both-a-text-and-a-uri".into());
    let uri = Request::builder().subject("role", uri).build();
    check(&of_texts, &text, Decision::Permit);
    check(&of_texts, &uri, Decision::NotApplicable);
    check(&of_uris, &uri, Decision::Permit);
    check(&of_uris, &text, Decision::NotApplicable);
}

#[test]
fn texts_that_are_too_long_for_a_number_are_compared() {
    let long = |last: &str| format!("{}{last}", "text ".repeat(200));
    let pdp = pdp(permit_if(&long("a")));
    check(&pdp, &Request::builder().subject("role", long("a")).build(), Decision::Permit);
    check(&pdp, &Request::builder().subject("role", long("b")).build(), Decision::NotApplicable);
}

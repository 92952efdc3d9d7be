//! Requests encoded ahead: the answer is that of the request as read, whatever happens in between.

use durward_pdp::{AttributeName, AttributeSource, Decision, Pdp, PolicyText, Request, SourceError, Value};

use crate::write::{is, policy, rule, target};

fn permit_if(role: &str) -> String {
    policy("p", "3.0 deny-overrides", "", &rule("Permit", &target(&is("role", role))))
}

fn pdp(text: String) -> Pdp {
    Pdp::builder().policy("p.xml", text).build().unwrap()
}

fn encoded(pdp: &Pdp, mut request: Request) -> Request {
    pdp.encode(&mut request);
    request
}

#[track_caller]
fn check(pdp: &Pdp, request: &Request, expected: Decision) {
    assert_eq!(pdp.decide(request).results[0].decision, expected);
}

#[test]
fn one_value_several_values_and_none_decide_as_without() {
    let pdp = pdp(permit_if("doctor"));
    check(&pdp, &encoded(&pdp, Request::builder().subject("role", "doctor").build()), Decision::Permit);
    let both = Request::builder().subject("role", "nurse").subject("role", "doctor").build();
    check(&pdp, &encoded(&pdp, both), Decision::Permit);
    let other = Request::builder().subject("role", 7).subject("ward", "doctor").build();
    check(&pdp, &encoded(&pdp, other), Decision::NotApplicable);
    check(&pdp, &encoded(&pdp, Request::builder().build()), Decision::NotApplicable);
}

#[test]
fn an_attribute_given_in_two_places_is_one_bag() {
    let pdp = pdp(permit_if("doctor"));
    let text = r#"{"Request": {"AccessSubject": {"Attribute": [
        {"AttributeId": "role", "Value": "nurse"}, {"AttributeId": "role", "Issuer": "me", "Value": "doctor"}]}}}"#;
    let request = Request::from_json(text.as_bytes()).unwrap();
    check(&pdp, &encoded(&pdp, request), Decision::Permit);
}

#[test]
fn what_is_added_after_encoding_counts() {
    let pdp = pdp(permit_if("doctor"));
    let mut request = encoded(&pdp, Request::builder().subject("ward", "3").build());
    request.categories.begin_attribute("role".into(), None, false);
    request.categories.push_value(Value::text("doctor"));
    check(&pdp, &request, Decision::Permit);
}

#[test]
fn other_policies_and_other_decision_points_do_not_believe_it() {
    let pdp = pdp(permit_if("doctor"));
    let request = encoded(&pdp, Request::builder().subject("role", "nurse").build());
    check(&pdp, &request, Decision::NotApplicable);
    check(&self::pdp(permit_if("nurse")), &request, Decision::Permit);
    pdp.replace(&[PolicyText { name: "p.xml".into(), text: permit_if("nurse").into() }]).unwrap();
    check(&pdp, &request, Decision::Permit);
}

struct Roles;

impl AttributeSource for Roles {
    fn provides(&self, name: &AttributeName) -> bool {
        name.id == "role"
    }

    fn values(&self, _: &AttributeName, _: &Request) -> Result<Vec<Value>, SourceError> {
        Ok(vec![Value::text("doctor")])
    }
}

#[test]
fn a_source_is_asked_for_what_was_not_there_to_encode() {
    let pdp = Pdp::builder().policy("p.xml", permit_if("doctor")).source(Roles).build().unwrap();
    check(&pdp, &encoded(&pdp, Request::builder().build()), Decision::Permit);
    check(&pdp, &encoded(&pdp, Request::builder().subject("role", "x").build()), Decision::NotApplicable);
}

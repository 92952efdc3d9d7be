//! Explanations say what is there where a policy asks for something that is missing.

use durward_pdp::sapl::Subscription;
use durward_pdp::{Pdp, Request};

use crate::write::{designator, is, policy, rule};

const RESOURCE: &str = "urn:oasis:names:tc:xacml:3.0:attribute-category:resource";

/// What an explanation says of a request that a policy about the subject's `role` does not apply to.
fn explained(request: Request) -> String {
    let text = policy(
        "p",
        "3.0 deny-overrides",
        "",
        &rule("Permit", &format!("<Target>{}</Target>", is("role", "doctor"))),
    );
    let pdp = Pdp::builder().policy("p.xml", text).build().map_err(|errors| errors[0].to_string()).unwrap();
    pdp.explain(&request).to_string()
}

#[test]
fn an_attribute_of_xacml_that_differs_in_one_thing_is_told() {
    let subject = |id: &str, value: &str| Request::builder().subject(id, value).build();
    let cases = [
        (
            Request::builder().subject("role", true).build(),
            "`role` is missing (`role` is there, as boolean, and string is asked for)",
        ),
        (subject("Role", "doctor"), "(`Role` is there: names are case sensitive)"),
        (subject("roles", "doctor"), "(`roles` is there)"),
        (subject("urn:example:role", "doctor"), "(`urn:example:role` is there)"),
        (
            Request::builder().resource("role", "doctor").build(),
            &format!("(`role` is there in the category `{RESOURCE}`)"),
        ),
    ];
    for (request, said) in cases {
        let explanation = explained(request);
        assert!(explanation.contains(said), "{said}\n{explanation}");
    }
    let explanation = explained(subject("name", "alice"));
    assert!(explanation.contains("`role` is missing, not `doctor`"), "{explanation}");
}

#[test]
fn an_attribute_of_another_issuer_is_told() {
    let asked = designator("role", crate::write::STRING, "false")
        .replace("MustBePresent", "Issuer=\"hr\" MustBePresent");
    let target = is("role", "doctor").replace(&designator("role", crate::write::STRING, "false"), &asked);
    let text = policy("p", "3.0 deny-overrides", "", &rule("Permit", &format!("<Target>{target}</Target>")));
    let pdp = Pdp::builder().policy("p.xml", text).build().map_err(|errors| errors[0].to_string()).unwrap();
    let explanation = pdp.explain(&Request::builder().subject("role", "doctor").build()).to_string();
    assert!(explanation.contains("(`role` is there, without an issuer, and not from `hr`)"), "{explanation}");
}

#[test]
fn a_key_of_a_subscription_that_is_written_otherwise_is_told() {
    let text = r#"policy "p" permit subject.role == "doctor"; subject.address.city == "Ulm";"#;
    let pdp = Pdp::builder().policy("p.sapl", text).explaining().build();
    let pdp = pdp.map_err(|errors| errors[0].to_string()).unwrap();
    for (subject, resource, said) in [
        (
            r#"{"Role": "doctor"}"#,
            "1",
            "`subject.role` is undefined (`Role` is there: names are case sensitive)",
        ),
        (r#"{"roles": ["doctor"]}"#, "1", "(`roles` is there)"),
        (r#""alice""#, "1", "(`subject` is a text)"),
        (r#"{"name": "alice"}"#, r#"{"role": "doctor"}"#, "(`resource.role` is there)"),
        (r#"{"name": "alice"}"#, "1", "`subject.role` is undefined, not"),
        (
            r#"{"role": "doctor", "address": {"City": "Ulm"}}"#,
            "1",
            "(`City` is there: names are case sensitive)",
        ),
        (r#"{"role": "doctor", "address": "Ulm"}"#, "1", "(`subject.address` is a text)"),
        (r#"{"role": "doctor"}"#, "1", "`subject.address.city` is undefined, not"),
    ] {
        let json = format!(r#"{{"subject": {subject}, "action": "read", "resource": {resource}}}"#);
        let subscription =
            Subscription::from_json(json.as_bytes()).map_err(|error| error.to_string()).unwrap();
        let explanation = pdp.explain_subscription(&subscription).to_string();
        assert!(explanation.contains(said), "{said}\n{explanation}");
    }
}

#[test]
fn all_enforced_schemas_that_do_not_hold_are_told_without_their_texts() {
    let text = r#"
subject enforced schema { "type": "object", "required": ["role"] }
subject enforced schema { "type": "number" }
action enforced schema { "enum": ["read", "write"] }
resource enforced schema { "type": "string" }
policy "p" permit subject.role == "doctor";"#;
    let pdp = Pdp::builder().policy("p.sapl", text).explaining().build();
    let pdp = pdp.map_err(|errors| errors[0].to_string()).unwrap();
    let asked = br#"{"subject": "ada", "action": "delete", "resource": "record 7"}"#;
    let subscription = Subscription::from_json(asked).map_err(|error| error.to_string()).unwrap();
    let explanation = pdp.explain_subscription(&subscription).to_string();
    let told: Vec<&str> =
        explanation.lines().map(str::trim).filter(|line| line.starts_with("false")).collect();
    assert_eq!(
        told,
        [
            "false: `subject enforced schema, any of 2`, `subject` is `\"ada\"` (p.sapl:2:1)",
            "false: `action enforced schema`, `action` is `\"delete\"` (p.sapl:4:1)",
        ],
        "{explanation}"
    );
}

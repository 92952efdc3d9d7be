//! What a gate decides itself: by the time, by what the token says, and never more than is clear.

use std::collections::BTreeMap;
use std::time::SystemTime;

use durward_opcua::permission::Permission;
use durward_opcua::token::{
    Grants, IssueRequest, LiveFacts, NodeTable, TableNode, Thumbprint, TokenVerifier, VerifiedToken,
};
use durward_session::identity::SystemEntropy;
use durward_session::identity::jwt::{Algorithm, SigningKey, SigningKeys};
use serde_json::json;

use super::super::decider::AnnouncedAttributes;
use super::*;

/// 2026-06-01, midnight in UTC.
const DAY_S: u32 = 1_780_272_000;

fn at(hours: u32, minutes: u32, seconds: u32) -> Moment {
    Moment::from_s(DAY_S + hours * 3_600 + minutes * 60 + seconds)
}

fn table() -> NodeTable {
    NodeTable::new(["Level", "Mode"].map(|name| TableNode::new("urn:plant", name).unwrap())).unwrap()
}

fn facts() -> LiveFacts {
    LiveFacts {
        kind: "user".to_owned(),
        attributes: BTreeMap::from([("shift".to_owned(), json!(["night"]))]),
        application_uri: "urn:plant:hmi".to_owned(),
        certificate_subject: "CN=hmi".to_owned(),
        security_mode: "SignAndEncrypt".to_owned(),
    }
}

fn token(facts: Option<&LiveFacts>) -> VerifiedToken {
    let (table, client, lifetime) =
        (table(), Thumbprint::of(b"a certificate"), Duration::from_secs(24 * 3_600));
    let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
    let keys = SigningKeys::new(lifetime).with(key, at(0, 0, 0), at(0, 0, 0)).unwrap();
    let mut grants = Grants::none(&table);
    Permission::ALL.into_iter().for_each(|permission| grants.set(0, permission, GrantVerdict::Ask));
    let issue = IssueRequest {
        issuer: "urn:plant:authority",
        subject: "anna",
        resource: "urn:plant:gate",
        lifetime,
        client,
        roles: &["operator"],
        session: None,
        policy: "1",
        grants: &grants,
        live: facts,
    };
    let token = issue.sign(&keys, at(0, 0, 0), &SystemEntropy).unwrap();
    let verifying = keys.verifying(at(0, 0, 0)).unwrap();
    let verifier = TokenVerifier::new(verifying, "urn:plant:authority", "urn:plant:gate", lifetime);
    verifier.verify(at(0, 0, 0), token.as_bytes(), client, &table).unwrap()
}

/// A decision point with this document; its clock is at noon, for requests of XACML.
fn live(name: &str, text: &str) -> PolicyLiveDecider {
    let noon = SystemTime::UNIX_EPOCH + Duration::from_millis(at(12, 0, 0).ms());
    let pdp =
        Pdp::builder().policy(name, text).source(AnnouncedAttributes).clock(move || noon).build().unwrap();
    let pdp = Arc::new(pdp);
    PolicyLiveDecider::new(Box::new(move || Some(Arc::clone(&pdp))), "urn:plant:gate")
}

fn sapl(body: &str) -> PolicyLiveDecider {
    live("p.sapl", &format!("policy \"p\"\n{body}"))
}

fn ask(live: &PolicyLiveDecider, token: &VerifiedToken, permission: Permission, now: Moment) -> bool {
    live.rule(&LiveQuestion { token, permission, table: &table(), row: 0, now }).is_granted()
}

fn reads(live: &PolicyLiveDecider) -> bool {
    ask(live, &token(Some(&facts())), Permission::Read, at(12, 0, 0))
}

#[test]
fn a_right_by_the_time_of_day_ends_in_its_moment() {
    let live = sapl("permit action == \"read\"; <time.localTimeIsBetween(\"06:00:00\", \"18:00:00\")>;");
    let token = token(Some(&facts()));
    let may = |permission, now| ask(&live, &token, permission, now);
    assert!(!may(Permission::Read, at(5, 59, 59)));
    assert!(may(Permission::Read, at(6, 0, 0)));
    assert!(!may(Permission::Write, at(6, 0, 0)));
    let late = Moment::from_ms(at(18, 0, 0).ms() - 300);
    assert!(may(Permission::Read, late));
    assert!(may(Permission::Read, Moment::from_ms(late.ms() + 100)), "remembered");
    assert!(!may(Permission::Read, Moment::from_ms(at(18, 0, 0).ms() + 1)), "remembered beyond its time");
}

#[test]
fn answers_are_remembered_for_a_second_and_no_longer() {
    let live = sapl("permit <time.now> != \"never\";");
    let token = token(Some(&facts()));
    let now = at(12, 0, 0);
    let asked = |ms: u64| {
        assert!(ask(&live, &token, Permission::Read, Moment::from_ms(ms)));
        (live.figures().granted.load(Ordering::Relaxed), live.figures().reused.load(Ordering::Relaxed))
    };
    assert_eq!(asked(now.ms()), (1, 0));
    assert_eq!(asked(now.ms() + 999), (1, 1));
    assert_eq!(asked(now.ms() + 1_000), (2, 1));
    // A clock that was set back.
    assert_eq!(asked(now.ms() - 5_000), (3, 1));
    // Another permission, and another token.
    assert!(ask(&live, &token, Permission::Write, now));
    assert!(reads(&live));
    assert_eq!(live.figures().granted.load(Ordering::Relaxed), 5);
}

#[test]
fn policies_see_what_the_authorization_service_saw() {
    for true_of_all in [
        "subject.name == \"anna\"",
        "subject.kind == \"user\"",
        "\"operator\" in subject.roles",
        "\"night\" in subject.attributes.shift",
        "subject.application.uri == \"urn:plant:hmi\"",
        "subject.application.certificateSubject == \"CN=hmi\"",
        "resource.server == \"urn:plant:gate\"",
        "resource.node == \"nsu=urn:plant;s=Level\"",
        "environment.securityMode == \"SignAndEncrypt\"",
    ] {
        assert!(reads(&sapl(&format!("permit {true_of_all}; <time.now> != \"never\";"))), "{true_of_all}");
        let denied = format!("deny {true_of_all};");
        assert!(!reads(&sapl(&denied)), "{true_of_all}");
    }
}

#[test]
fn what_is_unclear_is_refused() {
    for unclear in [
        // Nobody here has a source for it, whatever is made of what is not there.
        "permit <weather.sun> != \"shines\";",
        "permit !(<weather.sun> == \"shines\");",
        "permit <time.toggle(1000, 1000)> != \"x\";",
        // Nobody here could discharge it, or put it in the place of the value.
        "permit action == \"read\"; obligation { \"type\": \"log\" }",
        "permit action == \"read\"; transform { \"value\": 1 }",
        "suspend action == \"read\";",
        "permit action == 1 / 0;",
    ] {
        assert!(!reads(&sapl(unclear)), "{unclear}");
    }
    assert!(reads(&sapl("permit action == \"read\"; advice { \"type\": \"log\" }")));
    let none = PolicyLiveDecider::new(Box::new(|| None), "urn:plant:gate");
    assert!(!reads(&none), "no policies");
}

/// A token without facts would let `deny subject.attributes.blocked` pass.
#[test]
fn a_token_that_does_not_say_who_comes_is_refused() {
    let live = sapl("permit <time.now> != \"never\";");
    assert!(!ask(&live, &token(None), Permission::Read, at(12, 0, 0)));
    assert!(ask(&live, &token(Some(&facts())), Permission::Read, at(12, 0, 0)));
}

fn xacml(condition: &str) -> PolicyLiveDecider {
    let text = format!(
        r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1"
            RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides"><Target/>
            <Rule RuleId="r" Effect="Permit"><Condition>{condition}</Condition></Rule></Policy>"#
    );
    live("p.xml", &text)
}

fn function(name: &str, inner: &str) -> String {
    format!(r#"<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:{name}">{inner}</Apply>"#)
}

fn is(kind: &str, id: &str, value: &str) -> String {
    let data_type = format!("http://www.w3.org/2001/XMLSchema#{kind}");
    let inner = format!(
        r#"<AttributeValue DataType="{data_type}">{value}</AttributeValue>
           <AttributeDesignator Category="{ENVIRONMENT}" AttributeId="{id}" DataType="{data_type}" MustBePresent="false"/>"#
    );
    function(&format!("{kind}-is-in"), &inner)
}

#[test]
fn xacml_is_asked_with_the_time_and_refused_without_what_it_needs() {
    let [time, ..] = CURRENT;
    assert!(reads(&xacml(&is("time", time, "12:00:00Z"))));
    assert!(!reads(&xacml(&is("time", time, "12:00:01Z"))));
    // What is not there is no reason to permit.
    let lacking = is("string", "urn:plant:alarm", "on");
    assert!(!reads(&xacml(&lacking)));
    assert!(!reads(&xacml(&function("not", &lacking))));
}

mod network;

/// What a decision at the gate costs: `cargo test --profile optimised -p durward --bins -- --ignored --nocapture cost_of_a_decision`.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_decision() {
    let live = sapl(
        "permit action == \"read\"; \"operator\" in subject.roles; <time.localTimeIsBetween(\"06:00:00\", \"18:00:00\")>;",
    );
    let (token, table) = (token(Some(&facts())), table());
    let rounds = 20_000_u64;
    for (what, step_ms) in [("decided", 1_000), ("remembered", 0)] {
        let begun = std::time::Instant::now();
        for round in 0..rounds {
            let now = Moment::from_ms(at(6, 0, 0).ms() + round * step_ms);
            let question =
                LiveQuestion { token: &token, permission: Permission::Read, table: &table, row: 0, now };
            assert!(live.rule(&question).is_granted());
        }
        println!("{what}: {:.0} ns", begun.elapsed().as_nanos() as f64 / rounds as f64);
    }
}

//! What a change is, and what it leaves alone.

use durward_pdp::sapl::{Outcome, Subscription};
use durward_pdp::{Algorithm, Decision, IndexKind, Pdp, PdpBuilder, Request};

use super::{ALWAYS, builder, put, remove};
use crate::write::{is, policy, policy_set, rule};

fn reads(role: &str, effect: &str) -> String {
    format!("policy \"{role}s\" {effect} subject == \"{role}\";")
}

fn sapl(documents: &[(&str, String)]) -> Pdp {
    let mut builder = Pdp::builder().changing_within(ALWAYS).index(IndexKind::Diagram);
    for (name, text) in documents {
        builder = builder.policy(name, text.as_str());
    }
    builder.build().map_err(|errors| errors[0].to_string()).unwrap()
}

fn outcome(pdp: &Pdp, subject: &str) -> Outcome {
    let json = format!(r#"{{"subject":"{subject}","action":"read","resource":"x"}}"#);
    pdp.decide_once(&Subscription::from_json(json.as_bytes()).unwrap()).outcome
}

fn doctors_and_nurses() -> Pdp {
    sapl(&[("a.sapl", reads("doctor", "permit")), ("c.sapl", reads("nurse", "permit"))])
}

fn error(pdp: &Pdp, changes: &[durward_pdp::PolicyChange]) -> String {
    pdp.change(changes).unwrap_err()[0].to_string()
}

#[test]
fn what_is_changed_is_changed_and_nothing_else() {
    let pdp = doctors_and_nurses();
    let info = pdp.change(&[put("b.sapl", &reads("guest", "permit")), remove("c.sapl")]).unwrap();
    assert_eq!((info.id, info.documents, info.policies), (2, 2, 2));
    assert!(info.index.contains("since"), "{}", info.index);
    let outcomes = ["doctor", "guest", "nurse"].map(|who| outcome(&pdp, who));
    assert_eq!(outcomes, [Outcome::Permit, Outcome::Permit, Outcome::Deny]);
}

/// Of several changes of one document the last counts.
#[test]
fn what_comes_last_stands() {
    let pdp = doctors_and_nurses();
    pdp.change(&[put("b.sapl", &reads("guest", "permit")), remove("b.sapl")]).unwrap();
    assert_eq!(outcome(&pdp, "guest"), Outcome::Deny);
    pdp.change(&[remove("a.sapl"), put("a.sapl", &reads("guest", "permit"))]).unwrap();
    assert_eq!((outcome(&pdp, "guest"), outcome(&pdp, "doctor")), (Outcome::Permit, Outcome::Deny));
}

#[test]
fn a_broken_document_leaves_everything_as_it_is() {
    let pdp = doctors_and_nurses();
    let told = error(&pdp, &[remove("a.sapl"), put("b.sapl", "policy \"guests\"\n  permitted")]);
    assert!(told.starts_with("b.sapl:"), "{told}");
    let told = error(&pdp, &[put("b.sapl", "policy \"guests\" permit obligation 1 / 0")]);
    assert!(told.starts_with("b.sapl:1:"), "{told}");
    assert_eq!((outcome(&pdp, "doctor"), pdp.snapshot().id), (Outcome::Permit, 1));
    pdp.change(&[remove("a.sapl")]).unwrap();
    assert_eq!((outcome(&pdp, "doctor"), pdp.snapshot().id), (Outcome::Deny, 2));
}

#[test]
fn two_documents_never_have_one_name() {
    let pdp = doctors_and_nurses();
    let told = error(&pdp, &[put("b.sapl", &reads("nurse", "deny"))]);
    assert!(told.contains("another document has the name `nurses` already"), "{told}");
    // The name is free once the other one goes.
    pdp.change(&[put("b.sapl", &reads("nurse", "deny")), remove("c.sapl")]).unwrap();
    let told = error(&pdp, &[put("d.sapl", &reads("nurse", "deny"))]);
    assert!(told.contains("b.sapl"), "{told}");
}

#[test]
fn what_is_not_there_cannot_be_taken_away() {
    let told = error(&doctors_and_nurses(), &[remove("z.sapl")]);
    assert_eq!(told, "there is no document `z.sapl` to take away");
}

#[test]
fn a_decision_point_that_keeps_nothing_says_so() {
    let pdp = Pdp::builder().policy("a.sapl", reads("doctor", "permit")).build().unwrap();
    let told = error(&pdp, &[remove("a.sapl")]);
    assert!(told.contains("changing()"), "{told}");
}

/// The configuration says something about all documents.
#[test]
fn another_configuration_counts_for_all_documents() {
    let pdp = doctors_and_nurses();
    let abstain = r#"{"algorithm":{"votingMode":"PRIORITY_DENY","defaultDecision":"ABSTAIN","errorHandling":"ABSTAIN"}}"#;
    pdp.change(&[put("pdp.json", abstain)]).unwrap();
    assert_eq!(outcome(&pdp, "guest"), Outcome::NotApplicable);
    pdp.change(&[put("b.sapl", &reads("guest", "permit"))]).unwrap();
    assert_eq!(outcome(&pdp, "guest"), Outcome::Permit);
    pdp.change(&[remove("pdp.json")]).unwrap();
    assert_eq!((outcome(&pdp, "guest"), outcome(&pdp, "x")), (Outcome::Permit, Outcome::Deny));
}

/// A limit that the configuration sets holds for changes, too.
#[test]
fn no_more_documents_come_than_the_configuration_allows() {
    let few = r#"{"algorithm":{"votingMode":"UNIQUE","defaultDecision":"DENY","errorHandling":"ABSTAIN"},"compilerOptions":{"maxPolicyDocuments":2}}"#;
    let documents = [("a.sapl", reads("doctor", "permit")), ("pdp.json", few.into())];
    let pdp = sapl(&documents);
    let changed = pdp.change(&[put("b.sapl", &reads("nurse", "permit"))]).map(|info| info.documents);
    let more = pdp.change(&[put("c.sapl", &reads("guest", "permit"))]);
    // Whether the limit is read from there is for the language to say; both ways of building agree.
    let fresh = Pdp::builder().policies(
        [("a.sapl", "doctor"), ("b.sapl", "nurse"), ("c.sapl", "guest")]
            .map(|(name, who)| durward_pdp::PolicyText {
                name: name.into(),
                text: reads(who, "permit").into(),
            })
            .into_iter()
            .chain([durward_pdp::PolicyText { name: "pdp.json".into(), text: few.into() }])
            .collect(),
    );
    assert_eq!((changed.is_ok(), more.is_ok()), (true, fresh.build().is_ok()));
}

fn xacml(documents: &[(&str, String)], combining: Algorithm) -> Pdp {
    let mut builder = Pdp::builder().changing_within(ALWAYS).index(IndexKind::Diagram).combining(combining);
    for (name, text) in documents {
        builder = builder.policy(name, text.as_str());
    }
    builder.build().map_err(|errors| errors[0].to_string()).unwrap()
}

fn saying(id: &str, role: &str, effect: &str) -> String {
    policy(id, "1.0 first-applicable", &is("role", role), &rule(effect, ""))
}

fn decision(pdp: &Pdp, role: &str) -> Decision {
    pdp.decide(&Request::builder().subject("role", role).build()).results[0].decision
}

/// The order of the documents is that of their names, wherever a new one comes.
#[test]
fn a_new_document_stands_where_its_name_belongs() {
    let documents = [("b.xml", saying("b", "doctor", "Permit")), ("d.xml", saying("d", "doctor", "Deny"))];
    let pdp = xacml(&documents, Algorithm::FirstApplicable);
    pdp.change(&[put("c.xml", &saying("c", "doctor", "Deny"))]).unwrap();
    assert_eq!(decision(&pdp, "doctor"), Decision::Permit);
    pdp.change(&[remove("b.xml")]).unwrap();
    assert_eq!(decision(&pdp, "doctor"), Decision::Deny);
    pdp.change(&[put("a.xml", &saying("a", "doctor", "Permit"))]).unwrap();
    assert_eq!(decision(&pdp, "doctor"), Decision::Permit);
    pdp.change(&[remove("a.xml"), put("e.xml", &saying("e", "doctor", "Permit"))]).unwrap();
    assert_eq!(decision(&pdp, "doctor"), Decision::Deny);
}

/// Policies that depend on nothing vote before those that depend on the subscription, also where both come at once and stand
/// where the one kind ends and the other begins.
#[test]
fn constants_that_come_at_once_with_others_vote_first() {
    let nobody = ("c.sapl", "policy \"c\" permit subject == \"nobody\"; obligation \"c\"");
    let asked = ("a.sapl", "policy \"a\" permit subject == \"ada\"; obligation \"a\"");
    let constant = ("b.sapl", "policy \"b\" permit obligation \"b\"");
    let configuration = ("pdp.json", "{}");
    let of = |documents: &[(&str, &str)]| {
        let builder = builder(IndexKind::Auto, Algorithm::DenyOverrides).changing_within(ALWAYS);
        let add = |builder: PdpBuilder, (name, text): &(&str, &str)| builder.policy(name, *text);
        documents.iter().fold(builder, add).build().unwrap()
    };
    let ada = Subscription::from_json(br#"{"subject": "ada", "action": "read", "resource": 1}"#).unwrap();
    let pdp = of(&[configuration, nobody]);
    pdp.change(&[put(asked.0, asked.1), put(constant.0, constant.1)]).unwrap();
    let expected = of(&[asked, constant, nobody, configuration]).decide_once(&ada).to_json();
    assert_eq!(expected, r#"{"decision":"PERMIT","obligations":["b","a"]}"#);
    assert_eq!(pdp.decide_once(&ada).to_json(), expected);
}

/// What a reference leads to is a part of who refers to it, and no document to start from.
#[test]
fn references_follow_what_changes() {
    let reference = "<PolicyIdReference>inner</PolicyIdReference>";
    let outer = policy_set("outer", "3.0 deny-overrides", "", reference);
    let documents = [("inner.xml", saying("inner", "doctor", "Permit")), ("outer.xml", outer)];
    let pdp = xacml(&documents, Algorithm::DenyOverrides);
    assert_eq!(decision(&pdp, "doctor"), Decision::Permit);
    pdp.change(&[put("inner.xml", &saying("inner", "doctor", "Deny"))]).unwrap();
    assert_eq!(decision(&pdp, "doctor"), Decision::Deny);
    let told = error(&pdp, &[remove("inner.xml")]);
    assert!(told.starts_with("outer.xml:"), "{told}");
    pdp.change(&[put("other.xml", &saying("other", "nurse", "Permit"))]).unwrap();
    assert_eq!(decision(&pdp, "nurse"), Decision::Permit);
    let told = error(&pdp, &[put("again.xml", &saying("inner", "nurse", "Permit"))]);
    assert!(told.contains("already defined"), "{told}");
    pdp.change(&[remove("outer.xml")]).unwrap();
    assert_eq!(decision(&pdp, "doctor"), Decision::Deny);
}

/// A name and a value that no policy knew before are known afterwards, also to requests looked up ahead.
#[test]
fn new_attributes_and_values_are_found() {
    let pdp = xacml(&[("a.xml", saying("a", "doctor", "Deny"))], Algorithm::DenyOverrides);
    let mut request = Request::builder().subject("role", "janitor").subject("shift", "night").build();
    pdp.encode(&mut request);
    let decided = |request: &Request| pdp.decide(request).results[0].decision;
    assert_eq!(decided(&request), Decision::NotApplicable);
    let by_shift = policy(
        "s",
        "1.0 first-applicable",
        &(is("shift", "night") + &is("role", "janitor")),
        &rule("Permit", ""),
    );
    pdp.change(&[put("b.xml", &by_shift)]).unwrap();
    assert_eq!(decided(&request), Decision::Permit);
    pdp.encode(&mut request);
    assert_eq!(decided(&request), Decision::Permit);
}

/// Building everything anew beside changes loses none of them.
#[test]
fn changes_made_while_it_settles_stay() {
    let documents: Vec<(String, String)> =
        (0..400).map(|n| (format!("{n:03}.sapl"), reads(&format!("r{n}"), "permit"))).collect();
    let documents: Vec<(&str, String)> =
        documents.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
    let pdp = sapl(&documents);
    std::thread::scope(|scope| {
        scope.spawn(|| (0..5).for_each(|_| drop(pdp.settle().unwrap())));
        for n in 0..50 {
            pdp.change(&[remove(&format!("{n:03}.sapl"))]).unwrap();
            pdp.change(&[put(&format!("{n:03}-new.sapl"), &reads(&format!("new{n}"), "permit"))]).unwrap();
        }
    });
    for n in 0..50 {
        assert_eq!(outcome(&pdp, &format!("r{n}")), Outcome::Deny);
        assert_eq!(outcome(&pdp, &format!("new{n}")), Outcome::Permit);
    }
    assert_eq!(pdp.settle().unwrap().documents, 400);
    assert_eq!(outcome(&pdp, "new7"), Outcome::Permit);
    assert!(!pdp.snapshot().index.contains("since"));
}

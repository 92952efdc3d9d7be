//! Texts of XACML that are longer than a word of a row: equal ones are equal whichever came first, the policy or the request.

use std::sync::Barrier;
use std::thread;

use durward_pdp::xacml::request::Limits;
use durward_pdp::{Decision, IndexKind, Pdp, PolicyChange, PolicyText, Request, Value};

use crate::changes::ALWAYS;
use crate::write::{STRING, designator, is, policy, rule, target};

const ANY_URI: &str = "http://www.w3.org/2001/XMLSchema#anyURI";

fn permit_if(role: &str) -> String {
    rules(&[("Permit", role)])
}

/// A policy with an effect for each of these roles.
fn rules(effects: &[(&str, &str)]) -> String {
    let rules = effects.iter().map(|(effect, role)| rule(effect, &target(&is("role", role))));
    policy("p", "3.0 deny-overrides", "", &rules.collect::<String>())
}

fn of_role(role: &str) -> Request {
    Request::builder().subject("role", role).build()
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
    let early = of_role("a role that is known only later on");
    check(&pdp, &early, Decision::NotApplicable);
    replace(&pdp, permit_if("a role that is known only later on"));
    let late = of_role("a role that is known only later on");
    check(&pdp, &early, Decision::Permit);
    check(&pdp, &late, Decision::Permit);
    check(&pdp, &of_role("a role that is known only later on."), Decision::NotApplicable);
    check(&pdp, &of_role("somebody of whom no other test speaks"), Decision::NotApplicable);
    replace(&pdp, permit_if("somebody of whom no other test speaks"));
    check(&pdp, &early, Decision::NotApplicable);
    check(&pdp, &late, Decision::NotApplicable);
}

/// What a change brings stands behind the tables of the policies before it, which stay as they are.
#[test]
fn texts_that_come_with_a_change_are_found() {
    for index in IndexKind::ALL {
        let [first, second, new] =
            ["first", "second", "new"].map(|which| format!("the {which} role of a change, {index}"));
        let document = |id: &str, role: &str| {
            policy(id, "3.0 deny-overrides", "", &rule("Permit", &target(&is("role", role))))
        };
        let builder = Pdp::builder().index(index).changing_within(ALWAYS);
        let builder = builder.policy("a.xml", document("a", &first)).policy("b.xml", document("b", &second));
        let pdp = builder.build().unwrap();
        let early = of_role(&new);
        check(&pdp, &early, Decision::NotApplicable);
        let text = document("c", &new).into();
        pdp.change(&[PolicyChange::Put(PolicyText { name: "c.xml".into(), text })]).unwrap();
        assert_eq!(pdp.change_count(), 1);
        let both = [early, of_role(&new)];
        both.iter().for_each(|request| check(&pdp, request, Decision::Permit));
        check(&pdp, &of_role(&first), Decision::Permit);
        check(&pdp, &of_role(&format!("{new}.")), Decision::NotApplicable);
        pdp.settle().unwrap();
        both.iter().for_each(|request| check(&pdp, request, Decision::Permit));
        pdp.change(&[PolicyChange::Remove("c.xml".into())]).unwrap();
        both.iter().for_each(|request| check(&pdp, request, Decision::NotApplicable));
        check(&pdp, &of_role(&second), Decision::Permit);
    }
}

/// The number of a text is the process's; what it means is each decision point's own.
#[test]
fn decision_points_that_share_texts_decide_by_their_own_policies() {
    let [ours, theirs, shared] = ["ours", "theirs", "shared"].map(|whose| format!("a role that is {whose}"));
    let read = || [&ours, &theirs, &shared].map(|role| of_role(role));
    let early = read();
    let first = pdp(rules(&[("Permit", ours.as_str()), ("Deny", shared.as_str())]));
    let between = read();
    let second = pdp(rules(&[("Permit", shared.as_str()), ("Deny", theirs.as_str())]));
    let late = read();
    let all = [early, between, late];
    for [ours, theirs, shared] in &all {
        check(&first, ours, Decision::Permit);
        check(&first, theirs, Decision::NotApplicable);
        check(&first, shared, Decision::Deny);
    }
    // The texts stay when policies that had them go.
    drop(first);
    for [ours, theirs, shared] in &all {
        check(&second, ours, Decision::NotApplicable);
        check(&second, theirs, Decision::Deny);
        check(&second, shared, Decision::Permit);
    }
}

/// Threads that build decision points at the same time. In each round the policies of each have a text of their own, and one that all have.
const WRITERS: usize = 3;
const ROUNDS: usize = 40;

/// That of writer number `WRITERS` is what all have.
fn role_of_race(writer: usize, round: usize) -> String {
    format!("a role of writer {writer}, in round {round}")
}

/// While texts get their numbers, requests with these texts are read and decided: some read before that, some after.
#[test]
fn texts_get_numbers_while_others_are_read() {
    let known = "a role that is known before the race";
    let standing = pdp(permit_if(known));
    let start = &Barrier::new(WRITERS + 2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                start.wait();
                for round in 0..2 * ROUNDS {
                    check(&standing, &of_role(known), Decision::Permit);
                    for writer in 0..=WRITERS {
                        let request = of_role(&role_of_race(writer, round % ROUNDS));
                        check(&standing, &request, Decision::NotApplicable);
                    }
                }
            });
        }
        for writer in 0..WRITERS {
            scope.spawn(move || {
                start.wait();
                for round in 0..ROUNDS {
                    let [own, common] = [writer, WRITERS].map(|writer| role_of_race(writer, round));
                    let early = [&own, &common].map(|role| of_role(role));
                    let pdp = pdp(rules(&[("Permit", own.as_str()), ("Deny", common.as_str())]));
                    for [of_own, of_common] in [early, [&own, &common].map(|role| of_role(role))] {
                        check(&pdp, &of_own, Decision::Permit);
                        check(&pdp, &of_common, Decision::Deny);
                    }
                    let other = role_of_race((writer + 1) % WRITERS, round);
                    check(&pdp, &of_role(&other), Decision::NotApplicable);
                }
            });
        }
    });
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

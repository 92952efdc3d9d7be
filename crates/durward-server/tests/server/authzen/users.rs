//! Users of the built-in directory: subjects that are named by a token, who may assert others, and users that searches find.

use std::sync::Arc;

use serde_json::{Value, json};

use super::world::{entity, found, ok, only, post};
use crate::identity::{start, token};
use crate::oauth::world::{World, clients};
use crate::support::{Directory, TestServer};

const ANYBODY: &str = "subjects_asserted_by = 'danger-anybody'\n";

fn question(subject: Value) -> Value {
    json!({ "subject": subject, "action": { "name": "read" }, "resource": entity("records", "1") })
}

#[test]
fn a_subject_is_named_by_its_token_and_by_nothing_else() {
    for more in ["", ANYBODY] {
        let server = start(more);
        let anna = token(&server, "anna");
        let decision = |subject: Value| ok(&server, "evaluation", &question(subject))["decision"].clone();
        assert_eq!(decision(entity("session", &anna)), true);
        assert_eq!(decision(entity("session", &token(&server, "berta"))), false);
        assert_eq!(decision(entity("session", "bad")), false);
        for subject in [
            json!({ "type": "session", "id": anna, "properties": { "groups": ["staff"] } }),
            json!({ "type": "session", "id": "bad", "properties": { "groups": ["staff"], "realm": "/" } }),
        ] {
            let reply = post(&server, "evaluation", &question(subject));
            assert_eq!(reply.status, 400, "{}", reply.text());
            assert!(reply.text().contains("named by a token"), "{}", reply.text());
        }
    }
}

#[test]
fn nobody_asserts_who_it_is_unless_the_settings_let_them() {
    let staff = json!({ "type": "user", "id": "anna", "properties": { "groups": ["staff"], "realm": "/" } });
    let server = start("");
    let reply = post(&server, "evaluation", &question(staff.clone()));
    assert_eq!(reply.status, 403, "{}", reply.text());
    assert!(reply.text().contains("subjects_asserted_by"));
    let batch = json!({
        "action": { "name": "read" }, "resource": entity("records", "1"),
        "evaluations": [{ "subject": staff }, { "subject": entity("session", &token(&server, "anna")) }],
    });
    let answer = ok(&server, "evaluations", &batch);
    assert_eq!(answer["evaluations"][0]["context"]["error"]["status"], 403);
    assert_eq!(answer["evaluations"][1], json!({ "decision": true }));
    let server = start(ANYBODY);
    assert_eq!(ok(&server, "evaluation", &question(staff.clone()))["decision"], true);
    // A token among properties is one as well, and stands beside other things.
    let mut mixed = staff;
    mixed["properties"]["session"] = json!("bad");
    assert_eq!(post(&server, "evaluation", &question(mixed)).status, 400);
}

fn searching(more: &str) -> TestServer {
    start(&format!("{more}[authzen]\nusers_type = 'user'\ntypes_elsewhere = ['records']\n"))
}

fn readers(page: Value) -> Value {
    let mut body = question(json!({ "type": "user" }));
    body["page"] = page;
    body
}

#[test]
fn users_are_found_with_their_groups_and_evaluated_with_them() {
    let server = searching(ANYBODY);
    assert_eq!(found(&ok(&server, "search/subject", &readers(json!({})))), ["anna"]);
    for (user, expected) in [("anna", true), ("berta", false), ("nobody", false)] {
        assert_eq!(
            ok(&server, "evaluation", &question(entity("user", user)))["decision"],
            expected,
            "{user}"
        );
    }
    // Whoever may assert says more, and what is stored does not take it away.
    let said = json!({ "type": "user", "id": "berta", "properties": { "groups": ["staff"] } });
    assert_eq!(ok(&server, "evaluation", &question(said))["decision"], true);
    // Three users, one candidate a page.
    let server = searching(ANYBODY);
    let mut all = Vec::new();
    let mut page = json!({ "limit": 1 });
    loop {
        let answer = ok(&server, "search/subject", &readers(page));
        all.extend(found(&answer));
        match answer["page"]["next_token"].as_str() {
            None | Some("") => break,
            Some(token) => page = json!({ "token": token }),
        }
    }
    assert_eq!(all, ["anna"]);
}

#[test]
fn a_search_for_subjects_is_for_those_who_may_assert_them() {
    let server = searching("");
    let reply = post(&server, "search/subject", &readers(json!({})));
    assert_eq!(reply.status, 403, "{}", reply.text());
}

#[test]
fn policies_of_xacml_see_the_session_and_not_what_is_asserted() {
    let directory = Directory::new();
    directory.write("policies/anna.xml", &only("anna"));
    let settings = "[policies]\ncombining = 'permit-overrides'\n";
    let world = World::start(directory, settings, &clients(), Arc::default()).unwrap();
    let anna = world.login("/", "anna");
    let decision = |subject: Value| ok(&world.server, "evaluation", &question(subject))["decision"].clone();
    assert_eq!(decision(entity("session", &anna)), true);
    assert_eq!(decision(entity("session", "bad")), false);
    assert_eq!(decision(entity("jwt", "a.b.c")), false);
    assert_eq!(post(&world.server, "evaluation", &question(entity("user", "anna"))).status, 403);
    let mixed = json!({ "type": "session", "id": anna, "properties": { "role": "doctor" } });
    assert_eq!(post(&world.server, "evaluation", &question(mixed)).status, 400);
    let jwt = world.exchanged(&anna);
    assert_eq!(decision(entity("jwt", &jwt)), false, "a token for another audience");
    world.logout(&anna);
    assert_eq!(decision(entity("session", &anna)), false);
}

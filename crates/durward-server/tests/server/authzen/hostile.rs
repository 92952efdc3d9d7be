//! What must not be let through: questions that two readers read differently, callers of other tenants, errors that look like permits.

use std::fs;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::world::{BOTH, Language, OPEN, about, entity, fixture, ok, post, post_text, sapl};
use crate::auth::SECRET;
use crate::support::{Directory, TestServer};

fn decision(server: &TestServer, body: &Value) -> bool {
    ok(server, "evaluation", body)["decision"].as_bool().unwrap()
}

#[test]
fn a_member_that_comes_twice_is_refused_wherever_it_stands() {
    for language in BOTH {
        let server = fixture(language, OPEN);
        let whole = about("alice", "read", "record-1").to_string();
        assert_eq!(post_text(&server, "evaluation", &whole, &[]).status, 200);
        for (from, to) in [
            ("\"subject\":", "\"subject\":{\"type\":\"user\",\"id\":\"eve\"},\"subject\":"),
            ("\"id\":\"alice\"", "\"id\":\"eve\",\"id\":\"alice\""),
            ("\"type\":\"user\"", "\"type\":\"x\",\"type\":\"user\""),
            ("\"name\":\"read\"", "\"name\":\"write\",\"name\":\"read\""),
            ("\"type\":\"user\"", "\"type\":\"user\",\"properties\":{\"r\":1,\"r\":2}"),
            ("\"type\":\"user\"", "\"type\":\"user\",\"unknown\":{\"r\":1,\"r\":2}"),
            ("\"type\":\"user\"", "\"type\":\"user\",\"\\u0074ype\":\"user\""),
            ("{\"subject\"", "{\"context\":{\"a\":1},\"context\":{},\"subject\""),
        ] {
            let text = whole.replacen(from, to, 1);
            assert_ne!(text, whole, "{from}");
            let reply = post_text(&server, "evaluation", &text, &[]);
            assert_eq!(reply.status, 400, "{text} {}", reply.text());
            assert!(reply.text().contains("is there twice"), "{text} {}", reply.text());
        }
    }
}

#[test]
fn wrong_types_and_forms_are_refused_with_a_message() {
    let server = fixture(Language::Sapl, OPEN);
    let batch = |more: Value| {
        let mut body = about("alice", "read", "record-1");
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (path, body, words) in [
        ("evaluation", json!(null), "must be an object"),
        ("evaluation", batch(json!({ "context": [] })), "`context` must be an object"),
        ("evaluations", batch(json!({ "evaluations": {} })), "`evaluations` must be an array"),
        ("evaluations", batch(json!({ "evaluations": ["x"] })), "each of `evaluations` must be an object"),
        ("evaluations", batch(json!({ "evaluations": [{}], "options": 7 })), "`options` must be an object"),
        (
            "evaluations",
            batch(json!({ "evaluations": [{}], "options": { "evaluations_semantic": null } })),
            "`options.evaluations_semantic` is",
        ),
        ("evaluations", json!({ "subject": "alice", "evaluations": [{}] }), "`subject` must be an object"),
        ("search/resource", batch(json!({ "page": 7 })), "`page` must be an object"),
        ("search/resource", batch(json!({ "page": { "limit": 0 } })), "`page.limit` must be a whole number"),
        (
            "search/resource",
            batch(json!({ "page": { "limit": 1.5 } })),
            "`page.limit` must be a whole number",
        ),
        ("search/resource", batch(json!({ "page": { "token": 7 } })), "`page.token` must be a string"),
        ("search/resource", batch(json!({ "page": { "token": "AAAA" } })), "`page.token` is none"),
        ("search/resource", batch(json!({ "page": { "token": "" } })), "`page.token` is none"),
    ] {
        let reply = post(&server, path, &body);
        assert_eq!(reply.status, 400, "{path} {body} {}", reply.text());
        assert!(reply.text().contains(words), "{body}: {}", reply.text());
        assert!(reply.header("content-type").starts_with("text/plain"));
    }
    for content_type in ["text/plain", "application/xml", "application/json; charset=utf-16", "json", ""] {
        let body = about("alice", "read", "record-1").to_string();
        let reply = post_text(&server, "evaluation", &body, &[("Content-Type", content_type)]);
        assert_eq!(reply.status, 400, "{content_type}");
    }
    let invalid = post_text(&server, "evaluation", "{\"subject\":{\"type\":\"\\ud800\"}}", &[]);
    assert_eq!(invalid.status, 400);
    let large = format!("{{\"x\":\"{}\"}}", "a".repeat(70_000));
    assert_eq!(post_text(&server, "evaluation", &large, &[]).status, 413);
    let deep = format!("{{\"context\":{{\"a\":{}{}}}}}", "[".repeat(600), "]".repeat(600));
    assert_eq!(post_text(&server, "evaluation", &deep, &[]).status, 400);
}

#[test]
fn what_is_wrong_with_one_evaluation_is_its_answer_alone() {
    let server = fixture(Language::Sapl, OPEN);
    let body = json!({
        "subject": entity("user", "alice"), "action": { "name": "read" },
        "evaluations": [
            { "resource": entity("record", "record-1") },
            {},
            { "resource": { "type": "record", "id": 7 } },
            { "resource": null },
            { "resource": { "type": "record" } },
            { "resource": entity("record", "record-2"), "context": "x" },
            { "resource": entity("record", "record-2") },
        ],
    });
    let answer = ok(&server, "evaluations", &body);
    let told = answer["evaluations"].as_array().unwrap();
    let decisions: Vec<_> = told.iter().map(|one| one["decision"].as_bool().unwrap()).collect();
    assert_eq!(decisions, [true, false, false, false, false, false, true]);
    for (number, words) in [
        (1, "`resource` is missing"),
        (2, "must be a string"),
        (3, "must be an object"),
        (4, "`resource.id`"),
    ] {
        let error = &told[number]["context"]["error"];
        assert_eq!(error["status"], 400, "{error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
    }
    for (semantic, expected) in [("deny_on_first_deny", 2), ("permit_on_first_permit", 1)] {
        let mut body = body.clone();
        body["options"] = json!({ "evaluations_semantic": semantic });
        assert_eq!(ok(&server, "evaluations", &body)["evaluations"].as_array().unwrap().len(), expected);
    }
}

#[test]
fn there_are_no_more_evaluations_than_may_be() {
    let server = fixture(Language::Sapl, &format!("{OPEN}authzen.evaluations_max = 2\n"));
    let mut body = about("alice", "read", "record-1");
    body["evaluations"] = json!([{}, {}]);
    assert_eq!(post(&server, "evaluations", &body).status, 200);
    body["evaluations"] = json!([{}, {}, {}]);
    assert_eq!(post(&server, "evaluations", &body).status, 413);
}

#[test]
fn an_error_is_no_permit_and_says_what_the_settings_let_it_say() {
    let failing = "policy \"fails\" permit 1 / subject.n == 1;";
    let body = json!({
        "subject": { "type": "user", "id": "a", "properties": { "n": 0 } }, "action": { "name": "r" }, "resource": entity("d", "1"),
    });
    let silent = sapl(failing, "");
    assert_eq!(post(&silent, "evaluation", &body).text(), r#"{"decision":false}"#);
    let telling = sapl(failing, "authzen.reasons = 'outcome'\n");
    let answer = ok(&telling, "evaluation", &body);
    assert_eq!(answer, json!({ "decision": false, "context": { "outcome": "INDETERMINATE" } }));
}

#[test]
fn credentials_name_the_tenant_and_a_path_must_name_the_same() {
    let directory = Directory::new();
    directory.write("policies/acme/p.sapl", "policy \"all\" permit");
    directory.write("policies/plant/p.sapl", "policy \"none\" deny");
    let user = |name: &str| {
        format!("[[auth.users]]\nid = '{name}'\ntenant = '{name}'\nname = '{name}'\npassword = '{SECRET}'\n")
    };
    let settings = format!(
        "policies.source = 'directories'\nauthzen.on = true\n{}",
        ["acme", "plant", "nobody"].map(user).concat()
    );
    let server = TestServer::start_in(directory, &settings).unwrap();
    let ask = |tenant: &str, path: &str| {
        let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{tenant}:secret")));
        let headers = [("Authorization", basic.as_str()), ("Content-Type", "application/json")];
        server.send("POST", path, &headers, about("a", "r", "1").to_string().as_bytes())
    };
    for path in ["/access/v1/evaluation", "/acme/access/v1/evaluation"] {
        assert_eq!(ask("acme", path).json()["decision"], true, "{path}");
    }
    assert_eq!(ask("plant", "/access/v1/evaluation").json()["decision"], false);
    assert_eq!(ask("nobody", "/access/v1/evaluation").json()["decision"], false, "a tenant without policies");
    for path in ["/acme/access/v1/evaluation", "/acme/access/v1/search/subject", "/x/access/v1/evaluations"] {
        assert_eq!(ask("plant", path).status, 403, "{path}");
    }
    assert_eq!(ask("plant", "/a/b/access/v1/evaluation").status, 404);
    let nobody =
        server.send("POST", "/acme/access/v1/evaluation", &[("Content-Type", "application/json")], b"{}");
    assert_eq!((nobody.status, nobody.all("www-authenticate").len()), (401, 1));
}

#[test]
fn each_decision_has_a_line_in_the_log_and_a_search_one_for_each_result() {
    for (language, surface) in [(Language::Sapl, "authzen"), (Language::Xacml, "authzen")] {
        let server = fixture(language, &format!("{OPEN}decision_log.to = 'file'\n"));
        assert!(decision(&server, &about("alice", "read", "record-1")));
        let search = json!({ "subject": { "type": "user" }, "action": { "name": "write" }, "resource": entity("record", "record-2") });
        assert_eq!(ok(&server, "search/subject", &search)["results"], json!([entity("user", "bob")]));
        let lines = || {
            let text = fs::read_to_string(server.directory.path("decisions.jsonl")).unwrap();
            text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
        };
        server.eventually("there are two lines", |_| lines().len() == 2);
        let routes: Vec<_> = lines().iter().map(|line| line["route"].as_str().unwrap().to_owned()).collect();
        assert_eq!(routes, ["evaluation", "search-subject"]);
        assert!(lines().iter().all(|line| line["surface"] == surface && line["decision"] == "Permit"));
    }
}

#[test]
fn a_question_is_answered_alike_by_its_bytes_and_by_its_values() {
    let policies =
        "policy \"p\" permit action == \"read\"; subject.role == \"chair\"; environment.ip == \"::1\";";
    let directly = sapl(policies, "");
    // A log wants the values.
    let by_values = sapl(policies, "decision_log.to = 'file'\n");
    for role in ["chair", "member"] {
        for ip in ["::1", "::2"] {
            let body = json!({
                "subject": { "type": "user", "id": "a", "properties": { "role": role } },
                "action": { "name": "read" }, "resource": entity("d", "1"), "context": { "ip": ip },
            });
            let expected = role == "chair" && ip == "::1";
            for server in [&directly, &by_values] {
                assert_eq!(decision(server, &body), expected, "{body}");
            }
        }
    }
    assert!(directly.metric("durward_decisions_total{decision=\"Permit\"}") >= 1.0);
}

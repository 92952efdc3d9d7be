//! The OpenID conformance suite's cases and the certification scenario, against a server with the fixture in either language.

use std::fs;

use serde_json::{Value, json};

use super::world::{BOTH, Language, OPEN, fixture, post_text};
use crate::auth::{ROBOT, users};
use crate::support::{Reply, TestServer};

fn read(name: &str) -> Option<Value> {
    let data = durward_testdata::recorded("authzen")?;
    Some(serde_json::from_str(&fs::read_to_string(data.join(name)).unwrap()).unwrap())
}

/// Whether an answer has what is expected: objects at least these members, results at least these, arrays of decisions exactly these.
fn has(answer: &Value, expected: &Value, name: &str) -> bool {
    match (answer, expected) {
        (Value::Object(answer), Value::Object(expected)) => expected
            .iter()
            .all(|(name, expected)| answer.get(name).is_some_and(|answer| has(answer, expected, name))),
        (Value::Array(answer), Value::Array(expected)) if name == "results" => {
            let is_exact = !expected.is_empty() || answer.is_empty();
            is_exact && expected.iter().all(|one| answer.contains(one))
        }
        (Value::Array(answer), Value::Array(expected)) => {
            answer.len() == expected.len()
                && answer.iter().zip(expected).all(|(answer, expected)| has(answer, expected, ""))
        }
        (answer, expected) => answer == expected,
    }
}

fn check(case: &Value, reply: &Reply, name: &str) {
    let statuses = case["status"].as_array().unwrap();
    let text = reply.text();
    assert!(statuses.iter().any(|status| *status == reply.status), "{name}: {} {text}", reply.status);
    assert_eq!(reply.header("x-request-id"), "suite-7", "{name}");
    if reply.status == 200 {
        assert_eq!(reply.header("content-type"), "application/json", "{name}");
        let expected = case.get("expect").cloned().unwrap_or(json!({}));
        let answer = reply.json();
        assert!(has(&answer, &expected, ""), "{name}: {answer} is not {expected}");
    } else {
        assert!(!text.is_empty() || reply.status == 405, "{name}: an error has a message");
    }
}

/// A case whose pages hold less than all results is read to its end, as the suite does.
fn whole(server: &TestServer, path: &str, body: &Value, headers: &[(&str, &str)]) -> Option<Value> {
    let mut all: Vec<Value> = Vec::new();
    let mut body = body.clone();
    loop {
        let reply = post_text(server, path, &body.to_string(), headers);
        let answer = reply.json();
        all.extend(answer["results"].as_array()?.iter().cloned());
        match answer["page"]["next_token"].as_str() {
            None | Some("") => return Some(json!({ "results": all })),
            Some(token) => body["page"] = json!({ "token": token }),
        }
    }
}

fn conforms(language: Language) -> Option<usize> {
    let suite = read("oidf-cases.json")?;
    let cases = suite["cases"].as_array().unwrap();
    let server = fixture(language, &users());
    let bearer = format!("Bearer {ROBOT}");
    for case in cases {
        let name = format!("{language:?} {}", case["name"].as_str().unwrap());
        let path = case["api"].as_str().unwrap();
        let mut headers = vec![("X-Request-ID", "suite-7")];
        headers.push(("Content-Type", case["content_type"].as_str().unwrap_or("application/json")));
        match case["credentials"].as_str() {
            None => headers.push(("Authorization", bearer.as_str())),
            Some("none") => {}
            Some(_) => headers.push(("Authorization", "Bearer sapl_abcdefghij_wrong")),
        }
        let text = case["raw_body"].as_str().map_or_else(|| case["body"].to_string(), str::to_owned);
        let method = case["method"].as_str().unwrap();
        let reply = server.send(method, &format!("/access/v1/{path}"), &headers, text.as_bytes());
        if case["credentials"].is_string() {
            assert!(!reply.all("www-authenticate").is_empty(), "{name}: how to authenticate");
        }
        if case["body"]["page"].is_object() {
            let all = whole(&server, path, &case["body"], &headers).unwrap();
            assert!(has(&all, &case["expect"], ""), "{name}: {all}");
        } else {
            check(case, &reply, &name);
        }
    }
    Some(cases.len())
}

#[test]
fn the_conformance_suite_is_passed_in_either_language() {
    for language in BOTH {
        let Some(count) = conforms(language) else { return };
        assert_eq!(count, 127);
    }
}

fn certifies(language: Language) -> Option<()> {
    let scenario = read("certification-tests.json")?;
    let server = fixture(language, &format!("{OPEN}authzen.url = 'https://pdp.example.com'\n"));
    for test in scenario["tests"].as_array().unwrap() {
        let name = format!("{language:?} {}", test["id"].as_str().unwrap());
        let mut headers: Vec<(&str, &str)> = Vec::new();
        for (name, value) in test["headers"].as_object().into_iter().flatten() {
            headers.push((name, value.as_str().unwrap()));
        }
        if !headers.iter().any(|(name, _)| *name == "Content-Type") {
            headers.push(("Content-Type", "application/json"));
        }
        let text = test["raw_body"].as_str().map_or_else(|| test["body"].to_string(), str::to_owned);
        let body = if test["body"].is_null() && test["raw_body"].is_null() { "" } else { &text };
        let expected = &test["expect"];
        for _ in 0..expected["repeat"].as_u64().unwrap_or(1) {
            let (method, path) = (test["method"].as_str().unwrap(), test["path"].as_str().unwrap());
            let reply = server.send(method, path, &headers, body.as_bytes());
            assert_eq!(expected["status"], reply.status, "{name}: {}", reply.text());
            certified(&reply, expected, &name);
        }
    }
    Some(())
}

fn certified(reply: &Reply, expected: &Value, name: &str) {
    for (header, value) in expected["response_headers"].as_object().into_iter().flatten() {
        assert_eq!(reply.header(&header.to_lowercase()), value.as_str().unwrap(), "{name}");
    }
    if reply.status != 200 {
        return;
    }
    let answer = reply.json();
    if let Some(decision) = expected["decision"].as_bool() {
        assert_eq!(answer["decision"], decision, "{name}");
    }
    if let Some(decisions) = expected["evaluations"].as_array() {
        let told = answer["evaluations"].as_array().unwrap();
        assert_eq!(told.len(), decisions.len(), "{name}: {answer}");
        for (told, decision) in told.iter().zip(decisions) {
            assert!(told["decision"].is_boolean(), "{name}: {answer}");
            assert!(decision.is_null() || told["decision"] == *decision, "{name}: {answer}");
        }
        assert!(answer.get("decision").is_none(), "{name}: no decision beside `evaluations`");
    }
    for result in expected["results_include"].as_array().into_iter().flatten() {
        assert!(answer["results"].as_array().unwrap().contains(result), "{name}: {answer}");
    }
    if let Some(results) = expected.get("results_exact") {
        assert_eq!(answer["results"], *results, "{name}");
    }
    for name in expected["required"].as_array().into_iter().chain(expected["https_urls"].as_array()).flatten()
    {
        let address = answer[name.as_str().unwrap()].as_str().unwrap();
        assert!(address.starts_with("https://pdp.example.com"), "{name} {address}");
    }
}

#[test]
fn the_certification_scenario_is_passed_in_either_language() {
    for language in BOTH {
        if certifies(language).is_none() {
            return;
        }
    }
}

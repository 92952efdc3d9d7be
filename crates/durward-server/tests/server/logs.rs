//! The decision log: what is written, what is not.

use std::fs;

use serde_json::Value as Json;

use crate::support::{TestServer, request_json};

/// Decides once as doctor and gives back the line written.
fn line_of(text: &str) -> Json {
    let server = TestServer::start(&format!("[decision_log]\nto = 'file'\n{text}"));
    let headers = [("Content-Type", "application/json"), ("X-Request-Id", "r-1")];
    let reply = server.post(&headers, request_json("doctor"));
    assert!(!reply.text().contains("PolicyIdentifierList"), "nobody asked for it: {}", reply.text());
    let path = server.directory.path("decisions.jsonl");
    server.eventually("the line is written", |_| fs::read_to_string(&path).unwrap().ends_with('\n'));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(text.trim()).unwrap()
}

#[test]
fn a_line_says_who_asked_what_was_decided_and_by_which_policies() {
    let line = line_of("");
    assert_eq!(line["decision"], "Permit");
    assert_eq!(line["request_id"], "r-1");
    assert_eq!(line["snapshot"], 1);
    assert_eq!(line["results"][0]["status"], "urn:oasis:names:tc:xacml:1.0:status:ok");
    assert!(line["client"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(line["time"].as_str().unwrap().ends_with('Z'));
    assert!(line["duration_us"].as_f64().unwrap() >= 0.0);
    assert!(line["results"][0]["policies"].is_null());
    let line = line_of("policies = true");
    assert_eq!(line["results"][0]["policies"][0]["id"], "doctors");
}

#[test]
fn values_are_written_only_where_nothing_redacts_them() {
    let line = line_of("");
    assert_eq!(line["attributes"][0]["attributes"][0]["id"], "role");
    assert!(line["attributes"][0]["attributes"][0]["values"].is_null());
    let line = line_of("redact = 'none'");
    assert_eq!(line["attributes"][0]["attributes"][0]["values"], serde_json::json!(["doctor"]));
    let line = line_of("redact = 'none'\nredact_attributes = ['role']");
    assert!(line["attributes"][0]["attributes"][0]["values"].is_null(), "{line}");
    let line = line_of("redact = 'all'");
    assert!(line["attributes"].is_null());
    assert!(!line.to_string().contains("role"), "{line}");
}

#[test]
fn what_does_not_fit_is_dropped_and_counted() {
    let server = TestServer::start("decision_log.to = 'file'\ndecision_log.queue_bytes_max = 0");
    assert_eq!(server.decide("doctor"), "Permit");
    assert_eq!(server.metric("durward_decision_log_lines_total{result=\"dropped\"}"), 1.0);
}

#[test]
fn the_log_is_written_to_its_end_when_the_server_stops() {
    let server = TestServer::start("decision_log.to = 'file'");
    for _ in 0..50 {
        server.decide("doctor");
    }
    let path = server.directory.path("decisions.jsonl");
    let kept = fs::File::open(&path).unwrap();
    server.stop();
    let text = std::io::read_to_string(kept).unwrap();
    assert_eq!(text.lines().count(), 50);
}

#[test]
fn a_log_that_was_rotated_away_goes_on_in_a_new_file() {
    let server = TestServer::start("decision_log.to = 'file'");
    let (path, rotated) = (server.directory.path("decisions.jsonl"), server.directory.path("decisions.1"));
    server.decide("doctor");
    fs::rename(&path, &rotated).unwrap();
    server.eventually("there is a new file with a line", |server| {
        server.decide("doctor");
        fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))
    });
    assert!(fs::read_to_string(&rotated).unwrap().lines().count() >= 1);
}

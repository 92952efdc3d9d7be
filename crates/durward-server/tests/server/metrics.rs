//! `/metrics`: the text is well-formed, the numbers are right, every name is documented.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{TestServer, workspace};

/// A line of a sample: name, labels, value.
fn sample(line: &str) -> Option<(&str, &str, f64)> {
    let (name, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    match name.split_once('{') {
        None => Some((name, "", value)),
        Some((name, labels)) => Some((name, labels.strip_suffix('}')?, value)),
    }
}

#[test]
fn every_line_is_a_sample_or_says_what_one_is() {
    let server = TestServer::start("");
    server.decide("doctor");
    let reply = server.get("/metrics");
    assert_eq!(reply.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = reply.text();
    assert!(text.ends_with("# EOF\n"));
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (name, labels, _) = sample(line).unwrap_or_else(|| panic!("{line}"));
        assert!(name.starts_with("durward_"), "{line}");
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (_, value) = label.split_once('=').unwrap();
            assert!(value.starts_with('"') && value.ends_with('"'), "{line}");
        }
    }
}

#[test]
fn an_older_scraper_gets_plain_text() {
    let server = TestServer::start("");
    let reply = server.send("GET", "/metrics", &[("Accept", "text/plain;version=0.0.4, */*;q=0.1")], b"");
    assert_eq!(reply.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
}

#[test]
fn decisions_and_requests_are_counted() {
    let server = TestServer::start("");
    server.decide("doctor");
    server.decide("doctor");
    server.decide("nurse");
    server.post(&[("Content-Type", "application/xml")], "<");
    server.get("/nowhere");
    let expected = [
        ("durward_decisions_total{decision=\"Permit\"}", 2.0),
        ("durward_decisions_total{decision=\"Deny\"}", 1.0),
        ("durward_decision_seconds_count", 3.0),
        ("durward_requests_total{route=\"/pdp\",status=\"200\"}", 3.0),
        ("durward_requests_total{route=\"/pdp\",status=\"400\"}", 1.0),
        ("durward_requests_total{route=\"other\",status=\"404\"}", 1.0),
        ("durward_requests_in_flight", 1.0),
        ("durward_snapshot_id", 1.0),
        ("durward_snapshot_policies", 1.0),
        ("durward_snapshot_rules", 1.0),
        ("durward_snapshot_documents", 1.0),
        ("durward_snapshot_stale", 0.0),
    ];
    // Connections of before may take a moment to be seen as closed.
    server.eventually("only this connection is open", |server| {
        server.metric("durward_connections_open") == 1.0
    });
    for (name, value) in expected {
        assert_eq!(server.metric(name), value, "{name}\n{}", server.get("/metrics").text());
    }
    // The table is of the process, and other tests fill it too.
    assert!(server.metric("durward_known_names") >= 1.0);
}

#[test]
fn every_metric_is_documented_and_every_documented_one_exists() {
    let server = TestServer::start("decision_log.to = 'file'");
    let text = server.get("/metrics").text();
    let is: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_whitespace().next()).collect();
    let docs = fs::read_to_string(workspace("docs/configuration.md")).unwrap();
    let documented: BTreeSet<&str> =
        docs.lines().filter_map(|line| line.strip_prefix("| `durward_")?.split('`').next()).collect();
    // Those of the commands for OPC UA, which serve metrics of their own, are compared where they are.
    let documented = documented.into_iter().filter(|name| !name.starts_with("opcua_"));
    let documented: BTreeSet<String> = documented
        .into_iter()
        .map(|name| format!("durward_{}", name.split('{').next().unwrap().trim_end_matches("_total")))
        .collect();
    let is: BTreeSet<String> =
        is.into_iter().map(|name| name.trim_end_matches("_info").to_string()).collect();
    let documented: BTreeSet<String> =
        documented.into_iter().map(|name| name.trim_end_matches("_info").to_string()).collect();
    assert_eq!(is, documented, "docs/configuration.md lists other metrics than /metrics");
}

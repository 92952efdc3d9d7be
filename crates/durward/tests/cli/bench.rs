//! `durward bench`: the shape of what it prints; no number is judged here.

use serde_json::Value as Json;

use crate::durward;

const BENCH: [&str; 8] =
    ["bench", "embedded", "--policies", "hospital", "--requests", "asks.jsonl", "--seconds", "0.05"];

#[test]
fn every_index_is_a_row() {
    let ran = durward(&[&BENCH[..], &["--index", "all"]].concat()).exits(0);
    for index in ["scan", "bloom", "canonical", "diagram"] {
        assert!(ran.stdout.lines().any(|line| line.starts_with(index)), "{}", ran.stdout);
    }
    assert!(
        ran.stdout.starts_with("1 policy, 5 requests, 1 thread, read request to decision\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn json_has_what_the_documentation_says() {
    for mode in ["decide", "text"] {
        let ran = durward(&[&BENCH[..], &["--json", "--mode", mode, "--threads", "2"]].concat()).exits(0);
        let rows: Vec<Json> = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(rows.len(), 1);
        let row = rows[0].as_object().unwrap();
        let names: Vec<&str> = row.keys().map(String::as_str).collect();
        let expected = [
            "index",
            "mode",
            "threads",
            "decisions_per_s",
            "p50_ns",
            "p99_ns",
            "p999_ns",
            "build_ms",
            "bytes_per_policy",
            "policies",
        ];
        assert_eq!(names, expected);
        assert_eq!((&row["index"], &row["mode"], &row["threads"]), (&"auto".into(), &mode.into(), &2.into()));
        assert!(row["decisions_per_s"].as_f64().unwrap() > 0.0);
        assert!(row["p50_ns"].as_u64().unwrap() <= row["p999_ns"].as_u64().unwrap());
    }
}

/// Filters of one word with one bit a value are mistaken where those of the default are not.
#[test]
fn what_bloom_filters_did_is_counted_when_asked() {
    let bloom = ["--index", "bloom", "--statistics", "--bloom-bits", "64", "--bloom-hashes", "1"];
    let ran = durward(&[&BENCH[..], &bloom].concat()).exits(0);
    for part in
        [" filters of 64 bits with 1 hashes", " targets tested, ", " rejected, ", " of them falsely ("]
    {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
}

#[test]
fn only_requests_that_can_be_read_are_measured() {
    let ran = durward(&["bench", "embedded", "--policies", "hospital", "--requests", "bad.jsonl"]).exits(2);
    assert!(ran.stderr.starts_with("durward: error: bad.jsonl:2: "), "{}", ran.stderr);
    let ran = durward(&[&BENCH[..7], &["0"]].concat()).exits(2);
    assert!(ran.stderr.contains("between 0.01 and 3600 seconds"), "{}", ran.stderr);
}

#[test]
fn a_generated_scenario_can_be_measured() {
    let folder = std::env::temp_dir().join(format!("durward-scenario-{}", std::process::id()));
    let out = folder.to_str().unwrap();
    let ran = durward(&["bench", "generate", "--scenario", "github-10", "--out", out]).exits(0);
    assert_eq!(ran.stdout, format!("{out}: 8 policies, 500 subscriptions\n"));
    let asks = folder.join("subscriptions.jsonl");
    let bench =
        ["bench", "embedded", "--policies", out, "--requests", asks.to_str().unwrap(), "--seconds", "0.05"];
    let ran = durward(&bench).exits(0);
    assert!(ran.stdout.starts_with("8 policies, 500 requests, 1 thread"), "{}", ran.stdout);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_scenario_that_does_not_exist_is_refused() {
    let ran = durward(&["bench", "generate", "--scenario", "clinic-5", "--out", "nowhere"]).exits(2);
    assert!(
        ran.stderr.contains("`clinic-5` is no scenario: one of baseline, rbac, hospital-N"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_server_is_started_measured_and_ended() {
    for transport in ["http", "rsocket"] {
        let bench = ["bench", "server", "--transport", transport, "--policies", "wards", "--cores", "none"];
        let asks = ["--subscriptions", "wards.jsonl", "--seconds", "0.2", "--connections", "2"];
        let ran = durward(&[&bench[..], &asks, &["--json"]].concat()).exits(0);
        let row: Json = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(row["transport"], transport);
        assert!(row["saturation_per_s"].as_f64().unwrap() > 10.0 * 0.9 * row["rate_per_s"].as_f64().unwrap());
        assert!(row["answered"].as_u64().unwrap() > 0, "{row}");
        assert_eq!((&row["failed"], &row["unanswered"]), (&0.into(), &0.into()));
        assert!(row["p50_ns"].as_u64().unwrap() <= row["max_ns"].as_u64().unwrap());
        let ran = durward(&[&bench[..], &asks, &["--rate", "100"]].concat()).exits(0);
        assert!(ran.stdout.contains("\nat 100 questions/s: p50 "), "{}", ran.stdout);
        assert!(!ran.stdout.contains("saturation"), "{}", ran.stdout);
    }
}

#[test]
fn a_server_that_cannot_be_measured_is_said_so() {
    let bench =
        ["bench", "server", "--transport", "http", "--subscriptions", "wards.jsonl", "--cores", "none"];
    let ran = durward(&[&bench[..], &["--url", "127.0.0.1:1"]].concat()).exits(2);
    assert!(
        ran.stderr.starts_with("durward: error: a connection failed: Connection refused\n"),
        "{}",
        ran.stderr
    );
    let ran = durward(&[&bench[..], &["--policies", "wards-broken"]].concat()).exits(2);
    assert!(ran.stderr.contains("the server did not start: "), "{}", ran.stderr);
    durward(&[&bench[..], &["--url", "nowhere"]].concat()).exits(2);
    durward(&bench).exits(2);
}

#[test]
fn live_subscriptions_are_measured() {
    let ran =
        durward(&["bench", "streams", "--subscriptions", "200", "--attribute", "own", "--json"]).exits(0);
    let row: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&row["subscriptions"], &row["replaced"], &row["changed"]),
        (&200.into(), &200.into(), &200.into())
    );
    let ran = durward(&["bench", "streams", "--subscriptions", "200"]).exits(0);
    assert!(ran.stdout.starts_with("200 live subscriptions\n"), "{}", ran.stdout);
}

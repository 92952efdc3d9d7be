//! Every scenario that ships is read, and asks what it says.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::server::{ReceivedRequest, Reply, Server, ok};
use durward_lab::record::{PointLoad, RunRecord};
use durward_lab::run::{NoWatcher, RunOptions, run};
use durward_lab::scenario::Scenario;

fn folder() -> PathBuf {
    durward_testdata::workspace().join("crates/durward-lab/scenarios")
}

/// Runs a shipped scenario in some seconds: these words of it are replaced.
fn shipped(file: &str, server: &Server, replace: &[(&str, &str)]) -> RunRecord {
    let mut text = std::fs::read_to_string(folder().join(file)).unwrap();
    let address = ("http://127.0.0.1:8080", server.url.as_str());
    for (from, to) in replace.iter().chain([&address]) {
        assert!(text.contains(from), "{file}: {from}");
        text = text.replace(from, to);
    }
    let scenario =
        Scenario::read(&text).unwrap_or_else(|error| panic!("{file}: {error}")).in_folder(folder());
    let options = RunOptions { generator_limit: Duration::ZERO, ..RunOptions::default() };
    run(&scenario, &options, &mut NoWatcher).unwrap_or_else(|error| panic!("{file}: {error}"))
}

const USERS: (&str, &str) = ("[50, 100, 200, 400, 600, 800, 1000, 1200, 1600, 2000]", "[20]");
const SHORT: [(&str, &str); 5] = [
    USERS,
    ("warm_up = \"15s\"", "warm_up = \"0s\""),
    ("measure = \"60s\"", "measure = \"1s\""),
    ("cool_down = \"30s\"", "cool_down = \"0s\""),
    ("${env.LAB_PASSWORD}", "changeit"),
];

fn lines(asked: &Arc<Mutex<Vec<ReceivedRequest>>>) -> Vec<String> {
    let mut lines: Vec<String> = asked.lock().unwrap().iter().map(|one| one.line.clone()).collect();
    lines.sort();
    lines.dedup();
    lines
}

#[test]
fn every_shipped_scenario_is_read() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            Scenario::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            count += 1;
        }
    }
    assert!(count >= 7, "{count}");
}

#[test]
fn the_studys_users_log_in_verify_and_log_out() {
    for (file, base) in [
        ("openam-logout.toml", ""),
        ("openam-logout-legacy.toml", "/openam"),
        ("openam-json.toml", "/openam"),
    ] {
        let (server, asked) = Server::recording(|asked| match asked.line.as_str() {
            line if line.contains("/identity/authenticate") => ok("token.id=AQIC5w*_1\n"),
            line if line.contains("isTokenValid") => ok("boolean=true\n"),
            line if line.contains("validate") => ok("{\"valid\":true}"),
            line if line.contains("logout") => ok("{}"),
            _ => ok("{\"token\":\"AQIC5w*_1\",\"tokenId\":\"AQIC5w*_1\"}"),
        });
        let record = shipped(file, &server, &SHORT);
        assert_eq!(record.points.len(), 4);
        for point in &record.points {
            // 20 users, four requests a second each.
            assert_eq!((point.answered(), point.failed()), (80, 0), "{file}: {:?}", point.steps);
        }
        let of = |configuration: &str, step: &str| {
            let point = record.points.iter().find(|point| point.configuration == configuration).unwrap();
            point.steps.iter().find(|one| one.name == step).unwrap().answered
        };
        assert_eq!(of("logout_percent 0", "logout"), 0);
        assert!(of("logout_percent 20", "logout") > of("logout_percent 5", "logout"), "{file}");
        let lines = lines(&asked);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| line.starts_with(&format!("POST {base}/"))), "{lines:?}");
        if file == "openam-logout-legacy.toml" {
            assert_eq!(lines[1], "POST /openam/identity/isTokenValid?tokenid=AQIC5w%2A_1");
        }
    }
}

#[test]
fn the_testbeds_bursts_are_as_large_as_there() {
    let (server, asked) = Server::recording(|_| ok("{\"Response\":[{\"Decision\":\"Permit\"}]}"));
    let short = [
        ("measure = \"5s\"", "measure = \"1s\""),
        ("cool_down = \"5s\"", "cool_down = \"0s\""),
        ("repeat = 3", "repeat = 1"),
    ];
    let record = shipped("luas.toml", &server, &short);
    let mut sizes: Vec<(PointLoad, u64)> =
        record.points.iter().map(|point| (point.load, point.answered())).collect();
    sizes.sort_by_key(|(_, count)| *count);
    let expected =
        [100, 200, 300, 400].map(|size| (PointLoad::Arrivals(f64::from(size)), u64::try_from(size).unwrap()));
    assert_eq!(sizes, expected);
    let asked = asked.lock().unwrap();
    assert_eq!(asked[0].header("content-type"), Some("application/xacml+json"));
    assert!(asked[0].body.starts_with("{\"Request\":") && asked[0].body.ends_with('}'));
}

#[test]
fn sapls_two_forms_ask_for_decisions() {
    let server = Server::start(|asked| match asked.line.as_str() {
        "POST /api/pdp/decide-once" => ok("{\"decision\":\"PERMIT\"}"),
        _ => Reply::Answer(404, "", String::new()),
    });
    let short = [
        ("[1, 2, 4, 8, 16, 32, 64, 128]", "[2]"),
        ("measure = \"20s\"", "measure = \"1s\""),
        ("cool_down = \"2s\"", "cool_down = \"0s\""),
        ("repeat = 3", "repeat = 1"),
        ("\"auto\"", "\"100ms\""),
    ];
    let record = shipped("sapl-saturation.toml", &server, &short);
    assert!(record.points[0].answered() > 100 && record.points[0].failed() == 0);
    assert!(record.thresholds[0].is_kept);
    let short = [
        (
            "fractions = [1, 10, 50, 90]",
            "fractions = [10], users_max = 2, tries = 1, warm_up = \"0s\", measure = \"200ms\"",
        ),
        ("warm_up = \"3s\"", "warm_up = \"0s\""),
        short[1],
        short[2],
        short[3],
    ];
    let record = shipped("sapl-latency.toml", &server, &short);
    let found = &record.searches[0];
    assert!(found.saturation.unwrap() > 100.0 && found.verdict.contains("At 10 %, "), "{found:?}");
    assert!(record.points.iter().all(|point| point.failed() == 0));
}

#[test]
fn a_table_fills_questions() {
    let (server, asked) = Server::recording(|_| ok("{}"));
    let short = [("[1, 10, 100]", "[1]"), ("\"3s\"", "\"0s\""), ("\"10s\"", "\"200ms\"")];
    shipped("authzen.toml", &server, &short);
    let asked = asked.lock().unwrap();
    let names: Vec<&str> = asked.iter().take(4).map(|one| one.body.split('"').nth(9).unwrap()).collect();
    assert_eq!(names, ["anna", "ben", "clara", "anna"]);
}

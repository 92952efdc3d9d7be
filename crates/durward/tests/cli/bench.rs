//! `durward bench`: the shape of what it prints; no number is judged here.

use serde_json::Value as Json;

use crate::serve::Running;
use crate::{data, durward};

const BENCH: [&str; 8] =
    ["bench", "embedded", "--policies", "hospital", "--requests", "asks.jsonl", "--seconds", "0.05"];

#[test]
fn every_index_is_a_row() {
    let ran = durward(&[&BENCH[..], &["--index", "all"]].concat()).exits(0);
    for index in durward_pdp::IndexKind::ALL.map(durward_pdp::IndexKind::name) {
        assert!(ran.stdout.lines().any(|line| line.starts_with(index)), "{}", ran.stdout);
    }
    assert!(
        ran.stdout.starts_with("1 policy, 5 requests, 1 thread, encoded request to decision\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn json_has_what_the_documentation_says() {
    for mode in ["encoded", "decide", "text", "batch"] {
        let ran = durward(&[&BENCH[..], &["--json", "--mode", mode, "--threads", "2"]].concat()).exits(0);
        let rows: Vec<Json> = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(rows.len(), 1);
        let row = rows[0].as_object().unwrap();
        let names: Vec<&str> = row.keys().map(String::as_str).collect();
        let expected = [
            "scenario",
            "language",
            "index",
            "mode",
            "threads",
            "decisions_per_s",
            "min",
            "max",
            "rounds",
            "interval_percent",
            "converged",
            "running",
            "by_thread",
            "alone_per_s",
            "scaling",
            "p50_ns",
            "p99_ns",
            "p999_ns",
            "max_ns",
            "clock_ns",
            "build_ms",
            "bytes",
            "bytes_per_policy",
            "policies",
            "requests",
            "version",
            "machine",
            "command",
        ];
        assert_eq!(names, expected);
        assert_eq!((&row["index"], &row["mode"], &row["threads"]), (&"auto".into(), &mode.into(), &2.into()));
        assert!(row["decisions_per_s"].as_f64().unwrap() > 0.0);
        assert_eq!((&row["scenario"], &row["language"]), (&"hospital".into(), &"xacml".into()));
        assert_eq!(row["by_thread"].as_array().unwrap().len(), 2);
        assert!(row["scaling"].as_f64().unwrap() > 0.0);
        assert!(row["machine"]["cores"].as_u64().unwrap() >= 1);
        assert!(row["command"].as_str().unwrap().starts_with("durward bench embedded --policies hospital "));
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
    let ran = durward(&["bench", "generate", "github-10", "--out", out]).exits(0);
    assert_eq!(ran.stdout, format!("{out}: 8 policies, 500 subscriptions\n"));
    let asks = folder.join("subscriptions.jsonl");
    let bench =
        ["bench", "embedded", "--policies", out, "--requests", asks.to_str().unwrap(), "--seconds", "0.05"];
    let ran = durward(&bench).exits(0);
    assert!(ran.stdout.starts_with("8 policies, 500 requests, 1 thread"), "{}", ran.stdout);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Written in both languages, a scenario is decided alike by `durward decide`.
#[test]
fn a_scenario_of_both_languages_is_decided_alike() {
    let folder = std::env::temp_dir().join(format!("durward-languages-{}", std::process::id()));
    let mut decisions = Vec::new();
    for (language, questions) in [("sapl", "subscriptions.jsonl"), ("xacml", "requests.jsonl")] {
        let out = folder.join(language);
        let out = out.to_str().unwrap();
        let ran =
            durward(&["bench", "generate", "hospital-1", "--language", language, "--out", out]).exits(0);
        assert!(ran.stdout.contains(": 38 policies, 500 "), "{}", ran.stdout);
        let questions = format!("{out}/{questions}");
        let ran = durward(&["decide", "--policies", out, "--requests", &questions]).exits(0);
        let decision = |line: &str| {
            let line: Json = serde_json::from_str(line).unwrap();
            line["decision"].as_str().unwrap().to_uppercase()
        };
        decisions.push(ran.stdout.lines().map(decision).collect::<Vec<_>>());
    }
    assert_eq!(decisions[0], decisions[1]);
    assert_eq!(decisions[0].iter().filter(|decision| *decision == "PERMIT").count(), 138);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_scenario_can_be_measured_without_files() {
    for language in ["sapl", "xacml"] {
        let bench =
            ["bench", "embedded", "--scenario", "synth-100", "--language", language, "--mode", "batch"];
        let ran = durward(&[&bench[..], &["--batch", "7", "--time-limit", "0.05"]].concat()).exits(0);
        let head = " 2000 requests, 1 thread, encoded requests to decisions, 7 at once\n";
        assert!(ran.stdout.contains(head), "{}", ran.stdout);
        assert!(ran.stdout.contains(": the time limit of 0.05 s came first"), "{}", ran.stdout);
    }
}

#[test]
fn several_threads_are_compared_with_one() {
    let ran = durward(&[&BENCH[..], &["--threads", "2"]].concat()).exits(0);
    assert!(ran.stdout.contains(" of one thread alone; by thread: "), "{}", ran.stdout);
}

#[test]
fn what_has_no_other_language_is_refused() {
    let ran = durward(&["bench", "generate", "rbac", "--language", "xacml", "--out", "nowhere"]).exits(2);
    assert!(ran.stderr.contains("`rbac` cannot be had as XACML"), "{}", ran.stderr);
    durward(&["bench", "embedded", "--scenario", "rbac", "--policies", "wards"]).exits(2);
    durward(&["bench", "embedded", "--policies", "wards"]).exits(2);
}

#[test]
fn a_scenario_that_does_not_exist_is_refused() {
    let ran = durward(&["bench", "generate", "clinic-5", "--out", "nowhere"]).exits(2);
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

/// What is measured can be reported: every picture, with the feature `pictures` in both forms, and named on the page.
#[test]
fn measurements_are_drawn() {
    let folder = std::env::temp_dir().join(format!("durward-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut files = Vec::new();
    for scenario in ["scatter-20", "scatter-100", "baseline"] {
        let bench = ["bench", "embedded", "--scenario", scenario, "--index", "all", "--seconds", "0.02"];
        let file = folder.join(format!("{scenario}.json"));
        std::fs::write(&file, durward(&[&bench[..], &["--json"]].concat()).exits(0).stdout).unwrap();
        files.push(file.to_str().unwrap().to_owned());
    }
    let out = folder.join("report");
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = durward(&[&["bench", "report", "--out", out.to_str().unwrap(), "--in"], &files[..]].concat())
        .exits(0);
    let page = std::fs::read_to_string(out.join("index.html")).unwrap();
    for name in ["throughput-by-scenario", "latency-by-scenario", "throughput-scatter", "latency-scatter"] {
        let svg = std::fs::read_to_string(out.join(format!("{name}.svg"))).unwrap();
        let title = svg.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap();
        assert!(svg.starts_with("<svg ") && page.contains(&format!("<title>{title}</title>")), "{name}");
        assert!(ran.stdout.contains(name), "{}", ran.stdout);
        #[cfg(feature = "pictures")]
        {
            let png = std::fs::read(out.join(format!("{name}.png"))).unwrap();
            assert!(png.starts_with(b"\x89PNG") && page.contains(&format!("{name}.png")));
        }
    }
    assert!(page.contains("--scenario scatter-20 --index all") && page.contains("is not known to 3 %"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Measurements of servers and sessions: every number in a table, and rates and times drawn where there are several.
#[test]
fn servers_and_sessions_are_reported() {
    let folder = std::env::temp_dir().join(format!("durward-report-others-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (sessions, server) = (folder.join("sessions.json"), folder.join("server.json"));
    let measured = durward(&[&SESSIONS[..], &["--measure", "memory", "--sessions", "10", "--json"]].concat());
    std::fs::write(&sessions, measured.exits(0).stdout).unwrap();
    let text = r#"{"transport": "http", "rate_per_s": 5.0, "p50_ns": 1234, "p99_ns": 9876, "command": "durward bench server"}"#;
    std::fs::write(&server, text).unwrap();
    let [sessions, server, out] =
        [sessions, server, folder.join("report")].map(|it| it.display().to_string());
    let ran = durward(&["bench", "report", "--out", &out, "--in", &sessions, &server]).exits(0);
    let drawn = if cfg!(feature = "pictures") { "times-2.svg, times-2.png" } else { "times-2.svg" };
    assert_eq!(ran.stdout, format!("{out}: index.html, {drawn}\n"));
    let page = std::fs::read_to_string(folder.join("report/index.html")).unwrap();
    for part in [
        "<h2>Sessions over the network</h2>",
        "<td class=\"words\">memory sessions</td><td>10</td>",
        "<h2>A server over the network: http</h2>",
        "<td class=\"words\">p50_ns</td><td>1234</td>",
        "<pre><code>durward bench server</code></pre>",
        "<title>Times: A server over the network: http</title>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_no_measurement_is_not_drawn() {
    let report = |file| durward(&["bench", "report", "--in", file, "--out", "nowhere"]).exits(2).stderr;
    assert!(report("asks.jsonl").starts_with("durward: error: asks.jsonl: not JSON: "));
    assert!(report("hierarchy.json").contains("hierarchy.json: not an array of measurements"));
    assert!(report("missing.json").contains("missing.json"));
    assert!(!std::path::Path::new("nowhere").exists());
}

const SESSIONS: [&str; 8] = ["bench", "sessions", "--cores", "none", "--users", "3", "--seconds", "0.2"];

/// Every figure of a node that is started for it; nothing is answered wrongly, and no more is counted than was asked.
#[test]
fn sessions_are_measured_on_a_node_of_ones_own() {
    let what = ["--measure", "validate,mix,memory", "--sessions", "300", "--logout-percent", "50"];
    let mode = ["--mode", "assured-write", "--json"];
    let ran = durward(&[&SESSIONS[..], &what, &mode].concat()).exits(0);
    let row: Json = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&row["nodes"], &row["mode"]), (&1.into(), &"assured-write".into()));
    let validate = &row["validate"][0];
    for (name, measured) in [("validate", validate), ("bare", &validate["bare"]), ("mix", &row["mix"][0])] {
        assert!(measured["per_s"].as_f64().unwrap() > 0.0, "{name}: {row}");
        assert_eq!(measured["failed"], 0, "{name}: {row}");
        let waits = &measured["validate"];
        assert!(waits["p50_ns"].as_u64().unwrap() <= waits["p99_ns"].as_u64().unwrap(), "{name}: {row}");
    }
    let count = |act: &str| row["mix"][0][act]["answered"].as_u64().unwrap();
    assert!(count("login") <= count("logout") + 3, "{row}");
    let memory = &row["memory"];
    assert_eq!((&memory["sessions"], &memory["checked"]), (&300.into(), &300.into()));
    let node = &memory["nodes"][0];
    assert!(node["before_bytes"].as_u64().unwrap() > 0 && node["after_bytes"].as_u64().unwrap() > 0, "{row}");
    assert!(row["command"].as_str().unwrap().starts_with("durward bench sessions --cores none "), "{row}");
}

#[test]
fn a_flood_of_logins_is_counted_by_how_it_was_answered() {
    let ran = durward(&[&SESSIONS[..], &["--measure", "flood", "--json"]].concat()).exits(0);
    let flood = &serde_json::from_str::<Json>(&ran.stdout).unwrap()["flood"];
    assert!(flood["offered_per_s"].as_f64().unwrap() > 9.0 * flood["capacity_per_s"].as_f64().unwrap());
    assert!(flood["flooded"]["per_s"].as_f64().unwrap() > 0.0, "{flood}");
    let answers = flood["logins"].as_object().unwrap();
    assert!(answers.keys().all(|status| ["200", "429", "503"].contains(&status.as_str())), "{flood}");
    assert!(answers["200"].as_u64().unwrap() > 0 && flood["logins_failed"] == 0, "{flood}");
}

#[test]
fn sessions_are_measured_on_a_node_that_runs() {
    let folder = std::env::temp_dir().join(format!("durward-bench-at-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (config, logins) = (at("durward.toml"), at("logins.jsonl"));
    let hash = "identity.hash_memory_kib = 8\nidentity.hash_passes = 1\nidentity.password_length_min = 1\n";
    let policies = format!("policies.path = {:?}\n", data("hospital").to_str().unwrap());
    std::fs::write(&config, format!("{policies}{hash}identity.users = {:?}\n", at("users"))).unwrap();
    crate::durward_fed(&["users", "add", "anna", "--config", &config], "secret\n").exits(0);
    std::fs::write(&logins, "{\"user\":\"anna\",\"password\":\"secret\"}\n").unwrap();
    let running =
        Running::start(&["serve", "--config", &config, "--listen", "127.0.0.1:0"], "serving address=");
    let url = format!("http://{}", running.address());
    let bench = |logins: &str, what: &str| {
        durward(&[&SESSIONS[..], &["--at", &url, "--logins", logins, "--measure", what]].concat())
    };
    let ran = bench(&logins, "validate,login").exits(0);
    assert!(ran.stdout.starts_with("1 node that was running\n"), "{}", ran.stdout);
    for name in ["\nvalidate ", "\n  a bare server ", "\nlogin "] {
        assert!(ran.stdout.contains(name), "{}", ran.stdout);
    }
    // What has no other node, and what is not there to be looked at.
    assert!(bench(&logins, "logout").exits(2).stderr.contains("needs several nodes"));
    assert!(bench(&logins, "memory").exits(2).stderr.contains("--pid"));
    std::fs::write(&logins, "{\"user\":\"anna\",\"password\":\"other\"}\n").unwrap();
    let ran = bench(&logins, "validate").exits(2);
    assert!(ran.stderr.contains("login was answered 401 "), "{}", ran.stderr);
    std::fs::write(&logins, "anna\n").unwrap();
    let ran = bench(&logins, "validate").exits(2);
    assert!(ran.stderr.contains("logins.jsonl:1: "), "{}", ran.stderr);
    drop(running);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn sessions_that_cannot_be_measured_are_said_so() {
    let ran = durward(&[&SESSIONS[..], &["--nodes", "2"]].concat()).exits(2);
    assert!(ran.stderr.contains("several nodes need a store that they share"), "{}", ran.stderr);
    durward(&[&SESSIONS[..], &["--at", "http://127.0.0.1:1"]].concat()).exits(2);
    durward(&[&SESSIONS[..], &["--measure", "nothing"]].concat()).exits(2);
}

/// Everything runs, at small numbers: none is judged but that no right that was recalled is served in the end.
#[test]
#[cfg(feature = "opcua")]
fn the_papers_experiments_on_opcua_run_in_their_short_form() {
    let folder = std::env::temp_dir().join(format!("durward-bench-opcua-{}", std::process::id()));
    let ran = durward(&["bench", "opcua", "--quick", "--json"]).exits(0);
    let measured: Json = serde_json::from_str(&ran.stdout).unwrap();
    let parts = measured["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
    let all = [
        "table-1",
        "table-5",
        "table-2",
        "table-3",
        "figure-5",
        "gate",
        "subscriptions",
        "renewal",
        "table-4",
        "algorithms",
        "decisions",
        "direct",
        "rights",
        "crowd",
        "recall",
    ];
    // Table 4 needs control groups that can be written; without, it says so.
    let left_out = measured["left_out"].as_array().unwrap();
    let expected = all.iter().copied().filter(|name| left_out.is_empty() || *name != "table-4");
    assert_eq!(names, expected.collect::<Vec<_>>(), "{left_out:?}");
    let of = |name: &str| &parts.iter().find(|part| part["name"] == name).unwrap()["numbers"];
    assert_eq!(of("recall")["tries"], 20);
    assert_eq!(of("recall")["refused"], 20, "{:?}", of("recall"));
    let sizes = of("figure-5").as_object().unwrap();
    assert_eq!(sizes.len(), 18, "six sizes in three ways: {sizes:?}");
    for part in parts {
        for table in part["tables"].as_array().unwrap() {
            let columns = table["columns"].as_array().unwrap().len();
            let is_whole = |row: &Json| row.as_array().unwrap().len() == columns;
            assert!(table["rows"].as_array().unwrap().iter().all(is_whole), "{table:#}");
        }
    }

    std::fs::create_dir_all(&folder).unwrap();
    let (file, out, page) = (folder.join("opcua.json"), folder.join("report"), folder.join("page.md"));
    std::fs::write(&file, &ran.stdout).unwrap();
    let [file, out, page] = [&file, &out, &page].map(|path| path.to_str().unwrap());
    durward(&["bench", "report", "--in", file, "--out", out, "--page", page]).exits(0);
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("# Access control for OPC UA\n"), "{text}");
    assert!(text.contains("Table 5") && text.contains("pictures/opcua-figure-5-1-1.svg"), "{text}");
    assert!(
        folder.join("pictures/opcua-table-5-1-1.svg").exists() && folder.join("report/index.html").exists()
    );
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg(feature = "opcua")]
fn parts_of_the_opcua_benchmark_can_be_chosen_and_a_file_that_is_no_role_is_refused() {
    let ran = durward(&["bench", "opcua", "--quick", "--part", "rights"]).exits(0);
    assert!(ran.stdout.contains("Asking for a right") && !ran.stdout.contains("Table 1"), "{}", ran.stdout);
    let ran = durward(&["bench", "opcua", "--part", "nothing"]).exits(2);
    assert!(ran.stderr.contains("nothing"), "{}", ran.stderr);
    let ran = durward(&["bench", "opcua", "--role", "nowhere.json"]).exits(2);
    assert!(ran.stderr.contains("cannot read nowhere.json"), "{}", ran.stderr);
}

//! `durward lab run` against `durward serve`, started as a node: decisions over HTTP, event streams and RSocket.

use serde_json::Value;

use crate::{command, durward};

const POLICIES: &str = r#"
[target]
name = "durward"
command = ["PROGRAM", "serve", "--config", "durward.toml"]
scheme = "SCHEME"
ready = "http://127.0.0.1:HTTP/health/ready"
stop_within_s = 20

[target.files]
"policies/pdp.json" = '{"algorithm":{"votingMode":"PRIORITY_DENY","defaultDecision":"DENY","errorHandling":"PROPAGATE"}}'
"policies/read.sapl" = '''
policy "read" permit subject == "anna"; action == "read"; obligation "log"
'''
"durward.toml" = """
[server]
listen = "127.0.0.1:HTTP"
[policies]
path = "policies"
[sapl]
http = true
[rsocket]
listen = "127.0.0.1:RSOCKET"
[auth]
danger_allow_no_auth = true
"""

[load]
threads = 1
users = 4
warm_up = "200ms"
measure = "600ms"

[thresholds]
errors = "0%"

"#;

const ANNA: &str = r#"{"subject":"anna","action":"read","resource":"records"}"#;
const BERT: &str = r#"{"subject":"bert","action":"read","resource":"records"}"#;

/// Runs steps against a server whose own port is that of this scheme. The record.
fn run(scheme: &str, steps: &str) -> Value {
    let folder = std::env::temp_dir().join(format!("durward-lab-protocols-{scheme}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (http, rsocket) =
        if scheme == "http" { ("{port}", "{port.other}") } else { ("{port.other}", "{port}") };
    let program = command(&[]).get_program().to_str().unwrap().to_owned();
    let text = POLICIES
        .replace("PROGRAM", &program)
        .replace("SCHEME", scheme)
        .replace("HTTP", http)
        .replace("RSOCKET", rsocket);
    let file = folder.join("scenario.toml");
    std::fs::write(&file, text + steps).unwrap();
    let out = folder.join("out");
    let ran = durward(&[
        "lab",
        "run",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--skip-generator-limit",
        "--json",
        "-q",
    ]);
    let record = serde_json::from_str(&ran.exits(0).stdout).unwrap();
    let _ = std::fs::remove_dir_all(folder);
    record
}

fn step(name: &str, body: &str, more: &str) -> String {
    format!("[[steps]]\nname = \"{name}\"\nuse = \"{name}\"\nwith = {{ body = '{body}' }}\n{more}\n")
}

/// The same questions over both: one, several at once, and streams.
fn steps(prefix: &str) -> String {
    let all = format!(r#"{{"a":{ANNA},"b":{BERT}}}"#);
    let permit = "expect.json = { \"/decision\" = \"PERMIT\", \"/obligations/0\" = \"log\" }";
    let both = "expect.json = { \"/a/decision\" = \"PERMIT\", \"/b/decision\" = \"DENY\" }";
    let hold = "events = { hold = \"50ms\" }";
    let once = if prefix == "sapl" { "sapl".to_owned() } else { format!("{prefix}-decide-once") };
    [
        step(&once, ANNA, permit),
        step(&format!("{prefix}-multi-decide-all-once"), &all, both),
        step(&format!("{prefix}-decide"), ANNA, &format!("{permit}\n{hold}")),
        step(&format!("{prefix}-multi-decide-all"), &all, &format!("{both}\n{hold}")),
        step(
            &format!("{prefix}-multi-decide"),
            &all,
            "capture.id = { json = \"/subscriptionId\" }\nevents = { count = 2 }",
        ),
    ]
    .concat()
}

#[test]
fn the_same_decisions_come_over_http_event_streams_and_rsocket() {
    for (scheme, prefix) in [("http", "sapl"), ("rsocket", "sapl-rsocket")] {
        let record = run(scheme, &steps(prefix));
        let all = record["points"][0]["steps"].as_array().unwrap();
        assert_eq!(all.len(), 5);
        for step in all {
            assert!(step["answered"].as_u64().unwrap() > 2, "{scheme}: {step}");
            assert_eq!(step["failed"].as_object().unwrap().len(), 0, "{scheme}: {step}");
        }
        // Over RSocket all users share one connection.
        if scheme == "rsocket" {
            assert_eq!(record["points"][0]["generator"]["connections"], 1);
        }
    }
}

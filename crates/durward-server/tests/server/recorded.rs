//! The CONTINUE policies and their recorded decisions, through this door: HTTP, in XML and in JSON.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value as Json;

use crate::support::{Directory, Raw, TestServer};

/// Every so manyth request of the large set: enough to meet every policy, quick enough for every run.
const STEP: usize = 4;

fn lines(path: PathBuf) -> Vec<Json> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ask(connection: &mut Raw, media_type: &str, body: &str) -> String {
    let length = body.len();
    connection.send(&format!(
        "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\r\n{body}"
    ));
    let (status, text) = connection.answer();
    assert_eq!(status, 200, "{text}");
    text
}

#[test]
fn recorded_decisions_come_over_http_in_either_form() {
    let Some(data) = durward_testdata::recorded("xacml/continue") else { return };
    let directory = Directory::new();
    directory.write("policies/continue.xml", &fs::read_to_string(data.join("continue-a-3.0.xml")).unwrap());
    let server = TestServer::start_in(directory, "").unwrap();
    let recorded: HashMap<String, String> = lines(data.join("decisions.jsonl"))
        .iter()
        .map(|line| (line["id"].as_str().unwrap().into(), line["decision"].as_str().unwrap().into()))
        .collect();
    let core = lines(data.join("requests-core.jsonl"));
    let single = lines(data.join("requests-single.jsonl")).into_iter().step_by(STEP);
    let mut connection = server.connect();
    for request in core.into_iter().chain(single) {
        let id = request["id"].as_str().unwrap();
        let expected = &recorded[id];
        let xml = ask(&mut connection, "application/xacml+xml", request["xml"].as_str().unwrap());
        assert!(xml.contains(&format!("<Decision>{expected}</Decision>")), "{id}: {expected}, not {xml}");
        let json = ask(&mut connection, "application/xacml+json", &request["json"].to_string());
        let json: Json = serde_json::from_str(&json).unwrap();
        assert_eq!(json["Response"][0]["Decision"], expected.as_str(), "{id}");
    }
}

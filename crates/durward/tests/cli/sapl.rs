//! Policies and questions of SAPL on the command line.

use crate::{durward, durward_fed};

const ADA: &str = r#"{"name": "ada", "role": "doctor", "wards": [3, 4]}"#;

#[test]
fn a_subscription_in_parts_is_decided() {
    let ask = ["decide", "--policies", "wards", "-s", ADA, "-a", "\"read\"", "-r"];
    let ran = durward(&[&ask[..], &[r#"{"ward": 3}"#]].concat()).exits(0);
    assert_eq!(
        ran.stdout,
        "{\"decision\":\"PERMIT\",\"obligations\":[{\"type\":\"log\",\"who\":\"ada\"}]}\n"
    );
    let ran = durward(&[&ask[..], &[r#"{"ward": 5}"#]].concat()).exits(0);
    assert_eq!(ran.stdout, "{\"decision\":\"DENY\"}\n");
    durward(&[&ask[..], &["{ward"]].concat()).exits(2);
}

#[test]
fn the_exit_code_says_the_decision_where_asked() {
    let ask = ["decide", "--policies", "wards", "--exit-code", "-s", ADA, "-a", "\"read\"", "-r"];
    // A permit with an obligation, a denial, no subscription, no policies, no such flag.
    durward(&[&ask[..], &[r#"{"ward": 3}"#]].concat()).exits(4);
    durward(&[&ask[..], &[r#"{"ward": 5}"#]].concat()).exits(2);
    durward(&[&ask[..], &["{ward"]].concat()).exits(1);
    durward(&["decide", "--policies", "nowhere", "--exit-code"]).exits(1);
    durward(&["decide", "--policies", "wards", "--exit-code", "--request", "nowhere"]).exits(1);
    durward(&["decide", "--exit-code", "--no-such-flag"]).exits(1);
    let xacml = ["decide", "--policies", "hospital", "--exit-code", "--request"];
    durward(&[&xacml[..], &["visitor.json"]].concat()).exits(2);
}

#[test]
fn subscriptions_in_lines_are_decided_in_order() {
    let ran = durward(&["decide", "--policies", "wards", "--requests", "wards.jsonl"]).exits(0);
    let decisions: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
    for (line, expected) in decisions.iter().zip(["PERMIT", "DENY", "INDETERMINATE"]) {
        assert!(line.contains(&format!(r#""decision":"{expected}""#)), "{line}");
    }
    assert_eq!(decisions.len(), 3);
}

#[test]
fn mistakes_are_found_with_their_place_and_a_way_out() {
    let ran = durward(&["check", "wards-broken"]).exits(1);
    assert!(ran.stdout.contains("doctors.sapl:3:14: error: `policy` is a keyword"), "{}", ran.stdout);
    assert!(ran.stdout.contains("  help: write"), "{}", ran.stdout);
    assert_eq!(durward(&["check", "wards"]).exits(0).stdout, "2 documents: 0 errors, 0 warnings, 0 hints\n");
}

#[test]
fn decisions_are_explained_condition_by_condition_beside_xacml() {
    let lines = std::fs::read_to_string(crate::data("clinic.jsonl")).unwrap();
    for (number, line) in lines.lines().enumerate() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let question = line.get("subscription").or(line.get("request")).unwrap().to_string();
        let file = format!("explained-{}.txt", line["id"].as_str().unwrap());
        let ran = durward_fed(&["decide", "--policies", "clinic", "--explain"], &question);
        ran.exits(0).prints(&file);
        assert!(number < 6);
    }
}

#[test]
fn explanations_in_lines_are_json() {
    let ran =
        durward(&["decide", "--policies", "clinic", "--requests", "clinic.jsonl", "--explain"]).exits(0);
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let secret = &lines[1]["explanation"][0];
    assert_eq!(secret["outcome"], "DENY");
    let clearance = &secret["children"][0];
    assert_eq!(clearance["place"], "clinic/clearance.sapl:1:1");
    assert_eq!(clearance["conditions"][1]["outcome"], "true");
    assert_eq!(clearance["conditions"][1]["place"], "clinic/clearance.sapl:4:5");
    assert_eq!(secret["children"][1]["obligations"][0], r#"{"type":"log","who":"ada"}"#);
}

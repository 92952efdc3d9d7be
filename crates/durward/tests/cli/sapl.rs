//! Policies and questions of SAPL on the command line.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::binary::binary;
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

/// A new directory with one policy.
fn directory(name: &str, policy: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("durward-decide-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("p.sapl"), policy).unwrap();
    directory
}

#[test]
fn policies_have_the_time_and_other_attributes_are_said_to_be_missing() {
    let policy = "policy \"p\" permit time.hourOf(<time.now>) >= 0; <http.get({})> == undefined; \"x\".<a.b> == undefined;";
    let directory = directory("attributes", policy);
    let here = directory.to_str().unwrap();
    let ask = ["decide", "--policies", here, "-s", "1", "-a", "2", "-r", "3"];
    let ran = durward(&ask).exits(0);
    assert_eq!(ran.stdout, "{\"decision\":\"PERMIT\"}\n");
    let lacking = |name: &str| {
        format!(
            "durward: warning: a policy asks for the attribute `<{name}>`, which has no source here and is undefined; \
             `durward serve` has sources, `durward test` takes values from tests\n"
        )
    };
    assert_eq!(ran.stderr, lacking("http.get") + &lacking("a.b"));
    // The explanation is of the same decision.
    let explained = durward(&[&ask[..], &["--explain"]].concat()).exits(0).stdout;
    assert!(explained.contains("true: `time.hourOf(<time.now>) >= 0`"), "{explained}");
    let lines = "{\"id\":1,\"subscription\":{\"subject\":1,\"action\":2,\"resource\":3}}\n".repeat(2);
    let ran = durward_fed(&["decide", "--policies", here, "--requests", "-"], &lines).exits(0);
    assert_eq!(ran.stdout.matches("\"decision\":\"PERMIT\",").count(), 2);
    assert_eq!(ran.stderr, lacking("http.get") + &lacking("a.b"), "each is told of once");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_decision_is_watched_as_time_goes_by_and_policies_change() {
    let directory = directory("watched", "policy \"p\" permit <time.toggle(300, 300)>;");
    let mut command = Command::new(binary());
    command.args(["decide", "--stream", "-s", "1", "-a", "2", "-r", "3", "--policies"]).arg(&directory);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    for _ in 0..2 {
        assert_eq!(lines.next().unwrap(), "{\"decision\":\"PERMIT\"}");
        assert_eq!(lines.next().unwrap(), "{\"decision\":\"DENY\"}");
    }
    // Broken policies change nothing, others do.
    std::fs::write(directory.join("p.sapl"), "policy").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1_200));
    std::fs::write(directory.join("p.sapl"), "policy \"p\" suspend").unwrap();
    assert!(lines.by_ref().take(20).any(|line| line == "{\"decision\":\"SUSPEND\"}"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(lines.next(), None, "the same decision is told once");
    std::fs::remove_dir_all(directory).unwrap();
}

/// A question in one language to policies of the other is answered, and it is said that it is one.
#[test]
fn questions_in_another_language_than_all_policies_are_told_of() {
    let xacml = durward(&["decide", "--policies", "wards", "--request", "visitor.json"]).exits(0);
    let note =
        "all policies in force are of SAPL, which sees nothing of an XACML request; ask with a subscription";
    assert_eq!(xacml.stderr, format!("durward: warning: {note}\n"));
    let explained =
        durward(&["decide", "--policies", "wards", "--request", "visitor.json", "--explain"]).exits(0);
    assert!(explained.stdout.ends_with(&format!("note: {note}\n")), "{}", explained.stdout);
    let sapl = durward(&["decide", "--policies", "hospital", "-s", "1", "-a", "2", "-r", "3"]).exits(0);
    assert!(
        sapl.stderr.starts_with("durward: warning: all policies in force are of XACML, "),
        "{}",
        sapl.stderr
    );
    assert_eq!(
        durward(&["decide", "--policies", "hospital", "--request", "visitor.json"]).exits(0).stderr,
        ""
    );
}

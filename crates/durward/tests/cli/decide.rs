//! `durward decide` for one request.

use crate::{data, durward, durward_fed};

const HOSPITAL: [&str; 3] = ["decide", "--policies", "hospital"];

fn hospital(arguments: &[&str]) -> Vec<String> {
    HOSPITAL.iter().chain(arguments).map(ToString::to_string).collect()
}

fn decide(arguments: &[&str]) -> crate::Ran {
    let all = hospital(arguments);
    durward(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

fn decide_fed(arguments: &[&str], input: &str) -> crate::Ran {
    let all = hospital(arguments);
    durward_fed(&all.iter().map(String::as_str).collect::<Vec<_>>(), input)
}

#[test]
fn a_request_is_answered_in_its_own_form() {
    let ran = decide(&["--request", "hospital/example-request.xml"]).exits(0).prints("permit.xml");
    assert_eq!(ran.stderr, "");
    decide(&["--request", "visitor.json"]).exits(0).prints("deny.json");
}

#[test]
fn the_form_of_the_answer_can_be_chosen() {
    decide(&["--request", "hospital/example-request.xml", "--format", "json"]).exits(0).prints("permit.json");
    decide(&["--request", "visitor.json", "--format", "xml"]).exits(0).prints("deny.xml");
}

#[test]
fn a_request_is_read_from_standard_input() {
    let request = std::fs::read_to_string(data("visitor.json")).unwrap();
    decide_fed(&[], &request).exits(0).prints("deny.json");
    decide_fed(&["--request", "-"], &request).exits(0).prints("deny.json");
    // As some editors save it.
    decide_fed(&[], &format!("\u{feff}\n {request}")).exits(0).prints("deny.json");
}

#[test]
fn every_index_answers_the_same() {
    for index in ["auto", "scan", "bloom", "canonical", "diagram"] {
        decide(&["--request", "hospital/example-request.xml", "--index", index])
            .exits(0)
            .prints("permit.xml");
    }
}

#[test]
fn an_explanation_names_the_rule_that_decided() {
    let ran = decide(&["--request", "hospital/example-request.xml", "--explain"]).exits(0);
    assert!(ran.stdout.starts_with("<Response"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Permit: rule `doctors-read`"), "{}", ran.stdout);
    assert!(ran.stdout.contains("hospital/rules.xml:5:3"), "{}", ran.stdout);
}

#[test]
fn a_request_that_cannot_be_read_is_indeterminate_and_bad_input() {
    let ran = decide_fed(&[], "<Request").exits(2);
    assert!(ran.stdout.contains("<Decision>Indeterminate</Decision>"), "{}", ran.stdout);
    assert!(ran.stdout.contains("status:syntax-error"));
    assert!(ran.stderr.starts_with("durward: error: standard input: "), "{}", ran.stderr);
    let ran = decide_fed(&[], r#"{"Request": {"Category": 5}}"#).exits(2);
    assert!(ran.stdout.contains(r#""Decision":"Indeterminate""#), "{}", ran.stdout);
}

#[test]
fn what_is_no_request_at_all_is_bad_input() {
    for input in ["", "   \n", "doctor reads", "\u{0}"] {
        let ran = decide_fed(&[], input).exits(2);
        let message = "standard input: the request is neither XML nor JSON";
        ran.complains(
            message,
            "it begins with `<Request` or `{\"Request\": ...}`, or is an object with a `subject`",
        );
    }
}

#[test]
fn files_that_are_not_there_are_named() {
    durward(&["decide", "--policies", "nowhere"]).exits(2).complains(
        "nowhere: No such file or directory",
        "give a policy file, or a directory with files `*.sapl` or `*.xml`; `durward init` writes a project",
    );
    let ran = decide(&["--request", "nothing.xml"]).exits(2);
    assert_eq!(ran.stderr, "durward: error: cannot read nothing.xml: No such file or directory\n");
    let ran = durward(&["decide", "--policies", "expected", "--request", "visitor.json"]).exits(2);
    assert!(ran.stderr.contains("expected: no policies here"), "{}", ran.stderr);
}

#[test]
fn policies_that_cannot_be_used_are_shown_with_their_place() {
    let ran = durward(&["decide", "--policies", "broken", "--request", "visitor.json"]).exits(2);
    assert_eq!(ran.stdout, "");
    let first = "durward: error: broken/policy.xml:6:7: unknown function \
                 `urn:oasis:names:tc:xacml:1.0:function:string-equals`";
    assert!(ran.stderr.starts_with(first), "{}", ran.stderr);
    assert!(ran.stderr.contains("durward: hint: `durward check`"), "{}", ran.stderr);
}

#[test]
fn several_roots_are_combined_as_told() {
    let decision = |arguments: &[&str]| {
        let mut all = vec!["decide", "--policies", "roots", "--request", "visitor.json"];
        all.extend(arguments);
        let stdout = durward(&all).exits(0).stdout;
        ["Permit", "Deny", "NotApplicable"]
            .into_iter()
            .find(|it| stdout.contains(&format!("\"{it}\"")))
            .unwrap()
    };
    assert_eq!(decision(&[]), "Deny");
    assert_eq!(decision(&["--combining", "permit-overrides"]), "Permit");
    assert_eq!(decision(&["--combining", "first-applicable"]), "Deny");
    let uri = "urn:oasis:names:tc:xacml:3.0:policy-combining-algorithm:deny-unless-permit";
    assert_eq!(decision(&["--combining", uri]), "Permit");
    assert_eq!(decision(&["--root", "permits"]), "Permit");
    let ran =
        durward(&["decide", "--policies", "roots", "--request", "visitor.json", "--root", "other"]).exits(2);
    assert!(ran.stderr.contains("no policy or policy set `other` to start from"), "{}", ran.stderr);
}

#[test]
fn policies_may_be_given_several_times() {
    let all = ["decide", "--policies", "roots/deny.xml", "--policies", "roots/permit.xml"];
    let ran =
        durward(&[&all[..], &["--request", "visitor.json", "--combining", "permit-overrides"]].concat());
    assert!(ran.exits(0).stdout.contains("\"Permit\""));
}

#[test]
fn attributes_from_a_file_are_used_where_the_request_lacks_them() {
    let source = ["--attributes", "everybody-is-a-doctor.json"];
    decide(&["--request", "action-only.json"]).exits(0).prints("deny.json");
    decide(&[&["--request", "action-only.json"][..], &source].concat()).exits(0).prints("permit.json");
    // What the request says itself counts.
    decide(&[&["--request", "visitor.json"][..], &source].concat()).exits(0).prints("deny.json");
    let ran = decide(&["--request", "visitor.json", "--attributes", "hierarchy.json"]).exits(2);
    assert!(ran.stderr.starts_with("durward: error: hierarchy.json: "), "{}", ran.stderr);
}

#[test]
fn a_hierarchy_answers_for_everything_below() {
    let ran = decide(&["--request", "scoped.json", "--hierarchy", "hierarchy.json"]).exits(0);
    assert_eq!(ran.stdout.matches("\"Permit\"").count(), 4, "{}", ran.stdout);
    let ran = decide(&["--request", "scoped.json"]).exits(0);
    assert!(ran.stdout.contains("Indeterminate"), "{}", ran.stdout);
    let ran = decide(&["--request", "scoped.json", "--hierarchy", "asks.jsonl"]).exits(2);
    assert!(ran.stderr.contains("asks.jsonl: not a hierarchy"), "{}", ran.stderr);
}

#[test]
fn input_that_nests_without_end_is_refused() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    decide_fed(&[], &deep("<a>", "</a>")).exits(2);
    decide_fed(&[], &format!(r#"{{"Request": {}}}"#, deep("[", "]"))).exits(2);
    let line = format!("{{\"id\": 1, \"request\": {{\"Request\": {}}}}}\n", deep("[", "]"));
    decide_fed(&["--requests", "-"], &line).exits(2);
}

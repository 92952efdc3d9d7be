//! `durward decide` for many requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::{command, data, durward, durward_fed};

const ANSWER: [&str; 4] = ["decide", "--policies", "hospital", "--requests"];

#[test]
fn lines_are_answered_in_order_each_in_its_form() {
    durward(&[&ANSWER[..], &["asks.jsonl"]].concat()).exits(0).prints("answers.jsonl");
    let asks = std::fs::read_to_string(data("asks.jsonl")).unwrap();
    durward_fed(&[&ANSWER[..], &["-"]].concat(), &asks).exits(0).prints("answers.jsonl");
}

#[test]
fn every_line_of_the_answer_is_json() {
    let ran = durward(&[&ANSWER[..], &["asks.jsonl", "--explain", "--format", "json"]].concat()).exits(0);
    let lines: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 5);
    assert!(
        lines.iter().all(|line| line["response"]["Response"].is_array() && line["explanation"].is_array())
    );
    assert_eq!(lines[1]["id"], 2);
    assert!(lines[0]["explanation"].to_string().contains("doctors-read"));
}

#[test]
fn bad_lines_are_indeterminate_and_do_not_stop_the_others() {
    let ran = durward(&[&ANSWER[..], &["bad.jsonl"]].concat()).exits(2).prints("bad-answers.jsonl");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 6, "{}", ran.stderr);
    for (line, number) in lines.iter().zip(2..) {
        assert!(line.starts_with(&format!("durward: error: bad.jsonl:{number}: ")), "{line}");
    }
    assert!(lines[5].contains("`resource`"), "{}", lines[5]);
}

#[test]
fn recorded_decisions_that_agree_are_counted() {
    let ran = durward(&[&ANSWER[..], &["asks.jsonl", "--expect", "decisions.jsonl"]].concat()).exits(0);
    assert_eq!(ran.stdout, "5 compared, 0 differences\n");
}

#[test]
fn recorded_decisions_that_differ_are_listed() {
    let ran = durward(&[&ANSWER[..], &["asks.jsonl", "--expect", "wrong-decisions.jsonl"]].concat()).exits(1);
    let expected = "2: expected NotApplicable, got Permit\nvisitor: expected Permit, got Deny\n\
                    4 compared, 2 differences, 1 without a recorded decision\n";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn recorded_decisions_about_other_requests_are_bad_input() {
    let ran = durward(&[&ANSWER[..], &["asks.jsonl", "--expect", "asks.jsonl"]].concat()).exits(2);
    assert!(
        ran.stderr.starts_with("durward: error: asks.jsonl:1: missing field `decision`"),
        "{}",
        ran.stderr
    );
    let ran = durward(&[&ANSWER[..], &["asks.jsonl", "--expect", "hierarchy.json"]].concat()).exits(2);
    assert!(ran.stderr.contains("missing field `id`"), "{}", ran.stderr);
    let ran = durward_fed(
        &[&ANSWER[..], &["asks.jsonl", "--expect", "-"]].concat(),
        "{\"id\": 7, \"decision\": \"Deny\"}",
    );
    ran.exits(2).complains(
        "standard input holds no decision for any of the requests",
        "the `id`s of both files must be the same",
    );
}

/// A program that asks line by line gets each answer before it asks the next.
#[test]
fn answers_do_not_wait_for_the_next_line() {
    let mut command = command(&[&ANSWER[..], &["-"]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for number in 1..=3 {
        writeln!(input, "{{\"id\": {number}, \"request\": {{\"Request\": {{\"Action\": {{}}}}}}}}").unwrap();
        input.flush().unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{{\"id\":{number},\"decision\":\"Deny\"")), "{line}");
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// `durward decide ... | head` ends quietly.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let asks = std::fs::read_to_string(data("asks.jsonl")).unwrap().repeat(2_000);
    let mut command = command(&[&ANSWER[..], &["-"]].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    // The binary may stop reading before all is written.
    let _ = child.stdin.take().unwrap().write_all(asks.as_bytes());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "");
}

/// Decisions recorded from other engines, on the data set where it is there.
#[test]
fn recorded_decisions_of_other_engines_are_met_with_every_index() {
    let Some(recorded) = durward_testdata::recorded("xacml") else { return };
    let sets = [
        ("continue/continue-a-3.0.xml", "continue/requests-core.jsonl", "continue/decisions.jsonl"),
        (
            "policies/synth-100-do.xml",
            "policies/synth-100-do.requests.jsonl",
            "policies/synth-100-do.decisions.jsonl",
        ),
    ];
    for (policies, requests, decisions) in sets.map(|(policies, requests, decisions)| {
        let path = |name: &str| recorded.join(name).display().to_string();
        (path(policies), path(requests), path(decisions))
    }) {
        for index in ["scan", "bloom", "canonical", "diagram"] {
            let arguments = [
                "decide",
                "--policies",
                &policies,
                "--requests",
                &requests,
                "--expect",
                &decisions,
                "--index",
                index,
            ];
            let ran = durward(&arguments).exits(0);
            assert!(ran.stdout.contains(" compared, 0 differences"), "{}", ran.stdout);
        }
    }
}

//! The decision log, counted: one line for each decision that `durward_decisions_total` counts, whichever way somebody
//! was told it, with the reason of each that is indeterminate.

use std::fs;

use durward_server::decider::Outcome;
use durward_wire::rsocket::frame::Interaction;
use serde_json::Value as Json;

use crate::rsocket::Client;
use crate::sapl::{Stream, ask};
use crate::support::{Directory, TestServer};

const SETTINGS: &str = "sapl.http = true\nrsocket.listen = '127.0.0.1:0'\nauth.danger_allow_no_auth = true\n\
                        decision_log.to = 'file'\n";

const ALGORITHM: &str = r#"{"algorithm": {"votingMode": "PRIORITY_PERMIT", "defaultDecision": "DENY",
    "errorHandling": "PROPAGATE"}}"#;

const READING: &str = "policy \"reading\"\npermit\n  subject == \"alice\";\nobligation \"log it\"\n";

/// Fails for whoever is no number.
const SHARE: &str = "policy \"share\"\npermit\n  subject != \"alice\";\n  1 / subject == 1;\n";

fn policies() -> Directory {
    let directory = Directory::new();
    for (name, text) in [("pdp.json", ALGORITHM), ("reading.sapl", READING), ("share.sapl", SHARE)] {
        directory.write(&format!("policies/{name}"), text);
    }
    directory
}

fn start(more: &str) -> TestServer {
    TestServer::start_in(policies(), &format!("{SETTINGS}{more}")).unwrap()
}

fn subscription(subject: &str) -> String {
    format!(r#"{{"subject":{subject},"action":"read","resource":"document"}}"#)
}

/// A server, and how many lines of its log were looked at.
struct Counted {
    server: TestServer,
    seen: usize,
}

impl Counted {
    fn total(&self) -> usize {
        let all = ["Permit", "Deny", "NotApplicable", "Indeterminate", "Suspend"];
        let count =
            |word: &&str| self.server.metric(&format!("durward_decisions_total{{decision=\"{word}\"}}"));
        all.iter().map(count).sum::<f64>() as usize
    }

    fn text(&self) -> String {
        fs::read_to_string(self.server.directory.path("decisions.jsonl")).unwrap()
    }

    /// The lines since the last time, once there are as many as decisions were counted; and these are of that surface
    /// and route, are what was decided, and say why where it was not.
    fn told(&mut self, surface: &str, route: &str, decided: &[&str]) -> Vec<Json> {
        let expected = self.seen + decided.len();
        self.server.eventually("there is a line for each decision", |_| {
            self.total() == expected && self.text().lines().count() == expected
        });
        let text = self.text();
        let lines: Vec<Json> =
            text.lines().skip(self.seen).map(|line| serde_json::from_str(line).unwrap()).collect();
        self.seen = expected;
        for (line, decision) in lines.iter().zip(decided) {
            assert_eq!((&line["surface"], &line["route"]), (&surface.into(), &route.into()), "{line}");
            assert_eq!(
                (&line["decision"], &line["results"][0]["decision"]),
                (&(*decision).into(), &line["decision"])
            );
            assert_eq!(line["tenant"], "default", "{line}");
            assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
            assert!(line["request_id"].as_str().unwrap().len() > 3, "{line}");
            assert!(line["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
            assert_eq!(line["reasons"].is_array(), *decision == "Indeterminate", "{line}");
        }
        // Counted a moment after they stand in the file.
        let written = "durward_decision_log_lines_total{result=\"written\"}";
        self.server.eventually("the lines are counted", |server| server.metric(written) == expected as f64);
        lines
    }
}

/// The only reason, as `policy, place: message`; the place without the directory of the policies.
fn reason(line: &Json) -> String {
    let reasons = line["reasons"].as_array().unwrap();
    assert_eq!(reasons.len(), 1, "{line}");
    let word = |name: &str| reasons[0][name].as_str().unwrap();
    let place = word("place").rsplit('/').next().unwrap();
    format!("{}, {place}: {}", word("policy"), word("message"))
}

/// The value that the message quotes is that of an attribute.
fn share_failed(line: &Json) {
    assert_eq!(reason(line), "share, share.sapl:1:1: a number is needed, but … is a text");
}

#[test]
fn sapl_over_http_has_a_line_for_each_decision() {
    let mut counted = Counted { server: start(""), seen: 0 };
    let (alice, bob) = (subscription("\"alice\""), subscription("\"bob\""));
    assert_eq!(ask(&counted.server, "decide-once", &bob).json()["decision"], "INDETERMINATE");
    let lines = counted.told("http", "decide-once", &["Indeterminate"]);
    share_failed(&lines[0]);
    assert_eq!(lines[0]["snapshot"], 1);
    assert!(lines[0]["duration_us"].as_f64().unwrap() > 0.0);
    assert_eq!(
        lines[0]["attributes"][0],
        serde_json::json!({"category":"subject","attributes":[{"id":"subject-id"}]})
    );
    ask(&counted.server, "decide-once", &alice);
    let lines = counted.told("http", "decide-once", &["Permit"]);
    assert_eq!(lines[0]["results"][0]["obligation_count"], 1);
    ask(&counted.server, "multi-decide-all-once", &format!(r#"{{"b":{bob},"a":{alice},"c":{bob}}}"#));
    let lines = counted.told("http", "multi-decide-all-once", &["Indeterminate", "Permit", "Indeterminate"]);
    let ids: Vec<&str> = lines.iter().map(|line| line["subscription"].as_str().unwrap()).collect();
    assert_eq!(ids, ["b", "a", "c"]);
    assert!(lines.iter().all(|line| line["request_id"] == lines[0]["request_id"]));
    share_failed(&lines[0]);
    share_failed(&lines[2]);
    ask(&counted.server, "multi-decide-all-once", "{}");
    let lines = counted.told("http", "multi-decide-all-once", &["Indeterminate"]);
    assert_eq!(lines[0]["reasons"][0]["message"], "the multi-subscription has no subscriptions");
    // What is no question is no decision.
    assert_eq!(ask(&counted.server, "decide-once", "{}").status, 400);
    counted.told("http", "decide-once", &[]);
}

#[test]
fn events_have_a_line_for_each_decision_told() {
    let mut counted = Counted { server: start(""), seen: 0 };
    let (alice, bob) = (subscription("\"alice\""), subscription("\"bob\""));
    let mut stream = Stream::open(&counted.server, "decide", "", &bob);
    assert!(stream.next().contains("INDETERMINATE"));
    share_failed(&counted.told("sse", "decide", &["Indeterminate"])[0]);
    counted.server.directory.write("policies/share.sapl", "policy \"share\"\ndeny\n");
    assert!(stream.next().contains("DENY"));
    let lines = counted.told("sse", "decide", &["Deny"]);
    assert_eq!(lines[0]["snapshot"], 2, "that by which it was decided");
    counted.server.directory.write("policies/share.sapl", SHARE);
    assert!(stream.next().contains("INDETERMINATE"));
    share_failed(&counted.told("sse", "decide", &["Indeterminate"])[0]);
    drop(stream);
    let both = format!(r#"{{"b":{bob},"a":{alice}}}"#);
    let mut stream = Stream::open(&counted.server, "multi-decide", "", &both);
    stream.next();
    let lines = counted.told("sse", "multi-decide", &["Indeterminate", "Permit"]);
    share_failed(&lines[0]);
    assert_eq!((&lines[0]["subscription"], &lines[1]["subscription"]), (&"b".into(), &"a".into()));
    counted.server.directory.write("policies/share.sapl", "policy \"share\"\ndeny\n");
    stream.next();
    let lines = counted.told("sse", "multi-decide", &["Deny"]);
    assert_eq!(lines[0]["subscription"], "b");
    drop(stream);
    let mut stream = Stream::open(&counted.server, "multi-decide-all", "", &both);
    stream.next();
    counted.told("sse", "multi-decide-all", &["Deny", "Permit"]);
    counted.server.directory.write("policies/share.sapl", SHARE);
    stream.next();
    share_failed(&counted.told("sse", "multi-decide-all", &["Indeterminate", "Permit"])[0]);
    let mut nothing = Stream::open(&counted.server, "multi-decide", "", "{}");
    nothing.next();
    counted.told("sse", "multi-decide", &["Indeterminate"]);
}

#[test]
fn rsocket_has_a_line_for_each_decision() {
    let mut counted = Counted { server: start(""), seen: 0 };
    let mut client = Client::open(&counted.server, None);
    client.ask(1, Interaction::Response, "decide-once", "bob");
    assert_eq!(client.outcome(1, true), Outcome::Indeterminate);
    share_failed(&counted.told("rsocket", "decide-once", &["Indeterminate"])[0]);
    client.ask(3, Interaction::Stream, "decide", "bob");
    assert_eq!(client.outcome(3, false), Outcome::Indeterminate);
    share_failed(&counted.told("rsocket", "decide", &["Indeterminate"])[0]);
    counted.server.directory.write("policies/share.sapl", "policy \"share\"\ndeny\n");
    assert_eq!(client.outcome(3, false), Outcome::Deny);
    counted.told("rsocket", "decide", &["Deny"]);
    client.say(|out| durward_wire::rsocket::write::cancel(out, 3));
    let both = [("b", "bob"), ("a", "alice")];
    client.ask_several(5, Interaction::Response, "multi-decide-all-once", &both);
    client.payload(5, true);
    let lines = counted.told("rsocket", "multi-decide-all-once", &["Deny", "Permit"]);
    assert_eq!((&lines[0]["subscription"], &lines[1]["subscription"]), (&"b".into(), &"a".into()));
    client.ask_several(7, Interaction::Stream, "multi-decide", &both);
    client.payload(7, false);
    client.payload(7, false);
    counted.told("rsocket", "multi-decide", &["Deny", "Permit"]);
    counted.server.directory.write("policies/share.sapl", SHARE);
    client.payload(7, false);
    share_failed(&counted.told("rsocket", "multi-decide", &["Indeterminate"])[0]);
    client.say(|out| durward_wire::rsocket::write::cancel(out, 7));
    client.ask_several(9, Interaction::Stream, "multi-decide-all", &both);
    client.payload(9, false);
    share_failed(&counted.told("rsocket", "multi-decide-all", &["Indeterminate", "Permit"])[0]);
    client.ask_several(11, Interaction::Response, "multi-decide-all-once", &[]);
    client.payload(11, true);
    counted.told("rsocket", "multi-decide-all-once", &["Indeterminate"]);
}

const RECORDS: &str = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="records" Version="1.0"
    RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:permit-overrides">
  <Target/>
  <Rule RuleId="doctors" Effect="Permit">
    <Target><AnyOf><AllOf>
      <Match MatchId="urn:oasis:names:tc:xacml:1.0:function:string-equal">
        <AttributeValue DataType="http://www.w3.org/2001/XMLSchema#string">doctor</AttributeValue>
        <AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
          AttributeId="role" DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="true"/>
      </Match>
    </AllOf></AnyOf></Target>
  </Rule>
</Policy>"#;

#[test]
fn xacml_has_a_line_for_each_result() {
    let directory = Directory::new();
    directory.write("policies/records.xml", RECORDS);
    let server = TestServer::start_in(directory, SETTINGS).unwrap();
    let mut counted = Counted { server, seen: 0 };
    let json = [("Content-Type", "application/xacml+json")];
    counted.server.post(&json, r#"{"Request":{"AccessSubject":{"Attribute":[]}}}"#);
    let lines = counted.told("xacml", "/pdp", &["Indeterminate"]);
    let missing = "records/doctors, records.xml:4:3: attribute `role` is missing";
    assert_eq!(reason(&lines[0]), missing);
    let several = r#"{"Request":{"AccessSubject":[
        {"Attribute":[{"AttributeId":"role","Value":"doctor"}]}, {"Attribute":[{"AttributeId":"name","Value":"x"}]}]}}"#;
    counted.server.post(&json, several);
    let lines = counted.told("xacml", "/pdp", &["Permit", "Indeterminate"]);
    assert_eq!(reason(&lines[1]), missing);
    let parts: Vec<_> = lines.iter().map(|line| (line["part"].as_u64(), line["parts"].as_u64())).collect();
    assert_eq!(parts, [(Some(1), Some(2)), (Some(2), Some(2))]);
    assert!(lines[0]["attributes"].is_array() && lines[1]["attributes"].is_null());
    // SAPL's clients are answered by XACML policies too.
    ask(&counted.server, "decide-once", &subscription("\"bob\""));
    let lines = counted.told("http", "decide-once", &["Indeterminate"]);
    assert_eq!(reason(&lines[0]), missing);
}

/// Whatever a caller sends: each line is one line, and JSON, and holds nothing that is not to be written.
#[test]
fn nothing_that_a_caller_sends_gets_out_of_its_line() {
    let counted = Counted {
        server: start("decision_log.redact = 'none'\ndecision_log.redact_attributes = ['ssn']"),
        seen: 0,
    };
    let server = &counted.server;
    let hostile =
        "a\\n{\\\"decision\\\":\\\"Permit\\\"}\\r\\u001b[2J\\u0085\\u2028\\u009b\\u202e\\u061c\\u0000";
    let one = format!(
        r#"{{"subject":{{"name":"{hostile}","{hostile}":1,"ssn":"078-05-1120","card":{{"of":[{{"ssn":"078-05-1120"}}]}}}},
            "action":"{hostile}","resource":"r","secrets":{{"key":"open sesame"}}}}"#
    );
    assert_eq!(ask(server, "decide-once", &one).status, 200);
    let token =
        r#"{"subject":{"session":"s3cr3t"},"action":"read","resource":"r","secrets":{"key":"open sesame"}}"#;
    assert_eq!(ask(server, "decide-once", token).status, 200);
    let all = format!(r#"{{"{hostile}":{one},"{}":{one}}}"#, "x".repeat(5_000));
    assert_eq!(ask(server, "multi-decide-all-once", &all).status, 200);
    server.eventually("the lines are written", |_| counted.text().lines().count() == 4);
    let text = counted.text();
    assert!(!text.contains("078-05") && !text.contains("sesame") && !text.contains("s3cr3t"), "{text}");
    let is_loud = |letter: char| {
        letter != '\n' && (letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{61c}'))
    };
    assert!(!text.contains(is_loud), "{text:?}");
    for line in text.lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        assert!(line["subscription"].as_str().is_none_or(|id| id.chars().count() <= 256));
    }
    assert!(text.contains(r#""values":["a\n{\"decision\""#), "{text}");
}

#[test]
fn a_huge_question_makes_no_huge_line() {
    let counted =
        Counted { server: start("decision_log.redact = 'none'\nsapl.body_bytes_max = 4000000"), seen: 0 };
    let keys: Vec<String> = (0..10_000).map(|key| format!(r#""key{key}":"{}""#, "x".repeat(100))).collect();
    let body =
        format!(r#"{{"subject":{{{}}},"action":"{}","resource":1}}"#, keys.join(","), "y".repeat(100_000));
    assert_eq!(ask(&counted.server, "decide-once", &body).status, 200);
    counted.server.eventually("the line is written", |_| counted.text().ends_with('\n'));
    let text = counted.text();
    assert!(text.len() < 150_000, "{}", text.len());
    let line: Json = serde_json::from_str(text.trim()).unwrap();
    assert_eq!(line["attributes_cut"], true);
}

/// A disk that is full loses lines, and says so; decisions go on.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_counted_and_stops_nobody() {
    let text = format!("{}decision_log.to = '/dev/full'", SETTINGS.replace("decision_log.to = 'file'\n", ""));
    let server = TestServer::start_in(policies(), &text).unwrap();
    for _ in 0..20 {
        assert_eq!(ask(&server, "decide-once", &subscription("\"alice\"")).status, 200);
    }
    let failed = "durward_decision_log_lines_total{result=\"failed\"}";
    server.eventually("all lines are counted", |server| server.metric(failed) == 20.0);
    assert_eq!(server.metric("durward_decision_log_lines_total{result=\"written\"}"), 0.0);
}

/// A short text can be much in memory.
#[test]
fn the_queue_counts_what_a_question_takes_in_memory() {
    let counted = Counted { server: start("decision_log.queue_bytes_max = 100000"), seen: 0 };
    let lines = |result: &str| {
        counted.server.metric(&format!("durward_decision_log_lines_total{{result=\"{result}\"}}"))
    };
    let subject = |count: usize| subscription(&format!("[{}]", vec!["0"; count].join(",")));
    assert_eq!(ask(&counted.server, "decide-once", &subject(10)).status, 200);
    counted.server.eventually("the line is written", |_| lines("written") == 1.0);
    assert_eq!(ask(&counted.server, "decide-once", &subject(10_000)).status, 200);
    counted.server.eventually("the other is dropped", |_| lines("dropped") == 1.0);
    assert_eq!(lines("written"), 1.0);
}

/// Somebody floods a log whose queue is small: what does not fit is counted, and all are answered.
#[cfg(unix)]
#[test]
fn lines_that_do_not_fit_the_queue_are_dropped_and_counted() {
    let mut counted = Counted { server: start("decision_log.queue_bytes_max = 3000"), seen: 0 };
    let mut client = Client::open(&counted.server, None);
    let ids: Vec<(String, &str)> = (0..200).map(|id| (format!("id{id}"), "bob")).collect();
    let ids: Vec<(&str, &str)> = ids.iter().map(|(id, subject)| (id.as_str(), *subject)).collect();
    for stream in 0..20 {
        client.ask_several(2 * stream + 1, Interaction::Response, "multi-decide-all-once", &ids);
    }
    (0..20).for_each(|stream| drop(client.payload(2 * stream + 1, true)));
    let lines = |result: &str| {
        counted.server.metric(&format!("durward_decision_log_lines_total{{result=\"{result}\"}}"))
    };
    counted.server.eventually("each decision is written or dropped", |_| {
        lines("written") + lines("dropped") == 4_000.0
    });
    assert!(lines("dropped") > 0.0);
    assert_eq!(counted.total(), 4_000);
    counted.seen = counted.text().lines().count();
    assert_eq!(counted.seen as f64, lines("written"));
}

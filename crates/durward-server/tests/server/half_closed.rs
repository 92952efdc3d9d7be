//! Clients of HTTP/1.1 that close their half of the connection once they have asked: they are answered all the same (RFC 9112, 9.6). That a
//! reader of events who does so counts as gone is a test of `hostile`.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use crate::decider::World;
use crate::support::{PATIENCE, Raw, TestServer, request_xml};

const OPEN: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\n";
const IN_FLIGHT: &str = "durward_requests_in_flight";

/// Long enough for the server to see that the client has closed its half.
const MOMENT: Duration = Duration::from_millis(100);

fn decide_once(subject: &str) -> String {
    let body = format!(r#"{{"subject":"{subject}","action":"read","resource":"document"}}"#);
    format!("POST /api/pdp/decide-once HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Sends all this, and says that there is no more.
fn ask(server: &TestServer, text: &str) -> Raw {
    let mut raw = server.connect();
    raw.send(text);
    raw.0.shutdown(Shutdown::Write).unwrap();
    raw
}

/// A client that has asked for what is answered later, alone or after something else.
fn waiting(settings: &str, first: &str) -> (TestServer, World, Raw) {
    let (server, world) = crate::sapl::start(&format!("{OPEN}{settings}"));
    let raw = ask(&server, &format!("{first}{}", decide_once("later")));
    server.eventually("it is waited for", |_| world.open() == 1);
    std::thread::sleep(MOMENT);
    (server, world, raw)
}

/// The bodies of all answers until the server closes, which it does at once.
fn bodies(raw: &mut Raw) -> Vec<String> {
    let (text, time) = raw.rest();
    assert!(time < PATIENCE / 2, "the connection was not kept until it is idle: {time:?}");
    let answers = text.split("HTTP/1.1 200 OK\r\n").skip(1);
    answers.map(|answer| answer.split_once("\r\n\r\n").unwrap().1.to_owned()).collect()
}

#[test]
fn a_request_is_answered_and_the_connection_ends() {
    let server = TestServer::start("");
    let mut raw = server.connect();
    raw.ask(&request_xml("doctor"));
    raw.0.shutdown(Shutdown::Write).unwrap();
    let answers = bodies(&mut raw);
    assert!(answers.len() == 1 && answers[0].contains("Permit"), "{answers:?}");
    // The end of the half may come in one piece with the body, and behind the header.
    let body = request_xml("doctor");
    let mut raw = server.connect();
    raw.send(&format!(
        "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n",
        body.len()
    ));
    std::thread::sleep(MOMENT);
    raw.0.write_all(body.as_bytes()).unwrap();
    raw.0.shutdown(Shutdown::Write).unwrap();
    assert_eq!(bodies(&mut raw), answers);
    assert_eq!(server.metric("durward_connections_total{result=\"failed\"}"), 0.0);
}

#[test]
fn an_answer_that_takes_its_time_is_given() {
    let (server, world, mut raw) = waiting("", "");
    assert_eq!(server.metric(IN_FLIGHT), 2.0, "it and the metrics");
    world.answer_later();
    assert_eq!(bodies(&mut raw), [r#"{"decision":"PERMIT"}"#]);
    server.eventually("it has left", |server| server.metric("durward_connections_open") == 1.0);
    assert_eq!(server.metric("durward_connections_total{result=\"failed\"}"), 0.0);
}

#[test]
fn pipelined_requests_are_all_answered_in_their_order() {
    let (_server, world, mut raw) = waiting("", &[decide_once("bob"), decide_once("bob")].concat());
    world.answer_later();
    let bob = r#"{"decision":"NOT_APPLICABLE"}"#;
    assert_eq!(bodies(&mut raw), [bob, bob, r#"{"decision":"PERMIT"}"#]);
}

#[test]
fn an_answer_that_does_not_come_is_not_waited_for_without_end() {
    let (server, world, mut raw) = waiting("server.request_time_ms_max = 1000", "");
    let (text, time) = raw.rest();
    assert!(text.is_empty() && time < PATIENCE / 2, "{time:?}: {text}");
    server.eventually("nothing is left", |server| {
        world.open() == 0 && server.metric("durward_connections_open") == 1.0
    });
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"server.request_time_ms_max\"}"), 1.0);
}

#[test]
fn an_answer_that_is_not_taken_is_not_held_without_end() {
    let server = TestServer::start("server.request_time_ms_max = 300");
    // More than the system keeps for a connection.
    let raw = ask(&server, &"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2_000));
    server.eventually("it has ended", |server| server.metric("durward_connections_open") == 1.0);
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"server.request_time_ms_max\"}"), 1.0);
    drop(raw);
}

/// RFC 9112, 8: what breaks off is no request.
#[test]
fn a_request_that_breaks_off_is_not_waited_for() {
    let server = TestServer::start("");
    for part in [
        "POST /pdp HTT",
        "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: 9\r\n\r\n<",
    ] {
        let (text, time) = ask(&server, part).rest();
        assert!(!text.contains(" 200 ") && time < Duration::from_secs(8), "{time:?}: {text}");
    }
    server.eventually("they have left", |server| {
        server.metric("durward_connections_open") == 1.0 && server.metric(IN_FLIGHT) == 1.0
    });
}

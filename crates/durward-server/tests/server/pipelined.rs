//! Requests of HTTP/1.1 that a client sends without waiting for answers (RFC 9112, 9.3.2).

use std::io::{Read, Write};

use crate::sapl_policies::start;
use crate::support::{TestServer, request_xml};

fn decide_once(subject: &str, path: &str) -> String {
    let body = format!(r#"{{"subject":"{subject}","action":"read","resource":"document"}}"#);
    let length = body.len();
    format!(
        "POST /api/pdp/{path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

const ALICE_READS: &str = "policy \"reading\"\npermit\n    subject == \"alice\";\n";

#[test]
fn requests_sent_at_once_are_answered_in_their_order() {
    let server = TestServer::start("");
    let mut raw = server.connect();
    let whole: String = (0..300)
        .map(|number| {
            let body = request_xml(if number % 3 == 0 { "doctor" } else { "visitor" });
            format!(
                "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        })
        .collect();
    let mut writing = raw.0.try_clone().unwrap();
    let writer = std::thread::spawn(move || writing.write_all(whole.as_bytes()).unwrap());
    for number in 0..300 {
        let (status, body) = raw.answer();
        let expected = if number % 3 == 0 { "Permit" } else { "Deny" };
        assert!(status == 200 && body.contains(expected), "{number}: {status} {body}");
    }
    writer.join().unwrap();
}

/// An answer must not wait for that of a later request, which may be a stream that never ends.
#[test]
fn an_answer_before_a_stream_is_there_at_once() {
    let server = start(&[("reading.sapl", ALICE_READS)]);
    let mut raw = server.connect();
    let behind = decide_once("alice", "decide-once");
    raw.send(&[decide_once("alice", "decide-once"), decide_once("alice", "decide"), behind].concat());
    let (status, body) = raw.answer();
    assert_eq!((status, body.as_str()), (200, r#"{"decision":"PERMIT"}"#));
    let mut seen = Vec::new();
    while !seen.ends_with(b"data:{\"decision\":\"PERMIT\"}\n\n\r\n") {
        let mut byte = [0];
        assert_eq!(raw.0.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
    // The stream goes on while a request waits behind it.
    server.directory.write("policies/reading.sapl", "policy \"reading\"\ndeny\n    subject == \"alice\";\n");
    while !seen.ends_with(b"data:{\"decision\":\"DENY\"}\n\n\r\n") {
        let mut byte = [0];
        assert_eq!(raw.0.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&seen));
        seen.push(byte[0]);
    }
}

#[test]
fn the_answer_before_a_broken_request_is_given() {
    let server = TestServer::start("");
    let mut raw = server.connect();
    let body = request_xml("doctor");
    raw.send(&format!(
        "POST /pdp HTTP/1.1\r\nHost: x\r\nContent-Type: application/xml\r\nContent-Length: {}\r\n\r\n{body}\0nonsense\r\n\r\n",
        body.len()
    ));
    let (status, body) = raw.answer();
    assert!(status == 200 && body.contains("Permit"), "{status} {body}");
    assert_eq!(raw.answer().0, 400);
}

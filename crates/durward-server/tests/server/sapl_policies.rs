//! SAPL's policies on disk, asked over both protocols, while they change.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::sapl::{Stream, ask};
use crate::support::{Directory, TestServer};

const OPEN: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\n";
const ALICE: &str = r#"{"subject":"alice","action":"read","resource":"document"}"#;

const READING: &str = r#"policy "reading"
permit
    subject == "alice" && action == "read";
obligation
    { "type": "log", "n": 1.50 }
"#;

/// What the clock says, every tenth of a second.
const CLOCK: &str = r#"policy "clock"
permit
    subject == "clock";
obligation
    <time.now(100)>
"#;

const PERMIT: &str = r#"{"decision":"PERMIT","obligations":[{"type":"log","n":1.50}]}"#;

pub(crate) fn start(policies: &[(&str, &str)]) -> TestServer {
    let directory = Directory::new();
    for (name, text) in policies {
        directory.write(&format!("policies/{name}"), text);
    }
    TestServer::start_in(directory, OPEN).unwrap()
}

#[test]
fn policies_decide() {
    let server = start(&[("reading.sapl", READING)]);
    assert_eq!(ask(&server, "decide-once", ALICE).text(), PERMIT);
    let bob = ALICE.replace("alice", "bob");
    assert_eq!(ask(&server, "decide-once", &bob).json()["decision"], "DENY");
    let all = format!(r#"{{"b":{bob},"a":{ALICE}}}"#);
    let expected = format!(r#"{{"b":{{"decision":"DENY"}},"a":{PERMIT}}}"#);
    assert_eq!(ask(&server, "multi-decide-all-once", &all).text(), expected);
}

#[test]
fn a_stream_tells_what_other_policies_decide() {
    let server = start(&[("reading.sapl", READING)]);
    let mut stream = Stream::open(&server, "decide", "", ALICE);
    assert_eq!(stream.next(), format!("data:{PERMIT}\n\n"));
    server.directory.write("policies/reading.sapl", &READING.replace("permit", "deny"));
    let deny = PERMIT.replace("PERMIT", "DENY");
    assert_eq!(stream.next(), format!("data:{deny}\n\n"));
    // A broken policy changes nothing.
    server.directory.write("policies/reading.sapl", "policy");
    server.eventually("the policies are broken", |server| server.ready()["status"] == "stale");
    server.directory.write("policies/reading.sapl", READING);
    assert_eq!(stream.next(), format!("data:{PERMIT}\n\n"));
}

#[test]
fn a_stream_tells_what_attributes_say() {
    let server = start(&[("reading.sapl", READING), ("clock.sapl", CLOCK)]);
    let clock = ALICE.replace("alice", "clock");
    let once = ask(&server, "decide-once", &clock).json();
    assert_eq!((&once["decision"], once["obligations"].as_array().unwrap().len()), (&"PERMIT".into(), 1));
    let mut stream = Stream::open(&server, "decide", "", &clock);
    let told: Vec<String> = (0..4).map(|_| stream.next()).collect();
    for (one, next) in told.iter().zip(&told[1..]) {
        assert!(
            one.starts_with("data:{\"decision\":\"PERMIT\",\"obligations\":[\"2") && one != next,
            "{one}"
        );
    }
    // Who does not need the clock is not told of it.
    let mut other = Stream::open(&server, "decide", "", ALICE);
    assert_eq!(other.next(), format!("data:{PERMIT}\n\n"));
    other.stays_silent(Duration::from_millis(500));
}

#[test]
fn a_tenant_without_policies_is_indeterminate_until_it_has_some() {
    let directory = Directory::new();
    directory.write("policies/reading.sapl", READING);
    let text = format!("{OPEN}auth.default_tenant = 'plant'\npolicies.wait = true");
    let server = TestServer::start_in(directory, &text).unwrap();
    assert_eq!(ask(&server, "decide-once", ALICE).text(), PERMIT);
    let directory = Directory::new();
    directory.write("policies/other.sapl", "policy");
    let server = TestServer::start_in(directory, &text).unwrap();
    let mut stream = Stream::open(&server, "decide", "", ALICE);
    assert_eq!(stream.next(), "data:{\"decision\":\"INDETERMINATE\"}\n\n");
    assert_eq!(ask(&server, "decide-once", ALICE).json()["decision"], "INDETERMINATE");
    server.directory.write("policies/other.sapl", READING);
    assert_eq!(stream.next(), format!("data:{PERMIT}\n\n"));
}

/// Says the same to everybody who asks, until it is told to say something else.
fn service(says: &Arc<Mutex<&'static str>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let says = Arc::clone(says);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let body = *says.lock().unwrap();
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    address
}

#[test]
fn a_decision_follows_what_a_service_says() {
    let says = Arc::new(Mutex::new(r#"{"open": true}"#));
    let policy = format!(
        "policy \"doors\"\npermit\n    var door = {{ \"baseUrl\": \"http://{}\" }};\n    \
         <http.get(door)[{{ pollIntervalMs: 50 }}]>.open;\n",
        service(&says)
    );
    let server = start(&[("doors.sapl", policy.as_str())]);
    assert_eq!(ask(&server, "decide-once", ALICE).text(), r#"{"decision":"PERMIT"}"#);
    let mut stream = Stream::open(&server, "decide", "", ALICE);
    assert_eq!(stream.next(), "data:{\"decision\":\"PERMIT\"}\n\n");
    *says.lock().unwrap() = r#"{"open": false}"#;
    let changed = stream.next();
    assert!(!changed.contains("PERMIT"), "{changed}");
    *says.lock().unwrap() = r#"{"open": true}"#;
    assert_eq!(stream.next(), "data:{\"decision\":\"PERMIT\"}\n\n");
}

//! SAPL's decisions over HTTP, with the bytes and statuses of SAPL's own server.

use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use crate::decider::World;
use crate::support::{Directory, PATIENCE, Raw, Reply, TestServer};

const ALICE: &str = r#"{"subject":"alice","action":"read","resource":"document"}"#;
const PERMIT: &str = r#"{"decision":"PERMIT","obligations":[{"type":"log","n":1.50}],"advice":["hint"],"resource":{"big":1E+3}}"#;
const DENY: &str = r#"{"decision":"DENY"}"#;
const OPEN: &str = "sapl.http = true\nauth.danger_allow_no_auth = true\n";

pub(crate) fn start(text: &str) -> (TestServer, World) {
    let world = World::default();
    let server = TestServer::start_deciding(Directory::new(), text, world.clone()).unwrap();
    (server, world)
}

pub(crate) fn ask(server: &TestServer, path: &str, body: &str) -> Reply {
    server.send("POST", &format!("/api/pdp/{path}"), &[], body.as_bytes())
}

/// A connection that has asked for a stream of events.
pub(crate) struct Stream(Raw);

impl Stream {
    pub(crate) fn open(server: &TestServer, path: &str, headers: &str, body: &str) -> Stream {
        let mut raw = server.connect();
        raw.send(&format!(
            "POST /api/pdp/{path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let mut stream = Stream(raw);
        let head = stream.until("\r\n\r\n").to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        for field in [
            "content-type: text/event-stream;charset=utf-8",
            "cache-control: no-cache",
            "transfer-encoding: chunked",
        ] {
            assert!(head.contains(&format!("{field}\r\n")), "{head}");
        }
        stream
    }

    fn until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let mut byte = [0];
            assert_eq!(self.0.0.read(&mut byte).unwrap(), 1, "closed: {}", String::from_utf8_lossy(&text));
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }

    /// Nothing comes for a while.
    pub(crate) fn stays_silent(&mut self, time: Duration) {
        self.0.0.set_read_timeout(Some(time)).unwrap();
        let read = self.0.0.read(&mut [0]);
        assert!(read.is_err(), "something came");
        self.0.0.set_read_timeout(Some(PATIENCE)).unwrap();
    }

    /// The next chunk.
    pub(crate) fn next(&mut self) -> String {
        let length = self.until("\r\n");
        let mut chunk = vec![0; usize::from_str_radix(length.trim_end(), 16).unwrap()];
        self.0.0.read_exact(&mut chunk).unwrap();
        assert_eq!(self.until("\r\n"), "\r\n");
        String::from_utf8(chunk).unwrap()
    }
}

#[test]
fn one_question_gets_one_answer() {
    let (server, _) = start(OPEN);
    let reply = ask(&server, "decide-once", ALICE);
    assert_eq!((reply.status, reply.text().as_str()), (200, PERMIT));
    assert_eq!(reply.header("content-type"), "application/json");
    assert_eq!(reply.header("content-length"), PERMIT.len().to_string());
    let bob = ALICE.replace("alice", "bob");
    assert_eq!(ask(&server, "decide-once", &bob).text(), r#"{"decision":"NOT_APPLICABLE"}"#);
    // What is not known is passed over, and no content type is asked for.
    let more = ALICE.replace("{\"s", "{\"more\":[1,{}],\"environment\":null,\"s");
    assert_eq!(ask(&server, "decide-once", &more).text(), PERMIT);
    assert_eq!(server.metric("durward_decisions_total{decision=\"Permit\"}"), 2.0);
    assert_eq!(server.metric("durward_subscription_fields_unknown_total"), 1.0);
    let several = format!(r#"{{"a":{ALICE},"b":{more}}}"#);
    assert_eq!(ask(&server, "multi-decide-all-once", &several).status, 200);
    assert_eq!(server.metric("durward_subscription_fields_unknown_total"), 2.0);
    assert_eq!(server.metric("durward_requests_total{route=\"/api/pdp/decide-once\",status=\"200\"}"), 3.0);
}

#[test]
fn null_as_the_resource_of_a_decision_is_told_and_undefined_is_not() {
    let (server, _) = start(OPEN);
    let ask_with = |secrets: &str| {
        let body = format!(r#"{{"subject":"secret","action":1,"resource":1{secrets}}}"#);
        ask(&server, "decide-once", &body).text()
    };
    assert_eq!(ask_with(""), r#"{"decision":"PERMIT"}"#);
    assert_eq!(ask_with(r#","secrets":{"a":null}"#), r#"{"decision":"PERMIT","resource":{"a":null}}"#);
}

#[test]
fn what_is_no_subscription_is_a_bad_request() {
    let (server, _) = start(OPEN);
    let long = format!(r#"{{"subject":"a","action":"b","resource":{}}}"#, "[".repeat(2000));
    let number = format!(r#"{{"subject":"a","action":"b","resource":{}}}"#, "1".repeat(1001));
    let cases = [
        "",
        "{",
        "[]",
        "null",
        r#"{"subject":"a","action":"b"}"#,
        r#"{"subject":"a","action":"b","resource":"c","secrets":"x"}"#,
        r#"{"subject":"a","action":"b","resource":"c"} x"#,
        r#"{"subject":"a","action":"b","resource":1e2000}"#,
        // Whoever looks at it on its way could take the first.
        r#"{"subject":"a","subject":"b","action":"b","resource":"c"}"#,
        r#"{"subject":{"a":1,"a":2},"action":"b","resource":"c"}"#,
        r#"{"subject":"a","action":"b","resource":{"a":[{"b":1,"\u0062":2}]}}"#,
        &long,
        &number,
    ];
    for body in cases {
        let reply = ask(&server, "decide-once", body);
        assert_eq!(reply.status, 400, "{body}");
        let json = reply.json();
        assert_eq!(json["status"], 400);
        assert_eq!(json["error"], "Bad Request");
        assert_eq!(json["path"], "/api/pdp/decide-once");
        // What is wrong is said where SAPL's server says it, if its settings include messages.
        assert!(json["message"].as_str().unwrap().len() > 10, "{json}");
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["timestamp", "status", "error", "message", "path"]);
        let time = json["timestamp"].as_str().unwrap();
        assert!(time.len() == 24 && time.ends_with('Z'), "{time}");
        assert_eq!(reply.header("content-type"), "application/json");
    }
    let twice = r#"{"subject":"a","action":{"b":1,"b":2},"resource":"c"}"#;
    assert_eq!(ask(&server, "decide", twice).status, 400);
    for path in ["decide", "multi-decide", "multi-decide-all", "multi-decide-all-once"] {
        assert_eq!(ask(&server, path, "[").status, 400, "{path}");
        assert_eq!(ask(&server, path, &format!("{{\"id\":{twice}}}")).status, 400, "{path}");
    }
    for body in [r#"{"":{}}"#, r#"{"a":1}"#, &format!(r#"{{" ":{ALICE}}}"#)] {
        assert_eq!(ask(&server, "multi-decide-all-once", body).status, 400, "{body}");
    }
    let many: Vec<String> = (0..257).map(|id| format!("\"{id}\":{ALICE}")).collect();
    let reply = ask(&server, "multi-decide-all-once", &format!("{{{}}}", many.join(",")));
    assert_eq!(reply.status, 400);
    assert_eq!(ask(&server, "decide-once", ALICE).status, 200);
}

#[test]
fn other_methods_and_paths_are_told_as_sapl_does() {
    let (server, _) = start(OPEN);
    let reply = server.get("/api/pdp/decide");
    assert_eq!((reply.status, reply.header("allow")), (405, "POST"));
    assert_eq!(reply.json()["error"], "Method Not Allowed");
    assert_eq!(reply.json()["message"], "this path takes only POST");
    let reply = ask(&server, "decide-twice", ALICE);
    assert_eq!((reply.status, reply.json()["path"].as_str()), (404, Some("/api/pdp/decide-twice")));
    let message = reply.json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("there are decide-once, decide, multi-decide,"), "{message}");
    let reply = ask(&server, "decide-once", &" ".repeat(70_000));
    assert_eq!((reply.status, reply.json()["error"].as_str()), (413, Some("Payload Too Large")));
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"sapl.body_bytes_max\"}"), 1.0);
}

#[test]
fn where_it_is_off_there_is_nothing_and_the_setting_is_named() {
    for text in [
        "sapl.http = false",
        "server.listen = '0.0.0.0:80'\nxacml.danger_allow_no_auth = true",
        "server.trusted_proxies = ['127.0.0.1']",
    ] {
        let server = started(text);
        assert_eq!(server.get("/api/pdp/decide-once").status, 404, "{text}");
        let reply = ask(&server, "decide-once", ALICE);
        assert_eq!((reply.status, reply.header("content-type")), (404, "application/json"), "{text}");
        let message = reply.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("`sapl.http`") && message.contains("`[auth]`"), "{message}");
        assert_eq!(reply.json()["path"], "/api/pdp/decide-once");
    }
}

/// A server with a policy of SAPL's, which is asked on the address of loopback whatever it listens on.
fn started(text: &str) -> TestServer {
    let directory = Directory::new();
    directory.write("policies/alice.sapl", "policy \"alice\" permit subject == \"alice\";");
    let mut server = TestServer::start_in(directory, text).unwrap();
    server.address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    server
}

#[test]
fn on_loopback_it_is_on_without_settings() {
    let server = started("");
    assert_eq!(ask(&server, "decide-once", ALICE).text(), r#"{"decision":"PERMIT"}"#);
    let bob = ALICE.replace("alice", "bob");
    assert_eq!(ask(&server, "decide-once", &bob).text(), DENY);
    let mut stream = Stream::open(&server, "decide", "", ALICE);
    assert_eq!(stream.next(), "data:{\"decision\":\"PERMIT\"}\n\n");
    assert_eq!(ask(&server, "multi-decide-all-once", &format!("{{\"a\":{ALICE}}}")).status, 200);
    // Nothing about it is weak, as nobody else can connect.
    assert!(server.ready()["warnings"].is_null(), "{}", server.ready());
    // Credentials that do not count are refused here as well.
    let headers = [("Authorization", "Basic dTpw")];
    assert_eq!(server.send("POST", "/api/pdp/decide-once", &headers, ALICE.as_bytes()).status, 401);
}

#[test]
fn on_loopback_callers_that_are_named_are_asked_who_they_are() {
    let user = "[[auth.users]]\nid = 'u'\nname = 'u'\npassword = '$argon2id$v=19$m=16384,t=2,p=1$\
                c29tZXNhbHQxMjM0NTY$cgjDW3sW92hlpcDZjp5vwbUFmJaTisOfqz88G4ypUtg'";
    let server = started(user);
    assert_eq!(ask(&server, "decide-once", ALICE).status, 401);
}

#[test]
fn what_another_path_takes_is_told_where_to_go() {
    let server = started("");
    let request = crate::support::request_json("doctor");
    for (path, body, words) in [
        ("decide-once", &*request, "send it to /pdp"),
        ("decide-once", "<Request/>", "send an XACML request to /pdp"),
        ("decide", r#"{"subject":"alice","action":"read"}"#, "lacks `resource`"),
        ("multi-decide", ALICE, "/api/pdp/decide-once"),
        ("multi-decide-all", &*request, "send it to /pdp"),
    ] {
        let reply = ask(&server, path, body);
        assert_eq!(reply.status, 400, "{path} {body}");
        assert!(reply.json()["message"].as_str().unwrap().contains(words), "{}", reply.text());
    }
    let reply = server.post(&[("Content-Type", "application/json")], ALICE);
    assert_eq!((reply.status, reply.header("content-type")), (400, "application/problem+json"));
    assert!(reply.text().contains("send it to /api/pdp/decide-once"), "{}", reply.text());
}

#[test]
fn a_mistake_in_deciding_is_indeterminate() {
    let (server, _) = start(OPEN);
    let body = ALICE.replace("alice", "panic");
    let reply = ask(&server, "decide-once", &body);
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"decision":"INDETERMINATE"}"#));
    assert_eq!(server.metric("durward_panics_total"), 1.0);
}

#[test]
fn a_stream_tells_each_decision_that_is_new() {
    let (server, world) = start(OPEN);
    let mut stream = Stream::open(&server, "decide", "", ALICE);
    assert_eq!(stream.next(), format!("data:{PERMIT}\n\n"));
    world.close(false);
    world.close(true);
    assert_eq!(stream.next(), format!("data:{DENY}\n\n"));
    world.close(false);
    assert_eq!(stream.next(), format!("data:{PERMIT}\n\n"));
    assert_eq!(server.metric("durward_streams_open{surface=\"sse\"}"), 1.0);
    drop(stream);
    server.eventually("the subscription is gone", |_| world.open() == 0);
    server.eventually("its place is free", |server| {
        server.metric("durward_streams_open{surface=\"sse\"}") == 0.0
    });
}

#[test]
fn several_questions_are_answered_together_or_as_they_change() {
    let (server, world) = start(OPEN);
    let bob = ALICE.replace("alice", "bob");
    let body = format!(r#"{{"b":{bob},"a":{ALICE}}}"#);
    let none = r#"{"decision":"NOT_APPLICABLE"}"#;
    let once = ask(&server, "multi-decide-all-once", &body);
    assert_eq!(once.text(), format!(r#"{{"b":{none},"a":{PERMIT}}}"#));
    let mut all = Stream::open(&server, "multi-decide-all", "", &body);
    let mut changed = Stream::open(&server, "multi-decide", "", &body);
    assert_eq!(all.next(), format!("data:{{\"b\":{none},\"a\":{PERMIT}}}\n\n"));
    let told = |id: &str, decision: &str| {
        format!("data:{{\"subscriptionId\":\"{id}\",\"decision\":{decision}}}\n\n")
    };
    assert_eq!(changed.next(), told("b", none) + &told("a", PERMIT));
    world.close(true);
    assert_eq!(all.next(), format!("data:{{\"b\":{none},\"a\":{DENY}}}\n\n"));
    assert_eq!(changed.next(), told("a", DENY));
}

#[test]
fn no_questions_are_answered_once() {
    let (server, _) = start(OPEN);
    let nothing = r#"{"":{"decision":"INDETERMINATE"}}"#;
    assert_eq!(ask(&server, "multi-decide-all-once", "{}").text(), nothing);
    assert_eq!(ask(&server, "multi-decide-all", "{}").text(), format!("data:{nothing}\n\n"));
    let told = "data:{\"subscriptionId\":\"\",\"decision\":{\"decision\":\"INDETERMINATE\"}}\n\n";
    assert_eq!(ask(&server, "multi-decide", "{}").text(), told);
}

#[test]
fn a_quiet_stream_shows_that_it_lives_for_longer_than_any_answer_may_take() {
    let limits =
        "sapl.keep_alive_ms = 200\nserver.request_time_ms_max = 300\nserver.idle_time_ms_max = 300\n";
    let (server, world) = start(&format!("{OPEN}{limits}"));
    let mut stream = Stream::open(&server, "decide", "", ALICE);
    stream.next();
    let begun = Instant::now();
    for _ in 0..8 {
        assert_eq!(stream.next(), ": keep-alive\n\n");
    }
    assert!(begun.elapsed() >= Duration::from_millis(1_500));
    world.close(true);
    assert_eq!(stream.next(), format!("data:{DENY}\n\n"));
}

#[test]
fn who_does_not_read_a_stream_is_given_up() {
    let (server, world) = start(&format!("{OPEN}server.request_time_ms_max = 300\nsapl.keep_alive_ms = 1"));
    let stream = Stream::open(&server, "decide", "", ALICE);
    let begun = Instant::now();
    while world.open() > 0 && begun.elapsed() < PATIENCE {
        // Many events, none of which is read.
        for is_closed in [true, false] {
            world.close(is_closed);
            thread::sleep(Duration::from_micros(200));
        }
    }
    assert_eq!(world.open(), 0);
    // The connection is counted a moment after its subscription has gone.
    server.eventually("it is counted", |server| {
        server.metric("durward_limits_hit_total{limit=\"server.request_time_ms_max\"}") == 1.0
    });
    drop(stream);
}

#[test]
fn a_server_that_stops_says_so_to_its_streams() {
    let (mut server, _) = start(OPEN);
    let mut stream = Stream::open(&server, "decide", "", ALICE);
    stream.next();
    server.begin_stop();
    assert_eq!(stream.next(), "event: shutdown\ndata: SAPL Node stopping\n\n");
    assert_eq!(stream.0.rest().0, "0\r\n\r\n");
    assert_eq!(server.stop().connections_cut, 0);
}

#[test]
fn too_many_streams_and_requests_are_told_to_come_back() {
    let (server, _) = start(&format!("{OPEN}sapl.streams_max = 1\nsapl.requests_per_second_max = 5"));
    let _stream = Stream::open(&server, "decide", "", ALICE);
    let reply = ask(&server, "decide", ALICE);
    assert_eq!((reply.status, reply.header("retry-after")), (503, "1"));
    assert_eq!(reply.json()["error"], "Service Unavailable");
    let replies: Vec<Reply> = (0..20).map(|_| ask(&server, "decide-once", ALICE)).collect();
    let refused = replies.iter().find(|reply| reply.status == 429).unwrap();
    assert_eq!(
        (refused.header("retry-after"), refused.json()["error"].as_str()),
        ("1", Some("Too Many Requests"))
    );
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"sapl.streams_max\"}"), 1.0);
}

#[test]
fn a_connection_goes_on_after_an_answer() {
    let (server, _) = start(OPEN);
    let mut connection = server.connect();
    for _ in 0..3 {
        for (path, status) in [("decide-once", 200), ("decide-never", 404)] {
            connection.send(&format!(
                "POST /api/pdp/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{ALICE}",
                ALICE.len()
            ));
            assert_eq!(connection.answer().0, status);
        }
    }
}

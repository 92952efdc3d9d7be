//! HTTP/2: many requests at once on one connection, and clients that mean harm by it.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};

use crate::sapl_policies::start;
use crate::support::{PATIENCE, TestServer, request_json};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// An empty SETTINGS frame.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

const ALICE_READS: &str = "policy \"reading\"\npermit\n    subject == \"alice\";\n";

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.unwrap() })
}

async fn connect<B>(server: &TestServer) -> SendRequest<B>
where
    B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
{
    let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let (send, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    send
}

fn post(path: &str, body: String) -> Request<Full<Bytes>> {
    let request = Request::post(format!("http://durward.test{path}"));
    let request = request
        .header("content-type", if path == "/pdp" { "application/xacml+json" } else { "application/json" });
    request.body(Full::new(body.into())).unwrap()
}

/// The body of a request, which may be one that never ends.
type AnyBody = UnsyncBoxBody<Bytes, Infallible>;

/// Nothing, for ever.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

fn endless() -> Request<AnyBody> {
    post("/pdp", String::new()).map(|_| Endless.boxed_unsync())
}

fn doctor() -> Request<AnyBody> {
    post("/pdp", request_json("doctor")).map(BodyExt::boxed_unsync)
}

async fn text(answer: Response<Incoming>) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

fn asks(subject: &str) -> String {
    format!(r#"{{"subject":"{subject}","action":"read","resource":"document"}}"#)
}

#[test]
fn hundreds_of_requests_on_one_connection_are_each_answered_with_their_own_decision() {
    let server = TestServer::start("");
    run(async {
        let send = connect(&server).await;
        let asked: Vec<_> = (0..400)
            .map(|number| {
                let (role, expected) =
                    if number % 2 == 0 { ("doctor", "Permit") } else { ("visitor", "Deny") };
                let mut send = send.clone();
                tokio::spawn(async move {
                    send.ready().await.unwrap();
                    let answer = send.send_request(post("/pdp", request_json(role))).await.unwrap();
                    assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
                    assert!(answer.headers().contains_key("x-request-id"));
                    let body = text(answer).await;
                    assert!(body.contains(expected), "{body}");
                })
            })
            .collect();
        for one in asked {
            one.await.unwrap();
        }
    });
}

#[test]
fn a_stream_goes_on_beside_other_requests_of_its_connection() {
    let server = start(&[("reading.sapl", ALICE_READS)]);
    run(async {
        let mut send = connect(&server).await;
        let mut stream = send.send_request(post("/api/pdp/decide", asks("alice"))).await.unwrap().into_body();
        let first = stream.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(first, "data:{\"decision\":\"PERMIT\"}\n\n");
        for _ in 0..20 {
            let answer = send.send_request(post("/api/pdp/decide-once", asks("bob"))).await.unwrap();
            assert_eq!(text(answer).await, r#"{"decision":"DENY"}"#);
        }
        server
            .directory
            .write("policies/reading.sapl", "policy \"reading\"\ndeny\n    subject == \"alice\";\n");
        let next = stream.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(next, "data:{\"decision\":\"DENY\"}\n\n");
    });
}

/// RFC 9113, 8.3.1: two names could be one for a proxy and another for us.
#[test]
fn a_request_that_names_two_hosts_is_refused() {
    let server = TestServer::start("");
    run(async {
        let mut send = connect(&server).await;
        let mut request = post("/pdp", request_json("doctor"));
        request.headers_mut().insert("host", "durward.test".parse().unwrap());
        assert_eq!(send.send_request(request).await.unwrap().status(), 200, "the same name twice is one");
        let mut request = post("/pdp", request_json("doctor"));
        request.headers_mut().insert("host", "other.test".parse().unwrap());
        assert_eq!(send.send_request(request).await.unwrap().status(), 400);
    });
}

#[test]
fn too_many_header_fields_or_bytes_of_body_are_refused_and_leave_the_others_alone() {
    let server = TestServer::start("server.body_bytes_max = 2000");
    run(async {
        let mut send = connect(&server).await;
        let mut request = post("/pdp", request_json("doctor"));
        for number in 0..80 {
            let name: hyper::header::HeaderName = format!("x-{number}").parse().unwrap();
            request.headers_mut().insert(name, "1".parse().unwrap());
        }
        assert_eq!(send.send_request(request).await.unwrap().status(), 431);
        let large = post("/pdp", request_json(&"x".repeat(3_000)));
        assert_eq!(send.send_request(large).await.unwrap().status(), 413);
        let answer = send.send_request(post("/pdp", request_json("doctor"))).await.unwrap();
        assert!(text(answer).await.contains("Permit"));
    });
}

#[test]
fn a_connection_that_asks_nothing_is_closed_in_its_time() {
    let server = TestServer::start("server.idle_time_ms_max = 300\nserver.header_time_ms_max = 300");
    for first in [&PREFACE[..10], &[PREFACE, SETTINGS].concat()] {
        let mut raw = server.connect();
        raw.0.write_all(first).unwrap();
        let (_, time) = raw.rest();
        assert!(time >= Duration::from_millis(200) && time < PATIENCE / 2, "{time:?}");
    }
}

/// Each byte that comes gives no further time.
#[test]
fn a_preface_that_drips_is_not_waited_for() {
    let server = TestServer::start("server.header_time_ms_max = 400");
    let mut raw = server.connect();
    let mut sent = 0;
    for byte in &PREFACE[..PREFACE.len() - 1] {
        if raw.0.write_all(&[*byte]).is_err() {
            break;
        }
        sent += 1;
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(sent < PREFACE.len() - 1, "the connection was ended meanwhile");
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"server.header_time_ms_max\"}"), 1.0);
}

#[test]
fn a_request_that_begins_as_the_preface_does_is_one_of_http_1() {
    let server = TestServer::start("");
    let mut raw = server.connect();
    raw.0.write_all(b"P").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    raw.0.write_all(b"UT /pdp HTTP/1.1\r\nhost: durward.test\r\nconnection: close\r\n\r\n").unwrap();
    let (answer, _) = raw.rest();
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
}

/// RFC 9110, 9.3.2: what GET is answered with, without its body.
#[test]
fn head_is_answered_without_a_body() {
    let server = TestServer::start("");
    run(async {
        let mut send = connect(&server).await;
        for path in ["/health/live", "/nowhere"] {
            let request = Request::head(format!("http://durward.test{path}"));
            let answer = send.send_request(request.body(Full::default()).unwrap()).await.unwrap();
            assert!(answer.headers().contains_key("content-length"));
            assert_eq!(text(answer).await, "");
        }
    });
}

/// A client that opens its window by one byte holds answers that it never takes.
#[test]
fn an_answer_that_is_not_taken_ends_its_request_and_then_the_connection() {
    let server = TestServer::start("server.request_time_ms_max = 300");
    let mut raw = server.connect();
    // SETTINGS_INITIAL_WINDOW_SIZE is 1.
    let mut bytes = [PREFACE, &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1]].concat();
    // HEADERS of `GET /metrics` with END_STREAM.
    let mut block = vec![0x82, 0x86, 0x04, 8];
    block.extend_from_slice(b"/metrics");
    block.extend_from_slice(&[0x01, 1, b'x']);
    bytes.extend_from_slice(&[0, 0, u8::try_from(block.len()).unwrap(), 1, 5, 0, 0, 0, 1]);
    bytes.extend_from_slice(&block);
    raw.0.write_all(&bytes).unwrap();
    let (_, time) = raw.rest();
    assert!(time < PATIENCE / 2, "{time:?}");
    assert!(server.metric("durward_limits_hit_total{limit=\"server.request_time_ms_max\"}") >= 1.0);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let server = TestServer::start("server.request_time_ms_max = 300");
    let mut raw = server.connect();
    // HEADERS of `POST /pdp` without END_STREAM: indexed fields of HPACK's static table, and literals.
    let mut block = vec![0x83, 0x86, 0x04, 4];
    block.extend_from_slice(b"/pdp");
    block.extend_from_slice(&[0x01, 1]);
    block.extend_from_slice(b"x");
    block.extend_from_slice(&[0x0f, 0x10, 15]);
    block.extend_from_slice(b"application/xml");
    let mut bytes = [PREFACE, SETTINGS].concat();
    bytes.extend_from_slice(&[0, 0, u8::try_from(block.len()).unwrap(), 1, 4, 0, 0, 0, 1]);
    bytes.extend_from_slice(&block);
    raw.0.write_all(&bytes).unwrap();
    let mut seen = Vec::new();
    let mut some = [0; 1024];
    // HEADERS of the answer: 408 is `:status` as a literal.
    while !seen.windows(3).any(|part| part == b"408") && !has_huffman_408(&seen) {
        let count = raw.0.read(&mut some).unwrap();
        assert!(count > 0, "{seen:?}");
        seen.extend_from_slice(&some[..count]);
    }
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"server.request_time_ms_max\"}"), 1.0);
}

#[test]
fn a_request_whose_body_does_not_end_is_refused_alone() {
    let server = TestServer::start("server.request_time_ms_max = 500");
    run(async {
        let mut send = connect(&server).await;
        let late = tokio::spawn(send.send_request(endless()));
        let mut answered_meanwhile = 0;
        while !late.is_finished() {
            let answer = send.send_request(doctor()).await.unwrap();
            assert!(text(answer).await.contains("Permit"));
            answered_meanwhile += 1;
        }
        assert!(answered_meanwhile > 0);
        let late = late.await.unwrap().unwrap();
        assert_eq!(late.status(), 408);
        assert!(text(late).await.contains("500 ms"));
        assert!(text(send.send_request(doctor()).await.unwrap()).await.contains("Permit"));
    });
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"server.request_time_ms_max\"}"), 1.0);
}

#[test]
fn a_request_whose_answer_does_not_come_is_reset_alone() {
    let (server, world) = crate::sapl::start(
        "sapl.http = true\nauth.danger_allow_no_auth = true\nserver.request_time_ms_max = 300",
    );
    run(async {
        let mut send = connect(&server).await;
        let begun = std::time::Instant::now();
        let late = tokio::spawn(send.send_request(post("/api/pdp/decide-once", asks("later"))));
        let mut answered_meanwhile = 0;
        while !late.is_finished() {
            let answer = send.send_request(post("/api/pdp/decide-once", asks("alice"))).await.unwrap();
            assert!(text(answer).await.contains("PERMIT"));
            answered_meanwhile += 1;
        }
        assert!(answered_meanwhile > 0);
        // The time for a body, and that for an answer.
        assert!(begun.elapsed() >= Duration::from_millis(600), "{:?}", begun.elapsed());
        let error = late.await.unwrap().unwrap_err();
        assert!(!error.is_closed() && !send.is_closed(), "a stream has ended, not the connection: {error:?}");
        let answer = send.send_request(post("/api/pdp/decide-once", asks("alice"))).await.unwrap();
        assert!(text(answer).await.contains("PERMIT"));
    });
    assert_eq!(world.open(), 0, "nobody waits for the decision any more");
    assert_eq!(server.metric("durward_limits_hit_total{limit=\"server.request_time_ms_max\"}"), 1.0);
}

/// All connections together may have four requests under way for each connection that there may be.
#[test]
fn too_many_requests_over_all_connections_are_told_to_come_back() {
    let server = TestServer::start("server.connections_max = 4\nserver.request_time_ms_max = 60000");
    let under_way = |server: &TestServer| server.metric("durward_requests_in_flight");
    run(async {
        let (mut first, mut second) = (connect(&server).await, connect(&server).await);
        let mut waiting: Vec<_> = (0..8).map(|_| tokio::spawn(first.send_request(endless()))).collect();
        let others: Vec<_> = (0..8).map(|_| tokio::spawn(second.send_request(endless()))).collect();
        // While this blocks nothing is sent.
        let mut count = 0.0;
        while count < 17.0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            count = under_way(&server);
        }
        for send in [&mut first, &mut second] {
            let refused = send.send_request(doctor()).await.unwrap();
            assert_eq!(
                (refused.status().as_u16(), &refused.headers()["retry-after"]),
                (503, &"1".parse().unwrap())
            );
            assert!(text(refused).await.contains("too many requests"));
        }
        assert_eq!(
            server.decide("doctor"),
            "Permit",
            "requests of HTTP/1.1 are limited by their connections"
        );
        // One that is given up makes room for one, on whichever connection.
        waiting.pop().unwrap().abort();
        let answer = loop {
            let answer = second.send_request(doctor()).await.unwrap();
            if answer.status() != 503 {
                break answer;
            }
        };
        assert!(text(answer).await.contains("Permit"));
        assert!(waiting.iter().chain(&others).all(|waiting| !waiting.is_finished()));
    });
    assert!(server.metric("durward_limits_hit_total{limit=\"server.connections_max\"}") >= 2.0);
    server.eventually("they have left", |server| under_way(server) == 1.0);
}

#[test]
fn a_connection_too_many_is_not_served_and_those_that_are_there_go_on() {
    let server = TestServer::start("server.connections_max = 2");
    run(async {
        let (mut first, mut second) = (connect(&server).await, connect(&server).await);
        for send in [&mut first, &mut second] {
            assert!(text(send.send_request(doctor()).await.unwrap()).await.contains("Permit"));
        }
        let mut raw = server.connect();
        raw.0.write_all(&[PREFACE, SETTINGS].concat()).unwrap();
        let mut said = Vec::new();
        raw.0.read_to_end(&mut said).unwrap();
        // GOAWAY: no stream was looked at, ENHANCE_YOUR_CALM.
        assert_eq!(said, [SETTINGS, &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11]].concat());
        drop(raw);
        let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let (mut third, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        assert!(third.send_request(doctor()).await.is_err());
        assert!(connection.await.unwrap().is_err());
        drop(first);
        let answer = loop {
            // The place is free as soon as the server has noticed.
            let mut send = connect(&server).await;
            match send.send_request(doctor()).await {
                Ok(answer) => break answer,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        assert!(text(answer).await.contains("Permit"));
        assert!(text(second.send_request(doctor()).await.unwrap()).await.contains("Permit"));
    });
}

/// "408" in HPACK's Huffman code: 011010, 00000, 011100 (RFC 7541, appendix B), padded with ones.
fn has_huffman_408(bytes: &[u8]) -> bool {
    bytes.windows(3).any(|part| part == [0x68, 0x0e, 0x7f] || part[..2] == [0x68, 0x0e])
}

/// CVE-2023-44487: requests that are reset at once cost the client nothing, and must cost the server little.
#[test]
fn a_client_that_resets_what_it_asks_is_cut_off_and_others_are_served() {
    let server = TestServer::start("");
    let mut raw = server.connect();
    let mut bytes = [PREFACE, SETTINGS].concat();
    for number in 0..2_000_u32 {
        let stream = (2 * number + 1).to_be_bytes();
        bytes.extend_from_slice(&[0, 0, 7, 1, 5]);
        bytes.extend_from_slice(&stream);
        bytes.extend_from_slice(&[0x82, 0x86, 0x84, 0x01, 1, b'x', 0x90]);
        bytes.extend_from_slice(&[0, 0, 4, 3, 0]);
        bytes.extend_from_slice(&stream);
        bytes.extend_from_slice(&8_u32.to_be_bytes());
    }
    // In one piece, so that requests and resets are there together; the server may close before it has taken all.
    let _ = raw.0.write_all(&bytes);
    let (_, time) = raw.rest();
    assert!(time < PATIENCE / 2, "the connection was ended, long before it is idle: {time:?}");
    assert_eq!(server.decide("doctor"), "Permit");
}

#[test]
fn requests_under_way_are_answered_when_the_server_stops() {
    let mut server = start(&[("reading.sapl", ALICE_READS)]);
    run(async {
        let mut send = connect(&server).await;
        let mut stream = send.send_request(post("/api/pdp/decide", asks("alice"))).await.unwrap().into_body();
        stream.frame().await.unwrap().unwrap();
        server.begin_stop();
        let last = stream.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(last.starts_with(b"event: shutdown"), "{last:?}");
        assert!(stream.frame().await.is_none());
    });
    assert_eq!(server.stop().connections_cut, 0);
}

//! SAPL's decisions over RSocket, through its socket: what clients and operators see.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use durward_pdp::Value;
use durward_server::decider::{MultiSubscription, Outcome, Subscription};
use durward_wire::rsocket::frame::{self, ErrorCode, Frame, Interaction, Payload, Setup, UNBOUNDED};
use durward_wire::rsocket::write;
use durward_wire::sapl::protobuf;

use crate::auth::{ROBOT, users};
use crate::decider::World;
use crate::sapl::start;
use crate::support::{PATIENCE, TestServer};

const OPEN: &str = "rsocket.listen = '127.0.0.1:0'\nauth.danger_allow_no_auth = true\n";

/// A client that speaks one word at a time.
pub(crate) struct Client<S> {
    stream: S,
    input: BytesMut,
}

fn subscription(subject: &str) -> Subscription {
    let text = |text: &str| Value::Text(text.into());
    Subscription::new(text(subject), text("read"), text("document"), Value::Undefined)
}

fn setup(metadata: Option<&[u8]>) -> Setup {
    Setup {
        major: 1,
        minor: 0,
        keep_alive_ms: 20_000,
        lifetime_ms: 90_000,
        resumes: false,
        leases: false,
        payload: Payload { metadata: metadata.map(Bytes::copy_from_slice), data: Bytes::new() },
    }
}

fn connect(server: &TestServer) -> TcpStream {
    let stream = TcpStream::connect(server.rsocket.unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// How often the limit of a setting was hit.
fn hits(server: &TestServer, setting: &str) -> f64 {
    server.metric(&format!("durward_limits_hit_total{{limit=\"{setting}\"}}"))
}

impl Client<TcpStream> {
    pub(crate) fn open(server: &TestServer, metadata: Option<&[u8]>) -> Client<TcpStream> {
        Client::over(connect(server), metadata)
    }
}

impl<S: Read + Write> Client<S> {
    pub(crate) fn over(stream: S, metadata: Option<&[u8]>) -> Client<S> {
        let mut client = Client { stream, input: BytesMut::new() };
        client.say(|out| write::setup(out, &setup(metadata)));
        client
    }

    pub(crate) fn say(&mut self, frames: impl FnOnce(&mut BytesMut)) {
        let mut out = BytesMut::new();
        frames(&mut out);
        self.stream.write_all(&out).unwrap();
    }

    pub(crate) fn ask(&mut self, stream: u32, interaction: Interaction, route: &str, subject: &str) {
        self.say(|out| {
            write::request(out, stream, interaction, UNBOUNDED, route.as_bytes(), |out| {
                protobuf::write_subscription(out, &subscription(subject)).unwrap();
            });
        });
    }

    pub(crate) fn ask_several(
        &mut self,
        stream: u32,
        interaction: Interaction,
        route: &str,
        ids: &[(&str, &str)],
    ) {
        let subscriptions = ids.iter().map(|(id, subject)| ((*id).into(), subscription(subject))).collect();
        self.say(|out| {
            write::request(out, stream, interaction, UNBOUNDED, route.as_bytes(), |out| {
                protobuf::write_multi_subscription(out, &MultiSubscription { subscriptions }).unwrap();
            });
        });
    }

    /// The next frame; `None` at the end.
    fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(bytes) = frame::split(&mut self.input) {
                return Some(Frame::read(bytes).unwrap());
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.input.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The data of the next payload. The server may ask meanwhile whether anybody is there.
    pub(crate) fn payload(&mut self, stream: u32, is_last: bool) -> Bytes {
        let next = loop {
            match self.next() {
                Some(Frame::KeepAlive { respond: true, data }) => {
                    self.say(|out| write::keep_alive(out, false, &data));
                }
                other => break other,
            }
        };
        match next {
            Some(Frame::Payload { stream: of, complete, next: true, payload, .. })
                if of == stream && complete == is_last =>
            {
                assert_eq!(payload.metadata, None);
                payload.data
            }
            other => panic!("{other:?}"),
        }
    }

    /// Why a request is not answered; `None` where it is.
    pub(crate) fn refused(&mut self, stream: u32) -> Option<(u32, String)> {
        loop {
            match self.next() {
                Some(Frame::KeepAlive { respond: true, data }) => {
                    self.say(|out| write::keep_alive(out, false, &data));
                }
                Some(Frame::Payload { stream: of, .. }) if of == stream => return None,
                Some(Frame::Error { stream: of, code, message }) if of == stream => {
                    return Some((code, String::from_utf8(message.to_vec()).unwrap()));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    pub(crate) fn outcome(&mut self, stream: u32, is_last: bool) -> Outcome {
        protobuf::read_decision(&self.payload(stream, is_last), 100).unwrap().outcome
    }

    /// It is closed without anything that is a frame of this protocol.
    pub(crate) fn expect_no_frame(&mut self) {
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = self.stream.read_to_end(&mut rest);
        assert_ne!(rest.first(), Some(&0), "{rest:?}");
    }

    pub(crate) fn expect_error(&mut self, stream: u32, code: ErrorCode, message: &str) {
        let message = Bytes::copy_from_slice(message.as_bytes());
        assert_eq!(self.next(), Some(Frame::Error { stream, code: code as u32, message }));
    }

    pub(crate) fn expect_refusal(&mut self, message: &str) {
        self.expect_error(0, ErrorCode::RejectedSetup, message);
        assert_eq!(self.next(), None);
    }
}

#[test]
fn one_question_gets_one_answer() {
    let (server, _) = start(OPEN);
    let mut client = Client::open(&server, None);
    client.ask(1, Interaction::Response, "decide-once", "bob");
    let deny = [0x08, 0x03, 0x12, 0x00, 0x1a, 0x00, 0x22, 0x02, 0x38, 0x01];
    assert_eq!(client.payload(1, true)[..], deny);
    client.ask(3, Interaction::Response, "decide-once", "alice");
    let decision = protobuf::read_decision(&client.payload(3, true), 100).unwrap();
    assert_eq!(decision.outcome, Outcome::Permit);
    assert_eq!(decision.obligations().next().unwrap().to_json(), r#"{"type":"log","n":1.50}"#);
    assert_eq!(decision.resource().unwrap().to_json(), r#"{"big":1000}"#);
    // No bytes are a question too.
    client.say(|out| write::request(out, 5, Interaction::Response, 1, b"decide-once", |_| {}));
    assert_eq!(client.outcome(5, true), Outcome::NotApplicable);
    assert_eq!(server.metric("durward_decisions_total{decision=\"Permit\"}"), 1.0);
    let answered = "durward_rsocket_requests_total{route=\"decide-once\",result=\"answered\"}";
    assert_eq!(server.metric(answered), 3.0);
}

#[test]
fn many_questions_at_once_are_all_answered() {
    let (server, _) = start(OPEN);
    let mut client = Client::open(&server, None);
    let count = 20_000;
    let mut writer = client.stream.try_clone().unwrap();
    let writing = thread::spawn(move || {
        let mut out = BytesMut::new();
        for number in 0..count {
            write::request(&mut out, 2 * number + 1, Interaction::Response, 1, b"decide-once", |out| {
                protobuf::write_subscription(out, &subscription("alice")).unwrap();
            });
        }
        writer.write_all(&out).unwrap();
    });
    for number in 0..count {
        assert_eq!(client.outcome(2 * number + 1, true), Outcome::Permit);
    }
    writing.join().unwrap();
}

#[test]
fn a_stream_tells_each_decision_that_is_new() {
    let (server, world) = start(OPEN);
    let mut client = Client::open(&server, None);
    client.ask(1, Interaction::Stream, "decide", "alice");
    assert_eq!(client.outcome(1, false), Outcome::Permit);
    world.close(true);
    assert_eq!(client.outcome(1, false), Outcome::Deny);
    assert_eq!(server.metric("durward_streams_open{surface=\"rsocket\"}"), 1.0);
    client.say(|out| write::cancel(out, 1));
    server.eventually("the subscription is gone", |_| world.open() == 0);
    assert_eq!(server.metric("durward_streams_open{surface=\"rsocket\"}"), 0.0);
    client.ask(3, Interaction::Response, "decide-once", "alice");
    assert_eq!(client.outcome(3, true), Outcome::Deny);
}

#[test]
fn a_stream_that_asks_for_one_at_a_time_gets_the_latest() {
    let (server, world) = start(OPEN);
    let mut client = Client::open(&server, None);
    client.say(|out| {
        write::request(out, 1, Interaction::Stream, 1, b"decide", |out| {
            protobuf::write_subscription(out, &subscription("alice")).unwrap();
        });
    });
    assert_eq!(client.outcome(1, false), Outcome::Permit);
    world.close(true);
    world.close(false);
    world.close(true);
    // Nothing comes before it is asked for.
    client.ask(3, Interaction::Response, "decide-once", "bob");
    assert_eq!(client.outcome(3, true), Outcome::NotApplicable);
    client.say(|out| write::request_n(out, 1, 2));
    assert_eq!(client.outcome(1, false), Outcome::Deny);
    world.close(false);
    assert_eq!(client.outcome(1, false), Outcome::Permit);
}

#[test]
fn several_questions_are_answered_together_or_as_they_change() {
    let (server, world) = start(OPEN);
    let mut client = Client::open(&server, None);
    let ids = [("b", "bob"), ("a", "alice")];
    client.ask_several(1, Interaction::Response, "multi-decide-all-once", &ids);
    let all = client.payload(1, true);
    assert_eq!((all[4], all[8]), (b'b', 3), "{all:?}");
    client.ask_several(3, Interaction::Stream, "multi-decide", &ids);
    let told = |bytes: &Bytes| (bytes[2], bytes[6]);
    assert_eq!(told(&client.payload(3, false)), (b'b', 3));
    assert_eq!(told(&client.payload(3, false)), (b'a', 1));
    world.close(true);
    assert_eq!(told(&client.payload(3, false)), (b'a', 2));
    client.ask_several(5, Interaction::Stream, "multi-decide-all", &ids);
    let all = client.payload(5, false);
    assert_eq!(all.len(), 2 * 17, "{all:?}");
}

#[test]
fn no_questions_are_answered_once() {
    let (server, _) = start(OPEN);
    let mut client = Client::open(&server, None);
    client.ask_several(1, Interaction::Response, "multi-decide-all-once", &[]);
    assert_eq!(client.payload(1, true)[..6], [0x0a, 14, 0x0a, 0, 0x12, 10]);
    for (stream, route, first) in [(3, "multi-decide", 0x0a), (5, "multi-decide-all", 0x0a)] {
        client.ask_several(stream, Interaction::Stream, route, &[]);
        assert_eq!(client.payload(stream, false)[0], first);
        let over = client.next();
        let is_over = matches!(over, Some(Frame::Payload { complete: true, next: false, .. }));
        assert!(is_over, "{over:?}");
    }
}

#[test]
fn what_makes_no_sense_is_a_bad_request() {
    let (server, _) = start(OPEN);
    let mut client = Client::open(&server, None);
    let cases: [(Interaction, &[u8], &[u8]); 8] = [
        (Interaction::Response, b"decide-twice", b""),
        (Interaction::Response, b"", b""),
        (Interaction::Response, b"\x0bdecide-once", b""),
        (Interaction::Response, b"decide", b""),
        (Interaction::Stream, b"decide-once", b""),
        (Interaction::Response, b"decide-once", b"\x0a\xff"),
        // Two subjects.
        (Interaction::Response, b"decide-once", b"\x0a\x07\x22\x05alice\x0a\x03\x22\x01b"),
        (Interaction::Stream, b"multi-decide", b"\x0a\x00"),
    ];
    for (number, (interaction, route, data)) in cases.into_iter().enumerate() {
        let stream = 2 * number as u32 + 1;
        client.say(|out| write::request(out, stream, interaction, 9, route, |out| out.put_slice(data)));
        client.expect_error(stream, ErrorCode::Invalid, "Bad request");
    }
    client.ask(101, Interaction::FireAndForget, "decide-once", "alice");
    client.ask(103, Interaction::Channel, "decide", "alice");
    client.expect_error(103, ErrorCode::Invalid, "Bad request");
    client.ask(105, Interaction::Response, "decide-once", "alice");
    assert_eq!(client.outcome(105, true), Outcome::Permit);
}

#[test]
fn a_mistake_in_deciding_is_indeterminate() {
    let (server, _) = start(OPEN);
    let mut client = Client::open(&server, None);
    client.ask(1, Interaction::Response, "decide-once", "panic");
    assert_eq!(client.outcome(1, true), Outcome::Indeterminate);
    client.ask(3, Interaction::Stream, "decide", "panic");
    client.expect_error(3, ErrorCode::ApplicationError, "a mistake in durward");
    assert_eq!(server.metric("durward_panics_total"), 2.0);
    client.ask(5, Interaction::Response, "decide-once", "alice");
    assert_eq!(client.outcome(5, true), Outcome::Permit);
}

#[test]
fn credentials_come_with_the_setup_and_name_the_tenant() {
    let (server, _) = start(&format!("rsocket.listen = '127.0.0.1:0'\n{}", users()));
    let tenant = |metadata: &[u8]| {
        let mut client = Client::open(&server, Some(metadata));
        client.ask(1, Interaction::Response, "decide-once", "tenant");
        protobuf::read_decision(&client.payload(1, true), 100).unwrap().resource().unwrap().to_json()
    };
    for _ in 0..2 {
        assert_eq!(tenant(b"\x80\x00\x04annasecret"), "\"plant\"");
        assert_eq!(tenant(&[b"\x81", ROBOT.as_bytes()].concat()), "\"default\"");
    }
    for metadata in
        [&b"\x80\x00\x04annaSecret"[..], b"\x80\x00\x05annasecret", b"\x81nothing", b"\x82", b"\x81\xff"]
    {
        Client::open(&server, Some(metadata)).expect_refusal("Authentication failed");
    }
    Client::open(&server, None).expect_refusal("Authentication failed");
}

#[test]
fn where_nobody_has_to_authenticate_wrong_credentials_are_still_wrong() {
    let (server, _) = start(OPEN);
    Client::open(&server, Some(b"\x80\x00\x04annasecret")).expect_refusal("Authentication failed");
}

#[test]
fn limits_are_told_as_sapl_does() {
    let limits = "rsocket.connections_max = 2\nrsocket.streams_per_connection_max = 2\n\
                  rsocket.requests_per_second_max = 4";
    let (server, _) = start(&format!("{OPEN}{limits}"));
    let mut client = Client::open(&server, None);
    for stream in [1, 3, 5] {
        client.ask(stream, Interaction::Stream, "decide", "alice");
    }
    assert_eq!(client.outcome(1, false), Outcome::Permit);
    assert_eq!(client.outcome(3, false), Outcome::Permit);
    client.expect_error(5, ErrorCode::Rejected, "Stream limit reached");
    assert_eq!(hits(&server, "rsocket.streams_per_connection_max"), 1.0);
    let mut other = Client::open(&server, None);
    for stream in [1, 3] {
        other.ask(stream, Interaction::Response, "decide-once", "alice");
        assert_eq!(other.outcome(stream, true), Outcome::Permit);
    }
    let told = (0..10).map(|number| {
        other.ask(2 * number + 11, Interaction::Response, "decide-once", "alice");
        other.next().unwrap()
    });
    let too_many = Bytes::from_static(b"Request rate limit reached");
    let is_refused =
        |frame: &Frame| matches!(frame, Frame::Error { code: 0x202, message, .. } if *message == too_many);
    assert!(told.collect::<Vec<_>>().iter().any(is_refused));
    Client::open(&server, None).expect_refusal("Connection limit reached");
    assert_eq!(server.metric("durward_rsocket_connections_open"), 2.0);
    drop(other);
    server.eventually("a place is free", |server| server.metric("durward_rsocket_connections_open") == 1.0);
    let mut next = Client::open(&server, None);
    next.say(|out| write::keep_alive(out, true, b"hello"));
    assert_eq!(next.next(), Some(Frame::KeepAlive { respond: false, data: Bytes::from_static(b"hello") }));
}

#[test]
fn a_client_that_says_nothing_is_given_up() {
    let (server, world) =
        start(&format!("{OPEN}server.header_time_ms_max = 300\nrsocket.lifetime_ms_max = 600"));
    let mut silent = Client { stream: connect(&server), input: BytesMut::new() };
    silent.expect_error(0, ErrorCode::InvalidSetup, "the setup took too long");
    assert_eq!(silent.next(), None);
    assert_eq!(hits(&server, "server.header_time_ms_max"), 1.0);
    let mut half_open = Client::open(&server, None);
    half_open.ask(1, Interaction::Stream, "decide", "alice");
    assert_eq!(half_open.outcome(1, false), Outcome::Permit);
    let mut count = 0;
    let last = loop {
        match half_open.next() {
            Some(Frame::KeepAlive { respond: true, .. }) => count += 1,
            other => break other,
        }
    };
    assert!(count >= 1, "it was not asked");
    let message = Bytes::from_static(b"No keep-alive acks for 600 ms");
    assert_eq!(last, Some(Frame::Error { stream: 0, code: 0x101, message }));
    assert_eq!(hits(&server, "rsocket.lifetime_ms_max"), 1.0);
    server.eventually("the subscription is gone", |_| world.open() == 0);
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let (server, world) = start(&format!("{OPEN}server.request_time_ms_max = 300"));
    let mut client = Client::open(&server, None);
    client.ask(1, Interaction::Stream, "decide", "alice");
    let begun = Instant::now();
    server.eventually("the stream is open", |_| world.open() == 1);
    let mut out = BytesMut::new();
    for number in 1..1000 {
        write::request(&mut out, 2 * number + 1, Interaction::Response, 1, b"decide-once", |out| {
            protobuf::write_subscription(out, &subscription("alice")).unwrap();
        });
    }
    while begun.elapsed() < PATIENCE && client.stream.write_all(&out).is_ok() {}
    server.eventually("the subscription is gone", |_| world.open() == 0);
    assert_eq!(hits(&server, "server.request_time_ms_max"), 1.0);
}

#[test]
fn payloads_too_long_end_the_connection_and_long_ones_do_not() {
    let limits = "rsocket.payload_bytes_max = 2000000\nserver.body_memory_bytes_max = 3000000";
    let (server, _) = start(&format!("{OPEN}{limits}"));
    let mut client = Client::open(&server, None);
    let long = "x".repeat(1_900_000);
    client.ask(1, Interaction::Response, "decide-once", &long);
    assert_eq!(client.outcome(1, true), Outcome::NotApplicable);
    let begin = |server: &TestServer| {
        let mut client = Client::open(server, None);
        let mut out = BytesMut::new();
        out.put_uint(1_950_000, 3);
        out.put_slice(long.as_bytes());
        // The server ends the one that there is no room for, perhaps before all of it is sent.
        let _ = client.stream.write_all(&out);
        client
    };
    let mut waiting: Vec<_> = (0..2).map(|_| begin(&server)).collect();
    server.eventually("there is no room for both", |server| {
        hits(server, "server.body_memory_bytes_max") >= 1.0
    });
    waiting.clear();
    server.eventually("they are gone", |server| server.metric("durward_rsocket_connections_open") == 1.0);
    client.say(|out| out.put_uint(2_000_007, 3));
    client.expect_error(0, ErrorCode::ConnectionError, "a frame is longer than this server takes");
    assert_eq!(hits(&server, "rsocket.payload_bytes_max"), 1.0);
    let mut next = Client::open(&server, None);
    next.ask(1, Interaction::Response, "decide-once", &long);
    assert_eq!(next.outcome(1, true), Outcome::NotApplicable);
}

#[test]
fn a_server_that_stops_says_so_to_its_clients() {
    let (mut server, _) = start(OPEN);
    let mut client = Client::open(&server, None);
    client.ask(1, Interaction::Stream, "decide", "alice");
    assert_eq!(client.outcome(1, false), Outcome::Permit);
    server.begin_stop();
    client.expect_error(0, ErrorCode::ConnectionClose, "SAPL Node stopping");
    assert_eq!(client.next(), None);
    assert_eq!(server.stop().connections_cut, 0);
}

#[test]
fn nonsense_never_takes_the_server_down() {
    let (server, _) = start(OPEN);
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0\0\0", b"\0\0\x01\0", &[0xff; 100], &[0; 10_000]] {
        let mut stream = connect(&server);
        stream.write_all(bytes).unwrap();
        // The other side may have ended it already. A reset is an end too.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let mut client = Client::open(&server, None);
    client.ask(1, Interaction::Response, "decide-once", "alice");
    assert_eq!(client.outcome(1, true), Outcome::Permit);
    assert_eq!(server.metric("durward_panics_total"), 0.0);
}

#[cfg(unix)]
#[test]
fn a_path_can_be_listened_on_and_what_was_left_behind_is_replaced() {
    use std::os::unix::net::{UnixListener, UnixStream};
    let directory = crate::support::Directory::new();
    let path = directory.path("pdp.sock");
    drop(UnixListener::bind(&path).unwrap());
    let text = format!("rsocket.socket = '{}'\nauth.danger_allow_no_auth = true", path.display());
    let (server, _) = start(&text);
    let mut client = Client::over(UnixStream::connect(&path).unwrap(), None);
    client.ask(1, Interaction::Response, "decide-once", "alice");
    assert_eq!(client.outcome(1, true), Outcome::Permit);
    // One that somebody listens on is left alone.
    let second = TestServer::start_deciding(crate::support::Directory::new(), &text, World::default());
    assert!(second.is_err_and(|error| error.to_string().contains("rsocket.socket")));
    drop(client);
    server.stop();
    assert!(!path.exists());
}

#[test]
fn a_slow_writer_is_waited_for() {
    let (server, _) = start(OPEN);
    let mut client = Client::open(&server, None);
    let mut out = BytesMut::new();
    write::request(&mut out, 1, Interaction::Response, 1, b"decide-once", |out| {
        protobuf::write_subscription(out, &subscription("alice")).unwrap();
    });
    for byte in &out {
        client.stream.write_all(&[*byte]).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(client.outcome(1, true), Outcome::Permit);
}

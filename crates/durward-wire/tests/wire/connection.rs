//! A connection of a well-behaved client, and what it is told when it is not.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use durward_wire::rsocket::connection::{Event, Expects, LimitsHit, OUT_BYTES_HIGH};
use durward_wire::rsocket::frame::{ErrorCode, Frame, Interaction, Payload, Setup};
use durward_wire::rsocket::{Credentials, write};

use crate::support::{ALL, Wire, error, setup, text};

/// A frame of any type with any content.
fn raw(out: &mut BytesMut, stream: u32, kind: u16, flags: u16, body: &[u8]) {
    out.put_uint(6 + body.len() as u64, 3);
    out.put_u32(stream);
    out.put_u16(kind << 10 | flags);
    out.put_slice(body);
}

fn request(stream: u32, expects: Expects) -> Option<Event> {
    Some(Event::Request { stream, expects, route: text("r"), data: text("d") })
}

fn payload(stream: u32, complete: bool, data: &'static str) -> Frame {
    let payload = Payload { metadata: None, data: text(data) };
    Frame::Payload { stream, follows: false, complete, next: true, payload }
}

#[test]
fn one_request_gets_one_answer() {
    let mut wire = Wire::open();
    wire.ask(1, Interaction::Response, 1);
    assert_eq!(wire.event(), request(1, Expects::One));
    assert!(wire.connection.has_unanswered());
    assert!(wire.connection.respond(1, |out| out.put_slice(b"yes")));
    assert!(!wire.connection.respond(1, |out| out.put_slice(b"again")));
    assert_eq!(wire.heard(), [payload(1, true, "yes")]);
    assert_eq!((wire.connection.stream_count(), wire.connection.has_unanswered()), (0, false));
}

#[test]
fn a_request_that_comes_byte_by_byte_is_the_same_request() {
    let mut bytes = BytesMut::new();
    write::request(&mut bytes, 1, Interaction::Stream, 9, b"r", |out| out.put_slice(b"d"));
    let mut wire = Wire::open();
    for byte in &bytes[..bytes.len() - 1] {
        wire.connection.input().put_u8(*byte);
        assert_eq!(wire.event(), None);
    }
    assert_eq!(wire.connection.bytes_missing(), 1);
    wire.connection.input().put_u8(b'd');
    assert_eq!(wire.event(), request(1, Expects::Many));
}

#[test]
fn a_stream_gets_no_more_than_it_asked_for() {
    let mut wire = Wire::open();
    wire.ask(1, Interaction::Stream, 2);
    assert_eq!(wire.event(), request(1, Expects::Many));
    let sent: Vec<bool> = (0..3).map(|_| wire.connection.send(1, |out| out.put_slice(b"x"))).collect();
    assert_eq!(sent, [true, true, false]);
    assert!(!wire.connection.wants(1));
    wire.say(|out| write::request_n(out, 1, 1));
    wire.say(|out| write::request_n(out, 1, 1));
    assert_eq!(wire.event(), Some(Event::Demand { stream: 1 }));
    // The second adds to what is there already.
    assert_eq!(wire.event(), None);
    assert!(wire.connection.send(1, |_| {}) && wire.connection.send(1, |_| {}));
    assert!(!wire.connection.send(1, |_| {}));
    wire.connection.complete(1);
    assert_eq!(wire.connection.stream_count(), 0);
}

#[test]
fn a_stream_that_asked_for_everything_always_takes_more() {
    let mut wire = Wire::open();
    wire.ask(1, Interaction::Stream, ALL);
    assert!(wire.event().is_some());
    for _ in 0..1000 {
        assert!(wire.connection.send(1, |_| {}));
    }
    wire.say(|out| write::request_n(out, 1, ALL));
    assert_eq!(wire.event(), None);
    assert!(wire.connection.wants(1));
}

#[test]
fn what_is_cancelled_gets_no_answer() {
    let mut wire = Wire::open();
    wire.ask(1, Interaction::Stream, ALL);
    wire.ask(3, Interaction::Response, 1);
    assert!(wire.event().is_some() && wire.event().is_some());
    wire.say(|out| write::cancel(out, 1));
    wire.say(|out| write::cancel(out, 3));
    wire.say(|out| write::cancel(out, 99));
    assert_eq!(wire.event(), Some(Event::Cancelled { stream: 1 }));
    assert_eq!(wire.event(), Some(Event::Cancelled { stream: 3 }));
    assert_eq!(wire.event(), None);
    assert!(!wire.connection.send(1, |_| {}) && !wire.connection.respond(3, |_| {}));
    wire.connection.reject(3, ErrorCode::Invalid, "no");
    assert_eq!(wire.heard(), []);
}

#[test]
fn credentials_come_with_the_setup() {
    let simple = Credentials::Simple { user: text("u"), password: text("p:w") };
    let cases: [(Option<&'static [u8]>, Credentials); 9] = [
        (None, Credentials::None),
        (Some(b""), Credentials::None),
        (Some(b"\x80\x00\x01up:w"), simple),
        (Some(b"\x80\x00\x00"), Credentials::Simple { user: Bytes::new(), password: Bytes::new() }),
        (Some(b"\x80\x00\x02u"), Credentials::Unknown),
        (Some(b"\x80\x00"), Credentials::Unknown),
        (Some(b"\x81token"), Credentials::Bearer(text("token"))),
        (Some(b"\x82token"), Credentials::Unknown),
        (Some(b"\x06simple"), Credentials::Unknown),
    ];
    for (metadata, credentials) in cases {
        let mut wire = Wire::new();
        wire.say(|out| write::setup(out, &setup(metadata)));
        assert_eq!(wire.event(), Some(Event::Setup(credentials)), "{metadata:?}");
    }
}

#[test]
fn nothing_is_looked_at_before_the_client_is_accepted() {
    let mut wire = Wire::new();
    wire.say(|out| write::setup(out, &setup(None)));
    wire.ask(1, Interaction::Response, 1);
    assert!(matches!(wire.event(), Some(Event::Setup(_))));
    assert_eq!((wire.event(), wire.connection.wants_input()), (None, false));
    wire.connection.accept(None);
    assert_eq!(wire.event(), request(1, Expects::One));
}

#[test]
fn a_client_that_is_refused_is_told_so_and_heard_no_more() {
    let mut wire = Wire::new();
    wire.say(|out| write::setup(out, &setup(Some(b"\x81wrong"))));
    wire.ask(1, Interaction::Response, 1);
    assert!(wire.event().is_some());
    wire.connection.refuse("Authentication failed");
    assert_eq!(wire.heard(), [error(0, 3, "Authentication failed")]);
    assert!(wire.connection.is_closed());
    assert_eq!(wire.event(), None);
    wire.connection.accept(None);
    assert!(wire.connection.is_closed());
}

#[test]
fn a_setup_that_asks_for_what_is_not_there_is_refused() {
    let cases: [(Setup, u32, &str); 3] = [
        (Setup { major: 2, ..setup(None) }, 1, "Unsupported version"),
        (Setup { leases: true, ..setup(None) }, 1, "lease is not supported"),
        (Setup { resumes: true, ..setup(None) }, 2, "resume not supported"),
    ];
    for (setup, code, message) in cases {
        let mut wire = Wire::new();
        wire.say(|out| write::setup(out, &setup));
        assert_eq!(wire.event(), None);
        assert_eq!(wire.heard(), [error(0, code, message)]);
        assert!(wire.connection.is_closed());
    }
    let mut wire = Wire::new();
    wire.ask(1, Interaction::Response, 1);
    assert_eq!(wire.event(), None);
    let message = "SETUP or RESUME frame must be received before any others";
    assert_eq!(wire.heard(), [error(0, 1, message)]);
    let mut wire = Wire::new();
    wire.say(|out| raw(out, 0, 0x0D, 0, b"\0\x01\0\0"));
    assert_eq!(wire.event(), None);
    assert_eq!(wire.heard(), [error(0, 4, "resume not supported")]);
}

#[test]
fn a_channel_is_refused_and_fire_and_forget_is_forgotten() {
    let mut wire = Wire::open();
    wire.ask(1, Interaction::FireAndForget, 0);
    wire.ask(3, Interaction::Channel, 5);
    assert_eq!(wire.event(), None);
    assert_eq!(wire.heard(), [error(3, 0x204, "Bad request")]);
    assert_eq!(wire.connection.stream_count(), 0);
}

#[test]
fn too_many_streams_are_refused_one_by_one() {
    let mut wire = Wire::open();
    for stream in [1, 3, 5, 7] {
        wire.ask(stream, Interaction::Stream, ALL);
    }
    for stream in [1, 3, 5] {
        assert_eq!(wire.event(), request(stream, Expects::Many));
    }
    assert_eq!(wire.event(), None);
    assert_eq!(wire.heard(), [error(7, 0x202, "Stream limit reached")]);
    assert_eq!(wire.connection.take_limits_hit(), LimitsHit { streams: 1, ..LimitsHit::default() });
    wire.say(|out| write::cancel(out, 3));
    wire.ask(9, Interaction::Response, 1);
    assert_eq!(wire.event(), Some(Event::Cancelled { stream: 3 }));
    assert_eq!(wire.event(), request(9, Expects::One));
}

#[test]
fn a_second_request_with_the_number_of_one_under_way_changes_nothing() {
    let mut wire = Wire::open();
    wire.ask(1, Interaction::Stream, 1);
    wire.ask(1, Interaction::Response, 1);
    assert_eq!(wire.event(), request(1, Expects::Many));
    assert_eq!(wire.event(), None);
    assert!(wire.connection.send(1, |_| {}));
}

#[test]
fn keep_alives_are_echoed_and_sent() {
    let mut wire = Wire::open();
    wire.say(|out| write::keep_alive(out, true, b"are you there"));
    wire.say(|out| write::keep_alive(out, false, b"I am"));
    assert_eq!(wire.event(), None);
    assert_eq!(wire.heard(), [Frame::KeepAlive { respond: false, data: text("are you there") }]);
    // The client said 20 s.
    assert_eq!(wire.connection.deadline(), Some(wire.now + Duration::from_secs(20)));
    wire.wait(Duration::from_millis(19_999));
    assert_eq!(wire.heard(), []);
    wire.wait(Duration::from_millis(1));
    assert_eq!(wire.heard(), [Frame::KeepAlive { respond: true, data: Bytes::new() }]);
}

#[test]
fn a_silent_client_is_given_up_after_the_time_it_named() {
    let mut wire = Wire::open();
    for _ in 0..4 {
        wire.wait(Duration::from_secs(20));
        assert_eq!(wire.heard().len(), 1);
    }
    wire.wait(Duration::from_secs(10));
    assert_eq!(wire.heard(), [error(0, 0x101, "No keep-alive acks for 90000 ms")]);
    assert!(wire.connection.is_closed());
    assert_eq!(wire.connection.take_limits_hit(), LimitsHit { lifetime: 1, ..LimitsHit::default() });
}

#[test]
fn a_client_that_named_a_shorter_time_itself_hits_no_limit() {
    let mut wire = Wire::new();
    wire.say(|out| write::setup(out, &Setup { lifetime_ms: 89_999, ..setup(None) }));
    assert!(wire.event().is_some());
    wire.connection.accept(None);
    wire.wait(Duration::from_millis(89_999));
    assert!(wire.connection.is_closed());
    assert_eq!(wire.connection.take_limits_hit(), LimitsHit::default());
}

#[test]
fn a_client_that_answers_lives_on() {
    let mut wire = Wire::open();
    for _ in 0..20 {
        wire.wait(Duration::from_secs(20));
        wire.say(|out| write::keep_alive(out, false, b""));
        assert_eq!(wire.event(), None);
    }
    assert!(!wire.connection.is_closed());
}

#[test]
fn a_client_that_wants_to_be_silent_for_ever_is_asked_all_the_same() {
    for (keep_alive_ms, lifetime_ms) in [(0, 0), (0x7FFF_FFFF, 0x7FFF_FFFF)] {
        let mut wire = Wire::new();
        wire.say(|out| write::setup(out, &Setup { keep_alive_ms, lifetime_ms, ..setup(None) }));
        assert!(wire.event().is_some());
        wire.connection.accept(None);
        wire.wait(Duration::from_secs(30));
        assert_eq!(wire.heard(), [Frame::KeepAlive { respond: true, data: Bytes::new() }]);
        wire.wait(Duration::from_secs(60));
        assert!(wire.connection.is_closed());
    }
}

#[test]
fn a_client_that_wants_a_flood_of_keep_alives_gets_a_few() {
    let mut wire = Wire::new();
    wire.say(|out| write::setup(out, &Setup { keep_alive_ms: 1, ..setup(None) }));
    assert!(wire.event().is_some());
    wire.connection.accept(None);
    for _ in 0..1000 {
        wire.wait(Duration::from_millis(1));
    }
    assert_eq!(wire.heard().len(), 10);
}

#[test]
fn a_setup_that_does_not_come_ends_the_connection() {
    let mut wire = Wire::new();
    assert_eq!(wire.connection.deadline(), Some(wire.now + Duration::from_secs(10)));
    wire.wait(Duration::from_secs(10));
    assert_eq!(wire.heard(), [error(0, 1, "the setup took too long")]);
    assert!(wire.connection.is_closed());
    assert_eq!(wire.connection.take_limits_hit(), LimitsHit { setup_time: 1, ..LimitsHit::default() });
    assert_eq!(wire.connection.take_limits_hit(), LimitsHit::default());
}

#[test]
fn credentials_that_expire_end_the_connection_without_a_word() {
    let mut wire = Wire::new();
    wire.say(|out| write::setup(out, &setup(None)));
    assert!(wire.event().is_some());
    wire.connection.accept(Some(wire.now + Duration::from_secs(5)));
    assert_eq!(wire.connection.deadline(), Some(wire.now + Duration::from_secs(5)));
    wire.wait(Duration::from_secs(5));
    assert!(wire.connection.is_closed());
    assert_eq!(wire.heard(), []);
}

#[test]
fn a_request_in_fragments_is_one_request() {
    const FOLLOWS: u16 = 0x080;
    const METADATA: u16 = 0x100;
    let mut wire = Wire::open();
    wire.say(|out| {
        raw(out, 1, 0x06, FOLLOWS | METADATA, b"\0\0\0\x05\0\0\x02de");
        raw(out, 1, 0x0A, FOLLOWS | METADATA | 0x20, b"\0\0\x04cideab");
        raw(out, 1, 0x0A, FOLLOWS | 0x20, b"cd");
    });
    assert_eq!(wire.event(), None);
    assert_eq!(wire.connection.bytes_held(), 10);
    wire.say(|out| raw(out, 1, 0x0A, 0x60, b"ef"));
    let expected =
        Event::Request { stream: 1, expects: Expects::Many, route: text("decide"), data: text("abcdef") };
    assert_eq!(wire.event(), Some(expected));
    assert_eq!(wire.connection.bytes_held(), 0);
    assert!(wire.connection.send(1, |_| {}));
    // Nobody asked for these.
    wire.say(|out| raw(out, 1, 0x0A, 0x20, b"more"));
    wire.say(|out| raw(out, 77, 0x0A, 0x20, b"more"));
    assert_eq!(wire.event(), None);
    assert!(wire.connection.wants(1));
}

#[test]
fn fragments_that_grow_too_long_are_given_up() {
    let mut wire = Wire::open();
    let part = [b'x'; 400];
    wire.say(|out| {
        raw(out, 1, 0x04, 0x080, &part);
        raw(out, 3, 0x04, 0x080, &part);
        raw(out, 1, 0x0A, 0x0A0, &part);
        raw(out, 1, 0x0A, 0x020, &part);
        raw(out, 3, 0x0A, 0x020, &part);
    });
    let whole = Bytes::from(vec![b'x'; 800]);
    let expected = Event::Request { stream: 3, expects: Expects::One, route: Bytes::new(), data: whole };
    assert_eq!(wire.event(), Some(expected));
    let heard = wire.heard();
    assert!(matches!(heard.as_slice(), [Frame::Error { stream: 1, code: 0x203, .. }]), "{heard:?}");
    assert_eq!(wire.connection.take_limits_hit(), LimitsHit { payload_bytes: 1, ..LimitsHit::default() });
}

#[test]
fn a_fragmented_request_that_is_cancelled_is_forgotten() {
    let mut wire = Wire::open();
    wire.say(|out| raw(out, 1, 0x04, 0x080, b"x"));
    wire.say(|out| write::cancel(out, 1));
    assert_eq!(wire.event(), None);
    assert_eq!((wire.connection.bytes_held(), wire.connection.stream_count()), (0, 0));
}

#[test]
fn a_frame_longer_than_allowed_ends_the_connection_before_it_is_there() {
    let mut wire = Wire::open();
    wire.say(|out| out.put_uint(1007, 3));
    assert_eq!(wire.event(), None);
    assert_eq!(wire.heard(), [error(0, 0x101, "a frame is longer than this server takes")]);
    assert!(wire.connection.is_closed());
    assert_eq!(wire.connection.take_limits_hit(), LimitsHit { payload_bytes: 1, ..LimitsHit::default() });
}

#[test]
fn frames_of_unknown_types_are_passed_over_if_they_say_so() {
    let mut wire = Wire::open();
    wire.say(|out| {
        raw(out, 1, 0x3F, 0x200, b"whatever");
        raw(out, 0, 0x20, 0x200, b"");
        raw(out, 0, 0x02, 0, b"\0\0\0\x01\0\0\0\x01");
        raw(out, 0, 0x0C, 0x100, b"pushed");
    });
    assert_eq!(wire.event(), None);
    assert!(!wire.connection.is_closed() && wire.heard().is_empty());
    wire.say(|out| raw(out, 0, 0x20, 0, b""));
    assert_eq!(wire.event(), None);
    assert_eq!(wire.heard(), [error(0, 0x101, "a frame of an unknown type")]);
}

#[test]
fn a_client_that_breaks_the_protocol_is_told_how() {
    type Frames = fn(&mut BytesMut);
    let cases: [(Frames, &str); 4] = [
        (|out| write::setup(out, &setup(None)), "a second setup"),
        (|out| write::request(out, 0, Interaction::Response, 1, b"r", |_| {}), "a request on stream 0"),
        (|out| raw(out, 1, 0x04, 0x100, b"\0\0\x09r"), "a frame ends too early"),
        (|out| out.put_uint(2, 3), "a frame ends too early"),
    ];
    for (frames, message) in cases {
        let mut wire = Wire::open();
        wire.say(frames);
        wire.say(|out| out.put_slice(b"\0\0"));
        assert_eq!(wire.event(), None);
        assert_eq!(wire.heard(), [error(0, 0x101, message)]);
        assert!(wire.connection.is_closed());
    }
}

#[test]
fn a_client_that_says_goodbye_with_an_error_is_let_go() {
    let mut wire = Wire::open();
    wire.say(|out| write::error(out, 0, ErrorCode::ConnectionClose, "bye"));
    assert_eq!(wire.event(), None);
    assert!(wire.connection.is_closed());
    assert_eq!(wire.heard(), []);
}

#[test]
fn a_client_that_does_not_read_gets_no_further_requests_looked_at() {
    let mut wire = Wire::open();
    wire.ask(1, Interaction::Stream, ALL);
    assert!(wire.event().is_some());
    while !wire.connection.is_congested() {
        assert!(wire.connection.send(1, |out| out.put_bytes(0, 1000)));
    }
    wire.ask(3, Interaction::Response, 1);
    assert_eq!((wire.event(), wire.connection.wants_input()), (None, false));
    assert!(wire.connection.out().len() < OUT_BYTES_HIGH + 1100);
    wire.heard();
    assert_eq!(wire.event(), request(3, Expects::One));
}

//! The requester without its socket: against the responder, and against servers that say anything.

use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use durward_wire::rsocket::connection::{Connection, Event as Asked, Expects};
use durward_wire::rsocket::frame::{ErrorCode, FRAME_BYTES_MAX, Frame, flag, split};
use durward_wire::rsocket::requester::{Closed, Event, Limits, Refused, Requester};
use durward_wire::rsocket::{Credentials, write};

use crate::support::{Dice, LIMITS};

const OURS: Limits = Limits {
    payload_bytes_max: 1000,
    keep_alive: Duration::from_secs(20),
    lifetime: Duration::from_secs(90),
};

/// A requester whose setup was written.
fn open() -> (Requester, Instant) {
    let now = Instant::now();
    let mut requester = Requester::new(OURS, &Credentials::None, now);
    requester.out().clear();
    (requester, now)
}

/// A requester with one question of one answer, stream 1, and one of many, stream 3.
fn asked() -> (Requester, Instant) {
    let (mut requester, now) = open();
    assert_eq!(requester.ask(b"r", b"d"), Ok(1));
    assert_eq!(requester.watch(b"r", b"d"), Ok(3));
    requester.out().clear();
    (requester, now)
}

fn answer(stream: u32, data: &'static str, is_last: bool) -> Event {
    Event::Answer { stream, data: Bytes::from_static(data.as_bytes()), is_last }
}

fn payload(requester: &mut Requester, stream: u32, flags: u16, data: &str) {
    write::payload(requester.input(), stream, flags, |out| out.put_slice(data.as_bytes()));
}

/// What the requester says.
fn said(requester: &mut Requester) -> Vec<Frame> {
    let out = requester.out();
    let frames = std::iter::from_fn(|| split(out)).map(|bytes| Frame::read(bytes).unwrap()).collect();
    assert!(requester.out().is_empty(), "half a frame");
    frames
}

#[test]
fn questions_are_answered_by_the_responder() {
    let now = Instant::now();
    let credentials = Credentials::Simple { user: "ada".into(), password: "pass:word".into() };
    let mut client = Requester::new(OURS, &credentials, now);
    let mut server = Connection::new(LIMITS, now);
    assert_eq!(client.ask(b"decide-once", b"q"), Ok(1));
    assert_eq!(client.watch(b"decide", b"w"), Ok(3));
    server.input().extend_from_slice(&client.out().split());
    assert_eq!(server.next_event(now), Some(Asked::Setup(credentials)));
    server.accept(None);
    for (stream, expects, route, data) in
        [(1, Expects::One, "decide-once", "q"), (3, Expects::Many, "decide", "w")]
    {
        let (route, data) = (Bytes::from(route), Bytes::from(data));
        assert_eq!(server.next_event(now), Some(Asked::Request { stream, expects, route, data }));
    }
    assert!(server.respond(1, |out| out.put_slice(b"one")));
    assert!(server.send(3, |out| out.put_slice(b"first")) && server.send(3, |out| out.put_slice(b"second")));
    server.complete(3);
    client.input().extend_from_slice(&server.out().split());
    for event in [
        answer(1, "one", true),
        answer(3, "first", false),
        answer(3, "second", false),
        Event::Completed { stream: 3 },
    ] {
        assert_eq!(client.next_event(now), Some(event));
    }
    assert_eq!((client.next_event(now), client.under_way()), (None, 0));
}

#[test]
fn a_token_is_sent_with_the_setup() {
    let now = Instant::now();
    let credentials = Credentials::Bearer("sapl_abc_def".into());
    let mut client = Requester::new(OURS, &credentials, now);
    let mut server = Connection::new(LIMITS, now);
    server.input().extend_from_slice(client.out());
    assert_eq!(server.next_event(now), Some(Asked::Setup(credentials)));
}

#[test]
fn a_refused_setup_ends_the_connection_with_its_reason() {
    let (mut requester, now) = asked();
    write::error(requester.input(), 0, ErrorCode::RejectedSetup, "Authentication failed");
    assert_eq!(requester.next_event(now), None);
    let closed = Closed::ByServer { code: 3, reason: "Authentication failed".into() };
    assert_eq!(requester.closed(), Some(&closed));
    assert_eq!(requester.ask(b"r", b""), Err(Refused::Over));
    assert_eq!(requester.deadline(), None);
}

#[test]
fn a_failed_request_is_the_failure_of_that_one() {
    let (mut requester, now) = asked();
    write::error(requester.input(), 1, ErrorCode::Invalid, "Bad request");
    payload(&mut requester, 3, flag::NEXT, "x");
    let failed = Event::Failed { stream: 1, code: 0x204, reason: "Bad request".into() };
    assert_eq!(requester.next_event(now), Some(failed));
    assert_eq!(requester.next_event(now), Some(answer(3, "x", false)));
}

#[test]
fn answers_that_come_in_parts_are_put_together() {
    let (mut requester, now) = asked();
    for (stream, flags, data) in [
        (3, flag::NEXT | flag::FOLLOWS, "ab"),
        (1, flag::NEXT | flag::FOLLOWS, "12"),
        (3, flag::NEXT | flag::FOLLOWS, "c"),
        (1, flag::NEXT | flag::COMPLETE, "3"),
        (3, flag::NEXT, ""),
    ] {
        payload(&mut requester, stream, flags, data);
    }
    assert_eq!(requester.next_event(now), Some(answer(1, "123", true)));
    assert_eq!(requester.next_event(now), Some(answer(3, "abc", false)));
    assert_eq!(requester.next_event(now), None);
}

#[test]
fn answers_that_nobody_waits_for_are_passed_over() {
    let (mut requester, now) = asked();
    requester.cancel(3);
    assert!(matches!(said(&mut requester)[..], [Frame::Cancel { stream: 3 }]));
    payload(&mut requester, 3, flag::NEXT, "late");
    payload(&mut requester, 8, flag::NEXT, "of whom?");
    payload(&mut requester, 1, flag::NEXT | flag::COMPLETE, "");
    assert_eq!(requester.next_event(now), Some(answer(1, "", true)));
    payload(&mut requester, 1, flag::NEXT | flag::COMPLETE, "twice");
    assert_eq!((requester.next_event(now), requester.under_way()), (None, 0));
}

#[test]
fn signs_of_life_are_given_and_wanted() {
    let (mut requester, now) = open();
    write::keep_alive(requester.input(), true, b"echo");
    assert_eq!(requester.next_event(now), None);
    let echo = Frame::KeepAlive { respond: false, data: Bytes::from_static(b"echo") };
    assert_eq!(said(&mut requester), [echo]);
    let later = now + OURS.keep_alive;
    assert_eq!(requester.deadline(), Some(later));
    requester.tick(later);
    assert_eq!(said(&mut requester), [Frame::KeepAlive { respond: true, data: Bytes::new() }]);
    write::keep_alive(requester.input(), false, b"");
    assert_eq!(requester.next_event(later), None);
    requester.tick(now + OURS.lifetime);
    assert_eq!(requester.closed(), None);
    requester.tick(later + OURS.lifetime);
    assert_eq!(requester.closed(), Some(&Closed::Silent));
}

#[test]
fn questions_that_fit_no_frame_are_refused() {
    let (mut requester, _) = open();
    let long = vec![0; FRAME_BYTES_MAX];
    assert_eq!(requester.ask(b"r", &long), Err(Refused::TooLong));
    assert_eq!(requester.ask(b"r", &long[..FRAME_BYTES_MAX - 14]), Ok(1));
    let frame = split(requester.out()).unwrap();
    assert!(
        matches!(Frame::read(frame), Ok(Frame::Request { payload, .. }) if payload.data.len() == FRAME_BYTES_MAX - 14)
    );
}

#[test]
fn nonsense_ends_the_connection() {
    let long = "x".repeat(600);
    let breaks: [&dyn Fn(&mut BytesMut); 5] = [
        &|input| input.put_slice(b"\0\0\x01x"),
        &|input| input.put_slice(b"\xff\xff\xff"),
        &|input| write::setup(input, &crate::support::setup(None)),
        &|input| input.put_slice(b"\0\0\x06\0\0\0\x01\xf0\0"),
        &|input| {
            for stream in [1, 3] {
                let flags = flag::NEXT | flag::FOLLOWS;
                write::payload(input, stream, flags, |out| out.put_slice(long.as_bytes()));
            }
        },
    ];
    for (number, nonsense) in breaks.into_iter().enumerate() {
        let (mut requester, now) = asked();
        nonsense(requester.input());
        assert_eq!(requester.next_event(now), None);
        assert!(
            matches!(requester.closed(), Some(Closed::Nonsense(_))),
            "{number}: {:?}",
            requester.closed()
        );
        assert!(matches!(said(&mut requester)[..], [Frame::Error { stream: 0, code: 0x101, .. }]));
    }
}

/// No panic, no growth, no answer to what was not asked.
#[test]
fn a_server_that_says_anything_is_survived() {
    let (mut answers, mut closed) = (0, 0);
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let (mut requester, mut now) = asked();
        for _ in 0..100 {
            let (stream, length) = (dice.below(5) as u32, dice.below(60) as usize);
            let data = dice.bytes(length);
            let input = requester.input();
            match dice.below(8) {
                0 if dice.below(40) == 0 => input.put_slice(&data),
                1 if dice.below(20) == 0 => write::error(input, stream, ErrorCode::Canceled, "x"),
                2 => write::keep_alive(input, stream == 1, &data),
                3 => {
                    input.put_uint(6 + data.len() as u64, 3);
                    input.put_u32(stream);
                    let kind = if dice.below(50) == 0 { dice.below(64) } else { 10 };
                    input.put_u16((kind as u16) << 10 | dice.below(1024) as u16 & !0x100);
                    input.put_slice(&data);
                }
                4 => drop(requester.ask(b"r", &data)),
                _ => {
                    let flags = dice.below(1024) as u16 & (flag::NEXT | flag::COMPLETE | flag::FOLLOWS);
                    write::payload(input, stream, flags, |out| out.put_slice(&data));
                }
            }
            while let Some(event) = requester.next_event(now) {
                answers += 1;
                let (Event::Answer { stream, .. }
                | Event::Completed { stream }
                | Event::Failed { stream, .. }) = event;
                assert!(stream % 2 == 1);
            }
            now += Duration::from_millis(dice.below(3_000));
            requester.tick(now);
        }
        assert!(requester.under_way() <= 102);
        closed += usize::from(requester.closed().is_some());
        said(&mut requester);
    }
    assert!(answers > 1_000 && closed > 50, "{answers} {closed}");
}

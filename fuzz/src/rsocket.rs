//! Any bytes on the RSocket port, in any pieces: whatever they are, the connection stays within its limits, and what it
//! answers is made of whole frames.

use std::time::{Duration, Instant};

use durward_wire::rsocket::connection::{Connection, Event, Expects, Limits, OUT_BYTES_HIGH};
use durward_wire::rsocket::frame::{ErrorCode, Frame, split};

const LIMITS: Limits = Limits {
    payload_bytes_max: 4096,
    streams_max: 4,
    setup_time_max: Duration::from_secs(10),
    lifetime_max: Duration::from_secs(90),
};

/// As read from a client: version 1.0, 20 s, 90 s, no credentials.
const SETUP: &[u8] = b"\0\0\x14\0\0\0\0\x04\0\0\x01\0\0\0\0\x4e\x20\0\x01\x5f\x90\0\0";

pub(crate) fn run(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let mut now = Instant::now();
    let mut connection = Connection::new(LIMITS, now);
    if first & 1 == 0 {
        connection.input().extend_from_slice(SETUP);
    }
    for piece in bytes.chunks(usize::from(first >> 1) + 1) {
        if connection.wants_input() {
            connection.input().extend_from_slice(piece);
        }
        while let Some(event) = connection.next_event(now) {
            answer(&mut connection, event);
            assert!(connection.stream_count() <= LIMITS.streams_max);
            assert!(connection.out().len() <= OUT_BYTES_HIGH + 2 * LIMITS.payload_bytes_max);
        }
        assert!(connection.bytes_held() <= 3 * LIMITS.payload_bytes_max);
        now += Duration::from_millis(7);
        connection.tick(now);
    }
    let out = connection.out();
    while let Some(frame) = split(out) {
        Frame::read(frame).unwrap();
    }
    assert!(out.is_empty());
}

fn answer(connection: &mut Connection, event: Event) {
    match event {
        Event::Setup(_) => connection.accept(None),
        Event::Request { stream, expects: Expects::One, data, .. } => {
            assert!(connection.respond(stream, |out| out.extend_from_slice(&data)));
        }
        Event::Request { stream, expects: Expects::Many, data, .. } if data.starts_with(b"no") => {
            connection.reject(stream, ErrorCode::Invalid, "no");
        }
        Event::Request { stream, .. } | Event::Demand { stream } => {
            while connection.wants(stream) && !connection.is_congested() {
                assert!(connection.send(stream, |out| out.extend_from_slice(&[0; 4000])));
            }
        }
        Event::Cancelled { stream } => assert!(!connection.wants(stream)),
    }
}

//! Any bytes from a server, in any pieces: whatever they are, the requester stays within its limits, answers only what was
//! asked, and says whole frames.

use std::time::{Duration, Instant};

use durward_wire::rsocket::Credentials;
use durward_wire::rsocket::frame::{Frame, split};
use durward_wire::sapl::protobuf::read_decision;
use durward_wire::rsocket::requester::{Event, Limits, Requester};

const LIMITS: Limits = Limits {
    payload_bytes_max: 4096,
    keep_alive: Duration::from_millis(50),
    lifetime: Duration::from_millis(500),
};

pub(crate) fn run(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let mut now = Instant::now();
    let mut requester = Requester::new(LIMITS, &Credentials::None, now);
    requester.ask(b"decide-once", b"").unwrap();
    requester.watch(b"decide", b"").unwrap();
    for piece in bytes.chunks(usize::from(*first) + 1) {
        requester.input().extend_from_slice(piece);
        while let Some(event) = requester.next_event(now) {
            let stream = match event {
                Event::Answer { stream, data, .. } => {
                    assert!(data.len() <= LIMITS.payload_bytes_max);
                    let _ = read_decision(&data, 1000);
                    stream
                }
                Event::Completed { stream } | Event::Failed { stream, .. } => stream,
            };
            assert!(stream == 1 || stream == 3);
        }
        assert!(requester.under_way() <= 2);
        now += Duration::from_millis(1);
        requester.tick(now);
    }
    let out = requester.out();
    while let Some(frame) = split(out) {
        Frame::read(frame).unwrap();
    }
    assert!(out.is_empty());
}

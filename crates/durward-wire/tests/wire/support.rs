//! A client's half of a connection, a clock that is moved by hand, and dice that fall the same way every time.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use durward_testdata::TestRandom;
use durward_wire::rsocket::connection::{Connection, Event, Limits};
use durward_wire::rsocket::frame::{self, Frame, Interaction, Payload, Setup, UNBOUNDED};
use durward_wire::rsocket::{Credentials, write};

pub(crate) const LIMITS: Limits = Limits {
    payload_bytes_max: 1000,
    streams_max: 3,
    setup_time_max: Duration::from_secs(10),
    lifetime_max: Duration::from_secs(90),
};

/// A connection and the client's view of it.
pub(crate) struct Wire {
    pub(crate) connection: Connection,
    pub(crate) now: Instant,
}

pub(crate) fn setup(metadata: Option<&'static [u8]>) -> Setup {
    Setup {
        major: 1,
        minor: 0,
        keep_alive_ms: 20_000,
        lifetime_ms: 90_000,
        resumes: false,
        leases: false,
        payload: Payload { metadata: metadata.map(Bytes::from_static), data: Bytes::new() },
    }
}

impl Wire {
    pub(crate) fn new() -> Wire {
        let now = Instant::now();
        Wire { connection: Connection::new(LIMITS, now), now }
    }

    /// Set up and accepted.
    pub(crate) fn open() -> Wire {
        let mut wire = Wire::new();
        wire.say(|out| write::setup(out, &setup(None)));
        assert_eq!(wire.event(), Some(Event::Setup(Credentials::None)));
        wire.connection.accept(None);
        wire
    }

    /// What the client sends.
    pub(crate) fn say(&mut self, frames: impl FnOnce(&mut BytesMut)) {
        frames(self.connection.input());
    }

    pub(crate) fn ask(&mut self, stream: u32, interaction: Interaction, demand: u32) {
        self.say(|out| {
            write::request(out, stream, interaction, demand, b"r", |out| out.extend_from_slice(b"d"))
        });
    }

    pub(crate) fn event(&mut self) -> Option<Event> {
        self.connection.next_event(self.now)
    }

    pub(crate) fn wait(&mut self, time: Duration) {
        self.now += time;
        self.connection.tick(self.now);
    }

    /// What the client gets.
    pub(crate) fn heard(&mut self) -> Vec<Frame> {
        let out = self.connection.out();
        let frames = std::iter::from_fn(|| frame::split(out)).map(|bytes| Frame::read(bytes).unwrap());
        let frames = frames.collect();
        assert!(self.connection.out().is_empty(), "half a frame");
        frames
    }
}

pub(crate) fn text(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

pub(crate) fn error(stream: u32, code: u32, message: &'static str) -> Frame {
    Frame::Error { stream, code, message: text(message) }
}

/// All there is.
pub(crate) const ALL: u32 = UNBOUNDED;

/// Numbers as they are wanted here.
pub(crate) struct Dice(TestRandom);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(TestRandom::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.number()
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

//! What a connection over HTTP waits for, so that whatever takes too long is noticed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use durward_settings::ServerSettings;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The first byte of the next request.
    Request = 0,
    /// The rest of a header.
    Header = 1,
    /// The answer to be made, the body to come included; the body has its own limit.
    Answer = 2,
    /// The answer to be taken.
    Taking = 3,
    /// The next event of a stream, for however long that takes.
    Event = 4,
}

/// What a connection waits for, and since when: milliseconds since the start of the server, times eight, plus
/// [`Wait`]. Only its own task writes it.
#[derive(Debug)]
pub struct Phase {
    started: Instant,
    packed: AtomicU64,
    /// Whether the answer is a stream of events.
    is_stream: AtomicBool,
}

impl Phase {
    /// A connection that waits for its first request. `started` is when the server started: moments are counted from there.
    pub fn new(started: Instant) -> Phase {
        let phase = Phase { started, packed: AtomicU64::new(0), is_stream: AtomicBool::new(false) };
        phase.set(Wait::Request);
        phase
    }

    /// From now on this is waited for.
    pub fn set(&self, wait: Wait) {
        let since = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX >> 3);
        self.packed.store(since << 3 | wait as u64, Ordering::Relaxed);
    }

    /// Goes on to `next`, if `from` is what is waited for.
    pub fn advance(&self, from: Wait, next: Wait) {
        if self.get().0 == from {
            self.set(next);
        }
    }

    fn get(&self) -> (Wait, Instant) {
        let packed = self.packed.load(Ordering::Relaxed);
        let wait = match packed & 7 {
            0 => Wait::Request,
            1 => Wait::Header,
            2 => Wait::Answer,
            3 => Wait::Taking,
            _ => Wait::Event,
        };
        (wait, self.started + Duration::from_millis(packed >> 3))
    }

    /// Since when it has waited for a request of which nothing has come.
    pub fn idle_since(&self) -> Option<Instant> {
        match self.get() {
            (Wait::Request, since) => Some(since),
            (Wait::Header | Wait::Answer | Wait::Taking | Wait::Event, _) => None,
        }
    }

    /// Whether no request is under way: its answer is made, or only part of its header has come.
    pub fn is_between(&self) -> bool {
        matches!(self.get().0, Wait::Request | Wait::Header | Wait::Taking) && !self.is_stream()
    }

    /// The answer is a stream of events.
    pub fn begin_stream(&self) {
        self.is_stream.store(true, Ordering::Relaxed);
    }

    /// Whether the answer is a stream of events.
    pub fn is_stream(&self) -> bool {
        self.is_stream.load(Ordering::Relaxed)
    }

    /// The stream has something to tell, which is to be taken.
    pub fn go_on(&self) {
        self.advance(Wait::Event, Wait::Taking);
    }

    /// The stream is over; what it told last may still have to be taken.
    pub fn end_stream(&self) {
        self.is_stream.store(false, Ordering::Relaxed);
        self.advance(Wait::Event, Wait::Taking);
    }

    /// All there is to be taken has been.
    pub fn taken(&self) {
        self.advance(Wait::Taking, if self.is_stream() { Wait::Event } else { Wait::Request });
    }

    /// When it will have waited too long, and which setting says so; never for the next event of a stream.
    pub fn deadline(&self, settings: &ServerSettings) -> Option<(Instant, &'static str)> {
        let (wait, since) = self.get();
        let (time, setting) = match wait {
            Wait::Request => (settings.idle_time_max(), "server.idle_time_ms_max"),
            Wait::Header => (settings.header_time_max(), "server.header_time_ms_max"),
            // The body has been given up after half of this: the rest is for the refusal to go out.
            Wait::Answer => (2 * settings.request_time_max(), "server.request_time_ms_max"),
            Wait::Taking => (settings.request_time_max(), "server.request_time_ms_max"),
            Wait::Event => return None,
        };
        Some((since + time, setting))
    }
}

//! One connection of a responder, without a socket and without a clock: bytes go in, events come out, answers go in,
//! bytes come out.
//!
//! ```text
//!  Waiting --setup--> Asked --accept--> Open --error, expiry, silence--> Closed
//!     '---anything else, too late---------'--------refuse------------------^
//! ```
//!
//! Whoever drives it reads into [`Connection::input`], takes events until there is none, writes out
//! [`Connection::out`], and calls [`Connection::tick`] when [`Connection::deadline`] has come. What a client can make it
//! hold is bounded: one frame not yet whole, the fragments of [`Limits::payload_bytes_max`] together,
//! [`Limits::streams_max`] streams, and [`OUT_BYTES_HIGH`] of answers, beyond which no event comes until they are
//! written.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::Credentials;
use super::frame::{
    self, ErrorCode, Frame, HEADER_BYTES, Interaction, LENGTH_BYTES, Payload, Setup, announced_length, flag,
};
use super::streams::{Demanded, Opened, Reassembled, Streams};
use super::write;

/// Answers that may wait to be written before no further request is looked at: some thousands.
pub const OUT_BYTES_HIGH: usize = 256 * 1024;

/// The version of the protocol spoken here.
const MAJOR_VERSION: u16 = 1;

/// Keep-alives are sent no more often than this, whatever a client asks for.
const KEEP_ALIVE_LEAST: Duration = Duration::from_millis(100);

/// What a request that makes no sense is told.
pub const BAD_REQUEST: &str = "Bad request";

/// What one connection may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one payload, and of all payloads together that arrive in fragments.
    pub payload_bytes_max: usize,
    /// Most streams at once, requests that wait for their answer included.
    pub streams_max: usize,
    /// How long the setup may take to arrive.
    pub setup_time_max: Duration,
    /// How long a client may be silent, whatever it says of itself.
    pub lifetime_max: Duration,
}

/// How often a client hit the [`Limits`] of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsHit {
    /// Frames and requests in fragments that were longer than [`Limits::payload_bytes_max`].
    pub payload_bytes: u64,
    /// Requests beyond [`Limits::streams_max`].
    pub streams: u64,
    /// 1 if the setup did not come within [`Limits::setup_time_max`].
    pub setup_time: u64,
    /// 1 if the client was silent for [`Limits::lifetime_max`]; not if it named a shorter time itself.
    pub lifetime: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client says who it is: [`Connection::accept`] or [`Connection::refuse`] it. No event comes before that.
    Setup(Credentials),
    /// A request, to be answered with [`Connection::respond`], [`Connection::send`] or [`Connection::reject`].
    Request {
        /// Names the request in answers.
        stream: u32,
        /// One answer or many.
        expects: Expects,
        /// The raw route; empty where there is none.
        route: Bytes,
        /// The question.
        data: Bytes,
    },
    /// A stream that took no more takes more again.
    Demand {
        /// The stream.
        stream: u32,
    },
    /// Nobody waits for this answer any more.
    Cancelled {
        /// The stream.
        stream: u32,
    },
}

/// How many answers a request is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expects {
    /// One.
    One,
    /// As many as there are.
    Many,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Asked,
    Open,
    Closed,
}

/// When signs of life are due.
#[derive(Clone, Copy, Debug)]
struct Pulse {
    interval: Duration,
    lifetime: Duration,
    next: Instant,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    limits_hit: LimitsHit,
    state: State,
    input: BytesMut,
    out: BytesMut,
    streams: Streams,
    /// When the client was last heard.
    heard: Instant,
    pulse: Option<Pulse>,
    expires: Option<Instant>,
}

impl Connection {
    /// A connection that was opened at `now` and has to send its setup.
    pub fn new(limits: Limits, now: Instant) -> Connection {
        Connection {
            limits,
            limits_hit: LimitsHit::default(),
            state: State::Waiting,
            input: BytesMut::new(),
            out: BytesMut::new(),
            streams: Streams::new(limits.streams_max, limits.payload_bytes_max),
            heard: now,
            pulse: None,
            expires: None,
        }
    }

    /// Where to put bytes received, at the end.
    pub fn input(&mut self) -> &mut BytesMut {
        &mut self.input
    }

    /// What has to be written, from its beginning; whoever writes takes it off.
    pub fn out(&mut self) -> &mut BytesMut {
        &mut self.out
    }

    /// Whether more bytes received would be looked at now. Otherwise they would only be kept.
    pub fn wants_input(&self) -> bool {
        matches!(self.state, State::Waiting | State::Open) && !self.is_congested()
    }

    /// Whether so much waits to be written that no event comes before it is.
    pub fn is_congested(&self) -> bool {
        self.out.len() >= OUT_BYTES_HIGH
    }

    /// Whether it is over: write out what is left, and close.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether requests wait for their only answer.
    pub fn has_unanswered(&self) -> bool {
        self.streams.has_single()
    }

    /// How many streams are open, requests that wait for their only answer included.
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// The bytes of payloads that are not whole yet.
    pub fn bytes_held(&self) -> usize {
        self.input.len() + self.streams.fragment_bytes()
    }

    /// How often limits were hit since this was last asked.
    pub fn take_limits_hit(&mut self) -> LimitsHit {
        std::mem::take(&mut self.limits_hit)
    }

    /// What happened next; `None` where more input, an [`accept`](Connection::accept), or room to write is needed.
    pub fn next_event(&mut self, now: Instant) -> Option<Event> {
        while self.wants_input() {
            let length = announced_length(&self.input)?;
            if length > self.limits.payload_bytes_max.saturating_add(HEADER_BYTES) {
                // There is no stream to tell: the frame's header need not be here yet.
                self.limits_hit.payload_bytes += 1;
                self.fail(ErrorCode::ConnectionError, "a frame is longer than this server takes");
                return None;
            }
            let bytes = frame::split(&mut self.input)?;
            self.heard = now;
            let event = match Frame::read(bytes) {
                Ok(frame) => self.take(frame, now),
                Err(error) => {
                    self.fail(self.fault(), error.message);
                    return None;
                }
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    /// How many more bytes the frame that has begun needs; 0 where none has.
    pub fn bytes_missing(&self) -> usize {
        announced_length(&self.input)
            .map_or(0, |length| (LENGTH_BYTES + length).saturating_sub(self.input.len()))
    }

    /// The code for a client that breaks the protocol.
    fn fault(&self) -> ErrorCode {
        match self.state {
            State::Waiting => ErrorCode::InvalidSetup,
            State::Asked | State::Open | State::Closed => ErrorCode::ConnectionError,
        }
    }

    fn take(&mut self, frame: Frame, now: Instant) -> Option<Event> {
        match (self.state, frame) {
            (State::Waiting, Frame::Setup(setup)) => self.set_up(setup, now),
            (State::Waiting, Frame::Resume) => {
                self.fail(ErrorCode::RejectedResume, "resume not supported");
                None
            }
            (State::Waiting, _) => {
                self.fail(
                    ErrorCode::InvalidSetup,
                    "SETUP or RESUME frame must be received before any others",
                );
                None
            }
            (State::Open | State::Asked | State::Closed, frame) => self.take_open(frame),
        }
    }

    fn set_up(&mut self, setup: Setup, now: Instant) -> Option<Event> {
        let wrong = if setup.major != MAJOR_VERSION {
            Some((ErrorCode::InvalidSetup, "Unsupported version"))
        } else if setup.leases {
            Some((ErrorCode::InvalidSetup, "lease is not supported"))
        } else if setup.resumes {
            Some((ErrorCode::UnsupportedSetup, "resume not supported"))
        } else {
            None
        };
        if let Some((code, reason)) = wrong {
            self.fail(code, reason);
            return None;
        }
        self.pulse = Some(Pulse::of(&setup, self.limits.lifetime_max, now));
        self.state = State::Asked;
        Some(Event::Setup(Credentials::read(setup.payload.metadata)))
    }

    fn take_open(&mut self, frame: Frame) -> Option<Event> {
        match frame {
            Frame::Request { stream, interaction, demand, follows, payload } => {
                self.take_request(stream, interaction, demand, follows, payload)
            }
            Frame::RequestN { stream, demand } => match self.streams.add_demand(stream, demand) {
                Demanded::Again => Some(Event::Demand { stream }),
                Demanded::More => None,
            },
            Frame::Cancel { stream } => self.streams.remove(stream).then_some(Event::Cancelled { stream }),
            Frame::Payload { stream, follows, payload, .. } => self.take_fragment(stream, follows, payload),
            Frame::KeepAlive { respond, data } => {
                if respond {
                    write::keep_alive(&mut self.out, false, &data);
                }
                None
            }
            Frame::Error { stream: 0, .. } => {
                self.state = State::Closed;
                None
            }
            // Only a requester of ours could be meant, and there is none; what we answer on it is of no use any more.
            Frame::Error { stream, .. } => self.streams.remove(stream).then_some(Event::Cancelled { stream }),
            Frame::Unused | Frame::Unknown { ignorable: true } => None,
            Frame::Unknown { ignorable: false } => {
                self.fail(ErrorCode::ConnectionError, "a frame of an unknown type");
                None
            }
            Frame::Setup(_) | Frame::Resume => {
                self.fail(ErrorCode::ConnectionError, "a second setup");
                None
            }
        }
    }

    fn take_request(
        &mut self,
        stream: u32,
        interaction: Interaction,
        demand: u32,
        follows: bool,
        payload: Payload,
    ) -> Option<Event> {
        let expects = match interaction {
            _ if stream == 0 => {
                self.fail(ErrorCode::ConnectionError, "a request on stream 0");
                return None;
            }
            Interaction::Response => Expects::One,
            Interaction::Stream => Expects::Many,
            // Nothing here takes one, and nobody waits to be told so.
            Interaction::FireAndForget => return None,
            Interaction::Channel => {
                write::error(&mut self.out, stream, ErrorCode::Invalid, BAD_REQUEST);
                return None;
            }
        };
        let opened = if follows {
            self.streams.begin(stream, expects, demand, &payload)
        } else {
            self.streams.open(stream, expects, demand)
        };
        match opened {
            Opened::Yes if follows => None,
            Opened::Yes => Some(asked(stream, expects, payload)),
            // A second request with the number of one under way is no request that could be answered.
            Opened::IsOpen => None,
            Opened::TooMany => {
                self.limits_hit.streams += 1;
                write::error(&mut self.out, stream, ErrorCode::Rejected, "Stream limit reached");
                None
            }
            Opened::TooLong => self.give_up_reassembly(stream),
        }
    }

    fn take_fragment(&mut self, stream: u32, follows: bool, payload: Payload) -> Option<Event> {
        match self.streams.append(stream, follows, &payload) {
            Reassembled::Whole(expects, payload) => Some(asked(stream, expects, payload)),
            Reassembled::Part | Reassembled::NotExpected => None,
            Reassembled::TooLong => self.give_up_reassembly(stream),
        }
    }

    fn give_up_reassembly(&mut self, stream: u32) -> Option<Event> {
        self.limits_hit.payload_bytes += 1;
        let reason = "Failed to reassemble payload: it is longer than this server takes";
        write::error(&mut self.out, stream, ErrorCode::Canceled, reason);
        None
    }

    /// The client may stay, until `expires` if its credentials say so.
    pub fn accept(&mut self, expires: Option<Instant>) {
        if self.state == State::Asked {
            self.state = State::Open;
            self.expires = expires;
        }
    }

    /// The client may not stay, for `reason`.
    pub fn refuse(&mut self, reason: &str) {
        self.fail(ErrorCode::RejectedSetup, reason);
    }

    /// Ends the connection and tells the client why. What was to be written before is still written.
    pub fn fail(&mut self, code: ErrorCode, reason: &str) {
        if self.state != State::Closed {
            write::error(&mut self.out, 0, code, reason);
            self.state = State::Closed;
        }
    }

    /// The only answer of a request; its data is what `answer` appends. `false` where nobody waits for it any more.
    pub fn respond(&mut self, stream: u32, answer: impl FnOnce(&mut BytesMut)) -> bool {
        let is_waited_for = self.state == State::Open && self.streams.answer(stream);
        if is_waited_for {
            write::payload(&mut self.out, stream, flag::NEXT | flag::COMPLETE, answer);
        }
        is_waited_for
    }

    /// Whether a stream takes a payload now.
    pub fn wants(&self, stream: u32) -> bool {
        self.state == State::Open && self.streams.wants(stream)
    }

    /// One more answer of a stream. `false` where the stream takes none now; then [`Event::Demand`] says when it does
    /// again.
    pub fn send(&mut self, stream: u32, answer: impl FnOnce(&mut BytesMut)) -> bool {
        let is_wanted = self.state == State::Open && self.streams.spend(stream);
        if is_wanted {
            write::payload(&mut self.out, stream, flag::NEXT, answer);
        }
        is_wanted
    }

    /// Ends a stream without an error.
    pub fn complete(&mut self, stream: u32) {
        if self.state == State::Open && self.streams.remove(stream) {
            write::payload(&mut self.out, stream, flag::COMPLETE, |_| {});
        }
    }

    /// Ends a stream and tells why.
    pub fn reject(&mut self, stream: u32, code: ErrorCode, reason: &str) {
        if self.state == State::Open && self.streams.remove(stream) {
            write::error(&mut self.out, stream, code, reason);
        }
    }

    /// When [`Connection::tick`] has to be called at the latest.
    pub fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Waiting => self.heard.checked_add(self.limits.setup_time_max),
            // Whoever verifies credentials has a limit of their own.
            State::Asked | State::Closed => None,
            State::Open => {
                let pulse = self.pulse.map(|pulse| pulse.next.min(self.heard + pulse.lifetime));
                [pulse, self.expires].into_iter().flatten().min()
            }
        }
    }

    /// Does what is due at `now`.
    pub fn tick(&mut self, now: Instant) {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        match self.state {
            State::Waiting => {
                self.limits_hit.setup_time += 1;
                self.fail(ErrorCode::InvalidSetup, "the setup took too long");
            }
            State::Asked | State::Closed => {}
            // Recorded of SAPL: the connection is closed without a word.
            State::Open if self.expires.is_some_and(|expires| expires <= now) => self.state = State::Closed,
            State::Open => self.beat(now),
        }
    }

    fn beat(&mut self, now: Instant) {
        let Some(pulse) = &mut self.pulse else { return };
        if now.saturating_duration_since(self.heard) >= pulse.lifetime {
            let is_limit = pulse.lifetime >= self.limits.lifetime_max;
            self.limits_hit.lifetime += u64::from(is_limit);
            let reason = format!("No keep-alive acks for {} ms", pulse.lifetime.as_millis());
            return self.fail(ErrorCode::ConnectionError, &reason);
        }
        if now >= pulse.next {
            pulse.next = now + pulse.interval;
            // What waits to be written is enough of a sign.
            if !self.is_congested() {
                write::keep_alive(&mut self.out, true, &[]);
            }
        }
    }
}

impl Pulse {
    /// A client that names no time, or a very long one, is asked often enough all the same to be known dead in time.
    fn of(setup: &Setup, lifetime_max: Duration, now: Instant) -> Pulse {
        let named = |milliseconds: u32| match milliseconds {
            0 => lifetime_max,
            some => Duration::from_millis(some.into()),
        };
        let lifetime = named(setup.lifetime_ms).min(lifetime_max).max(KEEP_ALIVE_LEAST);
        let interval = named(setup.keep_alive_ms).min(lifetime / 3).max(KEEP_ALIVE_LEAST);
        Pulse { interval, lifetime, next: now + interval }
    }
}

fn asked(stream: u32, expects: Expects, payload: Payload) -> Event {
    Event::Request { stream, expects, route: payload.metadata.unwrap_or_default(), data: payload.data }
}

//! One connection of a requester, without a socket and without a clock: the other half of the one that answers.
//!
//! ```text
//!  Open --an error of the connection, silence, nonsense--> Closed
//! ```
//!
//! Whoever drives it writes out [`Requester::out`], which begins with the setup, reads into [`Requester::input`], takes
//! events until there is none, and calls [`Requester::tick`] when [`Requester::deadline`] has come. Requests may follow the
//! setup at once: a server that refuses it answers none of them. What a server can make it hold is bounded: one frame not
//! yet whole, and the fragments of [`Limits::payload_bytes_max`] together.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};

use super::credentials::Credentials;
use super::frame::{
    self, ErrorCode, FRAME_BYTES_MAX, Frame, HEADER_BYTES, Interaction, LENGTH_BYTES, Payload, Setup,
    UNBOUNDED, announced_length,
};
use super::write;

/// What a connection may cost, and how it shows that it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one answer, and of all answers together that arrive in fragments.
    pub payload_bytes_max: usize,
    /// How often the server is asked whether it lives.
    pub keep_alive: Duration,
    /// How long it may be silent.
    pub lifetime: Duration,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An answer.
    Answer {
        /// To this request.
        stream: u32,
        /// What it says.
        data: Bytes,
        /// Whether no other follows.
        is_last: bool,
    },
    /// There are no more answers to this request.
    Completed {
        /// The request.
        stream: u32,
    },
    /// A request failed.
    Failed {
        /// The request.
        stream: u32,
        /// An [`ErrorCode`], or a number of the application's.
        code: u32,
        /// The reason.
        reason: String,
    },
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The server said so.
    ByServer {
        /// An [`ErrorCode`], or another number.
        code: u32,
        /// The reason.
        reason: String,
    },
    /// The server sent what is no answer.
    Nonsense(&'static str),
    /// The server was silent for too long.
    Silent,
}

/// Why a request cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It does not fit a frame.
    TooLong,
    /// The connection is over, or has had as many requests as it can number.
    Over,
}

/// A request under way.
#[derive(Debug)]
struct Stream {
    /// Whether more than one answer may come.
    is_stream: bool,
    /// The beginning of an answer that comes in fragments.
    partial: BytesMut,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Requester {
    limits: Limits,
    input: BytesMut,
    out: BytesMut,
    streams: HashMap<u32, Stream, foldhash::fast::RandomState>,
    next_stream: u32,
    fragment_bytes: usize,
    /// When the server was last heard.
    heard: Instant,
    next_beat: Instant,
    closed: Option<Closed>,
}

impl Requester {
    /// A connection that was opened at `now`; its setup waits to be written.
    pub fn new(limits: Limits, credentials: &Credentials, now: Instant) -> Requester {
        let mut out = BytesMut::new();
        let payload = Payload { metadata: credentials.write(), data: Bytes::new() };
        write::setup(
            &mut out,
            &Setup {
                major: 1,
                minor: 0,
                keep_alive_ms: milliseconds(limits.keep_alive),
                lifetime_ms: milliseconds(limits.lifetime),
                resumes: false,
                leases: false,
                payload,
            },
        );
        Requester {
            limits,
            input: BytesMut::new(),
            out,
            streams: HashMap::default(),
            // A client's streams have odd numbers.
            next_stream: 1,
            fragment_bytes: 0,
            heard: now,
            next_beat: now + limits.keep_alive,
            closed: None,
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

    /// Why it is over, if it is.
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref()
    }

    /// How many requests are under way.
    pub fn under_way(&self) -> usize {
        self.streams.len()
    }

    /// Asks for one answer; gives the number by which events name the request.
    ///
    /// # Errors
    /// A question that does not fit a frame, or a connection that takes none any more.
    pub fn ask(&mut self, route: &[u8], data: &[u8]) -> Result<u32, Refused> {
        self.request(Interaction::Response, UNBOUNDED, route, data)
    }

    /// Asks for all answers there will be, as fast as they come.
    ///
    /// # Errors
    /// As [`Requester::ask`].
    pub fn watch(&mut self, route: &[u8], data: &[u8]) -> Result<u32, Refused> {
        self.watch_some(UNBOUNDED, route, data)
    }

    /// Asks for the first so many answers; [`Requester::demand`] asks for more.
    ///
    /// # Errors
    /// As [`Requester::ask`].
    pub fn watch_some(&mut self, demand: u32, route: &[u8], data: &[u8]) -> Result<u32, Refused> {
        self.request(Interaction::Stream, demand, route, data)
    }

    /// Asks for so many more answers.
    pub fn demand(&mut self, stream: u32, more: u32) {
        if self.closed.is_none() && self.streams.contains_key(&stream) {
            write::request_n(&mut self.out, stream, more);
        }
    }

    fn request(
        &mut self,
        interaction: Interaction,
        demand: u32,
        route: &[u8],
        data: &[u8],
    ) -> Result<u32, Refused> {
        // Demand and the length of the route take four and three bytes.
        if HEADER_BYTES + 4 + LENGTH_BYTES + route.len() + data.len() > FRAME_BYTES_MAX {
            return Err(Refused::TooLong);
        }
        if self.closed.is_some() || self.next_stream > UNBOUNDED {
            return Err(Refused::Over);
        }
        let stream = self.next_stream;
        self.next_stream += 2;
        write::request(&mut self.out, stream, interaction, demand, route, |out| out.extend_from_slice(data));
        let is_stream = interaction == Interaction::Stream;
        self.streams.insert(stream, Stream { is_stream, partial: BytesMut::new() });
        Ok(stream)
    }

    /// No more answers are wanted to this request.
    pub fn cancel(&mut self, stream: u32) {
        if self.remove(stream) && self.closed.is_none() {
            write::cancel(&mut self.out, stream);
        }
    }

    fn remove(&mut self, stream: u32) -> bool {
        let removed = self.streams.remove(&stream);
        self.fragment_bytes -= removed.as_ref().map_or(0, |stream| stream.partial.len());
        removed.is_some()
    }

    /// What happened next; `None` where more input is needed, or where it is over.
    pub fn next_event(&mut self, now: Instant) -> Option<Event> {
        while self.closed.is_none() {
            let length = announced_length(&self.input)?;
            if length > self.limits.payload_bytes_max.saturating_add(HEADER_BYTES) {
                self.fail("an answer is longer than this client takes");
                return None;
            }
            let bytes = frame::split(&mut self.input)?;
            self.heard = now;
            let event = match Frame::read(bytes) {
                Ok(frame) => self.take(frame),
                Err(error) => {
                    self.fail(error.message);
                    return None;
                }
            };
            if event.is_some() {
                return event;
            }
        }
        None
    }

    fn take(&mut self, frame: Frame) -> Option<Event> {
        match frame {
            Frame::Payload { stream, follows, complete, next, payload } => {
                self.take_payload(stream, follows, complete, next, &payload)
            }
            Frame::Error { stream: 0, code, message } => {
                self.closed = Some(Closed::ByServer { code, reason: text(&message) });
                None
            }
            Frame::Error { stream, code, message } => {
                let reason = text(&message);
                self.remove(stream).then_some(Event::Failed { stream, code, reason })
            }
            Frame::KeepAlive { respond: true, data } => {
                write::keep_alive(&mut self.out, false, &data);
                None
            }
            // A server may ask a client; this one has nothing to say.
            Frame::Request { stream, interaction, .. } => {
                if interaction != Interaction::FireAndForget {
                    write::error(
                        &mut self.out,
                        stream,
                        ErrorCode::Rejected,
                        "this client answers no questions",
                    );
                }
                None
            }
            Frame::KeepAlive { respond: false, .. }
            | Frame::RequestN { .. }
            | Frame::Cancel { .. }
            | Frame::Unused
            | Frame::Unknown { ignorable: true } => None,
            Frame::Setup(_) | Frame::Resume | Frame::Unknown { ignorable: false } => {
                self.fail("a frame that no server sends");
                None
            }
        }
    }

    fn take_payload(
        &mut self,
        stream: u32,
        follows: bool,
        complete: bool,
        next: bool,
        payload: &Payload,
    ) -> Option<Event> {
        // What was cancelled may still be on its way.
        let open = self.streams.get_mut(&stream)?;
        let is_last = complete || !open.is_stream;
        let is_partial = follows || !open.partial.is_empty();
        if !is_partial && !next && payload.data.is_empty() {
            return if is_last && self.remove(stream) { Some(Event::Completed { stream }) } else { None };
        }
        let data = if is_partial {
            open.partial.extend_from_slice(&payload.data);
            self.fragment_bytes += payload.data.len();
            if self.fragment_bytes > self.limits.payload_bytes_max {
                self.fail("an answer is longer than this client takes");
                return None;
            }
            if follows {
                return None;
            }
            self.fragment_bytes -= open.partial.len();
            std::mem::take(&mut open.partial).freeze()
        } else {
            payload.data.clone()
        };
        if is_last {
            self.remove(stream);
        }
        Some(Event::Answer { stream, data, is_last })
    }

    fn fail(&mut self, reason: &'static str) {
        write::error(&mut self.out, 0, ErrorCode::ConnectionError, reason);
        self.closed = Some(Closed::Nonsense(reason));
    }

    /// When [`Requester::tick`] has to be called at the latest; `None` when it is over.
    pub fn deadline(&self) -> Option<Instant> {
        self.closed.is_none().then(|| self.next_beat.min(self.heard + self.limits.lifetime))
    }

    /// Does what is due at `now`.
    pub fn tick(&mut self, now: Instant) {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        if now.saturating_duration_since(self.heard) >= self.limits.lifetime {
            self.closed = Some(Closed::Silent);
            return;
        }
        self.next_beat = now + self.limits.keep_alive;
        write::keep_alive(&mut self.out, true, &[]);
    }
}

/// At most what a frame can say.
fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(UNBOUNDED).clamp(1, UNBOUNDED)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

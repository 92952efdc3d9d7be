//! RSocket 1.0 with the messages of SAPL: many requests under way on one connection.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use durward_wire::rsocket::Credentials;
use durward_wire::rsocket::requester::{Closed, Event as Happened, Limits, Refused, Requester};

use super::super::answer::Answer;
use super::super::cause::Cause;
use super::super::plan::{Form, Request};
use super::{Asking, Event, sapl};

/// The longest payload: what a frame can announce.
const PAYLOAD_BYTES_MAX: usize = 0xFF_FFFF;
/// A frame's length and stream id, by which the first of them is told from other protocols.
const FIRST_BYTES: usize = 7;

/// How a connection introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setup {
    pub(crate) credentials: Credentials,
    pub(crate) keep_alive: Duration,
    pub(crate) lifetime: Duration,
}

/// One connection of RSocket.
#[derive(Debug)]
pub(crate) struct Rsocket {
    requester: Requester,
    streams_max: usize,
    /// By stream.
    open: HashMap<u32, Open>,
    answer: Answer,
    /// Bytes of the first frame, as far as they came; `None` when it is known to be one.
    first: Option<Vec<u8>>,
    /// The stream whose last item was told of and whose end was not.
    ended: Option<u32>,
    now: Instant,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    tag: u32,
    request: u32,
    /// Of a stream: how many items may still come before more are asked for.
    demand: u32,
}

impl Rsocket {
    pub(super) fn new(setup: &Setup, streams_max: usize) -> Rsocket {
        let limits = Limits {
            payload_bytes_max: PAYLOAD_BYTES_MAX,
            keep_alive: setup.keep_alive,
            lifetime: setup.lifetime,
        };
        let now = Instant::now();
        Rsocket {
            requester: Requester::new(limits, &setup.credentials, now),
            streams_max,
            open: HashMap::new(),
            answer: Answer::default(),
            first: Some(Vec::new()),
            ended: None,
            now,
        }
    }

    pub(super) fn room(&self) -> usize {
        if self.is_kept() { self.streams_max.saturating_sub(self.open.len()) } else { 0 }
    }

    pub(super) fn under_way(&self) -> usize {
        self.open.len()
    }

    pub(super) fn is_kept(&self) -> bool {
        self.requester.closed().is_none()
    }

    pub(super) fn begin(&mut self, asking: Asking<'_>) -> Result<u32, Cause> {
        let Form::Rsocket(form) = &asking.request.form else { return Err(Cause::NotRsocket) };
        let data = form.data(&asking.fill, asking.tables, asking.body)?;
        let route = form.route.as_bytes();
        let stream = if form.is_stream {
            self.requester.watch_some(form.demand, route, data)
        } else {
            self.requester.ask(route, data)
        };
        let stream = stream.map_err(|refused| match refused {
            Refused::TooLong => Cause::TooLong,
            Refused::Over => Cause::Closed,
        })?;
        self.open.insert(stream, Open { tag: asking.tag, request: asking.number, demand: form.demand });
        Ok(stream)
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        self.now = Instant::now();
        if let Some(first) = &mut self.first {
            first.extend(bytes.iter().take(FIRST_BYTES - first.len()));
            if first.len() == FIRST_BYTES {
                let stream = first.get(3..).unwrap_or_default().try_get_u32().unwrap_or(0) & 0x7FFF_FFFF;
                // A server speaks on streams that this side opened, or of the connection.
                if stream != 0 && !self.open.contains_key(&stream) {
                    return Err(Cause::NotRsocket);
                }
                self.first = None;
            }
        }
        self.requester.input().extend_from_slice(bytes);
        Ok(())
    }

    /// A server that closes says why before, where it has a reason.
    pub(super) fn close(&mut self) -> Result<(), Cause> {
        Err(self.broken().unwrap_or(Cause::Closed))
    }

    fn broken(&self) -> Option<Cause> {
        self.requester.closed().map(|closed| match closed {
            Closed::ByServer { code, .. } => Cause::RsocketClosed(*code),
            Closed::Nonsense(_) => Cause::NotRsocket,
            Closed::Silent => Cause::Silent,
        })
    }

    pub(super) fn next(&mut self, requests: &[Request]) -> Result<Option<Event>, Cause> {
        if let Some(open) = self.ended.take().and_then(|stream| self.open.remove(&stream)) {
            return Ok(Some(Event::End(open.tag)));
        }
        while let Some(happened) = self.requester.next_event(self.now) {
            let event = match happened {
                Happened::Answer { stream, data, is_last } => self.take(stream, &data, is_last, requests),
                Happened::Completed { stream } => self.open.remove(&stream).map(|open| Event::End(open.tag)),
                Happened::Failed { stream, code, .. } => {
                    self.open.remove(&stream).map(|open| Event::Failed(open.tag, Cause::Rsocket(code)))
                }
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        self.broken().map_or(Ok(None), Err)
    }

    fn take(&mut self, stream: u32, data: &Bytes, is_last: bool, requests: &[Request]) -> Option<Event> {
        let open = self.open.get_mut(&stream)?;
        let request = requests.get(open.request as usize)?;
        let Form::Rsocket(form) = &request.form else { return None };
        let (tag, is_stream) = (open.tag, form.is_stream);
        self.answer.json = match sapl::read(form.message, data, request.wants.body) {
            Ok(json) => Some(json),
            Err(_) => {
                self.release(stream);
                return Some(Event::Failed(tag, Cause::NotSapl));
            }
        };
        if is_stream && is_last {
            self.ended = Some(stream);
        } else if is_stream {
            open.demand = open.demand.saturating_sub(1);
            if open.demand == 0 {
                open.demand = form.demand;
                self.requester.demand(stream, form.demand);
            }
        }
        Some(if is_stream { Event::Item(tag) } else { Event::Answer(tag) })
    }

    pub(super) fn answer(&self) -> &Answer {
        &self.answer
    }

    pub(super) fn release(&mut self, stream: u32) {
        if self.open.remove(&stream).is_some() {
            self.requester.cancel(stream);
        }
        self.answer.json = None;
    }

    pub(super) fn tags(&self) -> Vec<u32> {
        self.open.values().map(|open| open.tag).collect()
    }

    pub(super) fn take_out(&mut self, out: &mut Vec<u8>) {
        let waiting = self.requester.out();
        out.extend_from_slice(waiting);
        waiting.clear();
    }

    pub(super) fn tick(&mut self, now: Instant) -> bool {
        if self.requester.deadline().is_none_or(|deadline| now < deadline) {
            return false;
        }
        self.requester.tick(now);
        true
    }
}

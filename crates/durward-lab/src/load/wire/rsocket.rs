//! RSocket 1.0 with the messages of SAPL: many requests under way on one connection.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes};
use durward_wire::rsocket::Credentials;
use durward_wire::rsocket::requester::{Closed, Event as Happened, Limits, Refused, Requester};

use super::super::answer::LoadAnswer;
use super::super::cause::FailureCause;
use super::super::plan::{PlannedRequest, RequestForm};
use super::{OutgoingRequest, WireEvent, sapl};

/// The longest payload: what a frame can announce.
const PAYLOAD_BYTES_MAX: usize = 0xFF_FFFF;
/// A frame's length and stream id, by which the first of them is told from other protocols.
const FIRST_BYTES: usize = 7;

/// How a connection introduces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RsocketSetup {
    pub(crate) credentials: Credentials,
    pub(crate) keep_alive: Duration,
    pub(crate) lifetime: Duration,
}

/// One connection of RSocket.
#[derive(Debug)]
pub(crate) struct RsocketConnection {
    requester: Requester,
    streams_max: usize,
    /// By stream.
    open: HashMap<u32, OpenRequest>,
    answer: LoadAnswer,
    /// Bytes of the first frame, as far as they came; `None` when it is known to be one.
    first: Option<Vec<u8>>,
    /// The stream whose last item was told of and whose end was not.
    ended: Option<u32>,
    now: Instant,
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    tag: u32,
    request: u32,
    /// Of a stream: how many items may still come before more are asked for.
    demand: u32,
}

impl RsocketConnection {
    pub(super) fn new(setup: &RsocketSetup, streams_max: usize) -> RsocketConnection {
        let limits = Limits {
            payload_bytes_max: PAYLOAD_BYTES_MAX,
            keep_alive: setup.keep_alive,
            lifetime: setup.lifetime,
        };
        let now = Instant::now();
        RsocketConnection {
            requester: Requester::new(limits, &setup.credentials, now),
            streams_max,
            open: HashMap::new(),
            answer: LoadAnswer::default(),
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

    pub(super) fn begin(&mut self, asking: OutgoingRequest<'_>) -> Result<u32, FailureCause> {
        let RequestForm::Rsocket(form) = &asking.request.form else { return Err(FailureCause::NotRsocket) };
        let data = form.data(&asking.fill, asking.tables, asking.body)?;
        let route = form.route.as_bytes();
        let stream = if form.is_stream {
            self.requester.watch_some(form.demand, route, data)
        } else {
            self.requester.ask(route, data)
        };
        let stream = stream.map_err(|refused| match refused {
            Refused::TooLong => FailureCause::TooLong,
            Refused::Over => FailureCause::Closed,
        })?;
        self.open
            .insert(stream, OpenRequest { tag: asking.tag, request: asking.number, demand: form.demand });
        Ok(stream)
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), FailureCause> {
        self.now = Instant::now();
        if let Some(first) = &mut self.first {
            first.extend(bytes.iter().take(FIRST_BYTES - first.len()));
            if first.len() == FIRST_BYTES {
                let stream = first.get(3..).unwrap_or_default().try_get_u32().unwrap_or(0) & 0x7FFF_FFFF;
                // A server speaks on streams that this side opened, or of the connection.
                if stream != 0 && !self.open.contains_key(&stream) {
                    return Err(FailureCause::NotRsocket);
                }
                self.first = None;
            }
        }
        self.requester.input().extend_from_slice(bytes);
        Ok(())
    }

    /// A server that closes says why before, where it has a reason.
    pub(super) fn close(&mut self) -> Result<(), FailureCause> {
        Err(self.broken().unwrap_or(FailureCause::Closed))
    }

    fn broken(&self) -> Option<FailureCause> {
        self.requester.closed().map(|closed| match closed {
            Closed::ByServer { code, .. } => FailureCause::RsocketClosed(*code),
            Closed::Nonsense(_) => FailureCause::NotRsocket,
            Closed::Silent => FailureCause::Silent,
        })
    }

    pub(super) fn next(&mut self, requests: &[PlannedRequest]) -> Result<Option<WireEvent>, FailureCause> {
        if let Some(open) = self.ended.take().and_then(|stream| self.open.remove(&stream)) {
            return Ok(Some(WireEvent::End(open.tag)));
        }
        while let Some(happened) = self.requester.next_event(self.now) {
            let event = match happened {
                Happened::Answer { stream, data, is_last } => self.take(stream, &data, is_last, requests),
                Happened::Completed { stream } => {
                    self.open.remove(&stream).map(|open| WireEvent::End(open.tag))
                }
                Happened::Failed { stream, code, .. } => self
                    .open
                    .remove(&stream)
                    .map(|open| WireEvent::Failed(open.tag, FailureCause::Rsocket(code))),
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        self.broken().map_or(Ok(None), Err)
    }

    fn take(
        &mut self,
        stream: u32,
        data: &Bytes,
        is_last: bool,
        requests: &[PlannedRequest],
    ) -> Option<WireEvent> {
        let open = self.open.get_mut(&stream)?;
        let request = requests.get(open.request as usize)?;
        let RequestForm::Rsocket(form) = &request.form else { return None };
        let (tag, is_stream) = (open.tag, form.is_stream);
        self.answer.json = match sapl::read(form.message, data, request.wants.body) {
            Ok(json) => Some(json),
            Err(_) => {
                self.release(stream);
                return Some(WireEvent::Failed(tag, FailureCause::NotSapl));
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
        Some(if is_stream { WireEvent::Item(tag) } else { WireEvent::Answer(tag) })
    }

    pub(super) fn answer(&self) -> &LoadAnswer {
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

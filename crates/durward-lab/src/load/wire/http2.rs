//! HTTP/2: many requests under way on one connection. Frames, header compression and flow control are the crate `h2`'s, which
//! is driven by hand over memory: whatever it waits for comes by [`Http2Connection::feed`], so it is polled then and no runtime is there.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use h2::client::{Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream, SendStream};

use super::super::answer::LoadAnswer;
use super::super::cause::FailureCause;
use super::super::plan::{PlannedRequest, RequestForm};
use super::pipe::Pipe;
use super::reader::{BODY_BYTES_MAX, is_event_stream};
use super::sse::SseEvents;
use super::{AnswerWants, OutgoingRequest, WireEvent};

/// Windows of streams and of the connection: answers of common sizes never wait for leave.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// A frame's header, by which the first of them is told from other protocols.
const FIRST_BYTES: usize = 9;
/// The type of the frame that a server must send first.
const SETTINGS: u8 = 4;

/// One connection of HTTP/2.
pub(crate) struct Http2Connection {
    pipe: Pipe,
    /// `None` where not even the preface could be written.
    send: Option<SendRequest<Bytes>>,
    connection: Option<Connection<Pipe, Bytes>>,
    streams_max: usize,
    /// By handle; `None` where it is free.
    streams: Vec<Option<Http2Stream>>,
    free: Vec<u32>,
    ready: Arc<ReadyStreams>,
    happened: VecDeque<Http2Event>,
    answer: LoadAnswer,
    /// Bytes of the first frame, as far as they came; `None` when it is known to be one.
    first: Option<Vec<u8>>,
    is_draining: bool,
    broken: Option<FailureCause>,
}

/// One request under way.
struct Http2Stream {
    tag: u32,
    request: u32,
    response: Option<ResponseFuture>,
    body: Option<RecvStream>,
    send: SendStream<Bytes>,
    answer: LoadAnswer,
    events: Option<SseEvents>,
    is_over: bool,
    waker: Arc<StreamWaker>,
}

/// An event, and the item's data that belongs to it.
struct Http2Event {
    handle: u32,
    event: WireEvent,
    data: Vec<u8>,
}

/// Streams that have news.
#[derive(Default)]
struct ReadyStreams(Mutex<Vec<u32>>);

struct StreamWaker {
    handle: u32,
    is_queued: AtomicBool,
    ready: Arc<ReadyStreams>,
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::Relaxed) {
            self.ready.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.handle);
        }
    }
}

impl std::fmt::Debug for Http2Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http2").field("under_way", &self.under_way()).finish_non_exhaustive()
    }
}

impl Http2Connection {
    pub(super) fn new(streams_max: usize) -> Http2Connection {
        let pipe = Pipe::default();
        let mut builder = h2::client::Builder::new();
        builder
            .enable_push(false)
            // Until the server says how many it takes; the others wait within `h2`.
            .initial_max_send_streams(1)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        // Nothing but the preface is written, into memory: it is ready at once.
        let mut begun = Box::pin(builder.handshake(pipe.clone()));
        let (send, connection) = match begun.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok((send, connection))) => (Some(send), Some(connection)),
            Poll::Ready(Err(_)) | Poll::Pending => (None, None),
        };
        Http2Connection {
            pipe,
            broken: connection.is_none().then_some(FailureCause::NotHttp2),
            send,
            connection,
            streams_max,
            streams: Vec::new(),
            free: Vec::new(),
            ready: Arc::default(),
            happened: VecDeque::new(),
            answer: LoadAnswer::default(),
            first: Some(Vec::new()),
            is_draining: false,
        }
    }

    pub(super) fn under_way(&self) -> usize {
        self.streams.len() - self.free.len()
    }

    pub(super) fn is_kept(&self) -> bool {
        self.broken.is_none() && !self.is_draining
    }

    /// What the server allows counts as well: it may say so at any time, and that it takes no more.
    pub(super) fn room(&mut self) -> usize {
        let Some(send) = self.send.as_mut().filter(|_| self.broken.is_none()) else { return 0 };
        let ready = send.poll_ready(&mut Context::from_waker(Waker::noop()));
        self.is_draining |= matches!(ready, Poll::Ready(Err(_)));
        if self.is_draining {
            return 0;
        }
        let allowed = if self.first.is_some() { usize::MAX } else { send.current_max_send_streams() };
        let most = self.streams_max.min(allowed);
        most.saturating_sub(self.streams.len() - self.free.len())
    }

    /// The other side closed: why, where it said so before (GOAWAY).
    pub(super) fn closed(&mut self) -> FailureCause {
        let Some(send) = self.send.as_mut() else { return FailureCause::Closed };
        match send.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(error)) => cause_of(&error),
            Poll::Ready(Ok(())) | Poll::Pending => FailureCause::Closed,
        }
    }

    pub(super) fn begin(&mut self, asking: OutgoingRequest<'_>) -> Result<u32, FailureCause> {
        let OutgoingRequest { tag, number, request, node, fill, tables, body } = asking;
        let RequestForm::Http2(form) = &request.form else { return Err(FailureCause::NotHttp2) };
        let head = form.build(node, &fill, tables, body)?;
        let send = self.send.as_mut().ok_or(FailureCause::NotHttp2)?;
        let has_body = !body.is_empty();
        // A handle of its own: one that waits for the server's leave takes no second request.
        let (response, mut stream) =
            send.clone().send_request(head, !has_body).map_err(|error| cause_of(&error))?;
        if has_body {
            stream.send_data(Bytes::copy_from_slice(body), true).map_err(|error| cause_of(&error))?;
        }
        let handle = self.free.pop().unwrap_or_else(|| {
            self.streams.push(None);
            u32::try_from(self.streams.len() - 1).unwrap_or(u32::MAX)
        });
        let waker = StreamWaker { handle, is_queued: AtomicBool::new(false), ready: Arc::clone(&self.ready) };
        let waker = Arc::new(waker);
        // Looked at once, so that it says when there is more.
        waker.wake_by_ref();
        if let Some(place) = self.streams.get_mut(handle as usize) {
            *place = Some(Http2Stream {
                tag,
                request: number,
                response: Some(response),
                body: None,
                send: stream,
                answer: LoadAnswer::default(),
                events: None,
                is_over: false,
                waker,
            });
        }
        Ok(handle)
    }

    pub(super) fn feed(&mut self, bytes: &[u8], requests: &[PlannedRequest]) -> Result<(), FailureCause> {
        if let Some(first) = &mut self.first {
            first.extend(bytes.iter().take(FIRST_BYTES - first.len()));
            match first.as_slice() {
                [_, _, _, SETTINGS, _, 0, 0, 0, 0] => self.first = None,
                [_, _, _, _, _, _, _, _, _] => return Err(FailureCause::NotHttp2),
                _ => {}
            }
        }
        self.pipe.put(bytes);
        self.drive();
        self.look_at_ready(requests);
        Ok(())
    }

    /// Lets the connection read, write and sort what there is.
    fn drive(&mut self) {
        let Some(connection) = self.connection.as_mut() else { return };
        match Pin::new(connection).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => {}
            Poll::Ready(Ok(())) => {
                self.is_draining = true;
                self.connection = None;
            }
            Poll::Ready(Err(error)) => {
                self.broken = Some(cause_of(&error));
                self.connection = None;
            }
        }
    }

    fn look_at_ready(&mut self, requests: &[PlannedRequest]) {
        loop {
            let ready = std::mem::take(&mut *self.ready.0.lock().unwrap_or_else(PoisonError::into_inner));
            if ready.is_empty() {
                return;
            }
            for handle in ready {
                let Some(Some(stream)) = self.streams.get_mut(handle as usize) else { continue };
                if let Some(request) = requests.get(stream.request as usize) {
                    stream.look(handle, &request.wants, &mut self.happened);
                }
            }
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<WireEvent>, FailureCause> {
        let Some(Http2Event { handle, event, data }) = self.happened.pop_front() else {
            return self.broken.clone().map_or(Ok(None), Err);
        };
        let Some(Some(stream)) = self.streams.get_mut(handle as usize) else { return Ok(None) };
        match event {
            WireEvent::Answer(_) => self.answer = std::mem::take(&mut stream.answer),
            WireEvent::Item(_) => {
                self.answer.status = stream.answer.status;
                self.answer.headers.clone_from(&stream.answer.headers);
                self.answer.body = data;
            }
            WireEvent::End(_) | WireEvent::Failed(..) | WireEvent::Unprocessed(_) => {}
        }
        Ok(Some(event))
    }

    pub(super) fn answer(&self) -> &LoadAnswer {
        &self.answer
    }

    pub(super) fn release(&mut self, handle: u32) {
        let Some(mut stream) = self.streams.get_mut(handle as usize).and_then(Option::take) else { return };
        self.free.push(handle);
        if !stream.is_over {
            stream.send.send_reset(Reason::CANCEL);
        }
        // What it had to say is for nobody any more; its number may be another's soon.
        self.happened.retain(|happened| happened.handle != handle);
    }

    pub(super) fn tags(&self) -> Vec<u32> {
        self.streams.iter().flatten().map(|stream| stream.tag).collect()
    }

    pub(super) fn take_out(&mut self, out: &mut Vec<u8>) {
        self.drive();
        self.pipe.take(out);
    }
}

impl Http2Stream {
    /// Takes what has come, and notes what follows from it.
    fn look(&mut self, handle: u32, wants: &AnswerWants, happened: &mut VecDeque<Http2Event>) {
        if self.is_over {
            return;
        }
        self.waker.is_queued.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&self.waker));
        let event = self.poll(&mut Context::from_waker(&waker), wants);
        let tag = self.tag;
        while let Some(data) = self.events.as_mut().and_then(SseEvents::next) {
            happened.push_back(Http2Event { handle, event: WireEvent::Item(tag), data });
        }
        if let Some(event) = event {
            self.is_over = true;
            happened.push_back(Http2Event { handle, event, data: Vec::new() });
        }
    }

    /// How it ended, if it did.
    fn poll(&mut self, context: &mut Context<'_>, wants: &AnswerWants) -> Option<WireEvent> {
        if let Some(response) = &mut self.response {
            match Pin::new(response).poll(context) {
                Poll::Pending => return None,
                Poll::Ready(Err(error)) => return Some(self.failed(&error)),
                Poll::Ready(Ok(response)) => self.take_head(response, wants),
            }
        }
        while let Some(body) = &mut self.body {
            match body.poll_data(context) {
                Poll::Pending => return None,
                Poll::Ready(None) => break,
                Poll::Ready(Some(Err(error))) => return Some(self.failed(&error)),
                Poll::Ready(Some(Ok(bytes))) => {
                    // Taken: the server may send as much again.
                    let _ = body.flow_control().release_capacity(bytes.len());
                    if self.keep(&bytes, wants).is_err() {
                        self.send.send_reset(Reason::CANCEL);
                        return Some(WireEvent::Failed(self.tag, FailureCause::TooLong));
                    }
                }
            }
        }
        Some(if self.events.is_some() { WireEvent::End(self.tag) } else { WireEvent::Answer(self.tag) })
    }

    fn take_head(&mut self, response: http::Response<RecvStream>, wants: &AnswerWants) {
        let (head, body) = response.into_parts();
        self.response = None;
        self.body = Some(body);
        self.answer.status = head.status.as_u16();
        let value = |name: &str| {
            head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        self.answer.headers = wants.headers.iter().map(|name| value(name)).collect();
        if wants.events && is_event_stream(self.answer.status, value("content-type").as_deref()) {
            self.events = Some(SseEvents::default());
        }
    }

    fn keep(&mut self, bytes: &[u8], wants: &AnswerWants) -> Result<(), super::AnswerFault> {
        if let Some(events) = &mut self.events {
            return events.feed(bytes);
        }
        if wants.body {
            if self.answer.body.len() + bytes.len() > BODY_BYTES_MAX {
                return Err(super::AnswerFault::TooLong);
            }
            self.answer.body.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn failed(&self, error: &h2::Error) -> WireEvent {
        // RFC 9113, 6.8: what a server that goes away did not look at may be sent again.
        let is_unprocessed = error.is_go_away()
            && error.is_remote()
            && error.reason() == Some(Reason::NO_ERROR)
            && self.body.is_none();
        if is_unprocessed {
            WireEvent::Unprocessed(self.tag)
        } else {
            WireEvent::Failed(self.tag, cause_of(error))
        }
    }
}

fn cause_of(error: &h2::Error) -> FailureCause {
    let code = error.reason().map_or(0, u32::from);
    if !error.is_io() && error.reason().is_none() {
        // It is this side that asked for what cannot be.
        FailureCause::Unwritable
    } else if error.is_io() {
        FailureCause::Closed
    } else if error.is_remote() && error.is_go_away() {
        FailureCause::GoAway(code)
    } else if error.is_remote() && error.is_reset() {
        FailureCause::Reset(code)
    } else {
        FailureCause::NotHttp2
    }
}

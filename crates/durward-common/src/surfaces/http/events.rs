//! Streams of events: an answer that does not end (the HTML standard, "Server-sent events").
//!
//! The library asks for a further event only when it has room for one: a caller who reads slowly is given the latest
//! decision then and not all that were made meanwhile.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

use super::grpc::Said;
use super::phase::Phase;
use crate::base::limits::Held;

/// The body of an answer.
pub enum Body {
    /// Small and whole.
    Whole(Full<Bytes>),
    /// Events for as long as somebody reads them.
    Events(Box<Events>),
    /// Messages of gRPC, and a status behind them.
    Grpc(Said),
}

/// What there is to tell, already written.
pub trait Source: Send {
    /// The next text; `None` when there will be no more.
    fn poll_next(&mut self, task: &mut Context<'_>) -> Poll<Option<String>>;
}

/// Told when it shows that nobody reads any more.
const KEEP_ALIVE: &str = ": keep-alive\n\n";

/// Told before the server stops.
const SHUTDOWN: &str = "event: shutdown\ndata: SAPL Node stopping\n\n";

/// A stream of events.
pub struct Events {
    source: Box<dyn Source>,
    end: Pin<Box<dyn Future<Output = End> + Send>>,
    timer: Pin<Box<Sleep>>,
    keep_alive: Duration,
    /// When the caller's credentials end, and the stream with them.
    expires: Option<Instant>,
    /// What the connection waits for, so that a slow reader is told from a quiet stream.
    phase: Option<Arc<Phase>>,
    is_over: bool,
    /// The stream's place among those there may be.
    _place: Held,
}

/// What ends a stream, other than its source and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The server stops.
    Stopping,
    /// The caller may no longer ask.
    Withdrawn,
}

/// Ready when the server stops, or when the caller may no longer ask.
pub async fn end(mut stopping: watch::Receiver<bool>, withdrawn: impl Future<Output = ()>) -> End {
    tokio::select! {
        // A server that is gone has stopped.
        _ = stopping.wait_for(|is_stopping| *is_stopping) => End::Stopping,
        () = withdrawn => End::Withdrawn,
    }
}

impl Events {
    /// Sends what `source` gives until it or `end` ends the stream, or `expires` comes. A comment follows each `keep_alive` of silence. Holds `place` until dropped.
    pub fn new(
        source: Box<dyn Source>,
        end: Pin<Box<dyn Future<Output = End> + Send>>,
        keep_alive: Duration,
        expires: Option<Instant>,
        place: Held,
    ) -> Events {
        let first = next_wake(Instant::now() + keep_alive, expires);
        let timer = Box::pin(sleep_until(first));
        let (phase, is_over) = (None, false);
        Events { source, end, timer, keep_alive, expires, phase, is_over, _place: place }
    }

    fn poll_text(&mut self, task: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Poll::Ready(end) = self.end.as_mut().poll(task) {
            self.is_over = true;
            return Poll::Ready(match end {
                End::Stopping => Some(Bytes::from_static(SHUTDOWN.as_bytes())),
                End::Withdrawn => None,
            });
        }
        if let Poll::Ready(text) = self.source.poll_next(task) {
            self.is_over = text.is_none();
            return Poll::Ready(text.map(Bytes::from));
        }
        ready!(self.timer.as_mut().poll(task));
        let now = Instant::now();
        if self.expires.is_some_and(|expires| expires <= now) {
            self.is_over = true;
            return Poll::Ready(None);
        }
        self.timer.as_mut().reset(next_wake(now + self.keep_alive, self.expires));
        Poll::Ready(Some(Bytes::from_static(KEEP_ALIVE.as_bytes())))
    }
}

fn next_wake(keep_alive: Instant, expires: Option<Instant>) -> Instant {
    expires.map_or(keep_alive, |expires| expires.min(keep_alive))
}

impl Drop for Events {
    fn drop(&mut self) {
        if let Some(phase) = &self.phase {
            phase.end_stream();
        }
    }
}

impl Body {
    /// Whether it goes on for as long as somebody reads it.
    pub fn is_endless(&self) -> bool {
        match self {
            Body::Whole(_) => false,
            Body::Events(_) => true,
            Body::Grpc(said) => said.is_endless(),
        }
    }

    /// Lets a stream of events tell the connection when it goes on.
    pub fn watched_by(&mut self, phase: &Arc<Phase>) {
        match self {
            // gRPC is spoken over HTTP/2, which watches all requests of a connection.
            Body::Whole(_) | Body::Grpc(_) => {}
            Body::Events(events) => {
                phase.begin_stream();
                events.phase = Some(Arc::clone(phase));
            }
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Body::Whole(whole) => Pin::new(whole).poll_frame(task),
            Body::Events(events) => {
                let text = ready!(events.poll_text(task));
                if let (Some(_), Some(phase)) = (&text, &events.phase) {
                    phase.go_on();
                }
                Poll::Ready(text.map(|text| Ok(Frame::data(text))))
            }
            Body::Grpc(said) => said.poll_frame(task),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(whole) => whole.is_end_stream(),
            Body::Events(events) => events.is_over,
            Body::Grpc(said) => said.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(whole) => whole.size_hint(),
            Body::Events(_) | Body::Grpc(_) => SizeHint::default(),
        }
    }
}

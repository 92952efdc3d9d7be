//! Bodies that are streams of events, and connections that give up on readers who do not read.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, Sleep, sleep};

use super::events::PageEvent;

/// What a stream is silent for at most, so that proxies keep it and a reader who is gone is noticed.
const SILENT: Duration = Duration::from_secs(10);
/// A reader who takes nothing for so long is gone.
const STUCK: Duration = Duration::from_secs(20);
/// How long a browser waits before it comes back.
const RETRY: &str = "retry: 2000\n";

/// A stream of events, until whoever sends drops it.
pub(super) struct EventStream {
    first: Option<Bytes>,
    receiver: Receiver<Bytes>,
    silent: Pin<Box<Sleep>>,
}

impl EventStream {
    pub(super) fn new(first: PageEvent, receiver: Receiver<Bytes>) -> EventStream {
        let first = Some(Bytes::from([RETRY.as_bytes(), &first.0].concat()));
        EventStream { first, receiver, silent: Box::pin(sleep(SILENT)) }
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.first.take() {
            Some(first) => Some(first),
            None => match self.receiver.poll_recv(context) {
                Poll::Ready(next) => next,
                Poll::Pending => {
                    ready!(self.silent.as_mut().poll(context));
                    Some(Bytes::from_static(b":\n\n"))
                }
            },
        };
        self.silent.as_mut().reset(Instant::now() + SILENT);
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A connection whose writes fail once the other side has taken nothing for [`STUCK`].
pub(super) struct StallTimeout {
    socket: TcpStream,
    /// Runs while a write waits.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl StallTimeout {
    pub(super) fn new(socket: TcpStream) -> StallTimeout {
        StallTimeout { socket, stuck: None }
    }

    /// Ends the wait of a write that went on, and begins that of one that did not.
    fn watch<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(STUCK)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for StallTimeout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, into)
    }
}

impl AsyncWrite for StallTimeout {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, from);
        self.watch(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        self.watch(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.socket).poll_shutdown(context);
        self.watch(shut, context)
    }
}

//! One connection: its requests one after the other, each within its time.
//!
//! The HTTP library knows one time limit, which counts the wait for a request and its header together. Here the
//! two are told apart, and the time to take the answer is limited too. A connection notes what it waits for and
//! since when; its timer wakes when that could be too long, not once per request.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Sleep, sleep_until};

use super::dispatch;
use super::state::Http;
use crate::base::settings::ServerSettings;
use crate::base::socket;
use crate::surfaces::http::phase::{Phase, Wait};

/// Most header fields of a request.
const HEADER_COUNT_MAX: usize = 64;

/// A stream that notes when a request begins and when an answer goes out.
struct Watched<S> {
    stream: S,
    phase: Arc<Phase>,
}

/// Serves a connection until it ends, is too slow, or the server stops and its last request is answered.
pub(crate) async fn serve<S>(
    stream: S,
    client: SocketAddr,
    http: Arc<Http>,
    mut stopping: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let phase = Arc::new(Phase::new(http.started));
    let settings = &http.settings.server;
    let service = service_fn(|request| async {
        phase.set(Wait::Answer);
        let answer = dispatch::answer(&http, client, request).await;
        phase.set(Wait::Taking);
        answer.map(|mut answer| {
            answer.body_mut().watched_by(&phase);
            answer
        })
    });
    let watched = Watched { stream, phase: Arc::clone(&phase) };
    let connection = http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(settings.header_bytes_max)
        .max_headers(HEADER_COUNT_MAX)
        .serve_connection(TokioIo::new(watched), service);
    let mut connection = pin!(connection);
    let mut stop = pin!(stopping.wait_for(|is_stopping| *is_stopping));
    let mut is_told = false;
    let mut timer = pin!(sleep_until((Instant::now() + settings.idle_time_max()).into()));
    let end = poll_fn(|cx| {
        if let Poll::Ready(result) = connection.as_mut().poll(cx) {
            return Poll::Ready(End::Of(result));
        }
        if !is_told && stop.as_mut().poll(cx).is_ready() {
            is_told = true;
            connection.as_mut().graceful_shutdown();
            // An idle connection ends only when it is polled once more.
            cx.waker().wake_by_ref();
        }
        poll_timer(timer.as_mut(), &phase, settings, cx).map(End::TooSlow)
    });
    match end.await {
        End::Of(Ok(())) => {}
        // The system noticed first that what was written is not taken.
        End::Of(Err(error)) if is_given_up(&error) => http.metrics.limit_hit("request_time_ms_max"),
        End::Of(Err(error)) => {
            http.metrics.connection("failed");
            tracing::debug!(%client, %error, "a connection failed");
        }
        // An idle connection that ends is the ordinary course of things and no limit that was hit.
        End::TooSlow("idle_time_ms_max") => {}
        End::TooSlow(setting) => http.metrics.limit_hit(setting),
    }
}

/// Whether the system gave the connection up.
fn is_given_up(error: &hyper::Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    source.is_some_and(socket::is_given_up)
}

/// How a connection ended.
enum End {
    Of(hyper::Result<()>),
    /// The setting that says so.
    TooSlow(&'static str),
}

/// Ready when what is waited for takes too long. The timer follows a deadline that came nearer at once, and one that
/// moved away only when it fires: requests that are answered without delay never touch it.
fn poll_timer(
    mut timer: Pin<&mut Sleep>,
    phase: &Phase,
    settings: &ServerSettings,
    cx: &mut Context<'_>,
) -> Poll<&'static str> {
    let Some((deadline, setting)) = phase.deadline(settings) else { return Poll::Pending };
    if timer.deadline() > deadline.into() {
        timer.as_mut().reset(deadline.into());
    }
    while timer.as_mut().poll(cx).is_ready() {
        if deadline <= Instant::now() {
            return Poll::Ready(setting);
        }
        timer.as_mut().reset(deadline.into());
    }
    Poll::Pending
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let result = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.phase.advance(Wait::Request, Wait::Header);
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Asked for when all of an answer is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        if result.is_ready() {
            self.phase.taken();
        }
        result
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

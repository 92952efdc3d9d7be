//! One connection of HTTP/1.1: its requests one after the other, each within its time. Answers of requests that came together
//! are sent together.
//!
//! The HTTP library knows one time limit, which counts the wait for a request and its header together. Here the
//! two are told apart, and the time to take the answer is limited too. A connection notes what it waits for and
//! since when; its timer wakes when that could be too long, not once per request.
//!
//! A client that closes its half of the connection is still answered: this does not say that it wants no answer (RFC 9112, 9.6). So a
//! client that has gone is not noticed before its answer is written, or late. Only a reader of events who closes their half counts as
//! gone: nothing else would end a stream whose events the system goes on taking.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use durward_common::surfaces::http::Authenticated;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::phase::{Phase, Wait};
use hyper::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::sleep_until;

use super::corked::{Cork, TURNS_MAX, corked};
use super::rewound::Rewound;
use super::{Activity, End, HEADER_COUNT_MAX, poll_timer};
use crate::serve::dispatch::{self, Date};
use crate::serve::state::{Http, Peer};
use crate::surfaces::sapl;

/// A stream that notes when a request begins.
struct Watched<S> {
    stream: S,
    phase: Arc<Phase>,
}

/// Serves a connection, of which these bytes were read already, until it ends, is too slow, or the server stops and its last request is
/// answered.
pub(super) async fn serve<S>(
    stream: S,
    first: Bytes,
    peer: Peer,
    http: &Arc<Http>,
    mut stopping: watch::Receiver<bool>,
    activity: &Activity,
) -> End
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let phase = Arc::new(Phase::new(http.started));
    activity.speaks_http1(&phase);
    let settings = &http.settings.server;
    let service = service_fn(|request: Request<hyper::body::Incoming>| async {
        phase.set(Wait::Answer);
        let answer = dispatch::answer(http, peer, request.map(Incoming::Http1)).await;
        phase.set(Wait::Taking);
        answer.map(|mut answer| {
            if answer.extensions().get::<Authenticated>().is_some() {
                activity.authenticate();
            }
            answer.body_mut().watched_by(&phase);
            answer
        })
    });
    let (corked, cork) = corked(stream, first, http.answers_directly());
    let watched = Watched { stream: corked, phase: Arc::clone(&phase) };
    let connection = http1::Builder::new()
        .half_close(true)
        .header_read_timeout(None)
        .max_buf_size(settings.header_bytes_max)
        .max_headers(HEADER_COUNT_MAX)
        .serve_connection(TokioIo::new(watched), service);
    let mut connection = pin!(connection);
    let mut stop = pin!(stopping.wait_for(|is_stopping| *is_stopping));
    let mut is_told = false;
    // Whether the library has written all it has to write.
    let mut is_settled = true;
    let mut date = Date::default();
    let mut timer = pin!(sleep_until((Instant::now() + settings.idle_time_max()).into()));
    poll_fn(|cx| {
        let mut turns = 0;
        loop {
            // While the server stops, the library ends the connection.
            if is_settled && !is_told {
                match poll_direct(&cork, (&phase, activity), (http, peer), &mut date, cx) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => {
                        let _ = cork.poll_send(cx);
                        return Poll::Ready(End::Failed(error.into()));
                    }
                    Poll::Pending => break,
                }
            }
            let was_stuck = cork.is_stuck();
            match connection.as_mut().poll(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(End::Done),
                Poll::Ready(Err(error)) => {
                    // What was answered before the failure still goes out, as far as the system takes it at once.
                    let _ = cork.poll_send(cx);
                    return Poll::Ready(End::Failed(error.into()));
                }
                Poll::Pending => {}
            }
            is_settled = !was_stuck && !cork.is_stuck();
            // All requests that had come are answered or wait for something: now their answers leave together. Where there may be more of
            // them, the task looks first.
            turns += 1;
            if is_settled && !is_told && is_direct(&cork, &phase) {
                if turns < TURNS_MAX {
                    continue;
                }
                // Other connections have their turn.
                cx.waker().wake_by_ref();
            }
            match cork.poll_send(cx) {
                Poll::Ready(Ok(())) => phase.taken(),
                Poll::Ready(Err(error)) => return Poll::Ready(End::Failed(error.into())),
                Poll::Pending => break,
            }
            // The library may hold what there was no room for.
            if is_settled {
                break;
            }
        }
        // The library does not read while it answers.
        if phase.is_stream()
            && let Poll::Ready(closed) = cork.poll_closed(cx)
        {
            return Poll::Ready(closed.map_or_else(|error| End::Failed(error.into()), |()| End::Done));
        }
        if !is_told && stop.as_mut().poll(cx).is_ready() {
            is_told = true;
            // A request of which part has come is still answered.
            if cork.has_part() {
                cork.leave_to_library();
            }
            connection.as_mut().graceful_shutdown();
            // An idle connection ends only when it is polled once more.
            cx.waker().wake_by_ref();
        }
        poll_timer(timer.as_mut(), phase.deadline(settings), cx).map(End::TooSlow)
    })
    .await
}

/// Answers one request, of which these bytes were read already, and ends the connection.
///
/// # Errors
/// A connection that breaks off, a request that is none.
pub(in crate::serve) async fn serve_one<S>(
    stream: S,
    first: Bytes,
    peer: Peer,
    http: &Arc<Http>,
) -> Result<(), hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        dispatch::answer(http, peer, request.map(Incoming::Http1))
    });
    http1::Builder::new()
        .keep_alive(false)
        .half_close(true)
        .header_read_timeout(None)
        .max_buf_size(http.settings.server.header_bytes_max)
        .max_headers(HEADER_COUNT_MAX)
        .serve_connection(TokioIo::new(Rewound::new(stream, first)), service)
        .await
}

/// Whether the task is to read the next bytes.
fn is_direct<S>(cork: &Cork<S>, phase: &Phase) -> bool {
    cork.is_direct() && phase.is_between()
}

/// Answers what comes without the library, where it is the task's turn, and sends it and what the library wrote before. Ready where it is
/// the library's turn, pending where more has to come or answers have to be taken.
fn poll_direct<S: AsyncRead + AsyncWrite + Unpin>(
    cork: &Cork<S>,
    (phase, activity): (&Phase, &Activity),
    (http, peer): (&Http, Peer),
    date: &mut Date,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    if !is_direct(cork, phase) {
        return Poll::Ready(Ok(()));
    }
    let head_bytes_max = http.settings.server.header_bytes_max;
    let turn = cork.poll_direct(cx, head_bytes_max, |request, out| {
        let is_answered = dispatch::answer_directly(http, peer, request, date, out);
        // Credentials were looked at only there, and were right.
        if is_answered && request.authorization.is_some() && request.path.starts_with(sapl::PREFIX) {
            activity.authenticate();
        }
        is_answered
    })?;
    if turn.is_ready() {
        return Poll::Ready(Ok(()));
    }
    // What was written may have been sent already, to make room.
    let is_written = cork.take_written();
    match cork.poll_send(cx)? {
        Poll::Ready(()) if is_written => phase.set(Wait::Request),
        Poll::Ready(()) => phase.taken(),
        Poll::Pending => phase.set(Wait::Taking),
    }
    if cork.has_part() {
        phase.advance(Wait::Request, Wait::Header);
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

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

//! One connection of HTTP/2: many requests at once, each within its time (RFC 9113).
//!
//! What a client may hold of the server's memory by one connection is bounded: requests at once, bytes of headers, and bytes sent and
//! not yet read, by the windows of flow control.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Buf, Bytes};
use durward_wire::ext_authz::CHECK;
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::sleep_until;

use super::in_place::{InPlace, Turn};
use super::requests::{RequestGuard, Requests, TimeoutCheck};
use super::rewound::Rewound;
use super::{Activity, End, HEADER_COUNT_MAX};
use crate::base::limits::Held;
use crate::serve::dispatch;
use crate::serve::state::{Http, Peer};
use crate::surfaces::http::events::Body;
use crate::surfaces::http::problem::Problem;
use crate::surfaces::http::{Authenticated, Form};

/// How many requests may be under way on one connection of HTTP/2; a client that wants more waits (RFC 9113, 5.1.2).
const REQUESTS_AT_ONCE_MAX: u32 = 128;

/// How many bytes of one request's body a client of HTTP/2 may send before they are read.
const STREAM_WINDOW_BYTES: u32 = 64 * 1024;

/// The same for all requests of a connection together.
const CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;

/// How many bytes of one answer wait to be taken; events beyond are not made yet.
const SENDING_BYTES_MAX: usize = 64 * 1024;

/// How many requests a client may send and reset before the server has handled them (CVE-2023-44487, "rapid reset").
const RESETS_PENDING_MAX: usize = 32;

/// Serves a connection until it ends, is too slow, or the server stops and its last request is answered.
pub(super) async fn serve<S>(
    stream: Rewound<S>,
    peer: Peer,
    http: &Arc<Http>,
    mut stopping: watch::Receiver<bool>,
    activity: &Arc<Activity>,
) -> End
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let settings = &http.settings.server;
    let requests = Arc::new(Requests::new(settings, http.settings.sapl.keep_alive()));
    activity.speaks_http2(&requests);
    let tasks = InPlace::new(&requests);
    let service = service_fn(|request: Request<Incoming>| {
        tasks.begins(request.uri().path() == CHECK);
        let (http, guard) = (Arc::clone(http), Arc::new(requests.begin()));
        let activity = Arc::clone(activity);
        async move {
            let held = http.http2_requests.take();
            let answer = answer(&http, peer, request, held.is_some()).await;
            guard.is_answered();
            answer.map(|answer| {
                if answer.extensions().get::<Authenticated>().is_some() {
                    activity.authenticate();
                }
                // Streams of events have limits of their own.
                let held = held.filter(|_| !matches!(answer.body(), Body::Events(_)));
                answer.map(|body| Tracked { body, guard, held })
            })
        }
    });
    let header_bytes_max = u32::try_from(settings.header_bytes_max).unwrap_or(u32::MAX);
    let connection = http2::Builder::new(tasks.clone())
        .max_concurrent_streams(REQUESTS_AT_ONCE_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SENDING_BYTES_MAX)
        .max_header_list_size(header_bytes_max)
        .max_pending_accept_reset_streams(RESETS_PENDING_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut stop = pin!(stopping.wait_for(|is_stopping| *is_stopping));
    let mut is_told = false;
    let mut is_idle = false;
    // Nothing can be late before that; what began meanwhile is looked at then.
    let pause = settings.idle_time_max().min(settings.request_time_max());
    let mut timer = pin!(sleep_until((Instant::now() + pause).into()));
    let mut turn = Turn::default();
    poll_fn(|cx| {
        loop {
            let polled = connection.as_mut().poll(cx);
            let has_answered = tasks.poll_new(&mut turn);
            if let Poll::Ready(result) = polled {
                return Poll::Ready(result.map_or_else(|error| End::Failed(error.into()), |()| End::Done));
            }
            if has_answered {
                // What was answered is to be written.
                continue;
            }
            if !is_told && stop.as_mut().poll(cx).is_ready() {
                is_told = true;
                connection.as_mut().graceful_shutdown();
                continue;
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            match requests.end_late(now, settings, || http.metrics.limit_hit("server.request_time_ms_max")) {
                TimeoutCheck::Nothing(next) => timer.as_mut().reset(next.min(now + pause).into()),
                TimeoutCheck::Stuck => return Poll::Ready(End::TooSlow("server.request_time_ms_max")),
                TimeoutCheck::Idle if is_idle || is_told => {
                    return Poll::Ready(End::TooSlow("server.idle_time_ms_max"));
                }
                // A request that is on its way can be sent again elsewhere only if it is known that it was not looked at (GOAWAY,
                // RFC 9113, 6.8).
                TimeoutCheck::Idle => {
                    is_idle = true;
                    connection.as_mut().graceful_shutdown();
                    timer.as_mut().reset((now + settings.header_time_max()).into());
                }
            }
        }
    })
    .await
}

async fn answer(
    http: &Http,
    peer: Peer,
    mut request: Request<Incoming>,
    has_place: bool,
) -> Result<Response<Body>, std::convert::Infallible> {
    let is_head = request.method() == Method::HEAD;
    let refused = if request.headers().len() > HEADER_COUNT_MAX {
        let detail = format!("a request has at most {HEADER_COUNT_MAX} header fields");
        Some(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, detail))
    } else if !has_place {
        http.metrics.limit_hit("server.connections_max");
        Some(Problem::unavailable("there are too many requests at once; try again"))
    } else {
        None
    };
    let mut answer = match refused {
        Some(problem) => problem.into_answer(Form::Json).map(Body::Whole),
        None => {
            name_host(&mut request);
            dispatch::answer(http, peer, request).await?
        }
    };
    // The library leaves the body of an answer to HEAD away for HTTP/1.1 only (RFC 9110, 9.3.2).
    if is_head {
        if let Some(length) = answer.body().size_hint().exact() {
            answer.headers_mut().entry(CONTENT_LENGTH).or_insert(length.into());
        }
        *answer.body_mut() = Body::Whole(Full::default());
    }
    // There is no such field in HTTP/2 (RFC 9113, 8.2.2): a request that is refused leaves the others alone.
    answer.headers_mut().remove(CONNECTION);
    Ok(answer)
}

/// What HTTP/1.1 says in `Host`, HTTP/2 says in `:authority`; where a client sends both, they are to be the same (RFC 9113, 8.3.1).
/// Two that differ are left as two, which is refused.
fn name_host(request: &mut Request<Incoming>) {
    let Some(authority) = request.uri().authority() else { return };
    let Ok(authority) = HeaderValue::from_str(authority.as_str()) else { return };
    let headers = request.headers_mut();
    if !headers.get_all(HOST).iter().any(|host| host.as_bytes().eq_ignore_ascii_case(authority.as_bytes())) {
        headers.append(HOST, authority);
    }
}

/// The body of an answer, which tells when it is taken.
struct Tracked {
    body: Body,
    guard: Arc<RequestGuard>,
    /// Of an answer that comes in one piece, which takes it over: among all connections it counts until it is taken. Streams of events have
    /// none, other streams keep it.
    held: Option<Held>,
}

/// A piece of it: its request is under way until the library has written the last byte.
struct Piece {
    bytes: Bytes,
    _guard: Arc<RequestGuard>,
    _held: Option<Held>,
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

impl HttpBody for Tracked {
    type Data = Piece;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, Self::Error>>> {
        let is_endless = self.body.is_endless();
        if is_endless {
            self.guard.is_read();
        }
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(task) else { return Poll::Pending };
        let Tracked { guard, held, .. } = &mut *self;
        // What goes on counts until its end.
        let held = if is_endless { None } else { held.take() };
        let piece = |bytes| Piece { bytes, _guard: Arc::clone(guard), _held: held };
        Poll::Ready(frame.map(|frame| frame.map(|frame| frame.map_data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

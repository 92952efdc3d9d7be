//! One connection of HTTP/2: many requests at once, each within its time (RFC 9113).
//!
//! ```text
//!   connection reads ---> requests ---> a task of each ---> answer (`sent`)
//!                            '---> checks of Envoy: answered here and now, all that came together
//! ```
//!
//! What a client may hold of the server's memory by one connection is bounded: requests at once, bytes of headers, and bytes sent and
//! not yet read, by the windows of flow control.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use durward_common::surfaces::http::events::Body;
use durward_common::surfaces::http::incoming::{Incoming, OfStream};
use durward_common::surfaces::http::problem::Problem;
use durward_common::surfaces::http::{Authenticated, Form};
use durward_wire::ext_authz::CHECK;
use h2::server::{self, SendResponse};
use http_body_util::Full;
use hyper::body::Body as _;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};
use tokio::time::{sleep_until, timeout};

use super::in_place::{Turn, poll_here, spawn};
use super::requests::{Requests, TimeoutCheck};
use super::rewound::Rewound;
use super::sent::{Piece, UnderWay, send, send_now};
use super::{Activity, End, HEADER_COUNT_MAX};
use crate::serve::dispatch::{self, Dates};
use crate::serve::state::{Http, Peer};
use crate::surfaces::doors::Undecided;

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

/// How many requests of a connection the server may reset for what is wrong with them (CVE-2025-8671, "made you reset").
const RESETS_OF_OURS_MAX: usize = 1024;

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
    let header_bytes_max = u32::try_from(settings.header_bytes_max).unwrap_or(u32::MAX);
    let mut library = server::Builder::new();
    library
        .max_concurrent_streams(REQUESTS_AT_ONCE_MAX)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buffer_size(SENDING_BYTES_MAX)
        .max_header_list_size(header_bytes_max)
        .max_pending_accept_reset_streams(RESETS_PENDING_MAX)
        .max_local_error_reset_streams(Some(RESETS_OF_OURS_MAX));
    let mut connection = match timeout(settings.header_time_max(), library.handshake(stream)).await {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return failed(error),
        Err(_) => return End::TooSlow("server.header_time_ms_max"),
    };
    let mut new_requests = NewRequests {
        http,
        peer,
        activity,
        requests: &requests,
        dates: Dates::default(),
        checks: Vec::new(),
    };
    let mut stop = pin!(stopping.wait_for(|is_stopping| *is_stopping));
    let mut is_told = false;
    let mut is_idle = false;
    // Nothing can be late before that; what began meanwhile is looked at then.
    let pause = settings.idle_time_max().min(settings.request_time_max());
    let mut timer = pin!(sleep_until((Instant::now() + pause).into()));
    poll_fn(|cx| {
        loop {
            match connection.poll_accept(cx) {
                Poll::Ready(Some(Ok((request, respond)))) => {
                    new_requests.take(request, respond);
                    continue;
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(failed(error)),
                Poll::Ready(None) => return Poll::Ready(End::Done),
                Poll::Pending => {}
            }
            if new_requests.answer_checks(cx) {
                // What was answered is to be written.
                continue;
            }
            if !is_told && stop.as_mut().poll(cx).is_ready() {
                is_told = true;
                connection.graceful_shutdown();
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
                    connection.graceful_shutdown();
                    timer.as_mut().reset((now + settings.header_time_max()).into());
                }
            }
        }
    })
    .await
}

/// What the system says is kept as such: it may be that it has given the connection up.
fn failed(error: h2::Error) -> End {
    if !error.is_io() {
        return End::Failed(error.into());
    }
    error.into_io().map_or(End::Done, |error| End::Failed(error.into()))
}

/// The requests of a connection that come in its turn.
struct NewRequests<'c> {
    http: &'c Arc<Http>,
    peer: Peer,
    activity: &'c Arc<Activity>,
    requests: &'c Arc<Requests>,
    dates: Dates,
    /// Checks of Envoy, which are answered together.
    checks: Vec<NewRequest>,
}

/// A request that was just read.
struct NewRequest {
    head: Request<()>,
    body: OfStream,
    respond: SendResponse<Piece>,
}

impl NewRequests<'_> {
    fn take(&mut self, request: Request<h2::RecvStream>, respond: SendResponse<Piece>) {
        let (head, body) = request.into_parts();
        let length = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let body = OfStream::new(body, length);
        let new = NewRequest { head: Request::from_parts(head, ()), body, respond };
        if new.head.uri().path() == CHECK {
            self.checks.push(new);
        } else {
            let (work, end) = self.work(new);
            spawn(work, end);
        }
    }

    /// Answers all checks that have come. Whether there were any.
    fn answer_checks(&mut self, cx: &mut Context<'_>) -> bool {
        if self.checks.is_empty() {
            return false;
        }
        let mut checks = std::mem::take(&mut self.checks);
        let mut turn = Turn::begin();
        let mut begun = Instant::now();
        for mut new in checks.drain(..) {
            let has_time = turn.has_time();
            if has_time && let Some(made) = self.answer_check(&mut new, begun, cx) {
                begun = made;
                continue;
            }
            let (work, end) = self.work(new);
            if has_time {
                poll_here(work, end)
            } else {
                spawn(work, end)
            }
            begun = Instant::now();
        }
        // Its memory is used again.
        self.checks = checks;
        true
    }

    /// Answers a check whose bytes alone decide it, begun when the one before it was over; when it is over itself. `None` for every other one,
    /// of which nothing was counted.
    fn answer_check(
        &mut self,
        new: &mut NewRequest,
        begun: Instant,
        cx: &mut Context<'_>,
    ) -> Option<Instant> {
        let body = new.body.whole(cx)?;
        let held = self.http.http2_requests.take()?;
        let answer = || dispatch::answer_check(self.http, self.peer, &new.head, &body, begun);
        // What panics goes the long way, in a task of its own, and costs no other request.
        let Some(answer) = catch_unwind(AssertUnwindSafe(answer)).ok().flatten() else {
            new.head.extensions_mut().insert(Undecided);
            return None;
        };
        let made = answer.made;
        let guard = self.requests.begin_answered(made);
        // Whoever asked may have gone meanwhile.
        let _ = send_now(&mut new.respond, answer, guard, held);
        Some(made)
    }

    /// The work of a request, and what ends it when it is late.
    fn work(&self, new: NewRequest) -> (impl Future<Output = ()> + Send + 'static, Arc<Notify>) {
        let NewRequest { head, body, mut respond } = new;
        let (http, activity, peer) = (Arc::clone(self.http), Arc::clone(self.activity), self.peer);
        let dates = self.dates.clone();
        let guard = Arc::new(self.requests.begin());
        let end = guard.end();
        let work = async move {
            let held = http.http2_requests.take();
            let is_head = head.method() == Method::HEAD;
            let request = head.map(|()| Incoming::Http2(body));
            let answer = tokio::select! {
                biased;
                answer = answer(&http, peer, request, held.is_some()) => answer,
                // Nobody waits for it any more.
                _ = poll_fn(|cx| respond.poll_reset(cx)) => return,
            };
            let Ok(mut answer) = answer;
            guard.is_answered();
            if answer.extensions().get::<Authenticated>().is_some() {
                activity.authenticate();
            }
            complete(&mut answer, is_head, dates.at(Instant::now(), &http.clock));
            // Streams of events have limits of their own.
            let held = held.filter(|_| !matches!(answer.body(), Body::Events(_)));
            if let Err(error) = send(&mut respond, answer, UnderWay::new(guard, held)).await {
                tracing::debug!(client = %peer.address, %error, "an answer is not taken");
            }
        };
        (work, end)
    }
}

async fn answer(
    http: &Http,
    peer: Peer,
    mut request: Request<Incoming>,
    has_place: bool,
) -> Result<Response<Body>, Infallible> {
    let refused = if request.headers().len() > HEADER_COUNT_MAX {
        let detail = format!("a request has at most {HEADER_COUNT_MAX} header fields");
        Some(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, detail))
    } else if !has_place {
        http.metrics.limit_hit("server.connections_max");
        Some(Problem::unavailable("there are too many requests at once; try again"))
    } else {
        None
    };
    match refused {
        Some(problem) => Ok(problem.into_answer(Form::Json).map(Body::Whole)),
        None => {
            name_host(&mut request);
            dispatch::answer(http, peer, request).await
        }
    }
}

/// What every answer has, and none may have.
fn complete(answer: &mut Response<Body>, is_head: bool, date: HeaderValue) {
    let length = answer.body().size_hint().exact().filter(|length| is_head || *length > 0);
    let headers = answer.headers_mut();
    if let Some(length) = length {
        headers.entry(CONTENT_LENGTH).or_insert(length.into());
    }
    headers.insert(hyper::header::DATE, date);
    remove_connection_fields(headers);
    if is_head {
        *answer.body_mut() = Body::Whole(Full::default());
    }
}

/// There are no such fields in HTTP/2 (RFC 9113, 8.2.2): a request that is refused leaves the others alone.
fn remove_connection_fields(headers: &mut HeaderMap) {
    for name in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"] {
        headers.remove(name);
    }
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

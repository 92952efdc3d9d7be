//! From a request to its answer: routes, request ids, counters.

use std::convert::Infallible;
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use durward_common::access::auth::{Denied, Presented};
use durward_common::base::Clock;
use durward_common::base::request_ids::RequestIds;
use durward_common::surfaces::http::direct::DirectAnswer;
use durward_common::surfaces::http::events::Body;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::problem::{Problem, form_of_problems};
use durward_common::surfaces::http::{Answer, Call, Form, NOT_HERE, allow, grpc, text_of};
use durward_common::telemetry::RequestSpan;
use durward_logins::surfaces::{oauth, oidc, scim};
use durward_net::trace;
use durward_settings::ListenSurface;
use durward_wire::ext_authz::CHECK;
use durward_wire::grpc::Code;
use durward_wire::http1::DirectRequest;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use super::forwarded;
use super::routes::{self, Endpoint, RouteName};
use super::state::{Http, Peer};
use crate::surfaces::doors::Door;
use crate::surfaces::xacml::dialect;
use crate::surfaces::{authzen, doors, health, sapl};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The trace of a request, told to whoever is refused (a draft of W3C Trace Context).
const TRACE_RESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// Longest identifier taken over from a caller: every tracing system's fits.
const REQUEST_ID_LENGTH_MAX: usize = 128;

/// Answers one request. Never fails: what goes wrong is an answer too.
pub(super) async fn answer(
    http: &Http,
    peer: Peer,
    request: hyper::Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let begun = Instant::now();
    // Until it is answered, also if its connection breaks.
    let _in_flight = http.metrics.request();
    let client = forwarded::client(&http.settings.server, peer.address, request.headers());
    let trace = http.traces.of(request.headers());
    let id = request_id(http, request.headers());
    let call = Call {
        client,
        peer: peer.address,
        has_certificate: peer.has_certificate,
        id,
        trace: trace.clone(),
        surfaces: peer.surfaces,
    };
    let method = http.telemetry.as_ref().map(|_| request.method().clone());
    let (name, mut answer) = trace::scope(trace, routed(http, peer, &call, request)).await;
    // Whatever this says may be different a moment later.
    answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::try_from(call.id.as_str()) {
        answer.headers_mut().insert(REQUEST_ID, never_again(id));
    }
    let is_refused = answer.status().is_client_error() || answer.status().is_server_error();
    if let Some(Ok(own)) = is_refused.then(|| HeaderValue::try_from(call.trace.own.to_string())) {
        answer.headers_mut().insert(TRACE_RESPONSE, own);
    }
    let (status, duration) = (answer.status().as_u16(), begun.elapsed());
    http.metrics.answered(name.number(), status, duration);
    // Whoever looks after the server asks every few seconds, and decides nothing.
    let is_told = !matches!(name.surface(), Some(ListenSurface::Health | ListenSurface::Metrics));
    if let (Some(telemetry), Some(method)) = (&http.telemetry, method.filter(|_| is_told)) {
        telemetry.request(&RequestSpan {
            trace: &call.trace,
            method: method.as_str(),
            route: name.as_str(),
            status,
            request_id: &call.id,
            client: client.ip(),
            time: (http.clock)(),
            duration,
        });
    }
    Ok(answer)
}

/// The answer of what is at the path, and what the request is counted under. Surfaces are boxed, as in [`dispatch`].
async fn routed(
    http: &Http,
    peer: Peer,
    call: &Call,
    request: hyper::Request<Incoming>,
) -> (RouteName, Response<Body>) {
    match routes::find(request.uri().path(), &http.settings) {
        _ if !names_one_host(&request) => {
            let detail = "a request needs one `Host`, and no more";
            (RouteName::OTHER, whole(refuse(&request, Problem::new(StatusCode::BAD_REQUEST, detail))))
        }
        Some((name, route)) if !peer.surfaces.has(route.endpoint.surface()) => {
            (name, elsewhere(http, &request))
        }
        Some((name, route)) if route.allows(request.method().as_str()) => {
            (name, dispatch(http, call, route, request).await)
        }
        Some((name, route)) => (name, refuse_method(http, route, &request)),
        None if http.openam.is_at(request.uri().path()) && !peer.surfaces.has(ListenSurface::Login) => {
            (RouteName::OPENAM, elsewhere(http, &request))
        }
        None if http.openam.is_at(request.uri().path()) => {
            (RouteName::OPENAM, whole(http.openam.answer(call, request).await))
        }
        None if http.opa.is_at(request.uri().path()) && !peer.surfaces.has(ListenSurface::Decisions) => {
            (RouteName::OPA, elsewhere(http, &request))
        }
        None if http.opa.is_at(request.uri().path()) => {
            (RouteName::OPA, whole(Box::pin(http.opa.answer(call, request)).await))
        }
        None if http.settings.doors.on && grpc::is_call(&request) => {
            (RouteName::OTHER, grpc::failure(Code::Unimplemented, "there is no such method"))
        }
        None => (RouteName::OTHER, absent(http, &request)),
    }
}

/// Answers one request before the library reads it, by appending to `out` what the library would write; `false` where it cannot, and then
/// nothing was counted.
pub(super) fn answer_directly(
    http: &Http,
    peer: Peer,
    request: &DirectRequest<'_>,
    date: &mut Date,
    out: &mut Vec<u8>,
) -> bool {
    let begun = Instant::now();
    let _in_flight = http.metrics.request();
    let Some((name, route)) = routes::find(request.path, &http.settings) else { return false };
    if !peer.surfaces.has(route.endpoint.surface()) {
        return false;
    }
    let client = peer.client(&http.settings.server);
    let answer = if route.endpoint == Endpoint::Sapl(sapl::Ask::DecideOnce) {
        http.sapl.answer_direct(request, client)
    } else if route.endpoint == Endpoint::Pdp(dialect::Dialect::Rest) {
        http.xacml.answer_direct(request, client)
    } else if route.endpoint == Endpoint::Authzen(authzen::Ask::Evaluation) {
        http.authzen.answer_direct(request, client)
    } else if let Endpoint::Identity(act) = route.endpoint
        && http.telemetry.is_none()
    {
        http.v1.answer_direct(act, request)
    } else {
        None
    };
    let Some(answer) = answer else { return false };
    let now = Instant::now();
    write_answer(&answer, request.request_id, &http.request_ids, date.at(now, &http.clock), out);
    http.metrics.answered(name.number(), StatusCode::OK.as_u16(), now - begun);
    true
}

/// Writes an answer with status 200, and the fields that [`answer`] gives it.
fn write_answer(
    answer: &DirectAnswer,
    request_id: Option<&str>,
    request_ids: &RequestIds,
    date: &str,
    out: &mut Vec<u8>,
) {
    let DirectAnswer { media_type, text } = answer;
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-type: ");
    out.extend_from_slice(media_type.as_bytes());
    out.extend_from_slice(b"\r\ncache-control: no-store\r\nx-request-id: ");
    match request_id.filter(|id| is_usable(id)) {
        Some(id) => out.extend_from_slice(id.as_bytes()),
        None => request_ids.write_next(out),
    }
    // Writing to memory does not fail.
    let _ = write!(out, "\r\ncontent-length: {}\r\ndate: {date}\r\n\r\n{text}", text.len());
}

/// The date of answers, written anew when its second is over.
#[derive(Default)]
pub(super) struct Date {
    text: String,
    until: Option<Instant>,
}

/// The same for answers of several tasks, as a value of a field.
#[derive(Clone, Default)]
pub(super) struct Dates(Arc<Mutex<(Date, Option<HeaderValue>)>>);

impl Dates {
    /// The date now.
    pub(super) fn at(&self, now: Instant, clock: &Clock) -> HeaderValue {
        let mut dates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (date, value) = &mut *dates;
        if date.is_over(now) {
            *value = HeaderValue::from_str(date.at(now, clock)).ok();
        }
        // A date is ASCII.
        value.clone().unwrap_or(HeaderValue::from_static(""))
    }
}

impl Date {
    fn is_over(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    /// The date now, which the clock tells where another second has begun.
    fn at(&mut self, now: Instant, clock: &Clock) -> &str {
        if self.is_over(now) {
            let time = clock();
            let passed = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
            self.until = Some(now + Duration::from_secs(1) - Duration::from_nanos(passed.into()));
            let time = Timestamp::try_from(time).unwrap_or_default();
            self.text = DateTimePrinter::new().timestamp_to_rfc9110_string(&time).unwrap_or_default();
        }
        &self.text
    }
}

/// An answer to a check of Envoy: its head, its message, and the status behind it.
pub(super) struct CheckAnswer {
    pub(super) head: Response<()>,
    pub(super) message: Bytes,
    pub(super) trailers: HeaderMap,
    /// When it was there.
    pub(super) made: Instant,
}

/// What an answer to a call has in its head, and behind its message: it is to no browser and to no cache.
static CALL_FIELDS: LazyLock<HeaderMap> = LazyLock::new(|| {
    HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(grpc::MEDIA_TYPE))])
});
static CHECK_ROUTE: LazyLock<Option<(RouteName, &routes::Route)>> = LazyLock::new(|| routes::fixed(CHECK));
static OK_TRAILERS: LazyLock<HeaderMap> = LazyLock::new(|| grpc::trailers(Code::Ok));

/// Answers a check of Envoy whose bytes alone decide it, as [`answer`] would; `None` where it cannot, and then nothing was counted.
pub(super) fn answer_check(
    http: &Http,
    peer: Peer,
    head: &hyper::Request<()>,
    body: &Bytes,
    begun: Instant,
) -> Option<CheckAnswer> {
    let _in_flight = http.metrics.request();
    let (name, route) = *CHECK_ROUTE.as_ref()?;
    let headers = head.headers();
    let is_plain = route.is_on(&http.settings)
        && route.allows(head.method().as_str())
        && grpc::check_form(head).is_ok()
        && head.uri().authority().is_some()
        && !headers.keys().any(|name| *name == header::HOST);
    // Telemetry is told of each request, with its trace.
    if !is_plain || !peer.surfaces.has(route.endpoint.surface()) || http.telemetry.is_some() {
        return None;
    }
    let asking = doors::Asking { peer: peer.address, has_certificate: peer.has_certificate };
    let message = http.doors.check_here(&asking, headers, body, begun)?;
    let made = Instant::now();
    let mut head = Response::new(());
    *head.headers_mut() = CALL_FIELDS.clone();
    // Nothing is logged of it: it is called as its caller calls it, and by no name of ours.
    let id = headers.iter().find(|(name, _)| **name == REQUEST_ID);
    if let Some((_, id)) = id.filter(|(_, id)| id.to_str().is_ok_and(is_usable)) {
        head.headers_mut().insert(REQUEST_ID, never_again(id.clone()));
    }
    http.metrics.answered(name.number(), StatusCode::OK.as_u16(), made - begun);
    Some(CheckAnswer { head, message, trailers: OK_TRAILERS.clone(), made })
}

/// The name of a request, which HTTP/2 is to remember in no table of fields.
fn never_again(mut id: HeaderValue) -> HeaderValue {
    id.set_sensitive(true);
    id
}

/// RFC 9112, 3.2: two hosts could be one for a proxy and another for us.
fn names_one_host(request: &hyper::Request<Incoming>) -> bool {
    let count = request.headers().get_all(header::HOST).iter().count();
    count == 1 || (count == 0 && request.version() < hyper::Version::HTTP_11)
}

/// The answer of what the route leads to.
///
/// What a surface does is in memory of its own: within a request's work, every request would be as large as that of the largest surface, and
/// it is moved several times before it is answered.
async fn dispatch(
    http: &Http,
    call: &Call,
    route: &'static routes::Route,
    request: hyper::Request<Incoming>,
) -> Response<Body> {
    if request.method() == hyper::Method::OPTIONS && route.endpoint != Endpoint::Door(Door::EnvoyHttp) {
        let mut answer = options(route.methods);
        if route.endpoint == Endpoint::Oidc(oidc::Ask::UserInfo) {
            oidc::allow_pages(answer.headers_mut());
        } else if route.endpoint == Endpoint::Oauth(oauth::Ask::Token) {
            oauth::allow_pages(answer.headers_mut());
        }
        return whole(answer);
    }
    whole(match route.endpoint {
        Endpoint::Sapl(ask) => return Box::pin(http.sapl.answer(call, ask, request)).await,
        Endpoint::EnvoyCheck => return Box::pin(http.doors.check(call, request)).await,
        Endpoint::GrpcHealth(ask) => return Box::pin(http.health.grpc(ask, request)).await,
        Endpoint::Pdp(dialect) => Box::pin(http.xacml.answer(call, dialect, request)).await,
        Endpoint::Authzen(ask) => Box::pin(http.authzen.answer(call, ask, request)).await,
        Endpoint::Brokers(ask) => Box::pin(http.brokers.answer(call, ask, request)).await,
        Endpoint::Kubernetes => Box::pin(http.kubernetes.answer(call, request)).await,
        Endpoint::Door(door) => Box::pin(http.doors.answer(call, door, request)).await,
        Endpoint::Explain => match &http.explain {
            Some(explain) => Box::pin(explain.answer(call, request)).await,
            None => refuse(&request, Problem::new(StatusCode::NOT_FOUND, NOT_HERE)),
        },
        Endpoint::Wso2Home => dialect::wso2_home(request.headers()),
        Endpoint::Home => http.health.home(request.headers()),
        Endpoint::Identity(act) => http.v1.answer(call, act, request).await,
        Endpoint::Oauth(ask) => match &http.oauth {
            Some(oauth) => oauth.answer(call.client.ip(), ask, request).await,
            None => oauth::absent(),
        },
        Endpoint::Oidc(ask) => match &http.oidc {
            Some(oidc) => oidc.answer(call.client.ip(), ask, request).await,
            None => oidc::absent(),
        },
        Endpoint::Scim(ask) => match &http.scim {
            Some(scim) => scim.answer(ask, request).await,
            None => scim::absent(),
        },
        Endpoint::Live => health::live(),
        Endpoint::Ready => http.health.ready(),
        Endpoint::Metrics => {
            let presented =
                Presented::from_request(request.method(), request.uri().path(), request.headers());
            Box::pin(metrics(http, presented, request.headers())).await
        }
    })
}

/// `/metrics`, for callers that `[auth]` accepts where it guards them.
async fn metrics(http: &Http, presented: Presented, headers: &HeaderMap) -> Answer {
    if let Some(guard) = &http.metrics_guard {
        let form = form_of_problems(text_of(headers, &header::ACCEPT), Form::Json);
        match guard.verify(presented).await {
            Ok(_) => {}
            Err(Denied::Wrong) => return Problem::unauthorized(guard.ways()).into_answer(form),
            Err(Denied::Busy) => {
                return Problem::unavailable("too many credentials are being verified; try again")
                    .into_answer(form);
            }
        }
    }
    http.health.metrics(headers)
}

/// The answer where nothing is: with the setting that opens the path, if one does, in the form of the surface it is of.
fn absent(http: &Http, request: &hyper::Request<Incoming>) -> Response<Body> {
    let path = request.uri().path();
    let is_of_sapl = path.starts_with(sapl::PREFIX);
    let detail = match routes::opened_by(path, &http.settings) {
        Some(setting) => format!("this is off: the setting {setting} opens it; see docs/routes.md"),
        None if is_of_sapl => sapl::THERE_ARE.to_owned(),
        None if http.settings.answers_sapl() => {
            "there is nothing here; decisions are made at /pdp (XACML) and /api/pdp/decide-once (SAPL), and / lists \
             what there is"
                .to_owned()
        }
        None => "there is nothing here; decisions are made at /pdp, and / lists what there is".to_owned(),
    };
    if is_of_sapl {
        return http.sapl.refuse_with(StatusCode::NOT_FOUND, path, detail);
    }
    whole(refuse(request, Problem::new(StatusCode::NOT_FOUND, detail)))
}

/// The answer where there is something that this listener does not carry.
fn elsewhere(http: &Http, request: &hyper::Request<Incoming>) -> Response<Body> {
    let path = request.uri().path();
    if path.starts_with(sapl::PREFIX) {
        return http.sapl.refuse_with(StatusCode::NOT_FOUND, path, NOT_HERE.to_owned());
    }
    whole(refuse(request, Problem::new(StatusCode::NOT_FOUND, NOT_HERE)))
}

fn whole(answer: Answer) -> Response<Body> {
    answer.map(Body::Whole)
}

fn refuse_method(http: &Http, route: &routes::Route, request: &hyper::Request<Incoming>) -> Response<Body> {
    match route.endpoint {
        Endpoint::Sapl(_) => {
            let detail = format!("this path takes only {}", route.methods.join(", "));
            http.sapl.refuse_with(StatusCode::METHOD_NOT_ALLOWED, route.path, detail)
        }
        Endpoint::Home
        | Endpoint::Pdp(_)
        | Endpoint::Authzen(_)
        | Endpoint::Brokers(_)
        | Endpoint::Kubernetes
        | Endpoint::Door(_)
        | Endpoint::EnvoyCheck
        | Endpoint::GrpcHealth(_)
        | Endpoint::Explain
        | Endpoint::Wso2Home
        | Endpoint::Live
        | Endpoint::Ready
        | Endpoint::Metrics
        | Endpoint::Identity(_)
        | Endpoint::Oauth(_)
        | Endpoint::Oidc(_)
        | Endpoint::Scim(_) => whole(refuse(request, Problem::method(route.methods))),
    }
}

/// A refusal before the body is looked at; what is left of the body ends the connection.
fn refuse(request: &hyper::Request<Incoming>, problem: Problem) -> Answer {
    problem.into_answer(form_of_problems(text_of(request.headers(), &header::ACCEPT), Form::Json))
}

fn options(methods: &[&str]) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    allow(answer.headers_mut(), methods);
    answer
}

/// The caller's identifier if it is printable and short, else a new one.
fn request_id(http: &Http, headers: &HeaderMap) -> String {
    text_of(headers, &REQUEST_ID)
        .filter(|id| is_usable(id))
        .map_or_else(|| http.request_ids.next(), String::from)
}

fn is_usable(id: &str) -> bool {
    (1..=REQUEST_ID_LENGTH_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request's work is moved several times before it is done: at 34 KiB that took a tenth of a validation.
    #[test]
    fn the_work_of_a_request_is_small() {
        fn bytes<W>(_: impl Fn(&'static Http, Peer, hyper::Request<Incoming>) -> W) -> usize {
            size_of::<W>()
        }
        let bytes = bytes(answer);
        assert!(bytes <= 6 << 10, "{bytes} bytes: what makes it large belongs into a `Box::pin`");
    }
}

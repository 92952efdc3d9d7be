//! From a request to its answer: routes, request ids, counters; one module for each kind of answer.

pub(crate) mod body;
mod dialect;
pub(crate) mod events;
mod forwarded;
mod health;
mod home;
pub(crate) mod identity;
mod negotiate;
mod pdp;
mod problem;
pub(crate) mod routes;
pub(crate) mod sapl;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::state::Shared;
use crate::wire::Form;
use crate::{oauth, openam};
use events::Body;
use negotiate::{Offer, choose};
use problem::{Problem, form_of_problems};
use routes::{Endpoint, RouteName};

/// Answers are small and whole.
pub(crate) type Answer = Response<Full<Bytes>>;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest identifier taken over from a caller: every tracing system's fits.
const REQUEST_ID_LENGTH_MAX: usize = 128;

/// What goes along with one request.
struct Call<'s> {
    shared: &'s Shared,
    /// Who calls; without a port where a proxy said it.
    client: SocketAddr,
    id: String,
}

/// Answers one request. Never fails: what goes wrong is an answer too.
pub(crate) async fn answer(
    shared: &Shared,
    client: SocketAddr,
    request: hyper::Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let begun = Instant::now();
    // Until it is answered, also if its connection breaks.
    let _in_flight = shared.metrics.request();
    let client = forwarded::client(&shared.settings.server, client, request.headers());
    let call = Call { shared, client, id: request_id(shared, request.headers()) };
    let (name, mut answer) = match routes::find(request.uri().path(), &shared.settings) {
        _ if !names_one_host(&request) => {
            let detail = "a request needs one `Host`, and no more";
            (RouteName::OTHER, whole(refuse(&request, Problem::new(StatusCode::BAD_REQUEST, detail))))
        }
        Some((name, route)) if route.allows(request.method().as_str()) => {
            (name, dispatch(&call, route, request).await)
        }
        Some((name, route)) => (name, refuse_method(&call, route, &request)),
        None if openam::is_under(request.uri().path(), &shared.settings.openam) => {
            (RouteName::OPENAM, whole(openam::answer(shared, client.ip(), request).await))
        }
        None if shared.settings.sapl.http && request.uri().path().starts_with(sapl::PREFIX) => {
            let refusal = sapl::Refusal::new(StatusCode::NOT_FOUND);
            (RouteName::OTHER, refusal.into_answer(&call, request.uri().path()))
        }
        None => {
            let detail = "there is nothing here; decisions are made at /pdp, and / lists what there is";
            (RouteName::OTHER, whole(refuse(&request, Problem::new(StatusCode::NOT_FOUND, detail))))
        }
    };
    // Whatever this says may be different a moment later.
    answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(id) = HeaderValue::try_from(call.id) {
        answer.headers_mut().insert(REQUEST_ID, id);
    }
    shared.metrics.answered(name, answer.status().as_u16(), begun.elapsed());
    Ok(answer)
}

/// RFC 9112, 3.2: two hosts could be one for a proxy and another for us.
fn names_one_host(request: &hyper::Request<Incoming>) -> bool {
    let count = request.headers().get_all(header::HOST).iter().count();
    count == 1 || (count == 0 && request.version() < hyper::Version::HTTP_11)
}

async fn dispatch(
    call: &Call<'_>,
    route: &'static routes::Route,
    request: hyper::Request<Incoming>,
) -> Response<Body> {
    if request.method() == hyper::Method::OPTIONS {
        return whole(options(route.methods));
    }
    whole(match route.endpoint {
        Endpoint::Sapl(ask) => return sapl::answer(call, ask, request).await,
        Endpoint::Pdp(dialect) => pdp::answer(call, dialect, request).await,
        Endpoint::Wso2Home => dialect::wso2_home(request.headers()),
        Endpoint::Home => home::answer(call.shared, request.headers()),
        Endpoint::Identity(act) => identity::answer(call, act, request).await,
        Endpoint::Oauth(ask) => oauth::answer(call.shared, call.client.ip(), ask, request).await,
        Endpoint::Live => health::live(),
        Endpoint::Ready => health::ready(call.shared),
        Endpoint::Metrics => metrics(call.shared, request.headers()),
    })
}

fn whole(answer: Answer) -> Response<Body> {
    answer.map(Body::Whole)
}

fn refuse_method(
    call: &Call<'_>,
    route: &routes::Route,
    request: &hyper::Request<Incoming>,
) -> Response<Body> {
    match route.endpoint {
        Endpoint::Sapl(_) => sapl::Refusal::new(StatusCode::METHOD_NOT_ALLOWED).into_answer(call, route.path),
        Endpoint::Home
        | Endpoint::Pdp(_)
        | Endpoint::Wso2Home
        | Endpoint::Live
        | Endpoint::Ready
        | Endpoint::Metrics
        | Endpoint::Identity(_)
        | Endpoint::Oauth(_) => whole(refuse(request, Problem::method(route.methods))),
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

/// Lists the methods there are.
fn allow(headers: &mut HeaderMap, methods: &[&str]) {
    if let Ok(methods) = HeaderValue::from_str(&methods.join(", ")) {
        headers.insert(header::ALLOW, methods);
    }
}

fn metrics(shared: &Shared, headers: &HeaderMap) -> Answer {
    let snapshot = shared.pdp.load().as_ref().map(|pdp| pdp.snapshot());
    shared.metrics.tenants(shared.standings());
    shared.metrics.policy_warnings(shared.policy_warning_count());
    if let Some(service) = &shared.service {
        shared.metrics.sessions(service);
    }
    metrics_answer(headers, shared.metrics.text(snapshot.as_ref(), health::age(shared), shared.is_stale()))
}

/// Metrics in the form that whoever asks prefers.
pub(crate) fn metrics_answer(headers: &HeaderMap, text: String) -> Answer {
    const OPEN_METRICS: Offer =
        Offer { main: "application", sub: "openmetrics-text", version: Some("1.0.0") };
    const PLAIN: Offer = Offer { main: "text", sub: "plain", version: Some("0.0.4") };
    // Older scrapers ask for `text/plain`; they read the same lines.
    match choose(text_of(headers, &header::ACCEPT), &[OPEN_METRICS, PLAIN]) {
        Some(PLAIN) => text_answer("text/plain; version=0.0.4; charset=utf-8", text),
        _ => text_answer("application/openmetrics-text; version=1.0.0; charset=utf-8", text),
    }
}

pub(crate) fn text_answer(media_type: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

/// The caller's identifier if it is printable and short, else a new one.
fn request_id(shared: &Shared, headers: &HeaderMap) -> String {
    let is_usable = |id: &&str| {
        (1..=REQUEST_ID_LENGTH_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
    };
    text_of(headers, &REQUEST_ID).filter(is_usable).map_or_else(|| shared.next_request_id(), String::from)
}

/// A header field as text; fields repeated are read as if only the first were there.
fn text_of<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Text that can stand between tags and within quotes of XML and HTML. Characters that XML cannot hold at all
/// become replacement characters.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if character.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

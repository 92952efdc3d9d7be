//! Envoy's external authorization over gRPC (`envoy.service.auth.v3`): what it asks, as a request of a gateway, and the answer.
//!
//! Whatever becomes of a check is an answer and no failure of the call: of a failure, `failure_mode_allow` makes a permit. An answer is
//! written from a match on [`DoorAnswer`]; `durward_wire` has none without a code, since to Envoy an empty one is a permit.

mod here;
mod http;
mod known;

pub(crate) use http::ENVOY_HTTP;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use durward_common::surfaces::http::events::Body;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Call, grpc, text_of};
use durward_pdp::ir::Value;
use durward_pdp::ir::value::{Object, ObjectBuilder};
use durward_settings::{DoorExtension, is_tenant};
use durward_wire::ext_authz::{
    Allowed as Granted, CheckRequest, CheckResponse, Denied as Refused, HeaderChange, How, HttpRequest,
    Limits, read_request, write_response,
};
use durward_wire::grpc::read_one;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use smallvec::SmallVec;

use super::http::{PROXY_CREDENTIALS, refusal_text};
use super::{Allowed, Asking, Denied, Door, DoorAnswer, DoorRequest, Named, OVERRIDES, Reason, Surface};

/// In the extensions of a check: its bytes were looked at, and do not decide it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undecided;

/// Most header fields of a checked request: several times what gateways and servers take.
const HEADERS_MAX: usize = 256;

/// Most `context_extensions` of a route: they are written by hand.
const EXTENSIONS_MAX: usize = 64;

/// How many of a client's fields are looked at.
const READ_COUNT: usize = 8;

/// What of a client's fields is looked at: three, and those that name another method or path.
static READ: [HeaderName; READ_COUNT] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::ACCEPT,
    HeaderName::from_static(OVERRIDES[0]),
    HeaderName::from_static(OVERRIDES[1]),
    HeaderName::from_static(OVERRIDES[2]),
    HeaderName::from_static(OVERRIDES[3]),
    HeaderName::from_static(OVERRIDES[4]),
];

// One that is left out would let a client name another method or path than the one that is decided about.
const _: () = assert!(READ_COUNT == 3 + OVERRIDES.len());

/// A check has hardly more of them.
const READ_MOST: usize = 3;

/// What the names of extensions begin with that say what is asked, and are no policy's affair.
const PREFIX: &str = "durward.";

impl Surface {
    /// Answers `Authorization/Check`.
    pub(crate) async fn check(&self, call: &Call, request: hyper::Request<Incoming>) -> Response<Body> {
        if let Err(problem) = grpc::check_form(&request) {
            return problem.into_answer(durward_common::surfaces::http::Form::Json).map(Body::Whole);
        }
        let (head, body) = request.into_parts();
        let bytes = match self.bodies.receive(body).await {
            Ok(bytes) => bytes,
            Err(problem) => {
                let answer = match problem.status() {
                    StatusCode::SERVICE_UNAVAILABLE => DoorAnswer::Unavailable,
                    status => DoorAnswer::Deny(Denied { reason: Reason::Fields, status, body: None }),
                };
                self.tell(Door::Envoy, call, &answer);
                return written(answer);
            }
        };
        let asking = Asking { peer: call.peer, has_certificate: call.has_certificate };
        if head.extensions.get::<Undecided>().is_none()
            && let Some(message) = self.check_here(&asking, &head.headers, &bytes, Instant::now())
        {
            return grpc::message(message);
        }
        let message = match read_one(&bytes, bytes.len()) {
            Ok(message) => message,
            Err(wrong) => return grpc::failure(wrong.code(), wrong.as_str()),
        };
        let asked = self.checked(call, &head.headers, (&bytes, message));
        let Some(limit) = grpc::timeout(&head.headers) else { return written(asked.await) };
        written(tokio::time::timeout(limit, asked).await.unwrap_or_else(|_| {
            self.tell(Door::Envoy, call, &DoorAnswer::Unavailable);
            DoorAnswer::Unavailable
        }))
    }

    async fn checked(&self, call: &Call, own: &HeaderMap, (bytes, message): (&Bytes, &[u8])) -> DoorAnswer {
        let limits = Limits { headers_max: HEADERS_MAX, extensions_max: EXTENSIONS_MAX };
        let asked = read_request(message, &limits)
            .ok()
            .and_then(|check| Asked::read(check, bytes, &self.settings.extensions));
        let Some(asked) = asked else {
            let answer = Reason::Fields.into();
            self.tell(Door::Envoy, call, &answer);
            return answer;
        };
        let CheckRequest { http, .. } = &asked.check;
        self.ask(&DoorRequest {
            door: Door::Envoy,
            call,
            proxy_credentials: text_of(own, &PROXY_CREDENTIALS),
            method: http.method,
            scheme: http.scheme,
            host: http.host,
            target: http.path,
            client: asked.client,
            headers: &asked.headers,
            extensions: asked.extensions,
            named: asked.named,
        })
        .await
    }
}

/// A check, with what is made of it.
struct Asked<'b> {
    check: CheckRequest<'b>,
    client: IpAddr,
    headers: HeaderMap,
    extensions: Option<Arc<Object>>,
    named: Named<'b>,
}

impl<'b> Asked<'b> {
    /// `None` where something is missing that must be there, or cannot be what it says.
    /// The message is within `bytes`.
    fn read(check: CheckRequest<'b>, bytes: &Bytes, may_name: &[DoorExtension]) -> Option<Asked<'b>> {
        Some(Asked {
            client: check.source.address.parse::<IpAddr>().ok()?.to_canonical(),
            headers: client_headers(&check.http, bytes)?,
            extensions: extensions(&check),
            named: named(&check, may_name)?,
            check,
        })
    }
}

/// The fields of the client that are looked at. Their values stay where they came.
fn client_headers(http: &HttpRequest<'_>, bytes: &Bytes) -> Option<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(READ_MOST);
    for field in &http.headers {
        let known = READ.iter().find(|name| name.as_str().eq_ignore_ascii_case(field.name));
        let name = match known {
            Some(name) => name.clone(),
            // It may look like a header that is believed.
            None if field.name.contains('_') => HeaderName::from_bytes(field.name.as_bytes()).ok()?,
            None => continue,
        };
        headers.append(name, HeaderValue::from_maybe_shared(bytes.slice_ref(field.value)).ok()?);
    }
    Some(headers)
}

/// What policies see of a route's `context_extensions`, and of the client's certificate.
fn extensions(check: &CheckRequest<'_>) -> Option<Arc<Object>> {
    let mut object = ObjectBuilder::new();
    let of_connection = [("source_principal", check.source.principal), ("sni", check.sni)];
    // Of the connection policies never see what a route says.
    let is_own = |name: &str| of_connection.iter().any(|(own, _)| *own == name);
    for (name, value) in
        check.extensions.iter().filter(|(name, _)| !name.starts_with(PREFIX) && !is_own(name))
    {
        object.insert(*name, Value::text(*value));
    }
    for (name, value) in of_connection {
        if !value.is_empty() {
            object.insert(name, Value::text(value));
        }
    }
    (!object.is_empty()).then(|| Arc::new(object.finish()))
}

/// What a route says of the question itself, as far as the settings let it. `None` for what it may not say.
fn named<'b>(check: &CheckRequest<'b>, may_name: &[DoorExtension]) -> Option<Named<'b>> {
    let mut named = Named::default();
    for &(name, value) in &check.extensions {
        let Some(name) = name.strip_prefix(PREFIX) else { continue };
        let extension = may_name.iter().find(|extension| extension.as_str() == name)?;
        if value.is_empty() || (*extension == DoorExtension::Tenant && !is_tenant(value)) {
            return None;
        }
        match extension {
            DoorExtension::Action => named.action = Some(value),
            DoorExtension::ResourceType => named.resource_type = Some(value),
            DoorExtension::Tenant => named.tenant = Some(value),
        }
    }
    Some(named)
}

/// The answer to a check.
fn written(answer: DoorAnswer) -> Response<Body> {
    grpc::reply(|out| write(&answer, out))
}

fn write(answer: &DoorAnswer, out: &mut BytesMut) {
    match answer {
        DoorAnswer::Allow(allowed) => match Grants::of(allowed) {
            Some(grants) => grants.write(out),
            // A name that is no text can be told nobody.
            None => write(&Reason::Identity.into(), out),
        },
        DoorAnswer::Deny(denied) => {
            let text =
                denied.body.as_ref().and_then(|body| Some((body.content_type.to_str().ok()?, &*body.text)));
            let (content_type, text) = text.unwrap_or((PLAIN, refusal_text(denied.status)));
            refuse(denied.status, &[("content-type", content_type)], denied.reason.as_str(), text, out);
        }
        DoorAnswer::Redirect(location) => redirect(location, Reason::Policy.as_str(), out),
        DoorAnswer::Unauthenticated { login: Some(login) } => redirect(login, UNAUTHENTICATED, out),
        DoorAnswer::Unauthenticated { login: None } => {
            let status = StatusCode::UNAUTHORIZED;
            let headers = [("content-type", PLAIN), ("www-authenticate", "Bearer")];
            refuse(status, &headers, UNAUTHENTICATED, refusal_text(status), out);
        }
        DoorAnswer::Unavailable => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            refuse(status, &[("content-type", PLAIN)], "unavailable", refusal_text(status), out);
        }
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";
const UNAUTHENTICATED: &str = "unauthenticated";

/// What a permit changes of the request.
struct Grants<'a> {
    set: SmallVec<[HeaderChange<'a>; USUAL_CHANGES]>,
    removed: SmallVec<[&'a str; USUAL_CHANGES]>,
}

/// So many changes need no memory of their own.
const USUAL_CHANGES: usize = 4;

impl<'a> Grants<'a> {
    /// `None` where a value is no text.
    fn of(allowed: &'a Allowed) -> Option<Grants<'a>> {
        let mut grants = Grants { set: SmallVec::new(), removed: SmallVec::new() };
        for (name, value) in allowed.set() {
            let (name, value) = (name.as_str(), str::from_utf8(value.as_bytes()).ok()?);
            // Where there is nothing to say, a client's own must not stay.
            if value.is_empty() {
                grants.removed.push(name);
            } else {
                grants.set.push(HeaderChange { name, value, how: How::Overwrite });
            }
        }
        grants.removed.extend(allowed.removed().iter().map(HeaderName::as_str));
        Some(grants)
    }

    fn write(&self, out: &mut BytesMut) {
        let Grants { set, removed } = self;
        let granted = Granted { headers: set, removed, response_headers: &[], metadata: &[] };
        write_response(out, &CheckResponse::Allowed(granted));
    }
}

fn redirect(location: &HeaderValue, reason: &str, out: &mut BytesMut) {
    match str::from_utf8(location.as_bytes()) {
        Ok(location) => refuse(StatusCode::FOUND, &[("location", location)], reason, "", out),
        Err(_) => write(&Reason::Obligation.into(), out),
    }
}

fn refuse(status: StatusCode, headers: &[(&str, &str)], reason: &str, body: &str, out: &mut BytesMut) {
    let own = [("x-durward-reason", reason)];
    let change = |&(name, value)| HeaderChange { name, value, how: How::Overwrite };
    let headers: Vec<HeaderChange<'_>> = headers.iter().chain(&own).map(change).collect();
    let metadata = [("reason", reason)];
    let refused = Refused { status: status.as_u16(), headers: &headers, body, metadata: &metadata };
    write_response(out, &CheckResponse::Denied(refused));
}

#[cfg(test)]
mod tests {
    use durward_wire::ext_authz::{ReadHttp, read_response};

    use super::super::answer::DeniedBody;
    use super::*;

    fn allowed(pairs: &[(&'static str, &'static [u8])]) -> DoorAnswer {
        let pair = |(name, value): &(&'static str, &'static [u8])| {
            (HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap())
        };
        let removed = vec![HeaderName::from_static("cookie")];
        DoorAnswer::Allow(Allowed { set: pairs.iter().map(pair).collect(), removed, cache_s: Some(5) })
    }

    #[test]
    fn only_a_permit_is_code_0_and_everything_else_says_what_the_client_gets() {
        let location = || HeaderValue::from_static("https://id.example/");
        let body = DeniedBody { content_type: HeaderValue::from_static("text/html"), text: "<p>".into() };
        let denied = Denied { reason: Reason::Policy, status: StatusCode::NOT_FOUND, body: Some(body) };
        for (answer, expected, field) in [
            (
                DoorAnswer::from(Reason::Target),
                (7, 403, "this is not allowed\n"),
                ("x-durward-reason", "target"),
            ),
            (DoorAnswer::Deny(denied), (7, 404, "<p>"), ("content-type", "text/html")),
            (DoorAnswer::Redirect(location()), (7, 302, ""), ("location", "https://id.example/")),
            (
                DoorAnswer::Unauthenticated { login: None },
                (16, 401, "log in first\n"),
                ("www-authenticate", "Bearer"),
            ),
            (
                DoorAnswer::Unauthenticated { login: Some(location()) },
                (7, 302, ""),
                ("location", "https://id.example/"),
            ),
            (DoorAnswer::Unavailable, (7, 503, "try again\n"), ("x-durward-reason", "unavailable")),
            (
                allowed(&[("x-user", b"\xff")]),
                (7, 403, "this is not allowed\n"),
                ("x-durward-reason", "identity"),
            ),
        ] {
            let mut out = BytesMut::new();
            write(&answer, &mut out);
            let read = read_response(&out).unwrap();
            let ReadHttp::Denied { status, headers, body } = read.http else { panic!("{answer:?}") };
            assert_eq!((read.code, status, body), expected, "{answer:?}");
            assert!(
                headers.iter().any(|header| (header.name, header.value) == field),
                "{answer:?}: {headers:?}"
            );
            assert!(read.metadata.iter().any(|(name, _)| *name == "reason"));
        }
    }

    #[test]
    fn a_header_without_a_value_is_taken_from_the_request() {
        let mut out = BytesMut::new();
        write(&allowed(&[("x-user", b"ada"), ("x-groups", b"")]), &mut out);
        let read = read_response(&out).unwrap();
        let ReadHttp::Allowed { headers, removed, .. } = read.http else { panic!() };
        assert_eq!(headers, [HeaderChange { name: "x-user", value: "ada", how: How::Overwrite }]);
        assert_eq!((read.code, removed), (0, vec!["x-groups", "cookie"]));
    }
}

//! Gateways that ask with a request of their own: nginx (`auth_request`), Caddy (`forward_auth`), Traefik (ForwardAuth) and HAProxy (a script).
//!
//! Each writes what its client asked for into fields, over whatever the client has there. All of these must be there, each once: a gateway that
//! was not told to write one would pass on the client's own.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use durward_common::surfaces::http::incoming::Incoming;
use durward_common::surfaces::http::{Answer, Call, text_of};
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use super::{Allowed, Denied, Door, DoorAnswer, DoorRequest, Named, Reason, Surface};

/// Credentials of the gateway.
pub(super) const PROXY_CREDENTIALS: HeaderName = HeaderName::from_static("x-durward-proxy-authorization");

/// Why a request does not pass, for operators.
const REASON: HeaderName = HeaderName::from_static("x-durward-reason");

/// Where nginx may send a browser. It takes no `Location` from here.
const LOCATION: HeaderName = HeaderName::from_static("x-durward-location");

/// Which headers Envoy takes from the request.
const ENVOY_REMOVE: HeaderName = HeaderName::from_static("x-envoy-auth-headers-to-remove");

/// Which headers the script in HAProxy sets, and which it removes.
const SET: HeaderName = HeaderName::from_static("x-durward-set");
const REMOVE: HeaderName = HeaderName::from_static("x-durward-remove");

/// The fields of a client on which a permit depends, for whoever keeps answers. nginx keeps none whose list is longer than 128 bytes.
const VARY: &str = "Authorization, Cookie, X-HTTP-Method-Override, X-HTTP-Method, X-Method-Override, X-Original-URL, X-Rewrite-URL";

const FORWARDED_FOR: &str = "x-forwarded-for";

/// What a gateway says of its client's request.
#[derive(Debug, PartialEq, Eq)]
struct Fields<'h> {
    method: &'h str,
    target: &'h str,
    host: &'h str,
    scheme: &'h str,
    client: IpAddr,
}

impl<'h> Fields<'h> {
    /// `None` where one is missing, there twice, or no text.
    fn read(door: Door, headers: &'h HeaderMap) -> Option<Fields<'h>> {
        let [method, target, host, scheme] = match door {
            Door::Nginx | Door::Haproxy => {
                ["x-original-method", "x-original-uri", "x-original-host", "x-original-proto"]
            }
            Door::Caddy | Door::Traefik => {
                ["x-forwarded-method", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto"]
            }
            // It says so by its request itself.
            Door::Envoy | Door::EnvoyHttp => return None,
        };
        Some(Fields {
            method: only(headers, method)?,
            target: only(headers, target)?,
            host: only(headers, host)?,
            scheme: only(headers, scheme)?,
            client: address(headers)?,
        })
    }
}

pub(super) fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut fields = headers.get_all(name).iter();
    let (first, second) = (fields.next(), fields.next());
    first.filter(|_| second.is_none())?.to_str().ok()
}

/// The last address is the gateway's own word.
pub(super) fn address(headers: &HeaderMap) -> Option<IpAddr> {
    let field = headers.get_all(FORWARDED_FOR).iter().next_back()?.to_str().ok()?;
    let last = field.rsplit(',').next()?.trim();
    let bare = last.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(last);
    let address = bare.parse::<IpAddr>().ok();
    let address = address.or_else(|| last.parse::<SocketAddr>().ok().map(|address| address.ip()))?;
    Some(address.to_canonical())
}

impl Surface {
    /// Answers a gateway that asks with a request of its own.
    pub(crate) async fn answer(&self, call: &Call, door: Door, request: hyper::Request<Incoming>) -> Answer {
        if door == Door::EnvoyHttp {
            return self.check_http(call, request).await;
        }
        let headers = request.headers();
        let answer = match Fields::read(door, headers) {
            Some(Fields { method, target, host, scheme, client }) => {
                let proxy_credentials = text_of(headers, &PROXY_CREDENTIALS);
                let (extensions, named) = (None, Named::default());
                self.ask(&DoorRequest {
                    door,
                    call,
                    proxy_credentials,
                    method,
                    scheme,
                    host,
                    target,
                    client,
                    headers,
                    extensions,
                    named,
                })
                .await
            }
            None => {
                let answer = DoorAnswer::from(Reason::Fields);
                self.tell(door, call, &answer);
                answer
            }
        };
        written(door, answer)
    }
}

/// An answer as this gateway understands it. Whatever is no [`DoorAnswer::Allow`] has a status from 300 on.
pub(super) fn written(door: Door, answer: DoorAnswer) -> Answer {
    match answer {
        DoorAnswer::Allow(allowed) => allow(door, &allowed),
        DoorAnswer::Deny(denied) => deny(door, denied),
        DoorAnswer::Redirect(location) => match door {
            Door::Nginx => {
                let mut answer = refusal(StatusCode::FORBIDDEN, Reason::Policy.as_str());
                answer.headers_mut().insert(LOCATION, location);
                answer
            }
            Door::Caddy | Door::Traefik | Door::Haproxy | Door::Envoy | Door::EnvoyHttp => redirect(location),
        },
        DoorAnswer::Unauthenticated { login } => unauthenticated(door, login),
        // Only nginx makes something else of it, 500.
        DoorAnswer::Unavailable => refusal(StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    }
}

fn allow(door: Door, allowed: &Allowed) -> Answer {
    let mut answer = Response::new(Full::default());
    let headers = answer.headers_mut();
    // What Envoy is to take from the request it must not be told to set.
    let is_told = |value: &HeaderValue| door != Door::EnvoyHttp || !value.is_empty();
    for (name, value) in allowed.set().iter().filter(|(_, value)| is_told(value)) {
        headers.insert(name.clone(), value.clone());
    }
    if let Some(value) =
        allowed.cache_s().and_then(|seconds| HeaderValue::try_from(format!("max-age={seconds}")).ok())
    {
        headers.insert(header::CACHE_CONTROL, value);
        headers.insert(header::VARY, HeaderValue::from_static(VARY));
    }
    match door {
        Door::Nginx | Door::Caddy | Door::Traefik | Door::Envoy => {}
        Door::EnvoyHttp => {
            // Where there is nothing to say, a client's own must not stay.
            let is_empty = |(_, value): &&(HeaderName, HeaderValue)| value.is_empty();
            let unknown = allowed.set().iter().filter(is_empty).map(|(name, _)| name);
            list(headers, ENVOY_REMOVE, unknown.chain(allowed.removed()));
        }
        Door::Haproxy => {
            list(headers, SET, allowed.set().iter().map(|(name, _)| name));
            list(headers, REMOVE, allowed.removed().iter());
        }
    }
    answer
}

/// Names in one field. They are those of headers, so they always fit.
fn list<'n>(headers: &mut HeaderMap, field: HeaderName, names: impl Iterator<Item = &'n HeaderName>) {
    let names: Vec<&str> = names.map(HeaderName::as_str).collect();
    if let Ok(value) = HeaderValue::try_from(names.join(",")) {
        headers.insert(field, value);
    }
}

fn deny(door: Door, denied: Denied) -> Answer {
    let Denied { reason, status, body } = denied;
    let status = match door {
        // It makes 500 of any other.
        Door::Nginx => StatusCode::FORBIDDEN,
        Door::Caddy | Door::Traefik | Door::Haproxy | Door::Envoy | Door::EnvoyHttp => status,
    };
    let mut answer = refusal(status, reason.as_str());
    if let Some(body) = body {
        answer.headers_mut().insert(header::CONTENT_TYPE, body.content_type);
        *answer.body_mut() = Full::new(Bytes::from(body.text));
    }
    answer
}

fn unauthenticated(door: Door, login: Option<HeaderValue>) -> Answer {
    let mut challenge = refusal(StatusCode::UNAUTHORIZED, "unauthenticated");
    challenge.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    match (door, login) {
        (_, None) => challenge,
        (Door::Nginx, Some(login)) => {
            challenge.headers_mut().insert(LOCATION, login);
            challenge
        }
        (Door::Caddy | Door::Traefik | Door::Haproxy | Door::Envoy | Door::EnvoyHttp, Some(login)) => {
            redirect(login)
        }
    }
}

fn redirect(location: HeaderValue) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::FOUND;
    answer.headers_mut().insert(header::LOCATION, location);
    answer
}

/// What a client is told with this status, where nobody says anything else.
pub(super) fn refusal_text(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "log in first\n",
        StatusCode::SERVICE_UNAVAILABLE => "try again\n",
        _ => "this is not allowed\n",
    }
}

fn refusal(status: StatusCode, reason: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(refusal_text(status).as_bytes())));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(REASON, HeaderValue::from_static(reason));
    answer
}

#[cfg(test)]
mod tests {
    use super::super::answer::DeniedBody;
    use super::*;

    const DOORS: [Door; 5] = [Door::Nginx, Door::Caddy, Door::Traefik, Door::Haproxy, Door::EnvoyHttp];

    /// Every answer that is not a yes, for every gateway.
    #[test]
    fn nothing_but_a_permit_has_a_status_that_a_gateway_takes_for_a_yes() {
        for door in DOORS {
            let location = || HeaderValue::from_static("https://id.example/");
            let body = DeniedBody { content_type: HeaderValue::from_static("text/html"), text: "no".into() };
            let denied = Denied { reason: Reason::Policy, status: StatusCode::NOT_FOUND, body: Some(body) };
            for (answer, expected, by_nginx) in [
                (DoorAnswer::from(Reason::Target), 403, 403),
                (DoorAnswer::Deny(denied), 404, 403),
                (DoorAnswer::Redirect(location()), 302, 403),
                (DoorAnswer::Unauthenticated { login: None }, 401, 401),
                (DoorAnswer::Unauthenticated { login: Some(location()) }, 302, 401),
                (DoorAnswer::Unavailable, 503, 503),
            ] {
                let told = written(door, answer).status().as_u16();
                assert_eq!(told, if door == Door::Nginx { by_nginx } else { expected }, "{door:?}");
            }
        }
    }

    fn fields(door: Door, pairs: &[(&'static str, &'static str)]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let fields = Fields::read(door, &headers)?;
        let Fields { method, target, host, scheme, client } = fields;
        Some(format!("{method} {scheme} {host} {target} {client}"))
    }

    const NGINX: [(&str, &str); 5] = [
        ("x-original-method", "GET"),
        ("x-original-uri", "/a?b"),
        ("x-original-host", "a.example"),
        ("x-original-proto", "https"),
        ("x-forwarded-for", "192.0.2.1"),
    ];

    #[test]
    fn each_gateway_has_its_own_fields_and_all_must_be_there_once() {
        let read = Some("GET https a.example /a?b 192.0.2.1".to_owned());
        assert_eq!(fields(Door::Nginx, &NGINX), read);
        assert_eq!(fields(Door::Haproxy, &NGINX), read);
        assert_eq!(fields(Door::Caddy, &NGINX), None);
        assert_eq!(fields(Door::Traefik, &NGINX), None);
        let more =
            [("x-forwarded-uri", "/public"), ("x-forwarded-method", "GET"), ("x-original-url", "/public")];
        assert_eq!(fields(Door::Nginx, &[&NGINX[..], &more].concat()), read, "others mean nothing");
        for at in 0..NGINX.len() {
            let mut without = NGINX.to_vec();
            let left_out = without.remove(at);
            assert_eq!(fields(Door::Nginx, &without), None, "without {left_out:?}");
            if left_out.0 != FORWARDED_FOR {
                assert_eq!(
                    fields(Door::Nginx, &[&NGINX[..], &[left_out]].concat()),
                    None,
                    "twice {left_out:?}"
                );
            }
        }
    }

    #[test]
    fn answers_that_may_be_kept_name_every_field_that_they_depend_on() {
        let allowed = Allowed { set: Vec::new(), removed: Vec::new(), cache_s: Some(5) };
        let answer = written(Door::Nginx, DoorAnswer::Allow(allowed));
        let vary = text_of(answer.headers(), &header::VARY).unwrap().to_ascii_lowercase();
        assert!(vary.len() < 128, "{vary}");
        let named: Vec<&str> = vary.split(", ").collect();
        let read = ["authorization", "cookie"].into_iter().chain(super::super::OVERRIDES);
        assert!(read.eq(named.iter().copied()), "{named:?}");
    }

    #[test]
    fn the_last_address_is_the_gateways_word() {
        for (value, found) in [
            ("198.51.100.7, 192.0.2.1", Some("192.0.2.1")),
            ("192.0.2.1:4711", Some("192.0.2.1")),
            ("[2001:db8::1]", Some("2001:db8::1")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("::ffff:192.0.2.1", Some("192.0.2.1")),
            ("unknown", None),
            ("192.0.2.1, unknown", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(FORWARDED_FOR, HeaderValue::from_static(value));
            assert_eq!(address(&headers).map(|address| address.to_string()).as_deref(), found, "{value}");
        }
    }
}

//! What the server of the page answers to which request.

use std::net::IpAddr;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use sha2::{Digest, Sha256};

use super::PageShared;
use super::events::PageEvent;
use super::stream::EventStream;

const HTML: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Under which the files of a report are.
pub(super) const REPORT: &str = "/report/";
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// What is answered: bytes, or a stream of events.
pub(super) type PageAnswer = Response<Either<Full<Bytes>, EventStream>>;

/// Answers one request. `host` is the name that the page was asked for at.
pub(super) fn answer<B>(request: &Request<B>, shared: &PageShared, host: &str) -> PageAnswer {
    if !is_own_host(request.headers(), host) {
        let why = "this name is not this page's: open it by its address\n";
        return plain(StatusCode::MISDIRECTED_REQUEST, why);
    }
    if request.method() != Method::GET {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "GET only\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        return refused;
    }
    match request.uri().path() {
        "/" => page(),
        "/events" => events(shared),
        "/status.json" => {
            let status = shared.lock().status.clone();
            let json = serde_json::to_vec(&status).unwrap_or_default();
            bytes("application/json", "default-src 'none'", json)
        }
        path => path.strip_prefix(REPORT).map_or_else(not_found, |name| file(shared, name)),
    }
}

/// Whether `Host` is an address, which no other site's name can be, or a name of this server.
fn is_own_host(headers: &HeaderMap, own: &str) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_name = |known: &str| name.trim_end_matches('.').eq_ignore_ascii_case(known);
    bare.parse::<IpAddr>().is_ok() || is_name("localhost") || (!own.is_empty() && is_name(own))
}

fn page() -> PageAnswer {
    static PAGE: OnceLock<(String, String)> = OnceLock::new();
    let (html, policy) = PAGE.get_or_init(|| {
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width, initial-scale=1\">\n<title>durward lab</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n{HTML}<script>{SCRIPT}</script>\n\
             </body>\n</html>\n"
        );
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            hash(SCRIPT),
            hash(STYLE)
        );
        (html, policy)
    });
    bytes("text/html; charset=utf-8", policy, html.clone())
}

fn events(shared: &PageShared) -> PageAnswer {
    let joined = {
        let mut inner = shared.lock();
        inner.clients.add().map(|receiver| (receiver, inner.status.clone()))
    };
    let Some((receiver, status)) = joined else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "too many look at this page\n");
    };
    let stream = EventStream::new(PageEvent::all(&status), receiver);
    with_headers(Either::Right(stream), "text/event-stream", "default-src 'none'")
}

/// A file of the report: one of those that were written, so no other file can be asked for.
fn file(shared: &PageShared, name: &str) -> PageAnswer {
    let path = {
        let inner = shared.lock();
        let is_there = inner.files.names.iter().any(|known| known == name);
        is_there.then(|| inner.files.folder.join(name))
    };
    let Some(Ok(content)) = path.map(std::fs::read) else { return not_found() };
    let kind = match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "csv" => "text/csv; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    };
    // Reports have styles of their own and no script.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; \
                  form-action 'none'; frame-ancestors 'none'";
    bytes(kind, policy, content)
}

fn not_found() -> PageAnswer {
    plain(StatusCode::NOT_FOUND, "nothing is here\n")
}

fn plain(status: StatusCode, text: &'static str) -> PageAnswer {
    let mut answer = bytes("text/plain; charset=utf-8", "default-src 'none'", text);
    *answer.status_mut() = status;
    answer
}

fn bytes(kind: &'static str, policy: &str, content: impl Into<Bytes>) -> PageAnswer {
    with_headers(Either::Left(Full::new(content.into())), kind, policy)
}

fn with_headers(body: Either<Full<Bytes>, EventStream>, kind: &'static str, policy: &str) -> PageAnswer {
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_addresses_or_own_names() {
        let is_own = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
            is_own_host(&headers, "bench.test")
        };
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost:9",
            "[::1]:80",
            "[::1]",
            "10.1.2.3:1",
            "Bench.test:80",
            "localhost.",
        ] {
            assert!(is_own(host), "{host}");
        }
        for host in [
            "",
            "evil.test",
            "evil.test:80",
            "127.0.0.1.evil.test",
            "localhost.evil.test",
            ":80",
            "127.0.0.1:x",
        ] {
            assert!(!is_own(host), "{host}");
        }
        assert!(!is_own_host(&HeaderMap::new(), "bench.test"));
    }
}

//! Sends a browser to an application.

use bytes::Bytes;
use durward_wire::percent::form_encoded;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

use crate::access::issued::authorization::{Authorization, AuthorizationError};
use crate::surfaces::http::Answer;

/// To this address, with these parameters behind those that it has (RFC 6749, 4.1.2).
pub(super) fn to(address: &str, parameters: &[(&str, Option<&str>)]) -> Answer {
    let mut place = address.to_owned();
    let mut separator = if address.contains('?') { '&' } else { '?' };
    for (name, value) in parameters {
        let Some(value) = value else { continue };
        place.push(separator);
        place.push_str(name);
        place.push('=');
        form_encoded(value, &mut place);
        separator = '&';
    }
    let mut answer = Response::new(Full::new(Bytes::new()));
    // Also after a POST, the browser asks with GET.
    *answer.status_mut() = StatusCode::SEE_OTHER;
    let headers = answer.headers_mut();
    match HeaderValue::try_from(place) {
        Ok(place) => drop(headers.insert(header::LOCATION, place)),
        Err(_) => *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
    }
    let headers = answer.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    answer
}

/// With an error. `iss` says who tells it, so that a client of several issuers takes none for another (RFC 9207).
pub(super) fn with_error(error: &AuthorizationError, issuer: &str) -> Answer {
    let parameters = [
        ("error", Some(error.error)),
        ("error_description", Some(error.description)),
        ("state", error.state.as_deref()),
        ("iss", Some(issuer)),
    ];
    to(&error.redirect_uri, &parameters)
}

/// An error about a request that was read.
pub(super) fn error_of(
    authorization: &Authorization,
    error: &'static str,
    description: &'static str,
) -> AuthorizationError {
    AuthorizationError {
        redirect_uri: authorization.redirect_uri.clone(),
        state: authorization.state.clone(),
        error,
        description,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(address: &str, parameters: &[(&str, Option<&str>)]) -> String {
        to(address, parameters).headers()[header::LOCATION].to_str().unwrap().to_owned()
    }

    #[test]
    fn parameters_follow_those_that_are_there_and_are_escaped() {
        let parameters = [("code", Some("a b&c")), ("state", None), ("iss", Some("https://id"))];
        assert_eq!(place("https://a/cb", &parameters), "https://a/cb?code=a+b%26c&iss=https%3A%2F%2Fid");
        assert_eq!(
            place("https://a/cb?x=1", &[("e", Some("\r\nSet-Cookie: x"))]),
            "https://a/cb?x=1&e=%0D%0ASet-Cookie%3A+x"
        );
    }
}

//! Sends a browser on.

use bytes::Bytes;
use durward_common::surfaces::http::Answer;
use durward_wire::percent::form_encoded;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};

/// An address with these parameters behind those that it has (RFC 6749, 3.1).
pub fn address(address: &str, parameters: &[(&str, Option<&str>)]) -> String {
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
    place
}

/// To this address, with these parameters behind those that it has (RFC 6749, 4.1.2).
pub fn to(address: &str, parameters: &[(&str, Option<&str>)]) -> Answer {
    let place = self::address(address, parameters);
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

//! Sends a browser to an application.

pub(super) use crate::surfaces::login_forms::redirect::{address, to};
use durward_common::access::issued::authorization::{Authorization, AuthorizationError};
use durward_common::surfaces::http::Answer;

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
    use hyper::header;

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

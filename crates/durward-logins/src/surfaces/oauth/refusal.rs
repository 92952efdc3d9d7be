//! What was wrong, as RFC 6749, 5.2 tells it.

use std::time::Duration;

use durward_common::surfaces::http::Answer;
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde_json::json;

use super::json;

const NONCE: &str = "use_dpop_nonce";

/// A refusal. The description is ASCII without `"` and `\`, and nothing in it came from the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    status: StatusCode,
    error: &'static str,
    description: String,
    closes: bool,
    /// In how many seconds to try again.
    retry_after_s: Option<u64>,
}

impl Refusal {
    fn new(status: StatusCode, error: &'static str, description: impl Into<String>) -> Refusal {
        Refusal { status, error, description: description.into(), closes: false, retry_after_s: None }
    }

    fn bad(error: &'static str, description: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, error, description)
    }

    pub(super) fn request(description: impl Into<String>) -> Refusal {
        Refusal::bad("invalid_request", description)
    }

    /// Whoever asks has not shown who he is.
    pub(super) fn client(description: &str) -> Refusal {
        Refusal::new(StatusCode::UNAUTHORIZED, "invalid_client", description)
    }

    /// The client may not do this.
    pub(super) fn unauthorized(description: &str) -> Refusal {
        Refusal::bad("unauthorized_client", description)
    }

    pub(super) fn grant_type() -> Refusal {
        let known = "authorization_code, refresh_token, client_credentials and \
                     urn:ietf:params:oauth:grant-type:token-exchange";
        Refusal::bad("unsupported_grant_type", format!("there are {known}"))
    }

    /// What is brought for a token is not good, or not good any more.
    pub(super) fn grant() -> Refusal {
        let description = "the code or refresh token is over, was used, or is not for this client, redirect_uri, verifier or key";
        Refusal::bad("invalid_grant", description)
    }

    /// The proof that the client has its key is none, or of something else (RFC 9449, 5).
    pub(super) fn proof(description: &str) -> Refusal {
        Refusal::bad("invalid_dpop_proof", description)
    }

    /// The proof must have what this server gives out in `DPoP-Nonce` (RFC 9449, 8).
    pub(super) fn nonce(description: &str) -> Refusal {
        Refusal::bad(NONCE, description)
    }

    /// Whether it is for the want of that.
    pub(super) fn is_for_nonce(&self) -> bool {
        self.error == NONCE
    }

    /// What is wrong with a request that is pushed: one of the errors of RFC 6749, 4.1.2.1.
    pub(super) fn of_authorization(error: &'static str, description: &'static str) -> Refusal {
        Refusal::bad(error, description)
    }

    pub(super) fn scope() -> Refusal {
        Refusal::bad("invalid_scope", "this client may not ask for that scope")
    }

    /// RFC 8693, 2.2.2.
    pub(super) fn target() -> Refusal {
        Refusal::bad("invalid_target", "this client may not ask for tokens for that audience")
    }

    /// To be tried again soon.
    pub(super) fn unavailable(description: &str) -> Refusal {
        let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", description);
        Refusal { retry_after_s: Some(1), ..refusal }
    }

    /// Too many wrong secrets, or too many that are not decided yet.
    pub(super) fn delayed(retry_after: Option<Duration>) -> Refusal {
        let description = "too many failed attempts of this client or from this address";
        let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", description);
        let seconds = retry_after.map_or(1, |span| span.as_millis().div_ceil(1000).max(1));
        Refusal { retry_after_s: Some(u64::try_from(seconds).unwrap_or(u64::MAX)), ..refusal }
    }

    /// The body could not be had.
    pub(super) fn of_body(status: StatusCode) -> Refusal {
        let refusal = match status {
            StatusCode::SERVICE_UNAVAILABLE => Refusal::unavailable("too much is being received; try again"),
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::request("the body is too long"),
            _ => Refusal::request("the body did not come"),
        };
        Refusal { status, closes: true, ..refusal }
    }

    pub(super) fn into_answer(self) -> Answer {
        let document = json!({ "error": self.error, "error_description": self.description });
        let mut answer = json(self.status, &document);
        let headers = answer.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            let basic = HeaderValue::from_static("Basic realm=\"oauth2\", charset=\"UTF-8\"");
            headers.insert(header::WWW_AUTHENTICATE, basic);
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.closes {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}

//! Answers as OpenAM writes them: bodies, headers, cookies, errors.

use std::fmt::Write as _;
use std::time::Duration;

use durward_common::surfaces::http::{Answer, escape};
use durward_session::identity::session::Refusal as TokenRefusal;
use durward_session::{Failed, Refused};
use durward_settings::OpenamSettings;
use http_body_util::Full;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::Value;

const API_VERSION: HeaderName = HeaderName::from_static("content-api-version");

/// When a cookie has ended that is to be forgotten.
const LONG_AGO: &str = "Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:10 GMT";

/// A refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
    detail: Option<Value>,
    retry_after: Option<Duration>,
    closes: bool,
}

#[derive(Serialize)]
struct ErrorBody<'m> {
    code: u16,
    reason: &'static str,
    message: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'m Value>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal { status, message: message.into(), detail: None, retry_after: None, closes: false }
    }

    /// The same, and what there is to know besides.
    pub(super) fn with_detail(self, detail: Value) -> Refusal {
        Refusal { detail: Some(detail), ..self }
    }

    /// A status whose name says all.
    pub(super) fn bare(status: StatusCode) -> Refusal {
        Refusal::new(status, reason(status))
    }

    /// The same where the connection is of no use afterwards.
    pub(super) fn closing(status: StatusCode) -> Refusal {
        Refusal { closes: true, ..Refusal::bare(status) }
    }

    pub(super) fn no_resource(name: &str) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, format!("Resource '{name}' not found"))
    }

    pub(super) fn denied() -> Refusal {
        Refusal::new(StatusCode::UNAUTHORIZED, "Access Denied")
    }

    pub(super) fn forbidden() -> Refusal {
        Refusal::bare(StatusCode::FORBIDDEN)
    }

    /// Not now.
    pub(super) fn unavailable(message: impl Into<String>) -> Refusal {
        let retry_after = Some(Duration::from_secs(1));
        Refusal { retry_after, ..Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message) }
    }

    /// More requests than may come in a second.
    pub(super) fn too_many() -> Refusal {
        let retry_after = Some(Duration::from_secs(1));
        let message = "There are too many requests";
        Refusal { retry_after, ..Refusal::new(StatusCode::TOO_MANY_REQUESTS, message) }
    }

    pub(super) fn into_answer(self) -> Answer {
        let message = escape(&self.message);
        let (code, detail) = (self.status.as_u16(), self.detail.as_ref());
        let answer = json(&ErrorBody { code, reason: reason(self.status), message: &message, detail });
        self.onto(answer)
    }

    /// The status, and when to try again.
    pub(super) fn onto(&self, mut answer: Answer) -> Answer {
        *answer.status_mut() = self.status;
        if let Some(span) = self.retry_after {
            let seconds = span.as_millis().div_ceil(1000).max(1);
            if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
                answer.headers_mut().insert(header::RETRY_AFTER, value);
            }
        }
        if self.closes {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        let retry_after = refused.retry_after();
        let refusal = match &refused {
            Refused::Wrong => Refusal::new(StatusCode::UNAUTHORIZED, "Authentication Failed"),
            // As OpenAM says it of an account that its data store does not let in.
            Refused::PasswordOver => Refusal::new(StatusCode::UNAUTHORIZED, refused.to_string()),
            Refused::UnknownRealm => Refusal::new(StatusCode::BAD_REQUEST, "Invalid realm"),
            Refused::UserFull => Refusal::new(
                StatusCode::UNAUTHORIZED,
                "Maximum Sessions Limit Reached or session quota has exhausted",
            ),
            Refused::Delayed { .. } | Refused::Crowded { .. } => {
                Refusal::new(StatusCode::TOO_MANY_REQUESTS, refused.to_string())
            }
            Refused::Busy { .. }
            | Refused::NodeFull
            | Refused::Directory(_)
            | Refused::Unavailable(_)
            | Refused::Unknown => Refusal::new(StatusCode::SERVICE_UNAVAILABLE, refused.to_string()),
        };
        Refusal { retry_after, ..refusal }
    }
}

impl From<Failed> for Refusal {
    fn from(failed: Failed) -> Refusal {
        match &failed {
            Failed::Token(TokenRefusal::Unavailable) => Refusal::unavailable(failed.to_string()),
            Failed::Token(_) => Refusal::denied(),
            Failed::Forbidden
            | Failed::SecondStepNeeded
            | Failed::Code
            | Failed::NoSession
            | Failed::UnknownRealm => Refusal::forbidden(),
            Failed::Properties(error) => Refusal::new(StatusCode::BAD_REQUEST, error.to_string()),
            Failed::Delayed { .. } | Failed::Directory(_) | Failed::Unavailable(_) | Failed::Unknown => {
                Refusal::unavailable(failed.to_string())
            }
        }
    }
}

/// As Tomcat names them.
fn reason(status: StatusCode) -> &'static str {
    match status {
        StatusCode::REQUEST_TIMEOUT => "Request Time-out",
        StatusCode::PAYLOAD_TOO_LARGE => "Request Entity Too Large",
        _ => status.canonical_reason().unwrap_or("Error"),
    }
}

/// A body in JSON.
pub(super) fn json(body: &impl Serialize) -> Answer {
    // What is written here has texts for names and ends.
    let text = serde_json::to_vec(body).unwrap_or_default();
    text_of_type("application/json;charset=UTF-8", text)
}

pub(super) fn text_of_type(media_type: &'static str, text: impl Into<hyper::body::Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

/// A body over several lines, as `_prettyPrint` has it.
pub(super) fn pretty(value: &Value) -> String {
    let mut text = String::new();
    print(value, 0, &mut text);
    text
}

/// Jackson's form: arrays on one line, a space before each colon.
fn print(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let indent = "  ".repeat(depth + 1);
                let _ = write!(text, "{comma}\n{indent}{} : ", Value::from(name.as_str()));
                print(value, depth + 1, text);
            }
            let _ = write!(text, "\n{}}}", "  ".repeat(depth));
        }
        Value::Object(_) => text.push_str("{ }"),
        Value::Array(values) => {
            text.push_str("[ ");
            for (index, value) in values.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                print(value, depth, text);
            }
            text.push_str(if values.is_empty() { "]" } else { " ]" });
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let _ = write!(text, "{value}");
        }
    }
}

/// Says which version of the resource has answered.
pub(super) fn of_version(mut answer: Answer, version: &'static str) -> Answer {
    answer.headers_mut().insert(API_VERSION, HeaderValue::from_static(version));
    answer
}

/// What must not be kept by anybody.
pub(super) fn never_kept(mut answer: Answer) -> Answer {
    let headers = answer.headers_mut();
    let never = HeaderValue::from_static("no-cache, no-store, must-revalidate");
    headers.insert(header::CACHE_CONTROL, never);
    headers.insert(header::EXPIRES, HeaderValue::from_static("0"));
    headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
    answer
}

pub(super) fn no_cache(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}

/// Sets the cookie that carries a token.
pub(super) fn with_token(answer: Answer, token: &str, settings: &OpenamSettings) -> Answer {
    set_cookie(answer, &settings.cookie_name, token, "", settings)
}

/// Has browsers forget a cookie.
pub(super) fn without_cookie(answer: Answer, name: &str, value: &str, settings: &OpenamSettings) -> Answer {
    set_cookie(answer, name, value, LONG_AGO, settings)
}

fn set_cookie(mut answer: Answer, name: &str, value: &str, life: &str, settings: &OpenamSettings) -> Answer {
    let mut cookie = format!("{name}={value}");
    if !life.is_empty() {
        let _ = write!(cookie, "; {life}");
    }
    if !settings.cookie_domain.is_empty() {
        let _ = write!(cookie, "; Domain={}", settings.cookie_domain);
    }
    cookie.push_str("; Path=/");
    if settings.cookie_secure {
        cookie.push_str("; Secure");
    }
    if settings.cookie_http_only {
        cookie.push_str("; HttpOnly");
    }
    if let Some(word) = settings.cookie_same_site.word() {
        let _ = write!(cookie, "; SameSite={word}");
    }
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_bodies_have_the_form_of_jackson() {
        let value = serde_json::json!({"a": [{"b": 1}, "c"], "d": {}, "e": [], "f": null});
        let text = "{\n  \"a\" : [ {\n    \"b\" : 1\n  }, \"c\" ],\n  \"d\" : { },\n  \"e\" : [ ],\n  \"f\" : null\n}";
        assert_eq!(pretty(&value), text);
    }
}

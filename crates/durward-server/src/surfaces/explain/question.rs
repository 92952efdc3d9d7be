//! What is to be explained: a subscription of SAPL, or a request of XACML in either form.

use durward_common::surfaces::http::negotiate::MediaType;
use durward_common::surfaces::http::problem::Problem;
use durward_pdp::Request;
use durward_pdp::sapl::Subscription;
use durward_pdp::xacml::request::{Limits, RequestError, RequestErrorKind};
use hyper::StatusCode;

pub(super) enum Question {
    Sapl(Box<Subscription>),
    Xacml(Box<Request>),
}

impl Question {
    /// Reads a body that says what it is: JSON with `Request` is XACML's, other JSON is SAPL's, XML is XACML's.
    ///
    /// # Errors
    /// It is neither, or beyond the limits.
    pub(super) fn read(
        content_type: Option<&str>,
        bytes: &[u8],
        limits: &Limits,
    ) -> Result<Question, Problem> {
        let media_type = content_type.and_then(MediaType::parse);
        let is = |main: &str, sub: &str| media_type.is_some_and(|media_type| media_type.is(main, sub));
        if is("application", "xacml+xml") || is("application", "xml") || is("text", "xml") {
            return Request::from_xml_within(bytes, limits).map(Question::of).map_err(|error| unread(&error));
        }
        if !is("application", "json") && !is("application", "xacml+json") {
            let detail = "say in `Content-Type` what the body is: `application/json` (SAPL or XACML), `application/xacml+json`, \
                          `application/xml` or `application/xacml+xml`";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        if is("application", "xacml+json") || has_request(bytes) {
            return Request::from_json_within(bytes, limits)
                .map(Question::of)
                .map_err(|error| unread(&error));
        }
        let read = Subscription::from_json(bytes);
        read.map(|read| Question::Sapl(Box::new(read)))
            .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))
    }

    fn of(request: Request) -> Question {
        Question::Xacml(Box::new(request))
    }
}

fn unread(error: &RequestError) -> Problem {
    match error.kind {
        RequestErrorKind::Limit => Problem::request(StatusCode::PAYLOAD_TOO_LARGE, error),
        RequestErrorKind::Value | RequestErrorKind::IllFormed | RequestErrorKind::Structure => {
            Problem::request(StatusCode::BAD_REQUEST, error)
        }
    }
}

/// Whether it is an object as XACML's JSON profile has it.
fn has_request(bytes: &[u8]) -> bool {
    let Ok(value) = durward_pdp::ir::json::read(bytes) else { return false };
    value.as_object().is_some_and(|object| object.iter().any(|(key, _)| key.as_str() == "Request"))
}

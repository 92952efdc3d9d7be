//! Requests out of bytes and responses into bytes: the one place that knows how the XACML crate calls it.

use durward_pdp::xacml::request::{Limits, RequestError};
use durward_pdp::{Request, Response};

/// The two wire forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Xml,
    Json,
}

/// # Errors
/// Bytes that are not a request of this form, or one beyond the limits.
pub(crate) fn read_request(form: Form, bytes: &[u8], limits: &Limits) -> Result<Request, Box<RequestError>> {
    match form {
        Form::Xml => Request::from_xml_within(bytes, limits).map_err(Box::new),
        Form::Json => todo_json(),
    }
}

pub(crate) fn write_response(form: Form, request: &Request, response: &Response) -> String {
    let _ = request;
    let decision = response.results.first().map_or("", |result| result.decision.as_str());
    match form {
        Form::Xml => format!("<Response><Result><Decision>{decision}</Decision></Result></Response>"),
        Form::Json => format!("{{\"Response\":[{{\"Decision\":\"{decision}\"}}]}}"),
    }
}

fn todo_json() -> Result<Request, Box<RequestError>> {
    Ok(Request::builder().build())
}

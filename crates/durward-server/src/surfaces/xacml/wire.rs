//! Requests out of bytes and responses into bytes, in either form.

use durward_common::surfaces::http::Form;
use durward_pdp::xacml::request::{Limits, RequestError, Version};
use durward_pdp::{Request, Response};

/// # Errors
/// Bytes that are not a request of this form, or one beyond the limits.
pub(crate) fn read_request(form: Form, bytes: &[u8], limits: &Limits) -> Result<Request, RequestError> {
    match form {
        Form::Xml => Request::from_xml_within(bytes, limits),
        Form::Json => Request::from_json_within(bytes, limits),
    }
}

/// XML is written in this version; JSON has but one.
pub(crate) fn write_response(form: Form, version: Version, response: &Response) -> String {
    match form {
        Form::Xml => response.to_xml(version),
        Form::Json => response.to_json(),
    }
}

//! Requests and responses as text, in either form.

use durward_pdp::xacml::encoding::Utf16;
use durward_pdp::xacml::request::{RequestError, Version};
use durward_pdp::{Request, Response};

use crate::failure::Failure;

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// XML.
    Xml,
    /// JSON.
    Json,
}

/// The form asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// The form of the request.
    Auto,
    /// XML.
    Xml,
    /// JSON (JSON Profile of XACML 3.0).
    Json,
}

impl Format {
    /// The form to answer in, to a request of this form.
    pub(crate) fn answer(self, asked: Form) -> Form {
        match self {
            Format::Auto => asked,
            Format::Xml => Form::Xml,
            Format::Json => Form::Json,
        }
    }
}

impl Form {
    /// The form of a text by its first character.
    pub(crate) fn of(text: &[u8]) -> Option<Form> {
        if Utf16::of_document(text).is_some() {
            return Some(Form::Xml);
        }
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        match text.iter().find(|byte| !byte.is_ascii_whitespace())? {
            b'<' => Some(Form::Xml),
            b'{' => Some(Form::Json),
            _ => None,
        }
    }

    /// Reads a request of this form.
    pub(crate) fn read(self, text: &[u8]) -> Result<Request, RequestError> {
        match self {
            Form::Xml => Request::from_xml(text),
            Form::Json => Request::from_json(text),
        }
    }

    /// Writes a response in this form; XML in the version of the request.
    pub(crate) fn write(self, response: &Response, version: Version) -> String {
        match self {
            Form::Xml => response.to_xml(version),
            Form::Json => response.to_json(),
        }
    }
}

/// Reads a request of either form.
pub(crate) fn read_request(text: &[u8]) -> Result<(Form, Request), Failure> {
    let form = Form::of(text).ok_or_else(|| {
        Failure::new("neither XML nor JSON").hint("a request begins with `<Request` or `{\"Request\": ...}`")
    })?;
    let request = form.read(text).map_err(|error| Failure::new(error.to_string()))?;
    Ok((form, request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_text_is_told_by_how_it_begins() {
        for (text, form) in [
            (&b" <Request/>"[..], Some(Form::Xml)),
            (b"\xEF\xBB\xBF{", Some(Form::Json)),
            (b"\xFF\xFE<\0R\0", Some(Form::Xml)),
            (b"\0<\0R", Some(Form::Xml)),
            (b"Request", None),
            (b"", None),
        ] {
            assert_eq!(Form::of(text), form, "{text:?}");
        }
    }
}

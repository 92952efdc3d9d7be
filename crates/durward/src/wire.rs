//! Requests and responses as text, in either form.

use durward_pdp::xacml::encoding::Utf16;
use durward_pdp::xacml::request::{RequestError, Version};
use durward_pdp::{Request, Response};

use crate::failure::CommandError;

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageForm {
    /// XML.
    Xml,
    /// JSON.
    Json,
}

/// The form asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FormArgument {
    /// The form of the request.
    Auto,
    /// XML.
    Xml,
    /// JSON (JSON Profile of XACML 3.0).
    Json,
}

impl FormArgument {
    /// The form to answer in, to a request of this form.
    pub(crate) fn answer(self, asked: MessageForm) -> MessageForm {
        match self {
            FormArgument::Auto => asked,
            FormArgument::Xml => MessageForm::Xml,
            FormArgument::Json => MessageForm::Json,
        }
    }
}

impl MessageForm {
    /// The form of a text by its first character.
    pub(crate) fn of(text: &[u8]) -> Option<MessageForm> {
        if Utf16::of_document(text).is_some() {
            return Some(MessageForm::Xml);
        }
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        match text.iter().find(|byte| !byte.is_ascii_whitespace())? {
            b'<' => Some(MessageForm::Xml),
            b'{' => Some(MessageForm::Json),
            _ => None,
        }
    }

    /// Reads a request of this form.
    pub(crate) fn read(self, text: &[u8]) -> Result<Request, RequestError> {
        match self {
            MessageForm::Xml => Request::from_xml(text),
            MessageForm::Json => Request::from_json(text),
        }
    }

    /// Writes a response in this form; XML in the version of the request.
    pub(crate) fn write(self, response: &Response, version: Version) -> String {
        match self {
            MessageForm::Xml => response.to_xml(version),
            MessageForm::Json => response.to_json(),
        }
    }
}

/// Reads a request of either form.
pub(crate) fn read_request(text: &[u8]) -> Result<(MessageForm, Request), CommandError> {
    let form = MessageForm::of(text).ok_or_else(|| {
        CommandError::new("neither XML nor JSON")
            .hint("a request begins with `<Request` or `{\"Request\": ...}`")
    })?;
    let request = form.read(text).map_err(|error| CommandError::new(error.to_string()))?;
    Ok((form, request))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_text_is_told_by_how_it_begins() {
        for (text, form) in [
            (&b" <Request/>"[..], Some(MessageForm::Xml)),
            (b"\xEF\xBB\xBF{", Some(MessageForm::Json)),
            (b"\xFF\xFE<\0R\0", Some(MessageForm::Xml)),
            (b"\0<\0R", Some(MessageForm::Xml)),
            (b"Request", None),
            (b"", None),
        ] {
            assert_eq!(MessageForm::of(text), form, "{text:?}");
        }
    }
}

//! How large a request may be. Every reader stops at these, before memory or time is spent on the rest.

use std::borrow::Cow;

use super::error::{RequestError, RequestErrorKind};
use crate::encoding::Utf16;

/// The limits a reader keeps. [`Limits::default`] is far above any request met in practice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole text.
    pub bytes_max: usize,
    /// How deep elements or objects may nest, content included.
    pub depth_max: usize,
    /// Categories, repeated ones counted each time.
    pub categories_max: usize,
    /// Attributes in all categories.
    pub attributes_max: usize,
    /// Values of all attributes; also the references of `MultiRequests`.
    pub values_max: usize,
}

/// A request of 4 MiB holds some 20,000 attributes; what is longer is a mistake or an attack.
pub const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The schema nests six deep; the rest is for `<Content>`.
pub const REQUEST_DEPTH_MAX: usize = 128;
/// The standard knows eight categories; repeated ones multiply into individual requests.
pub const CATEGORY_COUNT_MAX: usize = 1_000;
/// Keeps the memory of one request below about 10 MiB.
pub const ATTRIBUTE_COUNT_MAX: usize = 20_000;
/// Keeps the memory of one request below about 10 MiB.
pub const VALUE_COUNT_MAX: usize = 100_000;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            bytes_max: REQUEST_BYTES_MAX,
            depth_max: REQUEST_DEPTH_MAX,
            categories_max: CATEGORY_COUNT_MAX,
            attributes_max: ATTRIBUTE_COUNT_MAX,
            values_max: VALUE_COUNT_MAX,
        }
    }
}

impl Limits {
    /// The text of an XML document, if it is short enough and UTF-8 or UTF-16.
    pub(crate) fn xml_text<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, str>, Box<RequestError>> {
        let Some(encoding) = Utf16::of_document(bytes) else { return self.text(bytes).map(Cow::Borrowed) };
        self.check_length(bytes.len())?;
        let text = encoding.decode(bytes).map_err(|error| Box::new(RequestError::from(error)))?;
        self.check_length(text.len())?;
        Ok(Cow::Owned(text))
    }

    fn check_length(&self, length: usize) -> Result<(), Box<RequestError>> {
        if length <= self.bytes_max {
            return Ok(());
        }
        let message = format!("the text has {length} bytes, and {} are allowed", self.bytes_max);
        Err(RequestError::whole(RequestErrorKind::Limit, message))
    }

    /// The bytes as text, if they are short enough and UTF-8.
    pub(crate) fn text<'a>(&self, bytes: &'a [u8]) -> Result<&'a str, Box<RequestError>> {
        self.check_length(bytes.len())?;
        std::str::from_utf8(bytes).map_err(|error| {
            let message = format!("the text is not UTF-8 at byte {}", error.valid_up_to());
            RequestError::whole(RequestErrorKind::IllFormed, message)
        })
    }
}

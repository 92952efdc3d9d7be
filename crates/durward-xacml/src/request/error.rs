//! Why a request (or a response) could not be read, in the words of whoever wrote it.

use std::fmt;

use crate::encoding::Utf16Error;
use crate::response::Status;

/// A request or response that cannot be read. Answering it with a syntax-error status is the caller's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// What sort of mistake it is.
    pub kind: RequestErrorKind,
    /// What is wrong, lower case and without the place.
    pub message: String,
    /// Where it is wrong.
    pub place: ErrorLocation,
}

/// The same, for a response that cannot be read.
pub type ResponseError = RequestError;

/// What sort of mistake a [`RequestError`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestErrorKind {
    /// The bytes are not XML or not JSON at all.
    IllFormed,
    /// Well-formed, but not what the standard's schema asks for.
    Structure,
    /// A value does not have the form of its data type.
    Value,
    /// More, longer or deeper than the [`Limits`](super::Limits) allow.
    Limit,
}

/// Where in a text something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorLocation {
    /// In a text of lines; both count from 1, columns count characters.
    Line {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// In JSON, as a path such as `Request.Category[2].Attribute[0].Value`.
    Path(String),
    /// About the text as a whole.
    Whole,
}

impl RequestError {
    /// The status that tells the caller: a syntax error, with message and place (XACML 3.0, section B.8).
    pub fn status(&self) -> Status {
        Status::syntax_error(self.to_string())
    }

    /// An error about the text as a whole.
    pub(crate) fn whole(kind: RequestErrorKind, message: impl Into<String>) -> Box<RequestError> {
        Box::new(RequestError { kind, message: message.into(), place: ErrorLocation::Whole })
    }
}

impl From<Utf16Error> for RequestError {
    fn from(error: Utf16Error) -> RequestError {
        let place = ErrorLocation::Line { line: error.line as usize, column: error.column as usize };
        RequestError { kind: RequestErrorKind::IllFormed, message: error.message, place }
    }
}

impl ErrorLocation {
    /// The line and column of a byte of `text`; the end of the text where `offset` lies beyond it.
    pub(crate) fn at(text: &str, offset: usize) -> ErrorLocation {
        let before = text.get(..text.floor_char_boundary(offset)).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        ErrorLocation::Line { line, column }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            ErrorLocation::Line { line, column } => {
                write!(f, "{} (line {line}, column {column})", self.message)
            }
            ErrorLocation::Path(path) => write!(f, "{} (at `{path}`)", self.message),
            ErrorLocation::Whole => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for RequestError {}

//! The error of this crate: a status code of the standard for the peer, and a sentence for log and audit.

use std::borrow::Cow;
use std::fmt;

use opcua_types::StatusCode;

/// What went wrong, as a status code and in words. The words stay here: a peer that is not trusted yet gets the code only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: StatusCode,
    reason: Cow<'static, str>,
    advice: Option<&'static str>,
}

impl Error {
    /// An error with this status code, for this reason.
    pub fn new(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Error {
        Error { status, reason: reason.into(), advice: None }
    }

    /// What is to be done, where the status code alone does not say it.
    #[must_use]
    pub fn with_advice(mut self, advice: &'static str) -> Error {
        self.advice = Some(advice);
        self
    }

    /// The same error, of somebody: `who: reason`.
    #[must_use]
    pub fn of(mut self, who: &str) -> Error {
        self.reason = format!("{who}: {}", self.reason).into();
        self
    }

    /// Bytes that cannot be read as what they should be.
    pub fn decoding(reason: impl Into<Cow<'static, str>>) -> Error {
        Error::new(StatusCode::BadDecodingError, reason)
    }

    /// A security check failed. One code for all of them, so that a peer does not learn which.
    pub fn security(reason: impl Into<Cow<'static, str>>) -> Error {
        Error::new(StatusCode::BadSecurityChecksFailed, reason)
    }

    /// The status code that goes to the peer.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The reason, in words.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What is to be done, where it was said.
    pub fn advice(&self) -> Option<&'static str> {
        self.advice
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason, self.status)
    }
}

impl std::error::Error for Error {}

/// The codec's errors keep their code; its own conversion would log each of them.
impl From<opcua_types::Error> for Error {
    fn from(error: opcua_types::Error) -> Error {
        Error::new(error.status(), error.to_string())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        Error::new(StatusCode::BadCommunicationError, format!("the connection broke: {error}"))
    }
}

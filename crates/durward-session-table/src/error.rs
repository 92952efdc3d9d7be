//! What can be wrong with a key, a file or a setting.

use std::fmt;

/// Why something cannot be used: in the operator's words, without any secret. Why a token or a login is refused is said
/// by types of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityError {
    message: String,
}

impl IdentityError {
    /// An error with this message: lower case, no full stop.
    pub fn new(message: impl Into<String>) -> IdentityError {
        IdentityError { message: message.into() }
    }

    /// Says what it is about.
    #[must_use]
    pub fn of(self, what: impl fmt::Display) -> IdentityError {
        IdentityError { message: format!("{what}: {}", self.message) }
    }
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for IdentityError {}

/// A failure in one line.
///
/// # Errors
/// Always: with this message, lower case, no full stop.
pub fn failed<T>(message: impl Into<String>) -> Result<T, IdentityError> {
    Err(IdentityError::new(message))
}

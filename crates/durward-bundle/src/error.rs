//! What can be wrong with a bundle, a key or a sealed secret.

use std::fmt;

/// Why something is no bundle, not to be trusted, or not to be opened: in the user's words, without any secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleError {
    message: String,
}

impl BundleError {
    pub(crate) fn new(message: impl Into<String>) -> BundleError {
        BundleError { message: message.into() }
    }

    /// What a caller finds wrong that goes beyond the bundle itself.
    pub fn because(message: &str) -> BundleError {
        BundleError::new(message)
    }

    /// Says what it is about.
    #[must_use]
    pub fn of(self, what: impl fmt::Display) -> BundleError {
        BundleError { message: format!("{what}: {}", self.message) }
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BundleError {}

/// A failure in one line.
pub(crate) fn failed<T>(message: impl Into<String>) -> Result<T, BundleError> {
    Err(BundleError::new(message))
}

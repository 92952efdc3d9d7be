//! Why a scenario cannot be played: the mistake of whoever wrote the test, or the documents that it names.

use std::fmt;

use durward_pdp::sapl::syntax::Span;

/// Why a scenario cannot be played, in the words of whoever wrote the test. Where it stands there, the report says.
///
/// ```
/// use durward_scenario::PlayError;
///
/// assert_eq!(PlayError::new("there is no folder `x`").to_string(), "there is no folder `x`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayError(String);

impl PlayError {
    /// An error with this message: lower case, no full stop.
    pub fn new(message: impl Into<String>) -> PlayError {
        PlayError(message.into())
    }
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlayError {}

/// What is wrong with a test, and where.
#[derive(Clone, Debug)]
pub(crate) struct TestError {
    pub(crate) span: Span,
    pub(crate) message: String,
}

impl TestError {
    pub(crate) fn at<M: fmt::Display>(span: Span) -> impl Fn(M) -> TestError {
        move |message: M| TestError { span, message: message.to_string() }
    }
}

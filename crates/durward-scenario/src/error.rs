//! What is wrong with a test.

use durward_pdp::sapl::syntax::Span;

/// What is wrong with a test, and where.
#[derive(Clone, Debug)]
pub(crate) struct TestError {
    pub(crate) span: Span,
    pub(crate) message: String,
}

impl TestError {
    pub(crate) fn at(span: Span) -> impl Fn(String) -> TestError {
        move |message| TestError { span, message }
    }
}

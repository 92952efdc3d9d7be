//! What is wrong with an expression.

/// What is wrong, in a few words.
pub(super) type Reason = &'static str;

/// What is wrong, behind how many characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrong {
    pub(super) position: usize,
    pub(super) reason: Reason,
}

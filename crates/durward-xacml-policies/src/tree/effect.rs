//! What rules say, and what obligations and advice go with.

/// What a rule says when it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// `Permit`.
    Permit,
    /// `Deny`.
    Deny,
}

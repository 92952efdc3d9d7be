//! What a token says of itself, apart from what it grants: all that time, cutoffs and state machines look at.

use std::fmt::Debug;
use std::hash::Hash;

use durward_identity::Moment;

/// What subjects, sessions, clients and policies are named by: texts in a gate, small numbers where the protocol is model-checked.
pub trait FactName: Clone + Debug + Ord + Hash {}

impl<N: Clone + Debug + Ord + Hash> FactName for N {}

/// The claims of a token that cutoffs and expiry depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenFacts<N> {
    /// Whom the rights are of.
    pub subject: N,
    /// The durward session behind it.
    pub session: Option<N>,
    /// The certificate that it is bound to; in a gate, and for cutoffs, the text of its [`Thumbprint`](super::Thumbprint).
    pub client: N,
    /// The version of the policy that decided.
    pub policy: N,
    /// When it was issued, by the authorization service's state machine: what cutoffs are compared with.
    pub issued: Moment,
    /// When it ends: the first moment at which it counts no more.
    pub expires: Moment,
}

/// Something that has the facts of a token.
pub trait HasTokenFacts: Clone + Debug {
    /// What it names things by.
    type Name: FactName;

    /// The facts.
    fn facts(&self) -> &TokenFacts<Self::Name>;
}

impl<N: FactName> HasTokenFacts for TokenFacts<N> {
    type Name = N;

    fn facts(&self) -> &TokenFacts<N> {
        self
    }
}

//! Tokens that are bound to a key of whoever they are given to (DPoP, RFC 9449).

use serde::{Deserialize, Serialize};

/// Whether a client's tokens are bound to a key of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientDpop {
    /// Always: a request without a proof is refused.
    Required,
    /// Where the client shows a proof.
    #[default]
    Allowed,
    /// Never: a request with a proof is refused.
    Off,
}

/// Whether a token that is bound to a key names the subject of a decision. Whoever asks for the decision cannot show a proof: it was made
/// for a request to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundSubjects {
    /// It is refused.
    #[default]
    Refused,
    /// It does where the caller may assert who a question is about (`identity.subjects_asserted_by`): they have verified the proof.
    Vouched,
}

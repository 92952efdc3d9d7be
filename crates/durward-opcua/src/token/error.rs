//! What can be wrong with a node table, and why a token is refused.

use std::fmt;

use durward_identity::jwt::JwtRefusal;
use opcua_types::StatusCode;

use super::grants::GrantsError;

/// Why nodes or bytes are no node table: in the operator's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTableError {
    message: String,
}

impl NodeTableError {
    pub(super) fn new(message: impl Into<String>) -> NodeTableError {
        NodeTableError { message: message.into() }
    }
}

impl fmt::Display for NodeTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for NodeTableError {}

/// Why a token is refused when a session is to be activated with it. The client hears the status; log and audit have the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenRefusal {
    /// It is longer than the gate reads.
    TooLong,
    /// It is no text.
    NoText,
    /// It is not believed: signature, issuer, audience or time.
    Jwt(JwtRefusal),
    /// It lives longer than a token may: cutoffs are not kept for that long.
    LivesTooLong,
    /// It names no certificate that it is bound to.
    Unbound,
    /// It is bound to the certificate of another client.
    OtherClient,
    /// It has no permissions for the nodes of this resource.
    NoGrants,
    /// A claim has another shape than it must have.
    Claim(&'static str),
    /// Its permissions cannot be used.
    Grants(GrantsError),
}

impl TokenRefusal {
    /// What the client is told (Part 4, 5.7.3): `BadIdentityTokenInvalid` for what is no token, `BadIdentityTokenRejected` for one that
    /// is not accepted.
    pub fn status(self) -> StatusCode {
        match self {
            TokenRefusal::TooLong
            | TokenRefusal::NoText
            | TokenRefusal::Jwt(JwtRefusal::Malformed)
            | TokenRefusal::Claim(_)
            | TokenRefusal::Grants(GrantsError::Malformed) => StatusCode::BadIdentityTokenInvalid,
            TokenRefusal::Jwt(
                JwtRefusal::UnknownKey
                | JwtRefusal::Algorithm
                | JwtRefusal::Signature
                | JwtRefusal::Expired
                | JwtRefusal::Future
                | JwtRefusal::Issuer
                | JwtRefusal::Audience,
            )
            | TokenRefusal::LivesTooLong
            | TokenRefusal::Unbound
            | TokenRefusal::OtherClient
            | TokenRefusal::NoGrants
            | TokenRefusal::Grants(GrantsError::OtherTable) => StatusCode::BadIdentityTokenRejected,
        }
    }
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenRefusal::TooLong => f.write_str(
                "the token is longer than `token_length_max`: grant fewer permissions, or raise it",
            ),
            TokenRefusal::NoText => f.write_str("the token is no text"),
            TokenRefusal::Jwt(refusal) => refusal.fmt(f),
            TokenRefusal::LivesTooLong => f.write_str(
                "the token lives longer than `token_lifetime_max`: the issuer must give shorter ones",
            ),
            TokenRefusal::Unbound => f.write_str(
                "the token is bound to no certificate (`cnf`, `x5t#S256`): another issuer made it",
            ),
            TokenRefusal::OtherClient => {
                f.write_str("the token is bound to the certificate of another client: it may be stolen")
            }
            TokenRefusal::NoGrants => f.write_str("the token has no permissions for nodes of this resource"),
            TokenRefusal::Claim(name) => write!(f, "the claim `{name}` of the token has a wrong shape"),
            TokenRefusal::Grants(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TokenRefusal {}

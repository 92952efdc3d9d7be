//! Whose tokens are believed: verifying them is the caller's.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value};

/// Verifiers of tokens, by the names of `[sources.jwt]`.
pub type Issuers = BTreeMap<String, Arc<dyn TokenIssuer>>;

/// What a token says, once it is verified.
pub type Claims<'a> = Pin<Box<dyn Future<Output = Result<Map<String, Value>, NotBelieved>> + Send + 'a>>;

/// Verifies the tokens of one issuer.
pub trait TokenIssuer: Send + Sync {
    /// All that a token says, if it may be believed at this time.
    ///
    /// # Errors
    /// A token that may not, or keys that cannot be had.
    fn claims<'a>(&'a self, token: &'a str, now: SystemTime) -> Claims<'a>;
}

/// Why a token says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotBelieved {
    /// It is not accepted.
    Refused,
    /// The issuer's keys cannot be had: nothing is known about it.
    NoKeys,
}

impl fmt::Display for NotBelieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotBelieved::Refused => "the token is not accepted",
            NotBelieved::NoKeys => "the keys of the token's issuer cannot be had",
        })
    }
}

impl std::error::Error for NotBelieved {}

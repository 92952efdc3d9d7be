//! Tokens that are bound to a key of whoever got them (DPoP, RFC 9449): given, shown with a proof, and shown by others.

mod browsers;
#[cfg(feature = "tls")]
mod callers;
pub(crate) mod key;
mod tokens;

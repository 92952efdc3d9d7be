//! Random bytes and nonces.

use opcua_types::StatusCode;

use crate::error::Error;

/// Bytes of nonces of sessions and channels; the least that Part 4, 5.6.2 allows for sessions.
pub const NONCE_BYTES: usize = 32;

/// A nonce of our own.
pub type Nonce = [u8; NONCE_BYTES];

/// So many bytes that nobody can guess.
///
/// # Errors
/// The system gives no randomness.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_| Error::new(StatusCode::BadInternalError, "the system gives no randomness"))?;
    Ok(bytes)
}

/// A nonce that was not there before.
///
/// # Errors
/// The system gives no randomness.
pub fn nonce() -> Result<Nonce, Error> {
    random_bytes()
}

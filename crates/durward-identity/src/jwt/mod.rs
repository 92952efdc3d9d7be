//! Signed tokens for other services (JWT, RFC 7519; as access tokens, RFC 9068), and the keys for them.
//!
//! Keys overlap: [`SigningKeys`] publishes a key some time before it signs with it, and until the last token under it has ended. A
//! token is verified with the key that its header names, by that key's algorithm and no other: what the header says of an algorithm
//! must be what the key is for, so that `none` and a public key taken for a shared secret lead nowhere.
//!
//! Signatures are made by `ring`; they are verified, and keys are read, by `durward-jwt`, as everywhere. What is here is what these tokens
//! demand beyond: a key with a name, `at+jwt`, an issuer, an audience, times.

mod key;
mod keys;
mod token;
mod verifying;

pub use key::{Algorithm, SigningKey};
pub use keys::{SIGNING_KEYS_MAX, SigningKeys};
pub use token::{Claims, Expected, JWT_LENGTH_MAX, JwtRefusal, Request, TokenKind};
pub use verifying::VerifyingKeys;

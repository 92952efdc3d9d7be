//! Signed tokens for other services (JWT, RFC 7519; as access tokens, RFC 9068), and the keys for them.
//!
//! Keys overlap: [`SigningKeys`] publishes a key some time before it signs with it, and until the last token under it has ended. A
//! token is verified with the key that its header names, by that key's algorithm and no other: what the header says of an algorithm
//! must be what the key is for, so that `none` and a public key taken for a shared secret lead nowhere.
//!
//! Signatures are made by `ring`; they are verified, and keys are read, by `durward-jwt`, as everywhere. What is here is what these tokens
//! demand beyond: a key with a name, `at+jwt`, an issuer, an audience, times.
//!
//! A token may be bound to a key of whoever it was given to ([`Binding`]): they show with each request that they have it ([`Proof`]).

mod binding;
mod key;
mod keys;
mod proof;
mod proof_address;
mod token;
mod verifying;

pub use binding::{Binding, says_bound};
pub use key::{Algorithm, SigningKey};
pub use keys::{SIGNING_KEYS_MAX, SigningKeys};
pub use proof::{
    PROOF_AGE_MAX, PROOF_ALGORITHMS, PROOF_LENGTH_MAX, Proof, ProofExpected, ProofRefusal, is_thumbprint,
};
pub use token::{Claims, Expected, JWT_LENGTH_MAX, JwtRefusal, Request, TokenKind};
pub use verifying::VerifyingKeys;

//! Signed tokens as bytes: the one verifier of JSON Web Signatures (RFC 7515, compact), the one reader of JSON Web Keys (RFC 7517),
//! and the one reader and writer of public keys in DER (RFC 5280, `SubjectPublicKeyInfo`).
//!
//! Bytes go in, a verdict comes out. There is no clock, no socket and no policy here: who issued a token, whom it is for and whether it
//! has ended is for callers to say, each by its own standard. What they share is what must not differ:
//!
//! ```text
//!  text --Jws::read--> Jws --verify(PublicKey, algorithms)--> Verified --claims--> members
//!  key set --JwkSet::read--> Jwk --verifying--> VerifyingJwk
//!  DER --PublicKey::from_der--> PublicKey --to_der--> DER
//! ```
//!
//! - The algorithms are a type with asymmetric ones only. `none` and shared secrets have no value in it, and a key has one kind, so
//!   a public key cannot be taken for the secret of an HMAC.
//! - A header with `crit`, or whose payload is not Base64 (`"b64": false`), is refused: no extension is understood.
//! - Members of one name occur once, in headers, claims and keys.
//! - Only [`Jws::verify`] makes a [`Verified`], and only that gives claims.
//! - Every input has a limit.
//!
//! Signatures are checked by `ring` (RSA, Ed25519, P-256, P-384) and `p521`; DER is read and written by `spki`.

mod algorithm;
mod base64url;
mod der;
mod json;
mod jwk;
mod jws;
mod key;

pub use algorithm::JwsAlgorithm;
pub use base64url::Base64Url;
pub use der::read_pair;
pub use jwk::{JWK_SET_LENGTH_MAX, Jwk, JwkSet, JwkSetError, KEY_ID_LENGTH_MAX, VerifyingJwk};
pub use jws::{JWS_HEADER_LENGTH_MAX, JWS_LENGTH_MAX, Jws, JwsRefusal, Verified};
pub use key::{Curve, EcKey, KeyError, PublicKey, RSA_BITS_MAX, RSA_STRONG_BITS_MIN, RsaKey};
pub use spki;

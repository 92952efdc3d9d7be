//! Digests as the protocols write them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256, Sha512};

use durward_session::identity::jwt::Algorithm;

/// SHA-256, as Base64 for URLs.
pub fn digest(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(bytes))
}

/// The left half of the digest that the signature's algorithm is made with (OpenID Connect Core, 3.1.3.6): for Ed25519 that is SHA-512.
pub(super) fn half_digest(algorithm: Algorithm, text: &str) -> String {
    let whole = match algorithm {
        Algorithm::EdDsa => Sha512::digest(text).to_vec(),
        Algorithm::Es256 | Algorithm::Rs256 => Sha256::digest(text).to_vec(),
    };
    let (half, _) = whole.split_at(whole.len() / 2);
    URL_SAFE_NO_PAD.encode(half)
}

//! Security policies (Part 7, 6.6): signatures, encryption, derived keys, encrypted secrets, certificates as far as channels and
//! sessions need them.
//!
//! Primitives are those of `aws-lc-rs`, and AES-CBC without PKCS#7 padding, which it does not offer, that of `aes` and `cbc`. Nothing
//! here decrypts RSA PKCS#1 v1.5.

mod asymmetric;
mod certificate;
mod key;
mod policy;
mod random;
mod secret;
mod symmetric;

pub use asymmetric::{decrypt, encrypt, encrypted_length, plain_block_bytes, sign, verify};
pub use certificate::{Certificate, split_chain};
pub use key::{KeyLength, OwnCertificate, PrivateKey, PublicKey};
pub use policy::SecurityPolicy;
pub use random::{NONCE_BYTES, Nonce, nonce, random_bytes};
pub use secret::{SECRET_BYTES_MAX, SealedSecret, SecretFormat, TokenSecurity, decode_secret, encode_secret};
pub use symmetric::{BLOCK_BYTES, ChannelKeys, OpeningKeys, SIGNATURE_BYTES, SealingKeys, derive_keys};

/// Whether both are the same, in a time that depends on their length only.
pub fn same(left: &[u8], right: &[u8]) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(left, right).is_ok()
}

//! Keys, certificates and signatures, as the libraries `keys`, `signature`, `x509` and the module `jwt` share them.
//!
//! The mathematics is that of `ring` (RSA, Ed25519), which TLS brings along anyway, and of `p256`, `p384` and `p521`,
//! because Java verifies with any of the three curves and any of the three digests; DER is read by `x509-cert`. Nothing
//! here signs or holds a private key.

mod certificate;
mod key;
mod name;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use certificate::{AlternativeName, Certificate};
pub(crate) use key::{Curve, PublicKey};
pub(crate) use verify::{Digest, RsaPadding, ecdsa_der, ecdsa_fixed, ed25519, rsa};

use crate::encoding::read_base64;

/// Why something is not what it should be, to be put behind a colon.
pub(crate) type Reason = String;

const KEY_BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const KEY_END: &str = "-----END PUBLIC KEY-----";
const CERTIFICATE_BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const CERTIFICATE_END: &str = "-----END CERTIFICATE-----";

/// The octets of a public key in PEM, or of the Base64 in it alone: SAPL takes both.
pub(crate) fn key_octets(text: &str) -> Result<Vec<u8>, Reason> {
    read_base64(&bare(text, KEY_BEGIN, KEY_END))
        .ok_or_else(|| "Invalid Base64 encoding in public key".to_owned())
}

/// The octets of a certificate in PEM or in Base64 alone, which then may have no white space in it.
pub(crate) fn certificate_octets(text: &str) -> Result<Vec<u8>, Reason> {
    let octets = if text.contains("BEGIN CERTIFICATE") {
        read_base64(&bare(text, CERTIFICATE_BEGIN, CERTIFICATE_END))
    } else {
        read_base64(text)
    };
    octets.ok_or_else(|| "Invalid Base64 encoding in certificate".to_owned())
}

/// A public key in PEM: all Base64 on one line, as SAPL writes it.
pub(crate) fn key_pem(octets: &[u8]) -> String {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(octets);
    format!("{KEY_BEGIN}\n{encoded}\n{KEY_END}")
}

/// Without the lines around, and without the white space that `\s` of Java's expressions means.
fn bare(text: &str, begin: &str, end: &str) -> String {
    let text = text.replace(begin, "").replace(end, "");
    text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')).collect()
}

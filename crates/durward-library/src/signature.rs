//! The library `signature`: whether a text was signed with the private key of a public one.
//!
//! A function whose name tells a curve refuses keys on another one, as in the Java engine.

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;

use crate::crypto::{
    JavaCurve, JavaPublicKey, Reason, RsaPadding, SignatureDigest, ecdsa_der, ed25519, key_octets,
    read_base64, rsa,
};
use crate::encoding::read_hex;
use crate::jvm::strip;
use crate::table::{row, unchecked};

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("signature.isValidRsaSha256", &[Text, Text, Text], |a| verify(a, Algorithm::Rsa(SignatureDigest::Sha256)),
        "Whether the message (first) has this signature (second) by an RSA key (third), with SHA-256 and PKCS #1 \
         v1.5."),
    row("signature.isValidRsaSha384", &[Text, Text, Text], |a| verify(a, Algorithm::Rsa(SignatureDigest::Sha384)),
        "Whether the message (first) has this signature (second) by an RSA key (third), with SHA-384 and PKCS #1 \
         v1.5."),
    row("signature.isValidRsaSha512", &[Text, Text, Text], |a| verify(a, Algorithm::Rsa(SignatureDigest::Sha512)),
        "Whether the message (first) has this signature (second) by an RSA key (third), with SHA-512 and PKCS #1 \
         v1.5."),
    row("signature.isValidEcdsaP256", &[Text, Text, Text], |a| verify(a, Algorithm::Ecdsa(JavaCurve::P256, SignatureDigest::Sha256)),
        "Whether the message (first) has this signature in DER (second) by a key on P-256 (third), with SHA-256."),
    row("signature.isValidEcdsaP384", &[Text, Text, Text], |a| verify(a, Algorithm::Ecdsa(JavaCurve::P384, SignatureDigest::Sha384)),
        "Whether the message (first) has this signature in DER (second) by a key on P-384 (third), with SHA-384."),
    row("signature.isValidEcdsaP521", &[Text, Text, Text], |a| verify(a, Algorithm::Ecdsa(JavaCurve::P521, SignatureDigest::Sha512)),
        "Whether the message (first) has this signature in DER (second) by a key on P-521 (third), with SHA-512."),
    row("signature.isValidEd25519", &[Text, Text, Text], |a| verify(a, Algorithm::Ed25519),
        "Whether the message (first) has this signature (second) by an Ed25519 key (third)."),
];

#[derive(Clone, Copy)]
enum Algorithm {
    Rsa(SignatureDigest),
    Ecdsa(JavaCurve, SignatureDigest),
    Ed25519,
}

/// Message, signature in hexadecimal or Base64, public key in PEM.
fn verify(arguments: &[Value], algorithm: Algorithm) -> Evaluated<Value> {
    let [Value::Text(message), Value::Text(signature), Value::Text(key)] = arguments else {
        return unchecked();
    };
    let answer = is_valid(algorithm, message.as_bytes(), signature, key);
    answer
        .map(Value::Boolean)
        .map_err(|reason| Fault::processing(format!("Failed to verify signature: {reason}")))
}

fn is_valid(algorithm: Algorithm, message: &[u8], signature: &str, key: &str) -> Result<bool, Reason> {
    let key = JavaPublicKey::from_der(&key_octets(key)?)?;
    let signature = read_signature(signature)?;
    match (algorithm, &key) {
        (Algorithm::Rsa(digest), JavaPublicKey::Rsa { modulus, exponent }) => {
            rsa(RsaPadding::Pkcs1, digest, (modulus, exponent), message, &signature)
        }
        (Algorithm::Ecdsa(expected, _), JavaPublicKey::Ec { curve, .. }) if *curve != expected => {
            Err(format!(
                "Public key is not on the expected elliptic curve. Expected {} but the key uses {}",
                expected.name(),
                curve.name()
            ))
        }
        (Algorithm::Ecdsa(_, digest), JavaPublicKey::Ec { .. }) => {
            ecdsa_der(digest, &key, message, &signature)
        }
        (Algorithm::Ed25519, JavaPublicKey::Ed25519(key)) => ed25519(key, message, &signature),
        (Algorithm::Rsa(_) | Algorithm::Ecdsa(..) | Algorithm::Ed25519, other) => {
            Err(format!("the key is of the wrong kind: {}", other.algorithm()))
        }
    }
}

/// Hexadecimal digits, or else Base64.
fn read_signature(text: &str) -> Result<Vec<u8>, Reason> {
    let text = strip(text);
    let hex = if text.contains('_') { None } else { read_hex(text) };
    // No digits at all are hexadecimal too, of nothing.
    hex.or_else(|| read_base64(text))
        .ok_or_else(|| "Signature must be in hexadecimal or Base64 format".to_owned())
}

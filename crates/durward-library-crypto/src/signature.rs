//! The library `signature`: whether a text was signed with the private key of a public one.
//!
//! A function whose name tells a curve refuses keys on another one, as in the Java engine.

use durward_functions::encoding::read_hex;
use durward_functions::jvm::strip;
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;
use durward_jwt::{Curve, JwsAlgorithm, PublicKey};

use crate::crypto::{JavaPublicKey, Reason, curve_name, ecdsa_der, ed25519, key_octets, read_base64, rsa};

/// The functions of the library `signature`, overloads one by one.
#[rustfmt::skip]
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("signature.isValidRsaSha256", &[Text, Text, Text], |a| verify(a, Algorithm::Rsa(JwsAlgorithm::Rs256)),
        "Whether the message (first) has this signature (second) by an RSA key (third), with SHA-256 and PKCS #1 \
         v1.5."),
    row("signature.isValidRsaSha384", &[Text, Text, Text], |a| verify(a, Algorithm::Rsa(JwsAlgorithm::Rs384)),
        "Whether the message (first) has this signature (second) by an RSA key (third), with SHA-384 and PKCS #1 \
         v1.5."),
    row("signature.isValidRsaSha512", &[Text, Text, Text], |a| verify(a, Algorithm::Rsa(JwsAlgorithm::Rs512)),
        "Whether the message (first) has this signature (second) by an RSA key (third), with SHA-512 and PKCS #1 \
         v1.5."),
    row("signature.isValidEcdsaP256", &[Text, Text, Text], |a| verify(a, Algorithm::Ecdsa(Curve::P256, JwsAlgorithm::Es256)),
        "Whether the message (first) has this signature in DER (second) by a key on P-256 (third), with SHA-256."),
    row("signature.isValidEcdsaP384", &[Text, Text, Text], |a| verify(a, Algorithm::Ecdsa(Curve::P384, JwsAlgorithm::Es384)),
        "Whether the message (first) has this signature in DER (second) by a key on P-384 (third), with SHA-384."),
    row("signature.isValidEcdsaP521", &[Text, Text, Text], |a| verify(a, Algorithm::Ecdsa(Curve::P521, JwsAlgorithm::Es512)),
        "Whether the message (first) has this signature in DER (second) by a key on P-521 (third), with SHA-512."),
    row("signature.isValidEd25519", &[Text, Text, Text], |a| verify(a, Algorithm::Ed25519),
        "Whether the message (first) has this signature (second) by an Ed25519 key (third)."),
];

#[derive(Clone, Copy)]
enum Algorithm {
    Rsa(JwsAlgorithm),
    Ecdsa(Curve, JwsAlgorithm),
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
        (Algorithm::Rsa(algorithm), JavaPublicKey::Usable(PublicKey::Rsa(key))) => {
            rsa(algorithm, key, message, &signature)
        }
        (Algorithm::Ecdsa(expected, algorithm), JavaPublicKey::Usable(PublicKey::Ec(key)))
            if key.curve() == expected =>
        {
            ecdsa_der(algorithm, key, message, &signature)
        }
        (Algorithm::Ed25519, JavaPublicKey::Usable(PublicKey::Ed25519(key))) => ed25519(key, message, &signature),
        (Algorithm::Ecdsa(expected, _), other) => Err(other.curve().map_or_else(
            || wrong_kind(other),
            |curve| {
                let (expected, curve) = (curve_name(expected), curve.name());
                format!(
                    "Public key is not on the expected elliptic curve. Expected {expected} but the key uses {curve}"
                )
            },
        )),
        (Algorithm::Rsa(_) | Algorithm::Ed25519, other) => Err(wrong_kind(other)),
    }
}

fn wrong_kind(key: &JavaPublicKey) -> Reason {
    format!("the key is of the wrong kind: {}", key.algorithm())
}

/// Hexadecimal digits, or else Base64.
fn read_signature(text: &str) -> Result<Vec<u8>, Reason> {
    let text = strip(text);
    let hex = if text.contains('_') { None } else { read_hex(text) };
    // No digits at all are hexadecimal too, of nothing.
    hex.or_else(|| read_base64(text))
        .ok_or_else(|| "Signature must be in hexadecimal or Base64 format".to_owned())
}

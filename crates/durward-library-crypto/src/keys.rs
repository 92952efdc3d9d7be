//! The library `keys`: what public keys are, and from one form into another.
//!
//! Everything is as in the Java engine but for the words of errors: RSA of 512 to 16384 bits, the three NIST curves,
//! Ed25519 and, as far as that goes there, Ed448. Points are not checked to be on their curve there and here.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Object as AnObject, Text};
use durward_ir::value::Value;
use durward_jwt::PublicKey;
use num_bigint::BigUint;

use crate::crypto::{JavaPublicKey, ParsedCertificate, Reason, key_octets, key_pem};

/// The functions of the library `keys`, overloads one by one.
#[rustfmt::skip]
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("keys.publicKeyFromPem", &[Text], |a| of_key(a, "Failed to parse public key", |key| Ok(described(key))),
        "`{algorithm, format, size, curve}` of a public key in PEM, `curve` only for EC keys."),
    row("keys.publicKeyFromCertificate", &[Text], public_key_from_certificate,
        "The public key of a certificate, in PEM."),
    row("keys.algorithmFromKey", &[Text],
        |a| of_key(a, "Failed to extract key algorithm", |key| Ok(text(key.algorithm()))),
        "`RSA`, `EC` or `EdDSA`: the kind of a public key in PEM."),
    row("keys.sizeFromKey", &[Text], |a| of_key(a, "Failed to extract key size", |key| Ok(Value::number(key.bits()))),
        "The size of a public key in PEM, in bits."),
    row("keys.curveFromKey", &[Text], |a| of_key(a, "Failed to extract EC curve", curve),
        "`secp256r1`, `secp384r1` or `secp521r1`: the curve of an EC key in PEM; an error for other keys."),
    row("keys.jwkFromPublicKey", &[Text], |a| of_key(a, "Failed to convert key to JWK", jwk),
        "The JSON Web Key of a public key in PEM."),
    row("keys.publicKeyFromJwk", &[AnObject], public_key_from_jwk, "A JSON Web Key as a public key in PEM."),
];

fn of_key(
    arguments: &[Value],
    failed: &str,
    give: impl Fn(&JavaPublicKey) -> Result<Value, Reason>,
) -> Evaluated<Value> {
    let [Value::Text(pem)] = arguments else { return unchecked() };
    let result =
        key_octets(pem).and_then(|octets| JavaPublicKey::from_der(&octets)).and_then(|key| give(&key));
    result.map_err(|reason| fault(failed, &reason))
}

fn fault(failed: &str, reason: &str) -> Box<Fault> {
    Fault::processing(format!("{failed}: {reason}"))
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn described(key: &JavaPublicKey) -> Value {
    let mut entries = vec![
        ("algorithm", text(key.algorithm())),
        ("format", text("X.509")),
        ("size", Value::number(key.bits())),
    ];
    if let Some(curve) = key.curve() {
        entries.push(("curve", text(curve.name())));
    }
    Value::object(entries)
}

fn curve(key: &JavaPublicKey) -> Result<Value, Reason> {
    let Some(curve) = key.curve() else { return Err("Key is not an EC key".to_owned()) };
    Ok(text(curve.name()))
}

fn public_key_from_certificate(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(certificate)] = arguments else { return unchecked() };
    let certificate = ParsedCertificate::read(certificate)
        .map_err(|reason| fault("Failed to extract public key from certificate", &reason))?;
    Ok(Value::Text(key_pem(certificate.key()).into()))
}

fn jwk(key: &JavaPublicKey) -> Result<Value, Reason> {
    match key {
        // In the order of Java.
        JavaPublicKey::Usable(key @ PublicKey::Rsa(_)) => Ok(members(key, &["kty", "n", "e"])),
        JavaPublicKey::Usable(key @ PublicKey::Ed25519(_)) => Ok(members(key, &["kty", "crv", "x"])),
        // Numbers, and so without zeros in front, though RFC 7518, section 6.2.1.2, wants full length.
        JavaPublicKey::Usable(PublicKey::Ec(key)) => {
            let (x, y) = key.coordinates();
            Ok(point(key.curve().name(), x, y))
        }
        JavaPublicKey::OtherCurve { x, y, .. } => Ok(point("unknown", x, y)),
        JavaPublicKey::Ed448 => Err("Invalid Ed25519 X.509 encoding: expected 44 bytes, got 69".to_owned()),
    }
}

fn members(key: &PublicKey, order: &[&'static str]) -> Value {
    let known = key.jwk_members();
    Value::object(order.iter().filter_map(|name| {
        let (_, value) = known.iter().find(|(known, _)| known == name)?;
        Some((*name, text(value)))
    }))
}

fn point(curve: &str, x: &[u8], y: &[u8]) -> Value {
    let number = |octets: &[u8]| text(&URL_SAFE_NO_PAD.encode(BigUint::from_bytes_be(octets).to_bytes_be()));
    Value::object([("kty", text("EC")), ("crv", text(curve)), ("x", number(x)), ("y", number(y))])
}

fn public_key_from_jwk(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(jwk)] = arguments else { return unchecked() };
    let pem = JavaPublicKey::from_jwk(|name| jwk.get(name).and_then(Value::as_text))
        .and_then(|key| key.to_der())
        .map(|der| key_pem(&der));
    pem.map(|pem| Value::Text(pem.into()))
        .map_err(|reason| fault("Failed to convert JWK to public key", &reason))
}

//! The library `keys`: what public keys are, and from one form into another.
//!
//! Everything is as in the Java engine but for the words of errors: RSA of 512 to 16384 bits, the three NIST curves,
//! Ed25519 and, as far as that goes there, Ed448. Points are not checked to be on their curve there and here.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Object as AnObject, Text};
use durward_ir::value::{Object, Value};
use num_bigint::BigUint;

use crate::crypto::{
    JavaCurve, JavaPublicKey, ParsedCertificate, Reason, key_octets, key_pem, read_base64_url,
};
use crate::table::{row, unchecked};

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
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
    if let JavaPublicKey::Ec { curve, .. } = key {
        entries.push(("curve", text(curve.name())));
    }
    Value::object(entries)
}

fn curve(key: &JavaPublicKey) -> Result<Value, Reason> {
    let JavaPublicKey::Ec { curve, .. } = key else { return Err("Key is not an EC key".to_owned()) };
    Ok(text(curve.name()))
}

fn public_key_from_certificate(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(certificate)] = arguments else { return unchecked() };
    let certificate = ParsedCertificate::read(certificate)
        .map_err(|reason| fault("Failed to extract public key from certificate", &reason))?;
    Ok(Value::Text(key_pem(certificate.key()).into()))
}

fn jwk(key: &JavaPublicKey) -> Result<Value, Reason> {
    let number = |number: &BigUint| Value::Text(URL_SAFE_NO_PAD.encode(number.to_bytes_be()).into());
    Ok(match key {
        JavaPublicKey::Rsa { modulus, exponent } => {
            Value::object([("kty", text("RSA")), ("n", number(modulus)), ("e", number(exponent))])
        }
        // Numbers, and so without zeros in front, though RFC 7518, section 6.2.1.2, wants full length.
        JavaPublicKey::Ec { curve, x, y } => Value::object([
            ("kty", text("EC")),
            ("crv", text(curve.jwk_name())),
            ("x", number(&BigUint::from_bytes_be(x))),
            ("y", number(&BigUint::from_bytes_be(y))),
        ]),
        JavaPublicKey::Ed25519(octets) => Value::object([
            ("kty", text("OKP")),
            ("crv", text("Ed25519")),
            ("x", Value::Text(URL_SAFE_NO_PAD.encode(octets).into())),
        ]),
        JavaPublicKey::Ed448 => {
            return Err("Invalid Ed25519 X.509 encoding: expected 44 bytes, got 69".to_owned());
        }
    })
}

fn public_key_from_jwk(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(jwk)] = arguments else { return unchecked() };
    let pem = read_jwk(jwk).and_then(|key| key.to_der()).map(|der| key_pem(&der));
    pem.map(|pem| Value::Text(pem.into()))
        .map_err(|reason| fault("Failed to convert JWK to public key", &reason))
}

fn read_jwk(jwk: &Object) -> Result<JavaPublicKey, Reason> {
    match field(jwk, "kty", "JWK")? {
        "RSA" => {
            let (modulus, exponent) = (number(jwk, "n", "RSA JWK")?, number(jwk, "e", "RSA JWK")?);
            JavaPublicKey::rsa(BigUint::from_bytes_be(&modulus), BigUint::from_bytes_be(&exponent))
        }
        "EC" => {
            let curve = field(jwk, "crv", "EC JWK")?;
            let (x, y) = (number(jwk, "x", "EC JWK")?, number(jwk, "y", "EC JWK")?);
            let curve = JavaCurve::of_jwk(curve).ok_or_else(|| format!("Unsupported EC curve: {curve}"))?;
            JavaPublicKey::ec(curve, &x, &y)
        }
        "OKP" => {
            let curve = field(jwk, "crv", "OKP JWK")?;
            if curve != "Ed25519" {
                return Err(format!("Unsupported OKP curve: {curve} (only Ed25519 supported)"));
            }
            let octets = number(jwk, "x", "OKP JWK")?;
            let length = octets.len();
            let key = octets.try_into();
            key.map(JavaPublicKey::Ed25519)
                .map_err(|_| format!("Invalid Ed25519 key length: expected 32 bytes, got {length}"))
        }
        other => Err(format!("Unsupported JWK key type: {other}")),
    }
}

fn field<'a>(jwk: &'a Object, name: &str, kind: &str) -> Result<&'a str, Reason> {
    match jwk.get(name) {
        Some(Value::Text(text)) => Ok(text),
        Some(_) | None => Err(format!("{kind} missing required '{name}' field")),
    }
}

fn number(jwk: &Object, name: &str, kind: &str) -> Result<Vec<u8>, Reason> {
    read_base64_url(field(jwk, name, kind)?).ok_or_else(|| format!("Invalid Base64 URL encoding: '{name}'"))
}

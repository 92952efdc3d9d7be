//! Keys, certificates, signatures and tokens with any byte changed or the end cut off.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::jwt::{Rules, TrustedKey, Validity, inspect};

/// The bytes in a PEM text.
fn bytes(pem: &str) -> Vec<u8> {
    let base64: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(base64).unwrap()
}

fn of_hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Every beginning, and every single byte replaced by some others.
fn broken(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let cut = (0..bytes.len()).map(|length| bytes[..length].to_vec());
    let changed = (0..bytes.len()).flat_map(move |at| {
        let byte = bytes[at];
        [byte ^ 1, byte ^ 0x80, byte.wrapping_add(1), 0, 0xff]
            .into_iter()
            .filter(move |other| *other != byte)
            .map(move |other| {
                let mut bytes = bytes.to_vec();
                bytes[at] = other;
                bytes
            })
    });
    cut.chain(changed)
}

#[test]
fn broken_certificates_do_no_harm() {
    for name in ["named.crt", "plain.crt"] {
        for der in broken(&bytes(file(name))) {
            let certificate = STANDARD.encode(der);
            for (function, more) in [
                ("x509.parseCertificate", &[][..]),
                ("x509.extractCommonName", &[]),
                ("x509.extractSubjectAltNames", &[]),
                ("x509.hasIpAddress", &["10.0.0.1"]),
                ("x509.isValidAt", &["2025-01-01T00:00:00Z"]),
                ("keys.publicKeyFromCertificate", &[]),
            ] {
                let arguments: Vec<&str> =
                    [certificate.as_str()].into_iter().chain(more.iter().copied()).collect();
                let _answer = call(function, &arguments);
            }
        }
    }
}

#[test]
fn broken_keys_and_signatures_verify_nothing() {
    let signature_of = |key: &str| {
        let line = file("signatures").lines().find(|line| line.starts_with(&format!("{key} ")));
        line.and_then(|line| line.rsplit(' ').next()).unwrap()
    };
    for (key, function) in [
        ("rsa2048", "signature.isValidRsaSha256"),
        ("p256", "signature.isValidEcdsaP256"),
        ("ed25519", "signature.isValidEd25519"),
    ] {
        let (message, pem, signature) = (file("message"), super::key(key), signature_of(key));
        assert_eq!(call(function, &[message, signature, pem]).as_deref(), Ok("true"), "{key}");
        for der in broken(&bytes(pem)) {
            let broken = STANDARD.encode(der);
            for function in ["keys.publicKeyFromPem", "keys.jwkFromPublicKey", "keys.sizeFromKey"] {
                let _answer = call(function, &[&broken]);
            }
            // Some changes beside the key itself do not matter to Java either.
            let _answer = call(function, &[message, signature, &broken]);
        }
        for changed in broken(&of_hex(signature)) {
            let changed: String = changed.iter().map(|byte| format!("{byte:02x}")).collect();
            let answer = call(function, &[message, &changed, pem]);
            assert_ne!(answer.as_deref(), Ok("true"), "{key} {changed}");
        }
    }
}

#[test]
fn a_token_with_any_character_changed_is_not_valid() {
    let token = file("tokens").lines().find_map(|line| line.strip_prefix("rs256 ")).unwrap();
    let trusted = |_: &str| Some(TrustedKey::read(&bare("rsa2048")).unwrap());
    let validity =
        |token: &str| inspect(&text(token), trusted, 1_700_000_000_000, &Rules::default()).validity;
    assert_eq!(validity(token), Validity::Valid);
    for at in 0..token.len() {
        assert_ne!(validity(&token[..at]), Validity::Valid, "cut at {at}");
        for other in ["A", "-", ".", "=", " ", "é"] {
            let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
            // The last character has bits that Java does not read either.
            let is_last = at + 1 == token.len();
            assert!(is_last || changed == token || validity(&changed) != Validity::Valid, "{other} at {at}");
            let longer = format!("{}{other}{}", &token[..at], &token[at..]);
            // As in Java, white space around a token is none of it.
            assert!(longer.trim() == token || validity(&longer) != Validity::Valid, "{other} before {at}");
        }
    }
}

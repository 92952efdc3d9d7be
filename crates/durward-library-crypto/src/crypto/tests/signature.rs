use base64::Engine;

use super::*;

/// Key, digest, signature in hexadecimal.
fn signatures() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    file("signatures").lines().map(|line| {
        let parts: Vec<&str> = line.split(' ').collect();
        (parts[0], parts[1], parts[2])
    })
}

fn signature(key: &str, digest: &str) -> &'static str {
    signatures().find(|(known, with, _)| *known == key && *with == digest).unwrap().2
}

/// The function that a key and a digest call for.
fn function(key: &str, digest: &str) -> String {
    let bits = digest.strip_prefix("sha").unwrap_or_default();
    match key {
        "ed25519" => "signature.isValidEd25519".to_owned(),
        key if key.starts_with("rsa") => format!("signature.isValidRsaSha{bits}"),
        _ => format!("signature.isValidEcdsaP{}", if bits == "512" { "521" } else { bits }),
    }
}

/// A function that names another curve than the key's refuses the key.
#[test]
fn signatures_of_openssl_are_valid_and_of_nothing_else() {
    let message = file("message");
    for (name, digest, signature) in signatures() {
        let function = function(name, digest);
        let valid = call(&function, &[message, signature, key(name)]);
        if (name, digest) == ("rsa1024", "sha384") {
            let reason = "Failed to verify signature: RSA keys of 1024 bits are not supported here";
            assert_eq!(valid, Err(reason.to_owned()));
            continue;
        }
        let curve = function.strip_prefix("signature.isValidEcdsaP");
        if curve.is_some_and(|curve| name != format!("p{curve}")) {
            let message = valid.unwrap_err();
            assert!(message.contains("Public key is not on the expected elliptic curve"), "{message}");
            continue;
        }
        assert_eq!(valid, Ok("true".to_owned()), "{name} {digest}");
        assert_eq!(
            call(&function, &["another message", signature, key(name)]),
            Ok("false".to_owned()),
            "{name}"
        );
        assert_eq!(call(&function, &[&format!("{message}\n"), signature, key(name)]), Ok("false".to_owned()));
    }
}

#[test]
fn signatures_are_hexadecimal_or_base64_with_white_space_around() {
    let message = file("message");
    for (name, digest) in [("rsa2048", "sha256"), ("p384", "sha384"), ("ed25519", "none")] {
        let (function, hex) = (function(name, digest), signature(name, digest));
        let base64 = base64::engine::general_purpose::STANDARD
            .encode(durward_functions::encoding::read_hex(hex).unwrap());
        for written in
            [hex.to_uppercase(), base64.clone(), format!("  \t\n{hex}\r\n "), base64.replace('=', "")]
        {
            assert_eq!(call(&function, &[message, &written, key(name)]), Ok("true".to_owned()), "{written}");
        }
        let (start, end) = hex.split_at(10);
        for written in [format!("{start} {end}"), format!("{start}_{end}"), "not-hex-or-base64!".to_owned()] {
            let message = call(&function, &[message, &written, key(name)]).unwrap_err();
            assert!(message.ends_with("Signature must be in hexadecimal or Base64 format"), "{message}");
        }
    }
}

#[test]
fn another_key_made_no_valid_signature() {
    let message = file("message");
    let rsa = signature("rsa2048", "sha256");
    // The last octet is another, then a digest is that of another function.
    let changed = format!("{}{}", &rsa[..rsa.len() - 1], if rsa.ends_with('0') { '1' } else { '0' });
    assert_eq!(
        call("signature.isValidRsaSha256", &[message, &changed, key("rsa2048")]),
        Ok("false".to_owned())
    );
    assert_eq!(call("signature.isValidRsaSha512", &[message, rsa, key("rsa2048")]), Ok("false".to_owned()));
    let ec = signature("p256", "sha384");
    assert_eq!(call("signature.isValidEcdsaP256", &[message, ec, key("p256")]), Ok("false".to_owned()));
    assert_eq!(
        call("signature.isValidEd25519", &[message, &"0".repeat(128), key("ed25519")]),
        Ok("false".to_owned())
    );
}

#[test]
fn keys_of_another_kind_and_broken_signatures_are_errors() {
    let message = file("message");
    let rsa = signature("rsa2048", "sha256");
    for (function, signature, key, reason) in [
        ("isValidRsaSha256", rsa, key("p256"), "the key is of the wrong kind: EC"),
        ("isValidEcdsaP256", rsa, key("rsa2048"), "the key is of the wrong kind: RSA"),
        ("isValidEd25519", rsa, key("ed448"), "the key is of the wrong kind: EdDSA"),
        ("isValidRsaSha256", rsa, "invalid pem key", "No PEM content found"),
        ("isValidRsaSha256", rsa, key("rsa4096"), "Bad signature length: got 256 but was expecting 512"),
        ("isValidRsaSha256", "", key("rsa2048"), "Bad signature length: got 0 but was expecting 256"),
        ("isValidRsaSha256", &rsa[..128], key("rsa512"), "RSA keys of 512 bits are not supported here"),
        ("isValidEcdsaP256", rsa, key("p256"), "Invalid encoding for signature"),
        ("isValidEcdsaP256", "", key("p256"), "Invalid encoding for signature"),
        ("isValidEcdsaP256", "3006020101020101ff", key("p256"), "Invalid encoding for signature"),
        (
            "isValidEcdsaP256",
            signature("p384", "sha384"),
            key("p384"),
            "Expected secp256r1 but the key uses secp384r1",
        ),
        ("isValidEcdsaP256", rsa, key("secp256k1"), "Expected secp256r1 but the key uses unknown"),
        ("isValidEd25519", "abcd", key("ed25519"), "an Ed25519 signature is 64 octets long, not 2"),
    ] {
        let given = call(&format!("signature.{function}"), &[message, signature, key]);
        assert!(given.as_ref().is_err_and(|message| message.ends_with(reason)), "{function}: {given:?}");
    }
}

/// Numbers of 0 or as large as the order are how signatures were forged for verifiers that did not look.
#[test]
fn numbers_out_of_range_are_in_no_signature() {
    let order = "00ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
    for signature in [
        "3006020100020100".to_owned(),
        "3006020101020100".to_owned(),
        format!("30260221{order}020101"),
        format!("30260201010221{order}"),
        format!("30440220{0}0220{0}", "7f".repeat(32)),
        format!("304802227f{0}02227f{0}", "ff".repeat(33)),
    ] {
        let given = call("signature.isValidEcdsaP256", &["", &signature, key("p256")]);
        assert_eq!(given, Ok("false".to_owned()), "{signature}");
    }
}

#[test]
fn a_point_beside_the_curve_verifies_nothing() {
    let jwk = durward_functions::fixture::json(r#"{"kty":"EC","crv":"P-256","x":"AQ","y":"Ag"}"#);
    let Value::Text(pem) = call_with("keys.publicKeyFromJwk", &[jwk]).unwrap() else { panic!("no text") };
    let given = call("signature.isValidEcdsaP256", &["", "3006020101020101", &pem]);
    assert_eq!(given, Err("Failed to verify signature: the key is not on its curve".to_owned()));
}

/// RFC 8032, section 7.1, test 1.
#[test]
fn the_first_vector_of_ed25519_is_valid() {
    let key = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----";
    let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
    assert_eq!(call("signature.isValidEd25519", &["", signature, key]), Ok("true".to_owned()));
    assert_eq!(call("signature.isValidEd25519", &["tampered", signature, key]), Ok("false".to_owned()));
}

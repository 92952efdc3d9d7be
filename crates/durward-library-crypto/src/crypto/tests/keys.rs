use super::*;
use durward_functions::fixture::json;

#[test]
fn keys_are_described() {
    for (name, algorithm, size, curve) in [
        ("rsa512", "RSA", 512, None),
        ("rsa1024", "RSA", 1024, None),
        ("rsa2048", "RSA", 2048, None),
        ("rsa4096", "RSA", 4096, None),
        ("p256", "EC", 256, Some("secp256r1")),
        ("p384", "EC", 384, Some("secp384r1")),
        ("p521", "EC", 521, Some("secp521r1")),
        ("ed25519", "EdDSA", 256, None),
        ("ed448", "EdDSA", 448, None),
        ("secp256k1", "EC", 256, Some("unknown")),
    ] {
        let end = curve.map_or_else(String::new, |curve| format!(r#","curve":"{curve}""#));
        let described = format!(r#"{{"algorithm":"{algorithm}","format":"X.509","size":{size}{end}}}"#);
        assert_eq!(call("keys.publicKeyFromPem", &[key(name)]), Ok(described), "{name}");
        assert_eq!(call("keys.algorithmFromKey", &[key(name)]), Ok(format!("\"{algorithm}\"")), "{name}");
        assert_eq!(call("keys.sizeFromKey", &[key(name)]), Ok(size.to_string()), "{name}");
        let of_curve = curve.map_or_else(
            || Err("Failed to extract EC curve: Key is not an EC key".to_owned()),
            |curve| Ok(format!("\"{curve}\"")),
        );
        assert_eq!(call("keys.curveFromKey", &[key(name)]), of_curve, "{name}");
    }
}

/// As Bouncy Castle reads PEM: the first object counts, whatever its label, and its lines.
#[test]
fn the_first_object_of_pem_is_read() {
    let described = call("keys.publicKeyFromPem", &[key("p256")]);
    let (pem, other) = (key("p256"), key("rsa2048"));
    for taken in [
        format!("text\n{pem}trailing"),
        format!("{pem}{other}"),
        pem.replace("PUBLIC KEY", "ANYTHING"),
        pem.replace("PUBLIC KEY-----\n", "PUBLIC KEY-----\nName: value\n\n"),
        pem.replace('\n', "\r\n"),
        pem.replace('\n', "\r"),
        pem.replace("-----\n", "-----  \n"),
        pem.replace("\nM", "\n \tM"),
    ] {
        assert_eq!(call("keys.publicKeyFromPem", &[&taken]), described, "{taken}");
    }
    for refused in [
        bare("p256"),
        format!("-----BEGIN A-----\n-----END A-----\n{pem}"),
        pem.replace("-----END PUBLIC", "-----END OTHER"),
        pem.replace("-----END", " -----END"),
        pem.replace("-----BEGIN PUBLIC KEY-----", " -----BEGIN PUBLIC KEY-----"),
        pem.replace("BEGIN PUBLIC KEY-----", "BEGIN PUBLIC KEY----"),
        pem.replace('\n', ""),
        pem.replace('=', ""),
    ] {
        call("keys.publicKeyFromPem", &[&refused]).expect_err(&refused);
    }
}

#[test]
fn what_is_no_key_that_java_reads_is_an_error() {
    let truncated = key("p256").replacen("A", "", 4);
    let private = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ==\n-----END PRIVATE KEY-----";
    for pem in ["", "invalid", "The sign of Hastur", key("x25519"), key("pss"), &truncated, private, "MA=="] {
        for name in
            ["publicKeyFromPem", "algorithmFromKey", "sizeFromKey", "curveFromKey", "jwkFromPublicKey"]
        {
            let message = call(&format!("keys.{name}"), &[pem]).expect_err(pem);
            assert!(message.starts_with("Failed to "), "{message}");
        }
    }
}

#[test]
fn keys_become_json_web_keys_and_come_back() {
    for (name, kind) in [
        ("rsa512", r#"{"kty":"RSA","n":""#),
        ("rsa2048", r#"{"kty":"RSA","n":""#),
        ("p256", r#"{"kty":"EC","crv":"P-256","x":""#),
        ("p384", r#"{"kty":"EC","crv":"P-384","x":""#),
        ("p521", r#"{"kty":"EC","crv":"P-521","x":""#),
        ("ed25519", r#"{"kty":"OKP","crv":"Ed25519","x":""#),
    ] {
        let jwk = call_with("keys.jwkFromPublicKey", &[text(key(name))]).unwrap();
        assert!(jwk.to_json().starts_with(kind), "{}", jwk.to_json());
        assert!(!jwk.to_json().contains(['=', '+', '/']), "{}", jwk.to_json());
        let pem = call_with("keys.publicKeyFromJwk", &[jwk]).unwrap();
        assert!(pem.equals(&text(key(name))), "{name}: {}", pem.to_json());
    }
    assert_eq!(
        call("keys.jwkFromPublicKey", &[key("ed448")]),
        Err("Failed to convert key to JWK: Invalid Ed25519 X.509 encoding: expected 44 bytes, got 69"
            .to_owned())
    );
}

/// RFC 7517, appendix A.1, and RFC 8037, appendix A.2: keys and what they are known to be.
#[test]
fn json_web_keys_of_the_standards_are_read() {
    let ec = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"1"}"#;
    let okp = r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    for (jwk, algorithm) in [(ec, "EC"), (okp, "EdDSA")] {
        let pem = call_with("keys.publicKeyFromJwk", &[json(jwk)]).unwrap();
        let given = call_with("keys.algorithmFromKey", &[pem]).unwrap();
        assert!(given.equals(&text(algorithm)), "{jwk}");
    }
}

#[test]
fn zeros_in_front_of_coordinates_are_left_out_and_put_back() {
    let jwk = json(r#"{"kty":"EC","crv":"P-256","x":"AAE","y":"AAAC"}"#);
    let pem = call_with("keys.publicKeyFromJwk", &[jwk]).unwrap();
    let back = call_with("keys.jwkFromPublicKey", &[pem]).unwrap();
    assert_eq!(back.to_json(), r#"{"kty":"EC","crv":"P-256","x":"AQ","y":"Ag"}"#);
}

#[test]
fn json_web_keys_that_lack_something_are_errors() {
    let long = "A".repeat(45);
    for (jwk, reason) in [
        (r#"{"n":"test"}"#, "JWK missing required 'kty' field"),
        (r#"{"kty":5}"#, "JWK missing required 'kty' field"),
        (r#"{"kty":"SHOGGOTH"}"#, "Unsupported JWK key type: SHOGGOTH"),
        (r#"{"kty":"RSA","e":"AQAB"}"#, "RSA JWK missing required 'n' field"),
        (r#"{"kty":"RSA","n":"test"}"#, "RSA JWK missing required 'e' field"),
        (r#"{"kty":"RSA","n":"test","e":"AQAB"}"#, "RSA keys must be 512 to 16384 bits long"),
        (r#"{"kty":"RSA","n":"not!!!base64","e":"AQAB"}"#, "Invalid Base64 URL encoding: 'n'"),
        (r#"{"kty":"EC","x":"test","y":"test"}"#, "EC JWK missing required 'crv' field"),
        (r#"{"kty":"EC","crv":"P-256","y":"test"}"#, "EC JWK missing required 'x' field"),
        (r#"{"kty":"EC","crv":"P-256","x":"test"}"#, "EC JWK missing required 'y' field"),
        (r#"{"kty":"EC","crv":"secp256k1","x":"test","y":"test"}"#, "Unsupported EC curve: secp256k1"),
        (
            &format!(r#"{{"kty":"EC","crv":"P-256","x":"B{long}","y":"AA"}}"#),
            "Point coordinates do not match field size",
        ),
        (r#"{"kty":"OKP","x":"test"}"#, "OKP JWK missing required 'crv' field"),
        (r#"{"kty":"OKP","crv":"Ed25519"}"#, "OKP JWK missing required 'x' field"),
        (
            r#"{"kty":"OKP","crv":"Ed448","x":"test"}"#,
            "Unsupported OKP curve: Ed448 (only Ed25519 supported)",
        ),
        (
            r#"{"kty":"OKP","crv":"Ed25519","x":"test"}"#,
            "Invalid Ed25519 key length: expected 32 bytes, got 3",
        ),
    ] {
        let fault = call_with("keys.publicKeyFromJwk", &[json(jwk)]).expect_err(jwk);
        assert_eq!(fault.message, format!("Failed to convert JWK to public key: {reason}"), "{jwk}");
    }
}

/// Verifying with such keys would take long: Java refuses them, too.
#[test]
fn rsa_keys_of_excessive_size_are_refused() {
    let (modulus, exponent) = ("_".repeat(3000), "_".repeat(600));
    let jwk = |n: &str, e: &str| json(&format!(r#"{{"kty":"RSA","n":"{n}","e":"{e}"}}"#));
    for (jwk, reason) in [
        (jwk(&modulus, "AQAB"), "RSA keys must be 512 to 16384 bits long"),
        (jwk(&modulus[..800], &exponent), "RSA exponents can be no longer than 64 bits"),
        (jwk(&modulus[..400], "AQ"), "the exponent of an RSA key must be at least 3"),
        (jwk(&modulus[..400], &exponent), "the exponent of an RSA key must be at least 3 and smaller"),
    ] {
        let fault = call_with("keys.publicKeyFromJwk", &[jwk]).unwrap_err();
        assert!(fault.message.contains(reason), "{}", fault.message);
    }
}

#[test]
fn certificates_give_their_keys() {
    for (certificate, expected) in [
        ("plain", "p256"),
        ("nameless", "ed25519"),
        ("old", "rsa2048"),
        ("exchange", "x25519"),
        ("koblitz", "secp256k1"),
    ] {
        let pem =
            call_with("keys.publicKeyFromCertificate", &[text(file(&format!("{certificate}.crt")))]).unwrap();
        assert!(pem.equals(&text(key(expected))), "{certificate}");
    }
    for wrong in ["", "no certificate", key("p256")] {
        let message = call("keys.publicKeyFromCertificate", &[wrong]).unwrap_err();
        assert!(message.starts_with("Failed to extract public key from certificate: "), "{message}");
    }
}

//! Keys as JSON and as DER.

use durward_jwt::{Curve, JWK_SET_LENGTH_MAX, Jwk, JwkSet, JwsAlgorithm, KeyError, PublicKey};
use serde_json::{Map, Value, json};

use crate::signing::Signer;

fn jwk(key: &PublicKey) -> Map<String, Value> {
    key.jwk_members().into_iter().map(|(name, value)| (name.to_owned(), Value::String(value))).collect()
}

#[test]
fn keys_go_to_der_and_to_json_and_come_back() {
    for signer in Signer::all() {
        let key = signer.public;
        assert_eq!(PublicKey::from_der(&key.to_der().unwrap()), Ok(key.clone()));
        assert_eq!(Jwk::of(&jwk(&key)).verifying().unwrap().public(), &key);
        let der = key.to_der().unwrap();
        for length in 0..der.len() {
            assert!(PublicKey::from_der(&der[..length]).is_err());
        }
        assert!(PublicKey::from_der(&[der.as_slice(), &[0]].concat()).is_err());
    }
}

/// RFC 7638, 3.1, and RFC 8037, A.3.
#[test]
fn thumbprints_are_those_of_the_standards() {
    let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhM\
             stn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91\
             CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
    let rsa = json!({"kty": "RSA", "n": n, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"});
    let okp = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    for (key, thumbprint) in [
        (rsa, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
        (okp, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
    ] {
        let key = Jwk::of(key.as_object().unwrap());
        assert_eq!(key.verifying().unwrap().public().thumbprint(), thumbprint);
    }
}

#[test]
fn keys_for_something_else_verify_nothing() {
    let good = jwk(&Signer::ecdsa(Curve::P256).public);
    let with = |name: &str, value: Value| {
        let mut changed = good.clone();
        changed.insert(name.to_owned(), value);
        Jwk::of(&changed).verifying().err().cloned()
    };
    for (name, value, error) in [
        ("use", json!("sig"), None),
        ("use", json!("enc"), Some(KeyError::Use)),
        ("use", json!(["sig"]), Some(KeyError::Use)),
        ("key_ops", json!(["verify"]), None),
        ("key_ops", json!(["encrypt"]), Some(KeyError::Use)),
        ("key_ops", json!("verify"), Some(KeyError::Use)),
        ("alg", json!("ES256"), None),
        ("alg", json!("ES384"), Some(KeyError::Algorithm)),
        ("alg", json!("HS256"), Some(KeyError::Algorithm)),
        ("alg", json!("ECDH-ES"), Some(KeyError::Algorithm)),
        ("alg", json!(null), Some(KeyError::Algorithm)),
        ("crv", json!("P-384"), Some(KeyError::OffCurve)),
        ("crv", json!("secp256k1"), Some(KeyError::Curve { kind: "EC", name: "secp256k1".into() })),
        ("kty", json!("oct"), Some(KeyError::Kind("oct".into()))),
        ("x", json!("AQ"), Some(KeyError::OffCurve)),
        ("x", json!("!"), Some(KeyError::Encoding("x"))),
        ("x", json!(7), Some(KeyError::Missing { kind: "EC", name: "x" })),
    ] {
        assert_eq!(with(name, value.clone()), error, "{name} {value}");
    }
    let secret = json!({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"});
    assert!(Jwk::of(secret.as_object().unwrap()).verifying().is_err());
    // 127 bytes, all bits set.
    let short = json!({"kty": "RSA", "n": "_".repeat(170), "e": "AQAB"});
    assert!(matches!(Jwk::of(short.as_object().unwrap()).verifying(), Err(KeyError::Bits(1016))));
}

#[test]
fn a_key_allows_what_it_says() {
    let rsa = Signer::rsa(JwsAlgorithm::Rs256).public;
    let any = Jwk::of(&jwk(&rsa));
    let allowed = |key: &Jwk| {
        let key = key.verifying().unwrap().clone();
        JwsAlgorithm::ALL.into_iter().filter(|algorithm| key.allows(*algorithm)).count()
    };
    assert_eq!(allowed(&any), 6);
    let mut one = jwk(&rsa);
    one.insert("alg".into(), json!("PS256"));
    assert_eq!(allowed(&Jwk::of(&one)), 1);
}

#[test]
fn sets_are_read_and_what_is_no_key_in_them_is_passed_over() {
    let mut good = jwk(&Signer::ed25519().public);
    good.insert("kid".into(), json!("a"));
    let set = json!({ "keys": [good, {"kty": "future"}, 7, {"kid": "x".repeat(300)}] });
    let set = JwkSet::read(set.to_string().as_bytes()).unwrap();
    let ids: Vec<_> = set.keys().iter().map(|key| (key.id(), key.verifying().is_ok())).collect();
    assert_eq!(ids, [(Some("a"), true), (None, false), (None, false)]);
    let twice = br#"{"keys":[{"kty":"OKP","kid":"a","kid":"b"}]}"#;
    let long = format!(r#"{{"keys":[]{}}}"#, " ".repeat(JWK_SET_LENGTH_MAX));
    for wrong in [&b"{}"[..], b"[]", b"", b"{\"keys\":{}}", b"\xff", twice, long.as_bytes()] {
        assert!(JwkSet::read(wrong).is_err());
    }
}

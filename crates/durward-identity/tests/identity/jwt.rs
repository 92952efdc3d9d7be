//! Signed tokens: made here, attacked here.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_identity::jwt::{
    Algorithm, Expected, JwtRefusal, Request, SigningKey, SigningKeys, VerifyingKeys,
};
use durward_identity::{Moment, SystemEntropy};
use serde_json::{Map, Value, json};

const NOW: Moment = Moment::from_ms(1_700_000_000_000);
const LIFETIME: Duration = Duration::from_secs(600);
const EXPECTED: Expected<'_> = Expected { issuer: "https://id.example", audience: "https://api.example" };

/// A key that nobody uses, made with `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048`.
const RSA: &str = include_str!("rsa.pem");

fn request<'r>() -> Request<'r> {
    Request {
        issuer: "https://id.example",
        subject: "anna",
        audience: &["https://api.example"],
        lifetime: LIFETIME,
        client: Some("shop"),
        scope: Some("read write"),
        session: None,
        more: Map::new(),
    }
}

fn with(keys: &SigningKeys, key: SigningKey, from: Moment) -> SigningKeys {
    keys.with(key, from, from).unwrap()
}

fn keys(algorithm: Algorithm) -> SigningKeys {
    let key = match algorithm {
        Algorithm::EdDsa | Algorithm::Es256 => SigningKey::generate(algorithm).unwrap(),
        Algorithm::Rs256 => SigningKey::read(RSA).unwrap(),
    };
    with(&SigningKeys::new(LIFETIME), key, NOW)
}

fn later(seconds: u64) -> Moment {
    NOW.plus(Duration::from_secs(seconds))
}

#[test]
fn tokens_of_every_algorithm_are_believed_until_they_end() {
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256] {
        let keys = keys(algorithm);
        let token = keys.issue(NOW, request(), &SystemEntropy).unwrap();
        let claims = keys.verify(later(599), &token, EXPECTED).unwrap();
        assert_eq!((claims.sub.as_str(), claims.scope.as_deref()), ("anna", Some("read write")));
        assert_eq!(keys.verify(later(600), &token, EXPECTED), Err(JwtRefusal::Expired));
        assert_eq!(
            keys.verify(Moment::from_ms(NOW.ms() - 600_000), &token, EXPECTED),
            Err(JwtRefusal::Future)
        );
        let other = Expected { audience: "https://other.example", ..EXPECTED };
        assert_eq!(keys.verify(NOW, &token, other), Err(JwtRefusal::Audience));
        let other = Expected { issuer: "https://other.example", ..EXPECTED };
        assert_eq!(keys.verify(NOW, &token, other), Err(JwtRefusal::Issuer));
        assert_eq!(
            keys.verify(NOW, &token, Expected { audience: "", ..EXPECTED }),
            Err(JwtRefusal::Audience)
        );
    }
}

#[test]
fn every_change_of_a_token_is_found() {
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
        let keys = keys(algorithm);
        let token = keys.issue(NOW, request(), &SystemEntropy).unwrap();
        for at in 0..token.len() {
            let letter = if token.as_bytes()[at] == b'A' { "B" } else { "A" };
            let changed = format!("{}{letter}{}", &token[..at], &token[at + 1..]);
            assert!(keys.verify(NOW, &changed, EXPECTED).is_err(), "{at}");
            assert!(keys.verify(NOW, &token[..at], EXPECTED).is_err(), "{at}");
        }
    }
}

/// With a header of one's own and the claims of a token; the signature is what the caller makes of it.
fn forged(token: &str, header: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let claims = token.split('.').nth(1).unwrap();
    let signed = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(header.to_string()));
    let signature = URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

#[test]
fn other_algorithms_than_the_keys_lead_nowhere() {
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256] {
        let keys = keys(algorithm);
        let token = keys.issue(NOW, request(), &SystemEntropy).unwrap();
        let jwk = keys.to_jwks(NOW)["keys"][0].clone();
        let kid = jwk["kid"].as_str().unwrap();
        for alg in ["none", "None", "NONE", "", "HS256", "HS512", "ES384", "PS256", "RS256 "] {
            let header = json!({"typ": "at+jwt", "alg": alg, "kid": kid});
            let unsigned = forged(&token, &header, |_| Vec::new());
            assert_eq!(keys.verify(NOW, &unsigned, EXPECTED), Err(JwtRefusal::Algorithm), "{alg}");
            // The public key taken for a shared secret.
            let shared = forged(&token, &header, |signed| {
                let key = ring_hmac(jwk.to_string().as_bytes(), signed);
                key.to_vec()
            });
            assert!(keys.verify(NOW, &shared, EXPECTED).is_err(), "{alg}");
        }
        let header = json!({"typ": "at+jwt", "alg": algorithm.name(), "kid": kid, "crit": ["exp"]});
        assert_eq!(
            keys.verify(NOW, &forged(&token, &header, |_| vec![0; 64]), EXPECTED),
            Err(JwtRefusal::Malformed)
        );
        let header = json!({"typ": "at+jwt", "alg": algorithm.name()});
        assert_eq!(
            keys.verify(NOW, &forged(&token, &header, |_| vec![0; 64]), EXPECTED),
            Err(JwtRefusal::UnknownKey)
        );
    }
}

fn ring_hmac(secret: &[u8], message: &[u8]) -> Vec<u8> {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    ring::hmac::sign(&key, message).as_ref().to_vec()
}

#[test]
fn a_token_of_another_key_with_the_same_name_is_refused() {
    let (ours, theirs) = (keys(Algorithm::EdDsa), keys(Algorithm::EdDsa));
    let token = theirs.issue(NOW, request(), &SystemEntropy).unwrap();
    assert_eq!(ours.verify(NOW, &token, EXPECTED), Err(JwtRefusal::UnknownKey));
    let kid = ours.to_jwks(NOW)["keys"][0]["kid"].clone();
    let header = json!({"typ": "at+jwt", "alg": "EdDSA", "kid": kid});
    assert_eq!(
        ours.verify(NOW, &forged(&token, &header, |_| vec![7; 64]), EXPECTED),
        Err(JwtRefusal::Signature)
    );
}

#[test]
fn keys_are_known_before_they_sign_and_until_their_last_token_has_ended() {
    let old = keys(Algorithm::EdDsa);
    let token = old.issue(NOW, request(), &SystemEntropy).unwrap();
    let both = old.with(SigningKey::generate(Algorithm::Es256).unwrap(), later(100), NOW).unwrap();
    let names = |at: Moment| both.to_jwks(at)["keys"].as_array().unwrap().len();
    let algorithm = |at: Moment| {
        let token = both.issue(at, request(), &SystemEntropy).unwrap();
        let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
        serde_json::from_slice::<Value>(&header).unwrap()["alg"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        (names(NOW), algorithm(later(99)), algorithm(later(100))),
        (2, "EdDSA".to_owned(), "ES256".to_owned())
    );
    assert!(both.verify(later(599), &token, EXPECTED).is_ok());
    assert_eq!((names(later(700)), names(later(1_000))), (2, 1));
}

#[test]
fn tokens_for_nobody_too_long_or_with_claims_of_our_own_are_not_made() {
    let keys = keys(Algorithm::EdDsa);
    let issue = |request| keys.issue(NOW, request, &SystemEntropy).map_err(|error| error.to_string());
    assert!(issue(Request { audience: &[], ..request() }).unwrap_err().contains("audience"));
    assert!(issue(Request { audience: &[""], ..request() }).unwrap_err().contains("audience"));
    assert!(issue(Request { lifetime: LIFETIME * 2, ..request() }).unwrap_err().contains("600 seconds"));
    let mut more = Map::new();
    more.insert("exp".to_owned(), json!(9_999_999_999_u64));
    assert!(issue(Request { more, ..request() }).unwrap_err().contains("`exp`"));
    let mut more = Map::new();
    more.insert("photo".to_owned(), json!("x".repeat(20_000)));
    assert!(issue(Request { more, ..request() }).unwrap_err().contains("longer"));
    assert!(keys.verify(NOW, &"x.".repeat(1 << 20), EXPECTED).is_err());
}

#[test]
fn private_keys_are_in_no_key_set() {
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256] {
        let set = keys(algorithm).to_jwks(NOW);
        let names: Vec<&String> = set["keys"][0].as_object().unwrap().keys().collect();
        assert!(
            !names.iter().any(|name| ["d", "p", "q", "dp", "dq", "qi"].contains(&name.as_str())),
            "{names:?}"
        );
    }
    assert!(SigningKey::generate(Algorithm::Rs256).unwrap_err().to_string().contains("openssl"));
    assert!(SigningKey::read("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----").is_err());
    assert!(SigningKey::read(&"x".repeat(1 << 20)).is_err());
}

/// Nodes of a cluster make their keys each by itself.
#[test]
fn whoever_has_the_secret_has_the_key() {
    let thumb =
        |secret: [u8; 32], algorithm| SigningKey::of_secret(algorithm, &secret).unwrap().id().to_owned();
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
        let key = || SigningKey::of_secret(algorithm, &[7; 32]).unwrap();
        let token =
            with(&SigningKeys::new(LIFETIME), key(), NOW).issue(NOW, request(), &SystemEntropy).unwrap();
        let other = with(&SigningKeys::new(LIFETIME), key(), NOW);
        assert_eq!(other.verify(NOW, &token, EXPECTED).unwrap().sub, "anna");
        assert_ne!(thumb([7; 32], algorithm), thumb([8; 32], algorithm));
        // As it lies in a file.
        assert_eq!(SigningKey::from_pkcs8(key().expose()).unwrap().id(), key().id());
    }
    assert!(SigningKey::of_secret(Algorithm::Rs256, &[7; 32]).unwrap_err().to_string().contains("openssl"));
    // RFC 8032, 7.1, test 2.
    let secret = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb";
    let public = SigningKey::of_secret(Algorithm::EdDsa, &bytes(secret)).unwrap().to_jwk();
    assert_eq!(public["x"], encoded("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"));
    // The number 1 gives the curve's own point (SEC 2, 2.4.2). Neither 0 nor what is beyond the order is one.
    let one = SigningKey::of_secret(Algorithm::Es256, &bytes(&format!("{:064x}", 1))).unwrap().to_jwk();
    assert_eq!(one["x"], encoded("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"));
    assert_eq!(one["y"], encoded("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"));
    assert_ne!(thumb([0; 32], Algorithm::Es256), thumb([0xff; 32], Algorithm::Es256));
}

fn bytes(digits: &str) -> [u8; 32] {
    let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
    std::array::from_fn(byte)
}

fn encoded(digits: &str) -> String {
    URL_SAFE_NO_PAD.encode(bytes(digits))
}

#[test]
fn published_keys_verify_what_theirs_signed_and_nothing_after_its_end() {
    let skew = Duration::from_secs(5);
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256] {
        let keys = keys(algorithm);
        let public = VerifyingKeys::read(&keys.to_jwks(NOW)).unwrap();
        let token = keys.issue(NOW, request(), &SystemEntropy).unwrap();
        let at =
            |ms: u64| public.verify(Moment::from_ms(ms), &token, EXPECTED, skew).map(|claims| claims.sub);
        let (begins, ends) = (NOW.ms(), NOW.ms() + 600_000);
        assert_eq!(at(ends - 1), Ok("anna".to_owned()));
        assert_eq!(at(ends), Err(JwtRefusal::Expired));
        assert_eq!(at(begins - 5_000), Ok("anna".to_owned()));
        assert_eq!(at(begins - 5_001), Err(JwtRefusal::Future));
        let other = Expected { audience: "https://other.example", ..EXPECTED };
        assert_eq!(public.verify(NOW, &token, other, skew), Err(JwtRefusal::Audience));
        let other = Expected { issuer: "https://other.example", ..EXPECTED };
        assert_eq!(public.verify(NOW, &token, other, skew), Err(JwtRefusal::Issuer));
        let another = keys.issue(NOW, request(), &SystemEntropy).unwrap();
        let (signed, signature) = (token.rsplit_once('.').unwrap().0, another.rsplit_once('.').unwrap().1);
        let swapped = format!("{signed}.{signature}");
        assert_eq!(public.verify(NOW, &swapped, EXPECTED, skew), Err(JwtRefusal::Signature));
        let strange = VerifyingKeys::read(&self::keys(Algorithm::EdDsa).to_jwks(NOW)).unwrap();
        assert_eq!(strange.verify(NOW, &token, EXPECTED, skew), Err(JwtRefusal::UnknownKey));
    }
}

#[test]
fn key_sets_that_verify_nothing_are_refused() {
    let jwk = keys(Algorithm::EdDsa).to_jwks(NOW)["keys"][0].clone();
    let read = |keys: Value| VerifyingKeys::read(&json!({ "keys": keys })).map_err(|error| error.to_string());
    assert!(read(json!([jwk])).is_ok());
    assert!(VerifyingKeys::read(&json!({})).unwrap_err().to_string().contains("`keys`"));
    assert!(read(json!([])).unwrap_err().contains("no key"));
    assert!(read(json!([jwk, jwk])).unwrap_err().contains("two keys"));
    assert!(read(vec![jwk.clone(); 33].into()).unwrap_err().contains("33 keys"));
    for (name, wrong) in [
        ("use", json!("enc")),
        ("alg", json!("RS256")),
        ("kty", json!("oct")),
        ("crv", json!("X25519")),
        ("x", json!("AAAA")),
        ("x", json!("!")),
        ("kid", json!("")),
        ("kid", json!(7)),
    ] {
        let mut changed = jwk.clone();
        changed[name] = wrong;
        assert!(read(json!([changed])).unwrap_err().contains("no key"), "{name}");
        assert!(read(json!([changed, jwk])).is_ok(), "{name}");
    }
}

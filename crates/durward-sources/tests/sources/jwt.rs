//! `jwt.token`, with keys from the configuration and from servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use durward_sources::SourceSettings;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};

use crate::service::{Service, response};
use crate::world::{World, attribute, now_ms, surroundings};

/// What stands before the point of a key on the curve P-256 (RFC 5480).
const SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

struct Signer(EcdsaKeyPair);

impl Signer {
    fn new() -> Signer {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Signer(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).unwrap())
    }

    fn token(&self, key_id: &str, claims: &str) -> String {
        let header = format!(r#"{{"alg":"ES256","kid":"{key_id}"}}"#);
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn point(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    fn x509(&self) -> String {
        STANDARD.encode([&SPKI, self.point()].concat())
    }

    fn jwk(&self, key_id: &str) -> String {
        let (x, y) = self.point()[1..].split_at(32);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        format!(r#"{{"kty":"EC","crv":"P-256","kid":"{key_id}","x":"{x}","y":"{y}"}}"#)
    }
}

fn world(jwt: &str) -> World {
    World::with(&SourceSettings::default(), surroundings(&format!(r#"{{"jwt": {jwt}}}"#), "{}"))
}

/// What a token is said to be worth.
async fn validity(world: &World, token: &str) -> String {
    let mut asked = world.ask_with(attribute(None, "jwt.token", &[]), &format!(r#"{{"jwt": "{token}"}}"#));
    word(&asked.next().await)
}

fn word(answer: &str) -> String {
    let Some((_, word)) = answer.split_once(r#""validity":""#) else { return answer.into() };
    word.trim_end_matches(r#""}"#).into()
}

#[tokio::test]
async fn a_token_with_a_configured_key_changes_when_its_time_comes() {
    let signer = Signer::new();
    let world = world(&format!(r#"{{"whitelist": {{"k": "{}"}}}}"#, signer.x509()));
    let now_s = now_ms() / 1000;
    let token = signer.token("k", &format!(r#"{{"sub":"alice","nbf":{},"exp":{}}}"#, now_s + 2, now_s + 3));
    let secrets = format!(r#"{{"jwt": "{token}", "other": "x"}}"#);
    let mut asked = world.ask_with(attribute(None, "jwt.token", &[]), &secrets);
    let first = asked.next().await;
    assert_eq!(word(&first), "IMMATURE");
    assert!(first.contains(r#""sub":"alice""#) && first.contains(r#""valid":false"#), "{first}");
    assert_eq!(word(&asked.next().await), "VALID");
    assert!((now_ms() / 1000 - now_s - 2).abs() < 1, "neither sooner nor later");
    assert_eq!(word(&asked.next().await), "EXPIRED");
    for (argument, expected) in [(r#""other""#, "MALFORMED"), (r#""absent""#, "MISSING_TOKEN")] {
        let mut asked = world.ask_with(attribute(None, "jwt.token", &[argument]), &secrets);
        assert_eq!(word(&asked.next().await), expected);
    }
    assert_eq!(validity(&world, &Signer::new().token("k", "{}")).await, "UNTRUSTED");
    assert_eq!(validity(&world, &signer.token("other", "{}")).await, "UNTRUSTED");
}

#[tokio::test]
async fn keys_come_from_servers_once_for_all_tokens() {
    let signer = Signer::new();
    let text = signer.x509();
    let service = Service::start(move |seen| {
        let (status, body) =
            if seen.target == "/keys/k" { (200, text.clone()) } else { (404, String::new()) };
        Box::pin(async move { response(status, "text/plain", body) })
    })
    .await;
    let world = world(&format!(
        r#"{{"publicKeyServer": {{"uri": "{}/keys/{{kid}}", "allowInsecureHttp": true}}}}"#,
        service.url()
    ));
    let mut all: Vec<_> = (0..20)
        .map(|number| {
            let token = signer.token("k", &format!(r#"{{"sub":{number}}}"#));
            world.ask_with(attribute(None, "jwt.token", &[]), &format!(r#"{{"jwt": "{token}"}}"#))
        })
        .collect();
    for asked in &mut all {
        assert_eq!(word(&asked.next().await), "VALID");
    }
    assert_eq!(service.seen().len(), 1);
    assert_eq!(validity(&world, &signer.token("l", "{}")).await, "UNTRUSTED");
    assert_eq!(service.seen().len(), 2);
    // A name that could lead elsewhere is not asked for.
    for name in ["../admin", "k?x=1", "a/b", "..", ""] {
        let validity = validity(&world, &signer.token(name, "{}")).await;
        assert!(matches!(validity.as_str(), "UNTRUSTED" | "INCOMPLETE"), "{name}: {validity}");
    }
    assert_eq!(service.seen().len(), 2);
}

#[tokio::test]
async fn a_key_that_leaves_its_set_is_no_longer_trusted_and_a_silent_server_changes_nothing() {
    let signer = Signer::new();
    let set = format!(r#"{{"keys": [{}, {}]}}"#, Signer::new().jwk("other"), signer.jwk("k"));
    let state = Arc::new(AtomicU16::new(200));
    let own = Arc::clone(&state);
    let service = Service::start(move |_| {
        let (status, body) = match own.load(Ordering::Relaxed) {
            204 => (200, r#"{"keys": []}"#.to_owned()),
            status => (status, set.clone()),
        };
        Box::pin(async move { response(status, "application/json", body) })
    })
    .await;
    let world = world(&format!(
        r#"{{"publicKeyServer": {{"uri": "{}/jwks", "keyCachingTtlMillis": 1000, "allowInsecureHttp": true}}}}"#,
        service.url()
    ));
    let secrets = format!(r#"{{"jwt": "{}"}}"#, signer.token("k", "{}"));
    let mut asked = world.ask_with(attribute(None, "jwt.token", &[]), &secrets);
    assert_eq!(word(&asked.next().await), "VALID");
    state.store(204, Ordering::Relaxed);
    assert_eq!(word(&asked.next().await), "UNTRUSTED");
    drop(asked);
    let world = self::world(&format!(
        r#"{{"publicKeyServer": {{"uri": "{}/jwks", "keyCachingTtlMillis": 1000, "allowInsecureHttp": true}}}}"#,
        service.url()
    ));
    state.store(200, Ordering::Relaxed);
    let mut asked = world.ask_with(attribute(None, "jwt.token", &[]), &secrets);
    assert_eq!(word(&asked.next().await), "VALID");
    state.store(503, Ordering::Relaxed);
    let seen = service.seen().len();
    assert!(asked.is_quiet(2_500).await, "the key that was known is still believed");
    assert!(service.seen().len() > seen);
}

#[tokio::test]
async fn servers_without_encryption_must_be_asked_for() {
    let signer = Signer::new();
    let world = world(r#"{"publicKeyServer": {"uri": "http://127.0.0.1:1/{kid}"}}"#);
    let message = validity(&world, &signer.token("k", "{}")).await;
    assert!(message.contains("`allowInsecureHttp`"), "{message}");
}

//! Secrets that travel with a bundle.

use durward_bundle::{
    BundleDraft, Keyring, RecipientKey, SecretKey, is_sealed, recipients, reseal, seal, unseal,
};
use durward_ir::{Value, json};

use crate::{draft, read};

const CLEAR: &str = r#"{"http":{"hr":{"headers":{"x-key":"s3cr3t"},"ports":[80,1.50,true,null]}},"none":{}}"#;

/// A key and what it opens, made with another implementation (Python's `cryptography`).
const KEY: &str = r#"{"kty":"OKP","d":"8FE_JABVm4X6pAPPDrq7ekzRlam7yYDojJS9E7rNqkI","crv":"X25519","kid":"plant-7","x":"OHNw5n7m_HFhq65IN4wHqVKmT3k7_GfUK8kk7C8xrno"}"#;
const SEALED: &str = r#"{"text":"ENC[eyJhbGciOiAiRUNESC1FUyIsICJlbmMiOiAiQTI1NkdDTSIsICJraWQiOiAicGxhbnQtNyIsICJlcGsiOiB7Imt0eSI6ICJPS1AiLCAiY3J2IjogIlgyNTUxOSIsICJ4IjogIm1MR25LZnlpRHJENDk0WDRkQUU2eXRfLTBpM3ZwUEtHb0Q2UENjWTJTQm8ifX0..fZu9meUjq0_fynUT.vmuzNGS_9DI.gogxxWMe6IMmviO0IncYfg]","number":"ENC[eyJhbGciOiAiRUNESC1FUyIsICJlbmMiOiAiQTI1NkdDTSIsICJraWQiOiAicGxhbnQtNyIsICJlcGsiOiB7Imt0eSI6ICJPS1AiLCAiY3J2IjogIlgyNTUxOSIsICJ4IjogIkQxNkdqWHU4bEpmYVh6UmVlT0o5RVRCMDVaZ3ktX3doQlRKZGIyYkJPeWsifX0..zw1CZcyX0iDc1eYB.lMaopQ.FHQxofEyeCgRX7udMMYSTg]","nothing":"ENC[eyJhbGciOiAiRUNESC1FUyIsICJlbmMiOiAiQTI1NkdDTSIsICJraWQiOiAicGxhbnQtNyIsICJlcGsiOiB7Imt0eSI6ICJPS1AiLCAiY3J2IjogIlgyNTUxOSIsICJ4IjogIkNQbzFFdWNVZjlTV1c4Y3NhdU1ZWVcwaUdQbjdzT2xIVE5iNlhHaE02eG8ifX0..myanXM4YJGcvHEZZ.MPoKiA.BeBW-SC4KvpEQ0FTkv3lrw]"}"#;

fn value(text: &str) -> Value {
    json::read(text).unwrap()
}

fn keyring(key: SecretKey) -> Keyring {
    Keyring::new(vec![key]).unwrap()
}

#[test]
fn secrets_come_back_as_they_were() {
    let key = SecretKey::generate().unwrap();
    let recipient = key.recipient();
    let sealed = seal(&recipient, &value(CLEAR)).unwrap();
    let text = sealed.to_json();
    assert!(is_sealed(&sealed) && !is_sealed(&value(CLEAR)));
    assert!(!text.contains("s3cr3t") && text.contains("x-key"), "{text}");
    assert_eq!(recipients(&sealed).unwrap().into_iter().collect::<Vec<_>>(), [key.id().to_owned()]);
    // No two values look alike, even if they are.
    assert_ne!(seal(&recipient, &value(CLEAR)).unwrap().to_json(), text);
    let other = SecretKey::generate().unwrap();
    let resealed =
        reseal(&keyring(SecretKey::read(&key.to_jwk()).unwrap()), &other.recipient(), &sealed).unwrap();
    assert_eq!(unseal(&keyring(key), &sealed).unwrap().to_json(), CLEAR);
    assert_eq!(unseal(&keyring(other), &resealed).unwrap().to_json(), CLEAR);
}

#[test]
fn what_others_sealed_is_opened() {
    let opened = unseal(&keyring(SecretKey::read(KEY).unwrap()), &value(SEALED)).unwrap();
    assert_eq!(opened.to_json(), r#"{"text":"s3cr3t","number":1.50,"nothing":null}"#);
}

#[test]
fn nothing_else_opens_and_messages_keep_secrets() {
    let key = || SecretKey::read(KEY).unwrap();
    let token = value(SEALED).as_object().unwrap().get("text").unwrap().as_text().unwrap().to_owned();
    let why_not = |token: &str| {
        let sealed = Value::object([("name", Value::Text(token.into()))]);
        unseal(&keyring(key()), &sealed).unwrap_err().to_string()
    };
    let stranger = SecretKey::generate().unwrap();
    let sealed = Value::object([("name", Value::Text(token.as_str().into()))]);
    let error = unseal(&keyring(stranger), &sealed).unwrap_err().to_string();
    assert_eq!(error, "`name`: it is sealed to the key `plant-7`, which is not here");
    // Each part counts: header, nonce, text, tag.
    for at in [30, 250, token.len() - 30, token.len() - 5] {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        let error = why_not(&changed);
        assert!(error.starts_with("`name`: "), "{error}");
    }
    for text in ["s3cr3t", "ENC[]", "ENC[a.b.c]", "ENC[....]", "ENC[a..b.c.d]"] {
        let error = why_not(text);
        assert!(!error.contains("s3cr3t"), "{error}");
    }
    assert!(!format!("{:?}", key()).contains("8FE_"));
}

/// A token that asks for another algorithm, or for nothing to be checked, is not obeyed.
#[test]
fn tokens_do_not_choose_how_they_are_opened() {
    use base64::Engine as _;
    let base64 = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    for (header, why) in [
        (r#"{"alg":"dir","enc":"A256GCM","kid":"plant-7"}"#, "not sealed with"),
        (r#"{"alg":"ECDH-ES","enc":"A128CBC-HS256","kid":"plant-7"}"#, "not sealed with"),
        (r#"{"alg":"ECDH-ES","enc":"A256GCM","kid":"plant-7","zip":"DEF"}"#, "`zip`"),
        (r#"{"alg":"ECDH-ES","enc":"A256GCM","kid":"plant-7","crit":["x"]}"#, "`crit`"),
        (r#"{"alg":"ECDH-ES","enc":"A256GCM"}"#, "does not say to which key"),
        (r#"{"alg":"ECDH-ES","enc":"A256GCM","kid":"plant-7"}"#, "no `epk`"),
        // A point of low order, with which everybody agrees on zero.
        (
            r#"{"alg":"ECDH-ES","enc":"A256GCM","kid":"plant-7","epk":{"x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}"#,
            "none that could have been made",
        ),
        ("[]", "no JSON object"),
    ] {
        let token = format!("ENC[{}..AAAAAAAAAAAAAAAA.AA.AAAAAAAAAAAAAAAAAAAAAA]", base64.encode(header));
        let error = unseal(&keyring(SecretKey::read(KEY).unwrap()), &Value::Text(token.into())).unwrap_err();
        assert!(error.to_string().contains(why), "{header}: {error}");
    }
}

#[test]
fn keys_are_read_as_they_are_written() {
    let key = SecretKey::generate().unwrap();
    assert_eq!(SecretKey::read(&key.to_jwk()).unwrap().to_jwk(), key.to_jwk());
    let public = key.recipient().to_jwk();
    assert!(!public.contains("\"d\""), "{public}");
    assert_eq!(RecipientKey::read(&public).unwrap(), key.recipient());
    assert!(SecretKey::read(&public).unwrap_err().to_string().contains("public key"));
    for (from, to) in [("\"kid\"", "\"k\""), ("X25519", "Ed25519"), ("OKP", "EC"), ("\"x\":\"", "\"x\":\"AA")]
    {
        assert!(SecretKey::read(&key.to_jwk().replace(from, to)).is_err(), "{from}");
    }
    let twice = vec![SecretKey::read(KEY).unwrap(), SecretKey::read(KEY).unwrap()];
    assert_eq!(Keyring::new(twice).unwrap_err().to_string(), "two keys are called `plant-7`");
}

#[test]
fn a_bundle_says_to_whom_its_secrets_are_sealed() {
    let (key, other) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
    let sealed = |to: &SecretKey| seal(&to.recipient(), &value(CLEAR)).unwrap().to_json().into_bytes();
    let mut with_secrets = draft("2026-01-31T12:00:00Z");
    with_secrets.add("secrets.sealed.json", sealed(&key)).unwrap();
    let bundle = read(&with_secrets.finish(None).unwrap());
    assert_eq!(bundle.manifest().recipient.as_deref(), Some(key.id()));
    let mut twice = draft("2026-01-31T12:00:00Z");
    twice.add("secrets.sealed.json", sealed(&key)).unwrap();
    twice.add("ext-x-secrets.sealed.json", sealed(&other)).unwrap();
    assert!(twice.finish(None).unwrap_err().to_string().contains("a bundle has one"));
    let mut clear = BundleDraft::new("2026-01-31T12:00:00Z").unwrap();
    for name in ["secrets.json", "ext-x-secrets.json", "secrets.sealed.json"] {
        let error = clear.add(name, CLEAR.into()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{name}`")), "{error}");
    }
}

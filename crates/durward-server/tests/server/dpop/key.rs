//! A client's key, and the proofs that it has it.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use crate::oauth::world::{ISSUER, now_s};

pub(crate) struct ProofKey {
    pair: EcdsaKeyPair,
    made: AtomicU64,
}

impl ProofKey {
    pub(crate) fn new() -> ProofKey {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        ProofKey { pair, made: AtomicU64::new(0) }
    }

    pub(crate) fn jwk(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        json!({ "crv": "P-256", "kty": "EC", "x": encoded(x), "y": encoded(y) })
    }

    /// RFC 7638.
    pub(crate) fn thumbprint(&self) -> String {
        // `json!` sorts names, or leaves them as they are, which is sorted too.
        digest_of(&self.jwk().to_string())
    }

    /// A proof, whose claims and members of its header are changed as this says; null leaves one out.
    pub(crate) fn changed(&self, claims: &[(&str, Value)], header: &[(&str, Value)]) -> String {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let address = format!("{ISSUER}/oauth2/token");
        let usual =
            json!({ "jti": format!("proof {number}"), "htm": "POST", "htu": address, "iat": now_s() });
        let usual_header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk() });
        self.sign(&with(usual_header, header), &with(usual, claims))
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", encoded(signature.as_ref()))
    }

    /// A proof for the token endpoint.
    pub(crate) fn proof(&self) -> String {
        self.changed(&[], &[])
    }

    /// A proof for another request, with a token.
    pub(crate) fn proof_at(&self, method: &str, address: &str, token: Option<&str>) -> String {
        let token = token.map_or(Value::Null, |token| json!(digest_of(token)));
        self.changed(&[("htm", json!(method)), ("htu", json!(address)), ("ath", token)], &[])
    }
}

fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (name, value) in changes {
        if value.is_null() {
            object.as_object_mut().unwrap().remove(*name);
        } else {
            object[*name] = value.clone();
        }
    }
    object
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn digest_of(text: &str) -> String {
    encoded(digest(&SHA256, text.as_bytes()))
}

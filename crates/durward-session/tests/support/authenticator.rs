//! An authenticator in software, with a browser before it: what it says can be made wrong in every part.
#![allow(dead_code, reason = "each test uses some of it")]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

/// A key that nobody uses.
const RSA: &str = include_str!("../../../durward-identity/tests/identity/rsa.pem");

/// The user is there.
pub(crate) const PRESENT: u8 = 1;
/// The user is verified.
pub(crate) const VERIFIED: u8 = 4;
/// There may be copies.
pub(crate) const ELIGIBLE: u8 = 8;
/// There are copies.
pub(crate) const BACKED_UP: u8 = 16;
const HAS_CREDENTIAL: u8 = 64;

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn decode(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

/// CBOR, as far as it is needed here.
pub(crate) mod cbor {
    pub(crate) fn head(major: u8, number: u64) -> Vec<u8> {
        let major = major << 5;
        match number {
            0..=23 => vec![major | u8::try_from(number).unwrap()],
            24..=255 => vec![major | 24, u8::try_from(number).unwrap()],
            _ => [&[major | 25][..], &u16::try_from(number).unwrap().to_be_bytes()].concat(),
        }
    }

    pub(crate) fn number(number: i64) -> Vec<u8> {
        match u64::try_from(number) {
            Ok(number) => head(0, number),
            Err(_) => head(1, u64::try_from(-1 - number).unwrap()),
        }
    }

    pub(crate) fn bytes(bytes: &[u8]) -> Vec<u8> {
        [head(2, bytes.len() as u64), bytes.to_vec()].concat()
    }

    pub(crate) fn text(text: &str) -> Vec<u8> {
        [head(3, text.len() as u64), text.as_bytes().to_vec()].concat()
    }

    pub(crate) fn map(entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
        let mut all = head(5, entries.len() as u64);
        entries.iter().for_each(|(key, value)| all.extend([key.as_slice(), value].concat()));
        all
    }
}

enum Key {
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

/// One passkey, and what its authenticator and the browser say with it.
pub(crate) struct Authenticator {
    key: Key,
    pub(crate) id: Vec<u8>,
    pub(crate) handle: Option<Vec<u8>>,
    /// The relying party that it signs for, where that is not the one of the options.
    pub(crate) rp_id: Option<String>,
    pub(crate) origin: String,
    pub(crate) cross_origin: bool,
    /// What the client data say that it is.
    pub(crate) kind: Option<&'static str>,
    pub(crate) flags: u8,
    /// How it counts: what is added for each use, and the count.
    pub(crate) step: u32,
    pub(crate) count: u32,
    /// What stands behind the key.
    pub(crate) behind: Vec<u8>,
    pub(crate) format: &'static str,
    /// Another key in the form of COSE than its own.
    pub(crate) cose: Option<Vec<u8>>,
}

impl Authenticator {
    fn with(key: Key, origin: &str) -> Authenticator {
        let mut id = vec![0; 32];
        SystemRandom::new().fill(&mut id).unwrap();
        Authenticator {
            key,
            id,
            handle: None,
            rp_id: None,
            origin: origin.to_owned(),
            cross_origin: false,
            kind: None,
            flags: PRESENT | VERIFIED,
            step: 1,
            count: 0,
            behind: Vec::new(),
            format: "none",
            cose: None,
        }
    }

    pub(crate) fn new(origin: &str) -> Authenticator {
        let (how, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(how, &random).unwrap();
        Authenticator::with(
            Key::P256(EcdsaKeyPair::from_pkcs8(how, document.as_ref(), &random).unwrap()),
            origin,
        )
    }

    pub(crate) fn ed25519(origin: &str) -> Authenticator {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Authenticator::with(Key::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap()), origin)
    }

    pub(crate) fn rsa(origin: &str) -> Authenticator {
        let text: String = RSA.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        Authenticator::with(Key::Rsa(Box::new(RsaKeyPair::from_pkcs8(&der).unwrap())), origin)
    }

    /// The public key, as authenticators write it.
    pub(crate) fn own_cose(&self) -> Vec<u8> {
        use cbor::{bytes, map, number};
        let entry = |key: i64, value: Vec<u8>| (number(key), value);
        match &self.key {
            Key::P256(pair) => {
                let point = pair.public_key().as_ref().get(1..).unwrap();
                let (x, y) = point.split_at(32);
                map(&[
                    entry(1, number(2)),
                    entry(3, number(-7)),
                    entry(-1, number(1)),
                    entry(-2, bytes(x)),
                    entry(-3, bytes(y)),
                ])
            }
            Key::Ed25519(pair) => map(&[
                entry(1, number(1)),
                entry(3, number(-8)),
                entry(-1, number(6)),
                entry(-2, bytes(pair.public_key().as_ref())),
            ]),
            Key::Rsa(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                map(&[
                    entry(1, number(3)),
                    entry(3, number(-257)),
                    entry(-1, bytes(&n)),
                    entry(-2, bytes(&e)),
                ])
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.key {
            Key::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Key::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Key::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
                signature
            }
        }
    }

    fn client_data(&self, kind: &str, challenge: &Value) -> Vec<u8> {
        let kind = self.kind.unwrap_or(kind);
        let data = json!({
            "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": self.cross_origin,
        });
        data.to_string().into_bytes()
    }

    fn data(&mut self, rp_id: &str, flags: u8) -> Vec<u8> {
        self.count += self.step;
        let rp_id = self.rp_id.as_deref().unwrap_or(rp_id);
        [digest(&SHA256, rp_id.as_bytes()).as_ref(), &[self.flags | flags], &self.count.to_be_bytes()]
            .concat()
    }

    /// What `navigator.credentials.create` gives for these options.
    pub(crate) fn create(&mut self, options: &Value) -> Value {
        self.handle = Some(decode(options.pointer("/user/id").unwrap().as_str().unwrap()));
        let mut data = self.data(options.pointer("/rp/id").unwrap().as_str().unwrap(), HAS_CREDENTIAL);
        data.extend([0; 16]);
        data.extend(u16::try_from(self.id.len()).unwrap().to_be_bytes());
        data.extend(&self.id);
        data.extend(self.cose.clone().unwrap_or_else(|| self.own_cose()));
        data.extend(&self.behind);
        let statement =
            if self.format == "none" { Vec::new() } else { vec![(cbor::text("x"), cbor::bytes(&[7]))] };
        let object = cbor::map(&[
            (cbor::text("fmt"), cbor::text(self.format)),
            (cbor::text("attStmt"), cbor::map(&statement)),
            (cbor::text("authData"), cbor::bytes(&data)),
        ]);
        json!({
            "id": encode(&self.id),
            "rawId": encode(&self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encode(self.client_data("webauthn.create", &options["challenge"])),
                "attestationObject": encode(object),
                "transports": ["internal", "hybrid"],
            },
        })
    }

    /// What `navigator.credentials.get` gives for these options.
    pub(crate) fn get(&mut self, options: &Value) -> Value {
        let client_data = self.client_data("webauthn.get", &options["challenge"]);
        let mut data = self.data(options["rpId"].as_str().unwrap(), 0);
        data.extend(&self.behind);
        let signature = self.sign(&[data.as_slice(), digest(&SHA256, &client_data).as_ref()].concat());
        json!({
            "id": encode(&self.id),
            "rawId": encode(&self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "clientDataJSON": encode(client_data),
                "authenticatorData": encode(data),
                "signature": encode(signature),
                "userHandle": self.handle.as_ref().map(encode),
            },
        })
    }
}

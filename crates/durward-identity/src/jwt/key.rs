//! Keys that sign tokens.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use serde_json::{Map, Value, json};

use crate::IdentityError;
use crate::error::failed;

/// How tokens are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Ed25519: short and quick.
    EdDsa,
    /// ECDSA over P-256.
    Es256,
    /// RSA: for services that know nothing else. Keys are brought, not made.
    Rs256,
}

impl Algorithm {
    /// As headers and key sets name it.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::EdDsa => "EdDSA",
            Algorithm::Es256 => "ES256",
            Algorithm::Rs256 => "RS256",
        }
    }
}

const RSA_IS_BROUGHT: &str =
    "keys for RS256 are brought, not made: `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072`";

/// What stands in PKCS #8 before the 32 bytes of a key of Ed25519 (RFC 8410, 7; RFC 8032, 5.1.5: any bytes are a key).
const ED25519_PKCS8: &[u8] = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// What stands in PKCS #8 before the 32 bytes of a key of P-256, and between those and its point (RFC 5208; RFC 5915, 3).
const P256_PKCS8: &[u8] = b"\x30\x81\x87\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\
    \x04\x6d\x30\x6b\x02\x01\x01\x04\x20";
const P256_PKCS8_POINT: &[u8] = b"\xa1\x44\x03\x42\x00";

enum Pair {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
}

/// A key that signs tokens.
pub struct SigningKey {
    pair: Pair,
    id: String,
    /// PKCS #8, where the key was made here or is to be kept.
    der: Vec<u8>,
}

impl SigningKey {
    /// Makes a key.
    ///
    /// # Errors
    /// There is no randomness to be had; or RSA, which takes an own key (`openssl genpkey -algorithm RSA`).
    pub fn generate(algorithm: Algorithm) -> Result<SigningKey, IdentityError> {
        let random = SystemRandom::new();
        let failed = |_| IdentityError::new("no key could be made: the system gives no randomness");
        let der = match algorithm {
            Algorithm::EdDsa => Ed25519KeyPair::generate_pkcs8(&random).map_err(failed)?,
            Algorithm::Es256 => {
                EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).map_err(failed)?
            }
            Algorithm::Rs256 => return Err(IdentityError::new(RSA_IS_BROUGHT)),
        };
        SigningKey::from_pkcs8(der.as_ref())
    }

    /// The key of 32 secret bytes: whoever has them comes to the same one, so that nodes need not tell it each other. Bytes that are no
    /// number of the curve, one in four billion, are digested until they are.
    ///
    /// # Errors
    /// RSA, which takes an own key.
    pub fn of_secret(algorithm: Algorithm, secret: &[u8; 32]) -> Result<SigningKey, IdentityError> {
        match algorithm {
            Algorithm::EdDsa => SigningKey::from_pkcs8(&[ED25519_PKCS8, secret].concat()),
            Algorithm::Es256 => {
                let again = |secret: &[u8; 32]| digest(&SHA256, secret).as_ref().try_into().ok();
                let key = std::iter::successors(Some(*secret), again)
                    .find_map(|secret| p256::ecdsa::SigningKey::from_slice(&secret).ok());
                let key = key.ok_or_else(|| IdentityError::new("no key of P-256 could be made"))?;
                let point = key.verifying_key().to_sec1_point(false);
                let der = [P256_PKCS8, &key.to_bytes(), P256_PKCS8_POINT, point.as_bytes()].concat();
                SigningKey::from_pkcs8(&der)
            }
            Algorithm::Rs256 => failed(RSA_IS_BROUGHT),
        }
    }

    /// Reads a private key: PKCS #8 as PEM, unencrypted, of any of the algorithms.
    ///
    /// # Errors
    /// Anything else. The text is in no message.
    pub fn read(pem: &str) -> Result<SigningKey, IdentityError> {
        let body: String = pem
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("-----"))
            .collect();
        if !pem.contains("-----BEGIN PRIVATE KEY-----") {
            return failed("it is no private key in PEM (`-----BEGIN PRIVATE KEY-----`, PKCS #8)");
        }
        let der = STANDARD.decode(body).map_err(|_| IdentityError::new("the private key is no Base64"))?;
        SigningKey::from_pkcs8(&der)
    }

    /// Reads a private key: PKCS #8.
    ///
    /// # Errors
    /// Anything else than a key of Ed25519, P-256, or RSA of 2048 bits and more.
    pub fn from_pkcs8(der: &[u8]) -> Result<SigningKey, IdentityError> {
        let random = SystemRandom::new();
        let pair = if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
            Pair::Ed25519(pair)
        } else if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random) {
            Pair::P256(pair)
        } else if let Ok(pair) = RsaKeyPair::from_pkcs8(der) {
            Pair::Rsa(Box::new(pair))
        } else {
            return failed("it is no private key of Ed25519, P-256, or RSA of 2048 bits and more (PKCS #8)");
        };
        let mut key = SigningKey { pair, id: String::new(), der: der.to_vec() };
        // RFC 7638: the digest of the public key's required members, in the order of their names.
        let members =
            serde_json::to_vec(&key.members()).map_err(|error| IdentityError::new(error.to_string()))?;
        key.id = URL_SAFE_NO_PAD.encode(digest(&SHA256, &members));
        Ok(key)
    }

    /// The key's name: its thumbprint.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key as PKCS #8. Whoever has it can sign.
    pub fn expose(&self) -> &[u8] {
        &self.der
    }

    /// How it signs.
    pub fn algorithm(&self) -> Algorithm {
        match &self.pair {
            Pair::Ed25519(_) => Algorithm::EdDsa,
            Pair::P256(_) => Algorithm::Es256,
            Pair::Rsa(_) => Algorithm::Rs256,
        }
    }

    /// The public key as others read it (RFC 7517).
    pub fn to_jwk(&self) -> Value {
        let mut jwk = Map::new();
        jwk.insert("kid".to_owned(), json!(self.id));
        jwk.insert("use".to_owned(), json!("sig"));
        jwk.insert("alg".to_owned(), json!(self.algorithm().name()));
        jwk.extend(self.members());
        Value::Object(jwk)
    }

    /// The members that make the key, sorted by name.
    fn members(&self) -> Map<String, Value> {
        let encode = |bytes: &[u8]| Value::String(URL_SAFE_NO_PAD.encode(bytes));
        let members = match &self.pair {
            Pair::Ed25519(pair) => {
                vec![
                    ("crv", json!("Ed25519")),
                    ("kty", json!("OKP")),
                    ("x", encode(pair.public_key().as_ref())),
                ]
            }
            // A point is written as 4, x, y.
            Pair::P256(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = (point.get(1..33).unwrap_or_default(), point.get(33..).unwrap_or_default());
                vec![("crv", json!("P-256")), ("kty", json!("EC")), ("x", encode(x)), ("y", encode(y))]
            }
            Pair::Rsa(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                vec![("e", encode(&e)), ("kty", json!("RSA")), ("n", encode(&n))]
            }
        };
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, IdentityError> {
        let random = SystemRandom::new();
        let failed = |_| IdentityError::new("signing failed: the system gives no randomness");
        match &self.pair {
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::P256(pair) => Ok(pair.sign(&random, message).map_err(failed)?.as_ref().to_vec()),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified =
            match &self.pair {
                Pair::Ed25519(pair) => {
                    UnparsedPublicKey::new(&ED25519, pair.public_key()).verify(message, signature)
                }
                Pair::P256(pair) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key())
                    .verify(message, signature),
                Pair::Rsa(pair) => UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public())
                    .verify(message, signature),
            };
        verified.is_ok()
    }
}

/// Without what is secret.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, {})", self.algorithm().name(), self.id)
    }
}

//! Keys that sign tokens.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use durward_jwt::{Curve, EcKey, JwsAlgorithm, KeyError, PublicKey, RsaKey};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
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
    /// All of them.
    pub const ALL: [Algorithm; 3] = [Algorithm::EdDsa, Algorithm::Es256, Algorithm::Rs256];

    /// As the verifier of tokens has it.
    pub const fn of_jws(self) -> JwsAlgorithm {
        match self {
            Algorithm::EdDsa => JwsAlgorithm::EdDsa,
            Algorithm::Es256 => JwsAlgorithm::Es256,
            Algorithm::Rs256 => JwsAlgorithm::Rs256,
        }
    }

    /// As headers and key sets name it.
    pub const fn name(self) -> &'static str {
        self.of_jws().name()
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
    public: PublicKey,
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
        let public = pair.public().map_err(|error| IdentityError::new(error.to_string()))?;
        let id = public.thumbprint();
        Ok(SigningKey { pair, public, id, der: der.to_vec() })
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
        let members = self.public.jwk_members().into_iter();
        jwk.extend(members.map(|(name, value)| (name.to_owned(), Value::String(value))));
        Value::Object(jwk)
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

    pub(super) fn public(&self) -> &PublicKey {
        &self.public
    }
}

impl Pair {
    fn public(&self) -> Result<PublicKey, KeyError> {
        match self {
            Pair::Ed25519(pair) => {
                let key = pair.public_key().as_ref();
                key.try_into().map(PublicKey::Ed25519).map_err(|_| KeyError::Length(key.len()))
            }
            Pair::P256(pair) => EcKey::of_point(Curve::P256, pair.public_key().as_ref()).map(PublicKey::Ec),
            Pair::Rsa(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                RsaKey::new(&n, &e).map(PublicKey::Rsa)
            }
        }
    }
}

/// Without what is secret.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, {})", self.algorithm().name(), self.id)
    }
}

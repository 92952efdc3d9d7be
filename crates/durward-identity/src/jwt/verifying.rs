//! Public keys: what verifies tokens where they are not made.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

use super::key::Algorithm;
use super::keys::{SIGNING_KEYS_MAX, SigningKeys};
use super::token::{Claims, Expected, JwtRefusal, believe, is_for, open};
use crate::error::failed;
use crate::{IdentityError, Moment};

/// The longest key id (`kid`).
const KEY_ID_LENGTH_MAX: usize = 256;

/// What a key of RSA has at least: 2048 bits.
const RSA_MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

#[derive(Clone, PartialEq, Eq)]
enum Public {
    Ed25519([u8; 32]),
    /// The point: 4, x, y.
    P256([u8; 65]),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

/// A key that verifies tokens.
#[derive(Clone, PartialEq, Eq)]
struct VerifyingKey {
    id: String,
    public: Public,
}

/// The public keys of an issuer, as it publishes them (JWKS, RFC 7517). Does not change: when the issuer has other ones, read
/// them again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyingKeys {
    keys: Vec<VerifyingKey>,
}

impl VerifyingKeys {
    /// Reads a key set. Keys that are for something else, or of a kind that is unknown here, are passed over (RFC 7517, 5).
    ///
    /// # Errors
    /// It is no key set, has more than [`SIGNING_KEYS_MAX`] keys, two of one name, or none that verifies.
    pub fn read(jwks: &Value) -> Result<VerifyingKeys, IdentityError> {
        let Some(set) = jwks.get("keys").and_then(Value::as_array) else {
            return failed("it is no key set: the member `keys` is missing");
        };
        if set.len() > SIGNING_KEYS_MAX {
            return failed(format!("the key set has {} keys; {SIGNING_KEYS_MAX} at most", set.len()));
        }
        let keys: Vec<VerifyingKey> = set.iter().filter_map(VerifyingKey::read).collect();
        for (at, key) in keys.iter().enumerate() {
            if keys.iter().take(at).any(|other| other.id == key.id) {
                return failed(format!("the key set has two keys `{}`", key.id));
            }
        }
        if keys.is_empty() {
            return failed(
                "the key set has no key of Ed25519, P-256 or RSA (2048 bits and more) that verifies",
            );
        }
        Ok(VerifyingKeys { keys })
    }

    /// What a token says, if it may be believed at this very moment: it has ended when `exp` is now, and it is from the future when
    /// `iat` or `nbf` is more than `skew` ahead. The skew is only for that; an end has none.
    ///
    /// # Errors
    /// It may not be believed.
    pub fn verify(
        &self,
        now: Moment,
        token: &str,
        expected: Expected<'_>,
        skew: Duration,
    ) -> Result<Claims, JwtRefusal> {
        let find = |id: &str| self.keys.iter().find(|key| key.id == id);
        let claims = open(token, find, VerifyingKey::algorithm, VerifyingKey::verifies)?;
        is_for(believe(now, claims, expected.issuer, skew)?, expected.audience)
    }

    /// Whether there is a key of this name.
    pub fn has(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.id == id)
    }
}

impl SigningKeys {
    /// The public keys, for whoever verifies beside the one who signs.
    ///
    /// # Errors
    /// There is no key.
    pub fn verifying(&self, now: Moment) -> Result<VerifyingKeys, IdentityError> {
        VerifyingKeys::read(&self.to_jwks(now))
    }
}

impl VerifyingKey {
    fn read(jwk: &Value) -> Option<VerifyingKey> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        let id = text("kid").filter(|id| !id.is_empty() && id.len() <= KEY_ID_LENGTH_MAX)?.to_owned();
        if jwk.get("use").is_some() && text("use") != Some("sig") {
            return None;
        }
        let public = match (text("kty")?, text("crv")) {
            ("OKP", Some("Ed25519")) => Public::Ed25519(bytes("x")?.try_into().ok()?),
            ("EC", Some("P-256")) => {
                Public::P256([&[4], bytes("x")?.as_slice(), bytes("y")?.as_slice()].concat().try_into().ok()?)
            }
            ("RSA", None) => {
                let (n, e) = (bytes("n")?, bytes("e")?);
                RSA_MODULUS_BYTES.contains(&n.len()).then_some(Public::Rsa { n, e })?
            }
            _ => return None,
        };
        let key = VerifyingKey { id, public };
        // A key that is said to be for another algorithm verifies nothing here.
        (jwk.get("alg").is_none() || text("alg") == Some(key.algorithm().name())).then_some(key)
    }

    fn algorithm(&self) -> Algorithm {
        match &self.public {
            Public::Ed25519(_) => Algorithm::EdDsa,
            Public::P256(_) => Algorithm::Es256,
            Public::Rsa { .. } => Algorithm::Rs256,
        }
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.public {
            Public::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
            Public::P256(key) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key).verify(message, signature)
            }
            Public::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        };
        verified.is_ok()
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({}, {})", self.algorithm().name(), self.id)
    }
}

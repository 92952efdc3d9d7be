//! Public keys: what verifies tokens where they are not made.

use std::fmt;
use std::time::Duration;

use durward_jwt::{Jwk, JwkSet, PublicKey};
use serde_json::Value;

use super::key::Algorithm;
use super::keys::{SIGNING_KEYS_MAX, SigningKeys};
use super::token::{Claims, Expected, JwtRefusal, believe, is_for, open};
use crate::error::failed;
use crate::{IdentityError, Moment};

/// A key that verifies tokens.
#[derive(Clone, PartialEq, Eq)]
struct VerifyingKey {
    id: String,
    public: PublicKey,
    algorithm: Algorithm,
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
        let set = jwks.as_object().map(JwkSet::of);
        let Some(Ok(set)) = set else {
            return failed("it is no key set: the member `keys` is missing");
        };
        let set = set.keys();
        if set.len() > SIGNING_KEYS_MAX {
            return failed(format!("the key set has {} keys; {SIGNING_KEYS_MAX} at most", set.len()));
        }
        let keys: Vec<VerifyingKey> = set.iter().filter_map(VerifyingKey::of).collect();
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
        self.verify_with_key(now, token, expected, skew).map(|(claims, _)| claims)
    }

    /// The same, and the name of the key that verified it.
    ///
    /// # Errors
    /// As [`VerifyingKeys::verify`].
    pub fn verify_with_key(
        &self,
        now: Moment,
        token: &str,
        expected: Expected<'_>,
        skew: Duration,
    ) -> Result<(Claims, &str), JwtRefusal> {
        let mut used = "";
        let find = |id: &str| {
            let key = self.keys.iter().find(|key| key.id == id)?;
            used = key.id.as_str();
            Some((&key.public, key.algorithm))
        };
        let claims = open(token, find)?;
        Ok((is_for(believe(now, claims, expected.issuer, skew)?, expected.audience)?, used))
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
    /// `None` for a key without a name, and for one that verifies by none of the algorithms that tokens are signed by here.
    fn of(jwk: &Jwk) -> Option<VerifyingKey> {
        let id = jwk.id()?.to_owned();
        let key = jwk.verifying().ok()?;
        let algorithm = Algorithm::ALL.into_iter().find(|algorithm| key.allows(algorithm.of_jws()))?;
        Some(VerifyingKey { id, public: key.public().clone(), algorithm })
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({}, {})", self.algorithm.name(), self.id)
    }
}

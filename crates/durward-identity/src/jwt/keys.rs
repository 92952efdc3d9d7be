//! The keys in use, one after the other.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::key::SigningKey;
use crate::error::failed;
use crate::{CLOCK_SKEW_MAX, IdentityError, Moment};

/// Signing keys in use, with the future ones and those that only verify.
pub const SIGNING_KEYS_MAX: usize = 32;

/// Keys, oldest first. Does not change: with another key, it is another one.
#[derive(Clone, Debug)]
pub struct SigningKeys {
    /// Each with the moment from which on it signs.
    keys: Vec<(Moment, Arc<SigningKey>)>,
    lifetime_max: Duration,
}

impl SigningKeys {
    /// No keys, for tokens that live this long at most.
    pub const fn new(lifetime_max: Duration) -> SigningKeys {
        SigningKeys { keys: Vec::new(), lifetime_max }
    }

    /// The keys, oldest first, each with the moment from which on it signs.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Moment, &SigningKey)> {
        self.keys.iter().map(|(from, key)| (*from, &**key))
    }

    /// How long a token lives at most.
    pub fn lifetime_max(&self) -> Duration {
        self.lifetime_max
    }

    /// With one more key, that signs from a moment on; until then it is only published, so that others know it by then. Without those
    /// whose last token has ended.
    ///
    /// # Errors
    /// There would be more than [`SIGNING_KEYS_MAX`].
    pub fn with(
        &self,
        key: SigningKey,
        signs_from: Moment,
        now: Moment,
    ) -> Result<SigningKeys, IdentityError> {
        let mut keys: Vec<_> = self.used(now).map(|(from, key)| (*from, Arc::clone(key))).collect();
        if keys.len() >= SIGNING_KEYS_MAX {
            return failed(format!("{SIGNING_KEYS_MAX} signing keys are in use already: rotate less often"));
        }
        keys.retain(|(_, other)| other.id() != key.id());
        keys.push((signs_from, Arc::new(key)));
        keys.sort_by(|(a, key), (b, other)| (a, key.id()).cmp(&(b, other.id())));
        Ok(SigningKeys { keys, lifetime_max: self.lifetime_max })
    }

    /// Those whose tokens may still live: a key signs until the next one does.
    fn used(&self, now: Moment) -> impl Iterator<Item = &(Moment, Arc<SigningKey>)> {
        let ends = self.keys.iter().skip(1).map(|(from, _)| Some(*from)).chain([None]);
        let is_used = move |end: Option<Moment>| {
            end.is_none_or(|end| now <= end.plus(self.lifetime_max).plus(2 * CLOCK_SKEW_MAX))
        };
        self.keys.iter().zip(ends).filter(move |(_, end)| is_used(*end)).map(|(key, _)| key)
    }

    /// The newest key whose time has come; when none's has, the one whose comes first.
    pub(super) fn signing(&self, now: Moment) -> Option<&SigningKey> {
        let due = self.keys.iter().rev().find(|(from, _)| *from <= now);
        due.or(self.keys.first()).map(|(_, key)| &**key)
    }

    pub(super) fn find(&self, id: &str, now: Moment) -> Option<&SigningKey> {
        self.used(now).map(|(_, key)| &**key).find(|key| key.id() == id)
    }

    /// The public keys, for `/.well-known/jwks.json`: those to come as well.
    pub fn to_jwks(&self, now: Moment) -> Value {
        json!({ "keys": self.used(now).map(|(_, key)| key.to_jwk()).collect::<Vec<_>>() })
    }
}

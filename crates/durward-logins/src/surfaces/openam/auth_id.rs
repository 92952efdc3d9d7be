//! `authId`: what a login under way is, carried by the client. A JWT signed (HS256) with a key that all nodes derive from the
//! cluster's secret, so that the next step may go to any node; nothing is kept for those who never come back.
//!
//! It opens nothing by itself: the password, or the code, must come with it. That it is taken only once is remembered on each node,
//! as OpenAM's clients expect; another node would only ask for the password again.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_session::identity::Moment;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The longest `authId` that is read, in characters.
const LENGTH_MAX: usize = 4096;

/// How many used `authId`s are remembered in each of two sets; the older set is dropped when the newer one is full.
const USED_MAX: usize = 50_000;

const HEADER: &str = r#"{"typ":"JWT","alg":"HS256"}"#;

/// What a login under way is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claims {
    /// Random: no two are alike.
    otk: String,
    pub(super) realm: String,
    /// Seconds since 1970 began.
    exp: u64,
    /// Whose password was right, for the step after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) challenge: Option<String>,
    /// The login whose password must be changed, for the step after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) password_change: Option<String>,
}

/// What a login under way has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing yet.
    Begun,
    /// A code is wanted.
    Challenged(String),
    /// Another password is wanted.
    MustChange(String),
}

/// Why one is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It has so many parts, where three are needed.
    Parts(usize),
    Unreadable,
    Signature,
    /// Its time is over, or it was used.
    Over,
}

pub(super) struct AuthIds {
    key: [u8; 32],
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    newer: HashSet<String>,
    older: HashSet<String>,
}

impl AuthIds {
    pub(super) fn new(key: [u8; 32]) -> AuthIds {
        AuthIds { key, used: Mutex::default() }
    }

    /// A new one. Nothing without randomness.
    pub(super) fn make(
        &self,
        realm: &str,
        progress: Progress,
        now: Moment,
        lifetime: Duration,
    ) -> Option<String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let otk = URL_SAFE_NO_PAD.encode(random);
        let exp = now.plus(lifetime).ms().div_ceil(1000);
        let (challenge, password_change) = match progress {
            Progress::Begun => (None, None),
            Progress::Challenged(challenge) => (Some(challenge), None),
            Progress::MustChange(change) => (None, Some(change)),
        };
        let claims = Claims { otk, realm: realm.to_owned(), exp, challenge, password_change };
        let claims = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&claims).ok()?);
        let said = format!("{}.{claims}", URL_SAFE_NO_PAD.encode(HEADER));
        let tag = URL_SAFE_NO_PAD.encode(self.mac(&said)?.finalize().into_bytes());
        Some(format!("{said}.{tag}"))
    }

    fn mac(&self, said: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        mac.update(said.as_bytes());
        Some(mac)
    }

    /// What it says, if it was made here and is not over. From here on it is used: see [`AuthIds::give_back`].
    ///
    /// # Errors
    /// It is not taken.
    pub(super) fn take(&self, text: &str, now: Moment) -> Result<Claims, Fault> {
        let parts: Vec<&str> = text.split('.').take(9).collect();
        let [header, said, tag] = parts.as_slice() else { return Err(Fault::Parts(parts.len())) };
        if text.len() > LENGTH_MAX {
            return Err(Fault::Unreadable);
        }
        let decoded = |part: &&str| URL_SAFE_NO_PAD.decode(part).map_err(|_| Fault::Unreadable);
        let (header_bytes, said_bytes, tag) = (decoded(header)?, decoded(said)?, decoded(tag)?);
        // No other algorithm, `none` among them, is ever looked at.
        if header_bytes != HEADER.as_bytes() {
            return Err(Fault::Signature);
        }
        let mac = self.mac(&format!("{header}.{said}")).ok_or(Fault::Signature)?;
        mac.verify_slice(&tag).map_err(|_| Fault::Signature)?;
        let claims: Claims = serde_json::from_slice(&said_bytes).map_err(|_| Fault::Unreadable)?;
        if claims.exp.saturating_mul(1000) <= now.ms() || !self.used().add(&claims.otk) {
            return Err(Fault::Over);
        }
        Ok(claims)
    }

    /// Nothing came of it, and it may be used again: the server could not say.
    pub(super) fn give_back(&self, claims: &Claims) {
        let mut used = self.used();
        used.newer.remove(&claims.otk);
        used.older.remove(&claims.otk);
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Used {
    /// Whether it is new.
    fn add(&mut self, otk: &str) -> bool {
        if self.newer.contains(otk) || self.older.contains(otk) {
            return false;
        }
        if self.newer.len() >= USED_MAX {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(otk.to_owned())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Parts(count) => write!(f, "Failed to parse JWT, not right number of dots, {count}"),
            Fault::Unreadable => f.write_str("Failed to parse JWT"),
            Fault::Signature => f.write_str("AuthId JWT Signature not valid"),
            Fault::Over => f.write_str("Session has timed out"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(120);

    fn at(ms: u64) -> Moment {
        Moment::from_ms(1_700_000_000_000 + ms)
    }

    #[test]
    fn an_auth_id_is_taken_once_and_in_its_time() {
        let ids = AuthIds::new([1; 32]);
        let text = ids.make("/sales", Progress::Challenged("anna".to_owned()), at(0), LIFE).unwrap();
        let claims = ids.take(&text, at(119_000)).unwrap();
        assert_eq!((claims.realm.as_str(), claims.challenge.as_deref()), ("/sales", Some("anna")));
        assert_eq!(ids.take(&text, at(1)), Err(Fault::Over), "used");
        ids.give_back(&claims);
        assert!(ids.take(&text, at(1)).is_ok());
        let late = ids.make("/", Progress::Begun, at(0), LIFE).unwrap();
        assert_eq!(ids.take(&late, at(121_000)), Err(Fault::Over));
    }

    #[test]
    fn an_auth_id_that_was_changed_or_is_unsigned_is_refused() {
        let ids = AuthIds::new([1; 32]);
        let text = ids.make("/", Progress::Begun, at(0), LIFE).unwrap();
        assert_eq!(AuthIds::new([2; 32]).take(&text, at(1)), Err(Fault::Signature));
        for place in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'Q' } else { b'A' };
            assert!(ids.take(std::str::from_utf8(&other).unwrap(), at(1)).is_err(), "{place}");
            assert!(ids.take(&text[..place], at(1)).is_err(), "{place}");
        }
        let said = text.split('.').nth(1).unwrap();
        let none = URL_SAFE_NO_PAD.encode(r#"{"typ":"JWT","alg":"none"}"#);
        assert_eq!(ids.take(&format!("{none}.{said}."), at(1)), Err(Fault::Signature));
        assert_eq!(ids.take("abc", at(1)), Err(Fault::Parts(1)));
        assert_eq!(ids.take(&".".repeat(1 << 20), at(1)), Err(Fault::Parts(9)));
        assert_eq!(ids.take(&format!("{}..", "A".repeat(1 << 20)), at(1)), Err(Fault::Unreadable));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut used = Used::default();
        assert!((0..3 * USED_MAX).all(|number| used.add(&number.to_string())));
        assert!(used.newer.len() + used.older.len() <= 2 * USED_MAX);
        assert!(!used.add(&(3 * USED_MAX - 1).to_string()));
    }
}

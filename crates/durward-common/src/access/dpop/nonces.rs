//! What this server gives out for proofs to have in them (RFC 9449, 8): so that none can be made ahead, for later. Each says when it was
//! made, under a code that only the nodes of this cluster can make: no node keeps any, and all agree.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_session::Service;
use durward_session::identity::{CLOCK_SKEW_MAX, Entropy, IdentityError, Moment, SystemEntropy};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How long one is good for, in seconds.
const NONCE_S: u64 = 300;

/// How many bytes of the code there are.
const CODE_LENGTH: usize = 16;

pub(super) struct Nonces {
    key: [u8; 32],
}

impl Nonces {
    /// Under a key of the cluster's secret; without users, under one that ends with the process.
    pub(super) fn new(service: Option<&Service>) -> Result<Nonces, IdentityError> {
        if let Some(service) = service {
            return Ok(Nonces { key: service.derive_key("dpop nonces") });
        }
        let mut key = [0; 32];
        SystemEntropy.fill(&mut key)?;
        Ok(Nonces { key })
    }

    /// The one of this second.
    pub(super) fn at(&self, now: Moment) -> Option<String> {
        let made = (now.ms() / 1000).to_be_bytes();
        let code = self.code(made)?.finalize().into_bytes();
        Some(URL_SAFE_NO_PAD.encode([made.as_slice(), code.get(..CODE_LENGTH)?].concat()))
    }

    /// Whether this was given out a moment ago, by this node or another of its cluster, whose clock may be ahead.
    pub(super) fn gave(&self, nonce: &str, now: Moment) -> bool {
        self.made_s(nonce).is_some_and(|made_s| {
            let now_s = now.ms() / 1000;
            made_s.saturating_add(NONCE_S) > now_s && made_s <= now_s.saturating_add(CLOCK_SKEW_MAX.as_secs())
        })
    }

    /// Whether one was given out after this second.
    pub(super) fn gave_since(&self, nonce: &str, second: u64) -> bool {
        self.made_s(nonce).is_some_and(|made_s| made_s > second)
    }

    /// When one was made that is of this cluster.
    fn made_s(&self, nonce: &str) -> Option<u64> {
        let bytes = URL_SAFE_NO_PAD.decode(nonce).ok()?;
        let (made, code) = bytes.split_first_chunk::<8>()?;
        if code.len() != CODE_LENGTH {
            return None;
        }
        self.code(*made)?.verify_truncated_left(code).ok()?;
        Some(u64::from_be_bytes(*made))
    }

    fn code(&self, made: [u8; 8]) -> Option<Hmac<Sha256>> {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.key).ok()?;
        code.update(&made);
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_good_for_its_time_under_its_key_and_unchanged() {
        let (ours, theirs) = (Nonces { key: [1; 32] }, Nonces { key: [2; 32] });
        let at = |seconds: u64| Moment::from_ms((1_700_000_000 + seconds) * 1000);
        let nonce = ours.at(at(0)).unwrap();
        assert_eq!(ours.at(at(0)), Some(nonce.clone()), "all nodes agree");
        assert!(ours.gave(&nonce, at(0)) && ours.gave(&nonce, at(NONCE_S - 1)));
        assert!(!ours.gave(&nonce, at(NONCE_S)));
        assert!(!theirs.gave(&nonce, at(0)), "another cluster's");
        // A node whose clock is ahead, and one whose clock nobody would believe.
        assert!(ours.gave(&ours.at(at(120)).unwrap(), at(0)));
        assert!(!ours.gave(&ours.at(at(121)).unwrap(), at(0)));
        let mut bytes = URL_SAFE_NO_PAD.decode(&nonce).unwrap();
        for place in 0..bytes.len() {
            bytes[place] ^= 1;
            assert!(!ours.gave(&URL_SAFE_NO_PAD.encode(&bytes), at(0)), "{place}");
            bytes[place] ^= 1;
        }
        for shorter in 0..nonce.len() {
            assert!(!ours.gave(&nonce[..shorter], at(0)));
        }
        assert!(!ours.gave(&format!("{nonce}AA"), at(0)));
    }
}

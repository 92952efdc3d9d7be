//! Which proofs were taken, for as long as they could be shown again.

use std::collections::HashSet;
use std::mem;
use std::sync::{Mutex, PoisonError};

use durward_session::identity::Moment;
use durward_session::identity::jwt::{PROOF_AGE_MAX, Proof};
use sha2::{Digest, Sha256};

use super::NotProved;

/// How many are remembered of one span, and of the one before it as many. About 16 MiB each.
const SEEN_MAX: usize = 500_000;

/// A proof can be shown from so long before the time in it to so long after that.
const SPAN_MS: u64 = PROOF_AGE_MAX.as_secs() * 2_000 + 1_000;

/// What names a proof: the digest of its key's thumbprint and its `jti`.
type Name = [u8; 16];

/// Two spans of time: what was taken in this one and in the last is known, so that each is known for a span at least.
#[derive(Debug, Default)]
struct Spans {
    began_ms: u64,
    now: HashSet<Name>,
    before: HashSet<Name>,
}

#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<Spans>);

impl Seen {
    /// Notes that a proof is taken. Of two who bring one at the same time, one is first.
    ///
    /// # Errors
    /// It was taken before, or there is no room.
    pub(crate) fn put(&self, proof: &Proof, now: Moment) -> Result<(), NotProved> {
        self.put_name(name_of(proof), now.ms(), SEEN_MAX)
    }

    fn put_name(&self, name: Name, now_ms: u64, most: usize) -> Result<(), NotProved> {
        // Each step leaves sets that can be used.
        let mut spans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let age_ms = now_ms.saturating_sub(spans.began_ms);
        if age_ms >= SPAN_MS {
            let last = mem::take(&mut spans.now);
            spans.before = if age_ms < 2 * SPAN_MS { last } else { HashSet::new() };
            spans.began_ms = now_ms;
        }
        if spans.now.contains(&name) || spans.before.contains(&name) {
            return Err(NotProved::Again);
        }
        if spans.now.len() >= most {
            return Err(NotProved::Full);
        }
        spans.now.insert(name);
        Ok(())
    }
}

fn name_of(proof: &Proof) -> Name {
    // A thumbprint has no blank in it.
    let digest = Sha256::digest(format!("{} {}", proof.thumbprint(), proof.id()));
    let mut name = [0; 16];
    name.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 4;

    fn put(seen: &Seen, number: u8, now_ms: u64) -> Result<(), NotProved> {
        seen.put_name([number; 16], now_ms, MOST)
    }

    #[test]
    fn a_proof_is_known_for_as_long_as_it_could_be_shown() {
        let seen = Seen::default();
        let start = 1_000_000_000;
        assert_eq!(put(&seen, 1, start), Ok(()));
        for later in [0, 1, SPAN_MS - 1] {
            assert_eq!(put(&seen, 1, start + later), Err(NotProved::Again), "{later}");
        }
        // The last one before a span ends is known as long as the first.
        assert_eq!(put(&seen, 2, start + SPAN_MS - 1), Ok(()));
        assert_eq!(put(&seen, 3, start + SPAN_MS), Ok(()));
        assert_eq!(put(&seen, 2, start + 2 * SPAN_MS - 1), Err(NotProved::Again));
        assert_eq!(put(&seen, 1, start + 2 * SPAN_MS), Ok(()), "it is too old to be shown by now");
    }

    #[test]
    fn after_a_long_rest_nothing_is_kept_for_longer_than_it_need() {
        let seen = Seen::default();
        assert_eq!(put(&seen, 1, SPAN_MS), Ok(()));
        assert_eq!(put(&seen, 1, 9 * SPAN_MS), Ok(()));
        assert_eq!(seen.0.lock().unwrap().before.len(), 0);
    }

    #[test]
    fn what_cannot_be_remembered_is_not_taken() {
        let seen = Seen::default();
        for number in 0..4 {
            assert_eq!(put(&seen, number, SPAN_MS), Ok(()));
        }
        assert_eq!(put(&seen, 4, SPAN_MS), Err(NotProved::Full));
        assert_eq!(put(&seen, 3, SPAN_MS), Err(NotProved::Again));
        assert_eq!(put(&seen, 4, 2 * SPAN_MS), Ok(()));
    }

    /// A clock that was set back lets nobody show anything again.
    #[test]
    fn a_clock_that_goes_back_forgets_nothing() {
        let seen = Seen::default();
        assert_eq!(put(&seen, 1, 5 * SPAN_MS), Ok(()));
        assert_eq!(put(&seen, 1, SPAN_MS), Err(NotProved::Again));
    }
}

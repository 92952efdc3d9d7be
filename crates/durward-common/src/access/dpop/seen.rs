//! Which proofs were taken, for as long as they could be shown again.
//!
//! Memory is bounded, and of all of it one client, or one user, has a share: whoever shows proofs without an end is in nobody else's way.
//! A proof is taken before what it is shown for is done, so that of two who show it one is first; where nothing comes of that, it is
//! forgotten again ([`TakenProof`]).

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use durward_session::identity::Moment;
use durward_session::identity::jwt::{PROOF_AGE_MAX, Proof};
use sha2::{Digest, Sha256};

use super::{NotProved, ProvenKey};

/// How many proofs are remembered of one span of time, and as many of the one before. About 32 MiB each, with the counts by
/// client.
const SEEN_MAX: usize = 500_000;

/// How many of these proofs may be of one client.
const CLIENT_MAX: usize = SEEN_MAX / 5;

/// How many of these proofs may be of one user, at `userinfo`: 16 a second.
const USER_MAX: usize = 2_000;

/// How many of these proofs may be of one caller who asks for decisions: a thousand a second.
const CALLER_MAX: usize = SEEN_MAX / 4;

/// A proof can be shown from so long before the time in it to so long after that.
const SPAN_MS: u64 = PROOF_AGE_MAX.as_secs() * 2_000 + 1_000;

/// What names a proof: the digest of its key's thumbprint and its `jti`. Also what names whoever has a share.
type Name = [u8; 16];

/// Whose a proof is, and how many of theirs are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    of: Name,
    most: usize,
}

impl Share {
    /// That of an OAuth client.
    pub fn client(id: &str) -> Share {
        Share { of: digest(&["client", id]), most: CLIENT_MAX }
    }

    /// That of a user, by the `sub` of their tokens.
    pub fn user(sub: &str) -> Share {
        Share { of: digest(&["user", sub]), most: USER_MAX }
    }

    /// That of a caller who is verified by a token of another issuer.
    pub fn caller(name: &str) -> Share {
        Share { of: digest(&["caller", name]), most: CALLER_MAX }
    }
}

/// What was taken in one span of time.
#[derive(Debug, Default)]
struct Span {
    taken: HashSet<Name>,
    shares: HashMap<Name, usize>,
}

/// Two spans: what was taken in this one and in the last is known, so that each is known for a span at least.
#[derive(Debug, Default)]
struct Spans {
    began_ms: u64,
    now: Span,
    before: Span,
}

/// The proofs that were taken, for as long as each could be shown again.
#[derive(Debug, Default)]
pub struct Seen {
    spans: Mutex<Spans>,
    /// When this began to remember. What was shown before, nobody knows here.
    began_s: u64,
}

/// A proof that is taken, for as long as something may come of it: if this is dropped, it was not.
#[must_use = "a proof that is dropped may be shown again"]
#[derive(Debug)]
pub struct TakenProof<'s> {
    seen: &'s Seen,
    name: Name,
    shares: Vec<Share>,
    thumbprint: Option<String>,
}

impl TakenProof<'_> {
    /// Remembers it: what it was shown for is done.
    pub fn keep(mut self) -> ProvenKey {
        ProvenKey(self.thumbprint.take().unwrap_or_default())
    }
}

impl Drop for TakenProof<'_> {
    fn drop(&mut self) {
        if self.thumbprint.is_some() {
            self.seen.forget(self.name, &self.shares);
        }
    }
}

impl Seen {
    /// Nothing was shown before this moment, as far as is known here.
    pub fn since(now: Moment) -> Seen {
        Seen { spans: Mutex::default(), began_s: now.ms() / 1000 }
    }

    /// Whether a proof was made before all that is remembered here: it may have been shown already, before a restart.
    pub fn is_older(&self, proof: &Proof) -> bool {
        proof.issued_s() < self.began_s
    }

    pub(super) fn began_s(&self) -> u64 {
        self.began_s
    }

    /// Notes that a proof is taken. Of two who bring one at the same time, one is first.
    ///
    /// # Errors
    /// It was taken before, or there is no room, for those who show it or at all.
    pub fn put(&self, proof: &Proof, now: Moment, shares: &[Share]) -> Result<TakenProof<'_>, NotProved> {
        let name = name_of(proof);
        self.put_name(name, now.ms(), SEEN_MAX, shares)?;
        let thumbprint = Some(proof.thumbprint().to_owned());
        Ok(TakenProof { seen: self, name, shares: shares.to_vec(), thumbprint })
    }

    fn put_name(&self, name: Name, now_ms: u64, most: usize, shares: &[Share]) -> Result<(), NotProved> {
        let mut spans = self.spans();
        let age_ms = now_ms.saturating_sub(spans.began_ms);
        if age_ms >= SPAN_MS {
            let last = mem::take(&mut spans.now);
            spans.before = if age_ms < 2 * SPAN_MS { last } else { Span::default() };
            spans.began_ms = now_ms;
        }
        if spans.now.taken.contains(&name) || spans.before.taken.contains(&name) {
            return Err(NotProved::Again);
        }
        let has_room =
            |share: &Share| spans.now.shares.get(&share.of).is_none_or(|count| *count < share.most);
        if spans.now.taken.len() >= most || !shares.iter().all(has_room) {
            return Err(NotProved::Full);
        }
        spans.now.taken.insert(name);
        for share in shares {
            *spans.now.shares.entry(share.of).or_default() += 1;
        }
        Ok(())
    }

    fn forget(&self, name: Name, shares: &[Share]) {
        let mut spans = self.spans();
        let Spans { now, before, .. } = &mut *spans;
        for span in [now, before] {
            if span.taken.remove(&name) {
                for share in shares {
                    if let Some(count) = span.shares.get_mut(&share.of) {
                        *count = count.saturating_sub(1);
                    }
                }
            }
        }
    }

    fn spans(&self) -> MutexGuard<'_, Spans> {
        // Each step leaves spans that can be used.
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name_of(proof: &Proof) -> Name {
    digest(&[proof.thumbprint(), proof.id()])
}

/// Of texts of which none but the last has a blank in it.
fn digest(texts: &[&str]) -> Name {
    let digest = Sha256::digest(texts.join(" "));
    let mut name = [0; 16];
    name.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 4;

    fn put(seen: &Seen, number: u8, now_ms: u64) -> Result<(), NotProved> {
        seen.put_name([number; 16], now_ms, MOST, &[])
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
        assert_eq!(seen.spans().before.taken.len(), 0);
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

    #[test]
    fn nobody_fills_more_than_their_share() {
        let seen = Seen::default();
        let [flooding, other] = ["a", "b"].map(|id| Share { most: 3, ..Share::client(id) });
        let user = Share { most: 2, ..Share::user("anna") };
        let put = |number: u16, shares: &[Share]| {
            let mut name = [0; 16];
            name[..2].copy_from_slice(&number.to_be_bytes());
            seen.put_name(name, SPAN_MS, 1_000, shares)
        };
        let taken = (0..100).filter(|number| put(*number, &[flooding]).is_ok()).count();
        assert_eq!(taken, 3);
        assert_eq!(put(200, &[other, user]), Ok(()));
        assert_eq!(put(201, &[other, user]), Ok(()));
        assert_eq!(put(202, &[other, user]), Err(NotProved::Full), "the user's");
        assert_eq!(put(202, &[other]), Ok(()));
        assert_eq!(put(203, &[other]), Err(NotProved::Full), "the client's");
        assert_eq!(put(203, &[]), Ok(()));
        assert_eq!(seen.spans().now.taken.len(), 7);
        // Of a client and a user of the same name, each has their own.
        assert_ne!(Share::client("anna").of, Share::user("anna").of);
    }

    #[test]
    fn a_proof_of_which_nothing_came_fills_nothing() {
        let seen = Seen::default();
        let share = Share { most: 1, ..Share::client("a") };
        for number in 0..10 {
            seen.put_name([number; 16], SPAN_MS, 1, &[share]).unwrap();
            let (name, shares) = ([number; 16], vec![share]);
            drop(TakenProof { seen: &seen, name, shares, thumbprint: Some("key".to_owned()) });
        }
        seen.put_name([0; 16], SPAN_MS, 1, &[share]).unwrap();
        let (name, shares) = ([0; 16], vec![share]);
        let taken = TakenProof { seen: &seen, name, shares, thumbprint: Some("key".to_owned()) };
        assert_eq!(taken.keep().thumbprint(), "key");
        assert_eq!(seen.put_name([0; 16], SPAN_MS, 9, &[]), Err(NotProved::Again));
        assert_eq!(seen.put_name([1; 16], SPAN_MS, 9, &[share]), Err(NotProved::Full));
    }

    /// A clock that was set back lets nobody show anything again.
    #[test]
    fn a_clock_that_goes_back_forgets_nothing() {
        let seen = Seen::default();
        assert_eq!(put(&seen, 1, 5 * SPAN_MS), Ok(()));
        assert_eq!(put(&seen, 1, SPAN_MS), Err(NotProved::Again));
    }
}

//! Which credentials were right or wrong a moment ago.
//!
//! Secrets are not kept: an entry is found by a keyed digest of the credentials, with a key that this process drew and
//! nobody else has. Right and wrong ones are kept apart, so that a flood of wrong ones displaces nothing.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use durward_settings::AuthSettings;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{Denied, Identity};

/// The keyed digest of credentials.
pub(super) type CacheKey = [u8; 32];

pub(super) struct Cache {
    key: [u8; 32],
    positive: Duration,
    negative: Duration,
    entries_max: usize,
    right: Mutex<HashMap<CacheKey, (Instant, Identity)>>,
    wrong: Mutex<HashMap<CacheKey, Instant>>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Cache {
    pub(super) fn new(settings: &AuthSettings) -> Cache {
        let mut key = [0; 32];
        // Without chance nothing is remembered: entries nobody can guess are the point.
        let has_key = getrandom::fill(&mut key).is_ok();
        Cache {
            key,
            positive: settings.cache_positive(),
            negative: settings.cache_negative(),
            entries_max: if has_key { settings.cache_entries_max } else { 0 },
            right: Mutex::default(),
            wrong: Mutex::default(),
        }
    }

    /// One for other settings, with the right ones that still hold. What was wrong may be right by now.
    pub(super) fn carried(&self, settings: &AuthSettings, holds: impl Fn(&Identity) -> bool) -> Cache {
        let (positive, entries_max) = (settings.cache_positive(), settings.cache_entries_max);
        let mut right = lock(&self.right).clone();
        right.retain(|_, (_, identity)| holds(identity));
        if positive < self.positive || right.len() > entries_max {
            right.clear();
        }
        Cache {
            key: self.key,
            positive,
            negative: settings.cache_negative(),
            // Without a key that nobody can guess, nothing is remembered by any settings.
            entries_max: if self.entries_max == 0 { 0 } else { entries_max },
            right: Mutex::new(right),
            wrong: Mutex::default(),
        }
    }

    /// The key of the entry for these parts. It covers the length of each part, so that `ab, c` and `a, bc` are two entries.
    pub(super) fn key_of(&self, parts: &[&[u8]]) -> CacheKey {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.key) else { return [0; 32] };
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// What is remembered.
    pub(super) fn get(&self, cache_key: &CacheKey, now: Instant) -> Option<Result<Identity, Denied>> {
        if let Some((until, identity)) = lock(&self.right).get(cache_key)
            && now < *until
        {
            return Some(Ok(identity.clone()));
        }
        let is_wrong = lock(&self.wrong).get(cache_key).is_some_and(|until| now < *until);
        is_wrong.then_some(Err(Denied::Wrong))
    }

    /// Remembers. No longer than the credentials last; and not what is not known.
    pub(super) fn put(&self, cache_key: CacheKey, verified: &Result<Identity, Denied>, now: Instant) {
        match verified {
            Ok(identity) => {
                let until = now + self.positive;
                let until = identity.expires.map_or(until, |expires| expires.min(until));
                let mut right = lock(&self.right);
                make_room(&mut right, self.entries_max, |(until, _)| now < *until);
                if right.len() >= self.entries_max {
                    // All of them are in use; which one has to be verified again does not matter.
                    let some = right.keys().next().copied();
                    some.map(|some| right.remove(&some));
                }
                if self.entries_max > 0 {
                    right.insert(cache_key, (until, identity.clone()));
                }
            }
            Err(Denied::Wrong) => {
                let mut wrong = lock(&self.wrong);
                make_room(&mut wrong, self.entries_max, |until| now < *until);
                if wrong.len() < self.entries_max {
                    wrong.insert(cache_key, now + self.negative);
                }
            }
            Err(Denied::Busy) => {}
        }
    }
}

/// Forgets what is too old, when there is no room otherwise.
fn make_room<V>(map: &mut HashMap<CacheKey, V>, max: usize, lasts: impl Fn(&V) -> bool) {
    if map.len() >= max {
        map.retain(|_, value| lasts(value));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries_max: usize) -> Cache {
        Cache::new(&AuthSettings { cache_entries_max: entries_max, ..AuthSettings::default() })
    }

    fn identity(expires: Option<Instant>) -> Result<Identity, Denied> {
        Ok(Identity { expires, ..Identity::of_test("t", "n") })
    }

    #[test]
    fn right_ones_are_believed_for_five_minutes_and_wrong_ones_refused_for_five_seconds() {
        let (cache, now) = (cache(10), Instant::now());
        let (right, wrong) = (cache.key_of(&[b"a"]), cache.key_of(&[b"b"]));
        cache.put(right, &identity(None), now);
        cache.put(wrong, &Err(Denied::Wrong), now);
        let after = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(cache.get(&right, after(299)), Some(identity(None)));
        assert_eq!(cache.get(&right, after(300)), None);
        assert_eq!(cache.get(&wrong, after(4)), Some(Err(Denied::Wrong)));
        assert_eq!(cache.get(&wrong, after(5)), None);
    }

    #[test]
    fn nothing_is_believed_longer_than_it_lasts() {
        let (cache, now) = (cache(10), Instant::now());
        let cache_key = cache.key_of(&[b"a"]);
        cache.put(cache_key, &identity(Some(now + Duration::from_secs(2))), now);
        assert!(cache.get(&cache_key, now + Duration::from_secs(1)).is_some());
        assert_eq!(cache.get(&cache_key, now + Duration::from_secs(2)), None);
    }

    #[test]
    fn what_is_not_known_is_not_remembered() {
        let (cache, now) = (cache(10), Instant::now());
        cache.put(cache.key_of(&[b"a"]), &Err(Denied::Busy), now);
        assert_eq!(cache.get(&cache.key_of(&[b"a"]), now), None);
    }

    #[test]
    fn parts_are_told_apart() {
        let cache = cache(10);
        assert_ne!(cache.key_of(&[b"a", b"bc"]), cache.key_of(&[b"ab", b"c"]));
        assert_eq!(cache.key_of(&[b"a", b"bc"]), cache.key_of(&[b"a", b"bc"]));
    }

    #[test]
    fn a_flood_of_either_kind_stays_within_its_room() {
        let (cache, now) = (cache(10), Instant::now());
        let right = cache.key_of(&[b"right"]);
        cache.put(right, &identity(None), now);
        for number in 0..100_u32 {
            cache.put(cache.key_of(&[&number.to_be_bytes()]), &Err(Denied::Wrong), now);
        }
        assert!(cache.get(&right, now).is_some());
        for number in 100..200_u32 {
            cache.put(cache.key_of(&[&number.to_be_bytes()]), &identity(None), now);
        }
        assert_eq!((lock(&cache.right).len(), lock(&cache.wrong).len()), (10, 10));
        let later = now + Duration::from_secs(10);
        cache.put(cache.key_of(&[b"late"]), &Err(Denied::Wrong), later);
        assert_eq!(lock(&cache.wrong).len(), 1);
    }
}

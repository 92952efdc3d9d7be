//! The sessions that were ended before their time, each remembered until then.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::HashTable;

use super::name::SessionId;
use crate::{CLOCK_SKEW_MAX, Moment};

/// How many parts there are, each with a lock of its own.
const PARTS: usize = 64;

#[derive(Debug)]
struct EndedSession {
    id: [u8; 16],
    until_s: u32,
}

#[derive(Debug)]
pub(super) struct EndedSessions(Box<[RwLock<HashTable<EndedSession>>]>);

impl EndedSessions {
    pub(super) fn new() -> EndedSessions {
        EndedSessions((0..PARTS).map(|_| RwLock::default()).collect())
    }

    /// Remembers a session that would have ended at a moment, until every clock has passed it. Whether it is new here.
    pub(super) fn insert(&self, id: SessionId, ends: Moment) -> bool {
        let until_s = ends.plus(CLOCK_SKEW_MAX).seconds();
        let mut part = self.write(id);
        if let Some(ended) = part.find_mut(id.hash(), |ended| ended.id == id.0) {
            ended.until_s = ended.until_s.max(until_s);
            return false;
        }
        part.insert_unique(id.hash(), EndedSession { id: id.0, until_s }, hash);
        true
    }

    pub(super) fn contains(&self, id: SessionId) -> bool {
        self.read(id).find(id.hash(), |ended| ended.id == id.0).is_some()
    }

    /// Forgets what would have ended by now, in one of the parts. How many.
    pub(super) fn sweep(&self, now: Moment, turn: usize) -> usize {
        let Some(part) = self.0.get(turn % PARTS) else { return 0 };
        let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
        let before = part.len();
        part.retain(|ended| ended.until_s >= now.seconds());
        let after = part.len();
        if part.capacity() > 64 && after < part.capacity() / 4 {
            part.shrink_to(after * 2, hash);
        }
        before - after
    }

    /// All of them, with their ends.
    pub(super) fn all(&self) -> Vec<(SessionId, Moment)> {
        let mut all = Vec::new();
        for part in &self.0 {
            let part = part.read().unwrap_or_else(PoisonError::into_inner);
            all.extend(part.iter().map(|ended| (SessionId(ended.id), Moment::from_s(ended.until_s))));
        }
        all
    }

    fn read(&self, id: SessionId) -> RwLockReadGuard<'_, HashTable<EndedSession>> {
        self.part(id).read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, id: SessionId) -> RwLockWriteGuard<'_, HashTable<EndedSession>> {
        self.part(id).write().unwrap_or_else(PoisonError::into_inner)
    }

    fn part(&self, id: SessionId) -> &RwLock<HashTable<EndedSession>> {
        // The part's own table uses the hash's other bits.
        let number = (id.hash() >> 40) as usize % PARTS;
        #[expect(clippy::indexing_slicing, reason = "there are PARTS parts, from the constructor on")]
        &self.0[number]
    }
}

fn hash(ended: &EndedSession) -> u64 {
    SessionId(ended.id).hash()
}

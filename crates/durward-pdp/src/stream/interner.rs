//! Keeps each decision once, however many subscriptions have it.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::decider::Answer;

/// The decisions that subscriptions have.
pub(crate) struct Interner<D> {
    decisions: HashTable<Arc<D>>,
    /// Subscribers choose what goes into decisions: every process hashes differently.
    hashing: RandomState,
    /// When there are so many, those that nobody has any more are looked for.
    sweep_at: usize,
}

/// Below so many decisions none are looked for.
const SWEEP_MIN: usize = 1024;

impl<D> Default for Interner<D> {
    fn default() -> Interner<D> {
        Interner { decisions: HashTable::new(), hashing: RandomState::default(), sweep_at: SWEEP_MIN }
    }
}

impl<D: Answer> Interner<D> {
    /// This decision, or an identical one that is kept already.
    pub(crate) fn intern(&mut self, decision: D) -> Arc<D> {
        let number = digest(&self.hashing, &decision);
        if let Some(kept) = self.decisions.find(number, |kept| kept.is_identical(&decision)) {
            return Arc::clone(kept);
        }
        if self.decisions.len() >= self.sweep_at {
            self.sweep();
        }
        let kept = Arc::new(decision);
        let hashing = &self.hashing;
        self.decisions.insert_unique(number, Arc::clone(&kept), |kept| digest(hashing, &**kept));
        kept
    }

    /// Drops what nobody has. As many must come before the next time as are left: each pays for one.
    fn sweep(&mut self) {
        self.decisions.retain(|kept| Arc::strong_count(kept) > 1);
        let hashing = &self.hashing;
        self.decisions.shrink_to(self.decisions.len() * 2, |kept| digest(hashing, &**kept));
        self.sweep_at = (self.decisions.len() * 2).max(SWEEP_MIN);
    }

    /// How many are kept.
    pub(crate) fn len(&self) -> usize {
        self.decisions.len()
    }
}

fn digest<D: Answer>(hashing: &RandomState, decision: &D) -> u64 {
    let mut hasher = hashing.build_hasher();
    decision.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Number(u64);

    impl Answer for Number {
        fn equals(&self, other: &Number) -> bool {
            self == other
        }
        fn is_identical(&self, other: &Number) -> bool {
            self == other
        }
        fn hash(&self, state: &mut dyn Hasher) {
            state.write_u64(self.0);
        }
    }

    #[test]
    fn identical_decisions_are_kept_once_and_unused_ones_go() {
        let mut interner = Interner::default();
        let kept = interner.intern(Number(7));
        assert!(Arc::ptr_eq(&kept, &interner.intern(Number(7))));
        for n in 0..100_000 {
            interner.intern(Number(n));
        }
        assert!(interner.len() <= 2 * SWEEP_MIN, "{}", interner.len());
        assert!(Arc::ptr_eq(&kept, &interner.intern(Number(7))));
    }
}

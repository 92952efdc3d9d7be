//! Revocations that the store has twice.
//!
//! A node that was cut off after it gave the store a revocation, and before it heard of that, gives it once more. When that was more than two minutes
//! ago, the store takes it for another one. All nodes read both, and pass over the second, which has the same name: only the first says
//! which sessions it comes after.

use std::collections::{HashSet, VecDeque};

use super::outbox::RecordId;

/// How many are remembered: far more than come before a node is back that was cut off. What is forgotten and comes again ends sessions
/// that began meanwhile.
const REMEMBERED_MAX: usize = 1 << 16;

/// The names of the last revocations of users and of all.
#[derive(Debug, Default)]
pub(super) struct AppliedRevocations {
    known: HashSet<RecordId>,
    order: VecDeque<RecordId>,
}

impl AppliedRevocations {
    /// Takes note of one. Whether it is the first of this name.
    pub(super) fn insert(&mut self, id: RecordId) -> bool {
        if !self.known.insert(id) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once_and_the_oldest_are_forgotten() {
        let mut revocations = AppliedRevocations::default();
        let id = |count| RecordId { node: 1, count };
        assert!(revocations.insert(id(0)) && !revocations.insert(id(0)));
        for count in 1..=REMEMBERED_MAX as u64 {
            assert!(revocations.insert(id(count)));
        }
        assert!(revocations.insert(id(0)), "forgotten");
        assert_eq!(revocations.known.len(), REMEMBERED_MAX);
    }
}

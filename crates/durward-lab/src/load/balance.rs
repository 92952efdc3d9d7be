//! To which node a request goes: what a balancer before them would do, done in the generator.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use super::user::LoadUser;
use crate::scenario::NodeChoice;

/// What all threads know of the nodes.
#[derive(Debug)]
pub(super) struct NodeBalance {
    balance: NodeChoice,
    /// Requests under way, by node.
    outstanding: Vec<AtomicI64>,
    turn: AtomicUsize,
}

impl NodeBalance {
    pub(super) fn new(balance: NodeChoice, count: usize) -> NodeBalance {
        NodeBalance {
            balance,
            outstanding: (0..count).map(|_| AtomicI64::new(0)).collect(),
            turn: AtomicUsize::new(0),
        }
    }

    /// The node of a user's next request.
    pub(super) fn choose(&self, user: &mut LoadUser) -> usize {
        let count = self.outstanding.len().max(1);
        match self.balance {
            NodeChoice::Sticky => usize::try_from(user.number % count as u64).unwrap_or(0),
            NodeChoice::Random => user.random.below(count),
            NodeChoice::RoundRobin => self.turn.fetch_add(1, Ordering::Relaxed) % count,
            NodeChoice::LeastOutstanding => {
                // Looks from another node on each time, so that equal ones have their turn.
                let first = self.turn.fetch_add(1, Ordering::Relaxed);
                let all = (0..count).map(|at| (first + at) % count);
                all.min_by_key(|node| self.outstanding(*node)).unwrap_or(0)
            }
            NodeChoice::TwoChoices => {
                let (one, mut other) = (user.random.below(count), user.random.below(count.max(2) - 1));
                other = if other >= one { (other + 1) % count } else { other };
                if self.outstanding(other) < self.outstanding(one) { other } else { one }
            }
        }
    }

    fn outstanding(&self, node: usize) -> i64 {
        self.outstanding.get(node).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// A request to a node is under way, or is no more.
    pub(super) fn count(&self, node: usize, change: i64) {
        if let Some(count) = self.outstanding.get(node) {
            count.fetch_add(change, Ordering::Relaxed);
        }
    }
}

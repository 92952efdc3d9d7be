//! Which part of a load this process makes, where several make it together.

use serde::{Deserialize, Serialize};

/// Of all users and arrivals every `of`th, from the `number`th on. All know the whole schedule and take what is theirs, so the
/// parts together are exactly the load that was asked for, and no user number and no arrival is in two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoadShare {
    /// From 0.
    pub(crate) number: u64,
    /// How many parts there are, at least 1.
    pub(crate) of: u64,
}

/// All of it.
impl Default for LoadShare {
    fn default() -> LoadShare {
        LoadShare { number: 0, of: 1 }
    }
}

impl LoadShare {
    /// How many of so many are in it.
    pub(crate) fn count(self, all: u64) -> u64 {
        all.saturating_sub(self.number).div_ceil(self.of.max(1))
    }

    /// The part of one of several threads that make it.
    pub(super) fn of_thread(self, thread: usize, threads: usize) -> LoadShare {
        LoadShare { number: self.number + self.of * thread as u64, of: self.of * threads.max(1) as u64 }
    }

    /// The numbers in it below a bound.
    pub(super) fn numbers(self, all: u64) -> impl Iterator<Item = u64> {
        (self.number..all).step_by(usize::try_from(self.of.max(1)).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_together_are_all_and_none_is_twice() {
        for (all, agents, threads) in [(10, 3, 2), (1, 4, 1), (0, 2, 2), (1000, 7, 3)] {
            let mut seen = Vec::new();
            for number in 0..agents {
                let share = LoadShare { number, of: agents };
                let mine: Vec<u64> =
                    (0..threads).flat_map(|thread| share.of_thread(thread, threads).numbers(all)).collect();
                assert_eq!(mine.len() as u64, share.count(all));
                seen.extend(mine);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..all).collect::<Vec<_>>());
        }
    }
}

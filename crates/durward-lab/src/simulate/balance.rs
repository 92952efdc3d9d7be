//! How requests find a node.

use super::deployment::BalancePolicy;
use crate::random::LabRandom;

/// Which nodes are thought to be up, and how many requests each has.
#[derive(Debug)]
pub(super) struct Balancer {
    how: BalancePolicy,
    /// Nodes that are thought to be up, in any order, and where each stands in there.
    up: Vec<u32>,
    place: Vec<Option<u32>>,
    next: usize,
    outstanding: Vec<u32>,
    /// Nodes that are up by how many requests they have; only for [`BalancePolicy::LeastOutstanding`].
    levels: Vec<Vec<u32>>,
    /// Where a node stands in its level.
    in_level: Vec<u32>,
    lowest: usize,
}

#[expect(
    clippy::indexing_slicing,
    reason = "INVARIANT: nodes are below the count that `new` was given; `place`, `in_level` and `levels` name each other's places"
)]
impl Balancer {
    pub(super) fn new(how: BalancePolicy, nodes: u32) -> Balancer {
        let mut balancer = Balancer {
            how,
            up: Vec::new(),
            place: vec![None; nodes as usize],
            next: 0,
            outstanding: vec![0; nodes as usize],
            levels: Vec::new(),
            in_level: vec![0; nodes as usize],
            lowest: 0,
        };
        (0..nodes).for_each(|node| balancer.add(node));
        balancer
    }

    /// Nodes that are thought to be up.
    pub(super) fn up(&self) -> &[u32] {
        &self.up
    }

    /// A node for a request of a user who stays with `home`, where users do that.
    pub(super) fn choose(&mut self, home: Option<u32>, random: &mut LabRandom) -> u32 {
        match (self.how, home) {
            (BalancePolicy::Sticky, Some(home)) => home,
            (BalancePolicy::Sticky | BalancePolicy::Random, _) => self.any(random),
            (BalancePolicy::RoundRobin, _) => {
                self.next = (self.next + 1) % self.up.len().max(1);
                self.up.get(self.next).copied().unwrap_or(0)
            }
            (BalancePolicy::LeastOutstanding, _) => self.least(random),
            (BalancePolicy::TwoChoices, _) => {
                let (one, other) = self.any_two(random);
                if self.outstanding[other as usize] < self.outstanding[one as usize] { other } else { one }
            }
        }
    }

    /// Whether a node is thought to be up.
    pub(super) fn is_up(&self, node: u32) -> bool {
        self.place.get(node as usize).is_some_and(Option::is_some)
    }

    /// Any node that is thought to be up.
    pub(super) fn any(&self, random: &mut LabRandom) -> u32 {
        self.up.get(random.below(self.up.len())).copied().unwrap_or(0)
    }

    fn any_two(&self, random: &mut LabRandom) -> (u32, u32) {
        let count = self.up.len();
        let one = random.below(count);
        let other = if count > 1 { (one + 1 + random.below(count - 1)) % count } else { one };
        (self.up[one], self.up[other])
    }

    fn least(&mut self, random: &mut LabRandom) -> u32 {
        while self.levels.get(self.lowest).is_some_and(Vec::is_empty) {
            self.lowest += 1;
        }
        let level = self.levels.get(self.lowest);
        level.and_then(|level| level.get(random.below(level.len()))).copied().unwrap_or(0)
    }

    /// A request was sent there.
    pub(super) fn sent(&mut self, node: u32) {
        self.count_to(node, self.outstanding[node as usize] + 1);
    }

    /// It was answered, or failed.
    pub(super) fn answered(&mut self, node: u32) {
        self.count_to(node, self.outstanding[node as usize].saturating_sub(1));
    }

    fn count_to(&mut self, node: u32, count: u32) {
        let is_levelled = self.how == BalancePolicy::LeastOutstanding && self.place[node as usize].is_some();
        if is_levelled {
            self.leave_level(node);
        }
        self.outstanding[node as usize] = count;
        if is_levelled {
            self.enter_level(node);
        }
    }

    fn enter_level(&mut self, node: u32) {
        let level = self.outstanding[node as usize] as usize;
        while self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        self.in_level[node as usize] = self.levels[level].len() as u32;
        self.levels[level].push(node);
        self.lowest = self.lowest.min(level);
    }

    fn leave_level(&mut self, node: u32) {
        let level = self.outstanding[node as usize] as usize;
        let at = self.in_level[node as usize];
        self.levels[level].swap_remove(at as usize);
        if let Some(moved) = self.levels[level].get(at as usize).copied() {
            self.in_level[moved as usize] = at;
        }
    }

    /// A node is thought to be up again.
    pub(super) fn add(&mut self, node: u32) {
        if self.place[node as usize].is_none() {
            self.place[node as usize] = Some(self.up.len() as u32);
            self.up.push(node);
            if self.how == BalancePolicy::LeastOutstanding {
                self.enter_level(node);
            }
        }
    }

    /// A node is known to be down. The last one stays.
    pub(super) fn remove(&mut self, node: u32) {
        if self.up.len() < 2 {
            return;
        }
        if let Some(at) = self.place[node as usize].take() {
            if self.how == BalancePolicy::LeastOutstanding {
                self.leave_level(node);
            }
            self.up.swap_remove(at as usize);
            if let Some(moved) = self.up.get(at as usize).copied() {
                self.place[moved as usize] = Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_outstanding_is_what_a_search_through_all_finds() {
        let mut random = LabRandom::new(1);
        let mut balancer = Balancer::new(BalancePolicy::LeastOutstanding, 20);
        let mut plain = [0u32; 20];
        let mut is_up = [true; 20];
        for _ in 0..20_000 {
            match random.below(10) {
                0..6 => {
                    let node = balancer.choose(None, &mut random) as usize;
                    let least = plain.iter().zip(is_up).filter(|(_, up)| *up).map(|(count, _)| *count).min();
                    assert!(is_up[node]);
                    assert_eq!(Some(plain[node]), least);
                    balancer.sent(node as u32);
                    plain[node] += 1;
                }
                6..9 => {
                    let node = random.below(20);
                    balancer.answered(node as u32);
                    plain[node] = plain[node].saturating_sub(1);
                }
                _ => {
                    let node = random.below(20);
                    if is_up[node] && is_up.iter().filter(|up| **up).count() > 1 {
                        balancer.remove(node as u32);
                        is_up[node] = false;
                    } else {
                        balancer.add(node as u32);
                        is_up[node] = true;
                    }
                }
            }
        }
    }

    #[test]
    fn two_choices_are_two_and_round_robin_is_even() {
        let mut random = LabRandom::new(2);
        let mut balancer = Balancer::new(BalancePolicy::TwoChoices, 2);
        balancer.sent(0);
        assert!((0..100).all(|_| balancer.choose(None, &mut random) == 1));
        let mut balancer = Balancer::new(BalancePolicy::RoundRobin, 3);
        let mut counts = [0; 3];
        (0..30).for_each(|_| counts[balancer.choose(None, &mut random) as usize] += 1);
        assert_eq!(counts, [10; 3]);
        let mut sticky = Balancer::new(BalancePolicy::Sticky, 3);
        assert_eq!(sticky.choose(Some(2), &mut random), 2);
    }
}

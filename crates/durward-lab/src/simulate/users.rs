//! The load: open arrivals, stateful users, and memoryless users that are only counted.
//!
//! Users whose thinking has no memory need no clock each: of `n` of them who think for `z` on average, the next one asks after an exponential
//! time of mean `z / n`, and it is any of them. That is exact, and as quick for eleven million as for eleven. Only how many think is kept,
//! by the node they stay with and by whether they have a session. Users who think for a constant time have a clock each, up to
//! [`super::USERS_EACH_MAX`] of them; the superposition of more is as good as without memory (Palm and Khintchine), and taken to be so.

use super::deployment::{
    ArrivalProcess, BalancePolicy, Deployment, DeploymentEvent, SessionUse, ThinkTimes, USERS_EACH_MAX,
};
use crate::random::LabRandom;

/// Who asks.
#[derive(Debug)]
pub(super) enum LoadSource {
    Arrivals(ArrivalStream),
    Pool(UserPool),
    Each(StatefulUsers),
}

/// Arrivals that are independent of answers.
#[derive(Debug)]
pub(super) struct ArrivalStream {
    every_ns: f64,
    arrivals: ArrivalProcess,
    /// When the next one is due, in nanoseconds and parts of them, so that rounding does not add up.
    next: f64,
    /// Arrivals until then.
    count: u64,
}

impl ArrivalStream {
    fn new(rate: f64, arrivals: ArrivalProcess, random: &mut LabRandom) -> ArrivalStream {
        let mut stream = ArrivalStream { every_ns: 1e9 / rate, arrivals, next: 0.0, count: 0 };
        stream.step(random);
        stream
    }

    pub(super) fn next_at(&self) -> u64 {
        self.next as u64
    }

    pub(super) fn step(&mut self, random: &mut LabRandom) {
        self.count += 1;
        // A product, since the rounding of a sum would add up.
        self.next = match self.arrivals {
            ArrivalProcess::Constant => self.count as f64 * self.every_ns,
            ArrivalProcess::Poisson => self.next + random.exponential(self.every_ns),
            ArrivalProcess::Burst(size) => {
                self.count.div_ceil(size.max(1)) as f64 * size as f64 * self.every_ns
            }
        };
    }
}

/// Users who are known by their number: how many think.
#[derive(Debug)]
pub(super) struct UserPool {
    think_ns: f64,
    /// Without a session, and with one, by node where users stay with one.
    thinking: [FenwickCounts; 2],
    next: u64,
    /// Whether `next` was drawn for the number of those who think now.
    is_drawn: bool,
}

impl UserPool {
    pub(super) fn next_at(&mut self, now: u64, random: &mut LabRandom) -> u64 {
        if !self.is_drawn {
            self.is_drawn = true;
            let count = self.count();
            self.next = if count == 0 {
                u64::MAX
            } else {
                now + (random.exponential(self.think_ns / count as f64) + 0.5) as u64
            };
        }
        self.next
    }

    fn count(&self) -> u64 {
        self.thinking.iter().map(|counts| counts.total).sum()
    }

    /// One of those who think asks: the node they stay with, and whether they have a session.
    pub(super) fn take(&mut self, random: &mut LabRandom) -> Option<(u32, bool)> {
        let [without, with] = &mut self.thinking;
        let at = random.below(usize::try_from(without.total + with.total).ok()?) as u64;
        self.is_drawn = false;
        if at < without.total {
            without.take(at).map(|home| (home, false))
        } else {
            with.take(at - without.total).map(|home| (home, true))
        }
    }

    /// One thinks.
    pub(super) fn put(&mut self, home: u32, session: bool, count: u64) {
        self.is_drawn = false;
        let [without, with] = &mut self.thinking;
        if session { with.add(home, count) } else { without.add(home, count) }
    }

    /// All who stay with a node: how many have no session, and how many have one. They are no longer there.
    pub(super) fn leave(&mut self, home: u32) -> [u64; 2] {
        self.is_drawn = false;
        self.thinking.each_mut().map(|counts| counts.clear(home))
    }

    /// A share of all sessions ends.
    pub(super) fn lose_sessions(&mut self, share: f64) {
        let [without, with] = &mut self.thinking;
        let lost = (with.total as f64 * share + 0.5) as u64;
        let lost = lost.min(with.get(0));
        with.subtract(0, lost);
        without.add(0, lost);
    }
}

/// Counts by number that sum up quickly (Fenwick 1994).
#[derive(Debug)]
struct FenwickCounts {
    tree: Vec<u64>,
    total: u64,
}

#[expect(
    clippy::indexing_slicing,
    reason = "INVARIANT: `at` runs from 1 to below the length of `tree`; homes are below it"
)]
impl FenwickCounts {
    fn new(length: usize) -> FenwickCounts {
        FenwickCounts { tree: vec![0; length + 1], total: 0 }
    }

    fn add(&mut self, home: u32, count: u64) {
        self.total += count;
        let mut at = home as usize + 1;
        while at < self.tree.len() {
            self.tree[at] += count;
            at += at & at.wrapping_neg();
        }
    }

    fn subtract(&mut self, home: u32, count: u64) {
        self.total -= count;
        let mut at = home as usize + 1;
        while at < self.tree.len() {
            self.tree[at] -= count;
            at += at & at.wrapping_neg();
        }
    }

    fn get(&self, home: u32) -> u64 {
        let up_to = |mut at: usize| {
            let mut sum = 0;
            while at > 0 {
                sum += self.tree[at];
                at &= at - 1;
            }
            sum
        };
        up_to(home as usize + 1) - up_to(home as usize)
    }

    fn clear(&mut self, home: u32) -> u64 {
        let count = self.get(home);
        self.subtract(home, count);
        count
    }

    /// Takes number `rank` of all, in the order of homes: whose home that is.
    fn take(&mut self, rank: u64) -> Option<u32> {
        if rank >= self.total {
            return None;
        }
        let (mut at, mut left) = (0usize, rank);
        let mut step = self.tree.len().next_power_of_two();
        while step > 0 {
            if at + step < self.tree.len() && self.tree[at + step] <= left {
                at += step;
                left -= self.tree[at];
            }
            step /= 2;
        }
        self.subtract(at as u32, 1);
        Some(at as u32)
    }
}

/// A user with a state of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedUser {
    /// The node they stay with, or where their session began.
    pub(super) home: u32,
    pub(super) session: bool,
    pub(super) is_thinking: bool,
    /// Of several plans to wake them, only the last one counts.
    pub(super) version: u32,
    /// When their next request is due, of users with a pace.
    pub(super) due: u64,
}

/// Users with a state of their own.
#[derive(Debug)]
pub(super) struct StatefulUsers {
    pub(super) all: Vec<SimulatedUser>,
    pub(super) think: ThinkTimes,
    pub(super) think_ns: f64,
}

impl StatefulUsers {
    /// How long somebody thinks whose request was due then and was answered now: when they ask again, and when that is due.
    pub(super) fn next(&self, due: u64, now: u64, random: &mut LabRandom) -> (u64, u64) {
        match self.think {
            ThinkTimes::Exponential => {
                let at = now + (random.exponential(self.think_ns) + 0.5) as u64;
                (at, at)
            }
            ThinkTimes::Constant => (now + self.think_ns as u64, now + self.think_ns as u64),
            ThinkTimes::Pace => {
                let next = due + self.think_ns as u64;
                (next.max(now), next)
            }
        }
    }
}

impl LoadSource {
    pub(super) fn new(deployment: &Deployment, random: &mut LabRandom) -> LoadSource {
        let load = &deployment.load;
        let Some(users) = load.users else {
            return LoadSource::Arrivals(ArrivalStream::new(load.rate.unwrap_or(1.0), load.arrivals, random));
        };
        let session = load.sessions_at_start || !has_login(deployment);
        let nodes = deployment.nodes.count;
        if is_pool(deployment) {
            let homes = if deployment.balance == BalancePolicy::Sticky { nodes } else { 1 };
            let new = || FenwickCounts::new(homes as usize);
            let mut pool =
                UserPool { think_ns: load.think_s * 1e9, thinking: [new(), new()], next: 0, is_drawn: false };
            let (each, more) = (users / u64::from(homes), users % u64::from(homes));
            (0..homes).for_each(|home| pool.put(home, session, each + u64::from(u64::from(home) < more)));
            return LoadSource::Pool(pool);
        }
        let user = |at: u64| SimulatedUser {
            home: (at % u64::from(nodes)) as u32,
            session,
            is_thinking: true,
            version: 0,
            due: 0,
        };
        let all = (0..users).map(user).collect();
        LoadSource::Each(StatefulUsers { all, think: load.think, think_ns: load.think_s * 1e9 })
    }
}

/// Whether users without a session have to log in.
pub(super) fn has_login(deployment: &Deployment) -> bool {
    deployment.steps.iter().any(|step| step.kind == SessionUse::Login && step.weight > 0.0)
}

/// Whether users are known by their number only.
pub(super) fn is_pool(deployment: &Deployment) -> bool {
    let come = deployment.events.iter().map(|event| match event {
        DeploymentEvent::Flood { users, .. } => *users,
        DeploymentEvent::Fail { .. } => 0,
    });
    let most = come.fold(deployment.load.users.unwrap_or(0), u64::saturating_add);
    let is_without_memory = deployment.load.think == ThinkTimes::Exponential && deployment.load.think_s > 0.0;
    deployment.load.users.is_some() && (most > USERS_EACH_MAX || (is_without_memory && most > 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_a_plain_list() {
        let mut random = LabRandom::new(4);
        let (mut counts, mut plain) = (FenwickCounts::new(13), [0u64; 13]);
        for _ in 0..5_000 {
            let home = random.below(13);
            match random.below(4) {
                0 => {
                    counts.add(home as u32, 3);
                    plain[home] += 3;
                }
                1 => assert_eq!(counts.clear(home as u32), std::mem::take(&mut plain[home])),
                _ => {
                    let total: u64 = plain.iter().sum();
                    let rank = random.below(total as usize + 1) as u64;
                    let mut before = 0;
                    let found = plain.iter().position(|count| {
                        before += count;
                        rank < before
                    });
                    assert_eq!(counts.take(rank), found.map(|at| at as u32));
                    if let Some(at) = found {
                        plain[at] -= 1;
                    }
                }
            }
            assert_eq!(counts.total, plain.iter().sum::<u64>());
            assert_eq!(counts.get(home as u32), plain[home]);
        }
    }

    #[test]
    fn bursts_come_at_once() {
        let mut random = LabRandom::new(1);
        let mut stream = ArrivalStream::new(6.0, ArrivalProcess::Burst(3), &mut random);
        let mut next = || {
            let at = stream.next_at();
            stream.step(&mut random);
            at
        };
        let half_seconds: Vec<u64> = (0..7).map(|_| next() / 500_000_000).collect();
        assert_eq!(half_seconds, [1, 1, 1, 2, 2, 2, 3]);
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        let mut random = LabRandom::new(1);
        let mut stream = ArrivalStream::new(3.0, ArrivalProcess::Constant, &mut random);
        (0..2_999_999).for_each(|_| stream.step(&mut random));
        assert!(stream.next_at().abs_diff(1_000_000_000_000_000) < 1_000, "{}", stream.next_at());
    }
}

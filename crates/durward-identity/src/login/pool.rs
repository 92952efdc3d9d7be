//! How many passwords are hashed at once, and who waits.
//!
//! Hashing takes tens of milliseconds and as many MiB on purpose; without a bound, a flood of logins would take the machine from those
//! who validate sessions. Who finds the queue full is told when to come again. Who comes from a known device has a queue of their own, which
//! strangers do not fill, and goes first.

use std::collections::VecDeque;
use std::time::Duration;

/// How much is hashed at once, and how long is waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// How many passwords are hashed at once: threads that are not those that answer. Default: 1.
    pub at_once: usize,
    /// How long a login may wait; a login that would wait longer is refused. Default: 3 seconds.
    pub wait_max: Duration,
    /// How many logins may wait, however short hashing takes. Default: 1024.
    pub waiting_max: usize,
}

impl Default for PoolSettings {
    fn default() -> PoolSettings {
        PoolSettings { at_once: 1, wait_max: Duration::from_secs(3), waiting_max: 1024 }
    }
}

/// How many of those who go first are hashed one after the other while others wait: with an account of one's own one can log in again and again.
const FIRST_IN_A_ROW_MAX: u32 = 3;

/// What names a login in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolTicket(pub u64);

/// Whether there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolAdmission {
    /// Hash now, and say when it is done.
    Start(PoolTicket),
    /// Wait until [`LoginPool::finish`] gives the ticket.
    Wait(PoolTicket),
    /// There is none; this long from now there may be.
    Full {
        /// For `Retry-After`.
        retry_after: Duration,
    },
}

/// The queue before hashing.
#[derive(Debug)]
pub struct LoginPool {
    settings: PoolSettings,
    last: u64,
    running: usize,
    waiting: VecDeque<PoolTicket>,
    first: VecDeque<PoolTicket>,
    /// How many of `first` came one after the other.
    in_a_row: u32,
    /// How long hashing took of late.
    usual: Duration,
}

impl LoginPool {
    /// An empty queue.
    pub fn new(settings: PoolSettings) -> LoginPool {
        let settings = PoolSettings { at_once: settings.at_once.max(1), ..settings };
        LoginPool {
            settings,
            last: 0,
            running: 0,
            waiting: VecDeque::new(),
            first: VecDeque::new(),
            in_a_row: 0,
            usual: Duration::from_millis(25),
        }
    }

    /// Somebody brings a password.
    pub fn arrive(&mut self) -> PoolAdmission {
        let admission = self.admit(self.waiting());
        if let PoolAdmission::Wait(ticket) = admission {
            self.waiting.push_back(ticket);
        }
        admission
    }

    /// Somebody brings a password on a known device.
    pub fn arrive_first(&mut self) -> PoolAdmission {
        let admission = self.admit(self.first.len());
        if let PoolAdmission::Wait(ticket) = admission {
            self.first.push_back(ticket);
        }
        admission
    }

    /// Whether somebody may come in who has so many before them.
    fn admit(&mut self, before: usize) -> PoolAdmission {
        if self.running < self.settings.at_once && self.waiting() == 0 {
            self.running += 1;
            return PoolAdmission::Start(self.ticket());
        }
        let wait = self.wait_behind(before);
        if wait > self.settings.wait_max || before >= self.settings.waiting_max {
            return PoolAdmission::Full { retry_after: wait.max(Duration::from_secs(1)) };
        }
        PoolAdmission::Wait(self.ticket())
    }

    fn next(&mut self) -> Option<PoolTicket> {
        if self.in_a_row < FIRST_IN_A_ROW_MAX
            && let Some(next) = self.first.pop_front()
        {
            self.in_a_row += 1;
            return Some(next);
        }
        self.in_a_row = 0;
        self.waiting.pop_front().or_else(|| self.first.pop_front())
    }

    /// One has been hashed, and took so long. Who is to be hashed next.
    pub fn finish(&mut self, took: Duration) -> Option<PoolTicket> {
        // A weight of one in eight: a single slow one does not turn others away.
        self.usual = (self.usual * 7 + took.min(Duration::from_secs(60))) / 8;
        match self.next() {
            Some(next) => Some(next),
            None => {
                self.running = self.running.saturating_sub(1);
                None
            }
        }
    }

    /// A queued login was abandoned. Returns whether it was queued; if not, it is being hashed and [`LoginPool::finish`] is due.
    pub fn leave(&mut self, ticket: PoolTicket) -> bool {
        let before = self.waiting();
        self.waiting.retain(|other| *other != ticket);
        self.first.retain(|other| *other != ticket);
        self.waiting() < before
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.first.len()
    }

    /// How many are being hashed.
    pub fn running(&self) -> usize {
        self.running
    }

    fn wait_behind(&self, count: usize) -> Duration {
        let rounds = u32::try_from(count / self.settings.at_once + 1).unwrap_or(u32::MAX);
        self.usual.saturating_mul(rounds)
    }

    fn ticket(&mut self) -> PoolTicket {
        self.last += 1;
        PoolTicket(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: Duration = Duration::from_millis(25);

    #[test]
    fn a_flood_is_turned_away_and_those_who_wait_come_in_order() {
        let mut pool = LoginPool::new(PoolSettings { at_once: 2, ..PoolSettings::default() });
        let admissions: Vec<PoolAdmission> = (0..10_000).map(|_| pool.arrive()).collect();
        assert_eq!(pool.running(), 2);
        let waiting: Vec<PoolTicket> = admissions
            .iter()
            .filter_map(|admission| match admission {
                PoolAdmission::Wait(ticket) => Some(*ticket),
                PoolAdmission::Start(_) | PoolAdmission::Full { .. } => None,
            })
            .collect();
        assert!((200..=260).contains(&waiting.len()), "3 s of 25 ms on two threads: {}", waiting.len());
        let full =
            admissions.iter().filter(|admission| matches!(admission, PoolAdmission::Full { .. })).count();
        assert_eq!(full, 10_000 - 2 - waiting.len());
        let served: Vec<PoolTicket> = std::iter::from_fn(|| pool.finish(HASH)).collect();
        assert_eq!(served, waiting);
        assert_eq!((pool.running(), pool.waiting()), (1, 0));
    }

    #[test]
    fn known_devices_go_first_and_strangers_do_not_fill_their_queue() {
        let mut pool = LoginPool::new(PoolSettings::default());
        let flood = |pool: &mut LoginPool| while !matches!(pool.arrive(), PoolAdmission::Full { .. }) {};
        flood(&mut pool);
        let first: Vec<PoolTicket> = (0..6)
            .map(|_| match pool.arrive_first() {
                PoolAdmission::Wait(ticket) => ticket,
                other @ (PoolAdmission::Start(_) | PoolAdmission::Full { .. }) => panic!("{other:?}"),
            })
            .collect();
        flood(&mut pool);
        let served: Vec<PoolTicket> = (0..8).filter_map(|_| pool.finish(HASH)).collect();
        assert_eq!(served[..3], first[..3]);
        assert!(!first.contains(&served[3]), "others have their turn");
        assert_eq!(served[4..7], first[3..]);
        let left = match pool.arrive_first() {
            PoolAdmission::Wait(ticket) => pool.leave(ticket),
            PoolAdmission::Start(_) | PoolAdmission::Full { .. } => false,
        };
        assert!(left);
    }

    #[test]
    fn who_goes_makes_room() {
        let mut pool = LoginPool::new(PoolSettings::default());
        let PoolAdmission::Start(first) = pool.arrive() else { panic!() };
        let PoolAdmission::Wait(second) = pool.arrive() else { panic!() };
        let PoolAdmission::Wait(third) = pool.arrive() else { panic!() };
        assert!(!pool.leave(first));
        assert!(pool.leave(second));
        assert_eq!(pool.finish(HASH), Some(third));
        assert_eq!(pool.finish(HASH), None);
        assert_eq!(pool.running(), 0);
    }

    #[test]
    fn slow_hashing_turns_away_sooner() {
        let mut pool = LoginPool::new(PoolSettings::default());
        for _ in 0..100 {
            pool.arrive();
            pool.finish(Duration::from_secs(1));
        }
        pool.arrive();
        let waiting = (0..100).filter(|_| matches!(pool.arrive(), PoolAdmission::Wait(_))).count();
        assert!((2..=3).contains(&waiting), "{waiting}");
        let PoolAdmission::Full { retry_after } = pool.arrive() else { panic!() };
        assert!(retry_after > Duration::from_secs(2) && retry_after < Duration::from_secs(10));
    }
}

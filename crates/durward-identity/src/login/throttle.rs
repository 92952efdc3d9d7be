//! Delays that grow with failures, for users and for addresses.
//!
//! Failures are counted three times: for an address, for a user from anywhere, and for a user from an address from which he has
//! logged in before. Who attacks a user's name from elsewhere makes the second count grow, and that user still gets in from where he
//! usually is, where only the third one counts. From elsewhere he has to wait, never longer than `user_delay_max`; and attempts that
//! come too early are refused without being counted, so that nobody can keep the delay up by hammering.
//!
//! Counts stand in tables of a fixed size, at places that nobody outside can foresee. When a place is full, the smallest count goes.

use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::Duration;

use foldhash::quality::RandomState;

use crate::Moment;
use crate::session::User;

/// How many counts each table holds: 32 bytes each.
const CELLS: usize = 1 << 16;
/// How many counts share a place.
const WAYS: usize = 8;

/// From when on who has to wait, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleSettings {
    /// How many failures of a user cost nothing. Default: 3.
    pub user_free: u32,
    /// How many failures from an address cost nothing: many people may stand behind one. Default: 20.
    pub address_free: u32,
    /// The first delay; each further failure doubles it. Default: 1 second.
    pub delay: Duration,
    /// The longest delay for a user. Default: 1 minute.
    pub user_delay_max: Duration,
    /// The longest delay for an address. Default: 15 minutes.
    pub address_delay_max: Duration,
    /// After how long without a failure one failure is forgotten. Default: 5 minutes.
    pub forgotten_after: Duration,
    /// How long an address from which a user has logged in is his. Default: 30 days.
    pub known_for: Duration,
}

impl Default for ThrottleSettings {
    fn default() -> ThrottleSettings {
        ThrottleSettings {
            user_free: 3,
            address_free: 20,
            delay: Duration::from_secs(1),
            user_delay_max: Duration::from_secs(60),
            address_delay_max: Duration::from_secs(15 * 60),
            forgotten_after: Duration::from_secs(5 * 60),
            known_for: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// Somebody has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// For `Retry-After`.
    pub retry_after: Duration,
}

/// Somebody may try: say how it went. It has been counted as a failure, so that trying many times at once is of no use.
#[derive(Debug)]
#[must_use = "an attempt that succeeds must be told, or it counts as a failure"]
pub struct Attempt {
    address: u64,
    user: u64,
    pair: u64,
    is_known: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// 0 is nobody.
    key: u64,
    failures: u32,
    /// The last failure, or for known pairs the last login.
    at: Moment,
    /// When it may be tried again.
    until: Moment,
}

/// A table of a fixed size.
#[derive(Debug)]
struct Table(Box<[[Cell; WAYS]]>);

impl Table {
    fn new() -> Table {
        Table(vec![[Cell::default(); WAYS]; CELLS / WAYS].into())
    }

    fn get(&self, key: u64) -> Option<&Cell> {
        self.0.get(place(key))?.iter().find(|cell| cell.key == key)
    }

    fn forget(&mut self, key: u64) {
        let cells = self.0.get_mut(place(key));
        if let Some(cell) = cells.and_then(|cells| cells.iter_mut().find(|cell| cell.key == key)) {
            *cell = Cell::default();
        }
    }

    /// The cell with the key; else the emptiest, emptied for it.
    fn get_mut(&mut self, key: u64) -> Option<&mut Cell> {
        let cells = self.0.get_mut(place(key))?;
        let at = cells.iter().position(|cell| cell.key == key);
        let at =
            at.or_else(|| (0..WAYS).min_by_key(|at| cells.get(*at).map(|cell| (cell.failures, cell.at))))?;
        let cell = cells.get_mut(at)?;
        if cell.key != key {
            *cell = Cell { key, ..Cell::default() };
        }
        Some(cell)
    }
}

fn place(key: u64) -> usize {
    (key >> 20) as usize % (CELLS / WAYS)
}

/// Counts failures, and says who has to wait. About 6 MiB, whatever comes.
#[derive(Debug)]
pub struct Throttle {
    settings: ThrottleSettings,
    hasher: RandomState,
    addresses: Table,
    users: Table,
    /// Users at addresses from which they have logged in.
    known: Table,
}

impl Throttle {
    /// Nobody has failed yet.
    pub fn new(settings: ThrottleSettings) -> Throttle {
        let hasher = RandomState::default();
        Throttle { settings, hasher, addresses: Table::new(), users: Table::new(), known: Table::new() }
    }

    /// Whether somebody may try to log in now.
    ///
    /// # Errors
    /// He has to wait. That was not counted.
    pub fn attempt(&mut self, now: Moment, user: &User, address: IpAddr) -> Result<Attempt, Delay> {
        let network = network(address);
        let attempt = Attempt {
            address: self.key(&(1, network)),
            user: self.key(&(2, user.key())),
            pair: self.key(&(3, user.key(), network)),
            is_known: false,
        };
        let is_known =
            self.known.get(attempt.pair).is_some_and(|cell| now.since(cell.at) < self.settings.known_for);
        let attempt = Attempt { is_known, ..attempt };
        let of_user = if is_known { self.known.get(attempt.pair) } else { self.users.get(attempt.user) };
        let until =
            [of_user, self.addresses.get(attempt.address)].into_iter().flatten().map(|cell| cell.until).max();
        match until.filter(|until| *until > now) {
            Some(until) => Err(Delay { retry_after: until.since(now) }),
            None => {
                self.count(now, &attempt);
                Ok(attempt)
            }
        }
    }

    /// Counts an attempt as a failure.
    fn count(&mut self, now: Moment, attempt: &Attempt) {
        let ThrottleSettings { user_free, address_free, user_delay_max, address_delay_max, .. } =
            self.settings;
        let settings = &self.settings;
        if let Some(cell) = self.addresses.get_mut(attempt.address) {
            cell.fail(now, settings, address_free, address_delay_max);
        }
        let (table, key) =
            if attempt.is_known { (&mut self.known, attempt.pair) } else { (&mut self.users, attempt.user) };
        if let Some(cell) = table.get_mut(key) {
            cell.fail(now, settings, user_free, user_delay_max);
        }
    }

    /// It was he. What he failed before is forgotten; what the address failed with other names is not, except for this time.
    pub fn succeeded(&mut self, now: Moment, attempt: &Attempt) {
        if !attempt.is_known {
            self.users.forget(attempt.user);
        }
        if let Some(cell) = self.addresses.get_mut(attempt.address) {
            cell.failures = cell.failures.saturating_sub(1);
            cell.until = Moment::default();
        }
        if let Some(cell) = self.known.get_mut(attempt.pair) {
            *cell = Cell { key: cell.key, failures: 0, at: now, until: Moment::default() };
        }
    }

    /// It could not be found out who it was: the attempt does not count.
    pub fn undecided(&mut self, attempt: &Attempt) {
        let of_user = if attempt.is_known {
            self.known.get_mut(attempt.pair)
        } else {
            self.users.get_mut(attempt.user)
        };
        for cell in of_user.into_iter().chain(self.addresses.get_mut(attempt.address)) {
            cell.failures = cell.failures.saturating_sub(1);
            cell.until = Moment::default();
        }
    }

    /// An operator lets a user in again.
    pub fn forgive(&mut self, user: &User) {
        let key = self.key(&(2, user.key()));
        self.users.forget(key);
    }

    fn key(&self, of: &impl std::hash::Hash) -> u64 {
        self.hasher.hash_one(of).max(1)
    }
}

impl Cell {
    fn fail(&mut self, now: Moment, settings: &ThrottleSettings, free: u32, delay_max: Duration) {
        let forgotten = now.since(self.at).as_millis() / settings.forgotten_after.as_millis().max(1);
        let forgotten = u32::try_from(forgotten).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_sub(forgotten).saturating_add(1);
        self.at = now;
        if self.failures > free {
            let doubled = settings.delay.saturating_mul(1 << (self.failures - free - 1).min(20));
            self.until = now.plus(doubled.min(delay_max));
        }
    }
}

/// An address; of IPv6 the first half, which is what one customer has.
fn network(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64 | (1 << 63),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn anna() -> User {
        User::new("/", "anna").unwrap()
    }

    fn at(seconds: u64) -> Moment {
        Moment::from_ms(1_700_000_000_000 + seconds * 1000)
    }

    fn address(number: u32) -> IpAddr {
        Ipv4Addr::from_bits(0x0a00_0000 + number).into()
    }

    #[test]
    fn delays_double_and_end() {
        let mut throttle = Throttle::new(ThrottleSettings::default());
        let mut now = at(0);
        let mut delays = Vec::new();
        for number in 0..15 {
            // Each from another address: it is the user's count that grows.
            if let Err(delay) = throttle.attempt(now, &anna(), address(number)) {
                delays.push(delay.retry_after.as_secs());
                now = now.plus(delay.retry_after);
                let _ = throttle.attempt(now, &anna(), address(number)).unwrap();
            }
        }
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]);
    }

    #[test]
    fn attacking_a_name_does_not_lock_its_owner_out_of_his_usual_place() {
        let mut throttle = Throttle::new(ThrottleSettings::default());
        let home = address(1);
        let attempt = throttle.attempt(at(0), &anna(), home).unwrap();
        throttle.succeeded(at(0), &attempt);
        for second in 1..2_000u64 {
            let _ = throttle.attempt(at(second), &anna(), address(100 + second as u32));
        }
        assert!(throttle.attempt(at(2_000), &anna(), address(9)).is_err(), "elsewhere he waits");
        assert!(throttle.attempt(at(2_000), &anna(), home).is_ok());
    }

    #[test]
    fn hammering_does_not_make_the_delay_longer() {
        let mut throttle = Throttle::new(ThrottleSettings::default());
        for number in 0..4 {
            let _ = throttle.attempt(at(0), &anna(), address(number)).unwrap();
        }
        for _ in 0..100_000 {
            assert!(throttle.attempt(at(0), &anna(), address(5)).is_err());
        }
        assert!(throttle.attempt(at(1), &anna(), address(5)).is_ok());
    }

    #[test]
    fn guessing_at_many_names_from_one_network_is_slowed_down() {
        let mut throttle = Throttle::new(ThrottleSettings::default());
        let from = |low: u64| IpAddr::from(Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) | u128::from(low)));
        let tried = (0..1_000u64)
            .filter(|number| {
                let user = User::new("/", &format!("user{number}")).unwrap();
                throttle.attempt(at(number / 100), &user, from(*number)).is_ok()
            })
            .count();
        assert!(tried <= 26, "{tried}");
    }

    #[test]
    fn trying_many_times_at_once_counts_each() {
        let mut throttle = Throttle::new(ThrottleSettings::default());
        let at_once =
            (0..100).filter(|number| throttle.attempt(at(0), &anna(), address(*number)).is_ok()).count();
        assert_eq!(at_once, 4);
    }

    #[test]
    fn a_directory_that_is_down_locks_nobody_out() {
        let mut throttle = Throttle::new(ThrottleSettings::default());
        for _ in 0..100 {
            let attempt = throttle.attempt(at(0), &anna(), address(1)).unwrap();
            throttle.undecided(&attempt);
        }
    }

    #[test]
    fn a_flood_of_names_does_not_make_a_guessed_one_forgotten() {
        let mut throttle = Throttle::new(ThrottleSettings {
            user_delay_max: Duration::from_secs(600),
            ..Default::default()
        });
        let mut now = at(0);
        for number in 0..14 {
            match throttle.attempt(now, &anna(), address(number)) {
                Ok(_) => {}
                Err(delay) => now = now.plus(delay.retry_after),
            }
        }
        assert!(
            throttle.attempt(now, &anna(), address(77)).is_err()
                || throttle.attempt(now, &anna(), address(78)).is_err()
        );
        for number in 0..300_000u32 {
            let user = User::new("/", &format!("flood{number}")).unwrap();
            let _ = throttle.attempt(now, &user, address(1_000 + number));
        }
        assert!(throttle.attempt(now, &anna(), address(79)).is_err());
    }
}

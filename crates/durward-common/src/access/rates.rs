//! How often callers may ask for decisions: one account for all surfaces, so that nobody asks more by asking in several ways.
//!
//! Callers are told apart by the name that goes with their credentials, and where nobody authenticates by their address: of IPv6 by the
//! network of 64 bits, because whoever has one address there has all of it. What is kept of a caller is one number, the moment at which
//! all that they asked for is paid (the generic cell rate algorithm); once it has passed, forgetting the caller changes nothing. So the
//! table has room for a fixed number of callers, none of them is displaced by others, and those for whom there is no room share one
//! account.
//!
//! What a request touches: without limits two numbers that nobody writes, and what its caller's identity says of them. With a limit by
//! caller two digests of a name or address, one lock of sixteen, and one entry of a table; with one for all together one lock more. A request
//! that is answered from its bytes does so twice, since what it comes to is not known when it is looked at.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use durward_settings::AuthSettings;

use super::auth::{CallerName, Identity};
use crate::base::limits::Rate;
use crate::base::metrics::Metrics;

/// The settings as `durward_limits_hit_total` counts them.
const ALL: &str = "auth.requests_per_second_max";
const PER_CALLER: &str = "auth.requests_per_second_per_caller_max";

/// A second, in which as many may come at once as are allowed in it.
const SECOND_NS: u64 = 1_000_000_000;

/// How often a full table is looked through for callers to forget.
const SWEEP_PAUSE_NS: u64 = 10_000_000;

/// Parts of the table, each with a lock of its own.
const SHARDS: usize = 16;

/// How often callers ask, and how often they may.
pub struct Rates {
    /// Moments are counted from here.
    started: Instant,
    all: Rate,
    per_caller: AtomicU32,
    /// Most callers in one shard.
    shard_max: AtomicUsize,
    shards: [Mutex<Shard>; SHARDS],
    /// What callers are found by depends on these, which nobody else knows: names that meet in one account cannot be made up.
    hashers: [RandomState; 2],
    metrics: Arc<Metrics>,
}

/// A digest of who a caller is: names may be long, and entries are of one size.
type CallerKey = [u64; 2];

#[derive(Debug, Default)]
struct Shard {
    /// When all that a caller asked for is paid.
    paid: HashMap<CallerKey, u64, foldhash::fast::RandomState>,
    /// The same for those for whom there is no room.
    others_paid: u64,
    /// Before this, nobody can be forgotten.
    sweep_after: u64,
}

/// What is done where there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Look,
    Take,
}

impl Rates {
    /// The rates that settings allow, of all callers together and of each; nothing is used at `now`.
    pub fn new(settings: &AuthSettings, metrics: &Arc<Metrics>, now: Instant) -> Rates {
        let rates = Rates {
            started: now,
            all: Rate::new(settings.requests_per_second_max, now),
            per_caller: AtomicU32::new(0),
            shard_max: AtomicUsize::new(0),
            shards: std::array::from_fn(|_| Mutex::default()),
            hashers: [RandomState::new(), RandomState::new()],
            metrics: Arc::clone(metrics),
        };
        rates.take_up(settings);
        rates
    }

    /// Takes up limits that can change while the server runs.
    pub fn take_up(&self, settings: &AuthSettings) {
        self.all.set(settings.requests_per_second_max);
        self.per_caller.store(settings.requests_per_second_per_caller_max, Ordering::Relaxed);
        self.shard_max.store(settings.rate_callers_max.div_ceil(SHARDS), Ordering::Relaxed);
    }

    /// Whether a caller may ask once more, which then counts; where not, that is counted.
    pub fn allows(&self, caller: Option<&Identity>, client: Option<IpAddr>, now: Instant) -> bool {
        if !self.caller_has(caller, client, now, Step::Take) {
            self.metrics.limit_hit(PER_CALLER);
            return false;
        }
        if !self.all.allows(now) {
            self.metrics.limit_hit(ALL);
            return false;
        }
        true
    }

    /// Whether [`Rates::allows`] would say so now.
    pub fn has_room(&self, caller: Option<&Identity>, client: Option<IpAddr>, now: Instant) -> bool {
        self.caller_has(caller, client, now, Step::Look) && self.all.has_room(now)
    }

    /// The same before the head of a request is read by the library: `client` is known only where no proxy may say who calls.
    pub fn has_room_directly(&self, caller: Option<&Identity>, client: Option<IpAddr>, now: Instant) -> bool {
        let is_told_apart = client.is_some()
            || caller.is_some_and(Identity::is_authenticated)
            || self.per_caller.load(Ordering::Relaxed) == 0;
        is_told_apart && self.has_room(caller, client, now)
    }

    fn caller_has(
        &self,
        caller: Option<&Identity>,
        client: Option<IpAddr>,
        now: Instant,
        step: Step,
    ) -> bool {
        let own = caller.and_then(|caller| caller.requests_per_second_max);
        let per_second = own.unwrap_or_else(|| self.per_caller.load(Ordering::Relaxed));
        // Most servers have no such limit, and pay a load and a comparison.
        let Some(interval) = SECOND_NS.checked_div(per_second.into()) else { return true };
        let name = caller.and_then(Identity::caller_name);
        let key = match name {
            Some(name) => self.key_of(&name),
            None => self.key_of(&client.map(network_of)),
        };
        let now = u64::try_from(now.saturating_duration_since(self.started).as_nanos()).unwrap_or(u64::MAX);
        let number = usize::try_from(key[0] % SHARDS as u64).unwrap_or(0);
        let Some(shard) = self.shards.get(number) else { return false };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let shard_max = self.shard_max.load(Ordering::Relaxed);
        shard.has(key, (now, interval.max(1)), shard_max, step)
    }

    fn key_of(&self, who: &impl Hash) -> CallerKey {
        [0, 1].map(|number| self.hashers.get(number).map_or(0, |hasher| hasher.hash_one(who)))
    }
}

impl Shard {
    /// Whether there is room for one more of this caller, which costs `interval`.
    fn has(&mut self, key: CallerKey, (now, interval): (u64, u64), max: usize, step: Step) -> bool {
        let known = self.paid.get(&key).copied();
        let is_alone = known.is_some() || self.makes_room(now, max);
        let paid = if is_alone { known.unwrap_or(0) } else { self.others_paid };
        let next = paid.max(now).saturating_add(interval);
        if next > now.saturating_add(SECOND_NS) {
            return false;
        }
        if step == Step::Take {
            if is_alone {
                self.paid.insert(key, next);
            } else {
                self.others_paid = next;
            }
        }
        true
    }

    /// Whether there is room for one more caller, after those were forgotten of whom nothing needs to be known.
    fn makes_room(&mut self, now: u64, max: usize) -> bool {
        if self.paid.len() >= max && self.sweep_after <= now {
            self.paid.retain(|_, paid| *paid > now);
            let first = self.paid.values().min().copied().unwrap_or(0);
            self.sweep_after = first.max(now.saturating_add(SWEEP_PAUSE_NS));
        }
        self.paid.len() < max
    }
}

/// Whoever has one address of this network may have all of it.
fn network_of(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => u128::from(address) >> 64 << 64 | 1 << 63,
    }
}

impl std::fmt::Debug for Rates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rates").finish_non_exhaustive()
    }
}

/// Who a caller with credentials is; a user and the subject of a token may have one name.
impl Hash for CallerName<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.by, self.tenant, self.name).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rates(text: &str) -> (Rates, Instant) {
        let settings: AuthSettings = toml::from_str(text).unwrap();
        let now = Instant::now();
        (Rates::new(&settings, &Arc::new(Metrics::new(vec!["/pdp"])), now), now)
    }

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    /// How many of many are allowed.
    fn count(rates: &Rates, caller: Option<&Identity>, client: Option<IpAddr>, now: Instant) -> usize {
        (0..50).filter(|_| rates.allows(caller, client, now)).count()
    }

    #[test]
    fn each_caller_has_a_second_worth_at_once_and_then_no_more_than_that() {
        let (rates, mut now) = rates("requests_per_second_per_caller_max = 10");
        let (ada, bob) = (Identity::of_test("t", "ada"), Identity::of_test("t", "bob"));
        assert_eq!([&ada, &bob].map(|caller| count(&rates, Some(caller), None, now)), [10, 10]);
        for _ in 0..20 {
            now += Duration::from_millis(100);
            assert_eq!(count(&rates, Some(&ada), None, now), 1);
        }
        now += Duration::from_secs(60);
        assert_eq!(count(&rates, Some(&ada), None, now), 10);
    }

    #[test]
    fn callers_are_told_apart_by_what_is_known_of_them() {
        let (rates, now) = rates("requests_per_second_per_caller_max = 5");
        let count = |caller: Option<&Identity>, client| count(&rates, caller, client, now);
        let ada = Identity::of_test("t", "ada");
        assert_eq!(count(Some(&ada), address("192.0.2.1")), 5);
        assert_eq!(count(Some(&ada), address("192.0.2.2")), 0, "by name, from wherever");
        assert_eq!(count(Some(&Identity::of_test("other", "ada")), address("192.0.2.1")), 5);
        assert_eq!(count(Some(&Identity::of_session("t".into(), "ada")), None), 5, "another ada");
        let nobody = Identity::of_nobody("t");
        assert_eq!(count(Some(&nobody), address("192.0.2.1")), 5);
        assert_eq!(count(None, address("192.0.2.1")), 0, "nobody over another surface");
        assert_eq!(count(None, address("::ffff:192.0.2.1")), 0);
        assert_eq!(count(None, address("192.0.2.3")), 5);
        assert_eq!(count(None, address("2001:db8::1")), 5);
        assert_eq!(count(None, address("2001:db8::ffff:0:0:1")), 0, "the same /64");
        assert_eq!(count(None, address("2001:db8:0:1::1")), 5);
        assert_eq!((count(None, None), count(None, None)), (5, 0));
    }

    #[test]
    fn a_caller_may_have_a_limit_of_their_own() {
        let own = |per_second| {
            let mut caller = Identity::of_test("t", "ada");
            caller.requests_per_second_max = Some(per_second);
            caller
        };
        let (limited, now) = rates("requests_per_second_per_caller_max = 5");
        assert_eq!(count(&limited, Some(&own(7)), None, now), 7);
        assert_eq!(count(&limited, Some(&own(0)), None, now), 50);
        let (unlimited, now) = rates("");
        assert_eq!(count(&unlimited, Some(&own(7)), None, now), 7);
        assert_eq!(count(&unlimited, None, None, now), 50);
    }

    #[test]
    fn all_together_have_a_limit_too_and_looking_takes_nothing() {
        let (rates, now) = rates("requests_per_second_max = 8\nrequests_per_second_per_caller_max = 5");
        let (ada, bob) = (Identity::of_test("t", "ada"), Identity::of_test("t", "bob"));
        assert!((0..50).all(|_| rates.has_room(Some(&ada), None, now)));
        assert_eq!(count(&rates, Some(&ada), None, now), 5);
        assert!(!rates.has_room(Some(&ada), None, now) && rates.has_room(Some(&bob), None, now));
        assert_eq!(count(&rates, Some(&bob), None, now), 3);
        assert!(!rates.has_room(Some(&bob), None, now));
    }

    #[test]
    fn a_flood_of_callers_stays_within_its_room_and_displaces_nobody() {
        let (rates, mut now) = rates("requests_per_second_per_caller_max = 5\nrate_callers_max = 16");
        let names: Vec<Identity> =
            (0..1000).map(|number| Identity::of_test("t", &number.to_string())).collect();
        let all = |now| names.iter().map(|name| count(&rates, Some(name), None, now)).sum::<usize>();
        let size = || rates.shards.iter().map(|shard| shard.lock().unwrap().paid.len()).sum::<usize>();
        // One caller in each shard, and one account for all others of it.
        assert_eq!((all(now), size()), (2 * 16 * 5, 16));
        assert_eq!(all(now), 0, "those who were there first are still known");
        now += Duration::from_secs(2);
        assert_eq!((all(now), size()), (2 * 16 * 5, 16), "others have their turn");
    }
}

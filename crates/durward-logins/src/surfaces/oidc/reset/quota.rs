//! How often something may be done in an hour, by whom: counted on this node, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use durward_session::identity::Moment;

/// How long counts hold.
const WINDOW_S: u64 = 3600;

/// How many are counted in each of two tables; the older one is dropped when the newer one is full. Whoever has so many addresses has as
/// many tries anyway.
const KEYS_MAX: usize = 50_000;

/// Counts of an hour.
pub(super) struct Quota<K> {
    max: u32,
    tables: Mutex<Tables<K>>,
}

struct Tables<K> {
    newer: HashMap<K, Count>,
    older: HashMap<K, Count>,
}

#[derive(Clone, Copy)]
struct Count {
    since_s: u64,
    count: u32,
}

/// Whose tries are counted together: an address, or of IPv6 a network of 64 bits, which one host may have for itself.
pub(super) fn site(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

impl<K: Hash + Eq + Clone> Quota<K> {
    pub(super) fn new(max: u32) -> Quota<K> {
        Quota { max, tables: Mutex::new(Tables { newer: HashMap::new(), older: HashMap::new() }) }
    }

    /// Counts one more.
    ///
    /// # Errors
    /// There were enough: in so many seconds there may be more.
    pub(super) fn take(&self, key: K, now: Moment) -> Result<(), u64> {
        let now_s = now.ms() / 1000;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tables.newer.get(&key).or_else(|| tables.older.get(&key)).copied();
        let known = known.filter(|known| now_s.saturating_sub(known.since_s) < WINDOW_S);
        let count = known.unwrap_or(Count { since_s: now_s, count: 0 });
        if count.count >= self.max {
            return Err((count.since_s + WINDOW_S).saturating_sub(now_s).max(1));
        }
        if tables.newer.len() >= KEYS_MAX && !tables.newer.contains_key(&key) {
            tables.older = std::mem::take(&mut tables.newer);
        }
        tables.newer.insert(key, Count { count: count.count + 1, ..count });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u32) -> Moment {
        Moment::from_s(1_700_000_000 + seconds)
    }

    #[test]
    fn each_has_so_many_in_an_hour() {
        let quota = Quota::new(2);
        assert_eq!([quota.take("a", at(0)), quota.take("a", at(5)), quota.take("b", at(5))], [Ok(()); 3]);
        assert_eq!(quota.take("a", at(10)), Err(3590));
        assert_eq!(quota.take("a", at(3599)), Err(1));
        assert_eq!(quota.take("a", at(3600)), Ok(()));
    }

    #[test]
    fn memory_is_bounded_and_what_was_counted_last_is_known() {
        let quota = Quota::new(1);
        for number in 0..3 * KEYS_MAX {
            assert_eq!(quota.take(number, at(0)), Ok(()));
        }
        assert!(quota.take(3 * KEYS_MAX - 1, at(1)).is_err());
        let tables = quota.tables.lock().unwrap();
        assert!(tables.newer.len() + tables.older.len() <= 2 * KEYS_MAX);
    }

    #[test]
    fn neighbours_in_ipv6_are_one() {
        let of = |text: &str| site(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.7"), of("192.0.2.7"));
    }
}

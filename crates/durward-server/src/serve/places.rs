//! The places of connections over HTTP: how many there are, how many an address may have, and whose place a further connection gets.
//!
//! Whoever needs a place where there is none gets that of a connection that is idle and on which nobody was authenticated: one that
//! has asked nothing before one that has, and of the address with most connections before others. Where all are in use, there is a
//! reserve, on which only health, metrics and administration are answered, one request each.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use durward_settings::{Network, ServerSettings};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;

use super::connection::Activity;

/// How many connections at once the reserve takes; further ones are closed unheard.
const RESERVE_MAX: usize = 64;

/// How many of them may be of addresses that are counted, and how many may be answered anything else than health: what is left is for
/// `/health/`, and for whoever asks from this machine.
const RESERVE_OTHERS_MAX: usize = 48;

/// How many connections of the reserve may be of one address.
const RESERVE_PER_ADDRESS_MAX: usize = 8;

/// The part of all connections that one address may have, where the settings do not say how many.
const SHARES: usize = 4;

/// Whose connections are counted together: an address, or of IPv6 a network of 64 bits, which one host may have for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    V4(Ipv4Addr),
    V6([u16; 4]),
}

impl Source {
    fn of(address: IpAddr) -> Source {
        match address.to_canonical() {
            IpAddr::V4(address) => Source::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Source::V6([a, b, c, d])
            }
        }
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct ConnectionPlaces {
    max: AtomicUsize,
    per_address_max: AtomicUsize,
    trusted_proxies: Vec<Network>,
    inner: Mutex<Inner>,
    gauge: Gauge,
}

#[derive(Debug, Default)]
struct Inner {
    /// In the order in which they were accepted.
    open: BTreeMap<u64, Entry>,
    next: u64,
    counts: HashMap<Source, usize>,
    reserved: usize,
    /// Those of addresses that are counted.
    reserved_strangers: usize,
    /// Those that are answered something else than health.
    reserved_others: usize,
    reserved_counts: HashMap<Source, usize>,
}

#[derive(Debug)]
struct Entry {
    /// `None` where it counts for no address.
    source: Option<Source>,
    activity: Arc<Activity>,
    end: Arc<Notify>,
}

/// Which setting a connection is refused by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoPlace(pub(super) &'static str);

/// One place; given back when dropped.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    places: Arc<ConnectionPlaces>,
    id: u64,
    pub(super) activity: Arc<Activity>,
    end: Arc<Notify>,
}

/// One place on the reserve; given back when dropped.
#[derive(Debug)]
pub(super) struct ReservedPlace {
    places: Arc<ConnectionPlaces>,
    source: Option<Source>,
    is_of_others: bool,
}

impl ConnectionPlaces {
    pub(super) fn new(settings: &ServerSettings, gauge: Gauge) -> Arc<ConnectionPlaces> {
        let places = ConnectionPlaces {
            max: AtomicUsize::default(),
            per_address_max: AtomicUsize::default(),
            trusted_proxies: settings.trusted_proxies.clone(),
            inner: Mutex::default(),
            gauge,
        };
        places.take_up(settings);
        Arc::new(places)
    }

    /// Takes up how many there may be. Who has a place keeps it, even where there are fewer.
    pub(super) fn take_up(&self, settings: &ServerSettings) {
        self.max.store(settings.connections_max, Ordering::Relaxed);
        let per_address = match settings.connections_per_address_max {
            0 => settings.connections_max.div_ceil(SHARES),
            count => count,
        };
        self.per_address_max.store(per_address, Ordering::Relaxed);
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().open.len()
    }

    /// A place for a connection from there; perhaps that of another one, which then ends.
    ///
    /// # Errors
    /// The setting by which there is none.
    pub(super) fn take(
        self: &Arc<ConnectionPlaces>,
        client: IpAddr,
        now: Instant,
    ) -> Result<ConnectionPlace, NoPlace> {
        let source = self.source(client);
        let mut inner = self.lock();
        if let Some(source) = source
            && inner.count_of(source) >= self.per_address_max.load(Ordering::Relaxed)
            && !inner.make_room(now, |entry| entry.source == Some(source))
        {
            return Err(NoPlace("server.connections_per_address_max"));
        }
        if inner.open.len() >= self.max.load(Ordering::Relaxed) && !inner.make_room(now, |_| true) {
            return Err(NoPlace("server.connections_max"));
        }
        let (activity, end) = (Arc::new(Activity::new(now)), Arc::new(Notify::new()));
        let id = inner.insert(Entry { source, activity: Arc::clone(&activity), end: Arc::clone(&end) });
        self.gauge.inc();
        Ok(ConnectionPlace { places: Arc::clone(self), id, activity, end })
    }

    /// A place on the reserve, if there is one.
    pub(super) fn reserve(self: &Arc<ConnectionPlaces>, client: IpAddr) -> Option<ReservedPlace> {
        let source = self.source(client);
        let mut inner = self.lock();
        if inner.reserved >= RESERVE_MAX {
            return None;
        }
        if let Some(source) = source {
            if inner.reserved_strangers >= RESERVE_OTHERS_MAX {
                return None;
            }
            let count = inner.reserved_counts.entry(source).or_default();
            if *count >= RESERVE_PER_ADDRESS_MAX {
                return None;
            }
            *count += 1;
            inner.reserved_strangers += 1;
        }
        inner.reserved += 1;
        Some(ReservedPlace { places: Arc::clone(self), source, is_of_others: false })
    }

    /// Whom a connection counts for: nobody where it is of this machine, or of a proxy, which brings many callers.
    fn source(&self, client: IpAddr) -> Option<Source> {
        let client = client.to_canonical();
        let is_exempt =
            client.is_loopback() || self.trusted_proxies.iter().any(|proxy| proxy.contains(client));
        (!is_exempt).then(|| Source::of(client))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn count_of(&self, source: Source) -> usize {
        self.counts.get(&source).copied().unwrap_or(0)
    }

    fn insert(&mut self, entry: Entry) -> u64 {
        if let Some(source) = entry.source {
            *self.counts.entry(source).or_default() += 1;
        }
        let id = self.next;
        self.next += 1;
        self.open.insert(id, entry);
        id
    }

    fn remove(&mut self, id: u64) -> Option<Entry> {
        let entry = self.open.remove(&id)?;
        if let Some(source) = entry.source {
            count_down(&mut self.counts, source);
        }
        Some(entry)
    }

    /// Ends one of these connections that is idle; `false` where none is.
    fn make_room(&mut self, now: Instant, is_meant: impl Fn(&Entry) -> bool) -> bool {
        let meant = self.open.iter().filter(|(_, entry)| is_meant(entry));
        let idle = meant.filter_map(|(id, entry)| {
            let idle = entry.activity.idle(now)?;
            let is_silent = matches!(idle, super::connection::Idle::Silent(_));
            let count = entry.source.map_or(0, |source| self.count_of(source));
            Some(((is_silent, count, idle), *id))
        });
        let Some((_, id)) = idle.max() else { return false };
        if let Some(entry) = self.remove(id) {
            entry.end.notify_one();
        }
        true
    }
}

fn count_down(counts: &mut HashMap<Source, usize>, source: Source) {
    if let Some(count) = counts.get_mut(&source) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(&source);
        }
    }
}

impl ConnectionPlace {
    /// Ready when another connection got the place.
    pub(super) async fn ended(&self) {
        self.end.notified().await;
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        // It may be another one's already.
        drop(self.places.lock().remove(self.id));
        self.places.gauge.dec();
    }
}

impl ReservedPlace {
    /// Whether something else than health may be answered on it.
    pub(super) fn take_for_others(&mut self) -> bool {
        let mut inner = self.places.lock();
        let is_there = inner.reserved_others < RESERVE_OTHERS_MAX;
        if is_there && !self.is_of_others {
            self.is_of_others = true;
            inner.reserved_others += 1;
        }
        is_there
    }
}

impl Drop for ReservedPlace {
    fn drop(&mut self) {
        let mut inner = self.places.lock();
        inner.reserved = inner.reserved.saturating_sub(1);
        if self.is_of_others {
            inner.reserved_others = inner.reserved_others.saturating_sub(1);
        }
        if let Some(source) = self.source {
            inner.reserved_strangers = inner.reserved_strangers.saturating_sub(1);
            count_down(&mut inner.reserved_counts, source);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn places(max: usize, per_address_max: usize) -> Arc<ConnectionPlaces> {
        let settings = ServerSettings {
            connections_max: max,
            connections_per_address_max: per_address_max,
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            ..ServerSettings::default()
        };
        ConnectionPlaces::new(&settings, Gauge::default())
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_ended(place: &ConnectionPlace) -> bool {
        let mut ended = std::pin::pin!(place.ended());
        let mut task = std::task::Context::from_waker(std::task::Waker::noop());
        ended.as_mut().poll(&mut task).is_ready()
    }

    /// As many as asked for, all with somebody on them who was authenticated.
    fn busy(places: &Arc<ConnectionPlaces>, client: &str, count: usize) -> Vec<ConnectionPlace> {
        let one = |_| {
            let place = places.take(address(client), Instant::now()).unwrap();
            place.activity.authenticate();
            place
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn an_address_has_a_share_and_no_more_and_of_ipv6_a_network_counts_as_one() {
        for (client, same, other) in [
            ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"),
            ("2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"),
        ] {
            let places = places(8, 0);
            let held = busy(&places, client, 2);
            let refused = places.take(address(same), Instant::now()).unwrap_err();
            assert_eq!(refused, NoPlace("server.connections_per_address_max"), "{same}");
            assert!(places.take(address(other), Instant::now()).is_ok(), "{other}");
            drop(held);
            assert!(places.take(address(same), Instant::now()).is_ok());
            assert_eq!((places.count(), places.lock().counts.len()), (0, 0));
        }
    }

    #[test]
    fn this_machine_and_trusted_proxies_may_have_all() {
        for client in ["127.0.0.1", "127.1.2.3", "::1", "10.1.2.3"] {
            let places = places(8, 2);
            let _held = busy(&places, client, 8);
            assert_eq!(
                places.take(address(client), Instant::now()).unwrap_err(),
                NoPlace("server.connections_max")
            );
        }
    }

    #[test]
    fn an_address_at_its_share_loses_its_own_idle_connections_and_no_others() {
        let places = places(8, 2);
        let other = places.take(address("192.0.2.9"), Instant::now()).unwrap();
        let own = [(); 2].map(|()| places.take(address("192.0.2.1"), Instant::now()).unwrap());
        let later = Instant::now() + Duration::from_secs(1);
        let _third = places.take(address("192.0.2.1"), later).unwrap();
        assert_eq!(own.iter().filter(|place| is_ended(place)).count(), 1);
        assert!(!is_ended(&other));
        assert_eq!(places.count(), 3);
    }

    #[test]
    fn where_there_is_no_room_the_silent_of_the_address_with_most_go_first() {
        let places = places(6, 6);
        let now = Instant::now();
        let lone = places.take(address("192.0.2.1"), now).unwrap();
        let many: Vec<_> = (1..5)
            .map(|s| places.take(address("192.0.2.2"), now + Duration::from_secs(s)).unwrap())
            .collect();
        let _known = busy(&places, "192.0.2.3", 1);
        let _new = places.take(address("192.0.2.4"), now + Duration::from_secs(9)).unwrap();
        let ended: Vec<bool> = many.iter().map(is_ended).collect();
        assert_eq!(ended, [true, false, false, false], "the longest silent");
        assert!(!is_ended(&lone));
        drop(many);
        assert_eq!(places.count(), 3);
    }

    #[test]
    fn the_reserve_is_small_and_no_address_has_all_of_it() {
        let places = places(1, 1);
        let held: Vec<_> = (0..9).filter_map(|_| places.reserve(address("192.0.2.1"))).collect();
        assert_eq!(held.len(), RESERVE_PER_ADDRESS_MAX);
        let others: Vec<_> = (0..99).filter_map(|_| places.reserve(address("127.0.0.1"))).collect();
        assert_eq!(held.len() + others.len(), RESERVE_MAX);
        drop((held, others));
        let inner = places.lock();
        assert_eq!((inner.reserved, inner.reserved_counts.len()), (0, 0));
        assert_eq!((inner.reserved_strangers, inner.reserved_others), (0, 0));
    }

    #[test]
    fn some_of_the_reserve_is_for_this_machine_and_some_for_health() {
        let places = places(1, 1);
        let strangers: Vec<_> = (0..200)
            .filter_map(|number| places.reserve(address(&format!("192.0.2.{}", number + 1))))
            .collect();
        assert_eq!(strangers.len(), RESERVE_OTHERS_MAX);
        assert!(places.reserve(address("127.0.0.1")).is_some());
        drop(strangers);
        let mut own: Vec<_> = (0..99).filter_map(|_| places.reserve(address("127.0.0.1"))).collect();
        assert_eq!(own.len(), RESERVE_MAX);
        let others = own.iter_mut().filter_map(|place| place.take_for_others().then_some(())).count();
        assert_eq!(others, RESERVE_OTHERS_MAX);
        own.clear();
        assert!(places.reserve(address("127.0.0.1")).is_some_and(|mut place| place.take_for_others()));
    }
}

//! Who may be connected. When there are as many connections as there may be, one without a session makes room for the next (Part 4, 5.5.2):
//! the oldest of the address that has most of them, so that whoever fills a server is who loses.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durward_identity::login::network;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::server::ServerLimits;

/// An address, as connections are counted by it; of IPv6 the first half. Connections from nowhere that is known count together.
type ClientNetwork = Option<u64>;

/// The connections of a server.
#[derive(Debug)]
pub(super) struct ConnectionAdmission {
    connections_max: usize,
    /// Turns to open a channel.
    half_open: Semaphore,
    half_open_per_address_max: usize,
    state: Mutex<AdmissionState>,
}

#[derive(Debug, Default)]
struct AdmissionState {
    next: u64,
    /// In the order in which they came.
    connected: BTreeMap<u64, ConnectionEntry>,
    addresses: HashMap<ClientNetwork, CountedAddress>,
}

#[derive(Debug)]
struct ConnectionEntry {
    network: ClientNetwork,
    shared: Arc<ConnectionActivity>,
}

/// What a connection and those who look for room know of it.
#[derive(Debug, Default)]
struct ConnectionActivity {
    /// An activated session is on it: it does not make room for others.
    in_use: AtomicBool,
    leave: Notify,
}

#[derive(Debug)]
struct CountedAddress {
    connections: usize,
    half_open: Arc<Semaphore>,
}

/// The place of one connection, given back when it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    admission: Arc<ConnectionAdmission>,
    number: u64,
    half_open: Arc<Semaphore>,
    shared: Arc<ConnectionActivity>,
}

impl ConnectionAdmission {
    pub(super) fn new(limits: &ServerLimits) -> Arc<ConnectionAdmission> {
        Arc::new(ConnectionAdmission {
            connections_max: limits.connections_max,
            half_open: Semaphore::new(limits.half_open_max),
            half_open_per_address_max: limits.half_open_per_address_max,
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, AdmissionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a client; nothing where all connections have sessions.
    pub(super) fn enter(self: &Arc<ConnectionAdmission>, peer: Option<SocketAddr>) -> Option<ConnectionSlot> {
        let network = peer.map(|peer| network(peer.ip()));
        let mut state = self.state();
        if state.connected.len() >= self.connections_max {
            let number = state.dispensable()?;
            if let Some(gone) = state.remove(number) {
                gone.leave.notify_one();
            }
        }
        let number = state.next;
        state.next += 1;
        let shared = Arc::<ConnectionActivity>::default();
        state.connected.insert(number, ConnectionEntry { network, shared: Arc::clone(&shared) });
        let address = state.addresses.entry(network).or_insert_with(|| CountedAddress {
            connections: 0,
            half_open: Arc::new(Semaphore::new(self.half_open_per_address_max)),
        });
        address.connections += 1;
        let half_open = Arc::clone(&address.half_open);
        drop(state);
        Some(ConnectionSlot { admission: Arc::clone(self), number, half_open, shared })
    }
}

impl AdmissionState {
    /// Who makes room.
    fn dispensable(&self) -> Option<u64> {
        let mut idle: HashMap<ClientNetwork, (usize, u64)> = HashMap::new();
        for (number, connected) in &self.connected {
            if !connected.shared.in_use.load(Ordering::Relaxed) {
                idle.entry(connected.network).or_insert((0, *number)).0 += 1;
            }
        }
        // Of two that have as many, who came first.
        let most = idle.values().max_by_key(|(count, oldest)| (*count, std::cmp::Reverse(*oldest)));
        most.map(|(_, oldest)| *oldest)
    }

    fn remove(&mut self, number: u64) -> Option<Arc<ConnectionActivity>> {
        let ConnectionEntry { network, shared } = self.connected.remove(&number)?;
        if let Some(address) = self.addresses.get_mut(&network) {
            address.connections = address.connections.saturating_sub(1);
            if address.connections == 0 {
                self.addresses.remove(&network);
            }
        }
        Some(shared)
    }
}

impl ConnectionSlot {
    /// Waits for a turn to open a channel: first among those from the same address, then among all.
    pub(super) async fn turn(&self) -> Option<(SemaphorePermit<'_>, SemaphorePermit<'_>)> {
        let own = self.half_open.acquire().await.ok()?;
        let of_all = self.admission.half_open.acquire().await.ok()?;
        Some((own, of_all))
    }

    /// Ends when the connection has to make room for another one.
    pub(super) async fn must_leave(&self) {
        self.shared.leave.notified().await;
    }

    /// Whether an activated session is on the connection.
    pub(super) fn set_in_use(&self, in_use: bool) {
        self.shared.in_use.store(in_use, Ordering::Relaxed);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.admission.state().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn from(last: u8) -> Option<SocketAddr> {
        Some(SocketAddr::from(([192, 0, 2, last], 50_000)))
    }

    fn admission(connections_max: usize) -> Arc<ConnectionAdmission> {
        let limits =
            ServerLimits { connections_max, half_open_per_address_max: 1, ..ServerLimits::default() };
        ConnectionAdmission::new(&limits)
    }

    fn leaves(place: &ConnectionSlot) -> bool {
        place.must_leave().now_or_never().is_some()
    }

    #[test]
    fn who_has_most_makes_room() {
        let admission = admission(4);
        let patient = admission.enter(from(1)).unwrap();
        let greedy: Vec<ConnectionSlot> = (0..3).map(|_| admission.enter(from(2)).unwrap()).collect();
        let next = admission.enter(from(3)).unwrap();
        assert!(leaves(&greedy[0]) && !leaves(&greedy[1]) && !leaves(&patient));
        let more = admission.enter(from(2)).unwrap();
        assert!(leaves(&greedy[1]) && !leaves(&next), "the greedy ones make room for each other");
        for place in [&patient, &next, &greedy[2], &more] {
            place.set_in_use(true);
        }
        assert!(admission.enter(from(4)).is_none(), "sessions stay");
        greedy[2].set_in_use(false);
        assert!(admission.enter(from(4)).is_some());
    }

    #[test]
    fn nothing_is_left_of_those_who_went() {
        let admission = admission(2);
        for round in 0..10 {
            let places: Vec<_> = (0..4).filter_map(|_| admission.enter(from(round))).collect();
            assert_eq!(places.len(), 4);
            assert_eq!(admission.state().connected.len(), 2);
        }
        let state = admission.state();
        assert!(state.connected.is_empty() && state.addresses.is_empty());
    }

    #[test]
    fn one_address_does_not_take_all_turns() {
        let admission = admission(8);
        let places: Vec<_> = [1, 1, 2].map(|last| admission.enter(from(last)).unwrap()).into();
        let first = places[0].turn().now_or_never().unwrap().unwrap();
        assert!(places[1].turn().now_or_never().is_none());
        assert!(places[2].turn().now_or_never().is_some());
        drop(first);
        assert!(places[1].turn().now_or_never().is_some());
    }
}

//! Limits calls under way, per client and in total, so that no client starves the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A client by its certificate.
type CallerThumbprint = Option<Arc<[u8]>>;

/// Places for calls.
#[derive(Debug)]
pub(super) struct CallQuota {
    all_max: usize,
    client_max: usize,
    taken: Mutex<CallsTaken>,
}

#[derive(Debug, Default)]
struct CallsTaken {
    all: usize,
    of: HashMap<CallerThumbprint, usize>,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub(super) struct CallPermit<'p> {
    places: &'p CallQuota,
    client: CallerThumbprint,
}

impl CallQuota {
    /// So many in all, and of one client.
    pub(super) fn new(all_max: usize, client_max: usize) -> CallQuota {
        CallQuota { all_max, client_max, taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, CallsTaken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a client; nothing where it, or all together, have as many as there are.
    pub(super) fn take(&self, client: &CallerThumbprint) -> Option<CallPermit<'_>> {
        let mut taken = self.taken();
        let own = taken.of.get(client).copied().unwrap_or(0);
        if taken.all >= self.all_max || own >= self.client_max {
            return None;
        }
        taken.all += 1;
        taken.of.insert(client.clone(), own + 1);
        Some(CallPermit { places: self, client: client.clone() })
    }
}

impl Drop for CallPermit<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.of.get_mut(&self.client) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.of.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_leaves_places_for_others() {
        let places = CallQuota::new(3, 2);
        let client = |name: &[u8]| Some(Arc::from(name));
        let greedy: Vec<_> = (0..2).map(|_| places.take(&client(b"greedy")).unwrap()).collect();
        assert!(places.take(&client(b"greedy")).is_none());
        let other = places.take(&client(b"other")).unwrap();
        assert!(places.take(&client(b"third")).is_none(), "all are taken");
        drop(other);
        drop(greedy);
        assert!(places.take(&client(b"greedy")).is_some());
        assert!(places.taken().of.is_empty(), "nobody is remembered for nothing");
    }
}

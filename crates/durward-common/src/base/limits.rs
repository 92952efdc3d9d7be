//! Limits that several callers share: places and bytes that can be held, and a number of requests a second.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use prometheus_client::metrics::gauge::Gauge;

/// A bounded number of places.
#[derive(Debug)]
pub struct Places {
    held: AtomicUsize,
    max: AtomicUsize,
    gauge: Gauge,
}

/// One place; given back when dropped.
#[derive(Debug)]
pub struct Held(Arc<Places>);

impl Places {
    /// So many places, counted by `gauge`.
    pub fn new(max: usize, gauge: Gauge) -> Arc<Places> {
        Arc::new(Places { held: AtomicUsize::new(0), max: AtomicUsize::new(max), gauge })
    }

    /// A place, if there is one.
    pub fn take(self: &Arc<Places>) -> Option<Held> {
        self.gauge.inc();
        let before = self.held.fetch_add(1, Ordering::Relaxed);
        let held = Held(Arc::clone(self));
        (before < self.max.load(Ordering::Relaxed)).then_some(held)
    }

    /// From now on so many places. Who has one keeps it, even where there are fewer.
    pub fn set_max(&self, max: usize) {
        self.max.store(max, Ordering::Relaxed);
    }

    /// How many are held.
    pub fn count(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::Relaxed);
        self.0.gauge.dec();
    }
}

/// Bytes that all callers together may hold at once.
#[derive(Debug)]
pub struct Memory {
    held: AtomicUsize,
    bytes_max: usize,
}

impl Memory {
    /// So many bytes.
    pub fn new(bytes_max: usize) -> Arc<Memory> {
        Arc::new(Memory { held: AtomicUsize::new(0), bytes_max })
    }

    /// Holds so many bytes more, also where there is no room for them; whether there was. Whoever holds them gives them back.
    pub fn hold(&self, bytes: usize) -> bool {
        self.held.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.bytes_max
    }

    /// Gives bytes back that were held.
    pub fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A number of requests a second. As many may come at once after a quiet second.
#[derive(Debug)]
pub struct Rate {
    per_second: AtomicU32,
    state: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rate {
    /// 0 means any number.
    pub fn new(per_second: u32, now: Instant) -> Rate {
        let state = Mutex::new(Bucket { left: per_second.into(), at: now });
        Rate { per_second: AtomicU32::new(per_second), state }
    }

    /// From now on so many; 0 means any number.
    pub fn set(&self, per_second: u32) {
        self.per_second.store(per_second, Ordering::Relaxed);
    }

    /// Whether one more may be looked at, which then counts.
    pub fn allows(&self, now: Instant) -> bool {
        self.take(now, 1.0)
    }

    /// Whether [`Rate::allows`] would say so now.
    pub fn has_room(&self, now: Instant) -> bool {
        self.take(now, 0.0)
    }

    /// Whether there is room for one, and takes so much of it.
    fn take(&self, now: Instant, share: f64) -> bool {
        let per_second = match self.per_second.load(Ordering::Relaxed) {
            0 => return true,
            per_second => f64::from(per_second),
        };
        let mut bucket = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.at = bucket.at.max(now);
        bucket.left = passed.mul_add(per_second, bucket.left).min(per_second);
        let is_allowed = bucket.left >= 1.0;
        if is_allowed {
            bucket.left -= share;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn places_are_given_back() {
        let places = Places::new(2, Gauge::default());
        let (first, second) = (places.take().unwrap(), places.take().unwrap());
        assert!(places.take().is_none());
        assert_eq!(places.count(), 2);
        drop(first);
        assert!(places.take().is_some());
        drop(second);
        assert_eq!((places.count(), places.gauge.get()), (0, 0));
    }

    #[test]
    fn places_can_become_fewer_and_more() {
        let places = Places::new(2, Gauge::default());
        let _held = [places.take().unwrap(), places.take().unwrap()];
        places.set_max(1);
        assert!(places.take().is_none());
        places.set_max(3);
        assert!(places.take().is_some());
    }

    #[test]
    fn bytes_are_held_until_they_are_given_back() {
        let memory = Memory::new(10);
        assert!(memory.hold(4) && memory.hold(6));
        assert!(!memory.hold(1), "held all the same");
        memory.give_back(2);
        assert!(memory.hold(1));
    }

    #[test]
    fn a_rate_allows_a_second_worth_at_once_and_then_no_more_than_that() {
        let mut now = Instant::now();
        let rate = Rate::new(10, now);
        assert_eq!((0..50).filter(|_| rate.allows(now)).count(), 10);
        for _ in 0..20 {
            now += Duration::from_millis(100);
            assert_eq!((0..5).filter(|_| rate.allows(now)).count(), 1);
        }
        now += Duration::from_secs(60);
        assert_eq!((0..50).filter(|_| rate.allows(now)).count(), 10);
        assert!((0..50).all(|_| Rate::new(0, now).allows(now)));
        rate.set(20);
        now += Duration::from_secs(1);
        assert_eq!((0..50).filter(|_| rate.allows(now)).count(), 20);
        rate.set(0);
        assert!((0..50).all(|_| rate.allows(now)));
    }
}

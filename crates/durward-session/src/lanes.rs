//! Striped counters: each thread writes its own stripe, and a reader sums all stripes.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many threads write without disturbing each other. With more threads some share a lane, which is slower, not wrong, as long
/// as a lane is made of atomics.
const LANES: usize = 16;

/// Alone on its cache lines: what is written on one core must not wait for another's.
#[derive(Debug, Default)]
#[repr(align(128))]
struct CounterStripe<T>(T);

/// The same numbers in every lane.
#[derive(Debug)]
pub struct Lanes<T>(Box<[CounterStripe<T>; LANES]>);

thread_local! {
    static LANE: Cell<Option<usize>> = const { Cell::new(None) };
}

static NEXT_LANE: AtomicUsize = AtomicUsize::new(0);

/// The number of this thread's lane, below [`LANES`].
#[inline]
fn lane() -> usize {
    LANE.with(|lane| {
        let number = lane.get().unwrap_or_else(|| NEXT_LANE.fetch_add(1, Ordering::Relaxed) % LANES);
        lane.set(Some(number));
        number
    })
}

impl<T> Lanes<T> {
    /// How many there are.
    pub const COUNT: usize = LANES;

    /// Lanes that all begin with what `make` gives.
    pub fn new(make: impl Fn() -> T) -> Lanes<T> {
        Lanes(Box::new(std::array::from_fn(|_| CounterStripe(make()))))
    }

    /// The lane of the thread that asks, and its number, from 0 to [`Lanes::COUNT`] - 1.
    #[expect(clippy::indexing_slicing, reason = "the number of a lane is less than their count")]
    #[inline]
    pub fn mine(&self) -> (usize, &T) {
        let number = lane();
        (number, &self.0[number].0)
    }

    /// All lanes.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|lane| &lane.0)
    }
}

impl<T: Default> Default for Lanes<T> {
    fn default() -> Lanes<T> {
        Lanes::new(T::default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_lane_and_all_lanes_are_there_to_be_read() {
        let lanes = Lanes::<AtomicUsize>::default();
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    let (number, lane) = lanes.mine();
                    lane.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(lanes.mine().0, number);
                    assert!(number < Lanes::<AtomicUsize>::COUNT);
                });
            }
        });
        assert_eq!(lanes.all().count(), Lanes::<AtomicUsize>::COUNT);
        assert_eq!(lanes.all().map(|lane| lane.load(Ordering::Relaxed)).sum::<usize>(), 40);
    }
}

//! How long single decisions take.

use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Times are kept to three significant digits.
const DIGITS: u8 = 3;
/// No decision takes a minute.
const LATENCY_NS_MAX: u64 = 60_000_000_000;
/// How often the empty clock reading is taken.
const CLOCK_READINGS: usize = 200_000;

/// How long single decisions took, in nanoseconds, clock readings included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionLatency {
    /// Half of all decisions took no longer.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// 999 of 1000 took no longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// How many decisions there were.
    pub decisions: u64,
}

/// Measures on several threads at once. Each thread makes a runner of its own, which is given the number of a step and
/// returns how many decisions it made: each is taken to have had an equal share of the time.
pub(super) fn measure<R: FnMut(usize) -> usize>(
    make: &(impl Fn() -> R + Sync),
    steps: usize,
    threads: usize,
    duration: Duration,
) -> DecisionLatency {
    let mut all = histogram();
    thread::scope(|scope| {
        let one = |number: usize| move || one_thread(make(), steps * number / threads, steps, duration);
        let running: Vec<_> = (0..threads).map(|number| scope.spawn(one(number))).collect();
        for thread in running {
            if let Ok(part) = thread.join() {
                // Both have the same bounds: adding cannot fail.
                let _ = all.add(part);
            }
        }
    });
    DecisionLatency {
        p50_ns: all.value_at_quantile(0.5),
        p99_ns: all.value_at_quantile(0.99),
        p999_ns: all.value_at_quantile(0.999),
        max_ns: all.max(),
        decisions: all.len(),
    }
}

/// The median of what two clock readings with nothing between show.
pub(super) fn clock_ns() -> u64 {
    let mut readings = histogram();
    for _ in 0..CLOCK_READINGS {
        let start = Instant::now();
        readings.saturating_record(nanoseconds(Instant::now() - start));
    }
    readings.value_at_quantile(0.5)
}

fn one_thread(
    mut run: impl FnMut(usize) -> usize,
    first: usize,
    steps: usize,
    duration: Duration,
) -> Histogram<u64> {
    let mut taken = histogram();
    let mut at = first;
    let begin = Instant::now();
    loop {
        let start = Instant::now();
        let decided = run(at).max(1) as u64;
        let end = Instant::now();
        taken.saturating_record_n((nanoseconds(end - start) / decided).max(1), decided);
        at = if at + 1 < steps { at + 1 } else { 0 };
        if end - begin >= duration {
            return taken;
        }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).max(1)
}

fn histogram() -> Histogram<u64> {
    // The bounds are constants that fit: this cannot fail, and a histogram that grows as needed is as good.
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, DIGITS).unwrap_or_else(|_| {
        Histogram::new(DIGITS).unwrap_or_else(|_| unreachable!("three digits are allowed"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_in_order_and_include_what_took_long() {
        let make = || {
            |at: usize| {
                if at == 9 {
                    thread::sleep(Duration::from_millis(2));
                }
                1
            }
        };
        let latency = measure(&make, 10, 2, Duration::from_millis(100));
        assert!(latency.decisions >= 20);
        assert!(latency.p50_ns <= latency.p99_ns && latency.p99_ns <= latency.p999_ns);
        assert!(latency.p50_ns < 1_000_000, "{latency:?}");
        assert!(latency.p999_ns >= 1_900_000, "{latency:?}");
    }

    #[test]
    fn decisions_of_a_batch_share_its_time() {
        let make = || {
            |_: usize| {
                thread::sleep(Duration::from_millis(2));
                1_000
            }
        };
        let latency = measure(&make, 1, 1, Duration::from_millis(10));
        assert!(latency.decisions >= 1_000 && latency.p50_ns >= 1_990, "{latency:?}");
    }

    #[test]
    fn reading_the_clock_costs_something() {
        assert!(clock_ns() > 0);
    }
}

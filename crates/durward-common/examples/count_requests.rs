//! What counting one HTTP request costs while other threads count theirs: `cargo run --profile optimised -p durward-common --example count_requests`.
//!
//! Compares the counters in lanes, which the server has, with those of `prometheus-client`. Two threads are enough to see whether
//! they wait for each other; the machine needs as many cores, with nothing else to do.
#![expect(clippy::print_stdout, reason = "it is a program to run by hand")]

#[expect(dead_code, reason = "the server uses the rest")]
#[path = "../src/base/metrics/lanes.rs"]
#[expect(unreachable_pub, reason = "the crate that it belongs to shows it")]
mod lanes;

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use durward_session::Lanes;
use lanes::{Level, Tally, Times};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

const ROUNDS: u32 = 500_000;

const BOUNDS_S: [f64; 11] = [2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 5e-3, 2.5e-2, 1e-1, 1.0, 10.0];

/// A route and a status, as many as the server has about.
type Labels = (u16, u16);

const CELLS: usize = 640;

fn main() {
    let histogram = Histogram::new(BOUNDS_S);
    let (family, gauge, ids) =
        (Family::<Labels, Counter>::default(), Gauge::<i64>::default(), AtomicU64::new(0));
    let shared = |time| {
        gauge.inc();
        black_box(ids.fetch_add(1, Ordering::Relaxed));
        family.get_or_create(&(12, 200)).inc();
        histogram.observe(Duration::as_secs_f64(&time));
        gauge.dec();
    };
    let times = Times::new(BOUNDS_S);
    let tally = Tally::<Labels>::new(std::array::from_fn::<_, CELLS, _>(labels), |_| false);
    let (level, ids) = (Level::default(), Lanes::<AtomicU64>::default());
    let in_lanes = |time| {
        let _one = level.one_more();
        black_box(ids.mine().1.fetch_add(1, Ordering::Relaxed));
        tally.count_at(Some(240), || (12, 200));
        times.observe(time);
    };
    for threads in [1, 2] {
        let (before, after) = (nanoseconds(threads, &shared), nanoseconds(threads, &in_lanes));
        println!(
            "{threads} threads: shared {before:.0} ns, in lanes {after:.0} ns a request, {:.1} times",
            before / after
        );
    }
}

fn labels(cell: usize) -> Labels {
    (u16::try_from(cell / 20).unwrap_or(0), 200 + u16::try_from(cell % 20).unwrap_or(0))
}

/// What one request costs a thread, in the fastest of many tries: others that use the machine can only make it slower.
fn nanoseconds(threads: usize, count: &(impl Fn(Duration) + Sync)) -> f64 {
    let fastest = (0..40).map(|_| one_try(threads, count)).min().unwrap_or_default();
    fastest.as_secs_f64() * 1e9 / f64::from(ROUNDS)
}

fn one_try(threads: usize, count: &(impl Fn(Duration) + Sync)) -> Duration {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                (0..ROUNDS).for_each(|round| count(Duration::from_nanos(u64::from(round % 100_000))))
            });
        }
    });
    begun.elapsed()
}

//! Counters, gauges and histograms that every request writes: in lanes, which are added up when Prometheus asks, so that no
//! core waits for another's count. Those of `prometheus-client` are one mutex, one map behind a lock, or one shared number.
//! What is written for Prometheus is the same; the tests compare.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use durward_session::Lanes;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

/// Counters of one name, a cell for each set of labels that is known ahead, and a map for others.
#[derive(Clone, Debug)]
pub(super) struct Tally<L>(Arc<Cells<L>>);

#[derive(Debug)]
struct Cells<L> {
    known: Vec<L>,
    is_shown: Vec<bool>,
    lanes: Lanes<Box<[AtomicU64]>>,
    others: Family<L, Counter>,
}

impl<L> Tally<L>
where
    L: Clone + Eq + Hash,
{
    /// Sets of labels that are known ahead. What never happened is shown as a zero where `is_shown` says so, and else not at all.
    pub(super) fn new(known: impl Into<Vec<L>>, is_shown: impl Fn(&L) -> bool) -> Tally<L> {
        let known: Vec<L> = known.into();
        let is_shown = known.iter().map(is_shown).collect();
        let lanes = Lanes::new(|| known.iter().map(|_| AtomicU64::new(0)).collect());
        Tally(Arc::new(Cells { known, is_shown, lanes, others: Family::default() }))
    }

    /// One more. Looks for its cell: for tallies of few.
    pub(super) fn count(&self, labels: L) {
        let cell = self.0.known.iter().position(|known| *known == labels);
        self.count_at(cell, || labels);
    }

    /// One more in the cell of this number, or with these labels where there is none.
    pub(super) fn count_at(&self, cell: Option<usize>, labels: impl FnOnce() -> L) {
        let (_, lane) = self.0.lanes.mine();
        match cell.and_then(|cell| lane.get(cell)) {
            Some(cell) => {
                cell.fetch_add(1, Ordering::Relaxed);
            }
            None => {
                self.0.others.get_or_create(&labels()).inc();
            }
        }
    }
}

impl<L> EncodeMetric for Tally<L>
where
    L: Clone + Eq + Hash + EncodeLabelSet,
{
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let cells = self.0.known.iter().zip(&self.0.is_shown).enumerate();
        for (at, (labels, is_shown)) in cells {
            let count = sum(self.0.lanes.all().filter_map(|lane| lane.get(at)));
            if count > 0 || *is_shown {
                encoder.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
            }
        }
        self.0.others.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// How many of something there are at this moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Level(Arc<Lanes<AtomicI64>>);

/// One of them; there is one less when it is dropped.
#[derive(Debug)]
pub struct OneMore<'l>(&'l AtomicI64);

impl Level {
    /// There is one more. It goes from the lane it came to, on whichever thread: no lane is ever below zero.
    pub(crate) fn one_more(&self) -> OneMore<'_> {
        let (_, lane) = self.0.mine();
        lane.fetch_add(1, Ordering::Relaxed);
        OneMore(lane)
    }
}

impl Drop for OneMore<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EncodeMetric for Level {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.0.all().map(|lane| lane.load(Ordering::Relaxed)).sum::<i64>())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

/// How long something took, by `BOUNDS` buckets and one for all that took longer.
#[derive(Clone, Debug)]
pub(super) struct Times<const BOUNDS: usize>(Arc<Buckets<BOUNDS>>);

#[derive(Debug)]
struct Buckets<const BOUNDS: usize> {
    /// In seconds, ascending, each part of its bucket.
    bounds: [f64; BOUNDS],
    lanes: Lanes<TimesLane<BOUNDS>>,
}

#[derive(Debug)]
struct TimesLane<const BOUNDS: usize> {
    buckets: [AtomicU64; BOUNDS],
    longer: AtomicU64,
    /// In nanoseconds: enough for 584 years.
    sum_ns: AtomicU64,
}

impl<const BOUNDS: usize> Times<BOUNDS> {
    /// The bounds of the buckets in seconds, ascending.
    pub(super) fn new(bounds: [f64; BOUNDS]) -> Times<BOUNDS> {
        let lanes = Lanes::new(|| TimesLane {
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
            longer: AtomicU64::new(0),
            sum_ns: AtomicU64::new(0),
        });
        Times(Arc::new(Buckets { bounds, lanes }))
    }

    /// It took this long once more.
    pub(super) fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let (_, lane) = self.0.lanes.mine();
        let bucket = self.0.bounds.iter().position(|bound| *bound >= seconds);
        let bucket = bucket.and_then(|at| lane.buckets.get(at)).unwrap_or(&lane.longer);
        bucket.fetch_add(1, Ordering::Relaxed);
        lane.sum_ns.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl<const BOUNDS: usize> EncodeMetric for Times<BOUNDS> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let lanes = &self.0.lanes;
        let bounds = self.0.bounds.iter().enumerate();
        let of_bucket = |at| sum(lanes.all().filter_map(|lane| lane.buckets.get(at)));
        let mut buckets: Vec<(f64, u64)> = bounds.map(|(at, bound)| (*bound, of_bucket(at))).collect();
        buckets.push((f64::INFINITY, sum(lanes.all().map(|lane| &lane.longer))));
        // Of what is shown, not counted apart: the two must not differ by what happens meanwhile.
        let count = buckets.iter().map(|(_, count)| count).sum();
        let time = Duration::from_nanos(sum(lanes.all().map(|lane| &lane.sum_ns)));
        encoder.encode_histogram::<NoLabelSet>(time.as_secs_f64(), count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

fn sum<'n>(numbers: impl Iterator<Item = &'n AtomicU64>) -> u64 {
    numbers.fold(0, |sum, number| sum.wrapping_add(number.load(Ordering::Relaxed)))
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::{Registry, Unit};

    use super::*;
    use crate::base::metrics::{ByResult, Word};

    const BOUNDS_S: [f64; 3] = [1e-6, 0.5, 10.0];

    /// What Prometheus reads, lines sorted: a map gives its series in any order.
    fn text(registry: &Registry) -> Vec<String> {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    fn by(result: &'static str) -> ByResult {
        ByResult { result: Word(result) }
    }

    #[test]
    fn prometheus_reads_what_it_would_read_of_the_counters_of_its_own_library() {
        let (mut ours, mut theirs) = (Registry::with_prefix("x"), Registry::with_prefix("x"));
        let (times, histogram) = (Times::new(BOUNDS_S), Histogram::new(BOUNDS_S));
        ours.register_with_unit("time", "Time", Unit::Seconds, times.clone());
        theirs.register_with_unit("time", "Time", Unit::Seconds, histogram.clone());
        let tally = Tally::new(["ok", "refused", "busy"].map(by), |labels| labels.result.0 == "ok");
        let family = Family::<ByResult, Counter>::default();
        drop(family.get_or_create(&by("ok")));
        ours.register("results", "Results", tally.clone());
        theirs.register("results", "Results", family.clone());
        let (level, gauge) = (Level::default(), Gauge::<i64>::default());
        ours.register("open", "Open", level.clone());
        theirs.register("open", "Open", gauge.clone());
        assert_eq!(text(&ours), text(&theirs), "before anything happened");
        for milliseconds in [0, 500, 501, 10_000, 10_001, 250] {
            let time = Duration::from_millis(milliseconds);
            times.observe(time);
            histogram.observe(time.as_secs_f64());
        }
        for result in ["busy", "busy", "nobody thought of this one"] {
            tally.count(by(result));
            family.get_or_create(&by(result)).inc();
        }
        let (_one, two) = (level.one_more(), level.one_more());
        drop(two);
        gauge.inc();
        assert_eq!(text(&ours), text(&theirs));
    }

    #[test]
    fn what_all_threads_count_is_added_up() {
        let (times, tally, level) =
            (Times::new(BOUNDS_S), Tally::new([by("ok")], |_| false), Level::default());
        let mut registry = Registry::default();
        registry.register("time", "Time", times.clone());
        registry.register("results", "Results", tally.clone());
        registry.register("open", "Open", level.clone());
        std::thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let _one = level.one_more();
                        times.observe(Duration::from_millis(250));
                        tally.count(by("ok"));
                    }
                });
            }
        });
        let text = text(&registry);
        for line in [
            "time_count 4000",
            "time_sum 1000.0",
            "time_bucket{le=\"0.5\"} 4000",
            "results_total{result=\"ok\"} 4000",
            "open 0",
        ] {
            assert!(text.iter().any(|shown| shown == line), "{line} in {text:#?}");
        }
    }

    #[test]
    fn what_came_on_one_thread_goes_on_another() {
        let level = Level::default();
        let one = level.one_more();
        std::thread::scope(|scope| scope.spawn(|| drop(one)).join().unwrap());
        assert!(level.0.all().all(|lane| lane.load(Ordering::Relaxed) == 0));
    }
}

//! How long requests took: a histogram, and its text in records.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Reader, Serializer as Writer, V2DeflateSerializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest time that is told apart from longer ones, in nanoseconds: an hour.
pub const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Waits are told apart to so many digits.
const DIGITS: u8 = 3;

/// How long requests took, in nanoseconds, to three digits. In JSON it is the V2 format of HdrHistogram, deflated, in Base64:
/// what every HdrHistogram tool reads. An empty one is an empty text.
#[derive(Clone, PartialEq)]
pub struct LatencyRecord(Histogram<u64>);

impl Default for LatencyRecord {
    #[expect(clippy::expect_used, reason = "three digits are always allowed")]
    fn default() -> LatencyRecord {
        // It grows with what it holds: many stay small.
        LatencyRecord(Histogram::new(DIGITS).expect("three digits"))
    }
}

impl LatencyRecord {
    /// Counts one request that took so many nanoseconds; longer ones count as [`LATENCY_NS_MAX`].
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts so many requests that took so many nanoseconds.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        // The histogram resizes itself up to the limit, so there is nothing to fail.
        let _ = self.0.record_n(ns.min(LATENCY_NS_MAX), count);
    }

    /// Adds what another one counted: exact, as if all had been counted here.
    pub fn add(&mut self, other: &LatencyRecord) {
        let _ = self.0.add(&other.0);
    }

    /// All of these as one.
    pub fn merged<'l>(all: impl IntoIterator<Item = &'l LatencyRecord>) -> LatencyRecord {
        let mut merged = LatencyRecord::default();
        all.into_iter().for_each(|one| merged.add(one));
        merged
    }

    /// Takes the counts of a histogram in nanoseconds.
    pub fn of(histogram: &Histogram<u64>) -> LatencyRecord {
        let mut latency = LatencyRecord::default();
        let _ = latency.0.add(histogram);
        latency
    }

    /// How many requests were counted.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// So many of 100 requests took no longer, in nanoseconds; 0 of none.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.value_at_percentile(percent) }
    }

    /// The mean in nanoseconds; 0 of none.
    pub fn mean_ns(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.mean() }
    }

    /// The greatest in nanoseconds; 0 of none.
    pub fn max_ns(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.max() }
    }

    /// How many requests took each time, from the shortest: upper end in nanoseconds, and count.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|value| (value.value_iterated_to(), value.count_since_last_iteration()))
    }
}

/// Without the histogram, which has thousands of counts.
impl fmt::Debug for LatencyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, p50_ns, max_ns) = (self.count(), self.percentile_ns(50.0), self.max_ns());
        write!(f, "LatencyRecord({count} requests, p50 {p50_ns} ns, max {max_ns} ns)")
    }
}

impl Serialize for LatencyRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        if !self.0.is_empty() {
            V2DeflateSerializer::new().serialize(&self.0, &mut bytes).map_err(S::Error::custom)?;
        }
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for LatencyRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LatencyRecord, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(&text).map_err(|_| D::Error::custom("a histogram is Base64"))?;
        if bytes.is_empty() {
            return Ok(LatencyRecord::default());
        }
        let read: Histogram<u64> = Reader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| D::Error::custom(format!("no histogram of HdrHistogram V2: {error}")))?;
        Ok(LatencyRecord::of(&read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_read_as_it_was_written() {
        let mut latency = LatencyRecord::default();
        (1..=10_000).for_each(|at| latency.record(at * 10_000));
        latency.record_many(LATENCY_NS_MAX * 2, 3);
        let text = serde_json::to_string(&latency).unwrap();
        assert!(text.starts_with("\"HISTFAAA"), "{text}");
        let read: LatencyRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(read, latency);
        assert_eq!((read.count(), read.percentile_ns(100.0)), (10_003, read.max_ns()));
        let median = read.percentile_ns(50.0);
        assert!(median.abs_diff(50_000_000) < 100_000, "{median}");
    }

    #[test]
    fn what_is_shown_in_debugging_is_short() {
        let mut latency = LatencyRecord::default();
        latency.record_many(7, 3);
        assert_eq!(format!("{latency:?}"), "LatencyRecord(3 requests, p50 7 ns, max 7 ns)");
    }

    #[test]
    fn nothing_counted_is_an_empty_text() {
        assert_eq!(serde_json::to_string(&LatencyRecord::default()).unwrap(), "\"\"");
        assert_eq!(serde_json::from_str::<LatencyRecord>("\"\"").unwrap().count(), 0);
        assert_eq!((LatencyRecord::default().percentile_ns(99.0), LatencyRecord::default().max_ns()), (0, 0));
    }

    #[test]
    fn what_is_no_histogram_is_an_error() {
        for text in ["\"?\"", "\"AAAA\"", "\"HISTFAAAAA==\"", "3"] {
            assert!(serde_json::from_str::<LatencyRecord>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn histograms_merge_exactly() {
        let (mut one, mut other, mut both) =
            (LatencyRecord::default(), LatencyRecord::default(), LatencyRecord::default());
        for at in 0..1_000 {
            one.record(at * 1_000);
            other.record(at * 7_777);
            both.record(at * 1_000);
            both.record(at * 7_777);
        }
        assert_eq!(LatencyRecord::merged([&one, &other]), both);
    }
}

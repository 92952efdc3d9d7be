//! How sure a difference is: intervals that hold the change 19 times out of 20.

use crate::random::LabRandom;
use crate::record::LatencyRecord;

/// How often is resampled.
const RESAMPLES: usize = 1_000;
/// Fewer seconds say nothing of their spread.
const SECONDS_MIN: usize = 5;
const DEVIATIONS: f64 = 1.96;

/// What one record says of a figure.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    /// The figure of each replicate.
    pub(super) replicates: Vec<f64>,
    /// All times together.
    pub(super) latency: LatencyRecord,
    /// Right answers in each second.
    pub(super) seconds: Vec<f64>,
    /// Events of the figure, and all that could have been.
    pub(super) hits: f64,
    pub(super) all: f64,
}

impl Side {
    /// The mean over replicates.
    #[expect(clippy::cast_precision_loss, reason = "replicates are few")]
    pub(super) fn value(&self) -> f64 {
        self.replicates.iter().sum::<f64>() / self.replicates.len().max(1) as f64
    }
}

/// An interval, and how it was found.
pub(super) struct Interval {
    pub(super) ends: Option<[f64; 2]>,
    pub(super) method: &'static str,
}

/// Of the change as a share. Replicates know most: runs differ by more than requests within one run do.
pub(super) fn of_ratio(before: &Side, after: &Side, percent: Option<f64>, seed: u64) -> Interval {
    if before.replicates.len() > 1 && after.replicates.len() > 1 {
        return Interval {
            ends: welch(&before.replicates, &after.replicates),
            method: "replicates (Welch's t)",
        };
    }
    let mut random = LabRandom::new(seed);
    if let Some(percent) = percent {
        let (old, new) = (Cumulated::of(&before.latency), Cumulated::of(&after.latency));
        let ratio = |random: &mut LabRandom| new.resampled(percent, random) / old.resampled(percent, random);
        return Interval { ends: middle(|| ratio(&mut random)), method: "bootstrap of the histograms" };
    }
    if before.seconds.len() >= SECONDS_MIN && after.seconds.len() >= SECONDS_MIN {
        // Resampled means of the seconds around the rate that was measured.
        let ratio = |random: &mut LabRandom| {
            let part =
                |seconds: &[f64], random: &mut LabRandom| mean_resampled(seconds, random) / mean(seconds);
            (after.value() * part(&after.seconds, random)) / (before.value() * part(&before.seconds, random))
        };
        return Interval { ends: middle(|| ratio(&mut random)), method: "bootstrap of the seconds" };
    }
    Interval { ends: None, method: "none: one measurement each" }
}

/// Of the difference of two shares (Newcombe 1998, method 10: from Wilson's intervals).
pub(super) fn of_shares(before: &Side, after: &Side) -> Interval {
    let (Some(old), Some(new)) = (wilson(before), wilson(after)) else {
        return Interval { ends: None, method: "none: no requests" };
    };
    let change = new.1 - old.1;
    let low = change - (new.1 - new.0).hypot(old.2 - old.1);
    let high = change + (new.2 - new.1).hypot(old.1 - old.0);
    // Without a failure on either side nothing can be told apart.
    Interval { ends: Some([low, high]), method: "counts (Newcombe)" }
}

/// The lower end, the share, the upper end.
fn wilson(side: &Side) -> Option<(f64, f64, f64)> {
    let (count, share) = (side.all, side.hits / side.all);
    if count < 1.0 {
        return None;
    }
    let square = DEVIATIONS * DEVIATIONS;
    let middle = (share + square / (2.0 * count)) / (1.0 + square / count);
    let half = DEVIATIONS / (1.0 + square / count)
        * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
    Some((middle - half, share, middle + half))
}

/// Welch's interval of the difference of logarithms, as a change.
#[expect(clippy::cast_precision_loss, reason = "replicates are few")]
fn welch(before: &[f64], after: &[f64]) -> Option<[f64; 2]> {
    let of = |values: &[f64]| {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let (count, mean) = (logs.len() as f64, mean(&logs));
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, variance / count, count - 1.0)
    };
    let (old, new) = (of(before), of(after));
    let (variance, change) = (old.1 + new.1, mean(after) / mean(before));
    if !(variance.is_finite() && change.is_finite() && change > 0.0) {
        return None;
    }
    let freedom = variance.powi(2) / (old.1.powi(2) / old.2 + new.1.powi(2) / new.2);
    let half = if variance > 0.0 { quantile(freedom) * variance.sqrt() } else { 0.0 };
    let middle = new.0 - old.0;
    Some([(middle - half).exp() - 1.0, (middle + half).exp() - 1.0])
}

/// Student's t for 19 cases out of 20, two-sided, by degrees of freedom; rounded down, so the interval is rather too wide.
fn quantile(freedom: f64) -> f64 {
    const TABLE: [(f64, f64); 14] = [
        (30.0, 2.042),
        (20.0, 2.086),
        (15.0, 2.131),
        (12.0, 2.179),
        (10.0, 2.228),
        (9.0, 2.262),
        (8.0, 2.306),
        (7.0, 2.365),
        (6.0, 2.447),
        (5.0, 2.571),
        (4.0, 2.776),
        (3.0, 3.182),
        (2.0, 4.303),
        (1.0, 12.706),
    ];
    TABLE.iter().find(|(least, _)| freedom >= *least).map_or(12.706, |(_, t)| *t)
}

#[expect(clippy::cast_precision_loss, reason = "an hour has few seconds")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn mean_resampled(values: &[f64], random: &mut LabRandom) -> f64 {
    let drawn: Vec<f64> =
        (0..values.len()).filter_map(|_| values.get(index(values.len(), random)).copied()).collect();
    mean(&drawn)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of a small count, never below 0"
)]
fn index(count: usize, random: &mut LabRandom) -> usize {
    (random.unit() * count as f64) as usize
}

/// Of many resampled ratios, the change that 25 of 1,000 lie below and 25 above; `None` where one is no number.
fn middle(mut ratio: impl FnMut() -> f64) -> Option<[f64; 2]> {
    let mut ratios: Vec<f64> = (0..RESAMPLES).map(|_| ratio()).collect();
    if ratios.iter().any(|ratio| !ratio.is_finite()) {
        return None;
    }
    ratios.sort_by(f64::total_cmp);
    let at = |number: usize| ratios.get(number).map(|ratio| ratio - 1.0);
    Some([at(RESAMPLES / 40)?, at(RESAMPLES - 1 - RESAMPLES / 40)?])
}

/// A histogram as counts up to each value.
struct Cumulated(Vec<(u64, f64)>);

impl Cumulated {
    #[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
    fn of(latency: &LatencyRecord) -> Cumulated {
        let sum = |sum: &mut u64, (value, count): (u64, u64)| {
            *sum += count;
            Some((value, *sum as f64))
        };
        Cumulated(latency.counts().scan(0, sum).collect())
    }

    /// A percentile of as many requests, drawn from these with replacement. It lies at or below a value exactly if so many of the
    /// draws do, which is a number of heads; for that the normal distribution stands.
    #[expect(clippy::cast_precision_loss, reason = "no hour has 2^53 nanoseconds")]
    fn resampled(&self, percent: f64, random: &mut LabRandom) -> f64 {
        let count = self.0.last().map_or(0.0, |(_, count)| *count);
        let part = percent / 100.0;
        // Box and Muller.
        let normal =
            (-2.0 * (1.0 - random.unit()).ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos();
        let rank = (count * part + normal * (count * part * (1.0 - part)).sqrt()).clamp(1.0, count.max(1.0));
        let at = self.0.partition_point(|(_, below)| *below < rank);
        self.0.get(at).or(self.0.last()).map_or(f64::NAN, |(value, _)| *value as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(count: u64, scale: u64) -> Side {
        let mut latency = LatencyRecord::default();
        (1..=count).for_each(|at| latency.record(at * scale));
        Side { replicates: vec![latency.percentile_ns(50.0) as f64], latency, ..Side::default() }
    }

    #[test]
    fn resampled_percentiles_spread_as_order_statistics_do() {
        // The median of n uniform values has a standard deviation of 1/(2 sqrt n) of the range: 0.5 % of 10,000.
        let interval =
            of_ratio(&uniform(10_000, 1_000), &uniform(10_000, 1_000), Some(50.0), 1).ends.unwrap();
        // A ratio of two: sqrt 2 times 1 % of the median, times 1.96 to each side.
        let expected = 1.96 * 2f64.sqrt() * 0.01;
        assert!(
            (interval[1] - expected).abs() < 0.006 && (interval[0] + expected).abs() < 0.006,
            "{interval:?}"
        );
    }

    #[test]
    fn a_change_beyond_the_spread_is_found() {
        let interval =
            of_ratio(&uniform(10_000, 1_000), &uniform(10_000, 1_100), Some(50.0), 1).ends.unwrap();
        assert!(interval[0] > 0.05 && interval[1] < 0.15, "{interval:?}");
    }

    #[test]
    fn replicates_give_welchs_interval() {
        let side = |values: &[f64]| Side { replicates: values.to_vec(), ..Side::default() };
        let interval = of_ratio(&side(&[100.0, 101.0, 99.0]), &side(&[110.0, 111.0, 109.0]), None, 1);
        let [low, high] = interval.ends.unwrap();
        // By hand: logs differ by 0.0953, standard error 0.0078, about 4 degrees of freedom.
        assert!((0.06..0.085).contains(&low) && (0.115..0.14).contains(&high), "{low} {high}");
        assert_eq!(interval.method, "replicates (Welch's t)");
        assert!(of_ratio(&side(&[1.0]), &side(&[2.0]), None, 1).ends.is_none());
    }

    #[test]
    fn shares_have_newcombes_interval() {
        // Newcombe 1998, table II, row a: 56/70 less 48/80, 0.0524 to 0.3339.
        let side = |hits, all| Side { hits, all, ..Side::default() };
        let [low, high] = of_shares(&side(48.0, 80.0), &side(56.0, 70.0)).ends.unwrap();
        assert!((low - 0.0524).abs() < 1e-3 && (high - 0.3339).abs() < 1e-3, "{low} {high}");
    }
}

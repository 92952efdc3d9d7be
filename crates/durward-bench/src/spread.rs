//! Several measurements of one thing, as a few numbers.

/// The least, the middle and the most of several measurements, and how sure the middle is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementSpread {
    /// The least.
    pub min: f64,
    /// Half of the measurements lie below, half above.
    pub median: f64,
    /// The most.
    pub max: f64,
    /// How many measurements there were.
    pub count: usize,
    /// Where the median of many more measurements would lie, 19 times out of 20; `None` of fewer than six, which cannot
    /// say so.
    pub interval: Option<(f64, f64)>,
}

/// Fewer do not hold the median between the least and the greatest 19 times out of 20.
const INTERVAL_COUNT_MIN: usize = 6;

/// How many standard deviations of the normal distribution hold 19 cases out of 20.
const DEVIATIONS: f64 = 1.96;

impl MeasurementSpread {
    /// The spread of these; `None` of none. Measurements that are no numbers are left out.
    pub fn of(measured: &[f64]) -> Option<MeasurementSpread> {
        let mut sorted: Vec<f64> = measured.iter().copied().filter(|one| !one.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let at = |index: usize| sorted.get(index).copied();
        let median = match count {
            0 => return None,
            odd if odd % 2 == 1 => at(odd / 2)?,
            even => f64::midpoint(at(even / 2 - 1)?, at(even / 2)?),
        };
        let least = interval_begin(count);
        let interval = (count >= INTERVAL_COUNT_MIN).then(|| at(least).zip(at(count - 1 - least))).flatten();
        Some(MeasurementSpread { min: at(0)?, median, max: at(count - 1)?, count, interval })
    }

    /// How wide the interval is, as a part of the median.
    pub fn uncertainty(&self) -> Option<f64> {
        let (low, high) = self.interval?;
        Some((high - low) / self.median).filter(|part| part.is_finite())
    }
}

/// The number, from 0, of the measurement in order at which the interval begins. How many of so many measurements lie below
/// the median is distributed as heads are in throws of a coin, for which the normal distribution stands here; rounded
/// down, so the interval is rather too wide.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small counts, and never below zero"
)]
fn interval_begin(count: usize) -> usize {
    let count = count as f64;
    let rank = ((count - DEVIATIONS * count.sqrt()) / 2.0).floor().max(1.0);
    rank as usize - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(MeasurementSpread::of(&[]), None);
        assert_eq!(MeasurementSpread::of(&[f64::NAN]), None);
        let of = |measured: &[f64]| {
            MeasurementSpread::of(measured).map(|it| (it.min, it.median, it.max, it.count))
        };
        assert_eq!(of(&[5.0]), Some((5.0, 5.0, 5.0, 1)));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Some((1.0, 2.0, 3.0, 3)));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some((1.0, 2.5, 4.0, 4)));
    }

    #[test]
    fn the_interval_is_where_so_many_measurements_put_the_median() {
        let of = |count: u32| {
            MeasurementSpread::of(&(1..=count).map(f64::from).collect::<Vec<_>>()).unwrap().interval
        };
        assert_eq!(of(5), None);
        // All of six: the median lies outside once in 32 times.
        assert_eq!(of(6), Some((1.0, 6.0)));
        // The table of the binomial distribution says 40 and 61 for a hundred.
        assert_eq!(of(100), Some((40.0, 61.0)));
    }

    #[test]
    fn measurements_that_agree_leave_no_uncertainty() {
        assert_eq!(MeasurementSpread::of(&[7.0; 6]).unwrap().uncertainty(), Some(0.0));
        assert_eq!(MeasurementSpread::of(&[0.0; 6]).unwrap().uncertainty(), None);
        let tenth = [95.0, 100.0, 100.0, 100.0, 100.0, 105.0];
        assert_eq!(MeasurementSpread::of(&tenth).unwrap().uncertainty(), Some(0.1));
    }
}

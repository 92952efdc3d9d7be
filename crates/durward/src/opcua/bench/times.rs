//! Times of one thing, as a few numbers.

use std::time::Duration;

use serde_json::{Value as Json, json};

/// Times, in microseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MicrosecondTimes {
    all: Vec<f64>,
}

impl MicrosecondTimes {
    pub(super) fn add(&mut self, time: Duration) {
        self.all.push(time.as_secs_f64() * 1e6);
    }

    pub(super) fn extend(&mut self, other: MicrosecondTimes) {
        self.all.extend(other.all);
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn mean(&self) -> f64 {
        self.all.iter().sum::<f64>() / self.all.len().max(1) as f64
    }

    /// The standard deviation.
    pub(super) fn sd(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.all.iter().map(|time| (time - mean).powi(2)).sum();
        (squares / self.all.len().saturating_sub(1).max(1) as f64).sqrt()
    }

    pub(super) fn max(&self) -> f64 {
        self.all.iter().copied().fold(0.0, f64::max)
    }

    /// So many of a hundred took no longer; 0 of none.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.all.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * percent).div_ceil(100).max(1) - 1;
        sorted.get(rank).copied().unwrap_or_default()
    }

    pub(super) fn p50(&self) -> f64 {
        self.percentile(50)
    }

    pub(super) fn p99(&self) -> f64 {
        self.percentile(99)
    }

    pub(super) fn json(&self) -> Json {
        let one = |number: f64| (number * 10.0).round() / 10.0;
        json!({
            "count": self.count(),
            "mean_us": one(self.mean()),
            "sd_us": one(self.sd()),
            "p50_us": one(self.p50()),
            "p99_us": one(self.p99()),
            "max_us": one(self.max()),
        })
    }

    /// Mean, standard deviation, p50 and p99 in milliseconds, as cells of a table.
    pub(super) fn cells(&self) -> [String; 4] {
        [self.mean(), self.sd(), self.p50(), self.p99()].map(ms)
    }
}

impl FromIterator<Duration> for MicrosecondTimes {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> MicrosecondTimes {
        let mut all = MicrosecondTimes::default();
        times.into_iter().for_each(|time| all.add(time));
        all
    }
}

/// Microseconds as milliseconds, with as many digits as say something.
pub(super) fn ms(microseconds: f64) -> String {
    let ms = microseconds / 1e3;
    match ms {
        ms if ms >= 100.0 => format!("{ms:.0}"),
        ms if ms >= 10.0 => format!("{ms:.1}"),
        ms if ms >= 1.0 => format!("{ms:.2}"),
        ms => format!("{ms:.3}"),
    }
}

/// How many times as much; nothing where it is divided by nothing.
pub(super) fn ratio(more: f64, less: f64) -> String {
    let times = more / less;
    if times.is_finite() { format!("{times:.2}") } else { "–".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_by_mean_deviation_and_percentiles() {
        let times: MicrosecondTimes = (1..=100).map(Duration::from_micros).collect();
        assert_eq!(
            (times.count(), times.mean(), times.p50(), times.p99(), times.max()),
            (100, 50.5, 50.0, 99.0, 100.0)
        );
        assert!((times.sd() - 29.011).abs() < 0.001, "{}", times.sd());
        let none = MicrosecondTimes::default();
        assert_eq!((none.mean(), none.sd(), none.p99()), (0.0, 0.0, 0.0));
        let one: MicrosecondTimes = [Duration::from_micros(7)].into_iter().collect();
        assert_eq!((one.p50(), one.p99(), one.sd()), (7.0, 7.0, 0.0));
    }

    #[test]
    fn cells_have_as_many_digits_as_say_something() {
        assert_eq!([123_456.0, 12_345.0, 1_234.0, 123.4].map(ms), ["123", "12.3", "1.23", "0.123"]);
        assert_eq!((ratio(3.0, 2.0), ratio(1.0, 0.0)), ("1.50".to_owned(), "–".to_owned()));
    }
}

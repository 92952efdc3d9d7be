//! The seconds of a load, put together of what its parts tell: threads, or agents.

use super::tally::SecondTally;
use crate::record::MeasuredSecond;

/// The longest warm-up that ends by itself.
const WARM_UP_S_MAX: usize = 60;
/// A warm-up that ends by itself looks at so many seconds.
const LEVEL_S: usize = 4;
/// Rates of level seconds differ by no more than this share of their mean, and medians by no more than twice that.
const LEVEL: f64 = 0.05;
/// No run is longer than weeks.
const SECONDS_MAX: usize = 10_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// Seconds since the load began.
#[derive(Debug)]
pub(crate) struct SecondCount {
    /// By number: what has come, and from how many parts.
    open: Vec<(SecondTally, usize)>,
    parts: usize,
    /// Seconds of which all parts have told.
    told: usize,
    /// Seconds are counted so that one of them begins with the measurement.
    shift: u64,
}

impl SecondCount {
    /// Of so many parts, whose seconds begin so many nanoseconds early.
    pub(crate) fn new(parts: usize, shift: u64) -> SecondCount {
        SecondCount { open: Vec::new(), parts, told: 0, shift }
    }

    /// Adds what one part tells.
    pub(crate) fn take(&mut self, second: &SecondTally) {
        let number = usize::try_from(second.number).unwrap_or(usize::MAX);
        if number > SECONDS_MAX {
            return;
        }
        while self.open.len() <= number {
            let number = self.open.len() as u64;
            self.open.push((SecondTally { number, ..SecondTally::default() }, 0));
        }
        if let Some((open, parts)) = self.open.get_mut(number) {
            open.add(second);
            *parts += 1;
        }
    }

    /// A part tells no more.
    pub(crate) fn leave(&mut self) {
        self.parts = self.parts.saturating_sub(1);
    }

    /// The next second of which all parts have told; at the end, of which any has.
    pub(crate) fn next(&mut self, is_over: bool) -> Option<&SecondTally> {
        let (_, parts) = self.open.get(self.told)?;
        if *parts < self.parts && !is_over {
            return None;
        }
        self.told += 1;
        self.open.get(self.told - 1).map(|(second, _)| second)
    }

    /// Seconds since measuring began at the begin of a second; `from` is when it began, in nanoseconds since the load began.
    #[expect(clippy::cast_precision_loss, reason = "a run does not take 2^53 ns")]
    pub(crate) fn at_s(&self, number: u64, from: Option<u64>) -> f64 {
        ((number * SECOND_NS) as f64 - self.shift as f64 - from.unwrap_or(0) as f64) / 1e9
    }

    /// All of them, for the record.
    pub(crate) fn record(&self, from: Option<u64>) -> Vec<MeasuredSecond> {
        self.open.iter().map(|(second, _)| second.second(self.at_s(second.number, from))).collect()
    }

    /// Whether measuring may begin after a ramp of so many seconds: rate and latency are level, or the time for that is over
    /// (then with how they still varied).
    pub(crate) fn level(&self, ramp_s: usize) -> Option<Result<(), String>> {
        // The first second behind the ramp still opens connections.
        let seconds = self.open.get(ramp_s + 1..self.told).unwrap_or_default();
        let last: Vec<MeasuredSecond> =
            seconds.iter().rev().take(LEVEL_S).map(|(second, _)| second.second(0.0)).collect();
        let uneven = if last.len() < LEVEL_S { Some("too short".to_owned()) } else { unevenness(&last) };
        match uneven {
            None => Some(Ok(())),
            Some(_) if seconds.len() < WARM_UP_S_MAX => None,
            Some(how) => Some(Err(format!("after {WARM_UP_S_MAX} s of warm-up {how}"))),
        }
    }
}

/// How seconds differ, where they differ too much.
fn unevenness(seconds: &[MeasuredSecond]) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
    let spread = |value: fn(&MeasuredSecond) -> u64| {
        let values: Vec<f64> = seconds.iter().map(|second| value(second) as f64).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let most = values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
        // A count varies by its root by chance alone.
        let chance = mean.sqrt() * 2.0;
        (if mean > 0.0 { most / mean } else { 0.0 }, if mean > 0.0 { chance / mean } else { 0.0 })
    };
    let (rate, chance) = spread(|second| second.answered);
    let (median, _) = spread(|second| second.p50_ns);
    if rate > LEVEL.max(chance) {
        return Some(format!("the rate still varied by {:.0} %", rate * 100.0));
    }
    (median > 4.0 * LEVEL).then(|| format!("the median still varied by {:.0} %", median * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u64, answered: u64) -> SecondTally {
        let mut second = SecondTally { number, answered, ..SecondTally::default() };
        second.since_due.record_many(1_000_000, answered);
        second
    }

    #[test]
    fn a_second_is_told_when_all_parts_have_told_it() {
        let mut seconds = SecondCount::new(2, 0);
        seconds.take(&second(0, 3));
        assert!(seconds.next(false).is_none());
        seconds.take(&second(0, 4));
        seconds.take(&second(1, 5));
        assert_eq!(
            seconds.next(false).map(|second| (second.answered, second.since_due.count())),
            Some((7, 7))
        );
        assert!(seconds.next(false).is_none());
        // One part has gone: the other one's seconds are all there is.
        seconds.leave();
        assert_eq!(seconds.next(false).map(|second| second.answered), Some(5));
        assert!(seconds.next(true).is_none());
    }

    #[test]
    fn level_seconds_end_a_warm_up_and_uneven_ones_do_not() {
        let told = |rates: &[u64]| {
            let mut seconds = SecondCount::new(1, 0);
            rates.iter().enumerate().for_each(|(number, rate)| seconds.take(&second(number as u64, *rate)));
            while seconds.next(false).is_some() {}
            seconds.level(0)
        };
        assert_eq!(told(&[1, 10_000, 10_010, 10_020, 10_000]), Some(Ok(())));
        assert_eq!(told(&[1, 10_000, 20_000, 10_000, 10_000]), None);
        let long: Vec<u64> = (0..62).map(|at| 10_000 + at % 2 * 10_000).collect();
        assert_eq!(told(&long), Some(Err("after 60 s of warm-up the rate still varied by 33 %".to_owned())));
    }
}

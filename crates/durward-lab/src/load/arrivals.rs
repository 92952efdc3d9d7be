//! The schedule of arrivals: derived from a seed, the same for any number of threads.

use std::path::Path;
use std::sync::Arc;

use crate::random::LabRandom;
use crate::scenario::{ArrivalShape, Distribution, RateStep, ScenarioError, ScenarioFolder};

const NS_PER_S: f64 = 1e9;

/// Moments in nanoseconds since the load began, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct ArrivalSchedule {
    shape: ScheduleShape,
    distribution: Distribution,
    random: LabRandom,
    /// The rate grows from 0 over so many seconds.
    ramp_s: f64,
    /// Arrivals that are expected by the last one, where its moment follows from that.
    expected: f64,
    count: u64,
}

#[derive(Clone, Debug)]
enum ScheduleShape {
    Rate(f64),
    Steps(Vec<RateStep>),
    Burst(u64, f64, u64),
    Moments(Arc<[u64]>),
}

impl ArrivalSchedule {
    /// The schedule of one point. The rate of a constant rate, and of steps, grows from 0 over `ramp_s`.
    ///
    /// # Errors
    /// A file of moments that cannot be read.
    pub(super) fn new(
        shape: &ArrivalShape,
        seed: u64,
        ramp_s: f64,
        folder: &ScenarioFolder,
    ) -> Result<ArrivalSchedule, ScenarioError> {
        let (shape, distribution) = match shape {
            ArrivalShape::Rate(rate, distribution) => (ScheduleShape::Rate(*rate), *distribution),
            ArrivalShape::Steps(steps, distribution) => (ScheduleShape::Steps(steps.clone()), *distribution),
            ArrivalShape::Burst(size, every, bursts) => {
                let count = bursts.map_or(u64::MAX, |bursts| bursts.saturating_mul(*size));
                (ScheduleShape::Burst(*size, every.0.as_secs_f64(), count), Distribution::Constant)
            }
            ArrivalShape::Replay(file, speed) => {
                (ScheduleShape::Moments(moments(folder, file, *speed)?), Distribution::Constant)
            }
        };
        let random = LabRandom::of_part(seed, u64::MAX);
        Ok(ArrivalSchedule { shape, distribution, random, ramp_s, expected: 0.0, count: 0 })
    }

    /// How many arrivals a second there are on average, without the ramp.
    #[expect(clippy::cast_precision_loss, reason = "sizes of bursts are small")]
    pub(super) fn mean_rate(&self) -> f64 {
        match &self.shape {
            ScheduleShape::Rate(rate) => *rate,
            ScheduleShape::Steps(steps) => per_turn(steps) / turn_s(steps),
            ScheduleShape::Burst(size, every, _) => *size as f64 / every,
            ScheduleShape::Moments(moments) => {
                let last = moments.last().map_or(0.0, |last| *last as f64 / NS_PER_S);
                if last > 0.0 {
                    (moments.len().saturating_sub(1)) as f64 / last
                } else {
                    moments.len() as f64
                }
            }
        }
    }
}

impl Iterator for ArrivalSchedule {
    type Item = u64;

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below 2^53 ns, a hundred days"
    )]
    fn next(&mut self) -> Option<u64> {
        let number = self.count;
        self.count += 1;
        match &self.shape {
            ScheduleShape::Moments(moments) => moments.get(usize::try_from(number).ok()?).copied(),
            ScheduleShape::Burst(size, every, count) => {
                (number < *count).then(|| ((number / size) as f64 * every * NS_PER_S) as u64)
            }
            ScheduleShape::Rate(_) | ScheduleShape::Steps(_) => {
                // The moment at which so many arrivals are expected: exponential steps between make it a Poisson process.
                self.expected = match self.distribution {
                    Distribution::Constant => number as f64,
                    Distribution::Poisson => self.expected + self.random.exponential(1.0),
                };
                Some((self.moment(self.expected) * NS_PER_S).round() as u64)
            }
        }
    }
}

impl ArrivalSchedule {
    /// When so many arrivals are expected, in seconds.
    fn moment(&self, expected: f64) -> f64 {
        match &self.shape {
            // During the ramp the rate is rate * t / ramp, and so many are expected by t: rate * t^2 / (2 ramp).
            ScheduleShape::Rate(rate) => {
                let in_ramp = rate * self.ramp_s / 2.0;
                if expected < in_ramp {
                    (2.0 * self.ramp_s * expected / rate).sqrt()
                } else {
                    self.ramp_s + (expected - in_ramp) / rate
                }
            }
            ScheduleShape::Steps(steps) => {
                let turns = (expected / per_turn(steps)).floor();
                let mut rest = expected - turns * per_turn(steps);
                let mut moment = turns * turn_s(steps);
                for step in steps {
                    let count = step.rate * step.time.0.as_secs_f64();
                    if rest < count {
                        return moment + rest / step.rate;
                    }
                    rest -= count;
                    moment += step.time.0.as_secs_f64();
                }
                moment
            }
            ScheduleShape::Burst(..) | ScheduleShape::Moments(_) => 0.0,
        }
    }
}

fn per_turn(steps: &[RateStep]) -> f64 {
    steps.iter().map(|step| step.rate * step.time.0.as_secs_f64()).sum()
}

fn turn_s(steps: &[RateStep]) -> f64 {
    steps.iter().map(|step| step.time.0.as_secs_f64()).sum()
}

/// Moments of a file, from the first of them on, in nanoseconds.
fn moments(folder: &ScenarioFolder, path: &Path, speed: f64) -> Result<Arc<[u64]>, ScenarioError> {
    let wrong = |problem: String| {
        ScenarioError::at("load.arrivals.replay", format!("({}) {problem}", folder.join(path).display()))
    };
    let text = folder.read_text(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut seconds: Vec<f64> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let cell = line.split([',', '\t', ' ']).next().unwrap_or_default().trim();
        match cell.parse::<f64>() {
            Ok(moment) if moment.is_finite() => seconds.push(moment),
            // The first line may be a header.
            _ if cell.is_empty() || number == 0 => {}
            _ => return Err(wrong(format!("line {}: `{cell}` is no moment in seconds", number + 1))),
        }
    }
    seconds.sort_by(f64::total_cmp);
    let Some(first) = seconds.first().copied() else { return Err(wrong("has no moment".to_owned())) };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not below 0; casts saturate"
    )]
    let ns = |moment: &f64| ((moment - first) / speed * NS_PER_S) as u64;
    Ok(seconds.iter().map(ns).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::DurationValue;
    use std::fs;
    use std::time::Duration;

    fn schedule(shape: ArrivalShape, ramp_s: f64) -> ArrivalSchedule {
        ArrivalSchedule::new(&shape, 1, ramp_s, &ScenarioFolder::default()).unwrap()
    }

    fn within(shape: ArrivalShape, ramp_s: f64, from_s: f64, to_s: f64) -> usize {
        let ns = |seconds: f64| (seconds * NS_PER_S) as u64;
        schedule(shape, ramp_s).take_while(|at| *at < ns(to_s)).filter(|at| *at >= ns(from_s)).count()
    }

    #[test]
    fn constant_arrivals_are_equally_far_apart() {
        let times: Vec<u64> =
            schedule(ArrivalShape::Rate(4.0, Distribution::Constant), 0.0).take(4).collect();
        assert_eq!(times, [0, 250_000_000, 500_000_000, 750_000_000]);
        // Half as many come during the ramp.
        let ramped = |from, to| within(ArrivalShape::Rate(1000.0, Distribution::Constant), 2.0, from, to);
        assert_eq!((ramped(0.0, 2.0), ramped(2.0, 3.0)), (1000, 1000));
        assert!(ramped(0.0, 1.0).abs_diff(250) <= 1);
    }

    #[test]
    fn poisson_arrivals_are_as_random_as_they_should_be() {
        let shape = || ArrivalShape::Rate(1000.0, Distribution::Poisson);
        let counts: Vec<f64> = (0..100)
            .map(|at| within(shape(), 0.0, at as f64 / 10.0, (at + 1) as f64 / 10.0) as f64)
            .collect();
        let mean = counts.iter().sum::<f64>() / 100.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 99.0;
        // The variance of a Poisson count is its mean, 100; of 100 of them it is known to 14 %, so five deviations are 70.
        assert!((mean - 100.0).abs() < 5.0 && (variance - 100.0).abs() < 70.0, "{mean} {variance}");
    }

    #[test]
    fn steps_and_bursts_come_again_and_again() {
        let second = DurationValue(Duration::from_secs(1));
        let steps = vec![
            RateStep { rate: 10.0, time: second },
            RateStep { rate: 0.0, time: second },
            RateStep { rate: 30.0, time: second },
        ];
        let counts: Vec<usize> = (0..6)
            .map(|at| {
                within(
                    ArrivalShape::Steps(steps.clone(), Distribution::Constant),
                    0.0,
                    at as f64,
                    (at + 1) as f64,
                )
            })
            .collect();
        assert_eq!(counts, [10, 0, 30, 10, 0, 30]);
        let burst = |bursts| schedule(ArrivalShape::Burst(2, second, bursts), 0.0);
        let times: Vec<u64> = burst(None).take(5).collect();
        assert_eq!(times, [0, 0, 1_000_000_000, 1_000_000_000, 2_000_000_000]);
        assert_eq!(burst(Some(2)).collect::<Vec<_>>(), times[..4]);
        assert_eq!(burst(Some(2)).mean_rate(), 2.0);
    }

    #[test]
    fn a_log_is_replayed() {
        let folder = std::env::temp_dir().join(format!("durward-lab-replay-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("times.csv");
        fs::write(&file, "time,path\n1700000001.5,/b\n1700000001,/a\n1700000003,/c\n").unwrap();
        let times: Vec<u64> = schedule(ArrivalShape::Replay(file.clone(), 2.0), 0.0).collect();
        assert_eq!(times, [0, 250_000_000, 1_000_000_000]);
        fs::write(&file, "1\nx\n").unwrap();
        let error =
            ArrivalSchedule::new(&ArrivalShape::Replay(file, 1.0), 1, 0.0, &ScenarioFolder::default())
                .unwrap_err();
        assert!(error.to_string().ends_with("line 2: `x` is no moment in seconds"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}

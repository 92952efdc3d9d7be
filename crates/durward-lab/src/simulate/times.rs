//! How long things take: distributions, and drawing from them.

use serde::{Deserialize, Serialize};

use super::deployment::{DeploymentError, wrong};
use crate::random::LabRandom;
use crate::record::{LATENCY_NS_MAX, LatencyRecord};

/// The longest time that may be asked for, in milliseconds: an hour.
const MS_MAX: f64 = LATENCY_NS_MAX as f64 / 1e6;
/// The most stages of an Erlang distribution: it is almost constant long before.
const STAGES_MAX: u32 = 1_000;

/// How long something takes, as files say it: `{ exponential_ms = 5 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TimeDistribution {
    /// Always as long, in milliseconds.
    ConstantMs(f64),
    /// Exponential, with this mean in milliseconds.
    ExponentialMs(f64),
    /// The sum of exponential stages.
    Erlang {
        /// The mean of the sum, in milliseconds.
        mean_ms: f64,
        /// How many stages.
        stages: u32,
    },
    /// Log-normal.
    Lognormal {
        /// The mean in milliseconds.
        mean_ms: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// As measured.
    Measured {
        /// A histogram of a record.
        times: LatencyRecord,
        /// Each time is multiplied with this: the share of it in which a core was busy.
        #[serde(default = "one")]
        scale: f64,
    },
}

fn one() -> f64 {
    1.0
}

/// No time.
impl Default for TimeDistribution {
    fn default() -> TimeDistribution {
        TimeDistribution::ConstantMs(0.0)
    }
}

impl TimeDistribution {
    /// The mean in seconds.
    pub fn mean_s(&self) -> f64 {
        match self {
            TimeDistribution::ConstantMs(mean) | TimeDistribution::ExponentialMs(mean) => mean / 1e3,
            TimeDistribution::Erlang { mean_ms, .. } | TimeDistribution::Lognormal { mean_ms, .. } => {
                mean_ms / 1e3
            }
            TimeDistribution::Measured { times, scale } => {
                TimeSampler::Measured(AliasTable::of(times, *scale)).mean_ns() / 1e9
            }
        }
    }

    /// The same times, each so many times as long.
    #[must_use]
    pub fn scaled(&self, by: f64) -> TimeDistribution {
        match self {
            TimeDistribution::ConstantMs(mean) => TimeDistribution::ConstantMs(mean * by),
            TimeDistribution::ExponentialMs(mean) => TimeDistribution::ExponentialMs(mean * by),
            TimeDistribution::Erlang { mean_ms, stages } => {
                TimeDistribution::Erlang { mean_ms: mean_ms * by, stages: *stages }
            }
            TimeDistribution::Lognormal { mean_ms, sigma } => {
                TimeDistribution::Lognormal { mean_ms: mean_ms * by, sigma: *sigma }
            }
            TimeDistribution::Measured { times, scale } => {
                TimeDistribution::Measured { times: times.clone(), scale: scale * by }
            }
        }
    }

    pub(super) fn check(&self, key: &str) -> Result<(), DeploymentError> {
        let mean = |ms: f64| {
            if (0.0..=MS_MAX).contains(&ms) {
                Ok(())
            } else {
                wrong(key, format!("{ms} ms is not from 0 to an hour"))
            }
        };
        match self {
            TimeDistribution::ConstantMs(ms) | TimeDistribution::ExponentialMs(ms) => mean(*ms),
            TimeDistribution::Erlang { mean_ms, stages } => match stages {
                1..=STAGES_MAX => mean(*mean_ms),
                _ => wrong(key, format!("{stages} stages are not from 1 to {STAGES_MAX}")),
            },
            TimeDistribution::Lognormal { mean_ms, sigma } => match sigma {
                0.0..=5.0 => mean(*mean_ms),
                _ => wrong(key, format!("a sigma of {sigma} is not from 0 to 5")),
            },
            TimeDistribution::Measured { times, scale } => match scale {
                _ if times.count() == 0 => wrong(key, "nothing was measured: the histogram is empty"),
                0.0..=1e6 => Ok(()),
                _ => wrong(key, format!("a scale of {scale} is not from 0 to 1000000")),
            },
        }
    }
}

/// A distribution made ready for drawing, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) enum TimeSampler {
    Constant(u64),
    Exponential(f64),
    Erlang(f64, u32),
    Lognormal(f64, f64),
    Measured(AliasTable),
}

impl TimeSampler {
    pub(super) fn of(times: &TimeDistribution) -> TimeSampler {
        match times {
            TimeDistribution::ConstantMs(ms) => TimeSampler::Constant(rounded(ms * 1e6)),
            TimeDistribution::ExponentialMs(ms) => TimeSampler::Exponential(ms * 1e6),
            TimeDistribution::Erlang { mean_ms, stages } => {
                TimeSampler::Erlang(mean_ms * 1e6 / f64::from(*stages), *stages)
            }
            // The mean of a log-normal is the median times exp(sigma^2 / 2).
            TimeDistribution::Lognormal { mean_ms, sigma } => {
                TimeSampler::Lognormal(mean_ms * 1e6 / (sigma * sigma / 2.0).exp(), *sigma)
            }
            TimeDistribution::Measured { times, scale } => {
                TimeSampler::Measured(AliasTable::of(times, *scale))
            }
        }
    }

    fn mean_ns(&self) -> f64 {
        match self {
            TimeSampler::Constant(ns) => *ns as f64,
            TimeSampler::Exponential(mean) => *mean,
            TimeSampler::Erlang(mean, stages) => mean * f64::from(*stages),
            TimeSampler::Lognormal(median, sigma) => median * (sigma * sigma / 2.0).exp(),
            TimeSampler::Measured(alias) => alias.mean,
        }
    }

    /// One time in nanoseconds.
    pub(super) fn draw(&self, random: &mut LabRandom) -> u64 {
        match self {
            TimeSampler::Constant(ns) => *ns,
            TimeSampler::Exponential(mean) => rounded(random.exponential(*mean)),
            TimeSampler::Erlang(mean, stages) => {
                rounded((0..*stages).map(|_| random.exponential(*mean)).sum())
            }
            TimeSampler::Lognormal(median, sigma) => rounded(median * (sigma * normal(random)).exp()),
            TimeSampler::Measured(alias) => alias.draw(random),
        }
    }
}

/// Box and Muller (1958), one of the pair.
fn normal(random: &mut LabRandom) -> f64 {
    (-2.0 * (1.0 - random.unit()).ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// To whole nanoseconds, within the limit.
pub(super) fn rounded(ns: f64) -> u64 {
    (ns + 0.5).clamp(0.0, LATENCY_NS_MAX as f64) as u64
}

/// Draws from a histogram in constant time (Walker 1977, Vose 1991).
#[derive(Clone, Debug)]
pub(super) struct AliasTable {
    /// Of each column: the time, the share of it that is its own, and the time of the rest.
    columns: Vec<(u64, f64, u64)>,
    mean: f64,
}

impl AliasTable {
    fn of(times: &LatencyRecord, scale: f64) -> AliasTable {
        let counts: Vec<(u64, u64)> =
            times.counts().map(|(ns, count)| (rounded(ns as f64 * scale), count)).collect();
        let total: f64 = counts.iter().map(|(_, count)| *count as f64).sum();
        let mean = counts.iter().map(|(ns, count)| *ns as f64 * *count as f64).sum::<f64>() / total.max(1.0);
        let share = |count: u64| count as f64 * counts.len() as f64 / total;
        let mut columns = Vec::with_capacity(counts.len());
        let (mut small, mut large): (Vec<_>, Vec<_>) =
            counts.iter().map(|(ns, count)| (*ns, share(*count))).partition(|(_, share)| *share < 1.0);
        // Both or none: what is taken from one list alone would be lost.
        while !small.is_empty()
            && let Some((rich, has)) = large.pop()
            && let Some((ns, own)) = small.pop()
        {
            columns.push((ns, own, rich));
            let left = (has + own) - 1.0;
            if left < 1.0 { small.push((rich, left)) } else { large.push((rich, left)) }
        }
        // What rounding left over.
        columns.extend(small.into_iter().chain(large).map(|(ns, _)| (ns, 1.0, ns)));
        AliasTable { columns, mean }
    }

    fn draw(&self, random: &mut LabRandom) -> u64 {
        let at = random.below(self.columns.len());
        let own = random.unit();
        self.columns.get(at).map_or(0, |(ns, share, other)| if own < *share { *ns } else { *other })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_deviation(times: &TimeDistribution) -> (f64, f64) {
        let (drawn, mut random) = (TimeSampler::of(times), LabRandom::new(5));
        let all: Vec<f64> = (0..200_000).map(|_| drawn.draw(&mut random) as f64 / 1e6).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let square = all.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / all.len() as f64;
        (mean, square.sqrt())
    }

    #[test]
    fn means_and_deviations_are_those_of_the_distributions() {
        let mut times = LatencyRecord::default();
        times.record_many(1_000_000, 3);
        times.record_many(9_000_000, 1);
        for (times, mean, deviation) in [
            (TimeDistribution::ConstantMs(5.0), 5.0, 0.0),
            (TimeDistribution::ExponentialMs(5.0), 5.0, 5.0),
            (TimeDistribution::Erlang { mean_ms: 6.0, stages: 4 }, 6.0, 3.0),
            (
                TimeDistribution::Lognormal { mean_ms: 5.0, sigma: 0.5 },
                5.0,
                5.0 * (0.25f64.exp() - 1.0).sqrt(),
            ),
            (TimeDistribution::Measured { times, scale: 2.0 }, 6.0, 48f64.sqrt()),
        ] {
            let (drawn, spread) = mean_and_deviation(&times);
            assert!((drawn - mean).abs() < 0.05, "{times:?}: {drawn}");
            assert!((spread - deviation).abs() < 0.1, "{times:?}: {spread}");
            assert!((times.mean_s() * 1e3 - mean).abs() < 0.01, "{times:?}: {}", times.mean_s());
        }
    }

    #[test]
    fn a_histogram_is_drawn_as_often_as_it_counts() {
        let mut times = LatencyRecord::default();
        (1..=100).for_each(|at| times.record_many(at * 1_000, at));
        let (drawn, mut random) = (
            TimeSampler::of(&TimeDistribution::Measured { times: times.clone(), scale: 1.0 }),
            LabRandom::new(3),
        );
        let mut again = LatencyRecord::default();
        (0..500_000).for_each(|_| again.record(drawn.draw(&mut random)));
        for percent in [1.0, 10.0, 50.0, 90.0, 99.0] {
            let (was, is) = (times.percentile_ns(percent) as f64, again.percentile_ns(percent) as f64);
            assert!((is / was - 1.0).abs() < 0.03, "{percent}: {was} {is}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for times in [
            TimeDistribution::ConstantMs(-1.0),
            TimeDistribution::ExponentialMs(f64::NAN),
            TimeDistribution::Erlang { mean_ms: 1.0, stages: 0 },
            TimeDistribution::Lognormal { mean_ms: 1.0, sigma: f64::INFINITY },
            TimeDistribution::Measured { times: LatencyRecord::default(), scale: 1.0 },
        ] {
            assert!(times.check("service").is_err(), "{times:?}");
        }
    }
}

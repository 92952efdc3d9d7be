//! Intervals: fits to resampled data. A peak's interval is lopsided, often without an upper end, which no standard error shows.

use super::assemble::count;
use super::problem::{Coefficients, ScaledPoint, ScaledProblem};
use super::solve::bounded_near;
use super::{Bootstrap, FitOptions, Law, Resampling};
use crate::random::LabRandom;

/// What resampling found.
#[derive(Clone, Debug, Default)]
pub(super) struct Resampled {
    pub(super) said: Bootstrap,
    /// The law of each resample.
    pub(super) laws: Vec<Law>,
}

/// So many points without a plan show scatter of their own, and are resampled as pairs.
const PAIRS_POINTS_MIN: usize = 30;

/// Where the law explains less than this, points scatter without a plan.
const PAIRS_R_SQUARED_MAX: f64 = 0.9;

/// A resample of pairs without enough different N is drawn anew, so often.
const REDRAWS_MAX: usize = 100;

/// Of so many hundredths of the resamples, the outer ones are left out on each side.
const INTERVAL: [f64; 2] = [0.025, 0.975];

/// Resamples and fits anew. Nothing where there is no degree of freedom, so that residuals say nothing.
pub(super) fn run(
    problem: &ScaledProblem,
    at: Coefficients,
    a: Option<f64>,
    r_squared: Option<f64>,
    options: &FitOptions,
) -> Resampled {
    let parameters = if a.is_some() { 2 } else { 3 };
    let points = problem.points.len();
    let mut said = Bootstrap { seed: options.seed, ..Bootstrap::default() };
    if points <= parameters || options.resamples == 0 {
        return Resampled { said, laws: Vec::new() };
    }
    let scatters = points >= PAIRS_POINTS_MIN && r_squared.is_some_and(|part| part < PAIRS_R_SQUARED_MAX);
    let with_pairs = match options.resampling {
        Resampling::Auto => scatters,
        Resampling::Residuals => false,
        Resampling::Pairs => true,
    };
    let mut random = LabRandom::new(options.seed);
    let residuals = Residuals::of(problem, at, parameters);
    let laws: Vec<Law> = (0..options.resamples)
        .filter_map(|_| {
            let resampled = if with_pairs {
                pairs(problem, parameters, &mut random)?
            } else {
                residuals.resample(problem, &mut random)
            };
            bounded_near(&resampled, a, at).map(|at| problem.law(at))
        })
        .collect();
    said.method = Some(if with_pairs { "pairs" } else { "residuals" }.to_owned());
    summarise(&mut said, &laws);
    Resampled { said, laws }
}

/// Whole points, drawn with replacement.
fn pairs(problem: &ScaledProblem, parameters: usize, random: &mut LabRandom) -> Option<ScaledProblem> {
    let count = problem.points.len();
    (0..REDRAWS_MAX).find_map(|_| {
        let drawn: Vec<ScaledPoint> =
            (0..count).filter_map(|_| problem.points.get(random.below(count)).copied()).collect();
        let resampled = problem.of_points(drawn);
        (resampled.different_n(parameters) >= parameters).then_some(resampled)
    })
}

/// What is drawn from: residuals, centred, times `sqrt(n / (n - p))`, each times the root of its weight; and the law they belong to.
struct Residuals {
    fitted: Vec<f64>,
    drawn_from: Vec<f64>,
}

impl Residuals {
    fn of(problem: &ScaledProblem, at: Coefficients, parameters: usize) -> Residuals {
        let points = problem.points.len();
        let deviates: Vec<f64> = problem.points.iter().map(|point| point.deviate(at)).collect();
        let mean = deviates.iter().sum::<f64>() / count(points);
        let wider = (count(points) / count(points.saturating_sub(parameters).max(1))).sqrt();
        Residuals {
            fitted: problem.points.iter().map(|point| point.law(at)).collect(),
            drawn_from: deviates.into_iter().map(|one| (one - mean) * wider).collect(),
        }
    }

    fn resample(&self, problem: &ScaledProblem, random: &mut LabRandom) -> ScaledProblem {
        let x = self.fitted.iter().zip(&problem.points).map(|(fitted, point)| {
            let drawn = self.drawn_from.get(random.below(self.drawn_from.len())).copied().unwrap_or(0.0);
            fitted + drawn / point.root
        });
        problem.with_x(x.collect::<Vec<_>>())
    }
}

/// Intervals of the coefficients and of the peak.
fn summarise(said: &mut Bootstrap, laws: &[Law]) {
    said.resamples = laws.len();
    if laws.is_empty() {
        return;
    }
    let interval = |of: fn(&Law) -> f64| INTERVAL.map(|part| quantile(laws.iter().map(of).collect(), part));
    let finite = |[low, high]: [f64; 2]| [low, high].map(|end| Some(end).filter(|end| end.is_finite()));
    said.lambda = Some(interval(|law| law.lambda));
    said.sigma = Some(interval(|law| law.sigma));
    said.kappa = Some(interval(|law| law.kappa));
    said.n_star = Some(finite(interval(peak)));
    said.x_star = Some(finite(interval(|law| law.x_star().or(law.asymptote()).unwrap_or(f64::INFINITY))));
    let without = laws.iter().filter(|law| law.kappa == 0.0).count();
    said.without_peak_percent = Some(100.0 * count(without) / count(laws.len()));
}

/// The peak for sorting: beyond all others where throughput never falls, 0 where it falls from the start.
fn peak(law: &Law) -> f64 {
    let none = if law.kappa == 0.0 { f64::INFINITY } else { 0.0 };
    law.n_star().unwrap_or(none)
}

/// The value below which this part of them lies, between the two nearest. Without an end where the upper one has none.
pub(super) fn quantile(mut of: Vec<f64>, part: f64) -> f64 {
    of.sort_by(f64::total_cmp);
    let place = part * count(of.len().saturating_sub(1));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
    let below = place.floor() as usize;
    let low = of.get(below).copied().unwrap_or(f64::NAN);
    let high = of.get(below + 1).copied().unwrap_or(low);
    let share = place - place.floor();
    if low == high || share == 0.0 { low } else { low + (high - low) * share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_nearest() {
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(quantile(vec![1.0, 2.0], 0.25), 1.25);
        assert_eq!(quantile(vec![1.0, f64::INFINITY], 0.25), f64::INFINITY);
        assert!(quantile(Vec::new(), 0.5).is_nan());
    }
}

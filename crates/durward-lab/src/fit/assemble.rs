//! From coefficients to a fit: residuals, how much they explain, and how sure each coefficient is.

use super::matrix::{dot, inverse, times};
use super::problem::{Coefficients, ScaledProblem};
use super::{Fit, Law, StandardErrors};

/// The names of the parameters, in their order.
const NAMES: [&str; 3] = ["lambda", "sigma", "kappa"];

/// Which of lambda, sigma, kappa were fitted, and whether sigma and kappa have a bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct FittedParameters {
    pub(super) free: [bool; 3],
    pub(super) is_bounded: bool,
}

impl FittedParameters {
    fn count(self) -> usize {
        self.free.into_iter().filter(|free| *free).count()
    }
}

/// The fit of these coefficients to these points.
pub(super) fn fit(problem: &ScaledProblem, at: Coefficients, shape: FittedParameters) -> Fit {
    let law = problem.law(at);
    let [free_lambda, free_sigma, free_kappa] = shape.free;
    let bound = [
        false,
        shape.is_bounded && free_sigma && law.sigma == 0.0,
        shape.is_bounded && free_kappa && law.kappa == 0.0,
    ];
    let degrees = problem.points.len().saturating_sub(shape.count());
    let squares = problem.sum_of_squares(at);
    let mut fit = Fit {
        law,
        n_star: law.n_star(),
        x_star: law.x_star(),
        asymptote: law.asymptote(),
        free: named([free_lambda, free_sigma, free_kappa]),
        on_the_bound: named(bound),
        residual_sum_of_squares: squares * problem.y * problem.y,
        residual_standard_error: (degrees > 0).then(|| (squares / count(degrees)).sqrt() * problem.y),
        degrees_of_freedom: degrees,
        r_squared: r_squared(problem, squares),
        aicc: aicc(problem.points.len(), shape.count(), squares * problem.y * problem.y),
        residuals: residuals(problem, at),
        ..Fit::default()
    };
    fit.sign_runs = sign_runs(&fit.residuals, problem.y);
    if degrees > 0 {
        standard_errors(&mut fit, problem, shape.free, bound, squares / count(degrees));
    }
    fit
}

/// Measured less fitted, in the unit of the throughput.
fn residuals(problem: &ScaledProblem, at: Coefficients) -> Vec<f64> {
    problem.points.iter().map(|point| (point.x - point.law(at)) * problem.y).collect()
}

/// Smaller than this part of the greatest X is rounding, not a residual.
const ROUNDING: f64 = 1e-13;

/// How often, plus one, the sign changes; what is 0 counts as below.
fn sign_runs(residuals: &[f64], y: f64) -> usize {
    let above = |one: &f64| *one > ROUNDING * y;
    let changes =
        residuals.iter().zip(residuals.iter().skip(1)).filter(|(one, next)| above(one) != above(next));
    changes.count() + usize::from(!residuals.is_empty())
}

fn r_squared(problem: &ScaledProblem, squares: f64) -> Option<f64> {
    let weights = || problem.points.iter().map(|point| point.root.powi(2));
    let mean = problem.points.iter().zip(weights()).map(|(point, weight)| point.x * weight).sum::<f64>()
        / weights().sum::<f64>();
    let total: f64 = problem.points.iter().map(|point| ((point.x - mean) * point.root).powi(2)).sum();
    (total > ROUNDING * ROUNDING * count(problem.points.len())).then_some(1.0 - squares / total)
}

/// Akaike's criterion with the correction for small samples: `n ln(SSR/n) + 2K + 2K(K+1)/(n-K-1)`, K the parameters and the variance.
pub(super) fn aicc(points: usize, parameters: usize, squares: f64) -> Option<f64> {
    let (n, k) = (count(points), count(parameters + 1));
    let left = n - k - 1.0;
    let value = n * (squares / n).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / left;
    (left > 0.0 && squares > 0.0 && value.is_finite()).then_some(value)
}

/// Both kinds, and those of the peak.
fn standard_errors(fit: &mut Fit, problem: &ScaledProblem, free: [bool; 3], bound: [bool; 3], variance: f64) {
    let scales = [fit.law.lambda, 1.0 / problem.m, 1.0 / (problem.m * problem.m)];
    let all = covariance(problem, &fit.law, free);
    if let Some(all) = &all {
        fit.standard_errors = Some(errors(all, free, scales, variance));
        if let Some((n_star, x_star)) = peak_errors(&fit.law, problem, all) {
            fit.n_star_se = Some(n_star * variance.sqrt());
            fit.x_star_se = Some(x_star * variance.sqrt());
        }
    }
    if bound.contains(&true) {
        let [a, b, c] = free;
        let [_, sigma, kappa] = bound;
        let rest = [a, b && !sigma, c && !kappa];
        // The variance stays: a parameter on its bound was one all the same.
        let held = covariance(problem, &fit.law, rest);
        fit.standard_errors_of_the_rest = held.map(|of| errors(&of, rest, scales, variance));
    }
}

/// Standard errors without the variance, squared and off the diagonal together, of lambda relative to itself and of sigma and kappa
/// in units of 1/m and 1/m^2; 0 of what is not free. `None` where the points do
/// not tell the free ones apart.
fn covariance(problem: &ScaledProblem, law: &Law, free: [bool; 3]) -> Option<[[f64; 3]; 3]> {
    let at = problem.coefficients(law);
    let [a, _, _] = at;
    let mut normal = [[0.0; 3]; 3];
    for point in &problem.points {
        // dX/dlambda = X/lambda, dX/dsigma = -X (N-1)/slowdown, dX/dkappa = -X N (N-1)/slowdown.
        let slowdown = point.denominator(at) / a;
        let x = point.law(at) * point.root;
        let gradient = [x, -x * point.u / slowdown, -x * point.v / slowdown];
        for (line, (of, is_free)) in normal.iter_mut().zip(gradient.into_iter().zip(free)) {
            for (cell, (other, is_other_free)) in line.iter_mut().zip(gradient.into_iter().zip(free)) {
                *cell += if is_free && is_other_free { of * other } else { 0.0 };
            }
        }
    }
    let [[first, ..], [_, second, _], [.., third]] = &mut normal;
    for (cell, is_free) in [first, second, third].into_iter().zip(free) {
        if !is_free {
            *cell = 1.0;
        }
    }
    let mut found = inverse(&normal)?;
    let [[first, ..], [_, second, _], [.., third]] = &mut found;
    for (cell, is_free) in [first, second, third].into_iter().zip(free) {
        if !is_free {
            *cell = 0.0;
        }
    }
    Some(found)
}

fn errors(covariance: &[[f64; 3]; 3], free: [bool; 3], scales: [f64; 3], variance: f64) -> StandardErrors {
    let [[first, ..], [_, second, _], [.., third]] = *covariance;
    let error = |square: f64, is_free: bool, scale: f64| is_free.then(|| (square * variance).sqrt() * scale);
    let ([a, b, c], [lambda, sigma, kappa]) = (free, scales);
    StandardErrors {
        lambda: error(first, a, lambda),
        sigma: error(second, b, sigma),
        kappa: error(third, c, kappa),
    }
}

/// Standard errors of the peak's N and X without the variance, by the delta method.
fn peak_errors(law: &Law, problem: &ScaledProblem, covariance: &[[f64; 3]; 3]) -> Option<(f64, f64)> {
    let (n, x) = (law.n_star()?, law.x_star()?);
    let (per_sigma, per_kappa) = (1.0 / problem.m, 1.0 / (problem.m * problem.m));
    let of = |gradient: [f64; 3]| dot(gradient, times(covariance, gradient)).max(0.0).sqrt();
    let of_n = [0.0, -per_sigma / (2.0 * n * law.kappa), -per_kappa * n / (2.0 * law.kappa)];
    // At the peak X does not change with N, so only what changes with the coefficients themselves counts.
    let slowdown = law.slowdown(n);
    let of_x = [x, -x * (n - 1.0) / slowdown * per_sigma, -x * n * (n - 1.0) / slowdown * per_kappa];
    let (n_se, x_se) = (of(of_n), of(of_x));
    (n_se.is_finite() && x_se.is_finite()).then_some((n_se, x_se))
}

fn named(which: [bool; 3]) -> Vec<String> {
    NAMES.iter().zip(which).filter(|(_, is)| *is).map(|(name, _)| (*name).to_owned()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "no data set has 2^53 points")]
pub(super) fn count(of: usize) -> f64 {
    of as f64
}

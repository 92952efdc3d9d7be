//! The points, scaled so that a fit neither sees the unit of the throughput nor how large N is.

use super::{Law, Observation};

/// Points in scaled form. With m the greatest N and y the greatest X, `x = X/y`, `t = N/m`, `u = (N-1)/m`, `v = N(N-1)/m^2`, the law
/// is `x = t / (a + b u + c v)`. That has the law's three coefficients in other words, `a = y/(lambda m)`, `b = sigma a m`,
/// `c = kappa a m^2`, and stays well-posed where the points do not determine lambda: there a goes to 0, lambda to infinity.
#[derive(Clone, Debug)]
pub(super) struct ScaledProblem {
    pub(super) points: Vec<ScaledPoint>,
    /// The greatest N.
    pub(super) m: f64,
    /// The greatest X.
    pub(super) y: f64,
    /// The least `a` that is tried: lambda a million times the greatest X at the least N.
    pub(super) a_min: f64,
}

/// One point of a [`ScaledProblem`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ScaledPoint {
    pub(super) x: f64,
    pub(super) t: f64,
    pub(super) u: f64,
    pub(super) v: f64,
    /// The root of the weight.
    pub(super) root: f64,
}

/// Coefficients of the scaled form: a, b, c.
pub(super) type Coefficients = [f64; 3];

/// How far lambda may go beyond the greatest X at the least N.
const LAMBDA_FACTOR_MAX: f64 = 1e6;

impl ScaledProblem {
    /// `None` of no points, or where no X is above 0.
    pub(super) fn new(observations: &[Observation]) -> Option<ScaledProblem> {
        let greatest = |of: fn(&Observation) -> f64| observations.iter().map(of).fold(0.0, f64::max);
        let (m, y) = (greatest(|one| one.n), greatest(|one| one.x));
        let least = observations.iter().map(|one| one.n).fold(m, f64::min);
        let scaled = |one: &Observation| ScaledPoint {
            x: one.x / y,
            t: one.n / m,
            u: (one.n - 1.0) / m,
            v: one.n / m * ((one.n - 1.0) / m),
            root: one.weight.sqrt(),
        };
        let is_any = m > 0.0 && y > 0.0;
        let a_min = (least / m).min(1.0) / LAMBDA_FACTOR_MAX;
        is_any.then(|| ScaledProblem { points: observations.iter().map(scaled).collect(), m, y, a_min })
    }

    /// The same places with other throughput, in units of y.
    pub(super) fn with_x(&self, x: impl IntoIterator<Item = f64>) -> ScaledProblem {
        let points = self.points.iter().zip(x).map(|(point, x)| ScaledPoint { x, ..*point }).collect();
        ScaledProblem { points, ..*self }
    }

    /// Some of the points, in any order, also several times.
    pub(super) fn of_points(&self, points: Vec<ScaledPoint>) -> ScaledProblem {
        ScaledProblem { points, ..*self }
    }

    /// How many different N there are, up to `enough`.
    pub(super) fn different_n(&self, enough: usize) -> usize {
        let mut seen: Vec<f64> = Vec::with_capacity(enough);
        for point in &self.points {
            if seen.len() < enough && !seen.contains(&point.t) {
                seen.push(point.t);
            }
        }
        seen.len()
    }

    /// The law of these coefficients.
    pub(super) fn law(&self, [a, b, c]: Coefficients) -> Law {
        Law { lambda: self.y / (a * self.m), sigma: b / (a * self.m), kappa: c / (a * self.m) / self.m }
    }

    /// The coefficients of this law.
    pub(super) fn coefficients(&self, law: &Law) -> Coefficients {
        let a = self.a(law.lambda);
        [a, law.sigma * a * self.m, law.kappa * a * self.m * self.m]
    }

    /// The coefficient of this lambda.
    pub(super) fn a(&self, lambda: f64) -> f64 {
        self.y / (lambda * self.m)
    }

    /// The sum of squares, weighted, in units of y squared.
    pub(super) fn sum_of_squares(&self, of: Coefficients) -> f64 {
        self.points.iter().map(|point| point.deviate(of).powi(2)).sum()
    }
}

/// What stands for the denominator where it is not above 0, so that searches turn back: below N = 1 the law has poles.
const DENOMINATOR_MIN: f64 = 1e-12;

impl ScaledPoint {
    pub(super) fn denominator(&self, [a, b, c]: Coefficients) -> f64 {
        (a + b * self.u + c * self.v).max(DENOMINATOR_MIN * self.t)
    }

    /// The law here.
    pub(super) fn law(&self, of: Coefficients) -> f64 {
        self.t / self.denominator(of)
    }

    /// Measured less fitted, times the root of the weight.
    pub(super) fn deviate(&self, of: Coefficients) -> f64 {
        (self.x - self.law(of)) * self.root
    }

    /// How [`ScaledPoint::deviate`] changes with a, b, c.
    pub(super) fn gradient(&self, of: Coefficients) -> [f64; 3] {
        let by_a = self.root * self.t / self.denominator(of).powi(2);
        [by_a, by_a * self.u, by_a * self.v]
    }
}

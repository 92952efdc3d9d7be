//! Fits that are no part of the judgement but shown beside it, or that tell what the points are: the transformed fit, and linear-then-flat.

use rmpfit::{MPConfig, MPError, MPFitter, MPPar, MPResult};

use super::assemble::count;
use super::problem::ScaledProblem;
use super::{Fit, Law, Observation, StandardErrors};

/// Mean throughput at N = 1; `None` where that was not measured.
pub(super) fn x1(observations: &[Observation]) -> Option<f64> {
    let of_one: Vec<f64> = observations.iter().filter(|one| one.n == 1.0).map(|one| one.x).collect();
    let mean = of_one.iter().sum::<f64>() / count(of_one.len());
    (mean.is_finite() && mean > 0.0).then_some(mean)
}

/// What gnuplot scripts, spreadsheets and R's `usl` before 2.0 do: least squares of `N/C - 1` on `N-1` and `N (N-1)`, `C = X/X(1)`, both at
/// least 0. `None` without a measurement at N = 1, with an X of 0, or with fewer than two other N.
pub(super) fn transformed(observations: &[Observation]) -> Option<Fit> {
    let lambda = x1(observations)?;
    let rows: Vec<[f64; 3]> = observations
        .iter()
        .map(|one| [one.n - 1.0, one.n * (one.n - 1.0), one.n * lambda / one.x - 1.0])
        .collect();
    let sum = |of: fn(&[f64; 3]) -> f64| rows.iter().map(of).sum::<f64>();
    let (pp, pq, qq) = (sum(|[p, _, _]| p * p), sum(|[p, q, _]| p * q), sum(|[_, q, _]| q * q));
    let (py, qy) = (sum(|[p, _, y]| p * y), sum(|[_, q, y]| q * y));
    let determinant = pp * qq - pq * pq;
    if !(determinant > 1e-12 * pp * qq && py.is_finite() && qy.is_finite()) {
        return None;
    }
    let (sigma, kappa) = ((py * qq - qy * pq) / determinant, (qy * pp - py * pq) / determinant);
    let (sigma, kappa) = match (sigma >= 0.0, kappa >= 0.0) {
        (true, true) => (sigma, kappa),
        (_, false) => ((py / pp).max(0.0), 0.0),
        (false, true) => (0.0, (qy / qq).max(0.0)),
    };
    let law = Law { lambda, sigma, kappa };
    let squares = rows.iter().map(|[p, q, y]| (y - sigma * p - kappa * q).powi(2)).sum::<f64>();
    let degrees = rows.len().saturating_sub(2);
    let variance = squares / count(degrees);
    let error = |of: f64| (degrees > 0).then(|| (variance * of / determinant).sqrt());
    Some(Fit {
        standard_errors: Some(StandardErrors { lambda: None, sigma: error(qq), kappa: error(pp) })
            .filter(|_| degrees > 0),
        ..in_x(law, observations, degrees)
    })
}

/// What a law that was found otherwise leaves unexplained in X.
fn in_x(law: Law, observations: &[Observation], degrees_of_freedom: usize) -> Fit {
    let residuals: Vec<f64> = observations.iter().map(|one| one.x - law.x(one.n)).collect();
    let squares: f64 = residuals.iter().map(|one| one * one).sum();
    let mean = observations.iter().map(|one| one.x).sum::<f64>() / count(observations.len());
    let total: f64 = observations.iter().map(|one| (one.x - mean).powi(2)).sum();
    let changes =
        residuals.iter().zip(residuals.iter().skip(1)).filter(|(one, next)| (**one > 0.0) != (**next > 0.0));
    Fit {
        law,
        n_star: law.n_star(),
        x_star: law.x_star(),
        asymptote: law.asymptote(),
        free: vec!["sigma".into(), "kappa".into()],
        residual_sum_of_squares: squares,
        residual_standard_error: (degrees_of_freedom > 0)
            .then(|| (squares / count(degrees_of_freedom)).sqrt()),
        degrees_of_freedom,
        r_squared: (total > 0.0).then(|| 1.0 - squares / total),
        sign_runs: changes.count() + 1,
        residuals,
        ..Fit::default()
    }
}

/// Linear, then flat: `X = t/a / (1 + (t/(a C))^p)^(1/p)`. With p = 1 it is Amdahl's law, with a great p a straight line with a
/// sharp bend: what users with think time in front of a queue do, and nodes in front of something that all share.
#[derive(Clone, Copy, Debug)]
pub(super) struct SaturationCurve {
    /// How sharp: p.
    pub(super) sharpness: f64,
    /// The ceiling, in the unit of the throughput.
    pub(super) ceiling: f64,
    /// The weighted sum of squares in units of the greatest throughput squared.
    pub(super) squares: f64,
}

/// The best of these; `None` where no search ends or there are too few points.
pub(super) fn bend(problem: &ScaledProblem) -> Option<SaturationCurve> {
    let steepest = problem.points.iter().map(|point| point.x / point.t).fold(0.0, f64::max);
    if problem.different_n(4) < 4 || !(steepest.is_finite() && steepest > 0.0) {
        return None;
    }
    let starts = [1.0_f64, 2.0, 4.0, 10.0, 30.0].map(|sharp| [steepest.ln(), 0.0, sharp.ln()]);
    let mut fitter = SaturationParameters { problem, parameters: bender_parameters() };
    let found = starts.into_iter().filter_map(|mut start| {
        let status = fitter.mpfit(&mut start).ok()?;
        let [_, ceiling, sharp] = start;
        Some(SaturationCurve {
            sharpness: sharp.exp(),
            ceiling: ceiling.exp() * problem.y,
            squares: status.best_norm,
        })
    });
    found.filter(|one| one.squares.is_finite()).min_by(|one, other| one.squares.total_cmp(&other.squares))
}

/// As logarithms: the slope at 0, the ceiling, the sharpness.
struct SaturationParameters<'p> {
    problem: &'p ScaledProblem,
    parameters: [MPPar; 3],
}

/// From Amdahl's law to as good as a corner.
fn bender_parameters() -> [MPPar; 3] {
    let sharp =
        MPPar { limited_low: true, limit_low: 0.0, limited_up: true, limit_up: 60_f64.ln(), ..MPPar::new() };
    [MPPar::new(), MPPar::new(), sharp]
}

impl MPFitter for SaturationParameters<'_> {
    fn eval(&mut self, at: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let &[slope, ceiling, sharp] = at else { return Err(MPError::Eval) };
        let sharp = sharp.exp();
        for (deviate, point) in deviates.iter_mut().zip(&self.problem.points) {
            let line = slope + point.t.ln();
            // The logarithm of (1 + e^z)^(1/p), which does not overflow.
            let z = sharp * (line - ceiling);
            let soft = if z > 0.0 { z + (-z).exp().ln_1p() } else { z.exp().ln_1p() };
            *deviate = (point.x - (line - soft / sharp).exp()) * point.root;
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.problem.points.len()
    }

    fn config(&self) -> &MPConfig {
        static CONFIG: MPConfig = MPConfig { max_iter: 300, ..MPConfig::new() };
        &CONFIG
    }

    fn parameters(&self) -> &[MPPar] {
        &self.parameters
    }
}

//! Bounded least squares: finds the coefficients of the law and its rivals.
//!
//! The search is MPFIT's Levenberg-Marquardt (crate `rmpfit`), with the gradient given, from many places. What it cannot say by
//! itself is whether a coefficient *is* 0: so the laws with sigma, kappa or both at 0 are fitted as well, and the simplest that
//! explains as much is taken. A coefficient on its bound is then 0, not 1e-12.

use rmpfit::{MPConfig, MPError, MPFitter, MPPar, MPResult, MPSide};

use super::problem::{Coefficients, ScaledProblem};

/// What a search may do with sigma or kappa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterRange {
    /// It is 0.
    Zero,
    /// 0 or above.
    NotNegative,
    /// Any number.
    AnySign,
}

/// What a search is free to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SearchFreedom {
    /// The scaled coefficient of lambda where that is fixed.
    pub(super) a: Option<f64>,
    pub(super) sigma: ParameterRange,
    pub(super) kappa: ParameterRange,
}

impl SearchFreedom {
    /// All three, in their bounds.
    pub(super) fn bounded(a: Option<f64>) -> SearchFreedom {
        SearchFreedom { a, sigma: ParameterRange::NotNegative, kappa: ParameterRange::NotNegative }
    }

    /// How many parameters are free.
    pub(super) fn count(&self) -> usize {
        [self.a.is_none(), self.sigma != ParameterRange::Zero, self.kappa != ParameterRange::Zero]
            .into_iter()
            .filter(|free| *free)
            .count()
    }
}

/// A simpler law is taken where its sum of squares is greater by no more than this part.
const SAME_PART: f64 = 1e-10;

/// Or by no more than this for each point, in units of the greatest X squared: rounding.
const SAME_SQUARE: f64 = 1e-28;

/// The law with sigma and kappa at least 0. `None` where there are fewer points or different N than parameters.
pub(super) fn bounded(problem: &ScaledProblem, a: Option<f64>) -> Option<Coefficients> {
    bounded_from(problem, a, &starts(problem))
}

/// The same from few starts and less sharply, for resamples, which lie near a law that is known and are many.
pub(super) fn bounded_near(
    problem: &ScaledProblem,
    a: Option<f64>,
    near: Coefficients,
) -> Option<Coefficients> {
    let starts: Vec<Coefficients> = std::iter::once(near).chain(linearised(problem)).collect();
    let [a, b, c] = search_to(problem, SearchFreedom::bounded(a), &starts, TOLERANCE_OF_RESAMPLES)?;
    // What is so little is 0: the search came to the bound from inside.
    let or_zero = |one: f64| if one < NEARLY_ZERO * a { 0.0 } else { one };
    Some([a, or_zero(b), or_zero(c)])
}

/// Below this part of `a`, the scaled sigma or kappa of a resample is 0.
const NEARLY_ZERO: f64 = 1e-9;

fn bounded_from(problem: &ScaledProblem, a: Option<f64>, starts: &[Coefficients]) -> Option<Coefficients> {
    let whole = SearchFreedom::bounded(a);
    let least = search(problem, whole, starts)?;
    let near: Vec<Coefficients> = std::iter::once(least).chain(starts.iter().copied()).collect();
    // From the simplest on; each may start where the whole one ended.
    let simpler = [
        SearchFreedom { sigma: ParameterRange::Zero, kappa: ParameterRange::Zero, ..whole },
        SearchFreedom { kappa: ParameterRange::Zero, ..whole },
        SearchFreedom { sigma: ParameterRange::Zero, ..whole },
    ];
    let found: Vec<Coefficients> =
        simpler.into_iter().filter_map(|freedom| search(problem, freedom, &near)).collect();
    let squares = |of: &Coefficients| problem.sum_of_squares(*of);
    let lowest = found.iter().map(squares).fold(squares(&least), f64::min);
    #[expect(clippy::cast_precision_loss, reason = "few points")]
    let same = lowest * (1.0 + SAME_PART) + SAME_SQUARE * problem.points.len() as f64;
    Some(found.into_iter().find(|of| squares(of) <= same).unwrap_or(least))
}

/// The least sum of squares that a search finds from all of these starts. `None` where there are fewer points or different N than
/// parameters, or no search ends.
pub(super) fn search(
    problem: &ScaledProblem,
    freedom: SearchFreedom,
    starts: &[Coefficients],
) -> Option<Coefficients> {
    search_to(problem, freedom, starts, TOLERANCE)
}

fn search_to(
    problem: &ScaledProblem,
    freedom: SearchFreedom,
    starts: &[Coefficients],
    tolerance: f64,
) -> Option<Coefficients> {
    let count = freedom.count();
    if problem.points.is_empty() || problem.different_n(count) < count {
        return None;
    }
    if count == 0 {
        return freedom.a.map(|a| [a, 0.0, 0.0]);
    }
    let mut search = MpfitProblem::new(problem, freedom, tolerance);
    let ends = starts.iter().filter_map(|start| search.from(*start));
    ends.map(|end| (problem.sum_of_squares(end), end))
        .filter(|(squares, _)| squares.is_finite())
        .min_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, end)| end)
}

/// Where to start: where the linearised fit lies, and on a grid of curvatures, each with the lambda that suits it best.
pub(super) fn starts(problem: &ScaledProblem) -> Vec<Coefficients> {
    let steep = 0.1 * problem.m.max(1.0);
    let mut starts: Vec<Coefficients> = linearised(problem).into_iter().collect();
    for beta in [0.0, 0.3, 3.0, steep] {
        for gamma in [0.0, 0.3, 3.0, steep] {
            let shape = |point: &super::problem::ScaledPoint| point.law([1.0, beta, gamma]);
            let both: f64 =
                problem.points.iter().map(|point| shape(point) * point.x * point.root.powi(2)).sum();
            let alone: f64 = problem.points.iter().map(|point| (shape(point) * point.root).powi(2)).sum();
            let a = alone / both;
            if a.is_finite() && a > 0.0 {
                starts.push([a, a * beta, a * gamma]);
            }
        }
    }
    starts
}

/// Least squares of `N/X`, which is linear in the coefficients, weighted so that errors in X count as they are; negative ones set
/// to 0.
fn linearised(problem: &ScaledProblem) -> Option<Coefficients> {
    let mut normal = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for point in problem.points.iter().filter(|point| point.x > 0.0) {
        let weight = (point.root * point.x.powi(2) / point.t).powi(2);
        let row = [1.0, point.u, point.v];
        for (line, (of, sum)) in normal.iter_mut().zip(row.iter().zip(&mut right)) {
            for (cell, other) in line.iter_mut().zip(row) {
                *cell += weight * of * other;
            }
            *sum += weight * of * point.t / point.x;
        }
    }
    let inverse = super::matrix::inverse(&normal)?;
    let [a, b, c] = super::matrix::times(&inverse, right);
    Some([a.max(problem.a_min), b.max(0.0), c.max(0.0)])
}

/// One problem for MPFIT.
struct MpfitProblem<'p> {
    problem: &'p ScaledProblem,
    freedom: SearchFreedom,
    parameters: [MPPar; 3],
    config: MPConfig,
}

/// MPFIT stops where nothing changes by more than this part: sums of squares, coefficients, angles.
const TOLERANCE: f64 = 1e-14;

/// The same for resamples, whose intervals have two digits.
const TOLERANCE_OF_RESAMPLES: f64 = 1e-9;

impl<'p> MpfitProblem<'p> {
    fn new(problem: &'p ScaledProblem, freedom: SearchFreedom, tolerance: f64) -> MpfitProblem<'p> {
        let held = || MPPar { fixed: true, side: MPSide::User, ..MPPar::new() };
        let free = || MPPar { side: MPSide::User, ..MPPar::new() };
        let from = |limit_low| MPPar { limited_low: true, limit_low, ..free() };
        let of = |range| match range {
            ParameterRange::Zero => held(),
            ParameterRange::NotNegative => from(0.0),
            ParameterRange::AnySign => free(),
        };
        let a = if freedom.a.is_some() { held() } else { from(problem.a_min) };
        let config =
            MPConfig { ftol: tolerance, xtol: tolerance, gtol: tolerance, max_iter: 500, ..MPConfig::new() };
        MpfitProblem { problem, freedom, parameters: [a, of(freedom.sigma), of(freedom.kappa)], config }
    }

    /// Where a search from here ends.
    fn from(&mut self, [a, b, c]: Coefficients) -> Option<Coefficients> {
        let start = |range, at: f64| match range {
            ParameterRange::Zero => 0.0,
            ParameterRange::NotNegative => at.max(0.0),
            ParameterRange::AnySign => at,
        };
        let a = self.freedom.a.unwrap_or(a.max(self.problem.a_min));
        let mut at = [a, start(self.freedom.sigma, b), start(self.freedom.kappa, c)];
        self.mpfit(&mut at).ok()?;
        at.iter().all(|one| one.is_finite()).then_some(at)
    }
}

impl MPFitter for MpfitProblem<'_> {
    fn eval(&mut self, at: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let &[a, b, c] = at else { return Err(MPError::Eval) };
        for (deviate, point) in deviates.iter_mut().zip(&self.problem.points) {
            *deviate = point.deviate([a, b, c]);
        }
        Ok(())
    }

    fn jacobian(
        &mut self,
        at: &[f64],
        deviates: &mut [f64],
        columns: &mut [Option<Vec<f64>>],
    ) -> MPResult<()> {
        self.eval(at, deviates)?;
        let &[a, b, c] = at else { return Err(MPError::Eval) };
        for (row, point) in self.problem.points.iter().enumerate() {
            for (column, change) in columns.iter_mut().zip(point.gradient([a, b, c])) {
                if let Some(cell) = column.as_mut().and_then(|column| column.get_mut(row)) {
                    *cell = change;
                }
            }
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.problem.points.len()
    }

    fn config(&self) -> &MPConfig {
        &self.config
    }

    fn parameters(&self) -> &[MPPar] {
        &self.parameters
    }
}

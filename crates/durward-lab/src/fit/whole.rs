//! The whole fit, step by step.

use std::collections::BTreeMap;

use super::assemble::{self, FittedParameters, count};
use super::bootstrap::{self, Resampled, quantile};
use super::problem::{Coefficients, ScaledProblem};
use super::solve::{self, ParameterRange, SearchFreedom};
use super::{
    CurvePoint, Extrapolation, ExtrapolationZone, Fit, FitOptions, FitReport, Fits, Influence,
    LEAVE_ONE_OUT_MAX, Lambda, Law, Observation, PreferredModel, judge, rivals, words,
};

/// Fits the law to these, beside Amdahl's law and a straight line, and says what it means. Observations whose N or weight is not above
/// 0, or whose X is below 0 or no number, are left out and named in [`FitReport::left_out`].
///
/// ```
/// use durward_lab::fit::{self, Law, Observation, FitOptions};
///
/// let truth = Law { lambda: 100.0, sigma: 0.05, kappa: 0.001 };
/// let measured: Vec<Observation> =
///     [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(|n| Observation::new(n, truth.x(n))).to_vec();
/// let report = fit::of(&measured, &FitOptions::default());
/// let peak = report.fits.usl.unwrap().n_star.unwrap();
/// assert!((peak - truth.n_star().unwrap()).abs() < 1e-6);
/// assert!(report.refused.is_empty(), "{}", report.verdict);
/// ```
pub fn of(observations: &[Observation], options: &FitOptions) -> FitReport {
    let mut report =
        FitReport { n_is: options.n_is, left_out: options.left_out.clone(), ..FitReport::default() };
    for one in observations {
        if is_usable(one) {
            report.points.push(*one);
        } else {
            let because = "N and its weight are above 0, X is 0 or above".to_owned();
            report.left_out.push(super::OmittedPoint { n: one.n, x: one.x, because, generator: false });
        }
    }
    report.points.sort_by(|one, other| one.n.total_cmp(&other.n));
    let problem = ScaledProblem::new(&report.points);
    if let Some(problem) = &problem {
        fill(&mut report, problem, options);
    }
    report.reasons = judge::refused(&report, problem.as_ref(), options);
    report.refused = report.reasons.keys().copied().collect();
    report.notes = judge::notes(&report, problem.as_ref());
    report.verdict = words::verdict(&report);
    report
}

fn is_usable(one: &Observation) -> bool {
    one.n.is_finite()
        && one.n > 0.0
        && one.x.is_finite()
        && one.x >= 0.0
        && one.weight.is_finite()
        && one.weight > 0.0
}

/// All that needs points with throughput.
fn fill(report: &mut FitReport, problem: &ScaledProblem, options: &FitOptions) {
    let lambda = match options.lambda {
        Lambda::Free => None,
        Lambda::Fixed(lambda) => Some(lambda),
        // Without a measurement at 1 lambda is free.
        Lambda::X1 => rivals::x1(&report.points),
    };
    let a = lambda.map(|lambda| problem.a(lambda));
    let usl = solve::bounded(problem, a);
    report.fits = fits(problem, &report.points, a, usl);
    if let Some(lambda) = lambda {
        // There and back through the scaled form, its last digit may have changed.
        let Fits { usl, amdahl, linear, usl_unconstrained, .. } = &mut report.fits;
        for fit in [usl, amdahl, linear, usl_unconstrained].into_iter().flatten() {
            fit.law.lambda = lambda;
        }
    }
    report.aicc = choice(&report.fits);
    let (Some(at), Some(fit)) = (usl, &report.fits.usl) else { return };
    report.knee = fit.law.n_knee();
    report.half_gain = fit.law.n_half();
    let resampled = bootstrap::run(problem, at, a, fit.r_squared, options);
    report.curve = curve(problem, &fit.law, &resampled);
    report.bootstrap = resampled.said;
    report.extrapolation = extrapolation(&report.points, lambda);
    report.leave_one_out = leave_one_out(&report.points, problem, at, a);
}

fn fits(problem: &ScaledProblem, points: &[Observation], a: Option<f64>, usl: Option<Coefficients>) -> Fits {
    let shape = |a: Option<f64>, sigma, kappa, is_bounded| FittedParameters {
        free: [a.is_none(), sigma, kappa],
        is_bounded,
    };
    let starts = solve::starts(problem);
    let fit = |a: Option<f64>, sigma: ParameterRange, kappa: ParameterRange| {
        let shape = shape(
            a,
            sigma != ParameterRange::Zero,
            kappa != ParameterRange::Zero,
            sigma != ParameterRange::AnySign,
        );
        solve::search(problem, SearchFreedom { a, sigma, kappa }, &starts)
            .map(|at| assemble::fit(problem, at, shape))
    };
    let bounded =
        |a, at: Option<Coefficients>| at.map(|at| assemble::fit(problem, at, shape(a, true, true, true)));
    // Amdahl's law is the law itself where that has kappa 0: not to differ in the last digit.
    let amdahl = match usl {
        Some(at @ [_, _, 0.0]) => Some(assemble::fit(problem, at, shape(a, true, false, true))),
        _ => fit(a, ParameterRange::NotNegative, ParameterRange::Zero),
    };
    let x1 = rivals::x1(points).map(|lambda| problem.a(lambda));
    Fits {
        usl: bounded(a, usl),
        amdahl,
        linear: fit(a, ParameterRange::Zero, ParameterRange::Zero),
        usl_lambda_is_x1: x1.and_then(|a| bounded(Some(a), solve::bounded(problem, Some(a)))),
        usl_transformed: rivals::transformed(points),
        usl_unconstrained: unconstrained(problem, a, usl, &starts)
            .map(|at| assemble::fit(problem, at, shape(a, true, true, false))),
    }
}

/// From the bounded law on, for without bounds there are poles elsewhere.
fn unconstrained(
    problem: &ScaledProblem,
    a: Option<f64>,
    usl: Option<Coefficients>,
    starts: &[Coefficients],
) -> Option<Coefficients> {
    let freedom = SearchFreedom { a, sigma: ParameterRange::AnySign, kappa: ParameterRange::AnySign };
    let near: Vec<Coefficients> = usl.into_iter().chain(starts.iter().copied()).collect();
    solve::search(problem, freedom, &near)
}

fn choice(fits: &Fits) -> Option<PreferredModel> {
    let of = |name: &str, fit: &Option<Fit>| fit.as_ref()?.aicc.map(|aicc| (name.to_owned(), aicc));
    let all = [of("linear", &fits.linear)?, of("amdahl", &fits.amdahl)?, of("usl", &fits.usl)?];
    let (best, least) = all.iter().min_by(|one, other| one.1.total_cmp(&other.1))?.clone();
    let differences: BTreeMap<String, f64> =
        all.into_iter().map(|(name, aicc)| (name, aicc - least)).collect();
    Some(PreferredModel { best, differences })
}

/// Places of the curve within the measured range.
const CURVE_POINTS: u32 = 40;

/// How many times the measured range the curve goes on.
const CURVE_RANGES: u32 = 4;

fn curve(problem: &ScaledProblem, law: &Law, resampled: &Resampled) -> Vec<CurvePoint> {
    let least = problem.points.first().map_or(0.0, |point| point.t);
    let places = (1..=CURVE_POINTS * CURVE_RANGES).map(|at| f64::from(at) / f64::from(CURVE_POINTS));
    std::iter::once(least)
        .chain(places.filter(|place| *place > least))
        .map(|place| {
            let n = place * problem.m;
            let end = |part| {
                let all: Vec<f64> = resampled.laws.iter().map(|law| law.x(n)).collect();
                Some(quantile(all, part)).filter(|end| end.is_finite())
            };
            let zone = match place {
                _ if place <= 1.0 => ExtrapolationZone::Measured,
                _ if place <= 2.0 => ExtrapolationZone::Extrapolated,
                _ => ExtrapolationZone::Grey,
            };
            CurvePoint { n, x: law.x(n), low: end(0.025), high: end(0.975), zone }
        })
        .collect()
}

fn extrapolation(points: &[Observation], lambda: Option<f64>) -> Option<Extrapolation> {
    let last = points.last()?;
    let half: Vec<Observation> = points.iter().copied().filter(|one| one.n <= last.n / 2.0).collect();
    let problem = ScaledProblem::new(&half)?;
    // As many points as parameters foretell nothing.
    if half.len() < 4 || half.len() == points.len() {
        return None;
    }
    let law = problem.law(solve::bounded(&problem, lambda.map(|lambda| problem.a(lambda)))?);
    let of_last: Vec<f64> = points.iter().filter(|one| one.n == last.n).map(|one| one.x).collect();
    let measured = of_last.iter().sum::<f64>() / count(of_last.len());
    let predicted = law.x(last.n);
    Some(Extrapolation {
        fitted_on: half.len(),
        n_max: problem.m,
        law,
        n_star: law.n_star(),
        predicted_at_n_max: predicted,
        measured_at_n_max: measured,
        error_percent: 100.0 * (predicted / measured - 1.0),
    })
    .filter(|found| found.error_percent.is_finite())
}

fn leave_one_out(
    points: &[Observation],
    problem: &ScaledProblem,
    at: Coefficients,
    a: Option<f64>,
) -> Vec<Influence> {
    if points.len() < judge::POINTS_MIN - 2 {
        return Vec::new();
    }
    let whole = problem.law(at);
    let mut found: Vec<Influence> = points
        .iter()
        .enumerate()
        .filter_map(|(out, one)| {
            let rest =
                problem.points.iter().enumerate().filter(|(other, _)| *other != out).map(|(_, point)| *point);
            let law = problem.law(solve::bounded_near(&problem.of_points(rest.collect()), a, at)?);
            let moves = points.iter().map(|at| (law.x(at.n) - whole.x(at.n)).abs()).fold(0.0, f64::max);
            Some(Influence {
                n: one.n,
                x: one.x,
                law,
                n_star: law.n_star(),
                moves_percent: 100.0 * moves / problem.y,
            })
        })
        .collect();
    found.sort_by(|one, other| other.moves_percent.total_cmp(&one.moves_percent));
    found.truncate(LEAVE_ONE_OUT_MAX);
    found
}

//! Judges a fit: refusals and warnings.

use std::collections::BTreeMap;

use super::assemble::count;
use super::problem::ScaledProblem;
use super::rivals::{self, SaturationCurve};
use super::words::{listed, number, percent};
use super::{Fit, FitOptions, FitRefusal, FitReport};

/// Fewer points print no peak: R's `usl` warns there, and Akaike's criterion is not defined.
pub(super) const POINTS_MIN: usize = 6;

/// Fewer different N show nothing of the curve's shape beyond the three parameters.
pub(super) const DIFFERENT_N_MIN: usize = 4;

/// Below so many points Akaike's criterion chooses nothing: it takes Amdahl's law on data that fall.
const CHOOSING_POINTS_MIN: usize = 10;

/// N together have to do so much more than N times one before that is called super-linear: less is noise of the first point.
const EFFICIENCY_MAX: f64 = 1.05;

/// What [`FitRefusal::SuperLinear`] asks of the efficiency alone where there are too few points for a test.
const EFFICIENCY_MAX_OF_FEW: f64 = 1.1;

/// How much better, by Akaike's criterion, linear-then-flat has to be: 20 times as likely.
const BEND_AICC_MIN: f64 = 6.0;

/// From this on a bend is sharper than any of the law's.
const BEND_SHARPNESS_MIN: f64 = 2.0;

/// Sums of squares below this part of the greatest X squared, for each point, are rounding of what was written down.
const EXACT_SQUARE: f64 = 1e-12;

/// A rival has to be better by this, by Akaike's criterion (Burnham and Anderson: within 2 both are supported) ...
const RIVAL_AICC_MIN: f64 = 2.0;

/// ... and so many of a hundred resamples without a peak.
const RIVAL_WITHOUT_PEAK_MIN: f64 = 20.0;

/// Lambda that is further from what was measured at N = 1 than this part is worth a note.
const X1_OFF: f64 = 0.1;

/// What is refused, with the reason of each. The report has its points and fits by now.
pub(super) fn refused(
    report: &FitReport,
    problem: Option<&ScaledProblem>,
    options: &FitOptions,
) -> BTreeMap<FitRefusal, String> {
    let mut reasons = BTreeMap::new();
    let mut refuse = |refusal, because: Option<String>| {
        if let Some(because) = because {
            reasons.insert(refusal, because);
        }
    };
    refuse(FitRefusal::FewPoints, few_points(report));
    refuse(FitRefusal::NoThroughput, no_throughput(report));
    refuse(FitRefusal::GeneratorAtItsLimit, generator(report, options));
    if let (Some(problem), Some(usl)) = (problem, &report.fits.usl) {
        let super_linear = super_linear(report, problem);
        let is_super_linear = super_linear.is_some();
        refuse(FitRefusal::SuperLinear, super_linear);
        if !is_super_linear {
            refuse(FitRefusal::PacedUsers, paced(report, problem, usl));
        }
        refuse(FitRefusal::NoPointPastTheKnee, beyond(report, usl, problem));
        refuse(FitRefusal::LambdaNotDetermined, lambda_not_determined(problem, usl));
        refuse(FitRefusal::WorseThanItsRival, worse(report, usl));
    }
    reasons
}

fn few_points(report: &FitReport) -> Option<String> {
    let points = report.points.len();
    let mut different: Vec<f64> = report.points.iter().map(|one| one.n).collect();
    different.dedup();
    let left_out = match report.left_out.len() {
        0 => String::new(),
        out => format!(", after {out} that were marked were left out"),
    };
    if points < POINTS_MIN {
        let noun = if points == 1 { "point" } else { "points" };
        return Some(format!(
            "{points} {noun} for three parameters{left_out}: below {POINTS_MIN} no peak is to be believed"
        ));
    }
    (different.len() < DIFFERENT_N_MIN).then(|| {
        format!("{points} points at only {} different N{left_out}: {DIFFERENT_N_MIN} are the least that show a shape", different.len())
    })
}

fn no_throughput(report: &FitReport) -> Option<String> {
    let none = !report.points.is_empty() && report.points.iter().all(|one| one.x == 0.0);
    none.then(|| "throughput is 0 at every N".to_owned())
}

/// Points that the generator limited are no matter where others at greater loads are fine.
fn generator(report: &FitReport, options: &FitOptions) -> Option<String> {
    let limited: Vec<f64> = options.left_out.iter().filter(|one| one.generator).map(|one| one.n).collect();
    let last = report.points.last().map_or(0.0, |one| one.n);
    let beyond = limited.iter().any(|n| *n >= last);
    let many = limited.len() * 2 > report.points.len();
    (beyond || (many && !limited.is_empty())).then(|| {
        format!(
            "the generator was the limit at N = {}: those are left out, and what the target does there is not known",
            listed(limited.iter().map(|n| number(*n)))
        )
    })
}

/// The greatest `X/N` against that of the least N, and where.
fn efficiency(report: &FitReport) -> Option<(f64, f64)> {
    let least = report.points.first()?.n;
    let of_least: Vec<f64> =
        report.points.iter().filter(|one| one.n == least).map(|one| one.x / one.n).collect();
    let base = of_least.iter().sum::<f64>() / count(of_least.len());
    let others = report.points.iter().filter(|one| one.n > least).map(|one| (one.x / one.n / base, one.n));
    others.filter(|(part, _)| part.is_finite()).max_by(|one, other| one.0.total_cmp(&other.0))
}

fn super_linear(report: &FitReport, problem: &ScaledProblem) -> Option<String> {
    let (part, at) = efficiency(report)?;
    let unbounded = report.fits.usl_unconstrained.as_ref();
    let error = unbounded.and_then(|fit| fit.standard_errors?.sigma);
    let is_tested = problem.points.len() >= POINTS_MIN;
    let says = match (unbounded, error) {
        (Some(fit), Some(error)) if is_tested => {
            part > EFFICIENCY_MAX && fit.law.sigma < -error * student(fit.degrees_of_freedom)
        }
        _ => part > EFFICIENCY_MAX_OF_FEW,
    };
    let shown = unbounded.map_or_else(String::new, |fit| {
        let peak = fit.n_star.map_or_else(String::new, |peak| format!(" and a peak at {}", number(peak)));
        format!("; without bounds sigma would be {}{peak}", number(fit.law.sigma))
    });
    says.then(|| {
        format!(
            "super-linear: at N = {} each does {} times what one does alone{shown}; the law has no place for that, and it always \
             pays back later",
            number(at),
            number(part)
        )
    })
}

/// What a coefficient has to be below 0 by, in standard errors, so that chance does it once in a hundred (Student's t, one-sided).
fn student(degrees: usize) -> f64 {
    const TABLE: [f64; 10] = [31.8, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764];
    match degrees {
        0 => f64::INFINITY,
        few => TABLE.get(few - 1).copied().unwrap_or(2.7),
    }
}

fn paced(report: &FitReport, problem: &ScaledProblem, usl: &Fit) -> Option<String> {
    if problem.points.len() < POINTS_MIN {
        return None;
    }
    let SaturationCurve { sharpness, ceiling, squares } = rivals::bend(problem)?;
    let points = count(problem.points.len());
    let floor = EXACT_SQUARE * points;
    let squares_usl = usl.residual_sum_of_squares / problem.y.powi(2);
    let better = points * (squares_usl.max(floor) / squares.max(floor)).ln();
    let is_bend = sharpness >= BEND_SHARPNESS_MIN && better >= BEND_AICC_MIN;
    let peak = usl.n_star.map_or_else(String::new, |peak| format!(", and no peak at {}", number(peak)));
    is_bend.then(|| {
        format!(
            "linear, then flat at {}{peak}: users who pace themselves do that in front of a queue, and nodes in front of what they \
             share; the law has no such bend ({} sign runs in {} residuals). Measure by concurrency instead, N = X times R \
             (`--by concurrency` with a record), or without think time",
            number(ceiling),
            usl.sign_runs,
            report.points.len()
        )
    })
}

fn beyond(report: &FitReport, usl: &Fit, problem: &ScaledProblem) -> Option<String> {
    let peak = usl.n_star.filter(|peak| *peak > problem.m)?;
    let interval = report
        .bootstrap
        .n_star
        .map_or_else(String::new, |ends| format!(" ({})", super::words::interval(ends)));
    Some(format!(
        "the peak at N = {}{interval} lies {} beyond the last point ({}): it is extrapolated, nothing measured has fallen",
        number(peak),
        percent(100.0 * (peak / problem.m - 1.0)),
        number(problem.m)
    ))
}

fn lambda_not_determined(problem: &ScaledProblem, usl: &Fit) -> Option<String> {
    let is_free = usl.free.iter().any(|name| name == "lambda");
    let at_limit = problem.a(usl.law.lambda) <= problem.a_min * 1.01;
    (is_free && at_limit).then(|| {
        "what one does alone does not follow from these points, all of them far past the knee: measure at N = 1, or fix lambda \
         (`--lambda`)"
            .to_owned()
    })
}

fn worse(report: &FitReport, usl: &Fit) -> Option<String> {
    if let Some(part) = usl.r_squared.filter(|part| *part < 0.0) {
        return Some(format!(
            "the mean of X explains the points better than the law does (R^2 {})",
            number(part)
        ));
    }
    let choice =
        report.aicc.as_ref().filter(|_| report.points.len() >= CHOOSING_POINTS_MIN && usl.law.kappa > 0.0)?;
    let difference = choice.differences.get("usl").copied()?;
    let without = report.bootstrap.without_peak_percent?;
    (difference >= RIVAL_AICC_MIN && without >= RIVAL_WITHOUT_PEAK_MIN).then(|| {
        format!(
            "{} explains the points as well without a peak: AICc is lower by {}, and {} of resamples have none",
            super::words::law(&choice.best),
            number(difference),
            percent(without)
        )
    })
}

/// What is not refused and has to be known all the same.
pub(super) fn notes(report: &FitReport, problem: Option<&ScaledProblem>) -> Vec<String> {
    let (Some(problem), Some(usl)) = (problem, &report.fits.usl) else { return Vec::new() };
    [
        few_but_enough(report),
        x1_off(report, usl),
        lambda_unsure(usl),
        unbounded(report, usl),
        runs(usl),
        criterion(report),
        transformed(report, usl),
        below_one(report),
        scatter(report, usl, problem),
        halves(report),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn few_but_enough(report: &FitReport) -> Option<String> {
    let points = report.points.len();
    (POINTS_MIN..8).contains(&points).then(|| {
        format!("only {points} points: do not stake on them what a measurement at two more N could settle")
    })
}

fn x1_off(report: &FitReport, usl: &Fit) -> Option<String> {
    let measured = rivals::x1(&report.points)?;
    let off = measured / usl.law.lambda - 1.0;
    let is_free = usl.free.iter().any(|name| name == "lambda");
    (is_free && off.abs() > X1_OFF).then(|| {
        let side = if off < 0.0 { "below" } else { "above" };
        format!(
            "X(1), {}, is {} {side} lambda ({})",
            number(measured),
            percent(off.abs() * 100.0),
            number(usl.law.lambda)
        )
    })
}

fn lambda_unsure(usl: &Fit) -> Option<String> {
    let error = usl.standard_errors?.lambda?;
    (error > usl.law.lambda / 2.0).then(|| {
        format!(
            "lambda is hardly determined ({}, standard error {}): points at small N are missing",
            number(usl.law.lambda),
            number(error)
        )
    })
}

fn unbounded(report: &FitReport, usl: &Fit) -> Option<String> {
    let free = report.fits.usl_unconstrained.as_ref()?;
    let of = |name: &str, value: f64| {
        (value < 0.0 && usl.on_the_bound.iter().any(|bound| bound == name))
            .then(|| format!("{name} ({})", number(value)))
    };
    let names: Vec<String> =
        [of("sigma", free.law.sigma), of("kappa", free.law.kappa)].into_iter().flatten().collect();
    (!names.is_empty())
        .then(|| format!("on its bound: without bounds {} would be negative", listed(names.into_iter())))
}

/// Fewer sign runs than this many standard deviations below what chance gives are worth a note (one case in 20).
const RUNS_DEVIATIONS: f64 = 1.645;

/// Wald and Wolfowitz: residuals of a law that fits change their sign about every other time.
fn runs(usl: &Fit) -> Option<String> {
    let above = count(usl.residuals.iter().filter(|one| **one > 0.0).count());
    let all = count(usl.residuals.len());
    let product = 2.0 * above * (all - above);
    let expected = product / all + 1.0;
    let deviation = (product * (product - all) / (all * all * (all - 1.0))).sqrt();
    let few =
        usl.residuals.len() >= POINTS_MIN && count(usl.sign_runs) < expected - RUNS_DEVIATIONS * deviation;
    few.then(|| {
        format!(
            "residuals have only {} sign runs in {}, where chance gives {}: the points have another shape than the law",
            usl.sign_runs,
            usl.residuals.len(),
            number(expected)
        )
    })
}

fn criterion(report: &FitReport) -> Option<String> {
    let choice = report.aicc.as_ref().filter(|choice| choice.best != "usl")?;
    let difference = choice.differences.get("usl").copied()?;
    let weigh = if report.points.len() < CHOOSING_POINTS_MIN {
        format!(", but {} points choose nothing", report.points.len())
    } else {
        String::new()
    };
    Some(format!("AICc takes {} by {}{weigh}", super::words::law(&choice.best), number(difference)))
}

fn transformed(report: &FitReport, usl: &Fit) -> Option<String> {
    let other = report.fits.usl_transformed.as_ref()?;
    let (peak, here) = (other.n_star?, usl.n_star?);
    ((peak / here - 1.0).abs() > X1_OFF).then(|| {
        format!(
            "a transformed fit, as spreadsheets and gnuplot scripts do it, would put the peak at {}",
            number(peak)
        )
    })
}

fn below_one(report: &FitReport) -> Option<String> {
    let below = report.points.iter().filter(|one| one.n < 1.0).count();
    (below > 0).then(|| {
        format!(
            "{below} of {} points have N < 1, where the law lies above the line through lambda",
            report.points.len()
        )
    })
}

fn scatter(report: &FitReport, usl: &Fit, problem: &ScaledProblem) -> Option<String> {
    let part = usl.r_squared.filter(|part| *part < 0.9)?;
    let method = report.bootstrap.method.as_deref().unwrap_or_default();
    let pairs = if method == "pairs" { ", so intervals are from resampled pairs" } else { "" };
    (problem.points.len() >= POINTS_MIN).then(|| format!("the points scatter: R^2 {}{pairs}", number(part)))
}

/// What the lower half says of the last point shows how far one may extrapolate.
fn halves(report: &FitReport) -> Option<String> {
    let half = report.extrapolation.as_ref().filter(|half| half.error_percent.abs() > 10.0)?;
    let side = if half.error_percent > 0.0 { "above" } else { "below" };
    Some(format!(
        "from the {} points up to N = {} the last one would have been foretold {} {side} what it is: extrapolate with care",
        half.fitted_on,
        number(half.n_max),
        percent(half.error_percent.abs())
    ))
}

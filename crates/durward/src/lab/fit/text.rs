//! Fits as people read them: the verdict, the three laws, what is refused, residuals.

use durward_lab::fit::{Fit, FitReport, Residence, number};

use super::FittedCurve;

/// Rows of residuals and loads that are printed; the JSON has all.
const ROWS_MAX: usize = 40;

/// How wide half of the residuals' picture is.
const PICTURE_HALF: usize = 20;

/// All of them, and which further sets the file has.
pub(super) fn of(fitted: &[FittedCurve], others: &[String]) -> String {
    let parts: Vec<String> = fitted.iter().map(one).collect();
    let mut text = parts.join("\n");
    if !others.is_empty() {
        text.push_str(&format!("\nfurther sets of the file, with --set: {}\n", others.join(", ")));
    }
    text
}

fn one(fitted: &FittedCurve) -> String {
    let report = &fitted.report;
    let mut text = if fitted.name.is_empty() { String::new() } else { format!("{}\n", fitted.name) };
    text.push_str(&format!("{}\n\n{}", report.verdict, table(report)));
    for refusal in &report.refused {
        let because = report.reasons.get(refusal).map_or("", String::as_str);
        text.push_str(&format!("refused, {refusal}: {because}\n"));
    }
    report.notes.iter().for_each(|note| text.push_str(&format!("note: {note}\n")));
    for out in &report.left_out {
        text.push_str(&format!("left out: N = {}, X = {}: {}\n", number(out.n), number(out.x), out.because));
    }
    text.push_str(&intervals(report));
    text.push_str(&influence(report));
    text.push_str(&residuals(report));
    text.push_str(&residence(&fitted.residence));
    text
}

fn table(report: &FitReport) -> String {
    let mut text = format!(
        "{:<8} {:>12} {:>20} {:>20} {:>8} {:>10} {:>8} {:>8}\n",
        "law", "lambda", "sigma", "kappa", "N*", "X*", "AICc", "R^2"
    );
    let rows = [("usl", &report.fits.usl), ("amdahl", &report.fits.amdahl), ("linear", &report.fits.linear)];
    for (name, fit) in rows {
        let Some(fit) = fit else {
            text.push_str(&format!("{name:<8} too few points at different N\n"));
            continue;
        };
        text.push_str(&row(name, fit));
    }
    text + "\n"
}

fn row(name: &str, fit: &Fit) -> String {
    let error =
        |of: fn(&durward_lab::fit::StandardErrors) -> Option<f64>| fit.standard_errors.as_ref().and_then(of);
    let with = |value: f64, error: Option<f64>| match error {
        Some(error) => format!("{} +-{}", number(value), number(error)),
        None => number(value),
    };
    let maybe = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let r_squared = fit.r_squared.map_or_else(|| "-".to_owned(), |part| format!("{part:.4}"));
    format!(
        "{name:<8} {:>12} {:>20} {:>20} {:>8} {:>10} {:>8} {r_squared:>8}\n",
        number(fit.law.lambda),
        with(fit.law.sigma, error(|errors| errors.sigma)),
        with(fit.law.kappa, error(|errors| errors.kappa)),
        maybe(fit.n_star),
        maybe(fit.x_star),
        maybe(fit.aicc),
    )
}

fn intervals(report: &FitReport) -> String {
    let Some(method) = &report.bootstrap.method else { return String::new() };
    let ends = |ends: Option<[f64; 2]>| {
        ends.map_or_else(String::new, |[low, high]| format!("{} to {}", number(low), number(high)))
    };
    let end = |end: Option<f64>| end.map_or_else(|| "none".to_owned(), number);
    let peak = report
        .bootstrap
        .n_star
        .map_or_else(String::new, |[low, high]| format!("{} to {}", end(low), end(high)));
    format!(
        "95 % of {} resamples ({method}, seed {}): lambda {}, sigma {}, kappa {}, N* {peak}\n",
        report.bootstrap.resamples,
        report.bootstrap.seed,
        ends(report.bootstrap.lambda),
        ends(report.bootstrap.sigma),
        ends(report.bootstrap.kappa),
    )
}

fn influence(report: &FitReport) -> String {
    let Some(most) = report.leave_one_out.first() else { return String::new() };
    let peak = most.n_star.map_or_else(|| "no peak".to_owned(), |peak| format!("N* {}", number(peak)));
    format!(
        "most influential: N = {}; without it sigma {}, kappa {}, {peak}, and the curve moves by {} %\n",
        number(most.n),
        number(most.law.sigma),
        number(most.law.kappa),
        number(most.moves_percent)
    )
}

/// Each residual as a bar to the left or right of the law.
fn residuals(report: &FitReport) -> String {
    let Some(fit) = report.fits.usl.as_ref().filter(|fit| fit.residuals.len() <= ROWS_MAX) else {
        return String::new();
    };
    let greatest = fit.residuals.iter().map(|one| one.abs()).fold(0.0, f64::max);
    let mut text = format!(
        "\n{:>10} {:>12} {:>12}  residuals of the usl, {} sign runs\n",
        report.n_is.noun(),
        "X",
        "fitted",
        fit.sign_runs
    );
    for (point, residual) in report.points.iter().zip(&fit.residuals) {
        let part = if greatest > 0.0 { residual.abs() / greatest } else { 0.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "0 to 20"
        )]
        let bar = "#".repeat((part * PICTURE_HALF as f64).round() as usize);
        let (left, right) = if *residual < 0.0 { (bar, String::new()) } else { (String::new(), bar) };
        let line = format!(
            "{:>10} {:>12} {:>12}  {left:>PICTURE_HALF$}|{right}",
            number(point.n),
            number(point.x),
            number(point.x - residual)
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Residence times of a record, and Little's law.
fn residence(of: &[Residence]) -> String {
    if of.is_empty() || of.len() > ROWS_MAX {
        return String::new();
    }
    let mut text = format!(
        "\n{:>6} {:>10} {:>10} {:>10} {:>10} {:>8}  residence times since due, in ms: p50 / p90 / p99\n",
        "nodes", "load", "X", "R ms", "X times R", "of users"
    );
    for load in of {
        let little = load.little.map_or_else(|| "-".to_owned(), |part| format!("{:.0} %", part * 100.0));
        let steps: Vec<String> = load
            .steps
            .iter()
            .map(|step| {
                let [p50, p90, p99] =
                    [step.p50_s, step.p90_s, step.p99_s].map(|seconds| number(seconds * 1e3));
                format!("{} {p50} / {p90} / {p99}", step.name)
            })
            .collect();
        text.push_str(&format!(
            "{:>6} {:>10} {:>10} {:>10} {:>10} {little:>8}  {}\n",
            load.nodes,
            number(load.load),
            number(load.throughput),
            number(load.mean_s * 1e3),
            number(load.under_way),
            steps.join(", ")
        ));
    }
    text
}

//! The verdict, in words, and how figures are written in it.

use super::{Fit, FitReport};

/// A figure as people read it: three to four digits, thousands apart.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-3) {
        return format!("{value:.2e}");
    }
    let decimals = match size {
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ if size >= 0.1 => 3,
        _ if size >= 0.01 => 4,
        _ => 5,
    };
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let rest = rest.trim_end_matches('0');
    let point = if rest.is_empty() { "" } else { "." };
    format!("{}{point}{rest}", grouped(whole))
}

/// A whole number with its thousands apart.
fn grouped(whole: &str) -> String {
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share of a hundred.
pub(super) fn percent(value: f64) -> String {
    format!("{} %", number(if value >= 10.0 { value.round() } else { value }))
}

/// `83 to 127`, `67 to none`, `no peak`.
pub(super) fn interval([low, high]: [Option<f64>; 2]) -> String {
    let end = |end: Option<f64>| end.map_or_else(|| "none".to_owned(), number);
    if low.is_none() && high.is_none() { "none".to_owned() } else { format!("{} to {}", end(low), end(high)) }
}

/// `a, b and c`.
pub(super) fn listed(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// A law's name.
pub(super) fn law(name: &str) -> &str {
    match name {
        "amdahl" => "Amdahl's law",
        "linear" => "a straight line",
        _ => "the USL",
    }
}

/// A ceiling further than this many times above what was measured is not named.
const CEILING_FACTOR_MAX: f64 = 2.0;

/// How far it scales.
pub(super) fn verdict(report: &FitReport) -> String {
    let Some(usl) = &report.fits.usl else {
        let because: Vec<&str> = report.reasons.values().map(String::as_str).collect();
        return format!("Nothing can be said of how far it scales: {}.", because.join("; "));
    };
    let said =
        if usl.law.n_star().is_none() && usl.law.kappa > 0.0 { falls(report) } else { shape(report, usl) };
    let half = half(report).unwrap_or_default();
    if report.refused.is_empty() {
        return format!("{said}{half}");
    }
    let first = report.refused.iter().filter_map(|refusal| report.reasons.get(refusal)).cloned();
    format!(
        "Refused: {}. What the fit says, and nothing should be staked on it: {said}",
        first.collect::<Vec<_>>().join("; ")
    )
}

fn range(report: &FitReport) -> (f64, f64) {
    let n = |one: Option<&super::Observation>| one.map_or(0.0, |one| one.n);
    (n(report.points.first()), n(report.points.last()))
}

fn shape(report: &FitReport, usl: &Fit) -> String {
    let (first, last) = range(report);
    match (usl.n_star, usl.x_star) {
        (Some(peak), Some(x)) if peak < first => {
            format!(
                "Throughput falls from the first point on (N = {}): the peak, {}, would lie at N = {}.",
                number(first),
                number(x),
                number(peak)
            )
        }
        (Some(peak), Some(x)) => with_peak(report, usl, peak, x, last),
        _ => without_peak(report, usl, last),
    }
}

fn falls(report: &FitReport) -> String {
    let (first, _) = range(report);
    format!(
        "Throughput falls from the first point on (N = {}): more of it never brings anything.",
        number(first)
    )
}

fn with_peak(report: &FitReport, usl: &Fit, peak: f64, x: f64, last: f64) -> String {
    let sure = report.bootstrap.n_star.map_or_else(
        || "with no interval, for too few points".to_owned(),
        |ends| format!("{} in 95 % of resamples", interval(ends)),
    );
    let sure_x =
        usl.x_star_se.map_or_else(String::new, |error| format!(", standard error {}", number(error)));
    let place = if peak <= last {
        format!("inside the measured range, which ends at {}", number(last))
    } else {
        format!("beyond the last point at {}", number(last))
    };
    let without = report.bootstrap.without_peak_percent.filter(|part| *part > 0.0);
    let without =
        without.map_or_else(String::new, |part| format!(" {} of resamples have no peak.", percent(part)));
    format!("Throughput peaks at N = {} ({sure}) with {}{sure_x}, {place}.{without}", number(peak), number(x))
}

fn without_peak(report: &FitReport, usl: &Fit, last: f64) -> String {
    let with = report.bootstrap.without_peak_percent.map(|part| 100.0 - part).filter(|part| *part > 0.0);
    let from = report.bootstrap.n_star.and_then(|[low, _]| low);
    let resamples = match (with, from) {
        (Some(part), Some(from)) => {
            format!(" {} of resamples have one, from N = {} on.", percent(part), number(from))
        }
        (Some(part), None) => format!(" {} of resamples have one.", percent(part)),
        (None, _) => String::new(),
    };
    let greatest = report.points.iter().map(|one| one.x).fold(0.0, f64::max);
    let efficiency = usl.law.x(last) / (usl.law.lambda * last);
    let ceiling = match usl.asymptote {
        Some(ceiling) if ceiling <= greatest * CEILING_FACTOR_MAX => {
            format!(" The ceiling is {}.", number(ceiling))
        }
        _ if efficiency >= 0.9 => {
            " Linear as far as was measured: how far beyond, the points do not say.".to_owned()
        }
        _ => " A ceiling lies too far above what was measured to be named.".to_owned(),
    };
    format!("No peak in the data, which end at N = {}.{resamples}{ceiling}", number(last))
}

fn half(report: &FitReport) -> Option<String> {
    let (_, last) = range(report);
    let n = report.half_gain.filter(|n| *n <= last)?;
    Some(if n <= 1.0 {
        " Already the second brings less than half of what the first brought.".to_owned()
    } else {
        format!(" From N = {} on, one more brings less than half of what the first brought.", number(n))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_or_four_digits() {
        let written: Vec<String> = [0.0, 1_884.2, 1e6, 96.52, 0.0277, 1e-5, -0.0216, 24.0, 100.0, 2e20]
            .into_iter()
            .map(number)
            .collect();
        assert_eq!(
            written,
            ["0", "1,884", "1,000,000", "96.5", "0.0277", "1.00e-5", "-0.0216", "24", "100", "2.00e20"]
        );
    }

    #[test]
    fn an_end_without_a_peak_is_none() {
        assert_eq!(interval([Some(67.4), None]), "67.4 to none");
        assert_eq!(interval([None, None]), "none");
        assert_eq!(listed(["a", "b", "c"].into_iter().map(str::to_owned)), "a, b and c");
    }
}

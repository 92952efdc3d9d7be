//! Whether a run kept its thresholds: at every point, so the worst of them counts.

use crate::record::{Latency, Point, StepResult, ThresholdResult};
use crate::scenario::{Bound, Limit, Metric, Thresholds};

/// Every threshold, with the worst that was measured. A run without a point keeps none. What a search tried is beyond them at times:
/// it is not held to them.
pub(super) fn of_run(thresholds: &Thresholds, points: &[Point]) -> Vec<ThresholdResult> {
    let points: Vec<Point> = points.iter().filter(|point| !point.is_try).cloned().collect();
    held(thresholds, &points)
}

/// Every threshold, with the worst of these points.
pub(super) fn held(thresholds: &Thresholds, points: &[Point]) -> Vec<ThresholdResult> {
    let all = thresholds.all.iter().map(|bound| one(bound, None, points));
    let steps =
        thresholds.steps.iter().flat_map(|(name, bounds)| bounds.iter().map(move |bound| (name, bound)));
    all.chain(steps.map(|(name, bound)| one(bound, Some(name), points))).collect()
}

fn one(bound: &Bound, step: Option<&str>, points: &[Point]) -> ThresholdResult {
    let values = points.iter().filter_map(|point| value(bound.metric, step, point));
    let worst = match bound.limit {
        Limit::AtLeast(_) => values.min_by(f64::total_cmp),
        Limit::Within(_) | Limit::AtMost(_) => values.max_by(f64::total_cmp),
    };
    let is_kept = worst.is_some_and(|worst| match bound.limit {
        Limit::Within(time) => worst <= time.0.as_secs_f64(),
        Limit::AtMost(share) => worst <= share,
        Limit::AtLeast(rate) => worst >= rate,
    });
    let measured = match (worst, bound.limit) {
        (None, _) => "nothing".to_owned(),
        (Some(seconds), Limit::Within(_)) => format!("{:.3}ms", seconds * 1e3),
        (Some(share), Limit::AtMost(_)) => format!("{:.3}%", share * 100.0),
        (Some(rate), Limit::AtLeast(_)) => format!("{rate:.1}/s"),
    };
    let name = step.map(|step| format!("{step}: ")).unwrap_or_default();
    ThresholdResult { threshold: format!("{name}{bound}"), measured, is_kept }
}

/// Seconds, a share or a rate; `None` of latencies where nothing was answered.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn value(metric: Metric, step: Option<&str>, point: &Point) -> Option<f64> {
    let steps: Vec<&StepResult> =
        point.steps.iter().filter(|one| step.is_none_or(|step| step == one.name)).collect();
    let answered: u64 = steps.iter().map(|step| step.answered).sum();
    let failed: u64 = steps.iter().map(|step| step.failed.values().sum::<u64>() + step.not_sent).sum();
    let latency = || Latency::merged(steps.iter().map(|step| &step.since_due));
    match metric {
        Metric::Percentile(_) | Metric::Max if answered == 0 => None,
        Metric::Percentile(percent) => Some(latency().percentile_ns(percent) as f64 / 1e9),
        Metric::Max => Some(latency().max_ns() as f64 / 1e9),
        Metric::Errors => Some(failed as f64 / (answered + failed).max(1) as f64),
        Metric::Rate => Some(answered as f64 / point.measured_s.max(f64::MIN_POSITIVE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Time;
    use std::time::Duration;

    fn point(ms: u64, answered: u64, not_sent: u64) -> Point {
        let mut step = StepResult { name: "login".into(), answered, not_sent, ..StepResult::default() };
        step.since_due.record_many(ms * 1_000_000, answered);
        Point { measured_s: 2.0, steps: vec![step], ..Point::default() }
    }

    #[test]
    fn the_worst_point_counts() {
        let ms = |ms| Limit::Within(Time(Duration::from_millis(ms)));
        let all = vec![
            Bound { metric: Metric::Percentile(99.0), limit: ms(50) },
            Bound { metric: Metric::Errors, limit: Limit::AtMost(0.01) },
            Bound { metric: Metric::Rate, limit: Limit::AtLeast(45.0) },
        ];
        let steps = [("login".to_owned(), vec![Bound { metric: Metric::Max, limit: ms(59) }])].into();
        let thresholds = Thresholds { all, steps };
        let held = held(&thresholds, &[point(40, 100, 1), point(60, 90, 0)]);
        let kept: Vec<bool> = held.iter().map(|one| one.is_kept).collect();
        assert_eq!(kept, [false, true, true, false]);
        assert_eq!((held[1].threshold.as_str(), held[1].measured.as_str()), ("errors <= 1%", "0.990%"));
        assert_eq!(held[2].measured, "45.0/s");
        assert!(held[3].threshold.starts_with("login: max"));
    }

    #[test]
    fn nothing_measured_keeps_nothing() {
        let all = vec![Bound { metric: Metric::Rate, limit: Limit::AtLeast(0.0) }];
        let held = held(&Thresholds { all, ..Thresholds::default() }, &[]);
        assert_eq!((held[0].is_kept, held[0].measured.as_str()), (false, "nothing"));
    }
}

//! Whether a run kept its thresholds: at every point, so the worst of them counts.

use crate::record::{LatencyRecord, MeasuredPoint, StepResult, ThresholdResult};
use crate::scenario::{ThresholdBound, ThresholdLimit, ThresholdMetric, Thresholds};

/// Every threshold, with the worst that was measured. A run without a point keeps none. What a search tried is beyond them at times:
/// it is not held to them.
pub(super) fn of_run(thresholds: &Thresholds, points: &[MeasuredPoint]) -> Vec<ThresholdResult> {
    let points: Vec<MeasuredPoint> = points.iter().filter(|point| !point.is_try).cloned().collect();
    held(thresholds, &points)
}

/// Every threshold, with the worst of these points.
pub(super) fn held(thresholds: &Thresholds, points: &[MeasuredPoint]) -> Vec<ThresholdResult> {
    let all = thresholds.all.iter().map(|bound| one(bound, None, points));
    let steps =
        thresholds.steps.iter().flat_map(|(name, bounds)| bounds.iter().map(move |bound| (name, bound)));
    all.chain(steps.map(|(name, bound)| one(bound, Some(name), points))).collect()
}

fn one(bound: &ThresholdBound, step: Option<&str>, points: &[MeasuredPoint]) -> ThresholdResult {
    let values = points.iter().filter_map(|point| value(bound.metric, step, point));
    let worst = match bound.limit {
        ThresholdLimit::AtLeast(_) => values.min_by(f64::total_cmp),
        ThresholdLimit::Within(_) | ThresholdLimit::AtMost(_) => values.max_by(f64::total_cmp),
    };
    let is_kept = worst.is_some_and(|worst| match bound.limit {
        ThresholdLimit::Within(time) => worst <= time.0.as_secs_f64(),
        ThresholdLimit::AtMost(share) => worst <= share,
        ThresholdLimit::AtLeast(rate) => worst >= rate,
    });
    let measured = match (worst, bound.limit) {
        (None, _) => "nothing".to_owned(),
        (Some(seconds), ThresholdLimit::Within(_)) => format!("{:.3}ms", seconds * 1e3),
        (Some(share), ThresholdLimit::AtMost(_)) => format!("{:.3}%", share * 100.0),
        (Some(rate), ThresholdLimit::AtLeast(_)) => format!("{rate:.1}/s"),
    };
    let name = step.map(|step| format!("{step}: ")).unwrap_or_default();
    ThresholdResult { threshold: format!("{name}{bound}"), measured, is_kept }
}

/// Seconds, a share or a rate; `None` of latencies where nothing was answered.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn value(metric: ThresholdMetric, step: Option<&str>, point: &MeasuredPoint) -> Option<f64> {
    let steps: Vec<&StepResult> =
        point.steps.iter().filter(|one| step.is_none_or(|step| step == one.name)).collect();
    let answered: u64 = steps.iter().map(|step| step.answered).sum();
    let failed: u64 = steps.iter().map(|step| step.failed.values().sum::<u64>() + step.not_sent).sum();
    let latency = || LatencyRecord::merged(steps.iter().map(|step| &step.since_due));
    match metric {
        ThresholdMetric::Percentile(_) | ThresholdMetric::Max if answered == 0 => None,
        ThresholdMetric::Percentile(percent) => Some(latency().percentile_ns(percent) as f64 / 1e9),
        ThresholdMetric::Max => Some(latency().max_ns() as f64 / 1e9),
        ThresholdMetric::Errors => Some(failed as f64 / (answered + failed).max(1) as f64),
        ThresholdMetric::Rate => Some(answered as f64 / point.measured_s.max(f64::MIN_POSITIVE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::DurationValue;
    use std::time::Duration;

    fn point(ms: u64, answered: u64, not_sent: u64) -> MeasuredPoint {
        let mut step = StepResult { name: "login".into(), answered, not_sent, ..StepResult::default() };
        step.since_due.record_many(ms * 1_000_000, answered);
        MeasuredPoint { measured_s: 2.0, steps: vec![step], ..MeasuredPoint::default() }
    }

    #[test]
    fn the_worst_point_counts() {
        let ms = |ms| ThresholdLimit::Within(DurationValue(Duration::from_millis(ms)));
        let all = vec![
            ThresholdBound { metric: ThresholdMetric::Percentile(99.0), limit: ms(50) },
            ThresholdBound { metric: ThresholdMetric::Errors, limit: ThresholdLimit::AtMost(0.01) },
            ThresholdBound { metric: ThresholdMetric::Rate, limit: ThresholdLimit::AtLeast(45.0) },
        ];
        let steps =
            [("login".to_owned(), vec![ThresholdBound { metric: ThresholdMetric::Max, limit: ms(59) }])]
                .into();
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
        let all = vec![ThresholdBound { metric: ThresholdMetric::Rate, limit: ThresholdLimit::AtLeast(0.0) }];
        let held = held(&Thresholds { all, ..Thresholds::default() }, &[]);
        assert_eq!((held[0].is_kept, held[0].measured.as_str()), (false, "nothing"));
    }
}

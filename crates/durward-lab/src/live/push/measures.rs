//! Which series there are, and what a run's seconds and points are in them. The list is in `docs/lab-live.md`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{SeriesValue, ValueKind};
use crate::record::{LatencyRecord, MeasuredPoint, PointLoad};
use crate::run::{RunPosition, RunSecond};

/// Percentiles by the label `quantile`.
const QUANTILES: [(&str, f64); 4] = [("0.5", 50.0), ("0.9", 90.0), ("0.99", 99.0), ("0.999", 99.9)];

/// What was counted since the point began.
#[derive(Clone, Debug, Default)]
pub(super) struct PointCounters {
    counted: BTreeMap<(&'static str, &'static str, String), u64>,
    /// All batches that there were, dropped ones too; all clones count together.
    batches: Arc<AtomicU64>,
}

impl PointCounters {
    pub(super) fn count_batch(&self) {
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    /// A point begins: what it is, and counters at 0, so that their first rise is seen.
    pub(super) fn begin(&mut self, place: &RunPosition) -> Vec<SeriesValue> {
        self.counted.clear();
        let (kind, size) = match place.load {
            #[expect(clippy::cast_precision_loss, reason = "no more than a million users")]
            PointLoad::Users(users) => ("users", users as f64),
            PointLoad::Arrivals(rate) => ("arrivals_per_second", rate),
        };
        let what = vec![
            ("configuration", place.configuration.clone()),
            ("kind", kind.to_owned()),
            ("nodes", place.nodes.to_string()),
            ("replicate", place.replicate.to_string()),
        ];
        vec![gauge(place, "durward_lab_load", what, size)]
    }

    /// A second has passed.
    pub(super) fn second(&mut self, place: &RunPosition, moment: &RunSecond) -> Vec<SeriesValue> {
        let mut all = Vec::new();
        for step in &moment.steps {
            self.count(&mut all, place, "durward_lab_answers_total", "step", &step.name, step.answered);
            self.count(&mut all, place, "durward_lab_failures_total", "step", &step.name, step.failed);
        }
        for (cause, count) in &moment.causes {
            self.count(&mut all, place, "durward_lab_failures_by_cause_total", "cause", cause, *count);
        }
        for node in &moment.nodes {
            self.count(&mut all, place, "durward_lab_node_answers_total", "node", &node.name, node.answered);
            self.count(&mut all, place, "durward_lab_node_failures_total", "node", &node.name, node.failed);
            if let Some(used) = node.used {
                let label = || vec![("node", node.name.clone())];
                all.push(gauge(place, "durward_lab_node_cpu_cores", label(), used.cpus));
                all.push(gauge(place, "durward_lab_node_memory_bytes", label(), float(used.memory_bytes)));
            }
        }
        all.extend(quantiles(place, "durward_lab_latency_seconds", &[], &moment.since_due));
        all.push(gauge(place, "durward_lab_generator_busy_ratio", Vec::new(), moment.generator_busy));
        let is_measured = if moment.second.at_s < -0.001 { 0.0 } else { 1.0 };
        all.push(gauge(place, "durward_lab_measuring", Vec::new(), is_measured));
        all
    }

    fn count(
        &mut self,
        all: &mut Vec<SeriesValue>,
        place: &RunPosition,
        name: &'static str,
        label: &'static str,
        value: &str,
        more: u64,
    ) {
        let counted = self.counted.entry((name, label, value.to_owned())).or_default();
        *counted += more;
        let labels = labels(place, vec![(label, value.to_owned())]);
        all.push(SeriesValue { name, kind: ValueKind::Counter, labels, value: float(*counted) });
    }
}

/// What was measured at a point, without its warm-up.
pub(super) fn of_point(place: &RunPosition, point: &MeasuredPoint) -> Vec<SeriesValue> {
    let mut all = Vec::new();
    for step in &point.steps {
        let label = [("step", step.name.clone())];
        let rate = if point.measured_s > 0.0 { float(step.answered) / point.measured_s } else { 0.0 };
        all.push(gauge(place, "durward_lab_point_answers_per_second", label.to_vec(), rate));
        all.extend(quantiles(place, "durward_lab_point_latency_seconds", &label, &step.since_due));
    }
    all.push(gauge(place, "durward_lab_point_error_ratio", Vec::new(), point.error_share()));
    let is_fitted = if point.is_fitted() { 1.0 } else { 0.0 };
    all.push(gauge(place, "durward_lab_point_believed", Vec::new(), is_fitted));
    all
}

/// None of no answers: a wait of 0 would be a lie.
fn quantiles(
    place: &RunPosition,
    name: &'static str,
    more: &[(&'static str, String)],
    latency: &LatencyRecord,
) -> Vec<SeriesValue> {
    if latency.count() == 0 {
        return Vec::new();
    }
    let one = |(quantile, percent): (&str, f64)| {
        let mut labels = more.to_vec();
        labels.push(("quantile", quantile.to_owned()));
        gauge(place, name, labels, float(latency.percentile_ns(percent)) / 1e9)
    };
    QUANTILES.map(one).to_vec()
}

fn gauge(
    place: &RunPosition,
    name: &'static str,
    more: Vec<(&'static str, String)>,
    value: f64,
) -> SeriesValue {
    SeriesValue { name, kind: ValueKind::Gauge, labels: labels(place, more), value }
}

/// With the point's, by their names. One without a value is left out, as series have it.
fn labels(place: &RunPosition, mut labels: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    labels.push(("point", place.number.to_string()));
    labels.retain(|(_, value)| !value.is_empty());
    labels.sort();
    labels
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn float(number: u64) -> f64 {
    number as f64
}

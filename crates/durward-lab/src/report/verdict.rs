//! The verdict: how far, why, at what cost, and how far to believe it. In words, before every picture.

use super::machine;
use super::select::{self, load_in_words, point_in_words};
use crate::draw::{count, percent, time};
use crate::fit;
use crate::record::{RunRecord, SearchResult, nodes_in_words};

/// The sentences of the verdict.
#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
pub(super) fn sentences(record: &RunRecord, fits: &[(String, fit::FitReport)]) -> Vec<String> {
    let Some(best) = select::best(record) else { return vec!["Nothing was measured.".to_owned()] };
    if best.answered() == 0 {
        return vec![
            "No request had a right answer: there is nothing to say of how far the target scales.".to_owned(),
        ];
    }
    let latency = best.since_due();
    let mut said: Vec<String> = record.searches.iter().map(search_in_words).collect();
    said.push(format!(
        "How far: at most {} requests/s were answered right, at {}; half of them within {}, 99 of 100 within {}, and {} of the \
         requests failed.",
        count(best.throughput()),
        point_in_words(best),
        time(latency.percentile_ns(50.0) as f64),
        time(latency.percentile_ns(99.0) as f64),
        percent(best.error_share())
    ));
    for (label, report) in fits.iter().filter(|(_, report)| !report.verdict.is_empty()) {
        said.push(match label.as_str() {
            "" => format!("Law: {}", report.verdict),
            label => format!("Law of {}: {}", crate::draw::shortened(label, 60), report.verdict),
        });
    }
    said.push(machine::bottleneck(record, best));
    said.push(machine::cost_in_words(best));
    said.push(machine::generator_in_words(record, best));
    said
}

/// What a search found, by its configuration and nodes.
fn search_in_words(search: &SearchResult) -> String {
    let nodes = nodes_in_words(search.nodes);
    match search.configuration.as_str() {
        "" => format!("The limit of {nodes}: {}", search.verdict),
        label => format!("The limit of {nodes}, {label}: {}", search.verdict),
    }
}

/// What makes the numbers doubtful.
pub(super) fn warnings(record: &RunRecord) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(why) = &record.cut_short {
        said.push(format!("This run was cut short: {why}. What was measured until then is below."));
    }
    let left_out: Vec<_> = record.points.iter().filter(|point| !point.is_fitted()).collect();
    if let Some(first) = left_out.first() {
        let marks: Vec<String> = first.marks.iter().map(ToString::to_string).collect();
        said.push(format!(
            "{} of {} points are drawn hollow and left out of fits; the first is at {}: {}.",
            left_out.len(),
            record.points.len(),
            load_in_words(first.load),
            marks.join("; ")
        ));
    }
    for target in &record.about.targets {
        said.extend(target.limits_missing.iter().map(|limit| format!("A limit is not in force: {limit}.")));
    }
    let broken: Vec<&str> = record
        .thresholds
        .iter()
        .filter(|threshold| !threshold.is_kept)
        .map(|threshold| threshold.threshold.as_str())
        .collect();
    if !broken.is_empty() {
        said.push(format!("Thresholds that were not kept: {}.", broken.join(", ")));
    }
    said.extend(record.notes.iter().cloned());
    said
}

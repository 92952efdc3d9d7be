//! The data of a report, for other programs: CSV, JSON, and histograms as interval logs of HdrHistogram.

use std::fmt::Write;

use super::select::load_of;
use crate::fit;
use crate::record::{LatencyRecord, MeasuredPoint, PointLoad, RunRecord};

const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// Files of one record: the name and text of each.
pub(super) fn files(
    record: &RunRecord,
    fits: &[(String, fit::FitReport)],
    prefix: &str,
) -> Vec<(String, String)> {
    let fits: Vec<_> =
        fits.iter().map(|(curve, fit)| serde_json::json!({ "curve": curve, "fit": fit })).collect();
    let mut files = vec![
        (format!("{prefix}points.csv"), points(record)),
        (format!("{prefix}nodes.csv"), nodes(record)),
        (format!("{prefix}seconds.csv"), seconds(record)),
        (format!("{prefix}samples.csv"), samples(record)),
        (format!("{prefix}fits.json"), format!("{:#}\n", serde_json::Value::Array(fits))),
        (format!("{prefix}histograms.hlog"), histograms(record)),
    ];
    // A number that JSON cannot say leaves the record out, not the report.
    files.extend(record.to_json().ok().map(|json| (format!("{prefix}record.json"), json)));
    files
}

/// A cell as RFC 4180 has it. One that a spreadsheet would take for a formula begins with an apostrophe.
fn cell(text: &str) -> String {
    let guarded =
        if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if guarded.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

/// What tells a point: the first columns of every table.
const KEY: &str = "point,configuration,nodes,load_is,load,replicate";

fn key(number: usize, point: &MeasuredPoint) -> String {
    let kind = match point.load {
        PointLoad::Users(_) => "users",
        PointLoad::Arrivals(_) => "arrivals_per_s",
    };
    format!(
        "{number},{},{},{kind},{},{}",
        cell(&point.configuration),
        point.nodes,
        load_of(point),
        point.replicate
    )
}

fn points(record: &RunRecord) -> String {
    let mut text = format!(
        "{KEY},step,measured_s,answered,failed,not_sent,per_s,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,mean_ns,uncorrected_p50_ns,\
         uncorrected_p90_ns,uncorrected_p99_ns,uncorrected_p999_ns,uncorrected_max_ns,fitted,marks\n"
    );
    for (number, point) in (1..).zip(&record.points) {
        let marks: Vec<String> = point.marks.iter().map(ToString::to_string).collect();
        for step in &point.steps {
            let failed: u64 = step.failed.values().sum();
            #[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
            let rate = if point.measured_s > 0.0 { step.answered as f64 / point.measured_s } else { 0.0 };
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                text,
                "{},{},{},{},{failed},{},{rate},{},{},{},{},{}",
                key(number, point),
                cell(&step.name),
                point.measured_s,
                step.answered,
                step.not_sent,
                percentiles(&step.since_due),
                step.since_due.mean_ns(),
                percentiles(&step.since_sent),
                point.is_fitted(),
                cell(&marks.join("; "))
            );
        }
    }
    text
}

fn percentiles(latency: &LatencyRecord) -> String {
    PERCENTILES.map(|percent| latency.percentile_ns(percent).to_string()).join(",")
}

fn nodes(record: &RunRecord) -> String {
    let mut text = format!(
        "{KEY},node,answered,failed,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,cpu_s,cores,throttled_s,throttled_periods,periods,\
         memory_bytes,memory_peak_bytes,memory_max_bytes,source\n"
    );
    for (number, point) in (1..).zip(&record.points) {
        for node in &point.by_node {
            let used = node.used.as_ref().map_or_else(
                || ",,,,,,,,".to_owned(),
                |used| {
                    format!(
                        "{},{},{},{},{},{},{},{},{}",
                        used.cpu_s,
                        used.cores,
                        used.throttled_s,
                        used.throttled_periods,
                        used.periods,
                        used.memory_bytes,
                        used.memory_peak_bytes,
                        used.memory_max_bytes.map(|max| max.to_string()).unwrap_or_default(),
                        cell(&used.source)
                    )
                },
            );
            let (name, times) = (cell(&node.name), percentiles(&node.since_due));
            let _ = writeln!(
                text,
                "{},{name},{},{},{times},{used}",
                key(number, point),
                node.answered,
                node.failed
            );
        }
    }
    text
}

fn seconds(record: &RunRecord) -> String {
    let mut text = format!("{KEY},at_s,answered,failed,p50_ns,p99_ns\n");
    for (number, point) in (1..).zip(&record.points) {
        for second in &point.seconds {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{}",
                key(number, point),
                second.at_s,
                second.answered,
                second.failed,
                second.p50_ns,
                second.p99_ns
            );
        }
    }
    text
}

fn samples(record: &RunRecord) -> String {
    let mut text = format!("{KEY},node,at_s,cores_in_use,memory_bytes,throttled\n");
    for (number, point) in (1..).zip(&record.points) {
        for node in &point.by_node {
            for sample in node.used.iter().flat_map(|used| &used.samples) {
                let _ = writeln!(
                    text,
                    "{},{},{},{},{},{}",
                    key(number, point),
                    cell(&node.name),
                    sample.at_s,
                    sample.cpus,
                    sample.memory_bytes,
                    sample.throttled
                );
            }
        }
    }
    text
}

/// An interval log, version 1.3: one line for each point and step, with the time since requests were due, and one with the time
/// since they were sent. Values are nanoseconds, the greatest is in milliseconds, as the format has it.
fn histograms(record: &RunRecord) -> String {
    let first =
        record.points.iter().map(|point| point.started_unix_ms).min().unwrap_or(record.about.started_unix_ms);
    let mut text = format!(
        "#[Histogram log format version 1.3]\n#[StartTime: {:.3} (seconds since epoch)]\n",
        first as f64 / 1e3
    );
    text.push_str(
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
    );
    for (number, point) in (1..).zip(&record.points) {
        for step in &point.steps {
            for (latency, since) in [(&step.since_due, "due"), (&step.since_sent, "sent")] {
                let Some(base64) = base64(latency) else { continue };
                let _ = writeln!(
                    text,
                    "Tag={number}.{}.{since},{:.3},{:.3},{:.3},{base64}",
                    tag(&step.name),
                    point.started_unix_ms.saturating_sub(first) as f64 / 1e3,
                    point.measured_s,
                    latency.max_ns() as f64 / 1e6
                );
            }
        }
    }
    text
}

/// The histogram as records have it; `None` of an empty one.
fn base64(latency: &LatencyRecord) -> Option<String> {
    let text = serde_json::to_value(latency).ok()?.as_str()?.to_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// A tag has no comma and no space.
fn tag(name: &str) -> String {
    name.chars()
        .take(80)
        .map(|it| if it.is_ascii_alphanumeric() || "-_./".contains(it) { it } else { '_' })
        .collect()
}

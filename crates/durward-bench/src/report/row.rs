//! The measurements a report is made of, as `durward bench embedded --json` prints them; and records of the lab.

use durward_lab::record::{RecordError, RunRecord};
use serde_json::Value as Json;

use super::other::OtherMeasurement;

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MeasurementRow {
    pub(super) scenario: String,
    pub(super) language: String,
    pub(super) index: String,
    pub(super) mode: String,
    pub(super) threads: u64,
    pub(super) policies: f64,
    pub(super) decisions_per_s: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) interval_percent: Option<f64>,
    pub(super) is_converged: bool,
    pub(super) running: Option<f64>,
    pub(super) scaling: Option<f64>,
    /// Percentiles: 50, 99 and 99.9.
    pub(super) latency_ns: [f64; 3],
    pub(super) clock_ns: f64,
    pub(super) build_ms: f64,
    pub(super) bytes_per_policy: Option<f64>,
    pub(super) version: String,
    pub(super) machine: String,
    pub(super) command: String,
}

/// What a file holds.
#[derive(Debug)]
pub(super) enum MeasurementFile {
    Rows(Vec<MeasurementRow>),
    Other(OtherMeasurement),
    Record(Box<RunRecord>),
}

/// Reads an array of rows, or a measurement of another kind.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(text: &str) -> Result<MeasurementFile, String> {
    let json: Json = serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))?;
    if json.get("format").is_some() && json.get("points").is_some() {
        return RunRecord::read(text)
            .map(|record| MeasurementFile::Record(Box::new(record)))
            .map_err(|error: RecordError| error.to_string());
    }
    if let Some(other) = OtherMeasurement::of(&json) {
        return Ok(MeasurementFile::Other(other));
    }
    let rows = json.as_array().ok_or("not an array of measurements")?;
    let rows = (1..).zip(rows).map(|(number, row)| one(row).map_err(|name| missing(number, name)));
    rows.collect::<Result<_, _>>().map(MeasurementFile::Rows)
}

fn missing(number: usize, name: &str) -> String {
    format!("measurement {number} has no `{name}` that could be drawn")
}

fn one(row: &Json) -> Result<MeasurementRow, &'static str> {
    let text = |name: &'static str| row.get(name).and_then(Json::as_str).map(str::to_owned).ok_or(name);
    let some = |name: &str| row.get(name).and_then(Json::as_f64).filter(|number| number.is_finite());
    // The axes are logarithmic: nothing lies at zero.
    let positive = |name: &'static str| some(name).filter(|number| *number > 0.0).ok_or(name);
    let rate = positive("decisions_per_s")?;
    Ok(MeasurementRow {
        scenario: text("scenario")?,
        language: text("language")?,
        index: text("index")?,
        mode: text("mode")?,
        threads: row.get("threads").and_then(Json::as_u64).ok_or("threads")?,
        policies: positive("policies")?,
        decisions_per_s: rate,
        min: some("min").unwrap_or(rate).clamp(rate / 1_000.0, rate),
        max: some("max").unwrap_or(rate).max(rate),
        interval_percent: some("interval_percent"),
        is_converged: row.get("converged").and_then(Json::as_bool).unwrap_or(false),
        running: some("running"),
        scaling: some("scaling"),
        latency_ns: [positive("p50_ns")?, positive("p99_ns")?, positive("p999_ns")?],
        clock_ns: some("clock_ns").unwrap_or(0.0),
        build_ms: some("build_ms").ok_or("build_ms")?,
        bytes_per_policy: some("bytes_per_policy"),
        version: text("version")?,
        machine: machine(row.get("machine").ok_or("machine")?),
        command: text("command")?,
    })
}

fn machine(json: &Json) -> String {
    let text = |name: &str| json.get(name).and_then(Json::as_str);
    let number = |name: &str| json.get(name).and_then(Json::as_f64);
    let mut parts = vec![text("processor").unwrap_or("unknown processor").to_owned()];
    parts.extend(number("cores").map(|cores| format!("{cores} cores")));
    parts.extend(number("memory_bytes").map(|bytes| format!("{:.0} GiB", bytes / f64::from(1 << 30))));
    parts.extend(text("system").map(str::to_owned));
    parts.join(", ")
}

impl MeasurementRow {
    /// The family and size of a scenario: `hospital` and 300 of `hospital-300`.
    pub(super) fn family(&self) -> Option<(&str, u64)> {
        let (family, size) = self.scenario.rsplit_once('-')?;
        Some((family, size.parse().ok()?))
    }
}

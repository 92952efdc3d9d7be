//! Runs scenarios with `durward lab run`, and reads of its record what other commands look at.

use crate::process::shown;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// One point of a record: a load, measured once.
#[derive(Debug, PartialEq)]
pub(crate) struct Point {
    /// What `[vary]` was, such as `page=open`.
    pub(crate) configuration: String,
    /// Answers as the scenario expects them.
    pub(crate) right: u64,
    /// All others, requests that were never sent among them.
    pub(crate) wrong: u64,
    /// By cause, such as `status 500 x 3`.
    pub(crate) causes: Vec<String>,
    pub(crate) seconds: f64,
    /// Processor time of all nodes, in seconds.
    pub(crate) cpu_s: f64,
    /// Bytes in each sample, of all nodes: of the control group with its page cache, or resident.
    pub(crate) memory: Vec<f64>,
    pub(crate) memory_peak: f64,
    /// Who watched: `cgroup v1` and so on.
    pub(crate) source: String,
    /// Processes that the kernel killed for want of memory.
    pub(crate) killed: f64,
}

/// All that a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) points: Vec<Point>,
    /// Why it ended before its time.
    pub(crate) cut_short: Option<String>,
}

/// Runs a scenario; the record goes into `folder`.
///
/// # Errors
/// Nothing could be measured.
pub(crate) fn run(durward: &Path, plan: &Path, folder: &Path, env: &[(&str, &str)]) -> Result<Run, String> {
    let mut command = Command::new(durward);
    command.args(["lab", "run", "--quiet", "--out"]).arg(folder).arg(plan).envs(env.iter().copied());
    command.current_dir(plan.parent().unwrap_or(plan)).stdout(Stdio::null());
    println!("$ {}", shown(&command));
    let output =
        command.output().map_err(|error| format!("cannot start `{}`: {error}", durward.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    // 1: a threshold was missed, or the run was cut short; the record says which.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(said.trim_end().to_owned());
    }
    record(folder)
}

/// What a run has left in its folder.
///
/// # Errors
/// There is no record, or none that is understood.
pub(crate) fn record(folder: &Path) -> Result<Run, String> {
    let path = folder.join("record.json");
    let text = std::fs::read(&path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    let record = serde_json::from_slice(&text).map_err(|error| format!("`{}`: {error}", path.display()))?;
    read(&record).ok_or_else(|| format!("`{}` is not of the documented form", path.display()))
}

fn read(record: &Value) -> Option<Run> {
    let points = record.get("points")?.as_array()?.iter().map(point).collect::<Option<Vec<_>>>()?;
    let cut_short = record.get("cut_short").and_then(Value::as_str).map(str::to_owned);
    Some(Run { points, cut_short })
}

fn point(value: &Value) -> Option<Point> {
    let mut found = Point {
        configuration: value.get("configuration")?.as_str()?.to_owned(),
        right: 0,
        wrong: 0,
        causes: Vec::new(),
        seconds: value.get("measured_s")?.as_f64()?,
        cpu_s: 0.0,
        memory: Vec::new(),
        memory_peak: 0.0,
        source: String::new(),
        killed: 0.0,
    };
    for step in value.get("steps")?.as_array()? {
        let name = step.get("name")?.as_str()?;
        found.right += step.get("answered")?.as_u64()?;
        for (cause, count) in step.get("failed")?.as_object()? {
            found.add(name, cause, count.as_u64()?);
        }
        found.add(name, "never sent", step.get("not_sent")?.as_u64()?);
    }
    for node in value.get("by_node")?.as_array()? {
        // Nothing was seen of a node that ended.
        if let Some(used) = node.get("used") {
            found.take_used(used);
        }
    }
    Some(found)
}

impl Point {
    fn add(&mut self, step: &str, cause: &str, count: u64) {
        if count > 0 {
            self.wrong += count;
            self.causes.push(format!("{step}: {cause} x {count}"));
        }
    }

    fn take_used(&mut self, used: &Value) {
        let number = |value: Option<&Value>| value.and_then(Value::as_f64).unwrap_or(0.0);
        self.cpu_s += number(used.get("cpu_s"));
        self.memory_peak += number(used.get("memory_peak_bytes"));
        self.killed += number(used.get("more").and_then(|more| more.get("oom_kills")));
        self.source = used.get("source").and_then(Value::as_str).unwrap_or_default().to_owned();
        let samples = used.get("samples").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (at, sample) in samples.iter().enumerate() {
            let bytes = number(sample.get("memory_bytes"));
            match self.memory.get_mut(at) {
                Some(sum) => *sum += bytes,
                None => self.memory.push(bytes),
            }
        }
    }

    pub(crate) fn rate(&self) -> f64 {
        self.right as f64 / self.seconds.max(0.001)
    }

    /// Processor time of a right answer, in microseconds. Where others use the machine too, it says more than the rate.
    pub(crate) fn cost_us(&self) -> f64 {
        self.cpu_s * 1e6 / (self.right as f64).max(1.0)
    }

    /// The medians of the first and the last fifth of the samples. What grows shows there, and what comes and goes does not.
    pub(crate) fn memory_first_and_last(&self) -> (f64, f64) {
        let fifth = (self.memory.len() / 5).max(1);
        let first = self.memory.get(..fifth).unwrap_or(&self.memory);
        let last = self.memory.get(self.memory.len().saturating_sub(fifth)..).unwrap_or(&self.memory);
        (median(first), median(last))
    }
}

/// The one in the middle; 0 of none.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Bytes as MiB.
pub(crate) fn mebibytes(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_is_read_with_what_went_wrong() {
        let used = json!({"source": "cgroup v1", "cpu_s": 0.5, "memory_peak_bytes": 30, "more": {"oom_kills": 1.0},
            "samples": [{"memory_bytes": 5}, {"memory_bytes": 9}, {"memory_bytes": 7}]});
        let step = json!({"name": "ask", "answered": 40, "failed": {"status 500": 2}, "not_sent": 1});
        let point = json!({"configuration": "a=1", "measured_s": 4.0, "steps": [step],
            "by_node": [{"used": used}, {}]});
        let run = read(&json!({"points": [point], "cut_short": null})).unwrap();
        let [point] = run.points.as_slice() else { panic!("{run:?}") };
        assert_eq!((point.right, point.wrong, point.rate()), (40, 3, 10.0));
        assert_eq!(point.causes, ["ask: status 500 x 2", "ask: never sent x 1"]);
        assert_eq!((point.memory_peak, point.killed), (30.0, 1.0));
        assert_eq!(point.cost_us(), 12_500.0);
        assert_eq!(point.memory_first_and_last(), (5.0, 7.0));
        assert!(read(&json!({"points": [{}]})).is_none());
    }
}

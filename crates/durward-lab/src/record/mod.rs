//! What a run of the lab measured. `durward lab run` writes a record as one JSON file; fits, plans, reports and comparisons
//! read it. Every percentile is kept as its whole histogram, so that records of several generators merge exactly.
//!
//! ```
//! use durward_lab::record::{LatencyRecord, PointLoad, MeasuredPoint, StepResult};
//!
//! let mut since_due = LatencyRecord::default();
//! since_due.record(1_500_000);
//! let step = StepResult { name: "login".into(), answered: 1, since_due, ..StepResult::default() };
//! let point = MeasuredPoint { load: PointLoad::Users(1), measured_s: 0.5, steps: vec![step], ..MeasuredPoint::default() };
//! assert_eq!(point.throughput(), 2.0);
//! ```

mod latency;
mod page;
mod step;
mod used;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use latency::{LATENCY_NS_MAX, LatencyRecord};
pub(crate) use step::add_all;
pub use step::{NodeResult, StepResult};
pub use used::{AgentUse, GeneratorUse, NodeUse, UsedSample};

/// The version of the format that this lab writes, and the only one that it reads.
pub const FORMAT: u32 = 1;

/// Everything that one run measured, and on what.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`FORMAT`].
    pub format: u32,
    /// What was run.
    pub about: RunInfo,
    /// The machines that made the load: the one that ran the command first, then the agents'.
    pub machines: Vec<MachineInfo>,
    /// What the generator can do at most, measured against a server that does nothing; `None` where that was not measured.
    #[serde(default)]
    pub generator_limit: Option<GeneratorLimit>,
    /// In the order in which they were measured.
    pub points: Vec<MeasuredPoint>,
    /// Why the run ended before its time, in words: a signal, a target that died. `None` where it ran to its end.
    #[serde(default)]
    pub cut_short: Option<String>,
    /// Thresholds of the scenario and whether the run kept them.
    #[serde(default)]
    pub thresholds: Vec<ThresholdResult>,
    /// What searches found: one for each configuration and number of nodes.
    #[serde(default)]
    pub searches: Vec<SearchResult>,
    /// What else a reader has to know: limits that could not be set, figures that could not be read.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What was run: enough to run it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The scenario's name.
    pub name: String,
    /// The version of durward that made the load.
    pub version: String,
    /// The command line, word by word.
    pub command: Vec<String>,
    /// The scenario file as it was read. Secrets are not in it: scenarios name files or environment variables for them.
    pub scenario: String,
    /// When it began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// What every random choice followed from.
    pub seed: u64,
    /// What was measured.
    pub targets: Vec<TargetInfo>,
}

/// One target, which may consist of several nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetInfo {
    /// As the scenario calls it.
    pub name: String,
    /// Addresses, or the command that started its nodes.
    pub started_as: String,
    /// What it says of its version; empty where it says nothing.
    #[serde(default)]
    pub version: String,
    /// Limits that were asked for and are in force, such as `cpus = 0.4 (cgroup v1, cpu.cfs_quota_us)`.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Limits that were asked for and are not in force, with the reason.
    #[serde(default)]
    pub limits_missing: Vec<String>,
}

/// A machine, as far as it tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineInfo {
    /// The agent's name; `local` for the machine that ran the command.
    pub name: String,
    /// The processor's name.
    pub processor: Option<String>,
    /// How many threads can run at once.
    pub cores: usize,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The operating system, its kernel and the architecture.
    pub system: String,
    /// How far this machine's clock is ahead of the first one's, in microseconds.
    #[serde(default)]
    pub clock_ahead_us: i64,
    /// How far that may be wrong, in microseconds: half of the best round trip.
    #[serde(default)]
    pub clock_uncertain_us: u64,
    /// Requests a second that this machine's agent reached against a server that does nothing, where that was measured.
    #[serde(default)]
    pub requests_per_s: Option<f64>,
}

/// What the generator reached against a server that does nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorLimit {
    /// Requests a second.
    pub requests_per_s: f64,
    /// How much of its cores it had then, from 0 to 1.
    pub busy: f64,
    /// How many threads made the load.
    pub threads: usize,
}

/// One measurement: one configuration under one load, once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPoint {
    /// What is the same for all points of one curve: `sticky, 5 % logout`. Empty where there is one curve.
    #[serde(default)]
    pub configuration: String,
    /// How many nodes of the target had load.
    pub nodes: usize,
    /// What was asked of them.
    pub load: PointLoad,
    /// The number, from 0, of this measurement among those of the same configuration and load.
    #[serde(default)]
    pub replicate: u32,
    /// When measuring began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// How long was measured, in seconds: without warm-up, without waiting for the last answers.
    pub measured_s: f64,
    /// How long the warm-up was, in seconds.
    #[serde(default)]
    pub warm_up_s: f64,
    /// What became of the requests, by step.
    pub steps: Vec<StepResult>,
    /// The same by node, with what the node used.
    #[serde(default)]
    pub by_node: Vec<NodeResult>,
    /// How the generator was while it measured.
    #[serde(default)]
    pub generator: GeneratorUse,
    /// What the machine as a whole did, by name with the unit last: `others_share`, `steal_share`, `pressure_cpu_some_us`,
    /// `tcp_retransmits`, `energy_j`.
    #[serde(default)]
    pub machine: BTreeMap<String, f64>,
    /// Second by second.
    #[serde(default)]
    pub seconds: Vec<MeasuredSecond>,
    /// Why this point is not to be believed, or only with care. Points with a mark that [`PointWarning::is_left_out`] are not fitted.
    #[serde(default)]
    pub marks: Vec<PointWarning>,
    /// Whether a search tried it on its way: no threshold is held to it, and of arrivals no fit.
    #[serde(default)]
    pub is_try: bool,
}

/// What a search for the limit found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The configuration; empty where there is one.
    #[serde(default)]
    pub configuration: String,
    /// How many nodes had load.
    pub nodes: usize,
    /// Answers a second at saturation: the median of repeated measurements; `None` where it was not looked for or found.
    #[serde(default)]
    pub saturation: Option<f64>,
    /// With so many users.
    #[serde(default)]
    pub saturation_users: u64,
    /// Whether more users brought no more; else there were as many as the scenario allows.
    #[serde(default)]
    pub is_saturated: bool,
    /// What was to hold: `p99 <= 5ms`.
    #[serde(default)]
    pub promise: Vec<String>,
    /// The highest rate tried, in arrivals a second, at which it held.
    #[serde(default)]
    pub rate: Option<f64>,
    /// The lowest rate tried at which it did not.
    #[serde(default)]
    pub rate_beyond: Option<f64>,
    /// Whether the generator was at its own limit where the promise broke.
    #[serde(default)]
    pub is_at_generator_limit: bool,
    /// What was tried, in this order.
    pub tried: Vec<SearchAttempt>,
    /// All of it in words.
    pub verdict: String,
}

/// One measurement of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchAttempt {
    /// What was asked.
    pub load: PointLoad,
    /// Right answers a second.
    pub rate: f64,
    /// Whether the promise held; `None` where saturation was looked for.
    #[serde(default)]
    pub holds: Option<bool>,
    /// Which part of it did not, with what was measured.
    #[serde(default)]
    pub broken: String,
}

/// What is asked of a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointLoad {
    /// So many users, each of whom waits for an answer before the next request.
    Users(u64),
    /// So many arrivals a second, whether or not answers come.
    Arrivals(f64),
}

/// In words: `1 user`, `8 users`, `500 arrivals/s`.
impl fmt::Display for PointLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointLoad::Users(1) => f.write_str("1 user"),
            PointLoad::Users(users) => write!(f, "{users} users"),
            PointLoad::Arrivals(rate) if rate.fract() == 0.0 => write!(f, "{rate:.0} arrivals/s"),
            PointLoad::Arrivals(rate) => write!(f, "{rate:.1} arrivals/s"),
        }
    }
}

/// A number of nodes in words: `1 node`, `8 nodes`.
pub fn nodes_in_words(nodes: usize) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}

impl Default for PointLoad {
    fn default() -> PointLoad {
        PointLoad::Users(1)
    }
}

/// One second of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredSecond {
    /// Its begin, in seconds since measuring began; below 0 while warming up.
    pub at_s: f64,
    /// Right answers.
    pub answered: u64,
    /// Failed requests.
    pub failed: u64,
    /// Half of the right answers took no longer since they were due, in nanoseconds.
    pub p50_ns: u64,
    /// Of 100 right answers, 99 took no longer since they were due, in nanoseconds.
    pub p99_ns: u64,
}

/// A warning that a point is unreliable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "mark", content = "because")]
pub enum PointWarning {
    /// The generator was at its own limit, or late.
    GeneratorLimit(String),
    /// Something else on the machine took its cores.
    Neighbour(String),
    /// The measurement ended before its time.
    CutShort(String),
    /// The target never became steady before measuring began.
    NotSteady(String),
    /// More than one request in a hundred failed.
    Errors(String),
}

impl PointWarning {
    /// Whether points with this mark are left out of fits.
    pub fn is_left_out(&self) -> bool {
        match self {
            PointWarning::GeneratorLimit(_)
            | PointWarning::Neighbour(_)
            | PointWarning::CutShort(_)
            | PointWarning::Errors(_) => true,
            PointWarning::NotSteady(_) => false,
        }
    }
}

/// In words, with the reason.
impl fmt::Display for PointWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointWarning::GeneratorLimit(because) => write!(f, "the generator was the limit: {because}"),
            PointWarning::Neighbour(because) => write!(f, "something else used the machine: {because}"),
            PointWarning::CutShort(because) => write!(f, "cut short: {because}"),
            PointWarning::NotSteady(because) => write!(f, "not steady: {because}"),
            PointWarning::Errors(because) => write!(f, "too many errors: {because}"),
        }
    }
}

/// A threshold and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThresholdResult {
    /// As the scenario says it: `p99 < 50ms`.
    pub threshold: String,
    /// What was measured, in the same unit, as text.
    pub measured: String,
    /// Whether the run kept it.
    pub is_kept: bool,
}

/// Why a record cannot be read.
#[derive(Debug)]
pub enum RecordError {
    /// It is no JSON of a record.
    Json(serde_json::Error),
    /// It has another version of the format than [`FORMAT`].
    Format(u32),
    /// It is a page with so many records, which is not one.
    Page(usize),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::Json(error) => write!(f, "not a record of `durward lab run`: {error}"),
            RecordError::Format(other) => {
                write!(f, "a record of format {other}; this durward reads format {FORMAT}")
            }
            RecordError::Page(0) => f.write_str("a page without a record of `durward lab run`"),
            RecordError::Page(count) => {
                write!(f, "a page with {count} records: give the `record.json` of one of them")
            }
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RecordError::Json(error) => Some(error),
            RecordError::Format(_) | RecordError::Page(_) => None,
        }
    }
}

impl RunRecord {
    /// Reads the JSON text of a record, or the page of a report that holds one.
    ///
    /// # Errors
    /// Text that is no record, or one of another format; a page with none or several.
    pub fn read(text: &str) -> Result<RunRecord, RecordError> {
        if page::is_page(text) {
            return match page::records(text).as_slice() {
                [json] => RunRecord::read(json),
                others => Err(RecordError::Page(others.len())),
            };
        }
        let record: RunRecord = serde_json::from_str(text).map_err(RecordError::Json)?;
        if record.format == FORMAT { Ok(record) } else { Err(RecordError::Format(record.format)) }
    }

    /// Its JSON text, which [`RunRecord::read`] reads.
    ///
    /// # Errors
    /// Numbers that JSON cannot say, such as those that are infinite.
    pub fn to_json(&self) -> Result<String, RecordError> {
        serde_json::to_string(self).map_err(RecordError::Json)
    }
}

impl RunRecord {
    /// Requests with a right answer, of all points.
    pub fn answered(&self) -> u64 {
        self.points.iter().map(MeasuredPoint::answered).sum()
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
impl MeasuredPoint {
    /// Requests with a right answer, of all steps.
    pub fn answered(&self) -> u64 {
        self.steps.iter().map(|step| step.answered).sum()
    }

    /// Requests that failed or were never sent, of all steps.
    pub fn failed(&self) -> u64 {
        self.steps.iter().map(|step| step.failed.values().sum::<u64>() + step.not_sent).sum()
    }

    /// Right answers a second (X); 0 of a measurement that took no time.
    pub fn throughput(&self) -> f64 {
        if self.measured_s > 0.0 { self.answered() as f64 / self.measured_s } else { 0.0 }
    }

    /// The share of requests that failed, from 0 to 1.
    pub fn error_share(&self) -> f64 {
        let all = self.answered() + self.failed();
        if all == 0 { 0.0 } else { self.failed() as f64 / all as f64 }
    }

    /// How long right answers of all steps took since they were due.
    pub fn since_due(&self) -> LatencyRecord {
        LatencyRecord::merged(self.steps.iter().map(|step| &step.since_due))
    }

    /// How many requests were under way on average, by Little's law: X times the mean R, R from sending.
    pub fn concurrency(&self) -> f64 {
        let sent = LatencyRecord::merged(self.steps.iter().map(|step| &step.since_sent));
        self.throughput() * sent.mean_ns() / 1e9
    }

    /// Whether fits use this point.
    pub fn is_fitted(&self) -> bool {
        let is_on_the_way = self.is_try && matches!(self.load, PointLoad::Arrivals(_));
        !is_on_the_way && !self.marks.iter().any(PointWarning::is_left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> MeasuredPoint {
        let mut step = StepResult { name: "validate".into(), answered: 3, ..StepResult::default() };
        for wait in [1_000_000, 2_000_000, 3_000_000] {
            step.since_due.record(wait);
            step.since_sent.record(wait);
        }
        step.failed.insert("timeout".into(), 1);
        MeasuredPoint { measured_s: 1.5, steps: vec![step], nodes: 1, ..MeasuredPoint::default() }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let marks = vec![PointWarning::NotSteady("the rate still rose".into())];
        let record = RunRecord {
            format: FORMAT,
            points: vec![MeasuredPoint { marks, load: PointLoad::Arrivals(2.5), ..point() }],
            ..RunRecord::default()
        };
        assert_eq!(RunRecord::read(&record.to_json().unwrap()).unwrap(), record);
    }

    #[test]
    fn other_formats_are_refused() {
        let record = RunRecord { format: FORMAT + 1, ..RunRecord::default() };
        let error = RunRecord::read(&record.to_json().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "a record of format 2; this durward reads format 1");
        assert!(RunRecord::read("{}").unwrap_err().to_string().starts_with("not a record"));
    }

    #[test]
    fn a_point_tells_its_rate_errors_and_concurrency() {
        let point = point();
        assert_eq!((point.throughput(), point.error_share()), (2.0, 0.25));
        // 2 a second, 2 ms each.
        assert!((point.concurrency() - 0.004).abs() < 1e-5, "{}", point.concurrency());
    }

    #[test]
    fn loads_and_nodes_are_told_in_words() {
        let words =
            [PointLoad::Users(1), PointLoad::Users(8), PointLoad::Arrivals(500.0), PointLoad::Arrivals(2.5)];
        let words = words.map(|load| load.to_string());
        assert_eq!(words, ["1 user", "8 users", "500 arrivals/s", "2.5 arrivals/s"]);
        assert_eq!((nodes_in_words(1), nodes_in_words(2)), ("1 node".into(), "2 nodes".into()));
    }

    #[test]
    fn marks_decide_what_is_fitted() {
        let with = |mark| MeasuredPoint { marks: vec![mark], ..point() }.is_fitted();
        assert!(point().is_fitted() && with(PointWarning::NotSteady(String::new())));
        assert!(
            !with(PointWarning::GeneratorLimit(String::new()))
                && !with(PointWarning::Neighbour(String::new()))
        );
    }
}

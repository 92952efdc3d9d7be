//! What the pages of a study need of its records: small enough to be checked in beside them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Study, StudyRun};
use crate::fit::Observation;
use crate::machine::MachineFacts;
use crate::record::{
    GeneratorLimit, LatencyRecord, MachineInfo, MeasuredPoint, NodeResult, PointLoad, PointWarning,
    RunRecord, StepResult, TargetInfo, UsedSample,
};
use crate::run::RunOptions;

/// All figures of a study that was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudyDigest {
    /// Which study: `openam`.
    pub study: String,
    /// How long it measured: `quick`, `full`.
    pub form: String,
    /// The version of durward.
    pub version: String,
    /// When it began, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// The machine that ran it.
    pub machine: MachineInfo,
    /// What the study knows beside its runs, for its pages; null where there is nothing.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub facts: serde_json::Value,
    /// One for each run, in their order.
    pub runs: Vec<RunDigest>,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunDigest {
    /// Its name.
    pub name: String,
    /// What it measures.
    pub about: String,
    /// Why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Why it ended before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// What was measured, without the command that started it.
    #[serde(default)]
    pub targets: Vec<TargetInfo>,
    /// What the generator can do.
    #[serde(default)]
    pub generator_limit: Option<GeneratorLimit>,
    /// Sorted by configuration, nodes, load and replicate.
    #[serde(default)]
    pub points: Vec<PointDigest>,
    /// What else is to be known.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// One point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PointDigest {
    /// What is the same for all points of a curve.
    pub configuration: String,
    /// Nodes with load.
    pub nodes: usize,
    /// What was asked of all of them.
    pub load: PointLoad,
    /// The number of this measurement of the same load.
    pub replicate: u32,
    /// Seconds that were measured.
    pub measured_s: f64,
    /// Requests under way on average.
    pub concurrency: f64,
    /// The second, since measuring began, within which the last right answer came; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_answer_s: Option<f64>,
    /// By step; `all` stands first.
    pub steps: Vec<StepDigest>,
    /// By node.
    pub by_node: Vec<NodeDigest>,
    /// How busy the generator was, 0 to 1.
    pub generator_busy: f64,
    /// What the machine as a whole did.
    #[serde(default)]
    pub machine: BTreeMap<String, f64>,
    /// Why it is not to be believed.
    #[serde(default)]
    pub marks: Vec<PointWarning>,
}

/// What became of the requests of one step. Times in milliseconds, since requests were due.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepDigest {
    /// The step; `all` for all of them.
    pub name: String,
    /// Right answers.
    pub answered: u64,
    /// Failures by cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// Due and never sent.
    #[serde(default, skip_serializing_if = "is_none")]
    pub not_sent: u64,
    /// Half took no longer.
    pub p50_ms: f64,
    /// Of ten, nine.
    pub p90_ms: f64,
    /// Of 20, 19.
    pub p95_ms: f64,
    /// Of 100, 99.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The mean since they were sent.
    pub mean_since_sent_ms: f64,
}

/// What one node did and used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeDigest {
    /// Right answers.
    pub answered: u64,
    /// Others.
    pub failed: u64,
    /// Seconds of processor time; `None` where it could not be seen, as what follows.
    pub cpu_s: Option<f64>,
    /// Cores that it might use.
    pub cores: Option<f64>,
    /// The share of periods in which a quota held it back.
    pub throttled: Option<f64>,
    /// The most memory, in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// Its limit.
    pub memory_max_bytes: Option<u64>,
    /// What it used over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<UsedSample>,
}

/// The end of the last second with a right answer.
fn last_answer_s(point: &MeasuredPoint) -> Option<f64> {
    let last = point.seconds.iter().rev().find(|second| second.answered > 0)?;
    Some(rounded(last.at_s + 1.0))
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl StudyDigest {
    /// Of a study without runs yet.
    pub(super) fn new(study: &Study, options: &RunOptions) -> StudyDigest {
        StudyDigest {
            study: study.name.to_owned(),
            form: study.form.clone(),
            version: options.version.clone(),
            started_unix_ms: (options.now_unix_ms)(),
            machine: MachineFacts::this().info("local"),
            facts: serde_json::Value::Null,
            runs: Vec::new(),
        }
    }

    /// Adds a run that was recorded.
    pub(super) fn add(&mut self, run: &StudyRun, record: &RunRecord) {
        let started = record.about.started_unix_ms;
        if started > 0 {
            self.started_unix_ms = self.started_unix_ms.min(started);
        }
        self.runs.push(RunDigest::of(run, record));
    }

    /// Its JSON text, a point a line, so that changes can be read.
    ///
    /// # Errors
    /// Numbers that JSON cannot say.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(self)?.replace("{\"configuration\"", "\n{\"configuration\"") + "\n")
    }

    /// Reads what [`StudyDigest::to_json`] wrote.
    ///
    /// # Errors
    /// Text that is no digest.
    pub fn read(text: &str) -> Result<StudyDigest, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The run with this name, where something was measured.
    pub fn run(&self, name: &str) -> Option<&RunDigest> {
        self.runs.iter().find(|run| run.name == name && !run.points.is_empty())
    }
}

impl RunDigest {
    /// A run without points.
    pub fn failed(run: &StudyRun, why: &str) -> RunDigest {
        RunDigest {
            name: run.name.clone(),
            about: run.about.clone(),
            failed: Some(why.to_owned()),
            ..RunDigest::default()
        }
    }

    /// What a record says.
    pub fn of(run: &StudyRun, record: &RunRecord) -> RunDigest {
        let mut points: Vec<PointDigest> = record.points.iter().map(PointDigest::of).collect();
        if !run.keeps_samples {
            points.iter_mut().flat_map(|point| &mut point.by_node).for_each(|node| node.samples.clear());
        }
        points.sort_by(|one, other| {
            one.configuration.cmp(&other.configuration).then(one.nodes.cmp(&other.nodes)).then(
                one.load_number().total_cmp(&other.load_number()).then(one.replicate.cmp(&other.replicate)),
            )
        });
        let targets = record.about.targets.iter().map(|target| TargetInfo {
            // The command names files of the machine that ran it.
            started_as: String::new(),
            ..target.clone()
        });
        RunDigest {
            name: run.name.clone(),
            about: run.about.clone(),
            failed: None,
            cut_short: record.cut_short.clone(),
            targets: targets.collect(),
            generator_limit: record.generator_limit.clone(),
            points,
            notes: record.notes.clone(),
        }
    }

    /// The points of one configuration and number of nodes, by load.
    pub fn curve<'r>(
        &'r self,
        configuration: &'r str,
        nodes: usize,
    ) -> impl Iterator<Item = &'r PointDigest> {
        self.points.iter().filter(move |point| point.configuration == configuration && point.nodes == nodes)
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
impl PointDigest {
    fn of(point: &MeasuredPoint) -> PointDigest {
        let mut steps = vec![StepDigest::all(point)];
        steps.extend(point.steps.iter().map(StepDigest::of));
        PointDigest {
            configuration: point.configuration.clone(),
            nodes: point.nodes,
            load: point.load,
            replicate: point.replicate,
            measured_s: rounded(point.measured_s),
            concurrency: rounded(point.concurrency()),
            last_answer_s: last_answer_s(point),
            steps,
            by_node: point.by_node.iter().map(NodeDigest::of).collect(),
            generator_busy: rounded(point.generator.busy),
            machine: point.machine.iter().map(|(name, value)| (name.clone(), rounded(*value))).collect(),
            marks: point.marks.clone(),
        }
    }

    /// Users, or arrivals a second.
    pub fn load_number(&self) -> f64 {
        match self.load {
            PointLoad::Users(users) => users as f64,
            PointLoad::Arrivals(rate) => rate,
        }
    }

    /// The step with this name; `all` for all of them.
    pub fn step(&self, name: &str) -> Option<&StepDigest> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// Right answers a second, of all steps.
    pub fn throughput(&self) -> f64 {
        let answered = self.step("all").map_or(0, |all| all.answered);
        if self.measured_s > 0.0 { answered as f64 / self.measured_s } else { 0.0 }
    }

    /// The share of requests without a right answer.
    pub fn error_share(&self) -> f64 {
        let Some(all) = self.step("all") else { return 0.0 };
        let failed = all.failed.values().sum::<u64>() + all.not_sent;
        failed as f64 / (failed + all.answered).max(1) as f64
    }

    /// How busy its nodes were, 0 to 1, of the cores they might use; `None` where that was not seen.
    pub fn busy(&self) -> Option<f64> {
        let sum = |of: fn(&NodeDigest) -> Option<f64>| self.by_node.iter().map(of).sum::<Option<f64>>();
        let (used, had) = (sum(|node| node.cpu_s)?, sum(|node| node.cores)? * self.measured_s);
        (had > 0.0).then(|| used / had)
    }

    /// Processor time of the nodes for each right answer, in microseconds.
    pub fn cpu_us_per_request(&self) -> Option<f64> {
        let used = self.by_node.iter().map(|node| node.cpu_s).sum::<Option<f64>>()?;
        let answered = self.step("all")?.answered;
        (answered > 0).then(|| used * 1e6 / answered as f64)
    }

    /// Whether fits use it.
    pub fn is_fitted(&self) -> bool {
        !self.marks.iter().any(PointWarning::is_left_out)
    }

    /// What fits make of it, at this N.
    pub fn observation(&self, n: f64) -> Observation {
        Observation::new(n, self.throughput())
    }
}

impl StepDigest {
    fn all(point: &MeasuredPoint) -> StepDigest {
        let mut failed = BTreeMap::new();
        for (cause, count) in point.steps.iter().flat_map(|step| &step.failed) {
            *failed.entry(cause.clone()).or_insert(0) += count;
        }
        let sent = LatencyRecord::merged(point.steps.iter().map(|step| &step.since_sent));
        let not_sent = point.steps.iter().map(|step| step.not_sent).sum();
        StepDigest::new("all", point.answered(), failed, not_sent, &point.since_due(), &sent)
    }

    fn of(step: &StepResult) -> StepDigest {
        let (due, sent) = (&step.since_due, &step.since_sent);
        StepDigest::new(&step.name, step.answered, step.failed.clone(), step.not_sent, due, sent)
    }

    #[expect(clippy::cast_precision_loss, reason = "times below an hour")]
    fn new(
        name: &str,
        answered: u64,
        failed: BTreeMap<String, u64>,
        not_sent: u64,
        due: &LatencyRecord,
        sent: &LatencyRecord,
    ) -> StepDigest {
        let ms = |percent| rounded(due.percentile_ns(percent) as f64 / 1e6);
        StepDigest {
            name: name.to_owned(),
            answered,
            failed,
            not_sent,
            p50_ms: ms(50.0),
            p90_ms: ms(90.0),
            p95_ms: ms(95.0),
            p99_ms: ms(99.0),
            max_ms: rounded(due.max_ns() as f64 / 1e6),
            mean_ms: rounded(due.mean_ns() / 1e6),
            mean_since_sent_ms: rounded(sent.mean_ns() / 1e6),
        }
    }
}

impl NodeDigest {
    #[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53 periods")]
    fn of(node: &NodeResult) -> NodeDigest {
        let used = node.used.as_ref();
        NodeDigest {
            answered: node.answered,
            failed: node.failed,
            cpu_s: used.map(|used| rounded(used.cpu_s)),
            cores: used.map(|used| rounded(used.cores)),
            throttled: used
                .filter(|used| used.periods > 0)
                .map(|used| rounded(used.throttled_periods as f64 / used.periods as f64)),
            memory_peak_bytes: used.map(|used| used.memory_peak_bytes),
            memory_max_bytes: used.and_then(|used| used.memory_max_bytes),
            samples: used.map(|used| used.samples.clone()).unwrap_or_default(),
        }
    }
}

/// Six digits: more were not measured. To twelve first: a record that was written and read again may be off by a number's last bit, and what lies in
/// the middle between two numbers of six digits must not come to another one by that.
fn rounded(value: f64) -> f64 {
    let to = |value: f64, digits: usize| format!("{value:.digits$e}").parse().unwrap_or(value);
    to(to(value, 11), 5)
}

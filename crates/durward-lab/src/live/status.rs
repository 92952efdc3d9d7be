//! The status that a run's screens show: progress, the last second, and the points measured so far.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::record::{LatencyRecord, MeasuredPoint, PointLoad, RunRecord, ThresholdResult};
use crate::run::{NodeNow, RunPosition, RunSecond, RunWatcher, StepNow};
use crate::scenario::{Scenario, WarmUp};

/// Seconds that are kept, from the last one back: an hour of charts.
pub const SECONDS_KEPT: usize = 3600;
/// Points that are kept; no chart shows more.
const POINTS_KEPT: usize = 5000;
/// Nodes of which every second is kept; of others only the last one.
const NODES_KEPT: usize = 16;
/// Different causes that are told apart; further ones are counted together.
const CAUSES_KEPT: usize = 40;
/// What those are called.
const OTHER_CAUSES: &str = "other causes";
/// How long a warm-up that ends by itself is taken to be until one has ended.
const AUTO_WARM_UP_S: f64 = 10.0;

/// What a run's screens show. As JSON it is what the page draws.
#[derive(Clone, Debug, Serialize)]
pub struct RunStatus {
    /// What changes every second.
    pub head: StatusHead,
    /// The last [`SECONDS_KEPT`] seconds.
    pub seconds: VecDeque<SecondRow>,
    /// The points that were measured, in the order in which they were.
    pub points: Vec<PointStatusRow>,
    #[serde(skip)]
    times: RunTimes,
    /// Right answers of the point so far, since they were due; without the warm-up.
    #[serde(skip)]
    so_far: LatencyRecord,
}

/// What changes every second.
#[derive(Clone, Debug, Serialize)]
pub struct StatusHead {
    /// The scenario's name.
    pub name: String,
    /// What the run does now.
    pub phase: RunPhase,
    /// The point that is measured; `None` before the first.
    pub place: Option<ProgressRow>,
    /// Seconds since the run began.
    pub elapsed_s: f64,
    /// How much of the run is done, from 0 to 1.
    pub progress: f64,
    /// Seconds until it ends, about; `None` while that cannot be told.
    pub left_s: Option<f64>,
    /// Since measuring of this point began: below 0 in the warm-up.
    pub at_s: f64,
    /// How long a point is measured, in seconds.
    pub measure_s: f64,
    /// Percentiles of the point so far; without the warm-up.
    pub so_far: Percentiles,
    /// Failed requests of the run by cause.
    pub causes: BTreeMap<String, u64>,
    /// Steps in the last second.
    pub steps: Vec<StepRow>,
    /// Nodes in the last second.
    pub nodes: Vec<NodeRow>,
    /// How much of the cores of its threads the generator had in the last second, from 0 to 1.
    pub busy: f64,
    /// How the run ended; `None` while it goes on.
    pub ending: Option<RunEnding>,
}

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunPhase {
    /// The target is started, or rests between points.
    Waiting,
    /// The generator is measured against a server that does nothing.
    GeneratorLimit,
    /// Load is made and not measured yet.
    WarmUp,
    /// Load is made and measured.
    Measuring,
    /// It is over.
    Ended,
}

impl RunPhase {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            RunPhase::Waiting => "waiting for the target",
            RunPhase::GeneratorLimit => "measuring the generator",
            RunPhase::WarmUp => "warm-up",
            RunPhase::Measuring => "measuring",
            RunPhase::Ended => "ended",
        }
    }
}

/// Where a run is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProgressRow {
    /// The number of the point, from 1.
    pub number: usize,
    /// How many there are.
    pub count: usize,
    /// What is the same for all points of one curve.
    pub configuration: String,
    /// How many nodes have load.
    pub nodes: usize,
    /// What is asked of them, in words.
    pub load: String,
    /// The number of this measurement among those of the same load, from 0.
    pub replicate: u32,
}

/// How long right answers took since they were due, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Half took no longer.
    pub p50: f64,
    /// 90 of 100.
    pub p90: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1000.
    pub p999: f64,
    /// All.
    pub max: f64,
}

impl Percentiles {
    /// Those of a histogram; zeros of an empty one.
    pub fn of(latency: &LatencyRecord) -> Percentiles {
        let at = |percent| ms(latency.percentile_ns(percent));
        Percentiles { p50: at(50.0), p90: at(90.0), p99: at(99.0), p999: at(99.9), max: ms(latency.max_ns()) }
    }
}

/// One second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecondRow {
    /// The number of its point, from 1.
    pub point: usize,
    /// Seconds since the run began.
    pub t: f64,
    /// Seconds since measuring of the point began; below 0 in the warm-up.
    pub at_s: f64,
    /// Right answers.
    pub answered: u64,
    /// Failed requests.
    pub failed: u64,
    /// How long the right ones took.
    #[serde(flatten)]
    pub times: Percentiles,
    /// How much of its cores the generator had.
    pub busy: f64,
    /// Cores in use and bytes of memory of the first nodes.
    pub nodes: Vec<Option<(f64, u64)>>,
}

/// A point that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointStatusRow {
    /// Where it was.
    #[serde(flatten)]
    pub place: ProgressRow,
    /// Users, or arrivals a second.
    pub size: f64,
    /// Right answers a second.
    pub rate: f64,
    /// How long they took.
    #[serde(flatten)]
    pub times: Percentiles,
    /// Requests that failed or were never sent.
    pub failed: u64,
    /// Their share, from 0 to 1.
    pub error_share: f64,
    /// How much of its cores the generator had.
    pub busy: f64,
    /// Why it is not to be believed, or only with care.
    pub marks: Vec<String>,
}

/// A step in the last second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRow {
    /// Its name.
    pub name: String,
    /// Right answers.
    pub answered: u64,
    /// Failed requests.
    pub failed: u64,
}

/// A node in the last second.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeRow {
    /// Its address.
    pub name: String,
    /// Right answers.
    pub answered: u64,
    /// Failed requests.
    pub failed: u64,
    /// Cores in use; `None` while they are not seen.
    pub cpus: Option<f64>,
    /// How many it may use; 0 where that is not known.
    pub cores: f64,
    /// Memory in bytes; `None` while it is not seen.
    pub memory: Option<u64>,
    /// Its limit of memory.
    pub memory_max: Option<u64>,
    /// The share of periods in which its quota held it back.
    pub throttled: f64,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunEnding {
    /// Why it ended before its time.
    pub cut_short: Option<String>,
    /// Thresholds and whether they were kept.
    pub thresholds: Vec<ThresholdResult>,
    /// Where the record is, in words.
    pub record: Option<String>,
    /// Where on the same server the report is.
    pub report: Option<String>,
}

/// From which the time to the end is told.
#[derive(Clone, Debug)]
struct RunTimes {
    begun: Instant,
    point_begun: Option<Instant>,
    /// When the first point began.
    first_begun: Option<Instant>,
    finished: usize,
    /// How long a point takes by the scenario, in seconds.
    planned_s: f64,
}

impl RunStatus {
    /// Before the run of a scenario.
    pub fn new(scenario: &Scenario) -> RunStatus {
        let load = &scenario.load;
        let warm_up_s = match load.warm_up {
            WarmUp::For(time) => time.0.as_secs_f64(),
            WarmUp::Auto => AUTO_WARM_UP_S,
        };
        let measure_s = load.measure.0.as_secs_f64();
        let planned_s = load.ramp.0.as_secs_f64() + warm_up_s + measure_s + load.cool_down.0.as_secs_f64();
        let begun = Instant::now();
        let times = RunTimes { begun, point_begun: None, first_begun: None, finished: 0, planned_s };
        let head = StatusHead {
            name: scenario.name.clone(),
            phase: RunPhase::Waiting,
            place: None,
            elapsed_s: 0.0,
            progress: 0.0,
            left_s: None,
            at_s: 0.0,
            measure_s,
            so_far: Percentiles::default(),
            causes: BTreeMap::new(),
            steps: Vec::new(),
            nodes: Vec::new(),
            busy: 0.0,
            ending: None,
        };
        RunStatus {
            head,
            seconds: VecDeque::new(),
            points: Vec::new(),
            times,
            so_far: LatencyRecord::default(),
        }
    }

    /// Sets what time it is: how long the run has gone on, and how long it still will.
    pub fn tick(&mut self, now: Instant) {
        if self.head.phase == RunPhase::Ended {
            return;
        }
        let since = |begun: Instant| now.saturating_duration_since(begun).as_secs_f64();
        self.head.elapsed_s = thousandths(since(self.times.begun));
        let (Some(first), Some(point), Some(place)) =
            (self.times.first_begun, self.times.point_begun, &self.head.place)
        else {
            return;
        };
        let finished = self.times.finished;
        let is_between = finished >= place.number;
        // Points that were measured tell better than the scenario how long one takes, with start and rest.
        let planned_s = self.times.planned_s.max(0.001);
        let point_s = if finished > 0 { (point - first).as_secs_f64().max(0.0) } else { 0.0 };
        let earlier = finished.min(place.number - 1);
        let each_s = if earlier > 0 { point_s / count(earlier) } else { planned_s };
        let now_s = since(point).min(each_s);
        let done_s = each_s * count(place.number - 1) + if is_between { each_s } else { now_s };
        let whole_s = (each_s * count(place.count)).max(0.001);
        self.head.progress = thousandths((done_s / whole_s).clamp(0.0, 1.0));
        self.head.left_s = Some(thousandths((whole_s - done_s).max(0.0)));
    }

    /// The generator is measured against a server that does nothing.
    pub fn generator_limit(&mut self) {
        self.head.phase = RunPhase::GeneratorLimit;
        self.tick(Instant::now());
    }

    /// A point begins.
    pub fn begin(&mut self, place: &RunPosition) {
        let now = Instant::now();
        self.head.place = Some(row(place));
        self.head.phase = RunPhase::WarmUp;
        self.head.so_far = Percentiles::default();
        self.head.at_s = 0.0;
        self.so_far = LatencyRecord::default();
        self.times.point_begun = Some(now);
        self.times.first_begun.get_or_insert(now);
        self.tick(now);
    }

    /// A second has passed. What comes after measuring has ended is not shown: the last answers are waited for.
    pub fn second(&mut self, place: &RunPosition, moment: &RunSecond) {
        self.tick(Instant::now());
        let second = &moment.second;
        let head = &mut self.head;
        head.at_s = thousandths(second.at_s);
        if second.at_s >= head.measure_s {
            return;
        }
        head.phase = if second.at_s < -0.001 { RunPhase::WarmUp } else { RunPhase::Measuring };
        if head.phase == RunPhase::Measuring {
            self.so_far.add(&moment.since_due);
            head.so_far = Percentiles::of(&self.so_far);
        }
        head.busy = thousandths(moment.generator_busy);
        count_causes(&mut head.causes, &moment.causes);
        head.steps = moment.steps.iter().map(step).collect();
        head.nodes = moment.nodes.iter().map(node).collect();
        let used = |node: &NodeNow| node.used.map(|used| (thousandths(used.cpus), used.memory_bytes));
        if self.seconds.len() >= SECONDS_KEPT {
            self.seconds.pop_front();
        }
        self.seconds.push_back(SecondRow {
            point: place.number,
            t: self.head.elapsed_s,
            at_s: self.head.at_s,
            answered: second.answered,
            failed: second.failed,
            times: Percentiles::of(&moment.since_due),
            busy: self.head.busy,
            nodes: moment.nodes.iter().take(NODES_KEPT).map(used).collect(),
        });
    }

    /// A point was measured.
    pub fn end(&mut self, place: &RunPosition, point: &MeasuredPoint) {
        self.times.finished += 1;
        self.head.phase = RunPhase::Waiting;
        self.tick(Instant::now());
        if self.points.len() >= POINTS_KEPT {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "no more than a million users")]
        let size = match point.load {
            PointLoad::Users(users) => users as f64,
            PointLoad::Arrivals(rate) => rate,
        };
        self.points.push(PointStatusRow {
            place: row(place),
            size,
            rate: thousandths(point.throughput()),
            times: Percentiles::of(&point.since_due()),
            failed: point.failed(),
            error_share: point.error_share(),
            busy: thousandths(point.generator.busy),
            marks: point.marks.iter().map(ToString::to_string).collect(),
        });
    }

    /// The run is over.
    pub fn finish(&mut self, ending: RunEnding) {
        self.tick(Instant::now());
        let is_whole = ending.cut_short.is_none();
        let head = &mut self.head;
        (head.phase, head.left_s) = (RunPhase::Ended, None);
        if is_whole {
            head.progress = 1.0;
        }
        head.ending = Some(ending);
    }
}

impl RunEnding {
    /// How the run of a record ended.
    pub fn of(record: &RunRecord) -> RunEnding {
        RunEnding {
            cut_short: record.cut_short.clone(),
            thresholds: record.thresholds.clone(),
            ..RunEnding::default()
        }
    }
}

/// A status that a run writes and a screen reads, each on its thread.
#[derive(Clone, Debug)]
pub struct StatusBoard(Arc<Mutex<RunStatus>>);

impl StatusBoard {
    /// Before the run of a scenario.
    pub fn new(scenario: &Scenario) -> StatusBoard {
        StatusBoard(Arc::new(Mutex::new(RunStatus::new(scenario))))
    }

    /// Reads or changes the status. The run waits meanwhile: nothing that blocks may be done here.
    pub fn with<T>(&self, see: impl FnOnce(&mut RunStatus) -> T) -> T {
        see(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl RunWatcher for StatusBoard {
    fn generator_limit(&mut self) {
        self.with(RunStatus::generator_limit);
    }

    fn begin(&mut self, place: &RunPosition) {
        self.with(|status| status.begin(place));
    }

    fn second(&mut self, place: &RunPosition, moment: &RunSecond) {
        self.with(|status| status.second(place, moment));
    }

    fn end(&mut self, place: &RunPosition, point: &MeasuredPoint) {
        self.with(|status| status.end(place, point));
    }
}

fn row(place: &RunPosition) -> ProgressRow {
    ProgressRow {
        number: place.number,
        count: place.count,
        configuration: place.configuration.clone(),
        nodes: place.nodes,
        load: place.load.to_string(),
        replicate: place.replicate,
    }
}

fn step(step: &StepNow) -> StepRow {
    StepRow { name: step.name.clone(), answered: step.answered, failed: step.failed }
}

fn node(node: &NodeNow) -> NodeRow {
    NodeRow {
        name: node.name.clone(),
        answered: node.answered,
        failed: node.failed,
        cpus: node.used.map(|used| thousandths(used.cpus)),
        cores: node.cores,
        memory: node.used.map(|used| used.memory_bytes),
        memory_max: node.memory_max_bytes,
        throttled: node.used.map_or(0.0, |used| thousandths(used.throttled)),
    }
}

fn count_causes(all: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (cause, count) in more {
        let is_known = all.contains_key(cause) || all.len() < CAUSES_KEPT;
        let name = if is_known { cause.as_str() } else { OTHER_CAUSES };
        *all.entry(name.to_owned()).or_default() += count;
    }
}

#[expect(clippy::cast_precision_loss, reason = "points and milliseconds, below 2^53")]
fn count(number: usize) -> f64 {
    number as f64
}

/// Nanoseconds as milliseconds, to the microsecond: screens need no more.
#[expect(clippy::cast_precision_loss, reason = "below an hour")]
fn ms(ns: u64) -> f64 {
    (ns as f64 / 1e3).round() / 1e3
}

fn thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

/// A time as a clock shows it: `0:07`, `12:30`, `1:02:03`.
pub fn clock(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.max(0.0)).map_or(0, |time| time.as_secs());
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

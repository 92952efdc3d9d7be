//! The figures of the study, taken from its digest: one row for each engine, state and load.

use std::collections::BTreeMap;

use super::paper::SENT;
use super::{EngineFacts, StudyFacts};
use crate::record::UsedSample;
use crate::study::{PointDigest, StepDigest, StudyDigest};

const MIB: f64 = 1_048_576.0;

/// How an engine was when it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EngineState {
    /// Just started, as the paper's containers.
    Cold,
    /// After a while under the same load.
    Warm,
}

impl EngineState {
    pub(super) fn word(self) -> &'static str {
        match self {
            EngineState::Cold => "cold",
            EngineState::Warm => "warm",
        }
    }
}

/// An engine under one load, all times that it was measured.
pub(super) struct EngineRow<'d> {
    pub(super) engine: &'d EngineFacts,
    pub(super) state: EngineState,
    /// Requests that were due in each measurement.
    pub(super) sent: u64,
    pub(super) points: Vec<&'d PointDigest>,
}

/// All rows, by engine in the order of the facts, then state, then load.
pub(super) fn rows<'d>(digest: &'d StudyDigest, facts: &'d StudyFacts) -> Vec<EngineRow<'d>> {
    let mut rows: Vec<EngineRow<'d>> = Vec::new();
    for engine in &facts.engines {
        let begin = rows.len();
        for run in &digest.runs {
            let Some(rest) = run.name.strip_prefix(&engine.name).and_then(|rest| rest.strip_prefix('-'))
            else {
                continue;
            };
            let state = match rest {
                "warm" => EngineState::Warm,
                // A run of one load is named after it.
                rest if rest == "cold" || rest.parse::<u64>().is_ok() => EngineState::Cold,
                _ => continue,
            };
            for point in &run.points {
                let sent = sent(point);
                let of_engine = rows.get_mut(begin..).unwrap_or_default();
                match of_engine.iter_mut().find(|row| row.state == state && row.sent == sent) {
                    Some(row) => row.points.push(point),
                    None => rows.push(EngineRow { engine, state, sent, points: vec![point] }),
                }
            }
        }
        if let Some(own) = rows.get_mut(begin..) {
            own.sort_by_key(|row| (row.state, row.sent));
        }
    }
    rows
}

/// Requests that were due.
fn sent(point: &PointDigest) -> u64 {
    let all = point.step("all");
    all.map_or(0, |all| all.answered + all.failed.values().sum::<u64>() + all.not_sent)
}

/// Median, least and greatest of several measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeasurementSpread {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) greatest: f64,
}

impl MeasurementSpread {
    pub(super) fn of(mut values: Vec<f64>) -> Option<MeasurementSpread> {
        values.sort_by(f64::total_cmp);
        let (least, greatest) = (*values.first()?, *values.last()?);
        let low = *values.get((values.len() - 1) / 2)?;
        let high = *values.get(values.len() / 2)?;
        Some(MeasurementSpread { median: f64::midpoint(low, high), least, greatest })
    }

    /// `5.1`, or `5.1 (4.9 to 6)` of several.
    pub(super) fn text(self) -> String {
        if self.least < self.greatest {
            format!("{} ({} to {})", short(self.median), short(self.least), short(self.greatest))
        } else {
            short(self.median)
        }
    }
}

/// A number with as many digits as were measured.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53, no machine has 2^53 bytes")]
impl EngineRow<'_> {
    fn all(&self) -> impl Iterator<Item = &StepDigest> {
        self.points.iter().filter_map(|point| point.step("all"))
    }

    /// A figure of each measurement.
    pub(super) fn spread(&self, of: impl Fn(&StepDigest) -> f64) -> Option<MeasurementSpread> {
        // Without an answer there is no latency.
        MeasurementSpread::of(self.all().filter(|all| all.answered > 0).map(of).collect())
    }

    /// Right answers in time, of all that were due: in all measurements together.
    pub(super) fn answered(&self) -> u64 {
        self.all().map(|all| all.answered).sum()
    }

    pub(super) fn due(&self) -> u64 {
        self.sent * self.points.len() as u64
    }

    /// 0 to 1.
    pub(super) fn reliability(&self) -> f64 {
        if self.due() == 0 { 0.0 } else { self.answered() as f64 / self.due() as f64 }
    }

    /// Whether it may be said to be fast: it decides rightly, and answers all.
    pub(super) fn counts(&self) -> bool {
        self.engine.wrong == 0 && self.answered() == self.due() && self.due() > 0
    }

    /// What became of the others, by cause.
    pub(super) fn failures(&self) -> BTreeMap<&str, u64> {
        let mut failures = BTreeMap::new();
        for all in self.all() {
            for (cause, count) in &all.failed {
                *failures.entry(cause.as_str()).or_insert(0) += count;
            }
            if all.not_sent > 0 {
                *failures.entry("never sent").or_insert(0) += all.not_sent;
            }
        }
        failures
    }

    /// Seconds from the first request to the last answer, to a second.
    pub(super) fn ended_s(&self) -> Option<f64> {
        self.points.iter().filter_map(|point| point.last_answer_s).max_by(f64::total_cmp)
    }

    /// The most memory, in MiB, of all measurements.
    pub(super) fn memory_mib(&self) -> Option<f64> {
        let peak = |point: &&PointDigest| point.by_node.first()?.memory_peak_bytes;
        self.points.iter().filter_map(peak).max().map(|bytes| bytes as f64 / MIB)
    }

    /// Microseconds of processor time for each right answer.
    pub(super) fn cpu_us(&self) -> Option<MeasurementSpread> {
        MeasurementSpread::of(self.points.iter().filter_map(|point| point.cpu_us_per_request()).collect())
    }

    /// The share of periods in which the quota of processor time held it back.
    pub(super) fn throttled(&self) -> Option<f64> {
        let of = |point: &&PointDigest| point.by_node.first()?.throttled;
        self.points.iter().filter_map(of).max_by(f64::total_cmp)
    }

    /// What was used over time, at the first measurement: seconds, memory and processor in percent of what it may use.
    pub(super) fn course(&self) -> Vec<(f64, f64, f64)> {
        let Some(node) = self.points.first().and_then(|point| point.by_node.first()) else {
            return Vec::new();
        };
        let Some(memory) = node.memory_max_bytes.filter(|max| *max > 0) else { return Vec::new() };
        let cores = node.cores.filter(|cores| *cores > 0.0).unwrap_or(1.0);
        let one = |sample: &UsedSample| {
            (sample.at_s, sample.memory_bytes as f64 / memory as f64 * 100.0, sample.cpus / cores * 100.0)
        };
        node.samples.iter().map(one).collect()
    }

    /// The same every so many seconds: memory then, and the mean of the processor since the one before.
    pub(super) fn course_every(&self, every_s: f64) -> Vec<(f64, f64, f64)> {
        let course = self.course();
        let mut out = Vec::new();
        let mut begin = 0.0;
        while let Some(last) = course.last().filter(|last| last.0 >= begin + every_s * 0.75) {
            // A sample is taken a little after its time.
            let end = begin + every_s + 0.1;
            let within: Vec<&(f64, f64, f64)> =
                course.iter().filter(|one| one.0 > begin + 0.1 && one.0 <= end).collect();
            let mean = within.iter().map(|one| one.2).sum::<f64>() / within.len().max(1) as f64;
            out.push((begin + every_s, within.last().map_or(last.1, |one| one.1), mean));
            begin += every_s;
        }
        out
    }
}

/// The row of an engine in this state at the load of this number in the paper.
pub(super) fn at_paper<'r, 'd>(
    rows: &'r [EngineRow<'d>],
    engine: &str,
    state: EngineState,
    number: usize,
) -> Option<&'r EngineRow<'d>> {
    let sent = SENT.get(number)?;
    rows.iter().find(|row| row.engine.name == engine && row.state == state && row.sent == *sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{NodeDigest, RunDigest};

    fn point(answered: u64, failed: u64, p99_ms: f64) -> PointDigest {
        let failures =
            if failed > 0 { BTreeMap::from([("timeout".to_owned(), failed)]) } else { BTreeMap::new() };
        let all =
            StepDigest { name: "all".into(), answered, failed: failures, p99_ms, ..StepDigest::default() };
        PointDigest { steps: vec![all], last_answer_s: Some(5.0), ..PointDigest::default() }
    }

    fn digest(runs: &[(&str, Vec<PointDigest>)]) -> StudyDigest {
        let run = |(name, points): &(&str, Vec<PointDigest>)| RunDigest {
            name: (*name).to_owned(),
            points: points.clone(),
            ..RunDigest::default()
        };
        StudyDigest { runs: runs.iter().map(run).collect(), ..StudyDigest::default() }
    }

    fn facts(engines: &[(&str, usize)]) -> StudyFacts {
        let one = |(name, wrong): &(&str, usize)| EngineFacts {
            name: (*name).to_owned(),
            wrong: *wrong,
            ..EngineFacts::default()
        };
        StudyFacts { engines: engines.iter().map(one).collect(), ..StudyFacts::default() }
    }

    #[test]
    fn measurements_of_one_load_are_one_row() {
        let digest = digest(&[
            ("att-cold", vec![point(1000, 0, 9.0), point(500, 0, 4.0), point(499, 1, 6.0)]),
            ("att-anew-500", vec![point(0, 500, 0.0)]),
            ("att-warm", vec![point(500, 0, 1.0)]),
        ]);
        let facts = facts(&[("att", 0), ("att-anew", 0)]);
        let rows = rows(&digest, &facts);
        let keys: Vec<_> = rows.iter().map(|row| (row.engine.name.as_str(), row.state, row.sent)).collect();
        assert_eq!(
            keys,
            [
                ("att", EngineState::Cold, 500),
                ("att", EngineState::Cold, 1000),
                ("att", EngineState::Warm, 500),
                ("att-anew", EngineState::Cold, 500)
            ]
        );
        let twice = at_paper(&rows, "att", EngineState::Cold, 0).unwrap();
        assert_eq!((twice.answered(), twice.due(), twice.counts()), (999, 1000, false));
        assert_eq!(twice.spread(|all| all.p99_ms).unwrap().text(), "5.00 (4.00 to 6.00)");
        assert_eq!(twice.failures(), BTreeMap::from([("timeout", 1)]));
        assert_eq!(rows[3].spread(|all| all.p99_ms), None);
        assert!(rows[2].counts());
    }

    #[test]
    fn an_engine_that_is_wrong_counts_for_nothing() {
        let digest = digest(&[("fast-cold", vec![point(500, 0, 0.1)])]);
        let facts = facts(&[("fast", 1)]);
        assert!(!rows(&digest, &facts)[0].counts());
    }

    #[test]
    fn what_was_used_is_told_every_two_seconds() {
        let sample = |at_s: f64, cpus| UsedSample { at_s, cpus, memory_bytes: 128 << 20, throttled: 0.0 };
        let samples =
            (1..=8).map(|half| sample(f64::from(half) / 2.0 + 0.01, if half <= 4 { 0.5 } else { 0.0 }));
        let node = NodeDigest {
            cores: Some(1.0),
            memory_max_bytes: Some(512 << 20),
            samples: samples.collect(),
            ..NodeDigest::default()
        };
        let point = PointDigest { by_node: vec![node], ..point(500, 0, 1.0) };
        let (digest, facts) = (digest(&[("a-cold", vec![point])]), facts(&[("a", 0)]));
        let rows = rows(&digest, &facts);
        assert_eq!(rows[0].course_every(2.0), [(2.0, 25.0, 50.0), (4.0, 25.0, 0.0)]);
    }
}

//! What changed from one record to another, with how sure that is.

mod interval;
mod page;

use serde::Serialize;

use self::interval::{Interval, Side};
use super::machine;
use super::select::point_in_words;
use crate::record::{LatencyRecord, MeasuredPoint, RunRecord, nodes_in_words};

pub use page::{comparison_document, text_table};

/// What is asked of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// It fails where the rate or a percentile of all steps together is worse by more than this share, and surely worse at all:
    /// 0.05 is 5 %. `None` never fails.
    pub fail_if_slower: Option<f64>,
    /// Random choices of the bootstrap follow from it.
    pub seed: u64,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Right answers a second.
    Rate,
    /// Half of the right answers took no longer, in nanoseconds.
    P50,
    /// Of 100, 90 took no longer.
    P90,
    /// Of 100, 99 took no longer.
    P99,
    /// Of 1,000, 999 took no longer.
    P999,
    /// The share of requests that failed, from 0 to 1; its change is a difference of shares.
    Errors,
    /// Microseconds of processor time a request.
    CpuUs,
}

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 7] =
        [Metric::Rate, Metric::P50, Metric::P90, Metric::P99, Metric::P999, Metric::Errors, Metric::CpuUs];

    /// As it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Rate => "rate",
            Metric::P50 => "p50",
            Metric::P90 => "p90",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::Errors => "errors",
            Metric::CpuUs => "CPU/request",
        }
    }

    /// A value of it, with its unit.
    pub fn written(self, value: f64) -> String {
        match self {
            Metric::Rate => format!("{}/s", crate::draw::count(value)),
            Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 => crate::draw::time(value),
            Metric::Errors => crate::draw::percent(value),
            Metric::CpuUs => format!("{} us", crate::draw::count(value)),
        }
    }

    fn percent(self) -> Option<f64> {
        match self {
            Metric::P50 => Some(50.0),
            Metric::P90 => Some(90.0),
            Metric::P99 => Some(99.0),
            Metric::P999 => Some(99.9),
            Metric::Rate | Metric::Errors | Metric::CpuUs => None,
        }
    }

    /// Whether the gate looks at it: p99.9 is too rare an event to fail a build.
    fn is_gated(self) -> bool {
        match self {
            Metric::Rate | Metric::P50 | Metric::P90 | Metric::P99 => true,
            Metric::P999 | Metric::Errors | Metric::CpuUs => false,
        }
    }
}

/// What a difference says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The whole interval is better.
    Better,
    /// The whole interval is worse.
    Worse,
    /// No change lies within the interval.
    Unclear,
    /// There is no interval: single measurements do not tell.
    Unknown,
}

impl Judgement {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Judgement::Better => "better",
            Judgement::Worse => "worse",
            Judgement::Unclear => "unclear",
            Judgement::Unknown => "no interval",
        }
    }
}

/// One figure of one load, before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Configuration, nodes and load.
    pub at: String,
    /// The step; `None` for all together.
    pub step: Option<String>,
    /// What is compared.
    pub metric: Metric,
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
    /// How much it changed, as a share of what it was: 0.1 is a tenth more. Of errors, the difference of the shares.
    pub change: f64,
    /// Where the change lies, 19 times out of 20.
    pub interval: Option<[f64; 2]>,
    /// How the interval was found.
    pub method: &'static str,
    /// What it says.
    pub judgement: Judgement,
}

impl Difference {
    /// How much worse it became; below 0 where it became better.
    fn worse_by(&self) -> f64 {
        match self.metric {
            Metric::Rate => -self.change,
            Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 | Metric::Errors | Metric::CpuUs => {
                self.change
            }
        }
    }
}

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// What differs in what was run or on what: where there is any, differences may come from it.
    pub warnings: Vec<String>,
    /// In words.
    pub verdict: String,
    /// Every figure of every load that both have.
    pub differences: Vec<Difference>,
    /// Loads that only one of them has.
    pub only_in_one: Vec<String>,
    /// Whether the second is worse than what was allowed.
    pub is_failed: bool,
}

/// Compares a record with the one before it: every load that both have.
pub fn compare(before: &RunRecord, after: &RunRecord, options: &CompareOptions) -> Comparison {
    let (old, new) = (loads(before), loads(after));
    let mut comparison = Comparison { warnings: warnings(before, after), ..Comparison::default() };
    let mut seed = options.seed;
    for (key, points) in &old {
        let Some((_, others)) = new.iter().find(|(other, _)| other == key) else { continue };
        compare_load(&mut comparison.differences, points, others, &mut seed);
    }
    let is_in = |all: &[(Key, Vec<&MeasuredPoint>)], key: &Key| all.iter().any(|(other, _)| other == key);
    let lone = |side: &str,
                of: &[(Key, Vec<&MeasuredPoint>)],
                other: &[(Key, Vec<&MeasuredPoint>)]|
     -> Vec<String> {
        of.iter()
            .filter(|(key, _)| !is_in(other, key))
            .map(|(key, _)| format!("{}: only {side}", key.0))
            .collect()
    };
    comparison.only_in_one = [lone("before", &old, &new), lone("after", &new, &old)].concat();
    judge(&mut comparison, options);
    comparison
}

/// Configuration, nodes and load, in words: what has to be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Key(String);

/// The measurements of each load that count, replicates together; all of them where none counts.
fn loads(record: &RunRecord) -> Vec<(Key, Vec<&MeasuredPoint>)> {
    let mut found: Vec<(Key, Vec<&MeasuredPoint>)> = Vec::new();
    for point in &record.points {
        let (load, nodes) = (point.load.to_string(), nodes_in_words(point.nodes));
        let parts = [point.configuration.as_str(), &nodes, &load];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let key = Key(parts.join(", "));
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, points)) => points.push(point),
            None => found.push((key, vec![point])),
        }
    }
    for (_, points) in &mut found {
        if points.iter().any(|point| point.is_fitted()) {
            points.retain(|point| point.is_fitted());
        }
    }
    found
}

fn compare_load(
    differences: &mut Vec<Difference>,
    before: &[&MeasuredPoint],
    after: &[&MeasuredPoint],
    seed: &mut u64,
) {
    let Some(first) = before.first() else { return };
    let at = point_in_words(&MeasuredPoint { replicate: 0, ..MeasuredPoint::clone(first) });
    let mut steps: Vec<Option<&str>> = vec![None];
    let names: Vec<&str> = first.steps.iter().map(|step| step.name.as_str()).collect();
    // One step alone says the same as all together.
    if names.len() > 1 {
        steps.extend(names.into_iter().map(Some));
    }
    for step in steps {
        for metric in Metric::ALL {
            *seed = seed.wrapping_add(1);
            let sides = (side(before, step, metric), side(after, step, metric));
            if let (Some(old), Some(new)) = sides {
                differences.push(difference(&at, step, metric, &old, &new, *seed));
            }
        }
    }
}

fn difference(at: &str, step: Option<&str>, metric: Metric, old: &Side, new: &Side, seed: u64) -> Difference {
    let (before, after) = (old.value(), new.value());
    let change = if metric == Metric::Errors { after - before } else { after / before - 1.0 };
    let Interval { ends, method } = match metric {
        Metric::Errors => interval::of_shares(old, new),
        Metric::Rate | Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 | Metric::CpuUs => {
            interval::of_ratio(old, new, metric.percent(), seed)
        }
    };
    let is_lower_better = metric != Metric::Rate;
    let judgement = match ends {
        None => Judgement::Unknown,
        Some([low, _]) if low > 0.0 => {
            if is_lower_better {
                Judgement::Worse
            } else {
                Judgement::Better
            }
        }
        Some([_, high]) if high < 0.0 => {
            if is_lower_better {
                Judgement::Better
            } else {
                Judgement::Worse
            }
        }
        Some(_) => Judgement::Unclear,
    };
    let (at, step) = (at.to_owned(), step.map(str::to_owned));
    Difference { at, step, metric, before, after, change, interval: ends, method, judgement }
}

/// What one record says of a figure; `None` where it says nothing.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn side(points: &[&MeasuredPoint], step: Option<&str>, metric: Metric) -> Option<Side> {
    let latency = |point: &MeasuredPoint| match step {
        None => point.since_due(),
        Some(name) => {
            LatencyRecord::merged(point.steps.iter().filter(|it| it.name == name).map(|it| &it.since_due))
        }
    };
    let of = |point: &MeasuredPoint, failed: bool| -> u64 {
        let steps = point.steps.iter().filter(|it| step.is_none_or(|name| it.name == name));
        steps.map(|it| if failed { it.failed.values().sum::<u64>() + it.not_sent } else { it.answered }).sum()
    };
    let answered: u64 = points.iter().map(|point| of(point, false)).sum();
    let failed: u64 = points.iter().map(|point| of(point, true)).sum();
    let mut side = Side { all: (answered + failed) as f64, hits: failed as f64, ..Side::default() };
    match metric {
        Metric::Rate => {
            let rate = |point: &&MeasuredPoint| of(point, false) as f64 / point.measured_s;
            side.replicates =
                points.iter().map(rate).filter(|rate| *rate > 0.0 && rate.is_finite()).collect();
            side.hits = answered as f64;
            if step.is_none() {
                let seconds =
                    points.iter().flat_map(|point| &point.seconds).filter(|second| second.at_s >= 0.0);
                side.seconds = seconds.map(|second| second.answered as f64).collect();
            }
        }
        Metric::Errors => {
            side.replicates = vec![failed as f64 / (answered + failed).max(1) as f64];
        }
        Metric::CpuUs => {
            if step.is_some() {
                return None;
            }
            side.replicates = points.iter().filter_map(|point| Some(machine::cost(point)?.cpu_us)).collect();
            side.replicates.retain(|cost| *cost > 0.0);
        }
        Metric::P50 | Metric::P90 | Metric::P99 | Metric::P999 => {
            let percent = metric.percent()?;
            let all: Vec<LatencyRecord> =
                points.iter().map(|point| latency(point)).filter(|it| it.count() > 0).collect();
            side.replicates = all.iter().map(|it| it.percentile_ns(percent) as f64).collect();
            side.latency = LatencyRecord::merged(&all);
        }
    }
    Some(side).filter(|side| !side.replicates.is_empty())
}

fn judge(comparison: &mut Comparison, options: &CompareOptions) {
    let all = &comparison.differences;
    if all.is_empty() {
        comparison.verdict = "Nothing can be compared: the records have no load in common.".to_owned();
        // A gate that compared nothing has not been passed.
        comparison.is_failed = options.fail_if_slower.is_some();
        return;
    }
    let overall: Vec<&Difference> =
        all.iter().filter(|it| it.step.is_none() && it.metric.is_gated()).collect();
    let count = |wanted| overall.iter().filter(|it| it.judgement == wanted).count();
    let (worse, better) = (count(Judgement::Worse), count(Judgement::Better));
    let by = |one: &&&Difference, other: &&&Difference| one.worse_by().total_cmp(&other.worse_by());
    let named = |of: &Difference| {
        format!(
            "{} at {}: {} instead of {}",
            of.metric.name(),
            of.at,
            of.metric.written(of.after),
            of.metric.written(of.before)
        )
    };
    let worst = overall.iter().filter(|it| it.judgement == Judgement::Worse).max_by(by);
    let best = overall.iter().filter(|it| it.judgement == Judgement::Better).min_by(by);
    let mut said = match (worse, better) {
        (0, 0) => format!(
            "No difference is sure: none of {} figures (rate, p50, p90, p99 of each load) changed beyond its interval.",
            overall.len()
        ),
        (0, better) => {
            format!("Faster: {better} of {} figures are surely better, none is surely worse.", overall.len())
        }
        (worse, 0) => {
            format!("Slower: {worse} of {} figures are surely worse, none is surely better.", overall.len())
        }
        (worse, better) => format!(
            "Mixed: of {} figures {worse} are surely worse and {better} surely better.",
            overall.len()
        ),
    };
    said.extend(worst.map(|it| format!(" Most worse is {}.", named(it))));
    said.extend(best.map(|it| format!(" Most better is {}.", named(it))));
    if let Some(limit) = options.fail_if_slower {
        let beyond = |it: &&&Difference| it.judgement == Judgement::Worse && it.worse_by() > limit;
        let failed = overall.iter().filter(beyond).count();
        comparison.is_failed = failed > 0;
        let limit = crate::draw::percent(limit);
        said.push_str(&match failed {
            0 => format!(" Passed: nothing is surely slower by more than {limit}."),
            count => format!(" Failed: {count} figures are slower by more than {limit}, and surely slower."),
        });
    }
    comparison.verdict = said;
}

/// What differs in what was run, or on what.
fn warnings(before: &RunRecord, after: &RunRecord) -> Vec<String> {
    let mut said = Vec::new();
    let mut differs = |what: &str, old: String, new: String| {
        if old != new {
            let short = |text: &str| crate::draw::shortened(text, 120);
            said.push(format!("{what} differ: `{}` before, `{}` after.", short(&old), short(&new)));
        }
    };
    let machines = |record: &RunRecord| {
        let one = |it: &crate::record::MachineInfo| {
            format!("{}, {} threads, {}", it.processor.clone().unwrap_or_default(), it.cores, it.system)
        };
        record.machines.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    differs("Machines", machines(before), machines(after));
    let limits = |record: &RunRecord| {
        let one = |it: &crate::record::TargetInfo| format!("{}: {}", it.name, it.limits.join(", "));
        record.about.targets.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    differs("Limits of the targets", limits(before), limits(after));
    differs("Versions of the load generator", before.about.version.clone(), after.about.version.clone());
    differs("Names of the scenarios", before.about.name.clone(), after.about.name.clone());
    if before.about.scenario != after.about.scenario {
        said.push("The scenarios differ: what was asked may not be the same.".to_owned());
    }
    for (record, side) in [(before, "before"), (after, "after")] {
        said.extend(record.cut_short.iter().map(|why| format!("The run {side} was cut short: {why}.")));
        let marked = record.points.iter().filter(|point| !point.is_fitted()).count();
        if marked > 0 {
            let count = record.points.len();
            said.push(format!(
                "{marked} of {count} points {side} are marked (generator, neighbour, errors, cut short)."
            ));
        }
    }
    said
}

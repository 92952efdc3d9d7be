//! The output of `durward lab run`: a line each second, and a table at the end.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use durward_lab::record::{MeasuredPoint, PointLoad, RunRecord, nodes_in_words};
use durward_lab::run::{RunPosition, RunSecond, RunWatcher};
use durward_lab::scenario::Scenario;

/// Plain lines on standard error.
pub(super) struct ProgressLines {
    is_quiet: bool,
    measure_s: f64,
    /// Seconds of the warm-up so far.
    warm_up_s: u32,
}

impl ProgressLines {
    pub(super) fn new(scenario: &Scenario, is_quiet: bool) -> ProgressLines {
        ProgressLines { is_quiet, measure_s: scenario.load.measure.0.as_secs_f64(), warm_up_s: 0 }
    }

    fn say(&self, line: &str) {
        if !self.is_quiet {
            // Whoever closed standard error does not want to know.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

impl RunWatcher for ProgressLines {
    fn generator_limit(&mut self) {
        self.say("measuring what the generator can do at most");
    }

    fn begin(&mut self, place: &RunPosition) {
        self.warm_up_s = 0;
        self.say(&format!("[{}/{}] {}", place.number, place.count, what(place)));
    }

    fn second(&mut self, place: &RunPosition, moment: &RunSecond) {
        let second = &moment.second;
        if second.at_s >= self.measure_s {
            return;
        }
        let (phase, at_s) = if second.at_s < -0.001 {
            self.warm_up_s += 1;
            ("warm-up ", f64::from(self.warm_up_s))
        } else {
            ("measured", second.at_s + 1.0)
        };
        self.say(&format!(
            "[{}/{}] {phase} {at_s:>4.0} s  {:>9}/s  p50 {:>9}  p99 {:>9}  failed {}",
            place.number,
            place.count,
            second.answered,
            ms(second.p50_ns),
            ms(second.p99_ns),
            second.failed
        ));
    }

    fn end(&mut self, place: &RunPosition, point: &MeasuredPoint) {
        for mark in &point.marks {
            self.say(&format!("[{}/{}] {mark}", place.number, place.count));
        }
    }
}

fn what(place: &RunPosition) -> String {
    let nodes = nodes_in_words(place.nodes);
    let comma = if place.configuration.is_empty() { "" } else { ", " };
    format!("{}, {nodes}{comma}{}", place.load, place.configuration)
}

/// Nanoseconds as milliseconds.
fn ms(ns: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "below an hour")]
    let ms = ns as f64 / 1e6;
    format!("{ms:.2} ms")
}

/// By what points stand in a table: they were measured in a shuffled order.
fn order(point: &MeasuredPoint) -> (&str, usize, f64, u32) {
    #[expect(clippy::cast_precision_loss, reason = "no more than a million users")]
    let load = match point.load {
        PointLoad::Users(users) => users as f64,
        PointLoad::Arrivals(rate) => rate,
    };
    (&point.configuration, point.nodes, load, point.replicate)
}

/// The record as a table: a line each point, and what is to be known beside it.
pub(super) fn table(record: &RunRecord) -> String {
    let mut out = String::new();
    // Writing into a text does not fail.
    let _ = writeln!(
        out,
        "{:<24} {:>5} {:>16} {:>10} {:>11} {:>11} {:>11} {:>11} {:>8} {:>5}",
        "configuration", "nodes", "load", "answers/s", "p50", "p90", "p99", "max", "failed", "load%"
    );
    let mut points: Vec<&MeasuredPoint> = record.points.iter().collect();
    points.sort_by(|one, other| order(one).partial_cmp(&order(other)).unwrap_or(Ordering::Equal));
    for point in &points {
        let all = point.since_due();
        // Nothing answered is not answered in no time.
        let time = |ns| if all.count() == 0 { "–".to_owned() } else { ms(ns) };
        let percent = |percent| time(all.percentile_ns(percent));
        let _ = writeln!(
            out,
            "{:<24} {:>5} {:>16} {:>10.1} {:>11} {:>11} {:>11} {:>11} {:>7.2}% {:>4.0}%{}",
            point.configuration,
            point.nodes,
            point.load.to_string(),
            point.throughput(),
            percent(50.0),
            percent(90.0),
            percent(99.0),
            time(all.max_ns()),
            point.error_share() * 100.0,
            point.generator.busy * 100.0,
            if point.marks.is_empty() { "" } else { "  *" }
        );
    }
    for point in points {
        for mark in &point.marks {
            let _ = writeln!(out, "* {}, {}: {mark}", point.load, nodes_in_words(point.nodes));
        }
        for step in &point.steps {
            if step.events > 0 {
                let gap = |percent| ms(step.gaps.percentile_ns(percent));
                let _ = writeln!(
                    out,
                    "  {}, {}: {}: {} events of streams, between two of them p50 {}, p99 {}",
                    point.load,
                    nodes_in_words(point.nodes),
                    step.name,
                    step.events,
                    gap(50.0),
                    gap(99.0)
                );
            }
            for (cause, count) in &step.failed {
                let _ = writeln!(
                    out,
                    "  {}, {}: {}: {count} times {cause}",
                    point.load,
                    nodes_in_words(point.nodes),
                    step.name
                );
            }
        }
    }
    if let Some(limit) = &record.generator_limit {
        let busy = limit.busy * 100.0;
        let _ = writeln!(
            out,
            "generator alone: {:.0} requests/s with {} threads, {busy:.0} % busy",
            limit.requests_per_s, limit.threads
        );
    }
    for search in &record.searches {
        let comma = if search.configuration.is_empty() { "" } else { ", " };
        let nodes = nodes_in_words(search.nodes);
        let _ = writeln!(out, "limit of {nodes}{comma}{}: {}", search.configuration, search.verdict);
    }
    for threshold in &record.thresholds {
        let word = if threshold.is_kept { "kept  " } else { "BROKEN" };
        let _ = writeln!(out, "threshold {word} {}: {}", threshold.threshold, threshold.measured);
    }
    if record.answered() == 0 {
        let _ = writeln!(out, "not one request was answered as expected");
    }
    if let Some(why) = &record.cut_short {
        let _ = writeln!(out, "cut short: {why}");
    }
    for note in &record.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

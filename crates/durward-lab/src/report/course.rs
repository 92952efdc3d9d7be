//! What happened within points: nodes, resources, errors, seconds.

use std::collections::BTreeMap;

use super::document::Document;
use super::select::{self, point_in_words};
use super::throughput;
use crate::draw::{AxisSpec, Chart, Colour, Dash, SERIES_MAX, Scale, Spot, bytes, count, percent, shortened};
use crate::fit::LoadUnit;
use crate::record::{MeasuredPoint, NodeResult, RunRecord};

/// Adds nodes, resources, errors and seconds, as far as the record has them.
pub(super) fn add(document: &mut Document, record: &RunRecord, by: LoadUnit, prefix: &str) {
    nodes(document, record, prefix);
    resources(document, record, prefix);
    errors(document, record, by, prefix);
    seconds(document, record, prefix);
}

/// The point with the most nodes that have figures, of the greatest throughput.
fn widest(record: &RunRecord) -> Option<&MeasuredPoint> {
    let several = record.points.iter().filter(|point| point.by_node.len() > 1);
    several.max_by(|one, other| {
        (one.by_node.len(), one.throughput())
            .partial_cmp(&(other.by_node.len(), other.throughput()))
            .unwrap_or(std::cmp::Ordering::Equal)
    })
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn nodes(document: &mut Document, record: &RunRecord, prefix: &str) {
    if record.points.iter().all(|point| point.by_node.is_empty()) {
        return;
    }
    document.heading("By node");
    if let Some(widest) = widest(record) {
        let x = AxisSpec {
            label: "load (users, or arrivals/s)".to_owned(),
            ..throughput::axis(record, LoadUnit::Users)
        };
        let y =
            AxisSpec { label: "right answers/s of one node".to_owned(), scale: Scale::Linear, format: count };
        let mut chart = Chart::new("Right answers by node", "What each node answered, against load.", x, y);
        let same = |point: &&MeasuredPoint| {
            point.by_node.len() == widest.by_node.len() && point.configuration == widest.configuration
        };
        let points: Vec<&MeasuredPoint> = record.points.iter().filter(same).collect();
        for (number, node) in widest.by_node.iter().take(SERIES_MAX).enumerate() {
            let mut spots: Vec<Spot> = points
                .iter()
                .filter_map(|point| Some((*point, point.by_node.get(number)?)))
                .map(|(point, of)| Spot {
                    x: select::load_of(point),
                    y: of.answered as f64 / point.measured_s.max(f64::MIN_POSITIVE),
                    is_hollow: !point.is_fitted(),
                    title: format!("{}: {}", shortened(&of.name, 60), count(of.answered as f64)),
                })
                .collect();
            spots.sort_by(|one, other| one.x.total_cmp(&other.x));
            chart.series(&node.name, number, Dash::Solid, spots);
        }
        let caption = format!(
            "Points of {} nodes. Lines that part show a load that was not shared evenly.",
            widest.by_node.len()
        );
        document.figure(&format!("{prefix}nodes"), chart.scene(), &caption);
    }
    let ordered = select::in_order(record).into_iter();
    let rows = ordered.flat_map(|point| point.by_node.iter().map(move |node| node_row(point, node)));
    let columns = [
        "point",
        "node",
        "right",
        "share",
        "failed",
        "p50",
        "p99",
        "cores in use",
        "of",
        "held back",
        "memory peak",
        "its limit",
        "seen by",
    ];
    document.table(
        "Each node at each point: what it answered and what it used.",
        &columns,
        2,
        rows.collect(),
    );
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn node_row(point: &MeasuredPoint, node: &NodeResult) -> Vec<String> {
    let all: u64 = point.by_node.iter().map(|node| node.answered).sum();
    let mut row = vec![
        point_in_words(point),
        node.name.clone(),
        count(node.answered as f64),
        percent(node.answered as f64 / all.max(1) as f64),
        count(node.failed as f64),
        super::latency::at(&node.since_due, 50.0),
        super::latency::at(&node.since_due, 99.0),
    ];
    match &node.used {
        None => row.extend(["–", "–", "–", "–", "–", "not seen"].map(str::to_owned)),
        Some(used) => row.extend([
            count(used.cpu_s / point.measured_s.max(f64::MIN_POSITIVE)),
            count(used.cores),
            percent(used.throttled_periods as f64 / used.periods.max(1) as f64),
            bytes(used.memory_peak_bytes.max(used.memory_bytes) as f64),
            used.memory_max_bytes.map_or_else(|| "none".to_owned(), |max| bytes(max as f64)),
            used.source.clone(),
        ]),
    }
    row
}

#[expect(clippy::cast_precision_loss, reason = "no machine has 2^53 bytes")]
fn resources(document: &mut Document, record: &RunRecord, prefix: &str) {
    let has_samples = |point: &&MeasuredPoint| {
        point.by_node.iter().any(|node| node.used.as_ref().is_some_and(|used| !used.samples.is_empty()))
    };
    let by_rate =
        |one: &&MeasuredPoint, other: &&MeasuredPoint| one.throughput().total_cmp(&other.throughput());
    let Some(point) = record.points.iter().filter(has_samples).max_by(by_rate) else { return };
    document.heading("Resources over time");
    document.text(&format!(
        "At the point of the greatest throughput that has samples: {}.",
        point_in_words(point)
    ));
    let time = || AxisSpec {
        label: "seconds since measuring began".to_owned(),
        scale: Scale::Linear,
        format: count,
    };
    let cores = AxisSpec { label: "cores in use".to_owned(), scale: Scale::Linear, format: count };
    let memory = AxisSpec { label: "memory".to_owned(), scale: Scale::Binary, format: bytes };
    let mut cpu_chart = Chart::new("Processor by node", "Cores in use over time, by node.", time(), cores);
    let mut memory_chart = Chart::new("Memory by node", "Memory in use over time, by node.", time(), memory);
    for (number, node) in point.by_node.iter().take(SERIES_MAX).enumerate() {
        let samples = || node.used.iter().flat_map(|used| &used.samples);
        let colour = Colour::Series(number);
        let name = shortened(&node.name, 40);
        cpu_chart.curve(&name, colour, Dash::Solid, samples().map(|it| (it.at_s, it.cpus)).collect());
        memory_chart.curve(
            &name,
            colour,
            Dash::Solid,
            samples().map(|it| (it.at_s, it.memory_bytes as f64)).collect(),
        );
    }
    if let Some(limit) = point.by_node.iter().find_map(|node| node.used.as_ref()).map(|used| used.cores) {
        let last = point.measured_s;
        cpu_chart.curve("cores it may use", Colour::Ink, Dash::Dashed, vec![(0.0, limit), (last, limit)]);
    }
    document.figure(
        &format!("{prefix}processor"),
        cpu_chart.scene(),
        "A line at the dashed one means that the processor is the limit.",
    );
    document.figure(
        &format!("{prefix}memory"),
        memory_chart.scene(),
        "Memory that only grows does not come back after requests.",
    );
}

#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn errors(document: &mut Document, record: &RunRecord, by: LoadUnit, prefix: &str) {
    let mut rows = Vec::new();
    for point in select::in_order(record) {
        let mut causes: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for step in &point.steps {
            step.failed
                .iter()
                .for_each(|(cause, number)| *causes.entry((&step.name, cause)).or_default() += number);
            if step.not_sent > 0 {
                *causes.entry((&step.name, "never sent")).or_default() += step.not_sent;
            }
        }
        let all = (point.answered() + point.failed()).max(1) as f64;
        rows.extend(causes.into_iter().map(|((step, cause), number)| {
            let share = percent(number as f64 / all);
            vec![point_in_words(point), step.to_owned(), cause.to_owned(), count(number as f64), share]
        }));
    }
    document.heading("Errors by cause");
    if rows.is_empty() {
        document.text("No request failed.");
        return;
    }
    let y =
        AxisSpec { label: "share of requests that failed".to_owned(), scale: Scale::Linear, format: percent };
    let description = "The share of requests that failed, against load.";
    let mut chart = Chart::new("Failed requests", description, throughput::axis(record, by), y);
    for (number, group) in select::groups(record, by).iter().take(SERIES_MAX).enumerate() {
        let mut spots: Vec<Spot> = group
            .points
            .iter()
            .map(|point| Spot {
                x: select::n_of(point, by),
                y: point.error_share(),
                is_hollow: !point.is_fitted(),
                title: format!("{}: {}", point_in_words(point), percent(point.error_share())),
            })
            .collect();
        spots.sort_by(|one, other| one.x.total_cmp(&other.x));
        chart.series(
            if group.label.is_empty() { "failed" } else { &group.label },
            number,
            Dash::Solid,
            spots,
        );
    }
    document.figure(
        &format!("{prefix}errors"),
        chart.scene(),
        "Failed and never sent, of all that were due.",
    );
    document.table(
        "Failed requests by cause; the share is of all that were due.",
        &["point", "step", "cause", "requests", "share"],
        3,
        rows,
    );
}

#[expect(clippy::cast_precision_loss, reason = "no second has 2^53 requests")]
fn seconds(document: &mut Document, record: &RunRecord, prefix: &str) {
    let Some(point) = select::best(record).filter(|point| point.seconds.len() > 1) else { return };
    document.heading("Second by second");
    document.text(&format!(
        "At {}; before 0 the target was warming up. Other points are in the file of seconds.",
        point_in_words(point)
    ));
    let time = || AxisSpec {
        label: "seconds since measuring began".to_owned(),
        scale: Scale::Linear,
        format: count,
    };
    let y = AxisSpec { label: "requests in one second".to_owned(), scale: Scale::Linear, format: count };
    let mut rate =
        Chart::new("Requests, second by second", "Right answers and failures in each second.", time(), y);
    // In what is left after the last whole second, answers were only waited for.
    let is_whole = |second: &&crate::record::MeasuredSecond| second.at_s + 1.0 <= point.measured_s + 0.001;
    let of = |value: fn(&crate::record::MeasuredSecond) -> f64| {
        let whole = point.seconds.iter().filter(is_whole);
        whole.map(|second| (second.at_s, value(second))).collect::<Vec<_>>()
    };
    rate.curve("right", Colour::Series(0), Dash::Solid, of(|second| second.answered as f64));
    rate.curve("failed", Colour::Series(1), Dash::Dashed, of(|second| second.failed as f64));
    document.figure(
        &format!("{prefix}seconds"),
        rate.scene(),
        "A line that still rises or falls after 0 says that the target was not steady.",
    );
    let y = AxisSpec {
        label: "time since the request was due".to_owned(),
        scale: Scale::Log,
        format: crate::draw::time,
    };
    let mut latency = Chart::new(
        "Times, second by second",
        "Percentiles of the time of requests in each second.",
        time(),
        y,
    );
    latency.curve("p50", Colour::Series(0), Dash::Solid, of(|second| second.p50_ns as f64));
    latency.curve("p99", Colour::Series(1), Dash::Dashed, of(|second| second.p99_ns as f64));
    document.figure(
        &format!("{prefix}seconds-times"),
        latency.scene(),
        "Spikes are stalls: of the target, its quota or its machine.",
    );
}

//! How long requests took: percentiles against load by step, their distribution, and Little's law.

use super::document::Document;
use super::select::{self, Group, evenly, point_in_words};
use super::throughput;
use crate::draw::{AxisSpec, Chart, Dash, SERIES_MAX, Scale, Spot, count, shortened, time};
use crate::fit::LoadUnit;
use crate::record::{LatencyRecord, MeasuredPoint, PointLoad, RunRecord, StepResult, nodes_in_words};

/// Steps beyond have no picture, only rows of tables.
const STEPS_DRAWN: usize = 12;
/// Percentiles that are shown: of a hundred.
pub(super) const PERCENTILES: [(f64, &str); 4] =
    [(50.0, "p50"), (90.0, "p90"), (99.0, "p99"), (99.9, "p99.9")];
/// Loads in one picture of distributions.
const DISTRIBUTIONS: usize = 6;
/// Places of a distribution: from half of the requests to all but so many powers of ten.
const DECADES: i32 = 5;

/// Adds pictures and tables of percentiles, of distributions and of residence times.
pub(super) fn add(document: &mut Document, record: &RunRecord, by: LoadUnit, prefix: &str) {
    let groups = select::groups(record, by);
    document.heading("How long requests took, against load");
    document.text(
        "Times are since a request was due, so that what a stall holds back counts. Beside them stands p99 since it was sent \
         (uncorrected): what tools report that wait for one answer before they ask again. Failed requests are not among them: \
         they stand by cause below.",
    );
    for (number, name) in select::step_names(record).into_iter().take(STEPS_DRAWN).enumerate() {
        let chart = percentiles(record, by, &groups, name);
        document.figure(
            &format!("{prefix}percentiles-{}", number + 1),
            chart.scene(),
            "Lower is better. Both axes begin where values do; equal distances up are equal ratios. Hollow marks were left out of fits.",
        );
    }
    percentiles_table(document, record);
    events_table(document, record);
    for (number, group) in groups.iter().take(SERIES_MAX).enumerate() {
        let chart = distribution(group);
        document.figure(
            &format!("{prefix}distribution-{}", number + 1),
            chart.scene(),
            "The part of requests that took longer than the time at the left: further right are rarer ones. All steps together, since due.",
        );
    }
    residence(document, record, by, &groups, prefix);
}

fn axis_time(label: &str) -> AxisSpec {
    AxisSpec { label: label.to_owned(), scale: Scale::Log, format: time }
}

#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
fn percentiles(record: &RunRecord, by: LoadUnit, groups: &[Group<'_>], step: &str) -> Chart {
    let title = format!("Time for {}", shortened(step, 50));
    let description = format!("Percentiles of the time that {} took, against load.", shortened(step, 50));
    let y = axis_time("time since the request was due");
    let mut chart = Chart::new(&title, &description, throughput::axis(record, by), y);
    let spots = |group: &Group<'_>, of: fn(&StepResult) -> &LatencyRecord, percent: f64| {
        let mut spots: Vec<Spot> = group
            .points
            .iter()
            .flat_map(|point| point.steps.iter().filter(|it| it.name == step).map(move |it| (point, it)))
            .filter(|(_, result)| of(result).count() > 0)
            .map(|(point, result)| {
                let value = of(result).percentile_ns(percent) as f64;
                Spot {
                    x: select::n_of(point, by),
                    y: value,
                    is_hollow: !point.is_fitted(),
                    title: format!("{}: {}", point_in_words(point), time(value)),
                }
            })
            .collect();
        spots.sort_by(|one, other| one.x.total_cmp(&other.x));
        spots
    };
    if let [group] = groups {
        for (number, (percent, name)) in PERCENTILES.iter().enumerate() {
            chart.series(name, number, Dash::Solid, spots(group, |it| &it.since_due, *percent));
        }
        chart.series("p99 uncorrected", 4, Dash::Dotted, spots(group, |it| &it.since_sent, 99.0));
    } else {
        for (number, group) in groups.iter().take(SERIES_MAX).enumerate() {
            chart.series(
                &format!("{}: p99", group.label),
                number,
                Dash::Solid,
                spots(group, |it| &it.since_due, 99.0),
            );
            let p50 = spots(group, |it| &it.since_due, 50.0);
            let colour = crate::draw::Colour::Series(number);
            let counted = p50.iter().filter(|spot| !spot.is_hollow).map(|spot| (spot.x, spot.y)).collect();
            chart.curve("", colour, Dash::Dashed, counted);
        }
        chart.legend.push(crate::draw::Entry {
            label: "dashed: p50".to_owned(),
            colour: crate::draw::Colour::Ink,
            mark: None,
            dash: Dash::Dashed,
            is_hollow: false,
        });
    }
    chart
}

#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
fn percentiles_table(document: &mut Document, record: &RunRecord) {
    let mut rows = Vec::new();
    for point in select::in_order(record) {
        for step in &point.steps {
            let failed = step.failed.values().sum::<u64>() + step.not_sent;
            let mut row = vec![
                point_in_words(point),
                step.name.clone(),
                count(step.answered as f64),
                count(failed as f64),
            ];
            row.extend(PERCENTILES.iter().map(|(percent, _)| at(&step.since_due, *percent)));
            row.push(if step.since_due.count() > 0 {
                time(step.since_due.max_ns() as f64)
            } else {
                "–".to_owned()
            });
            row.extend([50.0, 99.0].map(|percent| at(&step.since_sent, percent)));
            rows.push(row);
        }
    }
    let columns = [
        "point",
        "step",
        "right",
        "failed",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "p50 uncorrected",
        "p99 uncorrected",
    ];
    document.table("Times by step, of right answers.", &columns, 2, rows);
}

/// Events of steps that hold streams; nothing where no step does.
#[expect(clippy::cast_precision_loss, reason = "no run counts to 2^53")]
fn events_table(document: &mut Document, record: &RunRecord) {
    let mut rows = Vec::new();
    for point in select::in_order(record) {
        for step in point.steps.iter().filter(|step| step.events > 0) {
            let mut row = vec![
                point_in_words(point),
                step.name.clone(),
                count(step.events as f64),
                count(step.events as f64 / point.measured_s.max(f64::MIN_POSITIVE)),
            ];
            row.extend([50.0, 90.0, 99.0].map(|percent| at(&step.gaps, percent)));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return;
    }
    let columns = ["point", "step", "events", "events/s", "between two p50", "p90", "p99"];
    document.table("Events of streams, and the time between two of one stream.", &columns, 2, rows);
}

/// A percentile as text; a dash of nothing.
#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
pub(super) fn at(latency: &LatencyRecord, percent: f64) -> String {
    if latency.count() == 0 { "–".to_owned() } else { time(latency.percentile_ns(percent) as f64) }
}

#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
fn distribution(group: &Group<'_>) -> Chart {
    let of = if group.label.is_empty() { String::new() } else { format!(": {}", group.label) };
    let x = AxisSpec { label: "part of the requests".to_owned(), scale: Scale::Log, format: part };
    let title = format!("Distribution of times{of}");
    let description =
        "The time within which a part of the requests was answered, from half of them to the slowest.";
    let mut chart = Chart::new(&title, description, x, axis_time("time since the request was due"));
    let mut points: Vec<&&MeasuredPoint> = group.points.iter().filter(|point| point.replicate == 0).collect();
    points.sort_by(|one, other| select::load_of(one).total_cmp(&select::load_of(other)));
    for (number, point) in evenly(&points, DISTRIBUTIONS).enumerate() {
        let latency = point.since_due();
        let places = (0..=DECADES * 8).map(|step| 2.0 * 10f64.powf(f64::from(step) / 8.0));
        // What lies beyond the last request is not known.
        let known = places.take_while(|rarity| *rarity <= latency.count() as f64);
        let line = known.map(|rarity| (rarity, latency.percentile_ns(100.0 * (1.0 - 1.0 / rarity)) as f64));
        let colour = crate::draw::Colour::Series(number);
        let dash = [Dash::Solid, Dash::Dashed, Dash::Dotted].get(number % 3).copied().unwrap_or(Dash::Solid);
        let label = if point.nodes > 1 {
            format!("{}, {}", select::load_in_words(point.load), nodes_in_words(point.nodes))
        } else {
            select::load_in_words(point.load)
        };
        chart.curve(&label, colour, dash, line.collect());
    }
    chart
}

/// One request in so many is slower: as a percentile.
fn part(rarity: f64) -> String {
    match rarity {
        r if r < 1.5 => "0 %".to_owned(),
        r if r < 3.0 => "50 %".to_owned(),
        r if r < 7.0 => "80 %".to_owned(),
        r => {
            let percent = 100.0 * (1.0 - 1.0 / r);
            let text = format!("{percent:.5}");
            format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 users")]
fn residence(document: &mut Document, record: &RunRecord, by: LoadUnit, groups: &[Group<'_>], prefix: &str) {
    document.heading("Residence times and Little's law");
    document.text(
        "Throughput (X) times the mean time from sending to the answer (R) is how many requests were under way. Of users who never \
         pause it is the number of users; below it, users pause between requests, and N in a fit should be X times R.",
    );
    let x = AxisSpec {
        label: "load (users, or arrivals/s)".to_owned(),
        ..throughput::axis(record, LoadUnit::Users)
    };
    let y =
        AxisSpec { label: "requests under way (X times R)".to_owned(), scale: Scale::Linear, format: count };
    let description = "Requests under way, by Little's law, against load.";
    let mut chart = Chart::new("Requests under way against load", description, x, y);
    for (number, group) in groups.iter().take(SERIES_MAX).enumerate() {
        let label = if group.label.is_empty() { "X times R" } else { &group.label };
        let spot = |point: &&MeasuredPoint| Spot {
            x: select::load_of(point),
            y: point.concurrency(),
            is_hollow: !point.is_fitted(),
            title: format!("{}: {}", point_in_words(point), count(point.concurrency())),
        };
        let mut spots: Vec<Spot> = group.points.iter().map(spot).collect();
        spots.sort_by(|one, other| one.x.total_cmp(&other.x));
        chart.series(label, number, Dash::Solid, spots);
    }
    let users = record.points.iter().filter_map(|point| match point.load {
        PointLoad::Users(users) => Some(users as f64),
        PointLoad::Arrivals(_) => None,
    });
    let mut users: Vec<f64> = users.collect();
    users.sort_by(f64::total_cmp);
    if !users.is_empty() {
        let line = users.iter().map(|users| (*users, *users)).collect();
        chart.curve("users who never pause", crate::draw::Colour::Grey, Dash::Dashed, line);
    }
    document.figure(
        &format!("{prefix}under-way"),
        chart.scene(),
        "On the dashed line no user pauses; far below it users pace themselves.",
    );
    let rows = select::in_order(record).into_iter().map(|point| little_row(point, by)).collect();
    let columns = ["point", "N of the fit", "X (/s)", "mean R", "X times R", "X R / users"];
    document.table("Little's law, point by point.", &columns, 1, rows);
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^53 users")]
fn little_row(point: &MeasuredPoint, by: LoadUnit) -> Vec<String> {
    let (rate, under_way) = (point.throughput(), point.concurrency());
    let mean = if rate > 0.0 { time(under_way / rate * 1e9) } else { "–".to_owned() };
    let part = match point.load {
        PointLoad::Users(users) => count(under_way / users.max(1) as f64),
        PointLoad::Arrivals(_) => "–".to_owned(),
    };
    vec![point_in_words(point), count(select::n_of(point, by)), count(rate), mean, count(under_way), part]
}

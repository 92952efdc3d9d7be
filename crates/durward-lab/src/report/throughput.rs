//! Throughput against load, with the law, its interval and its rivals.

use super::document::Document;
use super::machine;
use super::select::{self, Group, point_in_words};
use crate::draw::{
    AxisSpec, Chart, Colour, Dash, Entry, Item, Mark, SERIES_MAX, Scale, Spot, count, percent, whole,
};
use crate::fit::{self, ExtrapolationZone, Fit, LoadUnit};
use crate::record::{MeasuredPoint, PointWarning as Doubt, RunRecord};

/// Resampled points of one curve, at most: more points need fewer resamples, and more time.
const RESAMPLED_MAX: usize = 20_000;

/// The fits of a record: the label of each curve, as [`select::groups`] has it, and what was fitted.
pub(super) fn fits(record: &RunRecord, by: LoadUnit) -> Vec<(String, fit::FitReport)> {
    let labels = select::groups(record, by).into_iter().map(|group| group.label);
    labels
        .zip(fit::curves(record, by))
        .map(|(label, curve)| {
            let options = fit::FitOptions {
                n_is: by,
                left_out: curve.left_out,
                seed: record.about.seed,
                resamples: (RESAMPLED_MAX / curve.observations.len().max(1)).clamp(50, 1_000),
                ..fit::FitOptions::default()
            };
            (label, fit::of(&curve.observations, &options))
        })
        .collect()
}

/// What N is, as the label of an axis.
pub(super) fn axis(record: &RunRecord, by: LoadUnit) -> AxisSpec {
    let is_open =
        record.points.iter().any(|point| matches!(point.load, crate::record::PointLoad::Arrivals(_)));
    let label = match by {
        LoadUnit::Nodes => "nodes",
        LoadUnit::Concurrency => "requests under way (throughput times residence time)",
        LoadUnit::Users | LoadUnit::Unknown if is_open => "arrivals/s",
        LoadUnit::Users | LoadUnit::Unknown => "users",
    };
    let all = || record.points.iter().map(|point| select::n_of(point, by)).filter(|n| *n > 0.0);
    let (least, greatest) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let scale = if greatest > least * 50.0 { Scale::Log } else { Scale::Linear };
    AxisSpec { label: label.to_owned(), scale, format: if by == LoadUnit::Nodes { whole } else { count } }
}

/// Adds the picture, the table of points and the table of fits.
pub(super) fn add(
    document: &mut Document,
    record: &RunRecord,
    by: LoadUnit,
    fits: &[(String, fit::FitReport)],
    prefix: &str,
) {
    let groups = select::groups(record, by);
    document.heading("Throughput against load");
    for (part, groups) in groups.chunks(SERIES_MAX).enumerate() {
        let name = if part == 0 {
            format!("{prefix}throughput")
        } else {
            format!("{prefix}throughput-{}", part + 1)
        };
        let chart = chart(record, by, groups, fits);
        document.figure(
            &name,
            chart.scene(),
            "Higher is better. Hollow marks did not count: the generator, a neighbour, errors or an early end limited them (table of \
             marks). The band holds the law in 19 of 20 resamples of the points. Beyond the last point the line is extrapolated, beyond twice \
             the measured range it is grey: nothing should be staked on it. By nodes, the law is that of the load under which so many \
             nodes did most; other loads lie below.",
        );
    }
    fit_table(document, fits, by);
    points_table(document, record);
    super::agents::add(document, record);
    marks_table(document, record);
}

/// The picture: every point, the fits and, where there is one curve, the rivals.
pub(super) fn chart(
    record: &RunRecord,
    by: LoadUnit,
    groups: &[Group<'_>],
    fits: &[(String, fit::FitReport)],
) -> Chart {
    let axis = axis(record, by);
    let title = format!("Throughput against {}", axis.label.split(" (").next().unwrap_or_default());
    let description =
        format!("Right answers a second against {}: {} points.", axis.label, record.points.len());
    let y = AxisSpec { label: "right answers/s".to_owned(), scale: Scale::Linear, format: count };
    let mut chart = Chart::new(&title, &description, axis, y);
    for (number, group) in groups.iter().enumerate() {
        let report = fits.iter().find(|(label, _)| *label == group.label).map(|(_, report)| report);
        let is_alone = groups.len() == 1;
        let is_fitted = report.is_some_and(|report| draw_law(&mut chart, report, number, is_alone));
        draw_points(&mut chart, group, by, number, is_fitted);
    }
    if record.points.iter().any(|point| !point.is_fitted()) {
        chart.legend.push(Entry {
            label: "left out of fits".to_owned(),
            colour: Colour::Ink,
            mark: Some(Mark::Circle),
            dash: Dash::Solid,
            is_hollow: true,
        });
    }
    chart
}

fn draw_points(chart: &mut Chart, group: &Group<'_>, by: LoadUnit, number: usize, is_fitted: bool) {
    let label = if group.label.is_empty() { "measured" } else { &group.label };
    let mut spots: Vec<Spot> = group.points.iter().map(|point| spot(point, by)).collect();
    spots.sort_by(|one, other| one.x.total_cmp(&other.x));
    if is_fitted {
        let (colour, mark) = (Colour::Series(number), Mark::of_series(number));
        chart.items.push(Item::Spots { spots, mark, colour });
        chart.name(label, number, Dash::Solid, true);
    } else {
        chart.series(label, number, Dash::Dotted, spots);
    }
}

fn spot(point: &MeasuredPoint, by: LoadUnit) -> Spot {
    Spot {
        x: select::n_of(point, by),
        y: point.throughput(),
        is_hollow: !point.is_fitted(),
        title: format!("{}: {}/s", point_in_words(point), count(point.throughput())),
    }
}

/// Draws a fitted law; `false` where there is none.
fn draw_law(chart: &mut Chart, report: &fit::FitReport, number: usize, has_rivals: bool) -> bool {
    if report.curve.is_empty() {
        return false;
    }
    let Some(law) = report.fits.usl.as_ref().map(|fit| fit.law) else { return false };
    let of = |zones: &[ExtrapolationZone]| {
        report.curve.iter().filter(|at| zones.contains(&at.zone)).map(|at| (at.n, at.x)).collect::<Vec<_>>()
    };
    let band = report.curve.iter().filter(|at| at.zone != ExtrapolationZone::Grey);
    let band: Vec<_> = band.filter_map(|at| Some((at.n, at.low?, at.high?))).collect();
    chart.items.push(Item::Band { points: dense_band(band), colour: Colour::Series(number) });
    let far = report.curve.iter().filter(|at| at.zone == ExtrapolationZone::Grey);
    let far: Vec<_> = far.filter_map(|at| Some((at.n, at.low?, at.high?))).collect();
    chart.items.push(Item::Band { points: dense_band(far), colour: Colour::Grey });
    if has_rivals {
        rivals(chart, report);
    }
    let colour = Colour::Series(number);
    let name = |text: &str| if has_rivals { text.to_owned() } else { String::new() };
    chart.curve(&name("law (USL)"), colour, Dash::Solid, dense(&law, of(&[ExtrapolationZone::Measured])));
    let beyond = joined(of(&[ExtrapolationZone::Measured]), of(&[ExtrapolationZone::Extrapolated]));
    if beyond.len() > 1 {
        chart.curve(&name("extrapolated"), colour, Dash::Dashed, dense(&law, beyond));
    }
    let grey = joined(of(&[ExtrapolationZone::Extrapolated]), of(&[ExtrapolationZone::Grey]));
    if grey.len() > 1 {
        chart.curve("", Colour::Grey, Dash::Dotted, dense(&law, grey));
    }
    true
}

/// Between two places of a curve lie so many more: a logarithmic axis would show corners.
const BETWEEN: u32 = 8;

/// Where to draw from one N to the next.
fn between(from: f64, to: f64) -> impl Iterator<Item = f64> {
    (0..BETWEEN).map(move |step| from + (to - from) * f64::from(step) / f64::from(BETWEEN))
}

fn dense(law: &fit::Law, points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let pairs = points.iter().zip(points.iter().skip(1));
    let mut all: Vec<(f64, f64)> =
        pairs.flat_map(|(from, to)| between(from.0, to.0)).map(|n| (n, law.x(n))).collect();
    all.extend(points.last());
    all
}

fn dense_band(points: Vec<(f64, f64, f64)>) -> Vec<(f64, f64, f64)> {
    let mut all = Vec::new();
    for (from, to) in points.iter().zip(points.iter().skip(1)) {
        let part = |n: f64| (n - from.0) / (to.0 - from.0);
        let along = |n: f64, a: f64, b: f64| a + (b - a) * part(n);
        all.extend(between(from.0, to.0).map(|n| (n, along(n, from.1, to.1), along(n, from.2, to.2))));
    }
    all.extend(points.last());
    all
}

/// The second line, from the last place of the first.
fn joined(first: Vec<(f64, f64)>, second: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if second.is_empty() { second } else { first.last().copied().into_iter().chain(second).collect() }
}

/// Amdahl's law and the straight line, over what was measured and not far above it.
fn rivals(chart: &mut Chart, report: &fit::FitReport) {
    let top = report.points.iter().map(|point| point.x).fold(0.0, f64::max) * 1.4;
    for (label, fit, colour) in [
        ("Amdahl", &report.fits.amdahl, Colour::Series(1)),
        ("linear", &report.fits.linear, Colour::Series(2)),
    ] {
        let Some(fit) = fit else { continue };
        let measured = report.curve.iter().filter(|at| at.zone == ExtrapolationZone::Measured);
        let points = measured.map(|at| (at.n, fit.law.x(at.n))).collect();
        let points = dense(&fit.law, points).into_iter().filter(|(_, x)| *x <= top).collect();
        chart.curve(label, colour, Dash::Dotted, points);
    }
}

fn fit_table(document: &mut Document, fits: &[(String, fit::FitReport)], by: LoadUnit) {
    let mut rows = Vec::new();
    for (label, report) in fits {
        let laws =
            [("USL", &report.fits.usl), ("Amdahl", &report.fits.amdahl), ("linear", &report.fits.linear)];
        rows.extend(laws.into_iter().filter_map(|(name, fit)| Some(fit_row(label, name, fit.as_ref()?))));
    }
    let peak = format!("peak at ({})", by.noun());
    let columns =
        ["curve", "law", "lambda (/s)", "sigma", "kappa", &peak, "peak (/s)", "residual error (/s)", "AICc"];
    document.table(
        "Fits. Lambda is what one does alone; sigma is contention, kappa coherency.",
        &columns,
        2,
        rows,
    );
    let mut notes = Vec::new();
    for (label, report) in fits {
        let of = if label.is_empty() { String::new() } else { format!("{label}: ") };
        notes.extend(report.refused.iter().map(|refusal| {
            let why = report.reasons.get(refusal).map_or("", String::as_str);
            format!("{of}refused ({}): {why}", refusal.word())
        }));
        notes.extend(report.notes.iter().map(|note| format!("{of}{note}")));
    }
    if !notes.is_empty() {
        document.blocks.push(super::document::Block::List(notes));
    }
}

fn fit_row(label: &str, name: &str, fit: &Fit) -> Vec<String> {
    let errors = fit.standard_errors.unwrap_or_default();
    let with = |value: f64, error: Option<f64>| {
        let error = error.map(|error| format!(" ± {}", count(error))).unwrap_or_default();
        count(value) + &error
    };
    vec![
        if label.is_empty() { "all points".to_owned() } else { label.to_owned() },
        name.to_owned(),
        with(fit.law.lambda, errors.lambda),
        with(fit.law.sigma, errors.sigma),
        with(fit.law.kappa, errors.kappa),
        fit.n_star.map_or_else(|| "none".to_owned(), count),
        fit.x_star.map_or_else(|| "–".to_owned(), count),
        fit.residual_standard_error.map_or_else(|| "–".to_owned(), count),
        fit.aicc.map_or_else(|| "–".to_owned(), |aicc| format!("{aicc:.1}")),
    ]
}

fn points_table(document: &mut Document, record: &RunRecord) {
    let row = |point: &MeasuredPoint| {
        let of_limit = machine::of_limit(record, point).map_or_else(|| "–".to_owned(), percent);
        let cost = machine::cost(point).map_or_else(|| "–".to_owned(), |cost| count(cost.cpu_us));
        let fitted = if point.is_fitted() { "yes" } else { "no" };
        vec![
            point_in_words(point),
            fitted.to_owned(),
            count(point.throughput()),
            percent(point.error_share()),
            count(point.concurrency()),
            machine::busy(point).map_or_else(|| "–".to_owned(), percent),
            machine::throttled(point).map_or_else(|| "–".to_owned(), percent),
            cost,
            percent(point.generator.busy),
            of_limit,
        ]
    };
    let columns = [
        "point",
        "fitted",
        "right/s",
        "failed",
        "under way",
        "busiest node",
        "held back",
        "CPU us/request",
        "generator",
        "of its limit",
    ];
    let rows = select::in_order(record).into_iter().map(row).collect();
    let caption = "Points. Busiest node: share of its cores in use; held back: share of periods in which its quota did.";
    document.table(caption, &columns, 2, rows);
}

fn marks_table(document: &mut Document, record: &RunRecord) {
    let row = |point: &MeasuredPoint, mark: &Doubt| {
        let fitted = if mark.is_left_out() { "no" } else { "yes" };
        vec![point_in_words(point), mark.to_string(), fitted.to_owned()]
    };
    let rows = select::in_order(record)
        .into_iter()
        .flat_map(|point| point.marks.iter().map(move |mark| row(point, mark)));
    document.table("Marks: points to be read with care.", &["point", "why", "fitted"], 3, rows.collect());
}

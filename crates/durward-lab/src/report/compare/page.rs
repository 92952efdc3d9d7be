//! A comparison as text, and as a report with overlaid curves.

use super::{Comparison, Difference};
use crate::draw::{AxisSpec, Chart, Dash, SERIES_MAX, Scale, Spot, count, percent, shortened, time};
use crate::fit::LoadUnit;
use crate::record::{MeasuredPoint, RunRecord};
use crate::report::document::{Block, Document};
use crate::report::{latency, select, throughput};

/// The columns of the table.
const COLUMNS: [&str; 9] =
    ["at", "step", "figure", "before", "after", "change", "95 % interval", "says", "by"];

/// Longer lines beside the table are cut.
const LINE_MAX: usize = 400;

/// A comparison for terminals: warnings, a table, the verdict.
pub fn text_table(comparison: &Comparison) -> String {
    let mut rows: Vec<Vec<String>> = vec![COLUMNS.map(str::to_owned).into()];
    rows.extend(comparison.differences.iter().map(row));
    let width = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let warning = |warning: &String| format!("warning: {}\n", shortened(warning, LINE_MAX));
    let mut text: String = comparison.warnings.iter().map(warning).collect();
    for row in rows.iter().filter(|_| !comparison.differences.is_empty()) {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(at, (cell, width))| {
                    if (3..7).contains(&at) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
                },
            )
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    let lone = |lone: &String| format!("not compared: {}\n", shortened(lone, LINE_MAX));
    text.extend(comparison.only_in_one.iter().map(lone));
    printable(&(text + &comparison.verdict + "\n"))
}

/// Text without what a terminal would obey: control characters, and those that turn the direction of writing.
fn printable(text: &str) -> String {
    let is_obeyed = |it: char| {
        (it.is_control() && it != '\n') || matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|it| if is_obeyed(it) { '\u{fffd}' } else { it }).collect()
}

fn row(of: &Difference) -> Vec<String> {
    let signed = |share: f64| format!("{}{}", if share > 0.0 { "+" } else { "" }, percent(share));
    let interval = of.interval.map(|[low, high]| format!("{} to {}", signed(low), signed(high)));
    vec![
        shortened(&of.at, 70),
        of.step.as_deref().map_or_else(|| "all".to_owned(), |step| shortened(step, 70)),
        of.metric.name().to_owned(),
        of.metric.written(of.before),
        of.metric.written(of.after),
        if of.change.is_finite() { signed(of.change) } else { "–".to_owned() },
        interval.unwrap_or_else(|| "–".to_owned()),
        of.judgement.word().to_owned(),
        of.method.to_owned(),
    ]
}

/// A comparison as a report: the verdict, overlaid curves, every figure. `records` are named as they are to be called; the first is
/// what the others, each with its comparison, are compared with.
pub fn comparison_document(records: &[(String, &RunRecord)], comparisons: &[Comparison]) -> Document {
    let mut document = Document::new("Comparison of runs");
    let names: Vec<&String> = records.iter().skip(1).map(|(name, _)| name).collect();
    let before = records.first().map_or("", |(name, _)| name.as_str());
    for (comparison, name) in comparisons.iter().zip(&names) {
        let said =
            format!("{} against {}: {}", shortened(name, 60), shortened(before, 60), comparison.verdict);
        document.blocks.push(Block::Verdict(vec![said]));
        document.blocks.extend(comparison.warnings.iter().cloned().map(Block::Warning));
    }
    overlaid(&mut document, records);
    document.heading("Every figure");
    document.text(
        "Change is a share of what it was before; of errors, the difference of the shares. The interval holds the change 19 times out of \
         20, as far as its method sees: replicates see what differs between runs, the bootstrap of histograms or seconds only what differs \
         within one. Of many figures, one in twenty leaves its interval by chance alone.",
    );
    for (comparison, name) in comparisons.iter().zip(&names) {
        let rows = comparison.differences.iter().map(row).collect();
        document.table(
            &format!("{} against {}.", shortened(name, 60), shortened(before, 60)),
            &COLUMNS,
            3,
            rows,
        );
        if !comparison.only_in_one.is_empty() {
            document.blocks.push(Block::List(comparison.only_in_one.clone()));
        }
    }
    document
}

#[expect(clippy::cast_precision_loss, reason = "an hour has fewer than 2^53 nanoseconds")]
fn overlaid(document: &mut Document, records: &[(String, &RunRecord)]) {
    let Some((_, first)) = records.first() else { return };
    let by = if records.iter().any(|(_, record)| crate::fit::by(record) == LoadUnit::Nodes) {
        LoadUnit::Nodes
    } else {
        LoadUnit::Users
    };
    document.heading("Overlaid");
    let y = AxisSpec { label: "right answers/s".to_owned(), scale: Scale::Linear, format: count };
    let rate = |point: &MeasuredPoint| point.throughput();
    let chart = overlay("Throughput", throughput::axis(first, by), y, records, by, &rate);
    document.figure(
        "compare-throughput",
        chart.scene(),
        "Higher is better. Hollow marks were left out of fits.",
    );
    for (percent, name) in latency::PERCENTILES {
        let y =
            AxisSpec { label: "time since the request was due".to_owned(), scale: Scale::Log, format: time };
        let of = |point: &MeasuredPoint| point.since_due().percentile_ns(percent) as f64;
        let chart =
            overlay(&format!("{name} of all steps"), throughput::axis(first, by), y, records, by, &of);
        document.figure(&format!("compare-{name}"), chart.scene(), "Lower is better.");
    }
}

fn overlay(
    title: &str,
    x: AxisSpec,
    y: AxisSpec,
    records: &[(String, &RunRecord)],
    by: LoadUnit,
    of: &dyn Fn(&MeasuredPoint) -> f64,
) -> Chart {
    let mut chart = Chart::new(title, &format!("{title} of several runs, against load."), x, y);
    let mut number = 0;
    for (name, record) in records {
        for group in select::groups(record, by) {
            if number == SERIES_MAX {
                return chart;
            }
            let spot = |point: &&MeasuredPoint| Spot {
                x: select::n_of(point, by),
                y: of(point),
                is_hollow: !point.is_fitted(),
                title: select::point_in_words(point),
            };
            let mut spots: Vec<Spot> = group.points.iter().map(spot).collect();
            spots.sort_by(|one, other| one.x.total_cmp(&other.x));
            let label =
                if group.label.is_empty() { name.clone() } else { format!("{name}: {}", group.label) };
            chart.series(&label, number, if number == 0 { Dash::Solid } else { Dash::Dashed }, spots);
            number += 1;
        }
    }
    chart
}

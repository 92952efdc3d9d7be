//! The parts of the dashboard as lines of text: what each says, whatever room there is.

use durward_lab::live::{
    NodeRow, Percentiles, PointStatusRow, RunPhase, RunStatus, SecondRow, StatusHead, clock,
};
use durward_lab::record::nodes_in_words;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// How wide a bar of a node's processor time is.
const BAR: usize = 10;
const MIB: f64 = 1_048_576.0;

/// What a text is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextTone {
    Plain,
    Strong,
    Faint,
    Good,
    Bad,
}

/// Colours, or none where the terminal is to have none.
#[derive(Clone, Copy, Debug)]
pub(super) struct TonePalette {
    pub(super) is_coloured: bool,
}

impl TonePalette {
    pub(super) fn style(self, tone: TextTone) -> Style {
        let colour = |style: Style, colour| if self.is_coloured { style.fg(colour) } else { style };
        match tone {
            TextTone::Plain => Style::new(),
            TextTone::Strong => Style::new().add_modifier(Modifier::BOLD),
            TextTone::Faint => Style::new().add_modifier(Modifier::DIM),
            TextTone::Good => colour(Style::new(), Color::Cyan),
            TextTone::Bad => colour(Style::new().add_modifier(Modifier::BOLD), Color::LightRed),
        }
    }

    fn span(self, tone: TextTone, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(tone))
    }
}

/// What is run, and where it is.
pub(super) fn title(head: &StatusHead, is_stopping: bool, tones: TonePalette) -> Line<'static> {
    let doing = if is_stopping && head.phase != RunPhase::Ended { "stopping" } else { head.phase.as_str() };
    let mut spans = vec![tones.span(TextTone::Strong, head.name.clone())];
    if let Some(place) = &head.place {
        spans.push(tones.span(TextTone::Plain, format!("  point {} of {}", place.number, place.count)));
    }
    let tone = if is_stopping { TextTone::Bad } else { TextTone::Good };
    spans.push(tones.span(tone, format!("  {doing}")));
    if head.phase == RunPhase::WarmUp && head.at_s < 0.0 {
        spans.push(tones.span(TextTone::Faint, format!(", {:.0} s to measuring", -head.at_s)));
    }
    if head.phase == RunPhase::Measuring {
        let measured = format!(" {:.0} of {:.0} s", head.at_s + 1.0, head.measure_s);
        spans.push(tones.span(TextTone::Faint, measured));
    }
    Line::from(spans)
}

/// What is asked now.
pub(super) fn place(head: &StatusHead, tones: TonePalette) -> Line<'static> {
    let Some(place) = &head.place else { return Line::default() };
    let comma = if place.configuration.is_empty() { "" } else { ", " };
    let replicate =
        if place.replicate > 0 { format!(", measurement {}", place.replicate + 1) } else { String::new() };
    let words =
        format!("{}, {}{comma}{}{replicate}", place.load, nodes_in_words(place.nodes), place.configuration);
    Line::from(tones.span(TextTone::Plain, words))
}

/// How far the run is: the label of its bar.
pub(super) fn progress(head: &StatusHead) -> String {
    let percent = head.progress * 100.0;
    let left = head.left_s.map(|left| format!(", about {} left", clock(left))).unwrap_or_default();
    format!("{percent:.0} %, {} gone{left}", clock(head.elapsed_s))
}

/// Rate, waits and failures: of the last second, and of the point so far.
pub(super) fn figures(status: &RunStatus, tones: TonePalette) -> Vec<Line<'static>> {
    let heads = ["", "answers/s", "p50", "p90", "p99", "p99.9", "max", "failed"];
    let mut lines = vec![Line::from(tones.span(TextTone::Faint, row(&heads.map(str::to_owned))))];
    let head = &status.head;
    if let Some(second) = status.seconds.back() {
        lines.push(figures_of("last second", Some(second), &second.times, tones));
    } else {
        lines.push(Line::from(tones.span(TextTone::Faint, "nothing was asked yet")));
    }
    if head.phase == RunPhase::Measuring {
        lines.push(figures_of("point so far", None, &head.so_far, tones));
    }
    lines
}

fn figures_of(
    what: &str,
    second: Option<&SecondRow>,
    times: &Percentiles,
    tones: TonePalette,
) -> Line<'static> {
    let rate = second.map(|second| second.answered.to_string()).unwrap_or_default();
    let waits = [times.p50, times.p90, times.p99, times.p999, times.max].map(wait);
    let [p50, p90, p99, p999, max] = waits;
    let text = row(&[what.to_owned(), rate, p50, p90, p99, p999, max, String::new()]);
    let failed = second.map(|second| second.failed);
    let tone = if failed.is_some_and(|failed| failed > 0) { TextTone::Bad } else { TextTone::Plain };
    let failed = failed.map(|failed| failed.to_string()).unwrap_or_default();
    let text = text.trim_end().to_owned();
    Line::from(vec![
        tones.span(TextTone::Plain, format!("{text:<73}")),
        tones.span(tone, format!("{failed:>7}")),
    ])
}

fn row(cells: &[String; 8]) -> String {
    let [what, rate, p50, p90, p99, p999, max, failed] = cells;
    format!("{what:<12}{rate:>11}{p50:>10}{p90:>10}{p99:>10}{p999:>10}{max:>10}{failed:>7}")
}

/// Rate and p99 in few columns.
pub(super) fn figures_short(status: &RunStatus, tones: TonePalette) -> Vec<Line<'static>> {
    let Some(second) = status.seconds.back() else {
        return vec![Line::from(tones.span(TextTone::Faint, "nothing was asked yet"))];
    };
    let times = &second.times;
    let failed_tone = if second.failed > 0 { TextTone::Bad } else { TextTone::Plain };
    vec![
        Line::from(vec![
            tones.span(TextTone::Strong, format!("{}/s", second.answered)),
            tones.span(failed_tone, format!("  failed {}", second.failed)),
        ]),
        Line::from(tones.span(TextTone::Plain, format!("p50 {}  p90 {}", wait(times.p50), wait(times.p90)))),
        Line::from(
            tones.span(TextTone::Plain, format!("p99 {}  p99.9 {}", wait(times.p99), wait(times.p999))),
        ),
    ]
}

/// Each node's processor time and memory.
pub(super) fn nodes(head: &StatusHead, tones: TonePalette) -> Vec<Line<'static>> {
    let width = head.nodes.iter().map(|node| host(node).chars().count()).max().unwrap_or(0).clamp(8, 40);
    head.nodes.iter().map(|node| self::node(node, width, tones)).collect()
}

/// What tells a node from others: its address without the scheme.
fn host(node: &NodeRow) -> &str {
    node.name.split_once("://").map_or(node.name.as_str(), |(_, host)| host)
}

fn node(node: &NodeRow, width: usize, tones: TonePalette) -> Line<'static> {
    let name: String = host(node).chars().take(width).collect();
    let mut spans = vec![
        tones.span(TextTone::Plain, format!("{name:<width$} ")),
        tones.span(TextTone::Plain, format!("{:>7}/s ", node.answered)),
    ];
    match node.cpus {
        None => spans.push(tones.span(TextTone::Faint, "cpu not seen yet")),
        Some(cpus) => {
            let share = if node.cores > 0.0 { cpus / node.cores } else { 0.0 };
            spans.push(tones.span(if share > 0.9 { TextTone::Bad } else { TextTone::Good }, bar(share)));
            let of = if node.cores > 0.0 { format!(" of {}", short(node.cores)) } else { String::new() };
            spans.push(tones.span(TextTone::Plain, format!(" cpu {cpus:.2}{of}")));
        }
    }
    if let Some(memory) = node.memory {
        let of = node.memory_max.map(|max| format!(" of {}", bytes(max))).unwrap_or_default();
        spans.push(tones.span(TextTone::Plain, format!("  {}{of}", bytes(memory))));
    }
    if node.failed > 0 {
        spans.push(tones.span(TextTone::Bad, format!("  failed {}", node.failed)));
    }
    if node.throttled > 0.0 {
        spans.push(tones.span(TextTone::Faint, format!("  held back {:.0} %", node.throttled * 100.0)));
    }
    Line::from(spans)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "between 0 and the width of a bar"
)]
fn bar(share: f64) -> String {
    let full = ((share.clamp(0.0, 1.0) * BAR as f64).round() as usize).min(BAR);
    format!("{}{}", "█".repeat(full), "░".repeat(BAR - full))
}

/// Failed requests of the run by cause, most first.
pub(super) fn causes(head: &StatusHead, tones: TonePalette) -> Vec<Line<'static>> {
    let mut all: Vec<(&String, &u64)> = head.causes.iter().collect();
    all.sort_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
    all.into_iter()
        .map(|(cause, count)| {
            Line::from(vec![
                tones.span(TextTone::Bad, format!("{count:>9} ")),
                tones.span(TextTone::Plain, cause.clone()),
            ])
        })
        .collect()
}

/// The points that were measured, each with its marks behind it.
pub(super) fn points(points: &[PointStatusRow], tones: TonePalette) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for point in points {
        let nodes = nodes_in_words(point.place.nodes);
        let figures = format!(
            "{:>16} {:>9} {:>10}/s  p50 {:>9}  p99 {:>9}",
            point.place.load,
            nodes,
            rate(point.rate),
            wait(point.times.p50),
            wait(point.times.p99)
        );
        let failed_tone = if point.failed > 0 { TextTone::Bad } else { TextTone::Faint };
        lines.push(Line::from(vec![
            tones.span(TextTone::Plain, figures),
            tones.span(failed_tone, format!("  failed {:.2} %", point.error_share * 100.0)),
            tones.span(TextTone::Faint, format!("  {}", point.place.configuration)),
        ]));
        for mark in &point.marks {
            lines.push(Line::from(tones.span(TextTone::Bad, format!("{:>16} * {mark}", ""))));
        }
    }
    lines
}

/// How the generator is, and what keys do.
pub(super) fn footer(head: &StatusHead, note: &str, is_stopping: bool, tones: TonePalette) -> Line<'static> {
    let keys = if is_stopping {
        "q again: end at once, and lose it all"
    } else {
        "q: stop, and keep what was measured"
    };
    let mut spans = vec![tones.span(TextTone::Strong, keys)];
    spans.push(tones.span(
        if head.busy > 0.9 { TextTone::Bad } else { TextTone::Faint },
        format!("   generator {:.0} % busy", head.busy * 100.0),
    ));
    if !note.is_empty() {
        spans.push(tones.span(TextTone::Faint, format!("   {note}")));
    }
    Line::from(spans)
}

/// Milliseconds, in the unit that fits.
pub(super) fn wait(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 1_000.0 => format!("{ms:.1} ms"),
        ms if ms < 100_000.0 => format!("{:.2} s", ms / 1e3),
        ms => format!("{:.0} s", ms / 1e3),
    }
}

fn rate(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}

fn short(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}

#[expect(clippy::cast_precision_loss, reason = "memory below 2^53 bytes")]
fn bytes(bytes: u64) -> String {
    let mib = bytes as f64 / MIB;
    if mib < 1024.0 { format!("{mib:.1} MiB") } else { format!("{:.2} GiB", mib / 1024.0) }
}

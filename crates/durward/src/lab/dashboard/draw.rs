//! Lays the parts of the dashboard out in the room there is: what matters most keeps its place, on any screen.

use durward_lab::live::RunStatus;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{LineGauge, Paragraph, Sparkline};

use super::parts::{self, TextTone, TonePalette};

/// Below this width only the shortest figures are shown.
const NARROW: u16 = 80;
/// From this width on points stand beside the rest.
const WIDE: u16 = 170;
/// How high a curve is where there is room.
const CURVE: u16 = 4;

/// What is shown beside the status.
#[derive(Clone, Debug)]
pub(super) struct DashboardView {
    /// Stands in the last line.
    pub(super) note: String,
    pub(super) is_coloured: bool,
    /// Whether the run was told to end.
    pub(super) is_stopping: bool,
}

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, status: &RunStatus, view: &DashboardView) {
    let tones = TonePalette { is_coloured: view.is_coloured };
    let area = frame.area();
    let mut rows = ScreenRows { area, top: area.y, bottom: area.bottom() };
    let head = &status.head;
    rows.line(frame, parts::title(head, view.is_stopping, tones));
    // The last line is kept before what lies between is laid out.
    if area.height >= 4 {
        rows.last_line(frame, parts::footer(head, &view.note, view.is_stopping, tones));
    }
    let is_narrow = area.width < NARROW;
    let figures = if is_narrow { parts::figures_short(status, tones) } else { parts::figures(status, tones) };
    if area.height >= 8 {
        rows.line(frame, parts::place(head, tones));
    }
    if area.height >= 6 {
        progress(frame, &mut rows, status, tones);
    }
    rows.space_if_room(12);
    rows.lines(frame, figures, 3);
    let right = (area.width >= WIDE).then(|| rows.split_right());
    curves(frame, &mut rows, status, tones);
    rows.part(frame, "nodes", parts::nodes(head, tones), KeepLines::First, 3, tones);
    rows.part(frame, "failed requests", parts::causes(head, tones), KeepLines::First, 3, tones);
    let points = parts::points(&status.points, tones);
    match right {
        Some(mut right) => right.part(frame, "points", points, KeepLines::Last, 2, tones),
        None => rows.part(frame, "points", points, KeepLines::Last, 2, tones),
    }
}

fn progress(frame: &mut Frame<'_>, rows: &mut ScreenRows, status: &RunStatus, tones: TonePalette) {
    let Some(area) = rows.take(1) else { return };
    let gauge = LineGauge::default()
        .ratio(status.head.progress.clamp(0.0, 1.0))
        .label(parts::progress(&status.head))
        .filled_style(tones.style(TextTone::Good))
        .unfilled_style(tones.style(TextTone::Faint));
    frame.render_widget(gauge, area);
}

/// Rate and p99 of the last seconds, as far as the width goes.
fn curves(frame: &mut Frame<'_>, rows: &mut ScreenRows, status: &RunStatus, tones: TonePalette) {
    let free = rows.free();
    let height = match free {
        0..8 => return,
        8..16 => 1,
        16..26 => 2,
        _ => CURVE,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below an hour in microseconds"
    )]
    let us = |ms: f64| (ms * 1e3) as u64;
    let last = |value: fn(&durward_lab::live::SecondRow) -> f64| -> Vec<f64> {
        let count = usize::from(rows.area.width);
        let skipped = status.seconds.len().saturating_sub(count);
        status.seconds.iter().skip(skipped).map(value).collect()
    };
    #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
    let rates = last(|second| second.answered as f64);
    let waits = last(|second| second.times.p99);
    let greatest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let curves = [
        (format!("answers/s, up to {:.0}", greatest(&rates)), rates.iter().map(|rate| us(*rate)).collect()),
        (
            format!("p99, up to {}", parts::wait(greatest(&waits))),
            waits.iter().map(|wait| us(*wait)).collect(),
        ),
    ];
    rows.space_if_room(24);
    for (name, values) in curves {
        let values: Vec<u64> = values;
        rows.line(frame, Line::styled(name, tones.style(TextTone::Faint)));
        let Some(area) = rows.take(height) else { return };
        frame.render_widget(Sparkline::default().data(&values).style(tones.style(TextTone::Good)), area);
    }
}

/// Which lines of a part stay where not all have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeepLines {
    First,
    Last,
}

/// Rows from top to bottom, as far as there are some.
#[derive(Clone, Copy, Debug)]
struct ScreenRows {
    area: Rect,
    top: u16,
    /// The first row that is taken.
    bottom: u16,
}

impl ScreenRows {
    fn free(&self) -> u16 {
        self.bottom.saturating_sub(self.top)
    }

    /// The next rows; `None` where there are not so many.
    fn take(&mut self, height: u16) -> Option<Rect> {
        if height == 0 || self.free() < height {
            return None;
        }
        let area = Rect { y: self.top, height, ..self.area };
        self.top += height;
        Some(area)
    }

    fn line(&mut self, frame: &mut Frame<'_>, line: Line<'_>) {
        if let Some(area) = self.take(1) {
            frame.render_widget(Paragraph::new(line), area);
        }
    }

    fn last_line(&mut self, frame: &mut Frame<'_>, line: Line<'_>) {
        self.bottom = self.bottom.saturating_sub(1).max(self.top);
        let area = Rect { y: self.bottom, height: 1, ..self.area };
        frame.render_widget(Paragraph::new(line), area);
    }

    /// As many of the lines as have room, and so many at most.
    fn lines(&mut self, frame: &mut Frame<'_>, lines: Vec<Line<'_>>, most: usize) {
        lines.into_iter().take(most).for_each(|line| self.line(frame, line));
    }

    /// An empty row, where that leaves so many.
    fn space_if_room(&mut self, left: u16) {
        if self.free() > left {
            self.top += 1;
        }
    }

    /// The right half of what is free, which is then no longer here.
    fn split_right(&mut self) -> ScreenRows {
        let half = self.area.width / 2;
        let right = Rect { x: self.area.x + half, width: self.area.width - half, ..self.area };
        self.area.width = half.saturating_sub(2);
        ScreenRows { area: right, ..*self }
    }

    /// A heading and lines, with an empty row before it where there is room; nothing of nothing, and where fewer than
    /// `least` rows are free. The last row tells how many lines have no room.
    fn part(
        &mut self,
        frame: &mut Frame<'_>,
        heading: &str,
        lines: Vec<Line<'_>>,
        keep: KeepLines,
        least: u16,
        tones: TonePalette,
    ) {
        if lines.is_empty() || self.free() < least {
            return;
        }
        self.space_if_room(8);
        self.line(frame, Line::styled(heading.to_owned(), tones.style(TextTone::Strong)));
        let room = usize::from(self.free());
        let count = lines.len();
        if count <= room {
            return self.lines(frame, lines, room);
        }
        let shown = room.saturating_sub(1);
        let more = Line::styled(format!("... {} more", count - shown), tones.style(TextTone::Faint));
        match keep {
            KeepLines::First => {
                self.lines(frame, lines, shown);
                self.line(frame, more);
            }
            KeepLines::Last => {
                self.line(frame, more);
                self.lines(frame, lines.into_iter().skip(count - shown).collect(), shown);
            }
        }
    }
}

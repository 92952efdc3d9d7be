//! The pictures: rates and times, by scenario and by the number of policies.

use durward_lab::draw::{
    Anchor, Axis, CHARACTER_WIDTH, Colour, Dash, Point, Scene, TEXT_HEIGHT, Tick, count, time, whole,
};

use super::row::MeasurementRow;
use super::series::{Series, SeriesGroup};

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 20.0;
/// From the upper edge to the axis: a title, what it means, the legend.
const TITLE: f64 = 28.0;
const LINE: f64 = 19.0;
/// The height of one measurement in a picture by scenario.
const LANE: f64 = 18.0;
/// Room for the numbers at the right.
const NUMBERS: f64 = 200.0;
/// The height of what lies between the axes in a picture by policies.
const HEIGHT: f64 = 360.0;
const AXIS: f64 = 64.0;

/// What a picture shows of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShownMeasure {
    /// Decisions a second: the median, and from the least round to the greatest.
    Rate,
    /// Percentiles of the time a decision takes.
    Time,
}

impl ShownMeasure {
    fn title(self) -> &'static str {
        match self {
            ShownMeasure::Rate => "Decisions per second",
            ShownMeasure::Time => "Time for a decision",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            ShownMeasure::Rate => {
                "more is better; marks: the median round, lines: from the slowest round to the fastest"
            }
            ShownMeasure::Time => "less is better; p50, p99 and p99.9, reading the clock included",
        }
    }

    fn label(self) -> fn(f64) -> String {
        match self {
            ShownMeasure::Rate => count,
            ShownMeasure::Time => time,
        }
    }

    /// The least, the marked and the greatest value.
    fn values(self, row: &MeasurementRow) -> [f64; 3] {
        match self {
            ShownMeasure::Rate => [row.min, row.decisions_per_s, row.max],
            ShownMeasure::Time => row.latency_ns,
        }
    }

    fn numbers(self, row: &MeasurementRow) -> String {
        match self {
            ShownMeasure::Rate => format!("{}/s", count(row.decisions_per_s)),
            ShownMeasure::Time => row.latency_ns.map(time).join(" | "),
        }
    }
}

/// A picture with a line for each scenario and series. `scenarios` says in which order.
pub(super) fn by_scenario(group: &SeriesGroup<'_>, scenarios: &[&str], shown: ShownMeasure) -> Scene {
    let rows = || group.series.iter().flat_map(|series| series.rows.iter());
    let scenarios: Vec<&str> =
        scenarios.iter().copied().filter(|name| rows().any(|row| row.scenario == *name)).collect();
    let left = MARGIN
        + CHARACTER_WIDTH * scenarios.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64
        + 14.0;
    let top = head_height(group);
    let between: f64 = scenarios.iter().map(|name| lanes_height(group, name)).sum();
    let mut scene = Scene::new(shown.title(), shown.meaning(), WIDTH, top + between + AXIS - 16.0);
    head(&mut scene, group, shown, "");
    let axis = Axis::log(rows().flat_map(|row| shown.values(row)), left, WIDTH - NUMBERS - MARGIN);
    vertical_grid(&mut scene, &axis.ticks(shown.label()), top, top + between);
    let mut y = top;
    for (number, name) in scenarios.iter().enumerate() {
        let height = lanes_height(group, name);
        if number.is_multiple_of(2) {
            scene.underlay(Point::at(MARGIN, y), Point::at(WIDTH - MARGIN, y + height), Colour::Band);
        }
        scene.text(Point::at(left - 12.0, y + height / 2.0 + 4.5), name, Anchor::End, Colour::Ink);
        for (lane, (series, row)) in lanes(group, name).into_iter().enumerate() {
            let middle = y + 4.0 + LANE * (lane as f64 + 0.5);
            draw_lane(&mut scene, &axis, middle, series, row, shown);
        }
        y += height;
    }
    scene
}

/// The measurements of a scenario, one for each series that has it.
fn lanes<'g, 'r>(group: &'g SeriesGroup<'r>, scenario: &str) -> Vec<(&'g Series<'r>, &'r MeasurementRow)> {
    let of = |series: &'g Series<'r>| {
        series.rows.iter().find(|row| row.scenario == scenario).map(|row| (series, *row))
    };
    group.series.iter().filter_map(of).collect()
}

fn lanes_height(group: &SeriesGroup<'_>, scenario: &str) -> f64 {
    lanes(group, scenario).len() as f64 * LANE + 8.0
}

fn draw_lane(
    scene: &mut Scene,
    axis: &Axis,
    y: f64,
    series: &Series<'_>,
    row: &MeasurementRow,
    shown: ShownMeasure,
) {
    let places = shown.values(row).map(|value| Point::at(axis.place(value), y));
    let [least, middle, greatest] = places;
    scene.stroke(vec![least, greatest], series.colour, 1.6, Dash::Solid);
    match shown {
        ShownMeasure::Rate => scene.mark(series.mark, middle, series.colour),
        ShownMeasure::Time => {
            scene.mark(series.mark, least, series.colour);
            for end in [middle, greatest] {
                scene.stroke(
                    vec![Point::at(end.x, y - 5.0), Point::at(end.x, y + 5.0)],
                    series.colour,
                    1.6,
                    Dash::Solid,
                );
            }
        }
    }
    scene.text(Point::at(WIDTH - MARGIN - 6.0, y + 4.5), &shown.numbers(row), Anchor::End, Colour::Ink);
}

/// A picture of one family of scenarios, by the number of policies.
pub(super) fn by_policies(group: &SeriesGroup<'_>, family: &str, shown: ShownMeasure) -> Scene {
    let top = head_height(group);
    let (left, right, bottom) = (MARGIN + 62.0, WIDTH - MARGIN - 20.0, top + HEIGHT);
    let mut scene =
        Scene::new(&format!("{}, {family}", shown.title()), shown.meaning(), WIDTH, bottom + AXIS);
    head(&mut scene, group, shown, family);
    let rows = || group.series.iter().flat_map(|series| series.rows.iter());
    let across = Axis::log(rows().map(|row| row.policies), left, right);
    let up = Axis::log(rows().flat_map(|row| shown.values(row)), bottom, top);
    for tick in up.ticks(shown.label()) {
        scene.stroke(
            vec![Point::at(left, tick.at), Point::at(right, tick.at)],
            Colour::Grid,
            1.0,
            Dash::Solid,
        );
        scene.text(Point::at(left - 8.0, tick.at + 4.5), &tick.label, Anchor::End, Colour::Faint);
    }
    vertical_grid(&mut scene, &across.ticks(whole), top, bottom);
    let label = "policies (each step to the right is as many times more)";
    scene.text(Point::at(f64::midpoint(left, right), bottom + 46.0), label, Anchor::Middle, Colour::Faint);
    for series in &group.series {
        let mut rows = series.rows.clone();
        rows.sort_by(|one, other| one.policies.total_cmp(&other.policies));
        let line = |part: usize| -> Vec<Point> {
            let value = |row: &MeasurementRow| shown.values(row).get(part).copied().unwrap_or_default();
            rows.iter().map(|row| Point::at(across.place(row.policies), up.place(value(row)))).collect()
        };
        draw_lines(&mut scene, [line(0), line(1), line(2)], series, shown);
    }
    scene
}

fn draw_lines(
    scene: &mut Scene,
    [least, middle, greatest]: [Vec<Point>; 3],
    series: &Series<'_>,
    shown: ShownMeasure,
) {
    let marked = match shown {
        ShownMeasure::Rate => {
            for (from, to) in least.into_iter().zip(greatest) {
                scene.stroke(vec![from, to], series.colour, 1.2, Dash::Solid);
            }
            middle
        }
        ShownMeasure::Time => {
            scene.stroke(middle, series.colour, 1.6, Dash::Dashed);
            scene.stroke(greatest, series.colour, 1.6, Dash::Dotted);
            least
        }
    };
    let places = marked.clone();
    scene.stroke(marked, series.colour, 2.0, Dash::Solid);
    places.into_iter().for_each(|place| scene.mark(series.mark, place, series.colour));
}

fn vertical_grid(scene: &mut Scene, ticks: &[Tick], top: f64, bottom: f64) {
    let mut free_from = f64::MIN;
    for tick in ticks {
        scene.stroke(
            vec![Point::at(tick.at, top), Point::at(tick.at, bottom)],
            Colour::Grid,
            1.0,
            Dash::Solid,
        );
        let half = CHARACTER_WIDTH * tick.label.chars().count() as f64 / 2.0 + 5.0;
        // Labels that would touch are left out, their lines are not.
        if tick.at - half >= free_from {
            scene.text(Point::at(tick.at, bottom + 20.0), &tick.label, Anchor::Middle, Colour::Faint);
            free_from = tick.at + half;
        }
    }
}

/// The legend's lines, each with its entries and where they begin.
fn legend<'g>(group: &'g SeriesGroup<'_>) -> Vec<Vec<(f64, &'g Series<'g>)>> {
    let mut lines: Vec<Vec<(f64, &Series<'_>)>> = Vec::new();
    let mut x = WIDTH;
    for series in &group.series {
        let width = 34.0 + CHARACTER_WIDTH * series.label.chars().count() as f64;
        if x + width > WIDTH - MARGIN || lines.is_empty() {
            lines.push(Vec::new());
            x = MARGIN;
        }
        lines.last_mut().into_iter().for_each(|line| line.push((x, series)));
        x += width;
    }
    lines
}

fn head_height(group: &SeriesGroup<'_>) -> f64 {
    TITLE + 2.0 * LINE + LINE * legend(group).len() as f64 + 8.0
}

fn head(scene: &mut Scene, group: &SeriesGroup<'_>, shown: ShownMeasure, family: &str) {
    let parts = [shown.title(), family, &group.label];
    let title: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    scene.bold(Point::at(MARGIN, TITLE), &title.join(", "), Colour::Ink);
    let mut meaning = shown.meaning().to_owned();
    if shown == ShownMeasure::Time {
        meaning.push_str(match family {
            "" => ": the mark, the first and the second stroke",
            _ => ": the whole, the dashed and the dotted line",
        });
    }
    scene.text(Point::at(MARGIN, TITLE + LINE), &meaning, Anchor::Start, Colour::Faint);
    for (number, line) in legend(group).into_iter().enumerate() {
        let y = TITLE + LINE * (number as f64 + 2.0) + 3.0;
        for (x, series) in line {
            scene.mark(series.mark, Point::at(x + 6.0, y - TEXT_HEIGHT / 3.0), series.colour);
            scene.text(Point::at(x + 16.0, y), &series.label, Anchor::Start, Colour::Ink);
        }
    }
}

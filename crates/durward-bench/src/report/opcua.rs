//! What `durward bench opcua --json` prints: its tables, its charts, and the aims before them.

use durward_lab::draw::{
    Anchor, Axis, AxisSpec, CHARACTER_WIDTH, Chart, Colour, Dash, Mark, Point, Scale, Scene, Spot, count,
    shortened, whole,
};
use durward_lab::report::{Block, Document};
use serde_json::Value as Json;

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 16.0;
const LANE: f64 = 24.0;
const TOP: f64 = 68.0;
const NAME_MAX: usize = 55;
/// More points, lines or rows than any such measurement has are not drawn.
const ITEMS_MAX: usize = 1_000;

/// The title of the measurement.
pub(super) const TITLE: &str = "Access control for OPC UA";

/// Whether it is such a measurement.
pub(super) fn is_such(json: &Json) -> bool {
    text(json, "benchmark") == "opcua" && json.get("parts").is_some_and(Json::is_array)
}

/// Adds all of it; `number` tells the files of several apart.
pub(super) fn add(document: &mut Document, json: &Json, number: usize) {
    document.text(
        "The experiments of B. Leander, A. Causevic, H. Hansson, T. Lindström, \"Evaluation of an OPC UA-based Access Control \
         Enforcement Architecture\", with durward as client, authorization service and gate, each a separate process on one \
         machine; and measurements of durward's own aims. Figures of the paper are compared with ours as ratios.",
    );
    document.text(&machine(json));
    if json.get("is_quick") == Some(&Json::Bool(true)) {
        document.blocks.push(Block::Warning("This is a short form: its figures say little.".to_owned()));
    }
    aims(document, json);
    for part in list(json, "parts") {
        document.heading(text(part, "title"));
        for table in list(part, "tables") {
            let columns: Vec<&str> = list(table, "columns").iter().filter_map(Json::as_str).collect();
            document.table(text(table, "caption"), &columns, 1, rows(table, columns.len()));
        }
        for (at, chart) in (1..).zip(list(part, "charts")) {
            let name = format!("opcua-{}-{at}-{number}", file_name(text(part, "name")));
            document.figure(&name, scene(chart), text(chart, "caption"));
        }
        list(part, "texts").iter().filter_map(Json::as_str).for_each(|said| document.text(said));
    }
    for what in list(json, "left_out").iter().filter_map(Json::as_str) {
        document.blocks.push(Block::Warning(format!("Left out: {what}")));
    }
}

fn text<'j>(json: &'j Json, name: &str) -> &'j str {
    json.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn list<'j>(json: &'j Json, name: &str) -> &'j [Json] {
    let all = json.get(name).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    all.get(..ITEMS_MAX).unwrap_or(all)
}

/// As many cells in each row as there are columns.
fn rows(table: &Json, columns: usize) -> Vec<Vec<String>> {
    let row = |row: &Json| {
        let cells = row.as_array().map(Vec::as_slice).unwrap_or_default();
        let cell = |at: usize| cells.get(at).and_then(Json::as_str).unwrap_or_default().to_owned();
        (0..columns).map(cell).collect()
    };
    list(table, "rows").iter().map(row).collect()
}

fn machine(json: &Json) -> String {
    let machine = json.get("machine").unwrap_or(&Json::Null);
    let number = |name: &str| machine.get(name).and_then(Json::as_f64).unwrap_or_default();
    format!(
        "durward {}, {}, {:.0} cores, {:.0} GiB, {}.",
        text(json, "version"),
        text(machine, "processor"),
        number("cores"),
        number("memory_bytes") / f64::from(1 << 30),
        text(machine, "system")
    )
}

fn aims(document: &mut Document, json: &Json) {
    let row = |aim: &Json| {
        let number = |name: &str| aim.get(name).and_then(Json::as_f64);
        let unit = text(aim, "unit");
        let with_unit = |number: f64| {
            let number = if number.fract() == 0.0 || number >= 100.0 {
                whole(number.round())
            } else {
                format!("{number:.2}")
            };
            let space = if unit.is_empty() || unit.starts_with('/') { "" } else { " " };
            format!("{number}{space}{unit}")
        };
        let bound = match (number("at_most"), number("at_least")) {
            (Some(most), _) => format!("at most {}", with_unit(most)),
            (None, Some(least)) => format!("at least {}", with_unit(least)),
            (None, None) => String::new(),
        };
        let is_reached = aim.get("is_reached") == Some(&Json::Bool(true));
        let measured = number("measured").map(with_unit).unwrap_or_default();
        let reached = if is_reached { "yes" } else { "no" };
        vec![text(aim, "what").to_owned(), measured, bound, reached.to_owned()]
    };
    let rows = list(json, "aims").iter().map(row).collect();
    document.table("Aims", &["what", "measured", "aim", "reached"], 1, rows);
}

/// A line of a chart.
struct ChartLine<'j> {
    label: &'j str,
    points: Vec<(f64, f64)>,
}

fn lines(chart: &Json) -> Vec<ChartLine<'_>> {
    let point = |point: &Json| {
        let at = |at: usize| point.get(at).and_then(Json::as_f64).filter(|number| number.is_finite());
        Some((at(0)?, at(1)?))
    };
    let line =
        |series: &'_ Json| -> Vec<(f64, f64)> { list(series, "points").iter().filter_map(point).collect() };
    list(chart, "series")
        .iter()
        .map(|series| ChartLine { label: text(series, "label"), points: line(series) })
        .collect()
}

fn scene(chart: &Json) -> Scene {
    let (labels, lines) = (list(chart, "labels"), lines(chart));
    if labels.is_empty() {
        return curves(chart, &lines);
    }
    let labels: Vec<&str> = labels.iter().filter_map(Json::as_str).collect();
    lanes(chart, &labels, &lines)
}

/// Lines over a logarithmic axis.
fn curves(json: &Json, lines: &[ChartLine<'_>]) -> Scene {
    let axis =
        |name: &str, format| AxisSpec { label: text(json, name).to_owned(), scale: Scale::Log, format };
    let short = |number: f64| if number >= 1.0 { whole(number) } else { format!("{number}") };
    let mut chart =
        Chart::new(text(json, "title"), text(json, "caption"), axis("x", whole), axis("y", short));
    for (number, line) in lines.iter().enumerate() {
        let spot = |(x, y): &(f64, f64)| Spot {
            x: *x,
            y: *y,
            is_hollow: false,
            title: format!("{}: {} at {}", line.label, count(*y), count(*x)),
        };
        chart.series(line.label, number, Dash::Solid, line.points.iter().map(spot).collect());
    }
    chart.scene()
}

/// A lane for each label, in it a mark of each series.
fn lanes(json: &Json, labels: &[&str], lines: &[ChartLine<'_>]) -> Scene {
    let bottom = TOP + LANE * labels.len() as f64;
    let longest = labels.iter().map(|label| label.chars().count().min(NAME_MAX)).max().unwrap_or_default();
    let (left, right) = (MARGIN + CHARACTER_WIDTH * longest as f64 + 12.0, WIDTH - 2.0 * MARGIN);
    let title = text(json, "title");
    let mut scene = Scene::new(title, text(json, "caption"), WIDTH, bottom + 52.0);
    scene.bold(Point::at(MARGIN, 24.0), &shortened(title, 85), Colour::Ink);
    let mut x = MARGIN;
    for (number, line) in lines.iter().enumerate() {
        scene.mark(Mark::of_series(number), Point::at(x + 6.0, 42.0), Colour::Series(number));
        scene.text(Point::at(x + 16.0, 46.0), line.label, Anchor::Start, Colour::Ink);
        x += 40.0 + CHARACTER_WIDTH * line.label.chars().count() as f64;
    }
    let values = lines.iter().flat_map(|line| line.points.iter().map(|(_, value)| *value));
    let axis = Axis::linear(values, left, right);
    for tick in axis.ticks(|number| format!("{number}")) {
        let ends = vec![Point::at(tick.at, TOP), Point::at(tick.at, bottom)];
        scene.stroke(ends, Colour::Grid, 1.0, Dash::Solid);
        scene.text(Point::at(tick.at, bottom + 18.0), &tick.label, Anchor::Middle, Colour::Faint);
    }
    let middle = Point::at(f64::midpoint(left, right), bottom + 40.0);
    scene.text(middle, text(json, "x"), Anchor::Middle, Colour::Faint);
    for (at, label) in labels.iter().enumerate() {
        let y = TOP + LANE * (at as f64 + 0.5);
        scene.text(Point::at(left - 10.0, y + 4.5), &shortened(label, NAME_MAX), Anchor::End, Colour::Ink);
        for (number, line) in lines.iter().enumerate() {
            let own = line.points.iter().filter(|(place, _)| (*place - at as f64).abs() < 0.5);
            for (_, value) in own {
                scene.mark(Mark::of_series(number), Point::at(axis.place(*value), y), Colour::Series(number));
            }
        }
    }
    scene
}

fn file_name(text: &str) -> String {
    text.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn measurement() -> Json {
        json!({
            "benchmark": "opcua", "version": "1", "is_quick": true, "command": "durward bench opcua",
            "machine": {"processor": "a processor", "cores": 2, "memory_bytes": 1_073_741_824, "system": "a system"},
            "aims": [
                {"what": "a right", "unit": "ns", "measured": 80.25, "at_most": 100.0, "is_reached": true},
                {"what": "reads", "unit": "/s", "measured": 12_000.0, "at_least": 20_000.0, "is_reached": false},
            ],
            "parts": [{
                "name": "table-1", "title": "Table 1", "texts": ["how"],
                "tables": [{"caption": "low", "columns": ["step", "ms"], "rows": [["open", "1.5"], ["short"]]}],
                "charts": [
                    {"title": "lines", "caption": "c", "x": "bytes", "y": "ms", "labels": [],
                     "series": [{"label": "one", "points": [[512.0, 1.0], [1024.0, 2.0]]}]},
                    {"title": "lanes", "caption": "c", "x": "times", "y": "", "labels": ["a", "b"],
                     "series": [{"label": "here", "points": [[0.0, 1.0], [1.0, 2.0]]}, {"label": "the paper", "points": [[0.0, 2.8]]}]},
                ],
                "numbers": {},
            }],
            "left_out": ["table 4: no control groups"],
        })
    }

    #[test]
    fn aims_tables_and_charts_come_in_their_order() {
        assert!(is_such(&measurement()) && !is_such(&json!({"benchmark": "opcua"})));
        let mut document = Document::new("A report");
        add(&mut document, &measurement(), 1);
        let tables: Vec<_> = document
            .blocks
            .iter()
            .filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None })
            .collect();
        assert_eq!(tables[0].rows[0], ["a right", "80.25 ns", "at most 100 ns", "yes"]);
        assert_eq!(tables[0].rows[1][1..], ["12,000/s", "at least 20,000/s", "no"]);
        assert_eq!(tables[1].rows, [["open", "1.5"], ["short", ""]]);
        let figures: Vec<&str> = document.figures().map(|figure| figure.name.as_str()).collect();
        assert_eq!(figures, ["opcua-table-1-1-1", "opcua-table-1-2-1"]);
        let warnings = document.blocks.iter().filter(|block| matches!(block, Block::Warning(_))).count();
        assert_eq!(warnings, 2, "that it is short, and what is left out");
    }

    #[test]
    fn what_is_missing_or_nonsense_is_left_out() {
        let mut document = Document::new("A report");
        let chart = json!({"series": [{"points": [[1.0], ["x", 2.0], [3.0, 4.0]]}, 7], "labels": ["a"]});
        add(
            &mut document,
            &json!({"parts": [{"charts": [chart, 3], "tables": [{"rows": 1}]}, null], "aims": [{}]}),
            1,
        );
        assert_eq!(document.figures().count(), 2);
    }
}

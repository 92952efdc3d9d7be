//! What `durward bench server --json`, `durward bench sessions --json` and `durward bench streams --json` print: every rate and
//! every time as a picture, every number in a table; and `durward bench opcua --json`, which says itself what is drawn.

use durward_lab::draw::{
    Anchor, Axis, CHARACTER_WIDTH, Colour, Dash, Mark, Point, Scene, count, shortened, time,
};
use durward_lab::report::Document;
use serde_json::Value as Json;

use super::opcua;

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 16.0;
const LANE: f64 = 20.0;
const TOP: f64 = 44.0;
/// Longer names would leave no room for the values.
const NAME_MAX: usize = 40;
/// More lanes could not be read.
const LANES_MAX: usize = 60;

/// One such measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OtherMeasurement {
    title: String,
    /// One of OPC UA, which has tables and charts of its own.
    opcua: Option<Json>,
    /// What was measured, by the path of its name, and the number.
    numbers: Vec<(String, String)>,
    command: Option<String>,
}

impl OtherMeasurement {
    /// `None` where it is no such measurement.
    pub(super) fn of(json: &Json) -> Option<OtherMeasurement> {
        let command = json.get("command").and_then(Json::as_str).map(str::to_owned);
        if opcua::is_such(json) {
            let (title, opcua) = (opcua::TITLE.to_owned(), Some(json.clone()));
            return Some(OtherMeasurement { title, opcua, numbers: Vec::new(), command });
        }
        let has = |name: &str| json.get(name).is_some();
        let title = match json.get("transport").and_then(Json::as_str) {
            Some(transport) if has("rate_per_s") => format!("A server over the network: {transport}"),
            Some(_) | None if has("validate") && has("login") => "Sessions over the network".to_owned(),
            Some(_) | None if has("subscriptions") && has("changed") => "Live subscriptions".to_owned(),
            Some(_) | None => return None,
        };
        let mut numbers = Vec::new();
        flatten("", json, &mut numbers);
        Some(OtherMeasurement { title, opcua: None, numbers, command })
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Adds what comes below its title; `number` tells the files of several apart.
    pub(super) fn add(&self, document: &mut Document, number: usize) {
        if let Some(json) = &self.opcua {
            opcua::add(document, json, number);
            return;
        }
        for (name, suffix, format, what) in [
            ("rates", "per_s", count as fn(f64) -> String, "Rates, each second"),
            ("times", "_ns", time as fn(f64) -> String, "Times"),
        ] {
            let lanes = self.lanes(suffix);
            if lanes.len() > 1 {
                let scene = scene(&format!("{what}: {}", self.title), &lanes, format);
                let caption = "Logarithmic: equal distances are equal ratios.";
                document.figure(&format!("{name}-{number}"), scene, caption);
            }
        }
        let rows = self.numbers.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect();
        document.table("Every number, by the path of its name.", &["number", "value"], 1, rows);
    }

    /// The numbers above 0 whose names end with this.
    fn lanes(&self, suffix: &str) -> Vec<(&str, f64)> {
        self.numbers
            .iter()
            .filter(|(name, _)| name.ends_with(suffix))
            .filter_map(|(name, value)| Some((name.as_str(), value.parse::<f64>().ok()?)))
            .filter(|(_, value)| *value > 0.0 && value.is_finite())
            .take(LANES_MAX)
            .collect()
    }
}

/// A lane for each number, with a mark and the number at the right.
fn scene(title: &str, lanes: &[(&str, f64)], format: fn(f64) -> String) -> Scene {
    let bottom = TOP + LANE * lanes.len() as f64;
    let longest = lanes.iter().map(|(name, _)| name.chars().count().min(NAME_MAX)).max().unwrap_or(0);
    let (left, right) = (MARGIN + CHARACTER_WIDTH * longest as f64 + 12.0, WIDTH - 90.0);
    let mut scene =
        Scene::new(title, "A mark for each number, along a logarithmic axis.", WIDTH, bottom + 36.0);
    scene.bold(Point::at(MARGIN, 24.0), &shortened(title, 85), Colour::Ink);
    let axis = Axis::log(lanes.iter().map(|(_, value)| *value), left, right);
    let mut free_from = f64::MIN;
    for tick in axis.ticks(format) {
        scene.stroke(
            vec![Point::at(tick.at, TOP), Point::at(tick.at, bottom)],
            Colour::Grid,
            1.0,
            Dash::Solid,
        );
        let half = CHARACTER_WIDTH * tick.label.chars().count() as f64 / 2.0 + 5.0;
        if tick.at - half >= free_from {
            scene.text(Point::at(tick.at, bottom + 20.0), &tick.label, Anchor::Middle, Colour::Faint);
            free_from = tick.at + half;
        }
    }
    for (number, (name, value)) in lanes.iter().enumerate() {
        let y = TOP + LANE * (number as f64 + 0.5);
        scene.text(Point::at(left - 10.0, y + 4.5), &shortened(name, NAME_MAX), Anchor::End, Colour::Ink);
        scene.stroke(
            vec![Point::at(left, y), Point::at(axis.place(*value), y)],
            Colour::Grid,
            3.0,
            Dash::Solid,
        );
        scene.mark(Mark::Circle, Point::at(axis.place(*value), y), Colour::Series(0));
        scene.text(Point::at(WIDTH - MARGIN, y + 4.5), &format(*value), Anchor::End, Colour::Ink);
    }
    scene
}

/// Every number and text below, by its path: `validate 1 per_s`; lists count from 1.
fn flatten(path: &str, json: &Json, found: &mut Vec<(String, String)>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
    match json {
        Json::Null => {}
        Json::Object(object) => object
            .iter()
            .filter(|(name, _)| *name != "command")
            .for_each(|(name, value)| flatten(&below(name), value, found)),
        Json::Array(array) => {
            (1..).zip(array).for_each(|(number, value)| flatten(&below(&format!("{number}")), value, found));
        }
        Json::String(text) => found.push((path.to_owned(), text.clone())),
        Json::Bool(_) | Json::Number(_) => found.push((path.to_owned(), json.to_string())),
    }
}

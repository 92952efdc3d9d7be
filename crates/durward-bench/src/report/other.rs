//! What `durward bench server --json` and `durward bench sessions --json` print: shown as they are, in tables. There is too
//! little alike in them for a picture.

use serde_json::Value as Json;

use super::svg::escaped;

/// One such measurement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Other {
    title: String,
    /// What was measured, by the path of its name, and the number.
    numbers: Vec<(String, String)>,
    command: Option<String>,
}

impl Other {
    /// `None` where it is no such measurement.
    pub(super) fn of(json: &Json) -> Option<Other> {
        let has = |name: &str| json.get(name).is_some();
        let title = match json.get("transport").and_then(Json::as_str) {
            Some(transport) if has("rate_per_s") => format!("A server over the network: {transport}"),
            Some(_) | None if has("validate") && has("login") => "Sessions over the network".to_owned(),
            Some(_) | None => return None,
        };
        let mut numbers = Vec::new();
        flatten("", json, &mut numbers);
        let command = json.get("command").and_then(Json::as_str).map(str::to_owned);
        Some(Other { title, numbers, command })
    }

    pub(super) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    pub(super) fn table(&self) -> String {
        let row = |(name, value): &(String, String)| {
            let (name, value) = (escaped(name), escaped(value));
            format!("<tr><td class=\"words\">{name}</td><td>{value}</td></tr>\n")
        };
        let rows: String = self.numbers.iter().map(row).collect();
        let title = escaped(&self.title);
        format!("<h2>{title}</h2>\n<div class=\"wide\"><table>\n{rows}</table></div>\n")
    }
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

//! What the Java engine gave for expressions that are one call with constants.

use durward_ir::json;
use durward_ir::value::Value;

use super::cases::{call, read};

const LIBRARIES: [&str; 18] = [
    "array",
    "bitwise",
    "digest",
    "encoding",
    "filter",
    "graph",
    "json",
    "mac",
    "math",
    "numeral",
    "object",
    "permissions",
    "reflect",
    "sapl",
    "standard",
    "string",
    "units",
    "uuid",
];

fn field<'a>(row: &'a Value, key: &str) -> Option<&'a Value> {
    if let Value::Object(object) = row { object.get(key) } else { None }
}

fn text<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    if let Some(Value::Text(text)) = field(row, key) { Some(text) } else { None }
}

/// The call that an expression is, if it is one with nothing but constants: its name and its arguments as JSON.
fn constant_call(expression: &str) -> Option<(&str, String)> {
    let (name, arguments) = expression.strip_suffix(')')?.split_once('(')?;
    let (library, _) = name.split_once('.')?;
    // No operator, no second call, no variable but the graph of the recording.
    let constant = !arguments.contains("1/0") && !arguments.contains('(');
    (LIBRARIES.contains(&library) && constant)
        .then(|| (name, format!("[{}]", arguments.replace("undefined", "~"))))
}

#[test]
fn calls_give_what_the_java_engine_gave() {
    let Some(path) = durward_testdata::recorded("sapl/expressions/expressions.jsonl") else { return };
    let rows = std::fs::read_to_string(path).unwrap();
    let mut checked = 0;
    for row in rows.lines().skip(1).map(|row| json::read(row).unwrap()) {
        let Some((name, arguments)) = text(&row, "expr").and_then(constant_call) else { continue };
        if text(&row, "kind") == Some("compile-error") {
            continue;
        }
        let graph = r#"{"a":["b"],"b":["c"],"c":[]}"#;
        let Value::Array(arguments) = read(&arguments.replace("graph", graph)) else { continue };
        // To the engine equal constants are one, the first.
        let as_written =
            |value: Value| arguments.iter().find(|it| it.equals(&value)).cloned().unwrap_or(value);
        let result = call(name, &arguments).map(as_written);
        let row = row.to_json();
        match result {
            Ok(value) => assert!(
                row.ends_with(&format!("\"value\":{}}}", value.to_json())),
                "{row}: {}",
                value.to_json()
            ),
            Err(fault) => assert!(row.contains("\"kind\":\"error\""), "{row}: {fault}"),
        }
        checked += 1;
    }
    assert!(checked >= 68, "only {checked} calls were found");
}

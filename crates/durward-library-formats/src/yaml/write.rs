//! Writes documents: collections in lines, texts between double quotes, keys without quotes where that is possible.

use durward_functions::document::check_growing;
use durward_functions::jvm;
use durward_ir::Value;
use durward_ir::fault::Evaluated;
use durward_ir::value::Object;

use super::emitter::YamlEmitter;
use super::read::is_printable;

/// The length from which keys stand behind a question mark, in UTF-16 code units.
const LONG_KEY: usize = 128;

/// How far a scalar that goes on in the next line is to the right there, if it is the whole document.
const SCALAR_START: usize = 2;

/// What Jackson quotes because it means, or meant, something else.
const RESERVED: &[&str] = &[
    "false", "False", "FALSE", "n", "no", "No", "NO", "N", "null", "Null", "NULL", "on", "On", "ON", "off",
    "Off", "OFF", "true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES",
];

/// The document of a value. Depths were checked before.
pub(super) fn write(value: &Value) -> Evaluated<String> {
    let mut out = YamlEmitter::new();
    out.indicator("---");
    node(value, false, &mut out)?;
    out.indent();
    Ok(out.finish())
}

/// A value, which is that of a key in the same line, or not.
fn node(value: &Value, behind_key: bool, out: &mut YamlEmitter) -> Evaluated<()> {
    match value {
        Value::Array(values) if !values.is_empty() => {
            // Behind a key they stand under it.
            if behind_key && !out.is_line_open() {
                return array(values, out);
            }
            out.nested(0, |out| array(values, out))
        }
        Value::Object(object) if !object.is_empty() => out.nested(0, |out| entries(object, out)),
        scalar => {
            out.nested(SCALAR_START, |out| match scalar {
                Value::Array(_) => out.indicator("[]"),
                Value::Object(_) => out.indicator("{}"),
                Value::Text(text) => out.double_quoted(text, true),
                other => out.plain(&other.lexical(), true),
            });
            check_growing(out.text())
        }
    }
}

fn array(values: &[Value], out: &mut YamlEmitter) -> Evaluated<()> {
    values.iter().try_for_each(|value| {
        out.indent();
        out.opening("-");
        node(value, false, out)
    })
}

fn entries(object: &Object, out: &mut YamlEmitter) -> Evaluated<()> {
    object.iter().try_for_each(|(key, value)| {
        out.indent();
        if key.is_empty() || key.contains('\n') || jvm::length(key) >= LONG_KEY {
            out.opening("?");
            out.nested(0, |out| write_key(key, true, out));
            out.indent();
            out.opening(":");
        } else {
            write_key(key, false, out);
            out.colon();
        }
        node(value, true, out)
    })
}

fn write_key(key: &str, breaks: bool, out: &mut YamlEmitter) {
    let is_special =
        |character: char| !(matches!(character, ' '..='~') || character > '~' && is_printable(character));
    let looks_else = key.starts_with(|first: char| first.is_ascii_digit() || "+-.~".contains(first))
        || RESERVED.contains(&key);
    if key.is_empty() || looks_else || key.contains(is_special) {
        out.double_quoted(key, breaks);
    } else if is_indicator(key) {
        out.single_quoted(key, breaks);
    } else {
        out.plain(key, breaks);
    }
}

/// Whether a key without special characters would be something else without quotes.
fn is_indicator(key: &str) -> bool {
    key.starts_with([' ', '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`'])
        || key.ends_with([' ', ':'])
        || key == "?"
        || ["? ", ": "].iter().any(|start| key.starts_with(start))
        || key.contains(": ")
        || key.contains(" #")
}

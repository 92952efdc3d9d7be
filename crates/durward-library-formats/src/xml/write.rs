//! Writes documents as Jackson does: everything is an element, and nobody looks whether its name is one.

use std::fmt::Write;

use durward_functions::document::{check_growing, unwritable};
use durward_ir::Value;
use durward_ir::fault::Evaluated;

use super::XSI;

/// The document of a value: of the only key of an object, or else of the kind of the value. Depths were checked before.
///
/// # Errors
/// It would have no element or several at the outside, a text has control characters, or it becomes too long.
pub(super) fn write(value: &Value) -> Evaluated<String> {
    let (name, value) = match value {
        Value::Object(object) => match (object.len(), object.iter().next()) {
            (1, Some((key, value))) => (key.as_str(), value),
            _ => ("ObjectNode", value),
        },
        Value::Array(_) => ("ArrayNode", value),
        Value::Text(_) => ("StringNode", value),
        Value::Boolean(_) => ("BooleanNode", value),
        Value::Null => ("NullNode", value),
        _ => ("DecimalNode", value),
    };
    let mut out = String::new();
    match count(value) {
        0 => Err(unwritable("XML", "there would be no element")),
        1 => element(name, value, &mut out).map(|()| out),
        _ => Err(unwritable("XML", "there would be a second outermost element")),
    }
}

/// How many elements a value becomes.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(count).sum(),
        _ => 1,
    }
}

/// Appends a value by its name; the elements of an array one after the other.
fn element(name: &str, value: &Value, out: &mut String) -> Evaluated<()> {
    check_growing(out)?;
    match value {
        Value::Array(values) => return values.iter().try_for_each(|value| element(name, value, out)),
        // Writing to a string cannot fail.
        Value::Null => {
            let _ = write!(out, "<{name} xmlns:xsi=\"{XSI}\" xsi:nil=\"true\"/>");
        }
        Value::Object(object) if object.values().all(|value| count(value) == 0) => {
            let _ = write!(out, "<{name}/>");
        }
        Value::Object(object) => {
            let _ = write!(out, "<{name}>");
            object.iter().try_for_each(|(key, value)| element(key, value, out))?;
            let _ = write!(out, "</{name}>");
        }
        Value::Text(text) => {
            let _ = write!(out, "<{name}>");
            push_text(text, out)?;
            let _ = write!(out, "</{name}>");
        }
        other => {
            let _ = write!(out, "<{name}>{}</{name}>", other.lexical());
        }
    }
    Ok(())
}

/// Escapes what cannot stand in text, and what may not be read back as it is.
fn push_text(text: &str, out: &mut String) -> Evaluated<()> {
    let mut before = ']';
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            // At the start nobody knows what is before.
            '>' if before == ']' => out.push_str("&gt;"),
            '\n' | '\t' => out.push(character),
            '\r' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "&#x{:x};", u32::from(character));
            }
            control if control < ' ' => {
                let reason = format_args!("the character U+{:04X} is not allowed", u32::from(control));
                return Err(unwritable("XML", reason));
            }
            other => out.push(other),
        }
        before = character;
    }
    Ok(())
}

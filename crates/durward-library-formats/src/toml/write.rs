//! Writes documents as Jackson does: every value in its own line behind all its keys, what is in arrays in one line.

use std::fmt::Write;

use durward_functions::document::check_growing;
use durward_ir::Value;
use durward_ir::fault::Evaluated;
use durward_ir::value::Object;

/// Appends the document of a value. What is no object has no key.
pub(super) fn write(value: &Value, out: &mut String) -> Evaluated<()> {
    write_entry(&mut String::new(), value, out)
}

/// A value behind keys; the entries of an object behind more keys. Depths were checked before.
fn write_entry(path: &mut String, value: &Value, out: &mut String) -> Evaluated<()> {
    match value {
        Value::Object(object) if !object.is_empty() => write_entries(path, object, out),
        other => {
            out.push_str(path);
            out.push_str(" = ");
            push_value(other, out);
            out.push('\n');
            check_growing(out)
        }
    }
}

fn write_entries(path: &mut String, object: &Object, out: &mut String) -> Evaluated<()> {
    let length = path.len();
    for (key, value) in object.iter() {
        if length > 0 {
            path.push('.');
        }
        push_key(key, path);
        write_entry(path, value, out)?;
        path.truncate(length);
    }
    Ok(())
}

fn push_value(value: &Value, out: &mut String) {
    match value {
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                push_value(value, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (at, (key, value)) in object.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                push_key(key, out);
                out.push_str(" = ");
                push_value(value, out);
            }
            out.push('}');
        }
        Value::Text(text) => push_text(text, out),
        Value::Null => out.push_str("''"),
        other => out.push_str(&other.lexical()),
    }
}

fn push_key(key: &str, out: &mut String) {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !key.is_empty() && key.bytes().all(is_bare) { out.push_str(key) } else { push_text(key, out) }
}

/// Between single quotes if that is possible, or else between double ones. Where anything is escaped, tabs are.
fn push_text(text: &str, out: &mut String) {
    let is_control = |character: char| (character < ' ' && character != '\t') || character == '\u{7f}';
    if !text.contains(|character| character == '\'' || is_control(character)) {
        // Writing to a string cannot fail.
        let _ = write!(out, "'{text}'");
        return;
    }
    let escapes = text.contains(|character| matches!(character, '"' | '\\') || is_control(character));
    out.push('"');
    for character in text.chars() {
        match character {
            '\t' if escapes => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            // Writing to a string cannot fail.
            control if is_control(control) => drop(write!(out, "\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}

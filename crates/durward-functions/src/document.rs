//! What the libraries of text formats (`csv`, `toml`, `xml`, `yaml`) have in common, and those of geometries with them: SAPL's limits
//! and its faults.

use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::{DataType, Value};

use crate::jvm;
use crate::limits::TEXT_LENGTH_MAX;

/// The longest document that is read, in UTF-16 code units, as in SAPL.
pub const INPUT_LENGTH_MAX: usize = 1024 * 1024;

/// How deep arrays and objects may nest, as in SAPL, whose depth of 500 counts the values in them, too.
pub const NESTED_MAX: usize = 499;

/// How deep arrays, objects, elements and tables of a document may nest, as in SAPL.
pub const READ_DEPTH_MAX: usize = 500;

/// The longest number that is read, in characters, as in SAPL.
pub const NUMBER_LENGTH_MAX: usize = 1000;

/// Refuses a document that is too long to be read.
///
/// # Errors
/// It is longer than [`INPUT_LENGTH_MAX`].
pub fn check_input(text: &str) -> Evaluated<()> {
    if text.len() > INPUT_LENGTH_MAX && jvm::length(text) > INPUT_LENGTH_MAX {
        let message = format!("Input exceeds the maximum length of {INPUT_LENGTH_MAX} characters.");
        return Err(Fault::processing(message));
    }
    Ok(())
}

/// A document that was made, as a value, if it is not too long.
///
/// # Errors
/// It is longer than [`TEXT_LENGTH_MAX`].
pub fn made(text: String) -> Evaluated<Value> {
    if text.len() > TEXT_LENGTH_MAX && jvm::length(&text) > TEXT_LENGTH_MAX {
        return Err(too_long());
    }
    Ok(Value::Text(text.into()))
}

/// Refuses a document that is being made, once it is too long however its characters are counted: one that is made in parts need not be
/// counted after each of them.
///
/// # Errors
/// It has more than three bytes for each of [`TEXT_LENGTH_MAX`] code units.
pub fn check_growing(text: &str) -> Evaluated<()> {
    // A UTF-16 code unit takes at most three bytes.
    if text.len() > TEXT_LENGTH_MAX * 3 { Err(too_long()) } else { Ok(()) }
}

/// The document that would be made is too long.
fn too_long() -> Box<Fault> {
    Fault::processing(format!("Output exceeds the maximum length of {TEXT_LENGTH_MAX} characters."))
}

/// The fault of a document that is none of its format, which is named as users name it (`XML`).
pub fn unreadable(format: &str, reason: impl std::fmt::Display) -> Box<Fault> {
    Fault::processing(format!("Failed to parse {format}: {reason}."))
}

/// The fault of a value that cannot be written in a format, which is named as users name it (`XML`).
pub fn unwritable(format: &str, reason: impl std::fmt::Display) -> Box<Fault> {
    Fault::processing(format!("Failed to convert value to {format}: {reason}."))
}

/// The fault of a document whose parts lie too deep in others: deeper than [`NESTED_MAX`] or [`READ_DEPTH_MAX`] says.
pub fn too_deep() -> Box<Fault> {
    Fault::processing("Maximum nesting depth exceeded.")
}

/// Why a value cannot be said in JSON and in what is made of JSON: it holds `undefined`, or is nested deeper than [`NESTED_MAX`].
/// `None` when it can. `depth` is the number of arrays and objects around it.
pub fn not_json(value: &Value, depth: usize) -> Option<&'static str> {
    let within = |value: &Value| not_json(value, depth + 1);
    match value {
        Value::Array(_) | Value::Object(_) if depth >= NESTED_MAX => Some("Maximum nesting depth exceeded."),
        Value::Array(values) => values.iter().find_map(within),
        Value::Object(object) => object.values().find_map(within),
        other if other.data_type() == DataType::Undefined => Some("Cannot marshall UndefinedValue to JSON."),
        _ => None,
    }
}

/// A number as SAPL makes values of what its readers read in doubles.
///
/// # Errors
/// It is infinite or not a number.
pub fn of_double(double: f64) -> Result<Value, &'static str> {
    Decimal::from_f64(double).map(jvm::number).ok_or("a number is too large")
}

/// A number as SAPL makes values of what its readers read exactly.
///
/// # Errors
/// It is longer than [`NUMBER_LENGTH_MAX`], or its scale is too large.
pub fn of_decimal(text: &str) -> Result<Value, &'static str> {
    if text.len() > NUMBER_LENGTH_MAX {
        return Err("a number is too long");
    }
    Decimal::parse(text).map(jvm::number)
}

/// The place behind so many bytes of a document: `line 2, column 5`, both from 1, columns in characters.
pub fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}")
}

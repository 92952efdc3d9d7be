//! The library `toml`: documents of TOML 1.0.
//!
//! They are read and written as Jackson, the library of the Java engine, does it: numbers keep their digits (`1.50`),
//! dates and times are texts that need not be in the calendar, `inf` and `nan` are errors.

mod read;
mod scalar;
#[cfg(test)]
mod tests;
mod tree;
mod write;

use durward_functions::argument::{any, text};
use durward_functions::document::{check_input, made, not_json, place, too_deep, unreadable, unwritable};
use durward_functions::table::row;
use durward_ir::Value;
use durward_ir::fault::Evaluated;
use durward_ir::library::{LibraryFunction, Parameter};

fn toml_to_val(arguments: &[Value]) -> Evaluated<Value> {
    let text = text(arguments, 0)?;
    check_input(text)?;
    match read::read(text) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(too_deep()),
        Err(wrong) => Err(unreadable("TOML", format_args!("{}: {}", place(text, wrong.at), wrong.reason))),
    }
}

fn val_to_toml(arguments: &[Value]) -> Evaluated<Value> {
    let value = any(arguments, 0)?;
    if let Some(reason) = not_json(value, 0) {
        return Err(unwritable("TOML", reason));
    }
    let mut out = String::new();
    write::write(value, &mut out)?;
    made(out)
}

/// The functions of the library `toml`, overloads one by one.
pub const FUNCTIONS: &[LibraryFunction] = &[
    row(
        "toml.tomlToVal",
        &[Parameter::Text],
        toml_to_val,
        "The object of a TOML document; dates and times are texts.",
    ),
    row(
        "toml.valToToml",
        &[Parameter::Any],
        val_to_toml,
        "A value as a TOML document; null is an empty text.",
    ),
];

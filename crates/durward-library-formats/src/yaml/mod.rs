//! The library `yaml`: documents of YAML 1.2.
//!
//! They are read and written as Jackson, the library of the Java engine, does it, with the JSON schema of YAML: of plain
//! scalars only `true`, `false`, `null` and the numbers of JSON are no texts, and what is missing is an empty text. An
//! alias is the name of its anchor and nothing else, so that short documents stay small values; merge keys (`<<`) are
//! keys like others.

mod emitter;
mod read;
mod scalar;
#[cfg(test)]
mod tests;
mod write;

use durward_functions::argument::{any, text};
use durward_functions::document::{check_input, made, not_json, unwritable};
use durward_functions::table::row;
use durward_ir::Value;
use durward_ir::fault::Evaluated;
use durward_ir::library::{LibraryFunction, Parameter};

fn yaml_to_val(arguments: &[Value]) -> Evaluated<Value> {
    let text = text(arguments, 0)?;
    check_input(text)?;
    read::read(text)
}

fn val_to_yaml(arguments: &[Value]) -> Evaluated<Value> {
    let value = any(arguments, 0)?;
    if let Some(reason) = not_json(value, 0) {
        return Err(unwritable("YAML", reason));
    }
    made(write::write(value)?)
}

/// The functions of the library `yaml`, overloads one by one.
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("yaml.valToYaml", &[Parameter::Any], val_to_yaml, "A value as a YAML document."),
    row("yaml.yamlToVal", &[Parameter::Text], yaml_to_val, "The value of a YAML document."),
];

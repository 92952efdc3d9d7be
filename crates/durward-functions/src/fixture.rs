//! Values for tests, written as JSON, and calls with them.

#![expect(clippy::panic, reason = "tests fail by panics")]

use durward_ir::fault::Evaluated;
use durward_ir::library::LibraryFunction;
use durward_ir::value::Value;

/// The value that this JSON text says.
///
/// # Panics
/// The text is no JSON.
pub fn json(text: &str) -> Value {
    durward_ir::json::read(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Calls one of these functions with arguments written as one JSON array.
///
/// # Errors
/// The function refuses the arguments.
///
/// # Panics
/// The text is no array, or none of the functions has this name and takes so many arguments.
pub fn call(functions: &[LibraryFunction], name: &str, arguments: &str) -> Evaluated<Value> {
    let Value::Array(arguments) = json(arguments) else { panic!("arguments are an array") };
    call_with(functions, name, &arguments)
}

/// Calls one of these functions.
///
/// # Errors
/// The function refuses the arguments.
///
/// # Panics
/// None of the functions has this name and takes so many arguments.
pub fn call_with(functions: &[LibraryFunction], name: &str, arguments: &[Value]) -> Evaluated<Value> {
    let named = |function: &&LibraryFunction| function.name == name && function.takes_count(arguments.len());
    functions.iter().find(named).unwrap_or_else(|| panic!("{name} is missing")).call(arguments)
}

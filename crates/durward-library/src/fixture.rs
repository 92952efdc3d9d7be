//! Values for tests, written as JSON.

use durward_ir::fault::Evaluated;
use durward_ir::value::Value;

/// The value that this JSON text says.
pub(crate) fn json(text: &str) -> Value {
    durward_ir::json::read(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Calls a function with arguments written as one JSON array.
pub(crate) fn call(name: &str, arguments: &str) -> Evaluated<Value> {
    let Value::Array(arguments) = json(arguments) else { panic!("arguments are an array") };
    call_with(name, &arguments)
}

/// Calls a function.
pub(crate) fn call_with(name: &str, arguments: &[Value]) -> Evaluated<Value> {
    crate::find(name, arguments.len()).unwrap_or_else(|| panic!("{name} is missing")).call(arguments)
}

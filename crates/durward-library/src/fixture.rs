//! Values for tests, written as JSON.

use durward_ir::datatype::Decimal;
use durward_ir::value::Value;

/// The value that this JSON text says.
pub(crate) fn json(text: &str) -> Value {
    value(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}")))
}

pub(crate) fn value(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(boolean) => Value::Boolean(*boolean),
        serde_json::Value::Number(number) => Value::Number(Decimal::parse(&number.to_string()).unwrap()),
        serde_json::Value::String(text) => Value::Text(text.into()),
        serde_json::Value::Array(values) => Value::array(values.iter().map(value)),
        serde_json::Value::Object(object) => {
            Value::object(object.iter().map(|(key, held)| (key.as_str(), value(held))))
        }
    }
}

/// Calls a function with arguments written as one JSON array.
pub(crate) fn call(name: &str, arguments: &str) -> durward_ir::fault::Evaluated<Value> {
    let Value::Array(arguments) = json(arguments) else { panic!("arguments are an array") };
    call_with(name, &arguments)
}

pub(crate) fn call_with(name: &str, arguments: &[Value]) -> durward_ir::fault::Evaluated<Value> {
    crate::find(name, arguments.len()).unwrap_or_else(|| panic!("{name} is missing")).call(arguments)
}

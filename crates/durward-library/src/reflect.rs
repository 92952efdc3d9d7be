//! The library `reflect`: what kind a value is of.
//!
//! A call with an erroneous argument fails before the function is asked, in the Java engine too, so that `isError`
//! is never true.

use durward_functions::table::{row, unchecked};
use durward_ir::fault::Evaluated;
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Any;
use durward_ir::value::{DataType, Value};

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("reflect.isArray", &[Any], |a| is(a, |value| matches!(value, Value::Array(_))), "Whether it is an array."),
    row("reflect.isObject", &[Any], |a| is(a, |value| matches!(value, Value::Object(_))), "Whether it is an object."),
    row("reflect.isText", &[Any], |a| is(a, |value| matches!(value, Value::Text(_))), "Whether it is a text."),
    row("reflect.isNumber", &[Any], |a| is(a, |value| matches!(value, Value::Number(_))), "Whether it is a number."),
    row("reflect.isInteger", &[Any], |a| is(a, is_integer),
        "Whether it is a number without a fraction, such as `2` and `2.0`."),
    row("reflect.isBoolean", &[Any], |a| is(a, |value| matches!(value, Value::Boolean(_))), "Whether it is a boolean."),
    row("reflect.isNull", &[Any], |a| is(a, |value| matches!(value, Value::Null)), "Whether it is `null`."),
    row("reflect.isUndefined", &[Any], |a| is(a, |value| matches!(value, Value::Undefined)),
        "Whether it is `undefined`."),
    row("reflect.isDefined", &[Any], |a| is(a, |value| !matches!(value, Value::Undefined)),
        "Whether it is anything but `undefined`."),
    row("reflect.isError", &[Any], |a| is(a, |_| false), "Never true: an erroneous argument is the error of the call."),
    row("reflect.isEmpty", &[Any], |a| is(a, is_empty),
        "Whether it is an empty array or object."),
    row("reflect.typeOf", &[Any], type_of,
        "`ARRAY`, `OBJECT`, `STRING`, `NUMBER`, `BOOLEAN`, `NULL` or `undefined`."),
];

fn is(arguments: &[Value], holds: impl Fn(&Value) -> bool) -> Evaluated<Value> {
    let [value] = arguments else { return unchecked() };
    Ok(Value::Boolean(holds(value)))
}

fn is_integer(value: &Value) -> bool {
    if let Value::Number(number) = value { number.is_integer() } else { false }
}

fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Array(elements) if elements.is_empty())
        || matches!(value, Value::Object(object) if object.is_empty())
}

/// What the engine calls the types.
const TYPES: [(DataType, &str); 6] = [
    (DataType::Array, "ARRAY"),
    (DataType::Object, "OBJECT"),
    (DataType::Text, "STRING"),
    (DataType::Number, "NUMBER"),
    (DataType::Boolean, "BOOLEAN"),
    (DataType::Null, "NULL"),
];

fn type_of(arguments: &[Value]) -> Evaluated<Value> {
    let [value] = arguments else { return unchecked() };
    let known = TYPES.iter().find(|(data_type, _)| *data_type == value.data_type());
    Ok(Value::Text(known.map_or("undefined", |(_, name)| name).into()))
}

//! The library `object`: what is in an object.

use durward_functions::table::{row, unchecked};
use durward_ir::fault::Evaluated;
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Object;
use durward_ir::value::Value;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("object.keys", &[Object], keys, "The keys of the object, in their order."),
    row("object.values", &[Object], values, "The values of the object, in the order of their keys."),
];

fn keys(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(object)] = arguments else { return unchecked() };
    Ok(Value::array(object.keys().map(|key| Value::Text(key.clone()))))
}

fn values(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Object(object)] = arguments else { return unchecked() };
    Ok(Value::array(object.values().cloned()))
}

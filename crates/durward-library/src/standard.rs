//! The library `standard`: length, text and fallback of any value.
//!
//! A call with an erroneous argument fails before the function is asked, in the Java engine too, so that
//! `onErrorMap` never gives its fallback.

use std::fmt::Write;

use durward_functions::jvm;
use durward_functions::limits::{LimitedText, too_long};
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Any;
use durward_ir::value::{Debugged, Value};

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("standard.length", &[Any], length,
        "The number of UTF-16 code units of a text, of elements of an array, of keys of an object; an error for others."),
    row("standard.toString", &[Any], to_string, "The value as a text: a text as it is, others as SAPL shows them."),
    row("standard.onErrorMap", &[Any, Any], on_error_map,
        "The first value: an erroneous one is the error of the call."),
];

fn length(arguments: &[Value]) -> Evaluated<Value> {
    let [value] = arguments else { return unchecked() };
    let length = if let Value::Text(text) = value {
        jvm::length(text)
    } else if let Value::Array(elements) = value {
        elements.len()
    } else if let Value::Object(object) = value {
        object.len()
    } else {
        return Err(Fault::processing("only texts, arrays and objects have a length"));
    };
    Ok(jvm::whole(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn to_string(arguments: &[Value]) -> Evaluated<Value> {
    let [value] = arguments else { return unchecked() };
    if let Value::Text(_) = value {
        return Ok(value.clone());
    }
    let mut text = LimitedText::default();
    match write!(text, "{}", Debugged(value)) {
        Ok(()) => Ok(Value::Text(text.finish().into())),
        Err(_) => Err(too_long()),
    }
}

fn on_error_map(arguments: &[Value]) -> Evaluated<Value> {
    let [guarded, _] = arguments else { return unchecked() };
    Ok(guarded.clone())
}

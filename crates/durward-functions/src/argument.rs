//! The arguments of functions. Their types were checked by `LibraryFunction::call`, so the errors here are for callers
//! that did not go through it.

use durward_ir::datatype::Decimal;
use durward_ir::{Value, fault::Evaluated, fault::Fault};

fn wrong(at: usize, wanted: &str) -> Box<Fault> {
    Fault::processing(format!("argument {} must be {wanted}", at + 1))
}

/// The text at this place, counted from 0.
///
/// # Errors
/// There is no argument at this place, or it is no text.
#[inline]
pub fn text(arguments: &[Value], at: usize) -> Evaluated<&str> {
    match arguments.get(at) {
        Some(Value::Text(text)) => Ok(text),
        _ => Err(wrong(at, "a text")),
    }
}

/// The number at this place, counted from 0.
///
/// # Errors
/// There is no argument at this place, or it is no number.
#[inline]
pub fn number(arguments: &[Value], at: usize) -> Evaluated<&Decimal> {
    match arguments.get(at) {
        Some(Value::Number(number)) => Ok(number),
        _ => Err(wrong(at, "a number")),
    }
}

/// The values of the array at this place, counted from 0.
///
/// # Errors
/// There is no argument at this place, or it is no array.
#[inline]
pub fn array(arguments: &[Value], at: usize) -> Evaluated<&[Value]> {
    match arguments.get(at) {
        Some(Value::Array(values)) => Ok(values),
        _ => Err(wrong(at, "an array")),
    }
}

/// Whatever is at this place, counted from 0.
///
/// # Errors
/// There is no argument at this place.
#[inline]
pub fn any(arguments: &[Value], at: usize) -> Evaluated<&Value> {
    arguments.get(at).ok_or_else(|| wrong(at, "there"))
}

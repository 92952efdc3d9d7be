//! What SAPL computes over values that have the structure of JSON: operators, steps into values, filters.
//!
//! Pure functions of values. Those that SAPL has evaluate an expression for every element (`[?(..)]`, `::`, `each`,
//! extended filters) take it as a closure, whose argument says what `@` and `#` are. Meanings are those that SAPL 4.2
//! shows; where its documentation differs, the engine counts.

mod membership;
mod operators;
mod paths;
pub mod regex;
mod steps;
mod templates;

use std::borrow::Cow;

use crate::fault::{Evaluated, Fault};
use crate::value::{Value, WEIGHT_MAX};

pub use crate::library::kind_of;
pub use membership::{all_in, any_in, has, has_all, has_any, is_in};
pub use operators::{
    Comparison, Numeric, add, calculate, compare, divide, exclusive_or, multiply, negative, not, positive,
    remainder, subtract,
};
pub use paths::{PathStep, filter};
pub use steps::{
    Slice, all_descendants, condition, descendants_at, descendants_of, index, indices, key, key_of, keys,
    lookup, slice, wildcard,
};
pub use templates::{each, template};

/// How deep `..` and recursive filters go, as in SAPL.
pub const DESCENT_MAX: usize = 500;

/// What `@` and `#` stand for.
#[derive(Clone, Debug)]
pub struct Relative<'a> {
    /// `@`: the element.
    pub value: &'a Value,
    /// `#`: its index, its key, or `undefined`.
    pub location: Value,
}

/// Refuses a value that was put together from others and is larger than [`WEIGHT_MAX`].
///
/// # Errors
/// The value is too large.
pub fn limited(value: Value) -> Evaluated<Value> {
    match value.weighed(WEIGHT_MAX) {
        Some(_) => Ok(value),
        None => Err(Fault::processing(format!("the value is larger than {WEIGHT_MAX} bytes"))),
    }
}

/// The values in an array or an object with what `#` is for each.
fn located<'a>(value: &'a Value) -> Option<Box<dyn Iterator<Item = Relative<'a>> + 'a>> {
    if let Value::Array(values) = value {
        Some(Box::new(
            values.iter().enumerate().map(|(at, value)| Relative { value, location: position(at) }),
        ))
    } else if let Value::Object(object) = value {
        let relative =
            |(key, value)| Relative { value, location: Value::Text(smol_str::SmolStr::clone(key)) };
        Some(Box::new(object.iter().map(relative)))
    } else {
        None
    }
}

fn position(at: usize) -> Value {
    Value::number(i64::try_from(at).unwrap_or(i64::MAX))
}

/// A value as an error shows it: in the debug form, cut when it is long.
fn shown(value: &Value) -> String {
    cut(&crate::value::Debugged(value).to_string()).into_owned()
}

/// A text as an error shows it, cut when it is long.
fn cut(text: &str) -> Cow<'_, str> {
    const SHOWN_CHARS_MAX: usize = 80;
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests;

//! Expressions applied to every element: `::` and `|- each`.

use super::{Relative, limited, located, position};
use crate::fault::Evaluated;
use crate::value::{Object, ObjectBuilder, Value};

/// `base :: expression`: the array of what the expression gives for each element of an array or value of an object; for
/// anything else, what it gives with the base as `@` and 0 as `#`. `undefined` stays `undefined`; inside the array it is
/// kept.
///
/// # Errors
/// The expression fails for any of them, or the result is too large.
pub fn template(base: &Value, mut apply: impl FnMut(Relative<'_>) -> Evaluated<Value>) -> Evaluated<Value> {
    if base.is_undefined() {
        return Ok(Value::Undefined);
    }
    match located(base) {
        Some(elements) => limited(Value::Array(elements.map(apply).collect::<Evaluated<_>>()?)),
        None => apply(Relative { value: base, location: position(0) }),
    }
}

/// `base |- each function`: an array or an object with what the function gives for each of its values; those for which it
/// gives `undefined` are left out. For anything else, what it gives for the base.
///
/// # Errors
/// The function fails for any of them, or the result is too large.
pub fn each(base: &Value, apply: impl FnMut(Relative<'_>) -> Evaluated<Value>) -> Evaluated<Value> {
    limited(rebuild(base, apply)?)
}

/// As [`each`], without the limit.
pub(super) fn rebuild(
    base: &Value,
    mut apply: impl FnMut(Relative<'_>) -> Evaluated<Value>,
) -> Evaluated<Value> {
    if let Some(values) = base.as_array() {
        let mut built = Vec::with_capacity(values.len());
        for (at, value) in values.iter().enumerate() {
            let value = apply(Relative { value, location: position(at) })?;
            if !value.is_undefined() {
                built.push(value);
            }
        }
        return Ok(Value::Array(built.into()));
    }
    match base.as_object() {
        Some(object) => rebuild_object(object, apply),
        None => apply(Relative { value: base, location: Value::Undefined }),
    }
}

fn rebuild_object(
    object: &Object,
    mut apply: impl FnMut(Relative<'_>) -> Evaluated<Value>,
) -> Evaluated<Value> {
    let mut built = ObjectBuilder::with_capacity(object.len());
    for (key, value) in object.iter() {
        let value = apply(Relative { value, location: Value::Text(key.clone()) })?;
        if !value.is_undefined() {
            built.insert(key.clone(), value);
        }
    }
    Ok(Value::Object(built.finish().into()))
}

//! The operators that look for values and keys: `in`, `has` and their `any` and `all`.

use super::{kind_of, shown};
use crate::fault::{Evaluated, Fault};
use crate::value::{Object, Value};

/// `needle in haystack`: whether an array has an equal element, an object an equal value, or a text the other text as a
/// part.
///
/// # Errors
/// Anything else is searched, `undefined` too, or a text for something that is no text.
#[inline]
pub fn is_in(needle: &Value, haystack: &Value) -> Evaluated<bool> {
    if let Value::Array(values) = haystack {
        return Ok(values.iter().any(|value| value.equals(needle)));
    }
    if let Value::Object(object) = haystack {
        return Ok(object.values().any(|value| value.equals(needle)));
    }
    match (needle, haystack) {
        (Value::Text(part), Value::Text(text)) => Ok(text.contains(part.as_str())),
        _ => Err(unsearchable(needle, haystack)),
    }
}

#[cold]
fn unsearchable(needle: &Value, haystack: &Value) -> Box<Fault> {
    let reason = "`in` looks for values in arrays and objects, and for texts in texts";
    Fault::processing(format!("{reason}, not for `{}` in `{}`", shown(needle), shown(haystack)))
}

/// `needles any in haystack`: whether [`is_in`] holds for any element of an array, looked for in turn.
///
/// # Errors
/// `needles` is no array, or [`is_in`] fails before one is found.
pub fn any_in(needles: &Value, haystack: &Value) -> Evaluated<bool> {
    for needle in elements("any in", needles)? {
        if is_in(needle, haystack)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `needles all in haystack`: whether [`is_in`] holds for all elements of an array, looked for in turn.
///
/// # Errors
/// `needles` is no array, or [`is_in`] fails before one is missed.
pub fn all_in(needles: &Value, haystack: &Value) -> Evaluated<bool> {
    for needle in elements("all in", needles)? {
        if !is_in(needle, haystack)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn elements<'a>(operator: &str, needles: &'a Value) -> Evaluated<&'a [Value]> {
    let Some(values) = needles.as_array() else {
        let message = format!("the left side of `{operator}` must be an array, not {}", kind_of(needles));
        return Err(Fault::processing(message));
    };
    Ok(values)
}

/// `base has key`: whether an object has the key. False when either is `undefined`, and for anything but objects.
///
/// # Errors
/// The key is no text.
#[inline]
pub fn has(base: &Value, key: &Value) -> Evaluated<bool> {
    if base.is_undefined() || key.is_undefined() {
        return Ok(false);
    }
    let Some(key) = key.as_text() else {
        return Err(Fault::processing(format!("the key of `has` must be a text, not {}", kind_of(key))));
    };
    Ok(base.as_object().is_some_and(|object| object.contains_key(key)))
}

/// `base has any keys`: whether an object has any key of an array. False as for [`has`].
///
/// # Errors
/// `keys` is no array, or any of its elements no text.
pub fn has_any(base: &Value, keys: &Value) -> Evaluated<bool> {
    let found = |object: &Object, keys: &[Value]| texts(keys).any(|key| object.contains_key(key));
    has_some("has any", base, keys, found)
}

/// `base has all keys`: whether an object has all keys of an array. False as for [`has`].
///
/// # Errors
/// `keys` is no array, or any of its elements no text.
pub fn has_all(base: &Value, keys: &Value) -> Evaluated<bool> {
    let found = |object: &Object, keys: &[Value]| texts(keys).all(|key| object.contains_key(key));
    has_some("has all", base, keys, found)
}

fn has_some(
    operator: &str,
    base: &Value,
    keys: &Value,
    found: impl Fn(&Object, &[Value]) -> bool,
) -> Evaluated<bool> {
    if base.is_undefined() || keys.is_undefined() {
        return Ok(false);
    }
    let Some(keys) = keys.as_array() else {
        let message = format!("the keys of `{operator}` must be an array, not {}", kind_of(keys));
        return Err(Fault::processing(message));
    };
    if let Some((at, other)) = keys.iter().enumerate().find(|(_, key)| key.as_text().is_none()) {
        let message = format!("key {at} of `{operator}` must be a text, not {}", kind_of(other));
        return Err(Fault::processing(message));
    }
    Ok(base.as_object().is_some_and(|object| found(object, keys)))
}

fn texts(keys: &[Value]) -> impl Iterator<Item = &str> {
    keys.iter().filter_map(Value::as_text)
}

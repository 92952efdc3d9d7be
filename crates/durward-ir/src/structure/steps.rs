//! Steps into values: by key, by index, slices, unions, conditions, and down through everything.

use std::sync::Arc;

use super::{DESCENT_MAX, Relative, kind_of, limited, located};
use crate::datatype::Decimal;
use crate::fault::{Evaluated, Fault};
use crate::value::{Key, Object, Value};

/// `base.key`: the value of the key in an object; of an array, the values of the key in those elements that are objects
/// and have it. Anything else has no keys, and what is not there is `undefined`.
#[inline]
pub fn key(base: &Value, key: &str) -> Value {
    key_by(base, |object| object.get(key))
}

/// As [`key`], with a key whose hash is known.
#[inline]
pub fn key_of(base: &Value, key: &Key) -> Value {
    key_by(base, |object| object.get_key(key))
}

#[inline]
fn key_by<'a>(base: &'a Value, get: impl Fn(&'a Object) -> Option<&'a Value>) -> Value {
    if let Value::Object(object) = base {
        return get(object).cloned().unwrap_or(Value::Undefined);
    }
    let Value::Array(values) = base else {
        return Value::Undefined;
    };
    Value::array(values.iter().filter_map(|value| get(value.as_object()?).cloned()))
}

/// `base[index]`: the element of an array, from its end when the index is below zero.
///
/// # Errors
/// There is no such element, or the base is no array.
pub fn index(base: &Value, index: i64) -> Evaluated<Value> {
    let values = array("an index", base)?;
    match place(index, values.len()).and_then(|at| values.get(at)) {
        Some(value) => Ok(value.clone()),
        None => {
            let message = format!("there is no index {index} in an array of {} elements", values.len());
            Err(Fault::processing(message))
        }
    }
}

/// Where the index is in an array of this length, if it is.
pub(super) fn place(index: i64, length: usize) -> Option<usize> {
    let at = match usize::try_from(index) {
        Ok(at) => at,
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?,
    };
    (at < length).then_some(at)
}

fn array<'a>(step: &str, base: &'a Value) -> Evaluated<&'a Arc<[Value]>> {
    let refuse = || Fault::processing(format!("{step} needs an array, not {}", kind_of(base)));
    base.as_array().ok_or_else(refuse)
}

/// `base[(expression)]`: [`key`] for a text, [`index`] for a whole number.
///
/// # Errors
/// The expression gave anything else, or [`index`] fails.
#[inline]
pub fn lookup(base: &Value, at: &Value) -> Evaluated<Value> {
    if let Some(text) = at.as_text() {
        return Ok(key(base, text));
    }
    match at.as_number() {
        Some(number) => index(base, whole(number)?),
        None => {
            let message = format!("`[(..)]` needs a text or a whole number, not {}", kind_of(at));
            Err(Fault::processing(message))
        }
    }
}

/// The index that a number stands for. Those beyond 64 bits are in no array, and saturate.
pub(super) fn whole(number: &Decimal) -> Evaluated<i64> {
    if !number.is_integer() {
        return Err(Fault::processing(format!("an index must be a whole number, not `{number}`")));
    }
    let beyond = if number.signum() < 0 { i64::MIN } else { i64::MAX };
    Ok(number.to_i64().unwrap_or(beyond))
}

/// `base[*]`: the values of an object as an array; an array is given as it is.
///
/// # Errors
/// The base is neither.
pub fn wildcard(base: &Value) -> Evaluated<Value> {
    if base.as_array().is_some() {
        return Ok(base.clone());
    }
    match base.as_object() {
        Some(object) => Ok(Value::array(object.values().cloned())),
        None => Err(Fault::processing(format!("`*` needs an array or an object, not {}", kind_of(base)))),
    }
}

/// `base[0, 2]`: the elements of an array at these indices, in the order of the array, each once. Indices that are not
/// there are left out.
///
/// # Errors
/// The base is no array.
pub fn indices(base: &Value, indices: &[i64]) -> Evaluated<Value> {
    let values = array("a list of indices", base)?;
    let mut places: Vec<usize> = indices.iter().filter_map(|index| place(*index, values.len())).collect();
    places.sort_unstable();
    places.dedup();
    Ok(Value::array(places.into_iter().filter_map(|at| values.get(at).cloned())))
}

/// `base["a", "b"]`: the values of these keys in an object, in the order given, each key once. Keys that are not there
/// are left out.
///
/// # Errors
/// The base is no object.
pub fn keys(base: &Value, keys: &[Key]) -> Evaluated<Value> {
    let Value::Object(object) = base else {
        return Err(Fault::processing(format!("a list of keys needs an object, not {}", kind_of(base))));
    };
    let first = |at: usize, key: &Key| {
        keys.iter().position(|other| other.as_str() == key.as_str()).is_none_or(|first| first == at)
    };
    let found = keys.iter().enumerate().filter(|(at, key)| first(*at, key));
    Ok(Value::array(found.filter_map(|(_, key)| object.get_key(key).cloned())))
}

/// `[from:to:step]`, each of which may be left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The first index; from the end when below zero.
    pub from: Option<i64>,
    /// The index before which to stop; from the end when below zero.
    pub to: Option<i64>,
    /// The distance between indices, 1 unless given; backwards when below zero.
    pub step: Option<i64>,
}

impl Slice {
    /// The places this selects in an array of the length, in their order; none when the step is zero. As in Python,
    /// but that an end far below the first element is the first element, so that `[::-1]` has it and `[:-9:-1]` of
    /// three does not.
    pub fn places(self, length: usize) -> Vec<usize> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let step = self.step.unwrap_or(1);
        let bound =
            |index: i64| if index < 0 { (length + index.max(-length)).max(0) } else { index.min(length) };
        let forward = step > 0;
        let from = self.from.map_or(if forward { 0 } else { length - 1 }, bound);
        let to = self.to.map_or(if forward { length } else { -1 }, bound);
        let inside = |at: &i64| if forward { *at < to } else { *at > to };
        let places = std::iter::successors(Some(from), |at| at.checked_add(step)).take_while(inside);
        if step == 0 {
            return Vec::new();
        }
        // The first one may be just behind the end, when going backwards.
        places.filter(|at| (0..length).contains(at)).filter_map(|at| usize::try_from(at).ok()).collect()
    }
}

/// `base[from:to:step]`: the elements that [`Slice::places`] selects.
///
/// # Errors
/// The base is no array, or the step is zero.
pub fn slice(base: &Value, slice: Slice) -> Evaluated<Value> {
    if slice.step == Some(0) {
        return Err(Fault::processing("the step of a slice must not be 0"));
    }
    let values = array("a slice", base)?;
    Ok(Value::array(slice.places(values.len()).into_iter().filter_map(|at| values.get(at).cloned())))
}

/// `base[?(condition)]`: the elements of an array, or the values of an object, for which the condition is true.
///
/// # Errors
/// The base is neither, or the condition fails or gives anything but a boolean for any of them.
pub fn condition(
    base: &Value,
    mut condition: impl FnMut(Relative<'_>) -> Evaluated<Value>,
) -> Evaluated<Value> {
    let Some(elements) = located(base) else {
        let message = format!("a condition needs an array or an object, not {}", kind_of(base));
        return Err(Fault::processing(message));
    };
    let mut kept = Vec::new();
    for element in elements {
        let value = element.value;
        let holds = condition(element)?;
        match holds.as_boolean() {
            Some(true) => kept.push(value.clone()),
            Some(false) => {}
            None => {
                let message = format!("a condition must be true or false, not {}", kind_of(&holds));
                return Err(Fault::processing(message));
            }
        }
    }
    Ok(Value::array(kept))
}

/// `base..key`: the values of the key in all objects in the base, an outer one before those inside it.
///
/// # Errors
/// The base is nested deeper than [`DESCENT_MAX`], or the result is too large; likewise below.
pub fn descendants_of(base: &Value, key: &Key) -> Evaluated<Value> {
    descend(base, |value, found| {
        if let Value::Object(object) = value {
            found.extend(object.get_key(key).cloned());
        }
    })
}

/// `base..[index]`: the elements at the index in all arrays in the base, from the end when below zero.
///
/// # Errors
/// As [`descendants_of`].
pub fn descendants_at(base: &Value, index: i64) -> Evaluated<Value> {
    descend(base, |value, found| {
        if let Value::Array(values) = value {
            found.extend(place(index, values.len()).and_then(|at| values.get(at)).cloned());
        }
    })
}

/// `base..*`: every element and value in the base, each before those inside it.
///
/// # Errors
/// As [`descendants_of`].
pub fn all_descendants(base: &Value) -> Evaluated<Value> {
    let mut found = Vec::new();
    for_each_child(base, &mut |child| visit(child, 1, &mut |value| found.push(value.clone())))?;
    limited(Value::Array(found.into()))
}

fn descend(base: &Value, mut collect: impl FnMut(&Value, &mut Vec<Value>)) -> Evaluated<Value> {
    let mut found = Vec::new();
    visit(base, 0, &mut |value| collect(value, &mut found))?;
    limited(Value::Array(found.into()))
}

/// Visits the value, then everything inside it.
fn visit(value: &Value, depth: usize, visitor: &mut impl FnMut(&Value)) -> Evaluated<()> {
    if depth > DESCENT_MAX {
        return Err(too_deep());
    }
    visitor(value);
    for_each_child(value, &mut |child| visit(child, depth + 1, visitor))
}

fn for_each_child(value: &Value, visit: &mut impl FnMut(&Value) -> Evaluated<()>) -> Evaluated<()> {
    if let Value::Array(values) = value {
        values.iter().try_for_each(visit)
    } else if let Value::Object(object) = value {
        object.values().try_for_each(visit)
    } else {
        Ok(())
    }
}

pub(super) fn too_deep() -> Box<Fault> {
    Fault::processing(format!("the value is nested deeper than {DESCENT_MAX} levels"))
}

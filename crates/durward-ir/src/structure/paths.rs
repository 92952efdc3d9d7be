//! Extended filters: `value |- { @.path : function }` gives the value with what the function makes of the parts that the
//! path leads to.

use super::steps::{place, too_deep, whole};
use super::templates::rebuild;
use super::{DESCENT_MAX, Relative, Slice, limited};
use crate::fault::Evaluated;
use crate::value::{Key, Value};

/// A step of the path of a filter. `E` is an expression to be evaluated on the way.
#[derive(Clone, Debug)]
pub enum PathStep<E> {
    /// `.key`, `["key"]`: of objects only.
    Key(Key),
    /// `[0]`
    Index(i64),
    /// `.*`, `[*]`
    Wildcard,
    /// `["a", "b"]`
    Keys(Vec<Key>),
    /// `[0, 2]`
    Indices(Vec<i64>),
    /// `[from:to:step]`
    Slice(Slice),
    /// `[(expression)]`
    Expression(E),
    /// `[?(condition)]`
    Condition(E),
    /// `..key`: the nearest such keys, not those inside their values.
    DescendantsOf(Key),
    /// `..[0]`: the nearest such elements, not those inside them.
    DescendantsAt(i64),
    /// `..*`: everything, the inner before the outer.
    Descendants,
}

/// The value with the parts that the path leads to replaced by what `apply` makes of them; parts for which it gives
/// `undefined` are removed. What a path misses stays as it is: keys and indices that are not there, steps into values that
/// have none, conditions that are not true.
///
/// `evaluate` evaluates an expression in the path: with the base as `@`, or with the element (and its place as `#`) that
/// the last step of several led to.
///
/// # Errors
/// `apply` or `evaluate` fails, a number in `[(..)]` is not whole, a descent is deeper than [`DESCENT_MAX`], or the result
/// is too large.
pub fn filter<E>(
    base: &Value,
    path: &[PathStep<E>],
    apply: &mut dyn FnMut(&Value) -> Evaluated<Value>,
    evaluate: &mut dyn FnMut(&E, &Relative<'_>) -> Evaluated<Value>,
) -> Evaluated<Value> {
    let start = Relative { value: base, location: Value::Undefined };
    limited(Filter { apply, evaluate }.walk(base, path, &start)?)
}

struct Filter<'f, E> {
    apply: &'f mut dyn FnMut(&Value) -> Evaluated<Value>,
    evaluate: &'f mut dyn FnMut(&E, &Relative<'_>) -> Evaluated<Value>,
}

impl<E> Filter<'_, E> {
    fn walk(&mut self, value: &Value, path: &[PathStep<E>], relative: &Relative<'_>) -> Evaluated<Value> {
        let Some((step, rest)) = path.split_first() else {
            return (self.apply)(value);
        };
        match step {
            PathStep::Key(key) => self.one_key(value, key, rest, relative),
            PathStep::Index(index) => self.one_index(value, *index, rest, relative),
            PathStep::Wildcard if !is_container(value) => Ok(value.clone()),
            PathStep::Wildcard => rebuild(value, |element| self.walk(element.value, rest, &element)),
            PathStep::Keys(keys) => self.selected_keys(value, keys, rest),
            PathStep::Indices(indices) => {
                let places = |length| indices.iter().filter_map(|index| place(*index, length)).collect();
                self.selected_places(value, places, rest)
            }
            PathStep::Slice(slice) => self.selected_places(value, |length| slice.places(length), rest),
            PathStep::Expression(expression) => {
                let at = (self.evaluate)(expression, relative)?;
                self.computed(value, &at, rest, relative)
            }
            PathStep::Condition(condition) => self.conditional(value, condition, rest),
            PathStep::DescendantsOf(_) | PathStep::DescendantsAt(_) | PathStep::Descendants => {
                self.descend(value, step, rest, relative, 0)
            }
        }
    }

    fn one_key(
        &mut self,
        value: &Value,
        key: &Key,
        rest: &[PathStep<E>],
        relative: &Relative<'_>,
    ) -> Evaluated<Value> {
        let Value::Object(object) = value else {
            return Ok(value.clone());
        };
        if object.get_key(key).is_none() {
            return Ok(value.clone());
        }
        rebuild(value, |element| {
            if is_key(&element, key) {
                self.walk(element.value, rest, relative)
            } else {
                Ok(element.value.clone())
            }
        })
    }

    fn one_index(
        &mut self,
        value: &Value,
        index: i64,
        rest: &[PathStep<E>],
        relative: &Relative<'_>,
    ) -> Evaluated<Value> {
        let Value::Array(values) = value else {
            return Ok(value.clone());
        };
        let Some(place) = place(index, values.len()) else {
            return Ok(value.clone());
        };
        rebuild_at(value, |at, element| {
            if at == place { self.walk(element.value, rest, relative) } else { Ok(element.value.clone()) }
        })
    }

    fn selected_keys(&mut self, value: &Value, keys: &[Key], rest: &[PathStep<E>]) -> Evaluated<Value> {
        if !matches!(value, Value::Object(_)) {
            return Ok(value.clone());
        }
        rebuild(value, |element| {
            let is_selected = keys.iter().any(|key| is_key(&element, key));
            if is_selected { self.walk(element.value, rest, &element) } else { Ok(element.value.clone()) }
        })
    }

    fn selected_places(
        &mut self,
        value: &Value,
        places: impl Fn(usize) -> Vec<usize>,
        rest: &[PathStep<E>],
    ) -> Evaluated<Value> {
        let Value::Array(values) = value else {
            return Ok(value.clone());
        };
        let mut selected = vec![false; values.len()];
        for place in places(values.len()) {
            if let Some(selected) = selected.get_mut(place) {
                *selected = true;
            }
        }
        rebuild_at(value, |at, element| match selected.get(at) {
            Some(true) => self.walk(element.value, rest, &element),
            Some(false) | None => Ok(element.value.clone()),
        })
    }

    /// `[(expression)]`: a key or an index; anything else leads nowhere.
    fn computed(
        &mut self,
        value: &Value,
        at: &Value,
        rest: &[PathStep<E>],
        relative: &Relative<'_>,
    ) -> Evaluated<Value> {
        if let Value::Text(text) = at {
            self.one_key(value, &Key::new(text.clone()), rest, relative)
        } else if let Some(number) = at.as_number() {
            self.one_index(value, whole(number)?, rest, relative)
        } else {
            Ok(value.clone())
        }
    }

    fn conditional(&mut self, value: &Value, condition: &E, rest: &[PathStep<E>]) -> Evaluated<Value> {
        if !is_container(value) {
            return Ok(value.clone());
        }
        rebuild(value, |element| {
            let holds = (self.evaluate)(condition, &element)?.as_boolean() == Some(true);
            if holds { self.walk(element.value, rest, &element) } else { Ok(element.value.clone()) }
        })
    }

    fn descend(
        &mut self,
        value: &Value,
        step: &PathStep<E>,
        rest: &[PathStep<E>],
        relative: &Relative<'_>,
        depth: usize,
    ) -> Evaluated<Value> {
        if depth > DESCENT_MAX {
            return Err(too_deep());
        }
        if !is_container(value) {
            return Ok(value.clone());
        }
        rebuild_at(value, |at, element| {
            if is_target(step, value, at, &element) {
                return self.walk(element.value, rest, relative);
            }
            let inside = self.descend(element.value, step, rest, relative, depth + 1)?;
            let is_every = matches!(step, PathStep::Descendants);
            if is_every { self.walk(&inside, rest, relative) } else { Ok(inside) }
        })
    }
}

/// Whether the descent stops at this element of the value.
fn is_target<E>(step: &PathStep<E>, value: &Value, at: usize, element: &Relative<'_>) -> bool {
    match (step, value) {
        (PathStep::DescendantsOf(key), Value::Object(_)) => is_key(element, key),
        (PathStep::DescendantsAt(index), Value::Array(values)) => place(*index, values.len()) == Some(at),
        _ => false,
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

fn is_key(element: &Relative<'_>, key: &Key) -> bool {
    matches!(&element.location, Value::Text(text) if text == key.as_str())
}

/// As [`rebuild`], counting the elements.
fn rebuild_at(
    value: &Value,
    mut apply: impl FnMut(usize, Relative<'_>) -> Evaluated<Value>,
) -> Evaluated<Value> {
    let mut next = 0;
    rebuild(value, |element| {
        next += 1;
        apply(next - 1, element)
    })
}

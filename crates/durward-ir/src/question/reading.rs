//! What is known of an attribute: as a request, a source or the clock gives it.

use std::borrow::Cow;

use crate::value::Value;

/// What is known of an attribute.
#[derive(Clone, Debug)]
pub enum Reading<'a> {
    /// Nothing.
    Absent,
    /// One value, with its [`Value::content_hash`] where that was computed ahead.
    /// The hash of a value that is not [`Value::is_internable`] does not matter.
    One(&'a Value, Option<u64>),
    /// One value that is not there as such, but was put together.
    Made(Value),
    /// Several values.
    Many(Cow<'a, [Value]>),
}

impl<'a> Reading<'a> {
    /// Of values.
    pub fn of(values: &'a [Value]) -> Reading<'a> {
        match values {
            [] => Reading::Absent,
            [value] => Reading::One(value, None),
            several => Reading::Many(Cow::Borrowed(several)),
        }
    }

    /// Of what was found in a value; undefined is nothing.
    pub fn found(value: Cow<'a, Value>) -> Reading<'a> {
        match value {
            Cow::Borrowed(Value::Undefined) | Cow::Owned(Value::Undefined) => Reading::Absent,
            Cow::Borrowed(value) => Reading::of(std::slice::from_ref(value)),
            Cow::Owned(value) => Reading::Made(value),
        }
    }

    /// The values.
    pub fn values(self) -> Cow<'a, [Value]> {
        match self {
            Reading::Absent => Cow::Borrowed(&[]),
            Reading::One(value, _) => Cow::Borrowed(std::slice::from_ref(value)),
            Reading::Made(value) => Cow::Owned(vec![value]),
            Reading::Many(values) => values,
        }
    }
}

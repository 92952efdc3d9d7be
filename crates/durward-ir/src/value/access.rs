//! Values as what they are, for code that cares about one kind only.

use std::sync::Arc;

use super::{Object, Value};
use crate::datatype::Decimal;

impl Value {
    /// The text, if this is one.
    #[inline]
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The boolean, if this is one.
    #[inline]
    pub fn as_boolean(&self) -> Option<bool> {
        if let Value::Boolean(boolean) = self { Some(*boolean) } else { None }
    }

    /// The number, if this is one of JSON's.
    #[inline]
    pub fn as_number(&self) -> Option<&Decimal> {
        if let Value::Number(number) = self { Some(number) } else { None }
    }

    /// The elements, if this is an array.
    #[inline]
    pub fn as_array(&self) -> Option<&Arc<[Value]>> {
        if let Value::Array(values) = self { Some(values) } else { None }
    }

    /// The object, if this is one.
    #[inline]
    pub fn as_object(&self) -> Option<&Arc<Object>> {
        if let Value::Object(object) = self { Some(object) } else { None }
    }

    /// Whether this is [`Value::Undefined`].
    #[inline]
    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }
}

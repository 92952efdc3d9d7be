//! Parts of a subscription: what SAPL's policies read of it.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher, Hasher};

use smol_str::SmolStr;

use crate::value::Value;

/// The four values of a subscription that policies see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Element {
    /// Who asks.
    Subject,
    /// What they want to do.
    Action,
    /// What they want to do it with.
    Resource,
    /// What surrounds them.
    Environment,
}

impl Element {
    /// All of them, in the order of their numbers.
    pub const ALL: [Element; 4] =
        [Element::Subject, Element::Action, Element::Resource, Element::Environment];

    /// Its name, as policies write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Element::Subject => "subject",
            Element::Action => "action",
            Element::Resource => "resource",
            Element::Environment => "environment",
        }
    }
}

/// A part of a subscription: one of its values, or what is found in it key by key. Such a part always has a value,
/// which may be undefined, and reading it never fails.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Path {
    element: Element,
    keys: Box<[SmolStr]>,
    /// The digest of the element and the first key.
    field: FieldKey,
}

/// A digest of an element and a key in it (or of the element itself), computed where a subscription is read, so that
/// deciding compares numbers first and texts only to confirm. Not secret and not collision free.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldKey(pub u64);

impl FieldKey {
    /// The key of `element`, or of `element.key`.
    pub fn of(element: Element, key: Option<&str>) -> FieldKey {
        let mut hasher = foldhash::fast::FixedState::with_seed(0x6475_7277_6172_6423).build_hasher();
        hasher.write_u8(element as u8);
        if let Some(key) = key {
            hasher.write(key.as_bytes());
            hasher.write_u8(0xff); // no UTF-8 text holds this byte: an empty key differs from none
        }
        FieldKey(hasher.finish())
    }
}

impl Path {
    /// The path of these keys.
    pub fn new(element: Element, keys: impl IntoIterator<Item = SmolStr>) -> Path {
        let keys: Box<[SmolStr]> = keys.into_iter().collect();
        let field = FieldKey::of(element, keys.first().map(SmolStr::as_str));
        Path { element, keys, field }
    }

    /// Where it starts.
    pub fn element(&self) -> Element {
        self.element
    }

    /// The keys, from the outermost.
    pub fn keys(&self) -> &[SmolStr] {
        &self.keys
    }

    /// The digest of the element and the first key, if there is one.
    pub fn field(&self) -> FieldKey {
        self.field
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.element.as_str())?;
        self.keys.iter().try_for_each(|key| write!(f, ".{key}"))
    }
}

/// The undefined value, to be borrowed.
pub(crate) static UNDEFINED: Value = Value::Undefined;

/// The value of a key: of an object its own, of an array those of the objects in it, of anything else undefined.
pub fn key_of<'v>(value: &'v Value, key: &str) -> Cow<'v, Value> {
    if let Value::Object(object) = value {
        Cow::Borrowed(object.get(key).unwrap_or(&UNDEFINED))
    } else if let Value::Array(elements) = value {
        let found = elements.iter().filter_map(|element| element.as_object()?.get(key).cloned());
        Cow::Owned(Value::array(found))
    } else {
        Cow::Borrowed(&UNDEFINED)
    }
}

/// The value at the end of some keys.
pub fn value_at<'v>(value: &'v Value, keys: &[SmolStr]) -> Cow<'v, Value> {
    let mut found = Cow::Borrowed(value);
    for key in keys {
        found = match found {
            Cow::Borrowed(value) => key_of(value, key),
            Cow::Owned(value) => Cow::Owned(key_of(&value, key).into_owned()),
        };
    }
    found
}

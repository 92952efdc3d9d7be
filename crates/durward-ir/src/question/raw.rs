//! A subscription as its bytes hold it: the words that policies compare, and slices of the bytes for the rest. Most are
//! answered by these alone; of the others the values are made.

use std::sync::Arc;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::compact::CompactSubscription;
use super::fields::Fields;
use super::word::Word;
use crate::path::{Element, Path};
use crate::value::{ObjectBuilder, Value};

/// A value that need not be made to be compared.
#[derive(Clone, Debug)]
pub enum RawValue<'t> {
    /// A text, in the bytes that it was read from.
    Text(&'t str),
    /// Any other value.
    Value(Value),
}

/// An element of a subscription, or a key of one.
#[derive(Clone, Debug)]
struct RawField<'t> {
    element: Element,
    /// The key; `None` for the element itself.
    name: Option<&'t str>,
    value: RawValue<'t>,
}

/// A subscription that borrows from the bytes it was read from.
///
/// Readers put in what they read in the order of the bytes, and end with [`RawSubscription::seal`]. What is not put in
/// is undefined. Whatever would need care (a key that comes twice, an object of many keys) is refused: the reader gives up and
/// reads the values instead.
#[derive(Clone, Debug)]
pub struct RawSubscription<'t> {
    compact: CompactSubscription,
    /// At the places of `compact`: the four elements, then the keys of those that are objects.
    fields: SmallVec<[RawField<'t>; FIELDS_INLINE]>,
    is_given: [bool; 4],
    is_object: [bool; 4],
    secrets: Value,
}

/// So many fields need no memory of their own.
const FIELDS_INLINE: usize = 12;

/// What cannot be read this way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantsValues;

impl<'t> Default for RawSubscription<'t> {
    fn default() -> RawSubscription<'t> {
        RawSubscription::new()
    }
}

impl<'t> RawSubscription<'t> {
    /// A subscription in which everything is undefined.
    #[inline]
    pub fn new() -> RawSubscription<'t> {
        let mut compact = CompactSubscription::NONE.clone();
        compact.close();
        let mut fields = SmallVec::new();
        for element in Element::ALL {
            compact.push(Word::of_name(element, None), Word::default());
            fields.push(RawField { element, name: None, value: RawValue::Value(Value::Undefined) });
        }
        RawSubscription {
            compact,
            fields,
            is_given: [false; 4],
            is_object: [false; 4],
            secrets: Value::Undefined,
        }
    }

    /// Puts in an element that is no object.
    ///
    /// # Errors
    /// It was put in before, or is an object.
    #[inline]
    pub fn put(&mut self, element: Element, value: RawValue<'t>) -> Result<(), WantsValues> {
        let word = value.word();
        match &value {
            RawValue::Value(Value::Object(_)) => return Err(WantsValues),
            // An array has the keys of the objects in it.
            RawValue::Value(Value::Array(_)) => self.compact.leave_open(element),
            RawValue::Text(_) | RawValue::Value(_) => {}
        }
        self.give(element, word)?;
        if let Some(field) = self.fields.get_mut(element as usize) {
            field.value = value;
        }
        Ok(())
    }

    /// Puts in an element that is an object, whose keys are put in next.
    ///
    /// # Errors
    /// It was put in before.
    #[inline]
    pub fn put_object(&mut self, element: Element) -> Result<(), WantsValues> {
        self.give(element, Word::OBJECT)?;
        if let Some(is_object) = self.is_object.get_mut(element as usize) {
            *is_object = true;
        }
        Ok(())
    }

    #[inline]
    fn give(&mut self, element: Element, word: Word) -> Result<(), WantsValues> {
        match self.is_given.get_mut(element as usize) {
            Some(is_given) if !*is_given => *is_given = true,
            _ => return Err(WantsValues),
        }
        self.compact.set(element as usize, word);
        Ok(())
    }

    /// Puts in a key of the element that was put in last.
    ///
    /// # Errors
    /// The element has the key, or there are too many.
    #[inline]
    pub fn put_key(
        &mut self,
        element: Element,
        name: &'t str,
        value: RawValue<'t>,
    ) -> Result<(), WantsValues> {
        let word = Word::of_name(element, Some(name));
        let fields = self.compact.fields();
        // Long names of one digest are taken for the same.
        let is_there = fields.iter().any(|field| field.name == word);
        if is_there || fields.len() >= FIELDS_MAX || !self.compact.push(word, value.word()) {
            return Err(WantsValues);
        }
        self.fields.push(RawField { element, name: Some(name), value });
        Ok(())
    }

    /// Puts in what attribute finders may know besides.
    pub fn put_secrets(&mut self, secrets: Value) {
        self.secrets = secrets;
    }

    /// Whether the element was put in.
    pub fn is_given(&self, element: Element) -> bool {
        self.is_given.get(element as usize) == Some(&true)
    }

    /// Whether the element is an object with this key.
    pub fn has_key(&self, element: Element, name: &str) -> bool {
        self.fields.iter().any(|field| field.element == element && field.name == Some(name))
    }

    /// Whether it is an object whose keys are fields of their own.
    fn is_apart(&self, field: &RawField<'_>) -> bool {
        field.name.is_none() && self.is_object.get(field.element as usize) == Some(&true)
    }

    /// Everything was put in.
    #[inline]
    pub fn seal(&mut self) {
        let RawSubscription { compact, fields, .. } = self;
        compact.seal(|place| fields.get(place).and_then(|field| field.name));
    }

    /// The fields in words.
    #[inline]
    pub fn compact(&self) -> &CompactSubscription {
        &self.compact
    }

    /// The values of the four elements, and the secrets.
    pub fn into_values(self) -> ([Value; 4], Value) {
        let mut objects: [ObjectBuilder; 4] = std::array::from_fn(|_| ObjectBuilder::new());
        let mut values = [const { Value::Undefined }; 4];
        for RawField { element, name, value } in self.fields {
            let at = element as usize;
            match (name, values.get_mut(at), objects.get_mut(at)) {
                (None, Some(place), _) => *place = value.into_value(),
                (Some(name), _, Some(object)) => object.insert(SmolStr::new(name), value.into_value()),
                (None, None, _) | (Some(_), _, None) => {}
            }
        }
        for ((value, object), is_object) in values.iter_mut().zip(objects).zip(self.is_object) {
            if is_object {
                *value = Value::Object(Arc::new(object.finish()));
            }
        }
        (values, self.secrets)
    }
}

/// A key of one element has to be found among those of all: no more fields than a line of the cache or two of names.
const FIELDS_MAX: usize = 32;

impl RawValue<'_> {
    #[inline]
    fn word(&self) -> Word {
        match self {
            RawValue::Text(text) => Word::of_text(text),
            RawValue::Value(value) => Word::of(value),
        }
    }

    /// The value itself.
    pub fn into_value(self) -> Value {
        match self {
            RawValue::Text(text) => Value::Text(SmolStr::new(text)),
            RawValue::Value(value) => value,
        }
    }
}

impl Fields for RawSubscription<'_> {
    fn place(&self, path: &Path) -> Option<u16> {
        let name = match path.keys() {
            [] => None,
            [name] => Some(name.as_str()),
            [_, _, ..] => return None,
        };
        let at =
            self.fields.iter().position(|field| field.element == path.element() && field.name == name)?;
        u16::try_from(at).ok()
    }

    fn at(&self, place: u16) -> Option<&Value> {
        let field = self.fields.get(usize::from(place))?;
        match &field.value {
            RawValue::Value(value) if !self.is_apart(field) => Some(value),
            RawValue::Value(_) | RawValue::Text(_) => None,
        }
    }

    fn made(&self, place: u16) -> Option<Value> {
        match &self.fields.get(usize::from(place))?.value {
            RawValue::Text(text) => Some(Value::Text(SmolStr::new(text))),
            RawValue::Value(_) => None,
        }
    }
}

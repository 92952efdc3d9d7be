//! Subscriptions: the questions of SAPL.

use durward_ir::attribute::{AttributeName, NameKey};
use durward_ir::json::{self, JsonError};
use durward_ir::path::{Element, FieldKey, Path, value_at};
use durward_ir::program::Slots;
use durward_ir::question::{Attributes, CompactSubscription, Encoding, Fields, RawSubscription, Reading};
use durward_ir::value::Value;
use std::fmt;

/// A question: who wants to do what with what, under which circumstances. Everything about it that does not depend on
/// policies is computed once, when it is made.
#[derive(Clone)]
pub struct Subscription {
    /// What the fields are looked up by, in the same order: close together, since looking is all that most do.
    keys: Vec<FieldKey>,
    /// The four values, and of those that are objects the value of each key.
    fields: Vec<Field>,
    /// The same in words.
    compact: Box<CompactSubscription>,
    /// What attribute finders may know besides; policies never see it.
    secrets: Value,
    /// What some program makes of it, if it was encoded for one.
    encoding: Encoding,
}

impl fmt::Debug for Subscription {
    /// Secrets are not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("fields", &self.fields).finish_non_exhaustive()
    }
}

/// One value and its name.
#[derive(Clone, Debug)]
struct Field {
    element: Element,
    /// The key within the element; `None` for the element itself.
    name: Option<smol_str::SmolStr>,
    value: Value,
    /// The value's [`Value::content_hash`], where policies may compare it by that.
    hash: u64,
}

/// Up to so many keys of one element are looked up by their digests; in a larger one it is faster to ask the object.
const FIELDS_MAX: usize = 16;

impl Subscription {
    /// A subscription of these values; undefined ones are not there.
    pub fn new(subject: Value, action: Value, resource: Value, environment: Value) -> Subscription {
        let mut fields: Vec<Field> = Element::ALL
            .into_iter()
            .zip([subject, action, resource, environment])
            .map(|(element, value)| Field::new(element, None, value))
            .collect();
        for at in 0..fields.len() {
            let Some((element, object)) = fields.get(at).and_then(Field::as_small_object) else { continue };
            let inner = object.iter().map(|(name, value)| Field::new(element, Some(name), value.clone()));
            fields.extend(inner.collect::<Vec<_>>());
        }
        let keys = fields.iter().map(Field::key).collect();
        let compact = Box::new(compact(&fields));
        Subscription { keys, fields, compact, secrets: Value::Undefined, encoding: Encoding::none() }
    }

    /// The same, with secrets for attribute finders.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Value) -> Subscription {
        self.secrets = secrets;
        self
    }

    /// Reads a subscription: an object with `subject`, `action`, `resource` and perhaps `environment` and `secrets`;
    /// other keys mean nothing.
    ///
    /// # Errors
    /// The text is no JSON, has an object with a key twice, or is not of that form.
    pub fn from_json(text: &[u8]) -> Result<Subscription, SubscriptionError> {
        let value = json::read_unique(text).map_err(SubscriptionError::Json)?;
        Subscription::from_value(&value)
    }

    /// A subscription out of the value of its JSON.
    ///
    /// # Errors
    /// It is no object, or lacks one of the three; secrets are no object.
    pub fn from_value(value: &Value) -> Result<Subscription, SubscriptionError> {
        let Value::Object(object) = value else { return Err(SubscriptionError::NoObject) };
        let needed = |name: &'static str| object.get(name).cloned().ok_or(SubscriptionError::Missing(name));
        let environment = object.get("environment").cloned().unwrap_or(Value::Undefined);
        let secrets = object.get("secrets").cloned().unwrap_or(Value::Undefined);
        if !matches!(secrets, Value::Object(_) | Value::Undefined | Value::Null) {
            return Err(SubscriptionError::Secrets);
        }
        let (subject, action, resource) = (needed("subject")?, needed("action")?, needed("resource")?);
        Ok(Subscription::new(subject, action, resource, environment).with_secrets(secrets))
    }

    /// A subscription out of what was read of its bytes.
    pub fn from_raw(raw: RawSubscription<'_>) -> Subscription {
        let ([subject, action, resource, environment], secrets) = raw.into_values();
        Subscription::new(subject, action, resource, environment).with_secrets(secrets)
    }

    #[inline]
    fn field(&self, path: &Path) -> Option<&Field> {
        let at = self.keys.iter().position(|key| *key == path.field())?;
        let field = self.fields.get(at).filter(|field| field.is(path));
        // Two keys with one digest are as good as never: then the object itself is asked.
        field
    }

    /// One of its four values; undefined if it is not there.
    pub fn element(&self, element: Element) -> &Value {
        let at = Element::ALL.into_iter().position(|other| other == element);
        at.and_then(|at| self.fields.get(at)).map_or(&Value::Undefined, |field| &field.value)
    }

    /// Looks up ahead what a program with these slots will ask for. It can be asked of any other one as before.
    pub fn encode(&mut self, slots: &Slots) {
        self.encoding = Encoding::of_all(slots, self);
    }

    /// What was looked up ahead.
    pub fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Its fields in words, at the places that [`Attributes::place`] gives.
    #[inline]
    pub fn compact(&self) -> &CompactSubscription {
        &self.compact
    }

    /// What attribute finders may know besides; undefined if there is nothing.
    pub fn secrets(&self) -> &Value {
        &self.secrets
    }
}

impl Field {
    fn new(element: Element, name: Option<&smol_str::SmolStr>, value: Value) -> Field {
        let hash = if value.is_internable() { value.content_hash() } else { 0 };
        Field { element, name: name.cloned(), value, hash }
    }

    fn key(&self) -> FieldKey {
        FieldKey::of(self.element, self.name.as_ref().map(smol_str::SmolStr::as_str))
    }

    fn as_small_object(&self) -> Option<(Element, std::sync::Arc<durward_ir::value::Object>)> {
        let object = self.value.as_object()?;
        (object.len() <= FIELDS_MAX).then(|| (self.element, object.clone()))
    }

    #[inline]
    fn is(&self, path: &Path) -> bool {
        self.element == path.element()
            && match (&self.name, path.keys().first()) {
                (Some(name), Some(key)) => durward_ir::value::same_text(name, key),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            }
    }

    #[inline]
    fn reading(&self) -> Reading<'_> {
        if self.value.is_undefined() { Reading::Absent } else { Reading::One(&self.value, Some(self.hash)) }
    }
}

impl Attributes for Subscription {
    /// What an XACML policy reads of a subscription; see [`crate::xacml`].
    fn read<'a>(&'a self, name: &AttributeName, _: NameKey) -> Reading<'a> {
        crate::xacml::read(self, name)
    }

    #[inline]
    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        match (self.field(path), path.keys()) {
            (Some(field), [] | [_]) => field.reading(),
            (Some(field), [_, rest @ ..]) => Reading::found(value_at(&field.value, rest)),
            (None, keys) => Reading::found(value_at(self.element(path.element()), keys)),
        }
    }

    fn place(&self, path: &Path) -> Option<u16> {
        let at = self.keys.iter().position(|key| *key == path.field())?;
        let is_whole = path.keys().len() <= 1 && self.fields.get(at).is_some_and(|field| field.is(path));
        if is_whole { at.try_into().ok() } else { None }
    }

    #[inline]
    fn at(&self, place: u16) -> Option<&Value> {
        self.fields.get(usize::from(place)).map(|field| &field.value)
    }
}

impl Fields for Subscription {
    fn place(&self, path: &Path) -> Option<u16> {
        Attributes::place(self, path)
    }

    #[inline]
    fn at(&self, place: u16) -> Option<&Value> {
        Attributes::at(self, place)
    }

    fn made(&self, _: u16) -> Option<Value> {
        None
    }
}

fn compact(fields: &[Field]) -> CompactSubscription {
    // The first four are the elements themselves. An array has the keys of the objects in it.
    let is_whole = std::array::from_fn(|at| {
        let field = fields.get(at);
        field.is_some_and(|field| {
            let is_composed = field.value.as_object().is_some() || field.value.as_array().is_some();
            !is_composed || field.as_small_object().is_some()
        })
    });
    CompactSubscription::new(
        fields
            .iter()
            .map(|field| (field.element, field.name.as_ref().map(smol_str::SmolStr::as_str), &field.value)),
        is_whole,
    )
}

/// Why something is no subscription.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SubscriptionError {
    /// It is no JSON.
    Json(JsonError),
    /// It is no object.
    NoObject,
    /// This is missing.
    Missing(&'static str),
    /// Secrets must be an object.
    Secrets,
}

impl fmt::Display for SubscriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubscriptionError::Json(error) => error.fmt(f),
            SubscriptionError::NoObject => f.write_str("a subscription is an object"),
            SubscriptionError::Missing(name) => write!(f, "the subscription lacks `{name}`"),
            SubscriptionError::Secrets => f.write_str("`secrets` must be an object"),
        }
    }
}

impl std::error::Error for SubscriptionError {}

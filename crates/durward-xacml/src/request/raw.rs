//! A request of XACML 3.0 that is still in its text: the words that policies compare, and pieces of the text for the rest. Most are
//! decided by these alone; of the others a [`Request`] is made, without reading the text again.

use std::ops::Range;

use durward_ir::attribute::{CategoryHash, NameKey, Names};
use durward_ir::question::{Fields, Rows};
use durward_ir::{DataType, Value};
use smallvec::SmallVec;
use smol_str::SmolStr;

use super::identifiers::{asks_for_several, data_type_uri, shared};
use super::{Categories, Format, Limits, Request, Version, Written};

/// A request that borrows from the bytes that it was read from.
///
/// Only plain ones are read so, as almost all are: no content, no references, no data type that durward does not know. At anything
/// else the reader gives up without an opinion, and the request is read as a [`Request`], which finds and words errors.
#[derive(Debug)]
pub struct RawRequest<'t> {
    rows: Rows,
    categories: SmallVec<[RawCategory<'t>; CATEGORIES_INLINE]>,
    attributes: SmallVec<[RawAttribute<'t>; ATTRIBUTES_INLINE]>,
    values: SmallVec<[RawValue<'t>; ATTRIBUTES_INLINE]>,
    format: Format,
    return_policy_ids: bool,
    combined_decision: bool,
    may_mean_several: bool,
    has_echoes: bool,
}

/// So many categories need no memory of their own.
const CATEGORIES_INLINE: usize = 4;
/// So many attributes, and values, need no memory of their own.
const ATTRIBUTES_INLINE: usize = 16;
/// Longer values are not made for a comparison, which would make them anew each time; a whole request has them once.
const MADE_BYTES_MAX: usize = 256;
/// More categories than this are not compared with each other.
const COMPARED_MAX: usize = 16;

#[derive(Clone, Copy, Debug)]
struct RawCategory<'t> {
    name: &'t str,
    hash: CategoryHash,
}

#[derive(Clone, Copy, Debug)]
struct RawAttribute<'t> {
    id: &'t str,
    issuer: Option<&'t str>,
    key: NameKey,
    category: u32,
    /// The first of its values; those of the next attribute follow them.
    first_value: u32,
    include_in_result: bool,
}

/// A value that was found to be of its data type.
#[derive(Clone, Copy, Debug)]
struct RawValue<'t> {
    text: &'t str,
    /// The identifier of the data type as it was given; empty where it is the usual one.
    uri: &'t str,
    data_type: DataType,
}

impl<'t> RawRequest<'t> {
    /// A request without any attribute.
    #[inline]
    pub(super) fn new(format: Format) -> RawRequest<'t> {
        RawRequest {
            rows: Rows::new(),
            categories: SmallVec::new(),
            attributes: SmallVec::new(),
            values: SmallVec::new(),
            format,
            return_policy_ids: false,
            combined_decision: false,
            may_mean_several: false,
            has_echoes: false,
        }
    }

    /// The attributes in words.
    #[inline]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The identifiers of its attributes, each with its issuer, in the order of the text.
    pub fn named(&self) -> impl Iterator<Item = (&'t str, Option<&'t str>)> {
        self.attributes.iter().map(|attribute| (attribute.id, attribute.issuer))
    }

    /// Whether the result has nothing but the decision where nothing goes along with that: it is one, echoes nothing and
    /// lists no policies.
    #[inline]
    pub fn asks_for_decision_only(&self) -> bool {
        !self.may_mean_several && !self.has_echoes && !self.return_policy_ids
    }

    /// The request; `None` only where a value cannot be read, which then says the reader of whole requests.
    pub fn to_request(&self) -> Option<Request> {
        let mut request = Request::new(Version::V3, self.format);
        request.return_policy_ids = self.return_policy_ids;
        request.combined_decision = self.combined_decision;
        let categories = &mut request.categories;
        *categories = Categories::with_capacity(self.categories.len(), self.attributes.len());
        let mut attributes = self.attributes.iter().enumerate().peekable();
        for (number, category) in (0..).zip(&self.categories) {
            categories.begin_category(shared(category.name), None);
            while let Some((place, attribute)) = attributes.next_if(|(_, next)| next.category == number) {
                let issuer = attribute.issuer.map(SmolStr::new);
                let id = Names::with(|names| names.id(attribute.key).cloned());
                let id = id.unwrap_or_else(|| shared(attribute.id));
                let named = (attribute.key, self.rows.known());
                categories.begin_named(id, issuer, attribute.include_in_result, named);
                for value in self.values_of(place) {
                    self.put_value(categories, value)?;
                }
            }
        }
        Some(request)
    }

    fn put_value(&self, categories: &mut Categories, raw: &RawValue<'_>) -> Option<()> {
        let value = Value::parse(raw.data_type, raw.text).ok()?;
        categories.push_as_written(value, |value| {
            let uri = if raw.uri.is_empty() { data_type_uri(value) } else { raw.uri };
            Written::of(value, raw.text, uri)
        });
        Some(())
    }

    fn values_of(&self, place: usize) -> &[RawValue<'t>] {
        let first = |place: usize| self.attributes.get(place).map(|attribute| attribute.first_value as usize);
        let range: Option<Range<usize>> =
            first(place).map(|from| from..first(place + 1).unwrap_or(self.values.len()));
        range.and_then(|range| self.values.get(range)).unwrap_or_default()
    }

    /// What results shall have.
    pub(super) fn ask(&mut self, combined_decision: bool, return_policy_ids: bool) {
        (self.combined_decision, self.return_policy_ids) = (combined_decision, return_policy_ids);
    }

    /// Starts a category; the attributes that follow belong to it. `None` where there are too many.
    #[inline]
    pub(super) fn begin_category(&mut self, name: &'t str, limits: &Limits) -> Option<()> {
        self.may_mean_several |=
            self.categories.len() > COMPARED_MAX || self.categories.iter().any(|known| known.name == name);
        self.categories.push(RawCategory { name, hash: CategoryHash::of(name) });
        (self.categories.len() <= limits.categories_max).then_some(())
    }

    /// Starts an attribute of the category begun last; the values that follow belong to it. `None` where there are too many, or
    /// no category.
    #[inline]
    pub(super) fn begin_attribute(
        &mut self,
        names: &Names,
        id: &'t str,
        issuer: Option<&'t str>,
        include_in_result: bool,
        limits: &Limits,
    ) -> Option<()> {
        let RawCategory { name, hash } = *self.categories.last()?;
        let key = names.find(name, hash, id);
        self.rows.push(key, names.count());
        self.has_echoes |= include_in_result;
        self.may_mean_several |= asks_for_several(id);
        let category = self.categories.len() as u32 - 1;
        let first_value = self.values.len() as u32;
        self.attributes.push(RawAttribute { id, issuer, key, category, first_value, include_in_result });
        (self.attributes.len() <= limits.attributes_max).then_some(())
    }

    /// Adds a value to the attribute begun last; `None` where it is not of its data type, or there are too many.
    #[inline]
    pub(super) fn put(
        &mut self,
        data_type: DataType,
        uri: &'t str,
        text: &'t str,
        limits: &Limits,
    ) -> Option<()> {
        if data_type == DataType::Text && text.is_ascii() {
            self.rows.put_text(text);
        } else {
            let value = Value::parse(data_type, text).ok()?;
            // What was brought into normalization form C, or lost white space, is not in the text.
            if let Value::Text(normal) | Value::AnyUri(normal) = &value
                && normal != text
            {
                self.rows.put_unsure(data_type);
            } else {
                self.rows.put(&value);
            }
        }
        self.values.push(RawValue { text, uri, data_type });
        (self.values.len() <= limits.values_max).then_some(())
    }

    /// Whether there is a category.
    pub(super) fn has_category(&self) -> bool {
        !self.categories.is_empty()
    }
}

impl Fields for RawRequest<'_> {
    fn at(&self, _: u16) -> Option<&Value> {
        None
    }

    fn made(&self, place: u16) -> Option<Value> {
        match self.values_of(usize::from(place)) {
            [only] if only.text.len() <= MADE_BYTES_MAX => Value::parse(only.data_type, only.text).ok(),
            [] | [_, ..] => None,
        }
    }
}

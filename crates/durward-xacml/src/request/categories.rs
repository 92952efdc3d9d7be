//! Attributes grouped by category, laid out flat: rows in words, which are all that most decisions touch, and beside them three
//! arrays, however many attributes there are, for those that look deeper.

use std::ops::{Deref, Range};
use std::sync::Arc;

use durward_ir::attribute::{CategoryHash, NameKey, Names};
use durward_ir::program::{SlotId, Slots};
use durward_ir::question::{Attributes, Encoding, Fields, Number, Reading, Row, Rows, UNENCODED, looked_up};
use durward_ir::value::same_text;
use durward_ir::{AttributeName, Value};
use smol_str::SmolStr;

use super::written::Written;
use super::{RawContent, identifiers};

/// The attributes of a request, or those echoed in a result.
///
/// Categories, attributes and values keep the order in which they were added. The same category may stand here
/// several times: that is the "repeated attribute categories" scheme of the Multiple Decision Profile.
#[derive(Clone, Debug, Default)]
#[repr(C)] // In the order of how often each is looked at.
pub struct Categories {
    /// Whether anything here may ask for several decisions; noted while reading, so that deciding need not look.
    may_mean_several: bool,
    /// Whether any attribute is to be echoed.
    has_echoes: bool,
    /// Whether there is an encoding: so that where there is none, its lines of memory are not looked at.
    is_encoded: bool,
    /// INVARIANT: one for each attribute.
    rows: Rows,
    /// INVARIANT: of these very attributes, or none: whatever changes them clears it.
    encoding: Encoding,
    list: Vec<Category>,
    /// INVARIANT: sorted by `Attribute::category`; each category's `attributes` range is exactly its part.
    attributes: Vec<Attribute>,
    values: Vec<Value>,
    /// How values to be echoed were written, where that differs from their canonical form.
    /// INVARIANT: sorted by the position of the value.
    written: Vec<(u32, Written)>,
}

/// Up to this many categories are compared with each other; a request with more is looked at closely when decided.
const COMPARED_MAX: usize = 16;

/// One category (`<Attributes>`). Reach its attributes through [`CategoryView`].
#[derive(Clone, Debug)]
pub struct Category {
    /// The category, an URI.
    pub category: SmolStr,
    /// Its `xml:id` (`Id` in JSON), by which `<MultiRequests>` refers to it.
    pub xml_id: Option<SmolStr>,
    /// Its `<Content>`, not yet parsed.
    pub content: Option<Arc<RawContent>>,
    attributes: Range<u32>,
}

/// One attribute. Reach its values through [`AttributeView`].
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The attribute identifier, an URI.
    pub id: SmolStr,
    /// Who says so, if that was said.
    pub issuer: Option<SmolStr>,
    /// Whether it shall be echoed in the result.
    pub include_in_result: bool,
    /// The position of its category in [`Categories`].
    category: u32,
    values: Range<u32>,
}

/// A category together with its attributes; reads like a [`Category`].
#[derive(Clone, Copy, Debug)]
pub struct CategoryView<'a> {
    categories: &'a Categories,
    category: &'a Category,
}

/// An attribute together with its values; reads like an [`Attribute`].
#[derive(Clone, Copy, Debug)]
pub struct AttributeView<'a> {
    categories: &'a Categories,
    attribute: &'a Attribute,
}

impl Categories {
    /// No category at all.
    pub const fn new() -> Categories {
        Categories {
            may_mean_several: false,
            has_echoes: false,
            is_encoded: false,
            rows: Rows::new(),
            encoding: Encoding::none(),
            list: Vec::new(),
            attributes: Vec::new(),
            values: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Room for this many attributes of one value each, so that reading a usual request allocates three times.
    pub fn with_capacity(categories: usize, attributes: usize) -> Categories {
        Categories {
            list: Vec::with_capacity(categories),
            attributes: Vec::with_capacity(attributes),
            values: Vec::with_capacity(attributes),
            ..Categories::new()
        }
    }

    /// Looks up ahead what the slots of a program hold of these attributes. Changing the attributes forgets it.
    pub fn encode(&mut self, slots: &Slots) {
        if !self.rows.knows_all(slots) {
            self.make_rows();
        }
        self.encoding = Encoding::of(slots, &*self, self.rows.names());
        self.is_encoded = true;
    }

    fn forget_encoding(&mut self) {
        if std::mem::take(&mut self.is_encoded) {
            self.encoding = Encoding::none();
        }
    }

    /// Makes the rows anew: the names that policies read may have become more.
    fn make_rows(&mut self) {
        let mut rows = Rows::new();
        Names::with(|names| {
            for attribute in &self.attributes {
                let category = self.list.get(attribute.category as usize).map_or("", |found| &found.category);
                rows.push(names.find(category, CategoryHash::of(category), &attribute.id), names.count());
                part(&self.values, &attribute.values).iter().for_each(|value| rows.put(value));
            }
        });
        self.rows = rows;
    }

    /// The attributes in words.
    #[inline]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// What was looked up ahead.
    #[inline]
    pub fn encoding(&self) -> &Encoding {
        if self.is_encoded { &self.encoding } else { &UNENCODED }
    }

    /// Whether any attribute is to be echoed in the result; if not, [`Categories::included`] is empty.
    #[inline]
    pub fn has_echoes(&self) -> bool {
        self.has_echoes
    }

    /// False only if nothing here asks for several decisions: no category is repeated, and no attribute names a
    /// scope or selects nodes of the content (Multiple Decision Profile 1.0).
    #[inline]
    pub fn may_mean_several(&self) -> bool {
        self.may_mean_several
    }

    /// The number of categories, repeated ones counted each time.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no category.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of attributes in all categories.
    pub fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    /// The number of values of all attributes.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// The categories, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CategoryView<'_>> + Clone {
        self.list.iter().map(|category| CategoryView { categories: self, category })
    }

    /// All attributes of all categories, in order: the flat walk of the hot path.
    pub fn attributes(&self) -> impl ExactSizeIterator<Item = AttributeView<'_>> + Clone {
        self.attributes.iter().map(|attribute| AttributeView { categories: self, attribute })
    }

    /// The first category of this name.
    pub fn find(&self, category: &str) -> Option<CategoryView<'_>> {
        self.iter().find(|found| found.category.category == category)
    }

    /// The category with this `xml:id`.
    pub fn find_by_id(&self, xml_id: &str) -> Option<CategoryView<'_>> {
        self.iter().find(|found| found.category.xml_id.as_deref() == Some(xml_id))
    }

    /// An `xml:id` that two categories have.
    pub(crate) fn repeated_id(&self) -> Option<&SmolStr> {
        let mut ids: Vec<&SmolStr> =
            self.list.iter().filter_map(|category| category.xml_id.as_ref()).collect();
        ids.sort_unstable();
        ids.windows(2).find_map(|pair| match pair {
            [first, second] if first == second => Some(*first),
            _ => None,
        })
    }

    /// The same attributes with all categories of one name made one, at the place of the first.
    pub(crate) fn merged(&self, name: &str) -> Categories {
        let mut merged = Categories::with_capacity(self.len(), self.attribute_count());
        let mut met = false;
        for category in self.iter() {
            if category.category.category != name {
                merged.copy_category(category);
            } else if !met {
                met = true;
                merged.copy_category(category);
                let others = self.iter().filter(|other| other.category.category == name).skip(1);
                others
                    .flat_map(CategoryView::attributes)
                    .for_each(|attribute| merged.copy_attribute(attribute));
            }
        }
        merged
    }

    /// Only what is marked `IncludeInResult`, for the result; categories of which nothing is left are dropped.
    pub fn included(&self) -> Categories {
        if !self.has_echoes {
            return Categories::default();
        }
        let mut kept = Categories::default();
        for category in self.iter() {
            if !category.attributes().any(|attribute| attribute.include_in_result) {
                continue;
            }
            kept.begin_category(category.category.category.clone(), category.xml_id.clone());
            for attribute in category.attributes().filter(|attribute| attribute.include_in_result) {
                kept.copy_attribute(attribute);
            }
        }
        kept
    }

    /// Starts a category; the attributes that follow belong to it.
    pub fn begin_category(&mut self, category: SmolStr, xml_id: Option<SmolStr>) {
        let start = position(self.attributes.len());
        self.may_mean_several |=
            self.list.len() > COMPARED_MAX || self.list.iter().any(|known| known.category == category);
        self.list.push(Category { category, xml_id, content: None, attributes: start..start });
    }

    /// Gives the category begun last its content.
    pub fn set_content(&mut self, content: Arc<RawContent>) {
        if let Some(category) = self.list.last_mut() {
            category.content = Some(content);
        }
    }

    /// Starts an attribute of the category begun last; the values that follow belong to it. Nothing happens
    /// where no category was begun.
    pub fn begin_attribute(&mut self, id: SmolStr, issuer: Option<SmolStr>, include_in_result: bool) {
        let category = self.list.last().map_or("", |category| &category.category);
        let hash = CategoryHash::of(category);
        let named = Names::with(|names| (names.find(category, hash, &id), names.count()));
        self.begin_named(id, issuer, include_in_result, named);
    }

    /// The same where the number of the name is known, and among how many names it was looked for.
    pub(super) fn begin_named(
        &mut self,
        id: SmolStr,
        issuer: Option<SmolStr>,
        include_in_result: bool,
        (key, known): (NameKey, u32),
    ) {
        self.forget_encoding();
        let Some(number) = self.list.len().checked_sub(1) else { return };
        let Some(category) = self.list.last_mut() else { return };
        self.rows.push(key, known);
        let start = position(self.values.len());
        self.has_echoes |= include_in_result;
        self.may_mean_several |= identifiers::asks_for_several(&id);
        self.attributes.push(Attribute {
            id,
            issuer,
            include_in_result,
            category: position(number),
            values: start..start,
        });
        category.attributes.end = position(self.attributes.len());
    }

    /// Adds a value to the attribute begun last. Nothing happens where none was begun.
    pub fn push_value(&mut self, value: Value) {
        self.forget_encoding();
        if let Some(attribute) = self.attributes.last_mut() {
            self.rows.put(&value);
            self.values.push(value);
            attribute.values.end = position(self.values.len());
        }
    }

    /// Adds a value, and remembers how it was written if it will be echoed.
    #[inline]
    pub(crate) fn push_as_written(&mut self, value: Value, written: impl FnOnce(&Value) -> Option<Written>) {
        if self.attributes.last().is_some_and(|attribute| attribute.include_in_result)
            && let Some(written) = written(&value)
        {
            self.written.push((position(self.values.len()), written));
        }
        self.push_value(value);
    }

    /// Copies a category with its content and attributes to the end.
    pub fn copy_category(&mut self, from: CategoryView<'_>) {
        self.begin_category(from.category.category.clone(), from.category.xml_id.clone());
        if let Some(content) = &from.category.content {
            self.set_content(Arc::clone(content));
        }
        for attribute in from.attributes() {
            self.copy_attribute(attribute);
        }
    }

    /// Copies an attribute with its values into the category begun last.
    pub fn copy_attribute(&mut self, from: AttributeView<'_>) {
        self.copy_attribute_as(from.id.clone(), from);
    }

    /// The same under another identifier.
    pub(crate) fn copy_attribute_as(&mut self, id: SmolStr, from: AttributeView<'_>) {
        self.begin_attribute(id, from.issuer.clone(), from.include_in_result);
        for (value, written) in from.values_as_written() {
            self.push_as_written(value.clone(), |_| written.cloned());
        }
    }
}

impl Categories {
    fn written_at(&self, number: u32) -> Option<&Written> {
        let at = self.written.binary_search_by_key(&number, |(value, _)| *value).ok()?;
        self.written.get(at).map(|(_, written)| written)
    }

    #[inline]
    fn is_named(&self, attribute: &Attribute, name: &AttributeName) -> bool {
        let category = self.list.get(attribute.category as usize);
        same_text(&attribute.id, &name.id)
            && category.is_some_and(|category| is_same(&category.category, &name.category))
            && name.issuer.as_ref().is_none_or(|issuer| attribute.issuer.as_ref() == Some(issuer))
    }

    /// All values of this name and type, wherever they stand: by the texts of the names.
    fn read_all(&self, name: &AttributeName) -> Reading<'_> {
        let mut named = self.attributes.iter().filter(|attribute| self.is_named(attribute, name));
        let of_type = |value: &&Value| value.data_type() == name.data_type;
        let (Some(first), second) = (named.next(), named.next()) else { return Reading::Absent };
        let values = part(&self.values, &first.values);
        if second.is_none() && values.iter().all(|value| of_type(&value)) {
            return Reading::of(values);
        }
        let others = second.into_iter().chain(named);
        let values = values.iter().chain(others.flat_map(|attribute| part(&self.values, &attribute.values)));
        let mut values = values.filter(of_type);
        match (values.next(), values.next()) {
            (None, _) => Reading::Absent,
            (Some(only), None) => Reading::One(only, None),
            (Some(first), Some(second)) => {
                Reading::Many([first, second].into_iter().chain(values).cloned().collect())
            }
        }
    }
}

impl Attributes for Categories {
    #[inline]
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        if !self.rows.knows(key) {
            return self.read_all(name);
        }
        match self.rows.only(key, name.data_type) {
            Row::Absent => Reading::Absent,
            Row::Several => self.read_all(name),
            Row::Only(at) => {
                let attribute = self.attributes.get(at);
                let is_issued = |attribute: &&Attribute| {
                    name.issuer.as_ref().is_none_or(|issuer| attribute.issuer.as_ref() == Some(issuer))
                };
                let values = attribute.filter(is_issued).map(|found| part(&self.values, &found.values));
                Reading::of(values.unwrap_or_default())
            }
        }
    }

    #[inline]
    fn number(&self, slots: &Slots, slot: SlotId) -> Option<Number> {
        if self.rows.knows_all(slots) { self.rows.number(slots, slot, self) } else { None }
    }
}

impl Fields for Categories {
    fn at(&self, place: u16) -> Option<&Value> {
        let attribute = self.attributes.get(usize::from(place))?;
        match part(&self.values, &attribute.values) {
            [only] => Some(only),
            [] | [_, _, ..] => None,
        }
    }

    fn made(&self, _: u16) -> Option<Value> {
        None
    }

    fn issued(&self, slots: &Slots, slot: SlotId) -> Number {
        looked_up(slots, self, slot)
    }
}

/// Well-known categories are one text in memory, so that most comparisons end at the address.
#[inline]
fn is_same(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}

impl<'a> CategoryView<'a> {
    /// Its attributes, in order.
    pub fn attributes(self) -> impl ExactSizeIterator<Item = AttributeView<'a>> + Clone {
        let categories = self.categories;
        let attributes = part(&categories.attributes, &self.category.attributes);
        attributes.iter().map(move |attribute| AttributeView { categories, attribute })
    }

    /// Its `xml:id`.
    pub(crate) fn id(self) -> Option<&'a str> {
        self.category.xml_id.as_deref()
    }

    /// Its attributes of this identifier, whoever their issuer.
    pub fn named(self, id: &str) -> impl Iterator<Item = AttributeView<'a>> {
        self.attributes().filter(move |attribute| attribute.id == id)
    }
}

impl Deref for CategoryView<'_> {
    type Target = Category;

    fn deref(&self) -> &Category {
        self.category
    }
}

impl<'a> AttributeView<'a> {
    /// Its values, in order; not all need be of one data type.
    pub fn values(self) -> &'a [Value] {
        part(&self.categories.values, &self.attribute.values)
    }

    /// Its values, each with the form in which it was sent where that is kept.
    pub(crate) fn values_as_written(
        self,
    ) -> impl ExactSizeIterator<Item = (&'a Value, Option<&'a Written>)> + Clone {
        let categories = self.categories;
        let first = self.attribute.values.start as usize;
        let written = move |(number, value)| (value, categories.written_at(position(first + number)));
        self.values().iter().enumerate().map(written)
    }

    /// The category it belongs to.
    pub fn category(self) -> &'a str {
        self.categories.list.get(self.attribute.category as usize).map_or("", |found| &found.category)
    }
}

impl Deref for AttributeView<'_> {
    type Target = Attribute;

    fn deref(&self) -> &Attribute {
        self.attribute
    }
}

/// A position as it is stored. Readers limit their input to far below 2^32 items; whoever builds more in code
/// gets the last position again, and with it an empty rest, never somebody else's values.
fn position(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn part<'a, T>(all: &'a [T], range: &Range<u32>) -> &'a [T] {
    all.get(range.start as usize..range.end as usize).unwrap_or_default()
}

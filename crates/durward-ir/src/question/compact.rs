//! A subscription in machine words: what a decision compares, without the texts it was made of. The words are those of [`super::word`].

use smallvec::SmallVec;

use super::Number;
use super::layout::Layout;
use super::word::Word;
use crate::path::Element;
use crate::value::Value;

/// One field of a subscription.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactField {
    pub(crate) name: Word,
    pub(crate) word: Word,
    /// The word's [`Word::hash`].
    pub(crate) hash: u64,
}

/// The fields of a subscription in words: its elements, and the keys of those that are small objects.
#[derive(Clone, Debug)]
pub struct CompactSubscription {
    fields: SmallVec<[CompactField; FIELDS_INLINE]>,
    /// By element, whether what is not here is undefined.
    is_whole: [bool; 4],
    layout: Layout,
}

/// Where a slot's part of a subscription is among the fields of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FieldPosition(u8);

impl FieldPosition {
    /// It cannot be among them.
    pub(crate) const UNCLEAR: FieldPosition = FieldPosition(u8::MAX);
    /// It is not among those of an element, whose number is added.
    const MISSING: u8 = u8::MAX - 4;

    pub(crate) fn of(place: u16) -> FieldPosition {
        u8::try_from(place)
            .ok()
            .filter(|place| *place < FieldPosition::MISSING)
            .map_or(FieldPosition::UNCLEAR, FieldPosition)
    }

    pub(crate) fn missing(element: Element) -> FieldPosition {
        FieldPosition(FieldPosition::MISSING + element as u8)
    }

    /// The place, if there is one.
    #[inline]
    pub(crate) fn place(self) -> Option<u16> {
        (self.0 < FieldPosition::MISSING).then_some(self.0.into())
    }
}

/// So many fields need no memory of their own.
const FIELDS_INLINE: usize = 12;

/// More fields than this are not put into words; with this many, a chain is rarely longer than two.
const FIELDS_MAX: usize = 40;

impl CompactSubscription {
    /// Of nothing that could be found.
    pub const NONE: &CompactSubscription =
        &CompactSubscription { fields: SmallVec::new_const(), is_whole: [false; 4], layout: Layout::NONE };

    /// Of these fields in this order; `is_whole` says by element whether a key that is not among them is undefined.
    pub fn new<'v>(
        fields: impl Iterator<Item = (Element, Option<&'v str>, &'v Value)> + Clone,
        is_whole: [bool; 4],
    ) -> CompactSubscription {
        let mut compact = CompactSubscription { is_whole, ..CompactSubscription::NONE.clone() };
        for (element, key, value) in fields.clone() {
            if !compact.push(Word::of_name(element, key), Word::of(value)) {
                return CompactSubscription::NONE.clone();
            }
        }
        compact.seal(|place| fields.clone().nth(place).and_then(|(_, key, _)| key));
        compact
    }

    /// One more field; `false` where there are too many.
    #[inline]
    pub(super) fn push(&mut self, name: Word, word: Word) -> bool {
        let has_room = self.fields.len() < FIELDS_MAX;
        if has_room {
            self.fields.push(CompactField { name, word, hash: word.hash() });
        }
        has_room
    }

    /// Replaces the word of the field at a place.
    #[inline]
    pub(super) fn set(&mut self, place: usize, word: Word) {
        if let Some(field) = self.fields.get_mut(place) {
            (field.word, field.hash) = (word, word.hash());
        }
    }

    /// Keys of the element that are not among the fields are not known to be undefined.
    pub(super) fn leave_open(&mut self, element: Element) {
        if let Some(is_whole) = self.is_whole.get_mut(element as usize) {
            *is_whole = false;
        }
    }

    pub(super) fn close(&mut self) {
        self.is_whole = [true; 4];
    }

    /// Finds out the layout when all fields are there; `name` gives the key of the field at a place.
    #[inline]
    pub(super) fn seal<'n>(&mut self, name: impl Fn(usize) -> Option<&'n str>) {
        self.layout = Layout::of_fields(&self.fields, name);
    }

    pub(crate) fn fields(&self) -> &[CompactField] {
        &self.fields
    }

    /// Finds fields by their names.
    pub(crate) fn places(&self) -> Places<'_> {
        let mut places = [0; PLACES];
        for (number, field) in (1..).zip(&self.fields) {
            let mut at = (field.name.hash() >> 32) as usize % PLACES;
            while let Some(place) = places.get_mut(at) {
                if *place == 0 {
                    *place = number;
                    break;
                }
                at = (at + 1) % PLACES;
            }
        }
        Places { fields: &self.fields, places }
    }

    /// The word of the field at a place.
    #[inline]
    pub(crate) fn at(&self, place: u16) -> Option<Word> {
        self.fields.get(usize::from(place)).map(|field| field.word)
    }

    #[inline]
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The field of a position in this very layout.
    #[inline]
    pub(crate) fn field_at(&self, position: FieldPosition) -> Option<&CompactField> {
        self.fields.get(usize::from(position.0))
    }

    /// What a slot holds whose position has no field.
    pub(crate) fn number_without_field(&self, position: FieldPosition) -> Number {
        let element = position.0.checked_sub(FieldPosition::MISSING);
        let is_undefined = element.is_some_and(|at| self.is_whole.get(usize::from(at)) == Some(&true));
        if is_undefined { Number::ABSENT } else { Number::MANY }
    }
}

/// The fields of a subscription by their names.
pub(crate) struct Places<'b> {
    fields: &'b [CompactField],
    /// One more than the place of a field, found by the name's hash; 0 ends a chain.
    places: [u8; PLACES],
}

/// A power of two.
const PLACES: usize = 64;

impl Places<'_> {
    /// The place of the field of this name; `hash` is the name's. Another one may have the name where the name is not
    /// whole.
    #[inline]
    pub(crate) fn find(&self, name: Word, hash: u32) -> Option<u16> {
        let mut at = hash as usize % PLACES;
        loop {
            let place = usize::from(*self.places.get(at)?).checked_sub(1)?;
            if self.fields.get(place)?.name == name {
                return Some(place as u16);
            }
            at = (at + 1) % PLACES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn fields_are_found_by_name_and_element() {
        let names = ["a", "b", "thirteen-long", "fourteen-long!", "fourteen-long?"];
        let value = text("v");
        let fields = Element::ALL.into_iter().flat_map(|element| {
            std::iter::once((element, None, &value))
                .chain(names.iter().map(move |name| (element, Some(*name), text_of(name))))
        });
        let fields: Vec<_> = fields.collect();
        let compact = CompactSubscription::new(fields.iter().copied(), [true; 4]);
        let places = compact.places();
        for (place, (element, name, value)) in (0..).zip(&fields) {
            let word = Word::of_name(*element, *name);
            assert_eq!(places.find(word, (word.hash() >> 32) as u32), Some(place));
            assert_eq!(compact.at(place), Some(Word::of(value)));
        }
        let stranger = Word::of_name(Element::Subject, Some("c"));
        assert!(places.find(stranger, (stranger.hash() >> 32) as u32).is_none());
    }

    fn text_of(name: &'static str) -> &'static Value {
        Box::leak(Box::new(text(name)))
    }
}

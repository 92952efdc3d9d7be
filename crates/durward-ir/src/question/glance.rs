//! Looking at a subscription without asking anybody: what quick answers are made of.

use super::brief::{Brief, Kind};
use super::{Attributes, Encoding, Number, known};
use crate::program::{SlotId, Slots};

/// What can be seen of a question at once.
pub trait Glance {
    /// What the slot holds; [`Number::MANY`] also where that cannot be seen at once.
    fn number(&self, slot: SlotId) -> Number;

    /// The whole number that the slot holds; `None` where it holds something else, or that cannot be seen at once.
    fn integer(&self, slot: SlotId) -> Option<i64>;
}

/// A subscription that was looked up ahead for a program.
#[derive(Clone, Copy, Debug)]
pub struct Encoded<'a> {
    numbers: &'a [Number],
    places: &'a [u16],
    brief: &'a Brief,
}

impl<'a> Encoded<'a> {
    /// `None` where the encoding is for another program, or does not say all.
    #[inline]
    pub fn new(slots: &Slots, encoding: &'a Encoding, brief: &'a Brief) -> Option<Encoded<'a>> {
        let numbers = encoding.complete(slots)?;
        Some(Encoded { numbers, places: encoding.places(), brief })
    }
}

impl Glance for Encoded<'_> {
    #[inline]
    fn number(&self, slot: SlotId) -> Number {
        known(self.numbers, slot)
    }

    #[inline]
    fn integer(&self, slot: SlotId) -> Option<i64> {
        self.brief.at(self.places.get(slot.0 as usize)?.checked_sub(1)?)?.integer()
    }
}

/// A subscription as it was read.
#[derive(Clone, Copy)]
pub struct Prepared<'a> {
    slots: &'a Slots,
    brief: &'a Brief,
    attributes: &'a dyn Attributes,
}

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("brief", self.brief).finish_non_exhaustive()
    }
}

impl<'a> Prepared<'a> {
    /// `brief` is of these very attributes.
    #[inline]
    pub fn new(slots: &'a Slots, brief: &'a Brief, attributes: &'a dyn Attributes) -> Prepared<'a> {
        Prepared { slots, brief, attributes }
    }

    /// Whether what was found by a name that is a digest is of that name.
    #[cold]
    fn is_of(&self, slot: SlotId, place: u16) -> bool {
        self.slots.path(slot).is_some_and(|path| self.attributes.place(path) == Some(place))
    }
}

impl Glance for Prepared<'_> {
    #[inline]
    fn number(&self, slot: SlotId) -> Number {
        let Some(name) = self.slots.brief_name(slot) else { return Number::MANY };
        let Some((place, field)) = self.brief.find(name.word, name.hash) else {
            return if self.brief.is_whole(name.element) { Number::ABSENT } else { Number::MANY };
        };
        if !name.word.is_whole_name() && !self.is_of(slot, place) {
            return Number::MANY;
        }
        match field.word.kind() {
            Kind::Text => self.slots.find_word(slot, field).unwrap_or(Number::OTHER_TEXT),
            Kind::Plain => self.slots.find_word(slot, field).unwrap_or(Number::OTHER),
            Kind::Composed => Number::OTHER,
            Kind::Absent => Number::ABSENT,
            Kind::LongText => self.slots.find_long(slot, field, self.attributes.at(place)),
            Kind::Unsure => Number::MANY,
        }
    }

    #[inline]
    fn integer(&self, slot: SlotId) -> Option<i64> {
        let name = self.slots.brief_name(slot)?;
        let (place, field) = self.brief.find(name.word, name.hash)?;
        let integer = field.word.integer()?;
        (name.word.is_whole_name() || self.is_of(slot, place)).then_some(integer)
    }
}

//! The numbers of slots: looked up as they are asked for, or ahead ([`Encoding`]).

use std::cell::Cell;
use std::collections::HashSet;

use foldhash::fast::FixedState;
use smallvec::SmallVec;

use super::{Attributes, Number, Reading};
use crate::attribute::NameKey;
use crate::program::{SlotId, Slots};
use crate::value::Value;

/// The state of a slot nobody has looked at; never shown outside.
pub(super) const UNREAD: Number = Number(u32::MAX);

/// What the slots of one program hold of one request, looked up ahead: all that indexes, and most that policies, want
/// to know of it, in a few neighbouring words.
#[derive(Clone, Debug, Default)]
pub struct Encoding {
    /// The program's [`Slots::id`]; 0 of none.
    program: u64,
    /// One for each slot where there are no more than [`FEW`]; else empty.
    numbers: SmallVec<[Number; ENCODED_INLINE]>,
    /// The slots that hold something, each once, where there are more.
    sparse: Vec<(SlotId, Number)>,
    /// For each slot of `numbers` one more than where its value is found in a subscription; 0 where it is looked up.
    places: SmallVec<[u16; ENCODED_INLINE]>,
    /// Whether a slot has several values: which they are is looked up when asked.
    has_many: bool,
}

/// So many numbers stand in an encoding itself; more need memory of their own. Policies read ten attributes or so.
const ENCODED_INLINE: usize = 16;

/// Of nothing, for no program.
pub static UNENCODED: Encoding = Encoding::none();

impl Encoding {
    /// Of nothing, for no program.
    pub const fn none() -> Encoding {
        Encoding {
            program: 0,
            numbers: SmallVec::new_const(),
            sparse: Vec::new(),
            places: SmallVec::new_const(),
            has_many: false,
        }
    }

    /// Looks up what `attributes` has for every slot that reads an attribute of one of these names.
    pub fn of(slots: &Slots, attributes: &dyn Attributes, names: impl Iterator<Item = NameKey>) -> Encoding {
        let mut encoding = Encoding::empty(slots);
        // A name may come as often as there is room in a request.
        let mut seen = HashSet::with_hasher(FixedState::default());
        for slot in names.filter(|name| seen.insert(name.number())).flat_map(|name| slots.with_name(name)) {
            encoding.note(slots, slot, attributes.read(slots.name(slot), slots.key(slot)));
        }
        for (slot, derived) in slots.all_derived() {
            encoding.note(slots, slot, look_up(slots, attributes, derived.source));
        }
        encoding
    }

    /// Looks up what `attributes` has for every slot.
    pub fn of_all(slots: &Slots, attributes: &dyn Attributes) -> Encoding {
        let mut encoding = Encoding::empty(slots);
        for (slot, _) in slots.names() {
            encoding.note(slots, slot, look_up(slots, attributes, slots.origin(slot)));
            let place = slots.path(slot).and_then(|path| attributes.place(path));
            if let (Some(place), Some(entry)) = (place, encoding.places.get_mut(slot.0 as usize)) {
                *entry = place.checked_add(1).unwrap_or_default();
            }
        }
        encoding
    }

    fn empty(slots: &Slots) -> Encoding {
        let dense = if slots.len() <= FEW { slots.len() } else { 0 };
        Encoding {
            program: slots.id(),
            numbers: SmallVec::from_elem(Number::ABSENT, dense),
            places: SmallVec::from_elem(0, dense),
            ..Encoding::none()
        }
    }

    fn note(&mut self, slots: &Slots, slot: SlotId, reading: Reading<'_>) {
        let number = match number_of_reading(slots, slot, &reading) {
            Some(Number::ABSENT) => return,
            Some(number) => number,
            None => {
                self.has_many = true;
                UNREAD
            }
        };
        match self.numbers.get_mut(slot.0 as usize) {
            Some(entry) => *entry = number,
            None if self.sparse.iter().any(|(known, _)| *known == slot) => {}
            None => self.sparse.push((slot, number)),
        }
    }

    /// Whether it was made for this program.
    #[inline]
    pub fn is_for(&self, slots: &Slots) -> bool {
        self.program != 0 && self.program == slots.id()
    }

    /// The numbers by slot, if they say all there is to know.
    #[inline]
    pub(crate) fn complete(&self, slots: &Slots) -> Option<&[Number]> {
        (self.is_for(slots) && !self.has_many && !self.numbers.is_empty()).then_some(&self.numbers)
    }

    /// Where the value of a slot is found in the subscription it was made of.
    #[inline]
    pub(super) fn place(&self, slot: SlotId) -> Option<u16> {
        self.places.get(slot.0 as usize)?.checked_sub(1)
    }

    /// For each slot one more than where its value is found; 0 where it is looked up.
    #[inline]
    pub(super) fn places(&self) -> &[u16] {
        &self.places
    }

    /// The slots that hold something.
    fn held(&self) -> impl Iterator<Item = (SlotId, Number)> {
        let dense = (0..).zip(&self.numbers).map(|(slot, number)| (SlotId(slot), *number));
        dense.filter(|(_, number)| *number != Number::ABSENT).chain(self.sparse.iter().copied())
    }
}

/// The numbers of all slots. Most programs read few attributes, and need no memory for them.
pub(super) enum Numbers<'r> {
    /// All are known.
    Known(&'r [Number]),
    Few([Cell<Number>; FEW]),
    Many(Vec<Cell<Number>>),
}

/// Up to so many slots have their numbers in the question itself: two cache lines.
const FEW: usize = 32;

impl<'r> Numbers<'r> {
    /// The numbers of an encoding. `is_sourced` where sources may know what is not there.
    #[inline(always)]
    pub(super) fn new(slots: &Slots, encoding: &'r Encoding, is_sourced: bool) -> Numbers<'r> {
        match encoding.complete(slots) {
            Some(numbers) if !is_sourced => Numbers::Known(numbers),
            _ => Numbers::own(slots, encoding, is_sourced),
        }
    }

    /// The same, to be changed.
    #[inline]
    fn own(slots: &Slots, encoding: &Encoding, is_sourced: bool) -> Numbers<'r> {
        // What is not encoded is absent; where there are sources, reading it says whether one may be asked.
        let is_encoded = encoding.is_for(slots);
        let rest = if is_encoded && !is_sourced { Number::ABSENT } else { UNREAD };
        let numbers = if slots.len() <= FEW {
            Numbers::Few([rest; FEW].map(Cell::new))
        } else {
            Numbers::Many(vec![Cell::new(rest); slots.len()])
        };
        if is_encoded {
            // What is made of an attribute that is absent is not known before sources were asked for that.
            let is_known = |slot: SlotId| !is_sourced || slots.derived(slot).is_none();
            let held = encoding.held().filter(|(slot, _)| is_known(*slot));
            held.for_each(|(slot, number)| numbers.set(slot, number));
        }
        numbers
    }

    /// Makes them changeable.
    #[inline]
    pub(super) fn unlock(&mut self) {
        if let Numbers::Known(known) = self {
            let mut few = [const { Cell::new(Number::ABSENT) }; FEW];
            few.iter_mut().zip(*known).for_each(|(cell, number)| cell.set(*number));
            *self = Numbers::Few(few);
        }
    }

    /// # Panics
    /// Never for slots of the program.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "there is a number for every slot of the program")]
    pub(super) fn get(&self, slot: SlotId) -> Number {
        let at = slot.0 as usize;
        match self {
            Numbers::Known(known) => known[at],
            Numbers::Few(few) => few[at].get(),
            Numbers::Many(many) => many[at].get(),
        }
    }

    /// Does nothing where all are known.
    #[inline]
    pub(super) fn set(&self, slot: SlotId, number: Number) {
        let cells: &[Cell<Number>] = match self {
            Numbers::Known(_) => return,
            Numbers::Few(few) => few,
            Numbers::Many(many) => many,
        };
        if let Some(cell) = cells.get(slot.0 as usize) {
            cell.set(number);
        }
    }
}

#[inline]
pub(super) fn look_up<'a>(slots: &Slots, attributes: &'a dyn Attributes, slot: SlotId) -> Reading<'a> {
    match slots.path(slot) {
        Some(path) => attributes.part(path),
        None => attributes.read(slots.name(slot), slots.key(slot)),
    }
}

/// The number of a slot that holds this; `None` of several values.
#[inline]
fn number_of_reading(slots: &Slots, slot: SlotId, reading: &Reading<'_>) -> Option<Number> {
    if let Some(derived) = slots.derived(slot) {
        return derived.number(reading);
    }
    match reading {
        Reading::Absent => Some(Number::ABSENT),
        Reading::One(value, digest) => Some(number_of(slots, slot, value, *digest)),
        Reading::Made(value) => Some(number_of(slots, slot, value, None)),
        Reading::Many(_) => None,
    }
}

#[inline]
pub(super) fn number_of(slots: &Slots, slot: SlotId, value: &Value, digest: Option<u64>) -> Number {
    let digest = || digest.unwrap_or_else(|| value.content_hash());
    if let Value::Text(text) = value {
        return slots.find_text(slot, text, digest()).map_or(Number::OTHER_TEXT, Number::of);
    }
    let atom = if value.is_internable() { slots.find_atom(slot, value, digest()) } else { None };
    atom.map_or(Number::OTHER, Number::of)
}

/// The number of a slot, where all are known.
#[inline]
pub(crate) fn known(numbers: &[Number], slot: SlotId) -> Number {
    numbers.get(slot.0 as usize).copied().unwrap_or(UNREAD)
}

/// The number of a slot, looked up; [`Number::MANY`] of several values. Not of slots that hold pieces of another's.
#[inline]
pub fn looked_up(slots: &Slots, attributes: &dyn Attributes, slot: SlotId) -> Number {
    match look_up(slots, attributes, slot) {
        Reading::Absent => Number::ABSENT,
        Reading::One(value, digest) => number_of(slots, slot, value, digest),
        Reading::Made(value) => number_of(slots, slot, &value, None),
        Reading::Many(_) => Number::MANY,
    }
}

//! Reading slots without asking anybody: what table decisions are made of.

use std::cell::Cell;

use smallvec::SmallVec;

use super::compact::{CompactSubscription, FieldPosition};
use super::fields::Fields;
use super::rows::Rows;
use super::word::Kind;
use super::{Encoding, Number, known};
use crate::program::{Derived, SlotId, Slots};

/// Reads the slots of a question, as far as they can be seen at once.
pub trait SlotReader {
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
    compact: &'a CompactSubscription,
}

impl<'a> Encoded<'a> {
    /// `None` where the encoding is for another program, or does not say all.
    #[inline]
    pub fn new(
        slots: &Slots,
        encoding: &'a Encoding,
        compact: &'a CompactSubscription,
    ) -> Option<Encoded<'a>> {
        let numbers = encoding.complete(slots)?;
        Some(Encoded { numbers, places: encoding.places(), compact })
    }
}

impl SlotReader for Encoded<'_> {
    #[inline]
    fn number(&self, slot: SlotId) -> Number {
        known(self.numbers, slot)
    }

    #[inline]
    fn integer(&self, slot: SlotId) -> Option<i64> {
        self.compact.at(self.places.get(slot.0 as usize)?.checked_sub(1)?)?.integer()
    }
}

/// A request as it was read: slots are looked up in its rows when they are looked at.
pub struct Unencoded<'a> {
    slots: &'a Slots,
    rows: &'a Rows,
    held: &'a dyn Fields,
    /// The piece that was found last, and its slot: conditions ask for that of the node before them again.
    latest: Cell<(SlotId, Number)>,
}

impl std::fmt::Debug for Unencoded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unencoded").field("rows", self.rows).finish_non_exhaustive()
    }
}

impl<'a> Unencoded<'a> {
    /// Of a request that nobody adds to; `held` is what the rows were made of. `None` where the rows were made before the program's
    /// names had numbers.
    #[inline]
    pub fn new(slots: &'a Slots, rows: &'a Rows, held: &'a dyn Fields) -> Option<Unencoded<'a>> {
        let latest = Cell::new((NO_SLOT, Number::ABSENT));
        rows.knows_all(slots).then_some(Unencoded { slots, rows, held, latest })
    }

    #[inline(never)]
    fn keyless(&self, slot: SlotId) -> Number {
        let Some(derived) = self.slots.derived(slot) else { return self.held.issued(self.slots, slot) };
        let (latest, number) = self.latest.get();
        if latest == slot {
            return number;
        }
        let number = self.rows.piece(self.slots, derived, self.held);
        self.latest.set((slot, number));
        number
    }
}

impl SlotReader for Unencoded<'_> {
    #[inline]
    fn number(&self, slot: SlotId) -> Number {
        self.rows.number(self.slots, slot, self.held).unwrap_or_else(|| self.keyless(slot))
    }

    fn integer(&self, _: SlotId) -> Option<i64> {
        None
    }
}

/// A subscription as it was read.
pub struct Prepared<'a> {
    slots: &'a Slots,
    compact: &'a CompactSubscription,
    held: &'a dyn Fields,
    /// Where the slots' fields are.
    positions: &'a [FieldPosition],
    /// The piece that was found last, and its slot: conditions ask for that of the node before them again.
    latest: Cell<(SlotId, Number)>,
}

/// No slot has this number.
const NO_SLOT: SlotId = SlotId(u32::MAX);

/// So many slots whose fields have to be found anew need no memory.
const POSITIONS_INLINE: usize = 32;

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("compact", self.compact).finish_non_exhaustive()
    }
}

impl<'a> Prepared<'a> {
    /// Looks with `look` at a subscription of these fields; `compact` is of these very ones.
    #[inline]
    pub fn look<R>(
        slots: &'a Slots,
        compact: &'a CompactSubscription,
        held: &'a dyn Fields,
        look: impl Fn(&Prepared<'_>) -> R,
    ) -> R {
        match slots.known_positions(compact.layout(), || slots.positions(compact, held).collect()) {
            Some(positions) => look(&Prepared::new(slots, compact, held, positions)),
            None => {
                let positions: SmallVec<[FieldPosition; POSITIONS_INLINE]> =
                    slots.positions(compact, held).collect();
                look(&Prepared::new(slots, compact, held, &positions))
            }
        }
    }

    #[inline]
    fn new(
        slots: &'a Slots,
        compact: &'a CompactSubscription,
        held: &'a dyn Fields,
        positions: &'a [FieldPosition],
    ) -> Prepared<'a> {
        Prepared { slots, compact, held, positions, latest: Cell::new((NO_SLOT, Number::ABSENT)) }
    }

    #[inline]
    fn position(&self, slot: SlotId) -> FieldPosition {
        self.positions.get(slot.0 as usize).copied().unwrap_or(FieldPosition::UNCLEAR)
    }

    /// What a slot holds that has no field: one that holds pieces of another's values, or nothing.
    #[inline]
    fn number_without_field(&self, slot: SlotId, position: FieldPosition) -> Number {
        let Some(derived) = self.slots.derived(slot) else {
            return self.compact.number_without_field(position);
        };
        let (latest, number) = self.latest.get();
        if latest == slot {
            return number;
        }
        let number = self.piece(derived);
        self.latest.set((slot, number));
        number
    }

    fn piece(&self, derived: &Derived) -> Number {
        let position = self.position(derived.source);
        let Some(field) = self.compact.field_at(position) else {
            return match self.compact.number_without_field(position) {
                Number::ABSENT => derived.number_of_others(),
                unclear => unclear,
            };
        };
        if let Some(integer) = field.word.integer() {
            return derived.number_of_integer(integer);
        }
        let Some(place) = position.place() else { return Number::MANY };
        match self.held.at(place) {
            Some(value) => derived.number_of(value),
            None => self.held.made(place).map_or(Number::MANY, |value| derived.number_of(&value)),
        }
    }
}

impl SlotReader for Prepared<'_> {
    #[inline]
    fn number(&self, slot: SlotId) -> Number {
        let position = self.position(slot);
        let Some(field) = self.compact.field_at(position) else {
            return self.number_without_field(slot, position);
        };
        match field.word.kind() {
            Kind::Text => self.slots.find_word(slot, field.word, field.hash).unwrap_or(Number::OTHER_TEXT),
            Kind::Plain => self.slots.find_word(slot, field.word, field.hash).unwrap_or(Number::OTHER),
            Kind::Composed => Number::OTHER,
            Kind::Absent => Number::ABSENT,
            Kind::LongText => {
                self.slots.find_long(slot, (field.word, field.hash), self.held, position.place())
            }
            Kind::Unsure => Number::MANY,
        }
    }

    #[inline]
    fn integer(&self, slot: SlotId) -> Option<i64> {
        self.compact.field_at(self.position(slot))?.word.integer()
    }
}

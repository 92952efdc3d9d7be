//! Looking at a subscription without asking anybody: what quick answers are made of.

use std::cell::Cell;

use smallvec::SmallVec;

use super::brief::{Brief, Seat};
use super::fields::Fields;
use super::rows::Rows;
use super::word::Kind;
use super::{Encoding, Number, known};
use crate::program::{Derived, SlotId, Slots};

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

impl Glance for Unencoded<'_> {
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
    brief: &'a Brief,
    held: &'a dyn Fields,
    /// Where the slots' fields are.
    seats: &'a [Seat],
    /// The piece that was found last, and its slot: conditions ask for that of the node before them again.
    latest: Cell<(SlotId, Number)>,
}

/// No slot has this number.
const NO_SLOT: SlotId = SlotId(u32::MAX);

/// So many slots whose fields have to be found anew need no memory.
const SEATS_INLINE: usize = 32;

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("brief", self.brief).finish_non_exhaustive()
    }
}

impl<'a> Prepared<'a> {
    /// Looks with `look` at a subscription of these fields; `brief` is of these very ones.
    #[inline]
    pub fn look<R>(
        slots: &'a Slots,
        brief: &'a Brief,
        held: &'a dyn Fields,
        look: impl Fn(&Prepared<'_>) -> R,
    ) -> R {
        match slots.known_seats(brief.layout(), || slots.seats(brief, held).collect()) {
            Some(seats) => look(&Prepared::new(slots, brief, held, seats)),
            None => {
                let seats: SmallVec<[Seat; SEATS_INLINE]> = slots.seats(brief, held).collect();
                look(&Prepared::new(slots, brief, held, &seats))
            }
        }
    }

    #[inline]
    fn new(slots: &'a Slots, brief: &'a Brief, held: &'a dyn Fields, seats: &'a [Seat]) -> Prepared<'a> {
        Prepared { slots, brief, held, seats, latest: Cell::new((NO_SLOT, Number::ABSENT)) }
    }

    #[inline]
    fn seat(&self, slot: SlotId) -> Seat {
        self.seats.get(slot.0 as usize).copied().unwrap_or(Seat::UNCLEAR)
    }

    /// What a slot holds that has no field: one that holds pieces of another's values, or nothing.
    #[inline]
    fn unseated(&self, slot: SlotId, seat: Seat) -> Number {
        let Some(derived) = self.slots.derived(slot) else { return self.brief.unseated(seat) };
        let (latest, number) = self.latest.get();
        if latest == slot {
            return number;
        }
        let number = self.piece(derived);
        self.latest.set((slot, number));
        number
    }

    fn piece(&self, derived: &Derived) -> Number {
        let seat = self.seat(derived.source);
        let Some(field) = self.brief.seated(seat) else {
            return match self.brief.unseated(seat) {
                Number::ABSENT => derived.number_of_others(),
                unclear => unclear,
            };
        };
        if let Some(integer) = field.word.integer() {
            return derived.number_of_integer(integer);
        }
        let Some(place) = seat.place() else { return Number::MANY };
        match self.held.at(place) {
            Some(value) => derived.number_of(value),
            None => self.held.made(place).map_or(Number::MANY, |value| derived.number_of(&value)),
        }
    }
}

impl Glance for Prepared<'_> {
    #[inline]
    fn number(&self, slot: SlotId) -> Number {
        let seat = self.seat(slot);
        let Some(field) = self.brief.seated(seat) else { return self.unseated(slot, seat) };
        match field.word.kind() {
            Kind::Text => self.slots.find_word(slot, field.word, field.hash).unwrap_or(Number::OTHER_TEXT),
            Kind::Plain => self.slots.find_word(slot, field.word, field.hash).unwrap_or(Number::OTHER),
            Kind::Composed => Number::OTHER,
            Kind::Absent => Number::ABSENT,
            Kind::LongText => self.slots.find_long(slot, (field.word, field.hash), self.held, seat.place()),
            Kind::Unsure => Number::MANY,
        }
    }

    #[inline]
    fn integer(&self, slot: SlotId) -> Option<i64> {
        self.brief.seated(self.seat(slot))?.word.integer()
    }
}

//! Looking at a subscription without asking anybody: what quick answers are made of.

use std::cell::Cell;

use smallvec::SmallVec;

use super::brief::{Brief, Fields, Kind, Seat};
use super::encoding::number_of;
use super::{Attributes, Encoding, Glimpse, Number, Reading, known};
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

/// A request as it was read: slots are looked up when they are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Unencoded<'a, A> {
    slots: &'a Slots,
    attributes: &'a A,
}

impl<'a, A: Attributes> Unencoded<'a, A> {
    /// Of a request that nobody adds to.
    #[inline]
    pub fn new(slots: &'a Slots, attributes: &'a A) -> Unencoded<'a, A> {
        Unencoded { slots, attributes }
    }

    #[inline]
    fn glimpse(&self, slot: SlotId) -> Glimpse<'a> {
        self.attributes.glimpse(self.slots.name(slot), self.slots.key(slot))
    }

    /// Of a slot that holds pieces of another one's values.
    fn piece(&self, derived: &Derived) -> Number {
        match self.glimpse(derived.source) {
            Glimpse::Absent => derived.number(&Reading::Absent).unwrap_or(Number::MANY),
            Glimpse::One(value, _) => derived.number_of(value),
            Glimpse::Unclear => Number::MANY,
        }
    }
}

impl<A: Attributes> Glance for Unencoded<'_, A> {
    #[inline]
    fn number(&self, slot: SlotId) -> Number {
        if let Some(derived) = self.slots.derived(slot) {
            return self.piece(derived);
        }
        match self.glimpse(slot) {
            Glimpse::Absent => Number::ABSENT,
            Glimpse::One(value, digest) => number_of(self.slots, slot, value, digest),
            Glimpse::Unclear => Number::MANY,
        }
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
            Kind::Text => self.slots.find_word(slot, field).unwrap_or(Number::OTHER_TEXT),
            Kind::Plain => self.slots.find_word(slot, field).unwrap_or(Number::OTHER),
            Kind::Composed => Number::OTHER,
            Kind::Absent => Number::ABSENT,
            Kind::LongText => self.slots.find_long(slot, field, self.held, seat.place()),
            Kind::Unsure => Number::MANY,
        }
    }

    #[inline]
    fn integer(&self, slot: SlotId) -> Option<i64> {
        self.brief.seated(self.seat(slot))?.word.integer()
    }
}

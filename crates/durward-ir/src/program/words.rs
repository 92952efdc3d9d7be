//! The parts of subscriptions and the values that policies know, in words: see [`Brief`](crate::question::Brief).

use std::sync::OnceLock;

use super::slots::{Atom, SlotId, Slots};
use crate::path::Element;
use crate::question::{Attributes, Brief, BriefField, LAYOUTS_MAX, Layout, Number, Seat, Word};
use crate::value::Value;

/// The name of a slot's part of the subscription, if that is an element or a key of one.
#[derive(Clone, Copy, Debug)]
struct BriefName {
    word: Word,
    hash: u32,
    element: Element,
}

/// An entry of the open-addressing table of atoms by the words of their values; a number of 0 is none.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    word: Word,
    slot: u32,
    number: u32,
}

/// What is looked up by words.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// By slot.
    names: Box<[Option<BriefName>]>,
    /// A power of two long, and never full.
    atoms: Box<[Entry]>,
    /// By the numbers of layouts met so far, the seats by slot.
    seats: Box<[OnceLock<Box<[Seat]>>]>,
}

impl Words {
    /// Of all slots and atoms that stand for parts of a subscription and values of it.
    pub(super) fn of(slots: &Slots) -> Words {
        let name = |(slot, _)| {
            let path = slots.path(slot)?;
            let key = match path.keys() {
                [] => None,
                [key] => Some(key.as_str()),
                [_, _, ..] => return None,
            };
            let word = Word::of_name(path.element(), key);
            Some(BriefName { word, hash: (word.hash() >> 32) as u32, element: path.element() })
        };
        let names: Box<[Option<BriefName>]> = slots.names().map(name).collect();
        if names.iter().all(Option::is_none) {
            return Words::default();
        }
        let mut atoms = vec![Entry::default(); (slots.atom_count() * 2).next_power_of_two().max(2)];
        for atom in (0..slots.atom_count() as u32).map(Atom) {
            let (slot, value) = slots.atom(atom);
            if slots.is_piece(slot) {
                continue;
            }
            let word = Word::of(value);
            insert(&mut atoms, word, Entry { word, slot: slot.0, number: Number::of(atom).0 });
        }
        let seats = std::iter::repeat_with(OnceLock::new).take(LAYOUTS_MAX).collect();
        Words { names, atoms: atoms.into(), seats }
    }

    /// The number of an atom of this slot and word for which the test holds.
    #[inline]
    fn find(&self, slot: SlotId, field: &BriefField, test: impl Fn(Number) -> bool) -> Option<Number> {
        let mask = self.atoms.len().wrapping_sub(1);
        let mut at = place(field.hash, slot.0, mask);
        loop {
            let entry = self.atoms.get(at)?;
            if entry.word == field.word
                && entry.slot == slot.0
                && entry.number != 0
                && test(Number(entry.number))
            {
                return Some(Number(entry.number));
            }
            if entry.number == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }
}

fn insert(atoms: &mut [Entry], word: Word, entry: Entry) {
    let mask = atoms.len() - 1;
    let mut at = place(word.hash(), entry.slot, mask);
    while let Some(free) = atoms.get_mut(at) {
        if free.number == 0 {
            *free = entry;
            return;
        }
        at = (at + 1) & mask;
    }
}

#[inline]
fn place(hash: u64, slot: u32, mask: usize) -> usize {
    (hash ^ u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15)) as usize >> 16 & mask
}

impl Slots {
    /// By slot, where its part is among the fields of a subscription.
    pub(crate) fn seats<'s>(
        &'s self,
        brief: &'s Brief,
        attributes: &'s dyn Attributes,
    ) -> impl Iterator<Item = Seat> {
        let seat = move |(slot, name): (u32, &Option<BriefName>)| {
            let Some(name) = name else { return Seat::UNCLEAR };
            let Some((place, _)) = brief.find(name.word, name.hash) else {
                return Seat::missing(name.element);
            };
            let is_it = || self.path(SlotId(slot)).is_some_and(|path| attributes.place(path) == Some(place));
            if name.word.is_whole_name() || is_it() { Seat::of(place) } else { Seat::UNCLEAR }
        };
        (0..).zip(&self.words.names).map(seat)
    }

    /// The same of a layout, found once; `None` of one without a number.
    #[inline]
    pub(crate) fn known_seats(&self, layout: Layout, find: impl FnOnce() -> Box<[Seat]>) -> Option<&[Seat]> {
        Some(self.words.seats.get(layout.number()?)?.get_or_init(find))
    }

    /// The number of what a field holds, whose word says all of it; `None` where no policy names it.
    #[inline]
    pub(crate) fn find_word(&self, slot: SlotId, field: &BriefField) -> Option<Number> {
        self.words.find(slot, field, |_| true)
    }

    /// The same of a long text, which `value` is.
    #[cold]
    pub(crate) fn find_long(&self, slot: SlotId, field: &BriefField, value: Option<&Value>) -> Number {
        let Some(value) = value else { return Number::MANY };
        let is_it = |number: Number| number.atom().is_some_and(|atom| self.atom(atom).1.equals(value));
        self.words.find(slot, field, is_it).unwrap_or(Number::OTHER_TEXT)
    }
}

//! The parts of subscriptions and the values that policies know, in words: see
//! [`CompactSubscription`](crate::question::CompactSubscription) and
//! [`Rows`](crate::question::Rows).

use std::cell::Cell;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::atoms::Atom;
use super::ids::SlotId;
use super::map::Map;
use super::open_addressing::{place, table_size};
use super::slots::Slots;
use crate::path::Element;
use crate::question::{
    CompactSubscription, FieldPosition, Fields, Kind, LAYOUTS_MAX, Layout, Number, RowKey, Word, number_texts,
};
use crate::value::Value;

/// The name of a slot's part of the subscription, if that is an element or a key of one.
#[derive(Clone, Copy, Debug)]
struct CompactName {
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
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// By slot.
    names: Arc<[Option<CompactName>]>,
    /// A power of two long, and never full.
    atoms: Arc<[Entry]>,
    /// Of atoms that came after the table was made, by slot and word.
    later: Map<u64, SmallVec<[Entry; 1]>>,
    /// How many atoms are in the table or behind it.
    count: usize,
    /// By the numbers of layouts met so far, the positions by slot.
    positions: Arc<[OnceLock<Box<[FieldPosition]>>]>,
}

impl Words {
    /// Of all slots and atoms that stand for parts of a subscription and values of it.
    pub(super) fn of(slots: &Slots) -> Words {
        let names = names_of(slots);
        let count = slots.atom_count();
        let entries = entries(slots, 0..count);
        let mut atoms = vec![Entry::default(); table_size(entries.len())];
        for entry in entries {
            place(&mut atoms, place_hash(entry.word.hash(), entry.slot), entry, |entry| entry.number == 0);
        }
        Words { names, atoms: atoms.into(), later: Map::default(), count, positions: no_positions() }
    }

    /// The same of slots and atoms that were added to those that these are of.
    pub(super) fn extended(&self, slots: &Slots) -> Words {
        let mut words = self.clone();
        if words.names.len() != slots.len() {
            (words.names, words.positions) = (names_of(slots), no_positions());
        }
        for entry in entries(slots, words.count..slots.atom_count()) {
            words.later.entry(digest(entry.word.hash(), entry.slot)).or_default().push(entry);
        }
        words.count = slots.atom_count();
        words
    }

    /// The number of an atom of this slot and word for which the test holds.
    #[inline]
    fn find(&self, slot: SlotId, word: Word, hash: u64, test: impl Fn(Number) -> bool) -> Option<Number> {
        let found = self.find_early(slot, word, hash, &test);
        if found.is_some() || self.later.is_empty() {
            found
        } else {
            self.find_later(slot, word, hash, &test)
        }
    }

    #[cold]
    fn find_later(
        &self,
        slot: SlotId,
        word: Word,
        hash: u64,
        test: &impl Fn(Number) -> bool,
    ) -> Option<Number> {
        let entries = self.later.get(&digest(hash, slot.0))?;
        let is_it = |entry: &&Entry| entry.word == word && entry.slot == slot.0 && test(Number(entry.number));
        entries.iter().find(is_it).map(|entry| Number(entry.number))
    }

    #[inline]
    fn find_early(
        &self,
        slot: SlotId,
        word: Word,
        hash: u64,
        test: &impl Fn(Number) -> bool,
    ) -> Option<Number> {
        let mask = self.atoms.len().wrapping_sub(1);
        let mut at = place_hash(hash, slot.0) as usize & mask;
        loop {
            let entry = self.atoms.get(at)?;
            if entry.word == word && entry.slot == slot.0 && entry.number != 0 && test(Number(entry.number)) {
                return Some(Number(entry.number));
            }
            if entry.number == 0 {
                return None;
            }
            at = (at + 1) & mask;
        }
    }
}

fn names_of(slots: &Slots) -> Arc<[Option<CompactName>]> {
    let name = |(slot, _)| {
        let path = slots.path(slot)?;
        let key = match path.keys() {
            [] => None,
            [key] => Some(key.as_str()),
            [_, _, ..] => return None,
        };
        let word = Word::of_name(path.element(), key);
        Some(CompactName { word, hash: (word.hash() >> 32) as u32, element: path.element() })
    };
    slots.names().map(name).collect()
}

fn no_positions() -> Arc<[OnceLock<Box<[FieldPosition]>>]> {
    std::iter::repeat_with(OnceLock::new).take(LAYOUTS_MAX).collect()
}

/// Entries for all of these atoms that are found by words.
fn entries(slots: &Slots, numbers: Range<usize>) -> Vec<Entry> {
    let atoms = atoms(slots, numbers);
    let is_attribute = |slot: SlotId| slots.path(slot).is_none();
    let of_attributes = atoms.clone().filter(|(_, slot, _)| is_attribute(*slot));
    number_texts(of_attributes.filter_map(|(_, _, value)| Word::long_text(value)));
    let mut entries = Vec::new();
    for (atom, slot, value) in atoms {
        let words = match is_attribute(slot) {
            true => [Some(Word::of_attribute(value)), Word::of_earlier_attribute(value)],
            false => [Some(Word::of(value)), None],
        };
        // Some values have no word of their own.
        let is_own = |word: &Word| word.is_whole() || word.kind() == Kind::LongText;
        let words = words.into_iter().flatten().filter(is_own);
        entries.extend(words.map(|word| Entry { word, slot: slot.0, number: Number::of(atom).0 }));
    }
    entries
}

/// Those of these atoms that are looked up by words: of parts of subscriptions, and of attributes that are found in rows. Where
/// an issuer is asked for, the value is looked up, and pieces are found by comparing.
fn atoms(slots: &Slots, numbers: Range<usize>) -> impl Iterator<Item = (Atom, SlotId, &Value)> + Clone {
    let atom = move |number| {
        let (slot, value) = slots.atom(Atom(number as u32));
        (Atom(number as u32), slot, value)
    };
    let is_looked_up = move |slot: SlotId| slots.path(slot).is_some() || slots.row_key(slot) != RowKey::NONE;
    numbers.map(atom).filter(move |(_, slot, _)| is_looked_up(*slot))
}

/// The lower bits of it say where an entry is.
#[inline]
fn place_hash(hash: u64, slot: u32) -> u64 {
    digest(hash, slot) >> 16
}

#[inline]
fn digest(hash: u64, slot: u32) -> u64 {
    hash ^ u64::from(slot).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Slots {
    /// By slot, where its part is among the fields of a subscription.
    pub(crate) fn positions<'s>(
        &'s self,
        compact: &'s CompactSubscription,
        held: &'s dyn Fields,
    ) -> impl Iterator<Item = FieldPosition> {
        let places = compact.places();
        let position = move |(slot, name): (u32, &Option<CompactName>)| {
            let Some(name) = name else { return FieldPosition::UNCLEAR };
            let Some(place) = places.find(name.word, name.hash) else {
                return FieldPosition::missing(name.element);
            };
            let is_it = || self.path(SlotId(slot)).is_some_and(|path| held.place(path) == Some(place));
            if name.word.is_whole_name() || is_it() {
                FieldPosition::of(place)
            } else {
                FieldPosition::UNCLEAR
            }
        };
        (0..).zip(self.words.names.iter()).map(position)
    }

    /// The positions of a layout by slot, found once; `None` of one without a number.
    #[inline]
    pub(crate) fn known_positions(
        &self,
        layout: Layout,
        find: impl FnOnce() -> Box<[FieldPosition]>,
    ) -> Option<&[FieldPosition]> {
        Some(self.words.positions.get(layout.number()?)?.get_or_init(find))
    }

    /// The number of a value whose word says all of it; `None` where no policy names it. `hash` is the word's.
    #[inline]
    pub(crate) fn find_word(&self, slot: SlotId, word: Word, hash: u64) -> Option<Number> {
        self.words.find(slot, word, hash, |_| true)
    }

    /// The same of a long text, which is held at a place.
    #[cold]
    pub(crate) fn find_long(
        &self,
        slot: SlotId,
        (word, hash): (Word, u64),
        held: &dyn Fields,
        place: Option<u16>,
    ) -> Number {
        let Some(place) = place else { return Number::MANY };
        // What cannot be made may be any of them.
        let is_unmade = Cell::new(false);
        let is_it = |number: Number| {
            let Some(atom) = number.atom() else { return false };
            let value = self.atom(atom).1;
            match held.at(place) {
                Some(held) => value.equals(held),
                None => match held.made(place) {
                    Some(held) => value.equals(&held),
                    None => {
                        is_unmade.set(true);
                        false
                    }
                },
            }
        };
        let found = self.words.find(slot, word, hash, is_it);
        found.unwrap_or(if is_unmade.get() { Number::MANY } else { Number::OTHER_TEXT })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::AttributeName;
    use crate::value::DataType;

    /// Such texts would only fill the table that all policies of the process share.
    #[test]
    fn texts_of_attributes_of_an_issuer_have_no_number() {
        let mut slots = Slots::default();
        let texts = ["a text that anybody may have issued", "a text that somebody has issued"];
        for (issuer, text) in [None, Some("somebody".into())].into_iter().zip(texts) {
            let (category, id) = ("texts-of-an-issuer".into(), "a".into());
            let slot = slots.slot(&AttributeName { category, id, data_type: DataType::Text, issuer });
            slots.atom_for(slot, &Value::Text(text.into()));
        }
        slots.seal();
        assert_eq!(texts.map(|text| Word::of_attribute_text(text).is_whole()), [true, false]);
    }
}

//! A request of XACML in machine words: for each attribute its name's number, its data type, and its value in 16 bytes, in a few
//! neighbouring lines of memory. Identifiers, issuers and values stand elsewhere, for policies that look deeper.

use std::collections::BTreeMap;
use std::fmt;

use super::fields::Fields;
use super::row_key::RowKey;
use super::word::{Kind, Word};
use super::{Number, Reading};
use crate::attribute::NameKey;
use crate::datatype::Integer;
use crate::program::{Derived, SlotId, Slots};
use crate::value::{DataType, Value};

/// So many rows need no memory of their own.
const ROWS_INLINE: usize = 16;

/// The attributes of a request in words, in their order.
#[derive(Clone)]
#[repr(C)] // In the order of how often each is looked at.
pub struct Rows {
    len: u32,
    /// Names with greater numbers had none when a row was put in.
    known: u32,
    /// Whether a row is of several values.
    has_several: bool,
    /// Keys other than of several values are there once: where a name comes again, its first row is marked, and all others are pushed so.
    keys: [RowKey; ROWS_INLINE],
    words: [Word; ROWS_INLINE],
    more: Vec<(RowKey, Word)>,
    /// By name, where the first row of it is, of names whose first row is in `more`: a request may have as many rows as its bytes
    /// have room for.
    firsts: BTreeMap<u32, u32>,
}

impl Default for Rows {
    fn default() -> Rows {
        Rows::new()
    }
}

impl fmt::Debug for Rows {
    /// Numbers depend on which policies the process has seen, so they are left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("len", &self.len).finish_non_exhaustive()
    }
}

impl Rows {
    /// No rows.
    #[inline]
    pub const fn new() -> Rows {
        Rows {
            keys: [RowKey::NONE; ROWS_INLINE],
            words: [Word::NONE; ROWS_INLINE],
            more: Vec::new(),
            firsts: BTreeMap::new(),
            len: 0,
            known: u32::MAX,
            has_several: false,
        }
    }

    /// Begins a row for an attribute; `known` is how many names there were when its number was looked for.
    #[inline]
    pub fn push(&mut self, name: NameKey, known: u32) {
        self.known = self.known.min(known);
        let mut low = RowKey::EMPTY;
        if name != NameKey::NONE
            && let Some(first) = self.first(name)
        {
            self.mark_several(first);
            low = RowKey::SEVERAL;
        }
        let key = RowKey::with(name, low);
        match self.keys.get_mut(self.len as usize) {
            Some(place) => *place = key,
            None => self.push_more(name, key),
        }
        self.len += 1;
    }

    /// Puts a value into the row begun last.
    #[inline]
    pub fn put(&mut self, value: &Value) {
        self.put_word(value.data_type(), Word::of_attribute(value));
    }

    /// The same for a text that is in Unicode normalization form C.
    #[inline]
    pub fn put_text(&mut self, text: &str) {
        self.put_word(DataType::Text, Word::of_text(text));
    }

    /// The same for a whole number.
    #[inline]
    pub fn put_integer(&mut self, integer: i64) {
        self.put_word(DataType::Integer, Word::of_integer(integer));
    }

    /// The same for a value that has to be looked at itself.
    pub fn put_unsure(&mut self, data_type: DataType) {
        self.put_word(data_type, Word::UNSURE);
    }

    #[inline]
    fn put_word(&mut self, data_type: DataType, word: Word) {
        let Some(at) = (self.len as usize).checked_sub(1) else { return };
        let row = match (self.keys.get_mut(at), self.words.get_mut(at)) {
            (Some(key), Some(word)) => Some((key, word)),
            _ => self.more.last_mut().map(|(key, word)| (key, word)),
        };
        let Some((key, place)) = row else { return };
        if key.0 & RowKey::SEVERAL == RowKey::EMPTY {
            *key = RowKey(key.0 & !RowKey::SEVERAL | data_type as u32);
            *place = word;
        } else if *key != RowKey::NONE {
            *key = key.several();
            self.has_several = true;
        }
    }

    #[cold]
    fn push_more(&mut self, name: NameKey, key: RowKey) {
        self.more.push((key, Word::NONE));
        if name != NameKey::NONE && key == RowKey::with(name, RowKey::EMPTY) {
            self.firsts.insert(name.number(), self.len);
        }
    }

    /// Where the first row of this name is.
    #[inline]
    fn first(&self, name: NameKey) -> Option<usize> {
        // Without a jump for each, which the compiler turns into comparing several at once.
        if self.keys.iter().fold(false, |found, key| found | key.is_of(name)) {
            return self.keys.iter().position(|key| key.is_of(name));
        }
        if self.more.is_empty() { None } else { self.firsts.get(&name.number()).map(|first| *first as usize) }
    }

    #[cold]
    fn mark_several(&mut self, first: usize) {
        let more = self.more.get_mut(first.wrapping_sub(ROWS_INLINE)).map(|(key, _)| key);
        if let Some(key) = self.keys.get_mut(first).or(more) {
            *key = key.several();
        }
        self.has_several = true;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers of the names, in order; a name may come several times.
    pub fn names(&self) -> impl Iterator<Item = NameKey> {
        let keys = self.keys.iter().take(self.len()).chain(self.more.iter().map(|(key, _)| key));
        keys.map(|key| NameKey::of_number(key.0 >> RowKey::BITS))
    }

    /// Among how many names those of all rows were looked for.
    pub fn known(&self) -> u32 {
        self.known
    }

    /// Whether what is not among the rows is not in the request: this name had a number when the rows were put in.
    #[inline]
    pub fn knows(&self, name: NameKey) -> bool {
        name != NameKey::NONE && name.number() <= self.known
    }

    /// The same for all names that a program reads.
    #[inline]
    pub fn knows_all(&self, slots: &Slots) -> bool {
        slots.names_known() <= self.known
    }

    /// Where the only value of this name is, if it is of this data type.
    #[inline]
    pub fn only(&self, name: NameKey, data_type: DataType) -> Row {
        if name == NameKey::NONE { Row::Absent } else { self.find(RowKey::of(name, data_type)) }
    }

    #[inline]
    fn find(&self, key: RowKey) -> Row {
        match self.place(key) {
            Some(place) => Row::Only(place),
            None if self.has_several && self.place(key.several()).is_some() => Row::Several,
            None => Row::Absent,
        }
    }

    #[inline]
    fn place(&self, key: RowKey) -> Option<usize> {
        // Without a jump for each: where a row is cannot be foreseen, and all are in one line of the cache.
        let found = (1..)
            .zip(&self.keys)
            .fold(0_u32, |found, (place, known)| found | if *known == key { place } else { 0 });
        if found == 0 && !self.more.is_empty() {
            let first = *self.firsts.get(&(key.0 >> RowKey::BITS))? as usize;
            let (known, _) = self.more.get(first.wrapping_sub(ROWS_INLINE))?;
            return (*known == key).then_some(first);
        }
        (found as usize).checked_sub(1)
    }

    #[inline]
    fn word(&self, place: usize) -> Word {
        let more = || self.more.get(place.wrapping_sub(ROWS_INLINE)).map(|(_, word)| *word);
        self.words.get(place).copied().or_else(more).unwrap_or(Word::UNSURE)
    }

    /// What a slot holds, where that can be told of the rows alone: not of slots for pieces or for an issuer. `held` is what the
    /// rows were made of.
    #[inline]
    pub fn number(&self, slots: &Slots, slot: SlotId, held: &dyn Fields) -> Option<Number> {
        let key = slots.row_key(slot);
        if key == RowKey::NONE {
            return None;
        }
        Some(match self.find(key) {
            Row::Absent => Number::ABSENT,
            Row::Several => Number::MANY,
            Row::Only(place) => self.number_at(slots, slot, key, place, held),
        })
    }

    #[inline]
    fn number_at(&self, slots: &Slots, slot: SlotId, key: RowKey, place: usize, held: &dyn Fields) -> Number {
        let word = self.word(place);
        let other = if key.is_text() { Number::OTHER_TEXT } else { Number::OTHER };
        match word.kind() {
            Kind::Text | Kind::Plain => slots.find_word(slot, word, word.hash()).unwrap_or(other),
            Kind::LongText => {
                let found = slots.find_long(slot, (word, word.hash()), held, u16::try_from(place).ok());
                if found == Number::OTHER_TEXT { other } else { found }
            }
            Kind::Composed => other,
            Kind::Absent | Kind::Unsure => Number::MANY,
        }
    }

    /// What a slot holds that holds pieces of another's value.
    pub(super) fn piece(&self, slots: &Slots, derived: &Derived, held: &dyn Fields) -> Number {
        let key = slots.row_key(derived.source);
        if key == RowKey::NONE {
            return Number::MANY;
        }
        match self.find(key) {
            Row::Absent => derived.number(&Reading::Absent).unwrap_or(Number::MANY),
            Row::Several => Number::MANY,
            Row::Only(place) => {
                if let Some(integer) = self.word(place).integer() {
                    return derived.number_of(&Value::Integer(Integer::Small(integer)));
                }
                let Ok(place) = u16::try_from(place) else { return Number::MANY };
                match held.at(place) {
                    Some(value) => derived.number_of(value),
                    None => held.made(place).map_or(Number::MANY, |value| derived.number_of(&value)),
                }
            }
        }
    }
}

/// What rows have of a name and a data type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Row {
    /// No value.
    Absent,
    /// One value, of the attribute at this place.
    Only(usize),
    /// Several values, or values of several attributes; perhaps none of the data type.
    Several,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::{AttributeName, Names};

    fn keys(count: usize) -> Vec<NameKey> {
        let name = |number: usize| AttributeName {
            category: "rows".into(),
            id: format!("{number}").into(),
            data_type: DataType::Text,
            issuer: None,
        };
        let names: Vec<AttributeName> = (0..count).map(name).collect();
        Names::keys_of(&names.iter().map(Some).collect::<Vec<_>>())
    }

    #[test]
    fn a_row_is_found_by_name_and_type_however_many_there_are() {
        let keys = keys(40);
        let mut rows = Rows::new();
        for (number, key) in keys.iter().enumerate().take(39) {
            rows.push(*key, u32::MAX);
            if number % 3 == 0 { rows.put_integer(7) } else { rows.put_text("seven") }
        }
        for (number, key) in keys.iter().enumerate().take(39) {
            let (own, other) = match number % 3 {
                0 => (DataType::Integer, DataType::Text),
                _ => (DataType::Text, DataType::Integer),
            };
            assert_eq!(rows.only(*key, own), Row::Only(number));
            assert_eq!(rows.only(*key, other), Row::Absent);
        }
        assert_eq!(rows.only(keys[39], DataType::Text), Row::Absent);
    }

    #[test]
    fn several_values_and_several_attributes_of_a_name_are_told() {
        let keys = keys(20);
        let mut rows = Rows::new();
        for place in (0..20).chain([3, 18]) {
            rows.push(keys[place], u32::MAX);
            rows.put_text("a");
            if place == 5 {
                rows.put_integer(1);
            }
        }
        for (place, key) in keys.iter().enumerate() {
            let expected = if [3, 5, 18].contains(&place) { Row::Several } else { Row::Only(place) };
            assert_eq!(rows.only(*key, DataType::Text), expected, "{place}");
        }
        assert_eq!(rows.only(keys[3], DataType::Integer), Row::Several);
    }

    /// Each row looks at those before it by number, not one by one: this would not end.
    #[test]
    fn a_name_may_come_as_often_as_there_is_room() {
        let keys = keys(300);
        let mut rows = Rows::new();
        for _ in 0..2_000 {
            for key in &keys {
                rows.push(*key, u32::MAX);
                rows.put_text("a");
            }
        }
        assert_eq!(rows.len(), 600_000);
        assert!(keys.iter().all(|key| rows.only(*key, DataType::Text) == Row::Several));
    }

    #[test]
    fn an_attribute_without_a_value_has_none() {
        let keys = keys(2);
        let mut rows = Rows::new();
        rows.push(keys[0], 2);
        rows.push(NameKey::NONE, 2);
        rows.put_text("a");
        rows.put_text("b");
        assert_eq!(rows.only(keys[0], DataType::Text), Row::Absent);
        assert_eq!(rows.only(keys[1], DataType::Text), Row::Absent);
        assert!(!rows.knows(NameKey::NONE));
    }
}

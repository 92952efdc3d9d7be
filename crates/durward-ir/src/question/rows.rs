//! A request of XACML in machine words: for each attribute its name's number, its data type, and its value in 16 bytes, in a few
//! neighbouring lines of memory. Identifiers, issuers and values stand elsewhere, for policies that look deeper.
//!
//! What is touched per slot that is read: one byte of `places`, one key, one word of 16 bytes. A request of XACML begins a line
//! of memory, so that the bytes, the keys of up to eleven rows, and what a decision wants to know of the whole request are in its first two
//! lines; words are in the lines behind them, four in each. A text of more than 15 bytes has a word of its own, too: its number, if a
//! policy had it when it was read, or else a digest, and only if that is known the text is compared, which is three lines further
//! away.

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

/// So many words are in a line of memory.
const WORDS_A_LINE: usize = 4;

/// By so many remainders rows are found. A power of two: the numbers of a program's names follow one another, mostly, so that
/// those of up to so many names have one remainder each.
const PLACES: usize = 32;

/// The attributes of a request in words, in their order.
#[derive(Clone)]
#[repr(C)] // In the order of how often each is looked at.
pub struct Rows {
    len: u32,
    /// Names with greater numbers had none when a row was put in.
    known: u32,
    /// Whether a row is of several values.
    has_several: bool,
    /// By the remainder of a name's number, one more than the place of the first row of such a name among `keys`; 0 of none.
    places: [u8; PLACES],
    /// Keys other than of several values are there once: where a name comes again, its first row is marked, and all others are pushed so.
    keys: [RowKey; ROWS_INLINE],
    /// Before the words, so that none of these is in two lines of memory.
    more: Option<Box<MoreRows>>,
    words: [Word; ROWS_INLINE],
}

/// The rows for which there is no room in a [`Rows`] itself: a request may have as many as its bytes have room for.
#[derive(Clone, Default)]
struct MoreRows {
    rows: Vec<(RowKey, Word)>,
    /// By name, where the first row of it is, of names whose first row is here.
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
            more: None,
            len: 0,
            known: u32::MAX,
            has_several: false,
            places: [0; PLACES],
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
        self.len += 1;
        match self.keys.get_mut(self.len as usize - 1) {
            Some(place) => {
                *place = key;
                self.note_place(name);
            }
            None => self.push_more(name, key),
        }
    }

    /// Notes where the last row is, unless there is one of the remainder.
    #[inline]
    fn note_place(&mut self, name: NameKey) {
        let last = self.len as u8;
        if name != NameKey::NONE
            && let Some(place) = self.places.get_mut(remainder(name.number()))
            && *place == 0
        {
            *place = last;
        }
    }

    /// The place of the first row with the remainder of this name's number.
    #[inline]
    fn noted_place(&self, name: u32) -> Option<usize> {
        usize::from(*self.places.get(remainder(name))?).checked_sub(1)
    }

    /// Puts a value into the row begun last.
    #[inline]
    pub fn put(&mut self, value: &Value) {
        self.put_word(value.data_type(), || Word::of_attribute(value));
    }

    /// The same for a text that is in Unicode normalization form C.
    #[inline]
    pub fn put_text(&mut self, text: &str) {
        self.put_word(DataType::Text, || Word::of_attribute_text(text));
    }

    /// The same for a whole number.
    #[inline]
    pub fn put_integer(&mut self, integer: i64) {
        self.put_word(DataType::Integer, || Word::of_integer(integer));
    }

    /// The same for a value that has to be looked at itself.
    pub fn put_unsure(&mut self, data_type: DataType) {
        self.put_word(data_type, || Word::UNSURE);
    }

    /// The word is made only for a row that keeps it: not for a name that no policy reads, nor for a further value.
    #[inline]
    fn put_word(&mut self, data_type: DataType, word: impl FnOnce() -> Word) {
        let Some(at) = (self.len as usize).checked_sub(1) else { return };
        let row = match (self.keys.get_mut(at), self.words.get_mut(at)) {
            (Some(key), Some(word)) => Some((key, word)),
            _ => self.more.as_mut().and_then(|more| more.rows.last_mut()).map(|(key, word)| (key, word)),
        };
        let Some((key, place)) = row else { return };
        if key.0 & RowKey::SEVERAL == RowKey::EMPTY {
            *key = RowKey(key.0 & !RowKey::SEVERAL | data_type as u32);
            *place = word();
        } else if *key != RowKey::NONE {
            *key = key.several();
            self.has_several = true;
        }
    }

    #[cold]
    fn push_more(&mut self, name: NameKey, key: RowKey) {
        let more = self.more.get_or_insert_default();
        more.rows.push((key, Word::NONE));
        if name != NameKey::NONE && key == RowKey::with(name, RowKey::EMPTY) {
            more.firsts.insert(name.number(), self.len - 1);
        }
    }

    /// Where the first row of this name is.
    #[inline]
    fn first(&self, name: NameKey) -> Option<usize> {
        if let Some(place) = self.noted_place(name.number()) {
            let is_it = self.keys.get(place).is_some_and(|key| key.is_of(name));
            let first = if is_it { Some(place) } else { self.keys.iter().position(|key| key.is_of(name)) };
            if first.is_some() {
                return first;
            }
        }
        self.more.as_ref()?.firsts.get(&name.number()).map(|first| *first as usize)
    }

    #[cold]
    fn mark_several(&mut self, first: usize) {
        let more = self.more.as_mut().and_then(|more| more.rows.get_mut(first.wrapping_sub(ROWS_INLINE)));
        if let Some(key) = self.keys.get_mut(first).or(more.map(|(key, _)| key)) {
            *key = key.several();
        }
        self.has_several = true;
    }

    /// Loads the lines of memory that a decision may look at. Worth it for some requests ahead of the one that is decided: nothing
    /// depends on what is loaded, so that no line waits for another.
    #[inline]
    pub fn load(&self) {
        let words = self.words.get(..self.len()).unwrap_or(&self.words);
        // The first word need not begin a line, so the last one may be in a further one.
        let lines = words.iter().step_by(WORDS_A_LINE).chain(words.last());
        let words = lines.fold(false, |all, word| all ^ word.is_whole());
        // Else the compiler leaves out what nobody uses.
        std::hint::black_box((self.keys.first().copied(), words));
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
        let more = self.more.iter().flat_map(|more| more.rows.iter().map(|(key, _)| key));
        let keys = self.keys.iter().take(self.len()).chain(more);
        keys.map(|key| NameKey::of_number(key.name()))
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

    fn find(&self, key: RowKey) -> Row {
        self.noted_row(key).unwrap_or_else(|| self.search(key))
    }

    /// What the first row with the remainder of the name says; `None` where that is not enough.
    #[inline]
    fn noted_row(&self, key: RowKey) -> Option<Row> {
        let Some(place) = self.noted_place(key.name()) else {
            return self.more.is_none().then_some(Row::Absent);
        };
        match self.keys.get(place) {
            Some(known) if *known == key => Some(Row::Only(place)),
            Some(known) if *known == key.several() => Some(Row::Several),
            _ => None,
        }
    }

    /// Searches all: another name has the remainder, or the row is of another data type, or behind the first ones.
    fn search(&self, key: RowKey) -> Row {
        match self.place(key) {
            Some(place) => Row::Only(place),
            None if self.has_several && self.place(key.several()).is_some() => Row::Several,
            None => Row::Absent,
        }
    }

    fn place(&self, key: RowKey) -> Option<usize> {
        // Without a jump for each: where a row is cannot be foreseen, and all are in one line of the cache.
        let found = (1..)
            .zip(&self.keys)
            .fold(0_u32, |found, (place, known)| found | if *known == key { place } else { 0 });
        if found == 0
            && let Some(more) = &self.more
        {
            let first = *more.firsts.get(&key.name())? as usize;
            let (known, _) = more.rows.get(first.wrapping_sub(ROWS_INLINE))?;
            return (*known == key).then_some(first);
        }
        (found as usize).checked_sub(1)
    }

    #[inline]
    fn word(&self, place: usize) -> Word {
        let more = || self.more.as_ref()?.rows.get(place.wrapping_sub(ROWS_INLINE)).map(|(_, word)| *word);
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
        // Nothing has to be kept across a call where the first row of the remainder is the one.
        match self.noted_row(key) {
            Some(row) => Some(self.number_of(slots, slot, row, held)),
            None => Some(self.number_searched(slots, slot, key, held)),
        }
    }

    #[inline(never)]
    fn number_searched(&self, slots: &Slots, slot: SlotId, key: RowKey, held: &dyn Fields) -> Number {
        self.number_of(slots, slot, self.search(key), held)
    }

    #[inline]
    fn number_of(&self, slots: &Slots, slot: SlotId, row: Row, held: &dyn Fields) -> Number {
        match row {
            Row::Absent => Number::ABSENT,
            Row::Several => Number::MANY,
            Row::Only(place) => self.number_at(slots, slot, place, held),
        }
    }

    #[inline]
    fn number_at(&self, slots: &Slots, slot: SlotId, place: usize, held: &dyn Fields) -> Number {
        let word = self.word(place);
        // One jump for all: which of these kinds a value is of cannot be foreseen.
        if word.is_whole() {
            return slots.find_word(slot, word, word.hash()).unwrap_or_else(|| other(slots, slot));
        }
        match word.kind() {
            Kind::LongText => long(slots, slot, word, held, place),
            Kind::Composed => other(slots, slot),
            Kind::Absent | Kind::Unsure | Kind::Text | Kind::Plain => Number::MANY,
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

/// The number of a value that no policy compares a slot with.
#[inline]
fn other(slots: &Slots, slot: SlotId) -> Number {
    if slots.row_key(slot).is_text() { Number::OTHER_TEXT } else { Number::OTHER }
}

/// The number of a text that may have to be compared itself.
#[cold]
fn long(slots: &Slots, slot: SlotId, word: Word, held: &dyn Fields, place: usize) -> Number {
    let found = slots.find_long(slot, (word, word.hash()), held, u16::try_from(place).ok());
    if found == Number::OTHER_TEXT { other(slots, slot) } else { found }
}

#[inline]
fn remainder(name: u32) -> usize {
    name as usize % PLACES
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

    /// The keys of so many names of a category, which have numbers one after the other if nobody else has names of it.
    fn keys_in(category: &str, count: usize) -> Vec<NameKey> {
        let name = |number: usize| AttributeName {
            category: category.into(),
            id: format!("{number}").into(),
            data_type: DataType::Text,
            issuer: None,
        };
        let names: Vec<AttributeName> = (0..count).map(name).collect();
        Names::keys_of(&names.iter().map(Some).collect::<Vec<_>>())
    }

    #[test]
    fn a_row_is_found_by_name_and_type_however_many_there_are() {
        let keys = keys_in("rows", 40);
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
    fn names_of_one_remainder_are_told_apart() {
        let keys = keys_in("rows of one remainder", 3 * PLACES);
        let remainders = [0, PLACES, 2 * PLACES].map(|at| remainder(keys[at].number()));
        assert_eq!(remainders, [remainders[0]; 3]);
        let mut rows = Rows::new();
        let own = [keys[0], keys[PLACES], keys[1], keys[2 * PLACES + 1]];
        for key in own {
            rows.push(key, u32::MAX);
            rows.put_text("a");
        }
        for (place, key) in own.into_iter().enumerate() {
            assert_eq!(rows.only(key, DataType::Text), Row::Only(place));
            assert_eq!(rows.only(key, DataType::Integer), Row::Absent);
        }
        assert_eq!(rows.only(keys[2 * PLACES], DataType::Text), Row::Absent);
        assert_eq!(rows.only(keys[2], DataType::Text), Row::Absent);
        for key in own {
            rows.push(key, u32::MAX);
            rows.put_text("b");
            assert_eq!(rows.only(key, DataType::Text), Row::Several);
        }
    }

    #[test]
    fn several_values_and_several_attributes_of_a_name_are_told() {
        let keys = keys_in("rows", 20);
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
        let keys = keys_in("rows", 300);
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
        let keys = keys_in("rows", 2);
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

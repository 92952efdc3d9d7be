//! One question, encoded against a program: for every slot its bag of values and the number an index compares.

use std::cell::RefCell;

use crate::attribute::NameKey;
use crate::fault::{Evaluated, Fault};
use crate::program::{Atom, CategoryNumber, Reading, Selector, SlotId, Slots};
use crate::value::Value;

/// What a slot holds, as one number: a state below [`Number::FIRST_ATOM`], or the atom of its only value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number(pub u32);

impl Number {
    /// The bag is empty.
    pub const ABSENT: Number = Number(0);
    /// One value, which no policy compares this slot with.
    pub const OTHER: Number = Number(1);
    /// Several values; see [`Question::atoms_of`].
    pub const MANY: Number = Number(2);
    /// Not in the request, but an attribute source might know it and has not been asked.
    pub const UNASKED: Number = Number(3);
    /// The number of atom 0; others follow.
    pub const FIRST_ATOM: u32 = 4;

    /// The number of a slot whose only value makes this atom true.
    #[inline]
    pub const fn of(atom: Atom) -> Number {
        Number(atom.0 + Number::FIRST_ATOM)
    }

    /// The atom, if this is one.
    #[inline]
    pub const fn atom(self) -> Option<Atom> {
        if self.0 >= Number::FIRST_ATOM { Some(Atom(self.0 - Number::FIRST_ATOM)) } else { None }
    }
}

/// What surrounds the attributes of a question: the content of the request, and the way to ask another question.
/// Implemented by the language the request is written in.
pub trait Surroundings {
    /// The values a selector selects; an empty bag where there is no content.
    ///
    /// # Errors
    /// A selected node that is not of the selector's data type, an ill-typed path, a spent budget.
    fn select(&self, selector: &Selector) -> Evaluated<Vec<Value>>;
    /// How many nodes the path selects. `path` is an [`Value::XPathExpression`] or, in XACML 2.0, a text.
    ///
    /// # Errors
    /// See [`Surroundings::select`].
    fn node_count(&self, path: &Value) -> Evaluated<u64>;
    /// Whether any node of the first path is one of the second (XACML 3.0, A.3.15).
    ///
    /// # Errors
    /// See [`Surroundings::select`].
    fn node_equal(&self, first: &Value, second: &Value) -> Evaluated<bool>;
    /// Whether any node of the first path is, or lies under, one of the second.
    ///
    /// # Errors
    /// See [`Surroundings::select`].
    fn node_match(&self, first: &Value, second: &Value) -> Evaluated<bool>;
    /// Whether this request with `category` replaced by `attributes` (the XML of an `<Attributes>` element) is
    /// permitted (XACML 3.0, A.3.16).
    ///
    /// # Errors
    /// Attributes that cannot be read; too many such questions within one request.
    fn access_permitted(&self, category: &str, attributes: &str) -> Evaluated<bool>;
}

/// A request without content.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContent;

impl Surroundings for NoContent {
    fn select(&self, _: &Selector) -> Evaluated<Vec<Value>> {
        Ok(Vec::new())
    }
    fn node_count(&self, _: &Value) -> Evaluated<u64> {
        Ok(0)
    }
    fn node_equal(&self, _: &Value, _: &Value) -> Evaluated<bool> {
        Ok(false)
    }
    fn node_match(&self, _: &Value, _: &Value) -> Evaluated<bool> {
        Ok(false)
    }
    fn access_permitted(&self, _: &str, _: &str) -> Evaluated<bool> {
        Err(Fault::processing("`access-permitted` needs a whole request, and there is none here"))
    }
}

/// One question, encoded. Lives as long as the request it borrows from.
pub struct Question<'r> {
    /// The values of each slot, where they lie together in the request.
    bags: Vec<&'r [Value]>,
    /// INVARIANT: as long as `bags`; [`Number::MANY`] exactly where a slot has several values.
    numbers: Vec<Number>,
    /// The values of slots with several that do not lie together.
    merged: Vec<(SlotId, Vec<Value>)>,
    /// The atoms of slots with several values.
    many: Vec<(SlotId, Atom)>,
    needs: RefCell<Vec<SlotId>>,
    surroundings: &'r dyn Surroundings,
}

impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("bags", &self.bags)
            .field("numbers", &self.numbers)
            .finish_non_exhaustive()
    }
}

/// The memory of a finished question, to be used for the next one.
#[derive(Debug, Default)]
pub struct Scratch {
    bags: Vec<&'static [Value]>,
    numbers: Vec<Number>,
    many: Vec<(SlotId, Atom)>,
}

impl<'r> Question<'r> {
    /// A question in which nothing is known yet. `blank` is the state of every slot before anything is given:
    /// [`Number::ABSENT`], or [`Number::UNASKED`] where an attribute source may be asked; see [`blank_slots`].
    #[inline]
    pub fn new(scratch: Scratch, blank: &[Number], surroundings: &'r dyn Surroundings) -> Question<'r> {
        let Scratch { bags, mut numbers, mut many } = scratch;
        let mut bags: Vec<&'r [Value]> = recycle(bags);
        bags.resize(blank.len(), &[]);
        numbers.clear();
        numbers.extend_from_slice(blank);
        many.clear();
        Question { bags, numbers, merged: Vec::new(), many, needs: RefCell::default(), surroundings }
    }

    /// Gives back the memory.
    pub fn recycle(self) -> Scratch {
        Scratch { bags: recycle(self.bags), numbers: self.numbers, many: self.many }
    }

    /// Gives the values of one attribute of the request: they go into every slot that reads it, by data type and
    /// issuer. Attributes no policy reads are passed over.
    #[inline]
    pub fn give(
        &mut self,
        slots: &Slots,
        category: CategoryNumber,
        key: NameKey,
        id: &str,
        issuer: Option<&str>,
        values: &'r [Value],
    ) {
        for reading in slots.find(key, category, id) {
            if reading.is_issued && slots.name(reading.slot).issuer.as_deref() != issuer {
                continue;
            }
            match values {
                [value] if value.data_type() == reading.data_type => self.put(slots, reading.slot, values),
                [_] => {}
                _ => self.give_several(slots, reading, values),
            }
        }
    }

    fn give_several(&mut self, slots: &Slots, reading: &Reading, values: &'r [Value]) {
        if values.iter().all(|value| value.data_type() == reading.data_type) {
            return self.put(slots, reading.slot, values);
        }
        for value in values.iter().filter(|value| value.data_type() == reading.data_type) {
            self.put(slots, reading.slot, std::slice::from_ref(value));
        }
    }

    /// Adds values to one slot. The values must be of the slot's data type. An attribute source that knows
    /// nothing gives an empty slice: the slot then counts as asked.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "slots come from the same program as `blank`")]
    pub fn put(&mut self, slots: &Slots, slot: SlotId, values: &'r [Value]) {
        let at = slot.0 as usize;
        match (values, self.bags[at]) {
            ([value], []) => {
                self.numbers[at] = number(slots, slot, value);
                self.bags[at] = values;
            }
            _ => self.put_several(slots, slot, values),
        }
    }

    #[expect(clippy::indexing_slicing, reason = "slots come from the same program as `blank`")]
    fn put_several(&mut self, slots: &Slots, slot: SlotId, values: &'r [Value]) {
        let at = slot.0 as usize;
        let before = self.bags[at];
        match (values, before) {
            ([], []) => self.numbers[at] = Number::ABSENT,
            ([], _) => {}
            (_, []) => {
                self.bags[at] = values;
                self.note_atoms(slots, slot, values);
            }
            _ => {
                if let [_] = before {
                    self.note_atoms(slots, slot, before);
                }
                self.note_atoms(slots, slot, values);
                match self.merged.iter_mut().find(|(other, _)| *other == slot) {
                    Some((_, merged)) => merged.extend_from_slice(values),
                    None => self.merged.push((slot, [before, values].concat())),
                }
            }
        }
    }

    #[expect(clippy::indexing_slicing, reason = "slots come from the same program as `blank`")]
    fn note_atoms(&mut self, slots: &Slots, slot: SlotId, values: &[Value]) {
        self.numbers[slot.0 as usize] = Number::MANY;
        self.many.extend(values.iter().filter_map(|value| Some((slot, number(slots, slot, value).atom()?))));
    }

    /// The slot's bag; empty where nothing is known.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "slots come from the same program as `blank`")]
    pub fn values(&self, slot: SlotId) -> &[Value] {
        match self.number(slot) {
            Number::MANY => {
                let merged = self.merged.iter().find(|(other, _)| *other == slot);
                merged.map_or(self.bags[slot.0 as usize], |(_, values)| values)
            }
            _ => self.bags[slot.0 as usize],
        }
    }

    /// Whether nothing was given for the slot; does not note a need.
    pub fn is_empty(&self, slot: SlotId) -> bool {
        self.numbers
            .get(slot.0 as usize)
            .is_none_or(|number| matches!(*number, Number::ABSENT | Number::UNASKED))
    }

    /// The slot's number, for indexes. A slot that an attribute source might fill is noted as needed and counts
    /// as absent for now: [`Question::needs`] says at the end that the answer does not stand.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "slots come from the same program as `blank`")]
    pub fn number(&self, slot: SlotId) -> Number {
        let number = self.numbers[slot.0 as usize];
        if number == Number::UNASKED {
            self.note_need(slot);
            return Number::ABSENT;
        }
        number
    }

    /// The slot's number as it stands, [`Number::UNASKED`] included, noting nothing: for indexes, which must not
    /// have a source asked for what the policies themselves would not read.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "slots come from the same program as `blank`")]
    pub fn peek(&self, slot: SlotId) -> Number {
        self.numbers[slot.0 as usize]
    }

    #[cold]
    fn note_need(&self, slot: SlotId) {
        let mut needs = self.needs.borrow_mut();
        if !needs.contains(&slot) {
            needs.push(slot);
        }
    }

    /// Whether the slot holds the atom's value. `slot` must be the atom's.
    #[inline]
    pub fn holds(&self, slot: SlotId, atom: Atom) -> bool {
        match self.number(slot) {
            Number::MANY => self.many.contains(&(slot, atom)),
            number => number == Number::of(atom),
        }
    }

    /// The atoms of a slot with several values; values that no policy names have none.
    pub fn atoms_of(&self, slot: SlotId) -> impl Iterator<Item = Atom> {
        self.many.iter().filter(move |(other, _)| *other == slot).map(|(_, atom)| *atom)
    }

    /// The slots that were read, were not in the request, and that an attribute source has not been asked for.
    /// If there are any, what was decided does not stand: ask, [`Question::put`], decide again.
    pub fn needs(&self) -> Vec<SlotId> {
        self.needs.borrow().clone()
    }

    /// The content of the request.
    pub fn surroundings(&self) -> &'r dyn Surroundings {
        self.surroundings
    }
}

/// The state of every slot before anything is given: unasked where `is_sourced` says so, else absent.
pub fn blank_slots(slots: &Slots, is_sourced: impl Fn(SlotId) -> bool) -> Vec<Number> {
    slots.names().map(|(slot, _)| if is_sourced(slot) { Number::UNASKED } else { Number::ABSENT }).collect()
}

#[inline]
fn number(slots: &Slots, slot: SlotId, value: &Value) -> Number {
    if !value.is_internable() {
        return Number::OTHER;
    }
    slots.find_atom(slot, value).map_or(Number::OTHER, Number::of)
}

/// An empty vector that keeps its memory but not its lifetime.
fn recycle<'a>(mut bags: Vec<&[Value]>) -> Vec<&'a [Value]> {
    bags.clear();
    // The vector is empty: collecting in place only changes the type.
    bags.into_iter().map(|_| Default::default()).collect()
}

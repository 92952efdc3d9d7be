//! One question about a program: for every slot its bag of values and the number an index compares.
//!
//! Nothing is encoded ahead. A slot is looked up in the request when it is first read, and policies that are indexed
//! read few: what is touched per slot read is the request's rows ([`Rows`]) and one entry of the table of atoms. Who asks a request more than once, or reads requests
//! where there is time for it, encodes it ([`Encoding`]): then only the slots' numbers are touched.

mod attributes;
mod compact;
mod encoding;
mod fields;
mod invocation;
mod known_texts;
mod layout;
mod number;
mod pieces;
mod raw;
mod reading;
mod row_key;
mod rows;
mod slot_reader;
mod surroundings;
mod word;

pub use attributes::{Attributes, NoAttributes};
pub use compact::CompactSubscription;
pub(crate) use compact::FieldPosition;
pub(crate) use encoding::known;
pub use encoding::looked_up;
pub use encoding::{Encoding, UNENCODED};
pub use fields::Fields;
pub use invocation::{FinderOptions, Invocation};
pub use known_texts::count as known_text_count;
pub(crate) use known_texts::number as number_texts;
pub(crate) use layout::{LAYOUTS_MAX, Layout};
pub use number::Number;
pub use raw::{RawSubscription, RawValue, WantsValues};
pub use reading::Reading;
pub(crate) use row_key::RowKey;
pub use rows::{Row, Rows};
pub use slot_reader::{Encoded, Prepared, SlotReader, Unencoded};
pub use surroundings::{NoContent, Surroundings};
pub(crate) use word::Kind;
pub use word::Word;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};

use crate::fault::Evaluated;
use crate::path::UNDEFINED;
use crate::program::{Atom, SlotId, Slots};
use crate::value::Value;
use encoding::{Numbers, UNREAD, look_up, number_of};
use smallvec::SmallVec;

/// One question. Lives as long as the request it borrows from.
pub struct Question<'r> {
    slots: &'r Slots,
    attributes: &'r dyn Attributes,
    surroundings: &'r dyn Surroundings,
    /// Whether a source may be asked for a slot; a slot beyond the end has none.
    is_sourced: &'r [bool],
    /// What was looked up ahead of these attributes, if it was for this program.
    encoding: Option<&'r Encoding>,
    /// What sources and the clock gave; comes before what `attributes` says.
    supplied: Vec<(SlotId, &'r [Value])>,
    /// INVARIANT: one for each slot; [`Number::MANY`] exactly where a slot has several values.
    numbers: Numbers<'r>,
    /// The atoms of slots with several values; few of those are named by any policy.
    many: RefCell<SmallVec<[(SlotId, Atom); MANY_INLINE]>>,
    rare: OnceCell<Box<Rare>>,
    /// How many finders have yet to say something.
    open_invocations: Cell<u32>,
    /// How often one of them was taken for undefined where that still matters.
    assumptions: Cell<u32>,
}

/// What finders had yet to say at some moment: [`Question::open`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    invocations: u32,
    assumptions: u32,
}

/// So many atoms of slots with several values need no memory of their own.
const MANY_INLINE: usize = 8;

/// What most questions have none of.
#[derive(Default)]
struct Rare {
    needs: RefCell<Vec<SlotId>>,
    invocations: RefCell<Vec<Invocation>>,
}

impl std::fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Question")
            .field("encoding", &self.encoding)
            .field("supplied", &self.supplied)
            .finish_non_exhaustive()
    }
}

impl<'r> Question<'r> {
    /// A question nothing has been asked of yet. `is_sourced` says for which slots an attribute source may be asked;
    /// it may be shorter than there are slots. `encoding` is of these very attributes; one for another program says
    /// nothing.
    #[inline(always)]
    pub fn new(
        slots: &'r Slots,
        attributes: &'r dyn Attributes,
        surroundings: &'r dyn Surroundings,
        is_sourced: &'r [bool],
        encoding: &'r Encoding,
    ) -> Question<'r> {
        Question {
            slots,
            attributes,
            surroundings,
            is_sourced,
            encoding: encoding.is_for(slots).then_some(encoding),
            supplied: Vec::new(),
            numbers: Numbers::new(slots, encoding, !is_sourced.is_empty()),
            many: RefCell::new(SmallVec::new()),
            rare: OnceCell::new(),
            open_invocations: Cell::new(0),
            assumptions: Cell::new(0),
        }
    }

    fn rare(&self) -> &Rare {
        self.rare.get_or_init(Box::default)
    }

    /// Supplies a slot with values from elsewhere than the request; they must be of the slot's data type, and the
    /// slot must not have been read yet. A source that knows nothing supplies an empty slice: then the slot is
    /// absent, and no longer asked for.
    pub fn supply(&mut self, slot: SlotId, values: &'r [Value]) {
        self.supplied.push((slot, values));
        self.numbers.unlock();
        self.numbers.set(slot, UNREAD);
        for (derived, _) in self.slots.all_derived().filter(|(_, derived)| derived.source == slot) {
            self.numbers.set(derived, UNREAD);
        }
    }

    /// The slot's bag; empty where nothing is known.
    #[inline]
    pub fn values(&self, slot: SlotId) -> Cow<'_, [Value]> {
        match self.number(slot) {
            Number::ABSENT => Cow::Borrowed(&[]),
            _ => self.look_up(slot).values(),
        }
    }

    /// The value of a slot that stands for a part of a subscription, if it was looked up ahead where it is kept.
    #[inline]
    pub(crate) fn held(&self, slot: SlotId) -> Option<&Value> {
        self.attributes.at(self.encoding?.place(slot)?)
    }

    /// The value of a slot that stands for a part of a subscription.
    #[inline]
    pub fn part(&self, slot: SlotId) -> Cow<'_, Value> {
        if let Some(value) = self.held(slot) {
            return Cow::Borrowed(value);
        }
        match self.look_up(slot) {
            Reading::One(value, _) => Cow::Borrowed(value),
            Reading::Made(value) => Cow::Owned(value),
            Reading::Absent | Reading::Many(_) => Cow::Borrowed(&UNDEFINED),
        }
    }

    /// What an attribute finder says. One that has not said anything yet is noted as needed and counts as undefined
    /// for now, as a slot does: [`Question::invocations`] says at the end that the answer does not stand.
    ///
    /// # Errors
    /// The finder failed.
    pub fn found(&self, invocation: Invocation) -> Evaluated<Value> {
        if let Some(found) = self.attributes.found(&invocation) {
            return found;
        }
        let mut asked = self.rare().invocations.borrow_mut();
        if !asked.contains(&invocation) {
            asked.push(invocation);
            self.open_invocations.set(asked.len() as u32);
        }
        self.assumptions.set(self.assumptions.get().wrapping_add(1));
        Ok(Value::Undefined)
    }

    /// What stands in for a function gives.
    ///
    /// # Errors
    /// See [`Attributes::stand_in`].
    pub fn stand_in(&self, name: &str, arguments: &[Value]) -> Evaluated<Value> {
        self.attributes.stand_in(name, arguments)
    }

    /// The attribute finders that were asked and have not said anything yet. If there are any, what was decided does
    /// not stand.
    pub fn invocations(&self) -> Vec<Invocation> {
        self.rare.get().map_or_else(Vec::new, |rare| rare.invocations.borrow().clone())
    }

    /// Looks at something that no decision depends on: finders that have not said anything yet do not matter to it.
    pub fn aside<R>(&self, look: impl FnOnce() -> R) -> R {
        let open = self.open();
        let seen = look();
        self.forget_since(open);
        seen
    }

    /// What finders have yet to say, so far.
    #[inline]
    pub(crate) fn open(&self) -> Open {
        Open { invocations: self.open_invocations.get(), assumptions: self.assumptions.get() }
    }

    /// Whether what was found out since then was found out without a finder that has yet to say something.
    #[inline]
    pub(crate) fn is_certain_since(&self, open: Open) -> bool {
        self.assumptions.get() == open.assumptions
    }

    /// Forgets those finders that were noted after that: it turned out that they do not matter.
    #[inline]
    pub(crate) fn forget_since(&self, open: Open) {
        if self.open_invocations.get() > open.invocations {
            self.rare().invocations.borrow_mut().truncate(open.invocations as usize);
            self.open_invocations.set(open.invocations);
        }
        self.assumptions.set(open.assumptions);
    }

    /// The slot's number. A slot that an attribute source might fill is noted as needed and counts as absent for
    /// now: [`Question::needs`] says at the end that the answer does not stand.
    #[inline]
    pub fn number(&self, slot: SlotId) -> Number {
        let number = self.peek(slot);
        if number == Number::UNASKED {
            self.note_need(slot);
            return Number::ABSENT;
        }
        number
    }

    /// The slot's number without asking anybody: [`Number::UNASKED`] where a source might know more. For indexes,
    /// which may look at slots that the plain evaluator would not read.
    #[inline]
    pub fn peek(&self, slot: SlotId) -> Number {
        let number = self.numbers.get(slot);
        if number == UNREAD { self.read(slot) } else { number }
    }

    fn read(&self, slot: SlotId) -> Number {
        if let Some(derived) = self.slots.derived(slot) {
            return self.read_derived(slot, derived);
        }
        if let Some(number) = self.seen(slot) {
            self.numbers.set(slot, number);
            return number;
        }
        let number = match self.look_up(slot) {
            Reading::One(value, digest) => number_of(self.slots, slot, value, digest),
            Reading::Made(value) => number_of(self.slots, slot, &value, None),
            Reading::Absent if self.may_be_asked(slot) => Number::UNASKED,
            Reading::Absent => Number::ABSENT,
            Reading::Many(values) => {
                let number_of = |value: &Value| number_of(self.slots, slot, value, None);
                let atoms = values.iter().filter_map(|value| Some((slot, number_of(value).atom()?)));
                self.many.borrow_mut().extend(atoms);
                Number::MANY
            }
        };
        self.numbers.set(slot, number);
        number
    }

    /// What can be told without looking at values.
    #[inline]
    fn seen(&self, slot: SlotId) -> Option<Number> {
        if self.slots.row_key(slot) == RowKey::NONE || self.supplied(slot).is_some() {
            return None;
        }
        match self.attributes.number(self.slots, slot)? {
            Number::ABSENT if self.may_be_asked(slot) => Some(Number::UNASKED),
            Number::MANY => None,
            number => Some(number),
        }
    }

    #[inline]
    fn look_up(&self, slot: SlotId) -> Reading<'_> {
        match self.supplied(slot) {
            Some(values) => Reading::of(values),
            None => look_up(self.slots, self.attributes, slot),
        }
    }

    #[inline]
    fn supplied(&self, slot: SlotId) -> Option<&'r [Value]> {
        self.supplied.iter().find(|(supplied, _)| *supplied == slot).map(|(_, values)| *values)
    }

    /// Whether a source may know an absent attribute and has not said yet.
    #[inline]
    fn may_be_asked(&self, slot: SlotId) -> bool {
        self.is_sourced.get(slot.0 as usize) == Some(&true) && self.supplied(slot).is_none()
    }

    #[cold]
    fn note_need(&self, slot: SlotId) {
        let mut needs = self.rare().needs.borrow_mut();
        if !needs.contains(&slot) {
            needs.push(slot);
        }
    }

    /// Whether the slot holds the atom's value. `slot` must be the atom's.
    #[inline]
    pub fn holds(&self, slot: SlotId, atom: Atom) -> bool {
        match self.number(slot) {
            Number::MANY => self.many.borrow().contains(&(slot, atom)),
            number => number == Number::of(atom),
        }
    }

    /// Whether the test holds for the atom of any value of a slot that holds several; values that no policy names
    /// have none. The test must not look into the question.
    #[inline]
    pub fn any_of_many(&self, slot: SlotId, mut test: impl FnMut(Atom) -> bool) -> bool {
        self.many.borrow().iter().any(|(other, atom)| *other == slot && test(*atom))
    }

    /// The slots that were read, were not in the request, and that an attribute source has not been asked for.
    /// If there are any, what was decided does not stand: ask, [`Question::supply`], decide again.
    pub fn needs(&self) -> Vec<SlotId> {
        self.rare.get().map_or_else(Vec::new, |rare| rare.needs.borrow().clone())
    }

    /// The content of the request.
    pub fn surroundings(&self) -> &'r dyn Surroundings {
        self.surroundings
    }
}

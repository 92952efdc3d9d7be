//! One question about a program: for every slot its bag of values and the number an index compares.
//!
//! Nothing is encoded ahead. A slot is looked up in the request when it is first read, and policies that are indexed
//! read few: what is touched per slot read is the request's rows ([`Rows`]) and one entry of the table of atoms. Who asks a request more than once, or reads requests
//! where there is time for it, encodes it ([`Encoding`]): then only the slots' numbers are touched.

mod compact;
mod encoding;
mod layout;
mod pieces;
mod raw;
mod rows;
mod slot_reader;

pub use compact::{CompactSubscription, Fields, Word};
pub(crate) use compact::{FieldPosition, Kind};
pub(crate) use encoding::known;
pub use encoding::looked_up;
pub use encoding::{Encoding, UNENCODED};
pub(crate) use layout::{LAYOUTS_MAX, Layout};
pub use raw::{RawSubscription, RawValue, WantsValues};
pub(crate) use rows::RowKey;
pub use rows::{Row, Rows};
pub use slot_reader::{Encoded, Prepared, SlotReader, Unencoded};

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};

use crate::attribute::{AttributeName, NameKey};
use crate::fault::{Evaluated, Fault};
use crate::path::{Path, UNDEFINED};
use crate::program::{Atom, Selector, SlotId, Slots};
use crate::value::Value;
use encoding::{Numbers, UNREAD, look_up, number_of};
use smallvec::SmallVec;
use smol_str::SmolStr;

/// What a slot holds, as one number: a state below [`Number::FIRST_ATOM`], or the atom of its only value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number(pub u32);

impl Number {
    /// The bag is empty.
    pub const ABSENT: Number = Number(0);
    /// One value, which no policy compares this slot with, and which is no [`Number::OTHER_TEXT`].
    pub const OTHER: Number = Number(1);
    /// Several values; see [`Question::any_of_many`].
    pub const MANY: Number = Number(2);
    /// Not in the request, but an attribute source might know it and has not been asked.
    pub const UNASKED: Number = Number(3);
    /// One text, a [`Value::Text`], which no policy compares this slot with.
    pub const OTHER_TEXT: Number = Number(4);
    /// The number of atom 0; others follow.
    pub const FIRST_ATOM: u32 = 5;

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
    /// Whether any node of the second path is one of the first, or lies under one (XACML 3.0, A.3.15).
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
    /// Whether one of the answers above failed because a budget was spent, rather than because of what was asked.
    /// Such a decision is Indeterminate as a whole.
    fn is_spent(&self) -> bool {
        false
    }
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

/// Where a question's attributes come from: the request, in whatever language it is written.
pub trait Attributes {
    /// What is known of an attribute: its values of the name's data type and, where the name asks for one, of its
    /// issuer, in the order given. `key` is the name's [`NameKey`].
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a>;

    /// The number of what a slot holds that stands for an attribute, where that is found without looking at values; `None`
    /// where [`Attributes::read`] is to be asked.
    fn number(&self, slots: &Slots, slot: SlotId) -> Option<Number> {
        let _ = (slots, slot);
        None
    }

    /// What is known of a part of a subscription: [`Reading::Absent`] where it is undefined.
    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        let _ = path;
        Reading::Absent
    }

    /// Where the value of a part of a subscription is found, if it is kept as such: what [`Attributes::at`] takes. Stays
    /// true as long as the subscription does not change.
    fn place(&self, path: &Path) -> Option<u16> {
        let _ = path;
        None
    }

    /// The value at such a place.
    fn at(&self, place: u16) -> Option<&Value> {
        let _ = place;
        None
    }

    /// What an attribute finder says; `None` where it has not said anything yet. By default nobody has anything to
    /// say: undefined.
    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        let _ = invocation;
        Some(Ok(Value::Undefined))
    }

    /// What stands in for a function gives for these arguments. Only in tests of policies does anything.
    ///
    /// # Errors
    /// What stands in fails, or there is nothing that does.
    fn stand_in(&self, name: &str, arguments: &[Value]) -> Evaluated<Value> {
        let _ = arguments;
        Err(Fault::processing(format!("nothing stands in for `{name}`")))
    }
}

/// What a policy asks an attribute finder.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The finder and its attribute: `time.now`.
    pub name: SmolStr,
    /// What the attribute is about; `None` for one of the environment.
    pub entity: Option<Value>,
    /// The arguments, in order.
    pub arguments: Box<[Value]>,
    /// How it is to be asked.
    pub options: FinderOptions,
    /// Whether only its first value counts.
    pub head: bool,
}

impl Invocation {
    /// An attribute of the environment, asked for with default options.
    pub fn environment(name: impl Into<SmolStr>, arguments: impl IntoIterator<Item = Value>) -> Invocation {
        Invocation {
            name: name.into(),
            entity: None,
            arguments: arguments.into_iter().collect(),
            options: FinderOptions::default(),
            head: false,
        }
    }

    /// An attribute of an entity, asked for with default options.
    pub fn entity(
        entity: Value,
        name: impl Into<SmolStr>,
        arguments: impl IntoIterator<Item = Value>,
    ) -> Invocation {
        Invocation { entity: Some(entity), ..Invocation::environment(name, arguments) }
    }
}

/// Two are equal when they ask the same in the same way; values are compared as [`Value::equals`] does.
impl PartialEq for Invocation {
    fn eq(&self, other: &Invocation) -> bool {
        let is_same_entity = match (&self.entity, &other.entity) {
            (Some(one), Some(other)) => one.equals(other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.name == other.name
            && self.head == other.head
            && self.options == other.options
            && is_same_entity
            && self.arguments.len() == other.arguments.len()
            && self.arguments.iter().zip(&other.arguments).all(|(one, other)| one.equals(other))
    }
}

impl Eq for Invocation {}

/// How an attribute finder is to be asked. SAPL's defaults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FinderOptions {
    /// How long to wait for the first value before it counts as undefined.
    pub initial_timeout_ms: u64,
    /// How long after its end a finder is asked again.
    pub poll_interval_ms: u64,
    /// How often a finder that failed is asked again.
    pub retries: u64,
    /// How long to wait before that, at first.
    pub backoff_ms: u64,
    /// Whether not to share what others have already asked.
    pub fresh: bool,
}

impl Default for FinderOptions {
    fn default() -> FinderOptions {
        FinderOptions {
            initial_timeout_ms: 3000,
            poll_interval_ms: 30_000,
            retries: 3,
            backoff_ms: 1000,
            fresh: false,
        }
    }
}

/// What is known of an attribute.
#[derive(Clone, Debug)]
pub enum Reading<'a> {
    /// Nothing.
    Absent,
    /// One value, with its [`Value::content_hash`] where that was computed ahead.
    /// The hash of a value that is not [`Value::is_internable`] does not matter.
    One(&'a Value, Option<u64>),
    /// One value that is not there as such, but was put together.
    Made(Value),
    /// Several values.
    Many(Cow<'a, [Value]>),
}

impl<'a> Reading<'a> {
    /// Of values.
    pub fn of(values: &'a [Value]) -> Reading<'a> {
        match values {
            [] => Reading::Absent,
            [value] => Reading::One(value, None),
            several => Reading::Many(Cow::Borrowed(several)),
        }
    }

    /// The values.
    pub fn values(self) -> Cow<'a, [Value]> {
        match self {
            Reading::Absent => Cow::Borrowed(&[]),
            Reading::One(value, _) => Cow::Borrowed(std::slice::from_ref(value)),
            Reading::Made(value) => Cow::Owned(vec![value]),
            Reading::Many(values) => values,
        }
    }
}

/// A request without attributes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAttributes;

impl Attributes for NoAttributes {
    fn read<'a>(&'a self, _: &AttributeName, _: NameKey) -> Reading<'a> {
        Reading::Absent
    }
}

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

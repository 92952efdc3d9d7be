//! Comparisons by order and with prefixes, as numbers: what lets indexes work with them as with equality.
//!
//! The constants that policies compare one attribute with cut its values in pieces. A slot of its own, made of the
//! attribute's, holds the number of the piece in which the value lies, as other slots hold the number of a value; and
//! "at least 3" is one of some pieces. The expressions stay as they are, and are evaluated as ever: without ranges every
//! decision stays the same.
//!
//! A piece is found by bisecting, once for a question and only if somebody asks for it. What no comparison knows a truth
//! for, such as a text compared with numbers, is as if there was no value, which is an error; policies that would fail
//! are left to the evaluator.

mod bound;
mod find;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::build::Map;
use super::{Atom, Builder, Expr, ExprId, Node, Program, SlotId, Slots};
use crate::function::Lazy;
use crate::question::{Number, Reading};
use crate::value::{DataType, Value};
use bound::{Bound, Scale};
use find::Range;

/// An attribute that fewer elements compare gets no slot: evaluating them takes no longer than finding its piece.
const USES_MIN: usize = 4;

/// How deep conditions are taken apart.
const NESTING_MAX: usize = 8;

/// How many pieces comparisons may come to, for each of them on the average; where they would come to more, only every
/// second bound is used, until they do not. What is lost is how exactly policies are told apart, and no answer.
const PIECES_MEAN_MAX: usize = 64;

/// As many pieces as this are always good.
const PIECES_MIN: usize = 4096;

/// What values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Domain {
    /// Numbers of JSON; comparing anything else is an error.
    Number,
    /// Texts; comparing anything else is an error.
    Text,
    /// Texts of one line; any text of more has to be evaluated, and no comparison holds for anything else.
    Line,
    /// Values of one data type of XACML; there are no others.
    Typed(DataType),
}

/// Which values of a bag are compared.
///
/// Two comparisons of XACML may be satisfied by two values of a bag, one above the one bound, one below the other. One by
/// one they tell little apart, and attributes that are compared by order hardly ever have several values: so those are
/// left to the evaluator then.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bag {
    /// The only one. Where there is none, or several, that is an error, or has to be evaluated.
    Only,
    /// The same, but that nothing holds where there is none.
    Optional,
    /// Any, each by itself.
    Any,
}

/// How the number of a slot is made of another slot's values.
#[derive(Debug)]
pub(crate) struct Derived {
    /// The other slot.
    pub(crate) source: SlotId,
    domain: Domain,
    bag: Bag,
    scale: Scale,
    /// The atom of the first piece, once slots are sealed.
    pub(super) first: Atom,
}

impl Derived {
    /// How many pieces there are.
    pub(super) fn pieces(&self) -> u32 {
        self.scale.pieces()
    }

    /// Whether it depends on one value at most.
    fn is_single(&self) -> bool {
        self.bag != Bag::Any
    }

    /// The number of a reading; `None` of several values, each of which has its own.
    #[inline]
    pub(crate) fn number(&self, reading: &Reading<'_>) -> Option<Number> {
        match reading {
            Reading::Absent if self.domain == Domain::Line || self.bag == Bag::Optional => {
                Some(Number::OTHER)
            }
            Reading::Absent => Some(Number::ABSENT),
            Reading::One(value, _) => Some(self.number_of(value)),
            Reading::Made(value) => Some(self.number_of(value)),
            Reading::Many(_) if self.is_single() => Some(Number::ABSENT),
            Reading::Many(_) => None,
        }
    }

    /// The number of one value.
    pub(crate) fn number_of(&self, value: &Value) -> Number {
        match (self.domain, value) {
            (Domain::Number, Value::Number(_)) | (Domain::Text, Value::Text(_)) => {
                self.numbered(self.scale.piece(value))
            }
            (Domain::Number | Domain::Text, _) => Number::ABSENT,
            (Domain::Line, Value::Text(text)) => self.number_of_text(text),
            (Domain::Line, _) => Number::OTHER,
            (Domain::Typed(_), Value::Double(double)) if double.is_nan() => Number::OTHER,
            (Domain::Typed(data_type), value) if value.data_type() == data_type => {
                self.numbered(self.scale.piece(value))
            }
            (Domain::Typed(_), _) => Number::OTHER,
        }
    }

    /// The same of a whole number of JSON.
    #[inline]
    pub(crate) fn number_of_integer(&self, integer: i64) -> Number {
        match self.domain {
            Domain::Number => self.numbered(self.scale.piece_of_integer(integer)),
            Domain::Line => Number::OTHER,
            Domain::Text | Domain::Typed(_) => Number::ABSENT,
        }
    }

    fn number_of_text(&self, text: &str) -> Number {
        match self.domain {
            Domain::Line if text.contains(LINE_ENDS) => Number::ABSENT,
            Domain::Line | Domain::Text | Domain::Number | Domain::Typed(_) => {
                self.numbered(self.scale.piece_of_text(text))
            }
        }
    }

    /// The same of anything else.
    pub(crate) fn number_of_others(&self) -> Number {
        if self.domain == Domain::Line { Number::OTHER } else { Number::ABSENT }
    }

    #[inline]
    fn numbered(&self, piece: u32) -> Number {
        Number::of(Atom(self.first.0 + piece))
    }
}

/// What `.` does not match in a regular expression of Java.
const LINE_ENDS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// "The slot holds one of these pieces", by the expression that says so.
#[derive(Clone, Copy, Debug)]
pub struct RangeTest {
    /// The slot that holds the piece.
    pub slot: SlotId,
    /// Whether that is all the expression says; else it is what must hold for it to be anything but False.
    pub is_exact: bool,
    /// Whether it is an error where the slot holds nothing, rather than False.
    pub is_error_if_absent: bool,
    /// The first piece, and how many there are.
    first: u32,
    count: u32,
    /// Whether it is the others that are meant.
    is_outside: bool,
}

impl RangeTest {
    /// The atoms of the pieces, sorted.
    pub fn atoms(&self, slots: &Slots) -> Arc<[Atom]> {
        let (first, count) = slots.atoms_of(self.slot);
        (0..count).filter(|piece| self.names(*piece)).map(|piece| Atom(first + piece)).collect()
    }

    /// Whether it holds of what the slot holds; `None` where it has to be evaluated.
    #[inline]
    pub(super) fn truth(&self, slots: &Slots, number: Number) -> Option<bool> {
        match number {
            Number::MANY | Number::UNASKED => None,
            Number::ABSENT if self.is_error_if_absent => None,
            Number::ABSENT | Number::OTHER | Number::OTHER_TEXT => Some(false),
            Number(atom) => {
                let (first, _) = slots.atoms_of(self.slot);
                Some(self.names(atom.wrapping_sub(Number::of(Atom(first)).0)))
            }
        }
    }

    #[inline]
    fn names(&self, piece: u32) -> bool {
        (piece.wrapping_sub(self.first) < self.count) != self.is_outside
    }
}

/// The comparisons of a program.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    tests: Map<ExprId, RangeTest>,
}

/// Comparisons that share a slot.
type Groups = Map<(SlotId, Domain, Bag), Vec<(ExprId, Range)>>;

impl Ranges {
    /// Finds comparisons in targets and conditions, and makes slots for them. Before atoms are grouped.
    pub(super) fn of(builder: &mut Builder) -> Ranges {
        let mut uses: Map<ExprId, usize> = Map::default();
        for node in &builder.nodes {
            let conditions = match node {
                Node::Rule(rule) => [rule.target, rule.condition],
                Node::Set(set) => [set.target, None],
            };
            conditions.into_iter().flatten().for_each(|id| count(builder, id, NESTING_MAX, &mut uses));
        }
        let mut groups = Groups::default();
        let mut used: Vec<(ExprId, usize)> = uses.into_iter().collect();
        // Slots are numbered alike in every process.
        used.sort_unstable();
        let mut order = Vec::new();
        let mut counts: Map<(SlotId, Domain, Bag), usize> = Map::default();
        for (id, uses) in used {
            let Some(range) = find::find(builder, id) else { continue };
            let key = (range.source, range.domain, range.bag);
            *counts.entry(key).or_insert_with(|| {
                order.push(key);
                0
            }) += uses;
            groups.entry(key).or_default().push((id, range));
        }
        let mut ranges = Ranges::default();
        for key in order {
            if counts.get(&key).is_some_and(|uses| *uses >= USES_MIN)
                && let Some(comparisons) = groups.remove(&key)
            {
                ranges.add(&mut builder.slots, key, &comparisons);
            }
        }
        ranges
    }

    pub(super) fn get(&self, id: ExprId) -> Option<&RangeTest> {
        self.tests.get(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Makes the slot of these comparisons.
    fn add(
        &mut self,
        slots: &mut Slots,
        (source, domain, bag): (SlotId, Domain, Bag),
        comparisons: &[(ExprId, Range)],
    ) {
        let bounds = comparisons.iter().flat_map(|(_, range)| range.low.iter().chain(&range.high));
        let mut bounds: Vec<Bound> = bounds.cloned().collect();
        bounds.sort_by(Bound::order);
        bounds.dedup_by(|one, next| one.order(next).is_eq());
        let pieces_max = comparisons.len() * PIECES_MEAN_MAX + PIECES_MIN;
        let (scale, places) = loop {
            let scale = Scale::new(bounds.clone());
            let places: Vec<(u32, u32, bool)> =
                comparisons.iter().map(|(_, range)| range.place(&scale)).collect();
            let pieces = |((first, end, _), (_, range)): (&(u32, u32, bool), &(ExprId, Range))| {
                let inside = (end - first) as usize;
                if range.is_outside { scale.pieces() as usize - inside } else { inside }
            };
            if places.iter().zip(comparisons).map(pieces).sum::<usize>() <= pieces_max {
                break (scale, places);
            }
            bounds = bounds.into_iter().skip(1).step_by(2).collect();
        };
        let slot = slots.derived_slot(Derived { source, domain, bag, scale, first: Atom(0) });
        for ((id, range), (first, end, is_exact)) in comparisons.iter().zip(places) {
            let test = RangeTest {
                slot,
                is_exact: range.is_exact && is_exact,
                is_error_if_absent: range.is_error_if_absent,
                first,
                count: end - first,
                is_outside: range.is_outside,
            };
            self.tests.insert(*id, test);
        }
    }
}

impl Range {
    /// The pieces of a range, from the first to before the last, and whether it is just these. Where it is not, a range
    /// is in these and maybe less; one that is the outside of these maybe less, too.
    fn place(&self, scale: &Scale) -> (u32, u32, bool) {
        let (first, begins) = self.low.as_ref().map_or((0, true), |low| scale.behind(low));
        let (end, ends) =
            self.high.as_ref().map_or_else(|| (scale.pieces(), true), |high| scale.behind(high));
        let first = first + u32::from(!begins && self.is_outside);
        let end = end + u32::from(!ends && !self.is_outside);
        (first, end.max(first), begins && ends)
    }
}

/// Counts the parts of a condition that may be comparisons.
fn count(builder: &Builder, id: ExprId, levels_left: usize, uses: &mut Map<ExprId, usize>) {
    match builder.get(id) {
        Some(Expr::All(parts) | Expr::Any(parts) | Expr::Lazy(Lazy::And | Lazy::Or, parts))
            if levels_left > 0 =>
        {
            parts.iter().for_each(|part| count(builder, *part, levels_left - 1, uses));
        }
        Some(Expr::Structured(_) | Expr::Match(_) | Expr::Call(..)) => *uses.entry(id).or_default() += 1,
        Some(_) | None => {}
    }
}

/// The slots that hold pieces. They come after all others.
#[derive(Debug, Default)]
pub(super) struct DerivedSlots {
    /// The number of the first.
    first: u32,
    all: Vec<Derived>,
}

impl DerivedSlots {
    #[inline]
    fn get(&self, slot: SlotId) -> Option<&Derived> {
        self.all.get(slot.0.wrapping_sub(self.first) as usize)
    }
}

impl Slots {
    /// A slot for pieces. No slots of other kinds come after it.
    fn derived_slot(&mut self, derived: Derived) -> SlotId {
        let slot = self.last_slot(derived.source);
        if self.derived.all.is_empty() {
            self.derived.first = slot.0;
        }
        for piece in 0..derived.pieces() {
            self.last_atom(slot, Value::integer(i64::from(piece)));
        }
        self.derived.all.push(derived);
        slot
    }

    /// Once atoms have their numbers.
    pub(super) fn seal_derived(&mut self) {
        let mut all = std::mem::take(&mut self.derived.all);
        for (slot, derived) in (self.derived.first..).zip(&mut all) {
            derived.first = Atom(self.atoms_of(SlotId(slot)).0);
        }
        self.derived.all = all;
    }

    /// How the number of a slot is made of another's; `None` of most slots.
    #[inline]
    pub(crate) fn derived(&self, slot: SlotId) -> Option<&Derived> {
        self.derived.get(slot)
    }

    /// The slots whose numbers are made of those of others.
    #[inline]
    pub(crate) fn all_derived(&self) -> impl Iterator<Item = (SlotId, &Derived)> {
        (self.derived.first..).map(SlotId).zip(&self.derived.all)
    }

    /// The slot whose values a slot depends on: itself but for those that hold pieces of the values of another.
    pub fn origin(&self, slot: SlotId) -> SlotId {
        self.derived(slot).map_or(slot, |derived| derived.source)
    }

    /// Whether a slot never holds several values, and an element that asks twice asks the same value.
    pub fn is_single(&self, slot: SlotId) -> bool {
        self.derived(slot).is_some_and(Derived::is_single)
    }

    /// Whether an atom is a piece.
    pub(super) fn is_piece(&self, slot: SlotId) -> bool {
        self.derived(slot).is_some()
    }
}

impl Program {
    /// What an expression that compares an attribute by order or with a prefix says of a slot that holds pieces of its
    /// values.
    pub fn range(&self, id: ExprId) -> Option<&RangeTest> {
        self.ranges.get(id)
    }

    /// Whether there are such expressions.
    pub fn has_ranges(&self) -> bool {
        !self.ranges.is_empty()
    }
}

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
mod make;
mod slots;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::map::Map;
use super::{Atom, ExprId, Program, SlotId, Slots};
use crate::question::{Number, Reading};
use crate::value::{DataType, Value};
use bound::Scale;
pub(super) use slots::DerivedSlots;

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

impl Ranges {
    fn get(&self, id: ExprId) -> Option<&RangeTest> {
        self.tests.get(&id)
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
        !self.ranges.tests.is_empty()
    }
}

//! How the pieces that values lie in are numbers of slots, and which slots those are.

use std::sync::Arc;

use super::bound::Scale;
use crate::program::{Atom, SlotId};
use crate::question::{Number, Reading};
use crate::value::{DataType, Value};

/// What values are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Domain {
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
pub(super) enum Bag {
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
    pub(super) domain: Domain,
    pub(super) bag: Bag,
    pub(super) scale: Scale,
    /// The atom of the first piece, once slots are sealed.
    pub(super) first: Atom,
}

impl Derived {
    /// How many pieces there are.
    pub(super) fn pieces(&self) -> u32 {
        self.scale.pieces()
    }

    /// Whether it depends on one value at most.
    pub(super) fn is_single(&self) -> bool {
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

/// The slots that hold pieces. They follow one another.
#[derive(Clone, Debug, Default)]
pub(in crate::program) struct DerivedSlots {
    /// The number of the first.
    pub(super) first: u32,
    pub(super) all: Vec<Arc<Derived>>,
}

impl DerivedSlots {
    #[inline]
    pub(super) fn get(&self, slot: SlotId) -> Option<&Derived> {
        self.all.get(slot.0.wrapping_sub(self.first) as usize).map(Arc::as_ref)
    }
}

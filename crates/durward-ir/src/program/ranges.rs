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
mod derived;
mod find;
mod make;
mod slots;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::map::Map;
use super::{Atom, ExprId, SlotId, Slots};
use crate::question::Number;
pub(crate) use derived::Derived;
pub(super) use derived::DerivedSlots;

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
    pub(super) fn get(&self, id: ExprId) -> Option<&RangeTest> {
        self.tests.get(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }
}

//! On how few parts of the subscription a condition depends, and which of their values make a difference.
//!
//! A part that is only compared with constants, or looked up in constant objects, makes no difference beyond which of
//! them it is: the constants become atoms of its slot, and all other texts are alike.

mod find;

use smallvec::SmallVec;

use super::map::Map;
use super::{ExprId, SlotId};
use crate::value::Value;

/// Conditions that depend on more parts of a subscription have no tables.
pub(super) const TABLE_SLOTS_MAX: usize = 3;

/// The parts of the subscription that an expression depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Sorted; with each whether all texts that are no atoms of it are alike.
    slots: SmallVec<[(SlotId, bool); TABLE_SLOTS_MAX]>,
    /// How many expressions evaluating it meets, each as often as it is met.
    size: u64,
}

impl Shape {
    pub(super) fn slots(&self) -> impl Iterator<Item = (SlotId, bool)> {
        self.slots.iter().copied()
    }

    /// What evaluating it so many times comes to, in expressions met.
    pub(super) fn work(&self, times: usize) -> u64 {
        self.size.saturating_mul(times as u64)
    }

    fn of(slot: SlotId, is_opaque: bool) -> Shape {
        Shape { slots: SmallVec::from_slice(&[(slot, is_opaque)]), size: 1 }
    }

    /// What depends on either. `None` where that is too much.
    pub(super) fn and(mut self, other: Shape) -> Option<Shape> {
        self.size = self.size.saturating_add(other.size).saturating_add(1);
        for (slot, is_opaque) in other.slots {
            match self.slots.iter_mut().find(|(known, _)| *known == slot) {
                Some((_, both)) => *both &= is_opaque,
                None => self.slots.push((slot, is_opaque)),
            }
        }
        self.slots.sort_unstable();
        (self.slots.len() <= TABLE_SLOTS_MAX).then_some(self)
    }
}

/// The shapes of a program's conditions and their parts.
#[derive(Debug)]
pub(super) struct Shapes {
    by_expr: Map<ExprId, Shape>,
    conditions: Vec<ExprId>,
    unnamed: Value,
}

impl Shapes {
    pub(super) fn conditions(&self) -> &[ExprId] {
        &self.conditions
    }

    /// `None` where too little is known of an expression.
    pub(super) fn get(&self, id: ExprId) -> Option<&Shape> {
        self.by_expr.get(&id)
    }

    /// A text that no policy names.
    pub(super) fn unnamed(&self) -> &Value {
        &self.unnamed
    }
}

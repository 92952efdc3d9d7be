//! Slots that hold pieces of other slots' values.

use std::sync::Arc;

use super::derived::Derived;
use crate::program::{Atom, SlotId, Slots};
use crate::value::Value;

impl Slots {
    /// A slot for pieces. Slots of other kinds come after it only in programs that extend this one, and there are no more of
    /// these then.
    pub(super) fn derived_slot(&mut self, derived: Derived) -> SlotId {
        let slot = self.last_slot(derived.source);
        if self.derived.all.is_empty() {
            self.derived.first = slot.0;
        }
        for piece in 0..derived.pieces() {
            self.last_atom(slot, Value::integer(i64::from(piece)));
        }
        self.derived.all.push(Arc::new(derived));
        slot
    }

    /// Once atoms have their numbers.
    pub(in crate::program) fn seal_derived(&mut self) {
        let mut all = std::mem::take(&mut self.derived.all);
        for (slot, derived) in (self.derived.first..).zip(&mut all) {
            if let Some(derived) = Arc::get_mut(derived) {
                derived.first = Atom(self.atoms_of(SlotId(slot)).0);
            }
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
        (self.derived.first..).map(SlotId).zip(self.derived.all.iter().map(Arc::as_ref))
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
    pub(in crate::program) fn is_piece(&self, slot: SlotId) -> bool {
        self.derived(slot).is_some()
    }
}

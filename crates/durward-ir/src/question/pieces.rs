//! Slots that hold pieces of other slots' values, looked up as they are asked for.

use super::{Number, Question, Reading};
use crate::program::{Derived, SlotId};

impl Question<'_> {
    /// The number of a slot that holds pieces of another's values.
    pub(super) fn read_derived(&self, slot: SlotId, derived: &Derived) -> Number {
        let reading = self.look_up(derived.source);
        let number = match derived.number(&reading) {
            Some(_) if matches!(reading, Reading::Absent) && self.may_be_asked(derived.source) => {
                Number::UNASKED
            }
            Some(number) => number,
            None => {
                let values = reading.values();
                let atoms = values.iter().filter_map(|value| Some((slot, derived.number_of(value).atom()?)));
                self.many.borrow_mut().extend(atoms);
                Number::MANY
            }
        };
        self.numbers.set(slot, number);
        number
    }
}

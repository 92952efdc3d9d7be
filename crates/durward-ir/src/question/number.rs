//! What slots hold as numbers: what indexes and tables compare.

use crate::program::Atom;

/// What a slot holds, as one number: a state below [`Number::FIRST_ATOM`], or the atom of its only value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number(pub u32);

impl Number {
    /// The bag is empty.
    pub const ABSENT: Number = Number(0);
    /// One value, which no policy compares this slot with, and which is no [`Number::OTHER_TEXT`].
    pub const OTHER: Number = Number(1);
    /// Several values; see [`Question::any_of_many`](super::Question::any_of_many).
    pub const MANY: Number = Number(2);
    /// Not in the request, but an attribute source might know it and has not been asked.
    pub const UNASKED: Number = Number(3);
    /// One text, a [`Value::Text`](crate::value::Value::Text), which no policy compares this slot with.
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

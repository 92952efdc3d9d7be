//! What a rule is for, and sets of that: the words that policies and the algorithms that combine them share.

/// What a rule is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effect {
    /// To allow.
    Permit,
    /// To refuse.
    Deny,
    /// To hold the matter until somebody else has decided it (SAPL).
    Suspend,
}

/// The effects an erroneous vote might have had: the {D}, {P} and {DP} of an extended Indeterminate
/// (XACML 3.0, section 7.10), and SAPL's outcome with Suspend besides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Effects(u8);

impl Effects {
    /// No effect at all.
    pub const NONE: Effects = Effects(0);
    /// Only Deny: {D}.
    pub const DENY: Effects = Effects(1);
    /// Only Permit: {P}.
    pub const PERMIT: Effects = Effects(2);
    /// Either: {DP}.
    pub const DENY_OR_PERMIT: Effects = Effects(3);
    /// Only Suspend.
    pub const SUSPEND: Effects = Effects(4);

    /// Any of the three.
    pub const ALL: Effects = Effects(7);

    /// The set with just this effect.
    pub const fn only(effect: Effect) -> Effects {
        match effect {
            Effect::Deny => Effects::DENY,
            Effect::Permit => Effects::PERMIT,
            Effect::Suspend => Effects::SUSPEND,
        }
    }

    /// A number below 8 for each set.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set of such a number; what is above 7 does not count.
    pub const fn of_bits(bits: u8) -> Effects {
        Effects(bits & 0b111)
    }

    /// Whether there is more than one.
    pub const fn are_several(self) -> bool {
        self.0.count_ones() > 1
    }

    /// Whether `effect` is in the set.
    pub const fn contains(self, effect: Effect) -> bool {
        self.0 & Effects::only(effect).0 != 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Effects) -> Effects {
        Effects(self.0 | other.0)
    }
}

//! Formulas between two bounds, and the three of an expression.

use crate::formula::{F, Formulas};

/// What is known of a formula that cannot be written down: what holds only where it does, and what holds wherever it does. The
/// two are the same one where it can be written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interval {
    /// Where this holds, so does the formula.
    pub(crate) must: F,
    /// Where this does not hold, the formula does not either.
    pub(crate) may: F,
}

impl Interval {
    pub(crate) const FALSE: Interval = Interval::exact(F::FALSE);
    pub(crate) const TRUE: Interval = Interval::exact(F::TRUE);
    /// Nothing is known.
    pub(crate) const UNKNOWN: Interval = Interval { must: F::FALSE, may: F::TRUE };

    /// This very formula.
    pub(crate) const fn exact(f: F) -> Interval {
        Interval { must: f, may: f }
    }

    pub(crate) fn is_exact(self) -> bool {
        self.must == self.may
    }

    /// Whether it never holds.
    pub(crate) fn is_never(self) -> bool {
        self.may == F::FALSE
    }

    #[must_use]
    pub(crate) fn negated(self) -> Interval {
        Interval { must: self.may.negated(), may: self.must.negated() }
    }
}

impl Formulas {
    /// All of these.
    pub(crate) fn every(&mut self, parts: &[Interval]) -> Interval {
        let must = self.all(parts.iter().map(|part| part.must));
        if parts.iter().all(|part| part.is_exact()) {
            return Interval::exact(must);
        }
        Interval { must, may: self.all(parts.iter().map(|part| part.may)) }
    }

    /// Any of these.
    pub(crate) fn some(&mut self, parts: &[Interval]) -> Interval {
        let must = self.any(parts.iter().map(|part| part.must));
        if parts.iter().all(|part| part.is_exact()) {
            return Interval::exact(must);
        }
        Interval { must, may: self.any(parts.iter().map(|part| part.may)) }
    }
}

/// When an expression is true, when it is false, and when it is an error: of every row exactly one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Truth {
    pub(crate) yes: Interval,
    pub(crate) no: Interval,
    pub(crate) error: Interval,
}

impl Truth {
    pub(crate) const ERROR: Truth =
        Truth { yes: Interval::FALSE, no: Interval::FALSE, error: Interval::TRUE };
    /// Any of the three.
    pub(crate) const UNKNOWN: Truth =
        Truth { yes: Interval::UNKNOWN, no: Interval::UNKNOWN, error: Interval::UNKNOWN };
    /// True or false, and no error.
    pub(crate) const EITHER: Truth =
        Truth { yes: Interval::UNKNOWN, no: Interval::UNKNOWN, error: Interval::FALSE };

    pub(crate) fn constant(truth: bool) -> Truth {
        Truth::of(F::constant(truth))
    }

    /// True where the formula holds, and else false.
    pub(crate) fn of(f: F) -> Truth {
        Truth { yes: Interval::exact(f), no: Interval::exact(f.negated()), error: Interval::FALSE }
    }

    /// The same where it could be said; else true or false.
    pub(crate) fn of_some(f: Option<F>) -> Truth {
        f.map_or(Truth::EITHER, Truth::of)
    }

    #[must_use]
    pub(crate) fn negated(self) -> Truth {
        Truth { yes: self.no, no: self.yes, error: self.error }
    }

    pub(crate) fn is_exact(self) -> bool {
        self.yes.is_exact() && self.no.is_exact() && self.error.is_exact()
    }
}

impl Formulas {
    /// Whether any part is `decisive` (all of them are not, for the other one), where an error counts only if nothing decides.
    pub(crate) fn kleene(&mut self, parts: &[Truth], decisive: bool) -> Truth {
        let decides = |part: &Truth| if decisive { part.yes } else { part.no };
        let lets = |part: &Truth| if decisive { part.no } else { part.yes };
        let deciding: Vec<Interval> = parts.iter().map(decides).collect();
        let decided = self.some(&deciding);
        let letting: Vec<Interval> = parts.iter().map(lets).collect();
        let passed = self.every(&letting);
        let failing: Vec<Interval> = parts.iter().map(|part| part.error).collect();
        let failing = self.some(&failing);
        let error = if failing.is_never() {
            Interval::FALSE
        } else {
            let mut open: Vec<Interval> = deciding.iter().map(|part| part.negated()).collect();
            open.push(failing);
            self.every(&open)
        };
        match decisive {
            true => Truth { yes: decided, no: passed, error },
            false => Truth { yes: passed, no: decided, error },
        }
    }

    /// Of cases that exclude each other, and one of which holds.
    pub(crate) fn by_cases(&mut self, cases: &[(F, Truth)]) -> Truth {
        let mut choose = |of: fn(&Truth) -> Interval| {
            let parts: Vec<Interval> = cases
                .iter()
                .map(|(guard, truth)| self.every(&[Interval::exact(*guard), of(truth)]))
                .collect();
            self.some(&parts)
        };
        Truth {
            yes: choose(|truth| truth.yes),
            no: choose(|truth| truth.no),
            error: choose(|truth| truth.error),
        }
    }
}

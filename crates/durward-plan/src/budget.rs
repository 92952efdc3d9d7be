//! What one plan may cost. It is counted and not timed, so the same question costs the same on every machine.

use std::cell::Cell;
use std::rc::Rc;

use durward_ir::value::Value;

/// How many steps a plan may take: formulas that are made and compared, values and obligations that are looked at, and what
/// does not depend on the row. Most sets of ten thousand policies about one type of resource take less. A plan that takes more
/// permits no row and excludes none: what a caller sends must not keep a thread busy.
pub(crate) const PLAN_STEPS_MAX: u64 = 5_000_000;

/// What a step of the evaluator is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Evaluating {
    /// It compares.
    Comparisons,
    /// It may call functions of libraries, which do more with each value.
    Calls,
}

impl Evaluating {
    /// A step takes as long as so many of a plan.
    const fn steps(self) -> u64 {
        match self {
            Evaluating::Comparisons => 4,
            Evaluating::Calls => 32,
        }
    }
}

/// So much text is read in one step, in bytes.
const TEXT_PER_STEP: usize = 32;

/// The steps that are left. Clones are handles to the same.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Rc<Cell<u64>>);

impl Budget {
    /// Of a whole plan.
    pub(crate) fn new() -> Budget {
        Budget(Rc::new(Cell::new(PLAN_STEPS_MAX)))
    }

    /// Counts so many steps. False once there were none left: whatever is made then is of no use, and may be anything.
    pub(crate) fn spend(&self, steps: u64) -> bool {
        self.0.set(self.0.get().saturating_sub(steps));
        !self.is_spent()
    }

    /// The same, for as many steps as there are items.
    pub(crate) fn spend_each(&self, items: usize) -> bool {
        self.spend(items as u64)
    }

    /// Counts what walking over a value takes.
    pub(crate) fn spend_on(&self, value: &Value) -> bool {
        self.spend(value_steps(value))
    }

    /// Counts steps that the evaluator took.
    pub(crate) fn spend_evaluated(&self, evaluating: Evaluating, steps: u64) -> bool {
        self.spend(steps.saturating_mul(evaluating.steps()))
    }

    /// How many steps the evaluator may take.
    pub(crate) fn left_to_evaluate(&self, evaluating: Evaluating) -> u64 {
        self.0.get() / evaluating.steps()
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

/// How many steps walking over a value takes: one for each value inside, and what its texts take.
pub(crate) fn value_steps(value: &Value) -> u64 {
    if let Some(values) = value.as_array() {
        values.iter().fold(1, |sum, value| sum.saturating_add(value_steps(value)))
    } else if let Some(object) = value.as_object() {
        object.values().fold(1, |sum: u64, value| sum.saturating_add(1 + value_steps(value)))
    } else {
        1 + value.as_text().map_or(0, text_steps)
    }
}

/// How many steps reading a text takes.
pub(crate) fn text_steps(text: &str) -> u64 {
    (text.len() / TEXT_PER_STEP) as u64
}

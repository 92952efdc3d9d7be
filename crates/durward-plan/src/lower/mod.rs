//! Expressions into formulas: what the plain evaluator says of every row at once.
//!
//! What does not depend on a column is evaluated. What does has *cases*: formulas of which exactly one holds, each with what
//! the expression is then. An expression that is true or false has a [`Truth`].

mod atoms;
mod depends;
mod duty;
mod function;
mod operand;
mod structured;
mod sym;
mod tests;
mod truth;

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use durward_ir::evaluate::{Evaluator, Everything, ListPolicies, Unwatched, forget_walked};
use durward_ir::fault::Evaluated;
use durward_ir::program::{ExprId, Program};
use durward_ir::question::Question;
use durward_ir::value::{Operand, Value};

use crate::budget::Evaluating;
use crate::columns::Columns;
use crate::formula::{F, Formulas};
use crate::interval::Truth;
pub(crate) use depends::SlotUse;
pub(crate) use duty::DutyCase;
pub(crate) use sym::{Sym, SymOperand};

/// What evaluating an expression, or looking at its parts, costs beside the steps that the evaluator counts.
const EXPRESSION_STEPS: u64 = 8;

/// An expression has up to so many cases; what has more is not lowered.
const CASES_MAX: usize = 64;

/// What an expression is in which case. INVARIANT: of every row exactly one of the formulas holds.
pub(crate) type Cases<T> = Rc<[(F, T)]>;

/// Lowers expressions of one program, for one question.
pub(crate) struct Folding<'a> {
    pub(crate) formulas: Formulas,
    pub(crate) program: &'a Program,
    question: &'a Question<'a>,
    columns: &'a Columns,
    /// By slot.
    slots: Vec<SlotUse>,
    depends: HashMap<ExprId, bool>,
    calls: HashMap<ExprId, bool>,
    truths: HashMap<ExprId, Truth>,
    values: HashMap<ExprId, Cases<Sym>>,
    operands: HashMap<ExprId, Cases<SymOperand>>,
    /// What was not lowered.
    pub(crate) reasons: BTreeSet<String>,
}

impl<'a> Folding<'a> {
    /// Of a question whose part that rows stand for is `fixed`, an object of what is known of all rows, or undefined.
    pub(crate) fn new(
        program: &'a Program,
        question: &'a Question<'a>,
        columns: &'a Columns,
        fixed: &Value,
    ) -> Folding<'a> {
        forget_walked();
        let fixed = |key: &str| fixed.as_object().is_some_and(|fixed| fixed.contains_key(key));
        let slots = SlotUse::of_all(&program.slots, columns, &fixed);
        Folding {
            formulas: Formulas::new(),
            program,
            question,
            columns,
            slots,
            depends: HashMap::new(),
            calls: HashMap::new(),
            truths: HashMap::new(),
            values: HashMap::new(),
            operands: HashMap::new(),
            reasons: BTreeSet::new(),
        }
    }

    /// Notes what is not lowered.
    fn note(&mut self, reason: impl Into<String>) {
        if self.reasons.len() < 100 {
            self.reasons.insert(reason.into());
        }
    }

    /// Evaluates an expression that depends on no column. `None` where that takes too long.
    fn evaluated<T>(
        &mut self,
        id: ExprId,
        evaluate: impl FnOnce(&Evaluator<'_, Everything, Unwatched>) -> Evaluated<T>,
    ) -> Option<Evaluated<T>> {
        let evaluating = if self.calls(id) { Evaluating::Calls } else { Evaluating::Comparisons };
        let budget = &self.formulas.budget;
        let evaluator =
            Evaluator::new(self.program, self.question, &Everything, &Unwatched, ListPolicies::No)
                .within(budget.left_to_evaluate(evaluating));
        let result = evaluate(&evaluator);
        if !budget.spend_evaluated(evaluating, evaluator.steps()) {
            return None;
        }
        if evaluator.is_spent() || self.question.surroundings().is_spent() {
            self.note("what does not depend on the row takes too many steps");
            return None;
        }
        Some(result)
    }

    /// Counts what looking at an expression takes. False once nothing is to be made any more.
    fn begin_expression(&self) -> bool {
        self.formulas.budget.spend(EXPRESSION_STEPS)
    }

    fn evaluated_operand(&mut self, id: ExprId) -> Option<Evaluated<Operand<'static>>> {
        self.evaluated(id, |evaluator| evaluator.operand(id).map(Operand::into_owned))
    }
}

//! Obligations, advice and transformed resources, case by case.

use durward_ir::combine::{Assignment, Duties, Duty, NamedDuty};
use durward_ir::program::{AssignmentExpr, DutyBody, DutyExpr, DutyKind, Effect, ExprId};
use durward_ir::value::{Operand, Value};

use super::{Cases, Folding, Sym, SymOperand};
use crate::formula::F;

/// So many cases of what goes along with one element are told apart.
const DUTY_CASES_MAX: usize = 16;

/// What goes along with an effect.
#[derive(Clone, Debug)]
pub(crate) enum DutyCase {
    /// An error.
    Failed,
    /// The same for every row.
    Known(Duties),
    /// Something that depends on the row.
    Varies {
        /// Whether it may be an error.
        may_fail: bool,
        /// Whether a resource may be among it.
        has_resource: bool,
    },
}

impl DutyCase {
    /// How many obligations and advice there are, as far as that is known.
    fn count(&self) -> usize {
        match self {
            DutyCase::Known(duties) => duties.obligations.len() + duties.advice.len(),
            DutyCase::Failed | DutyCase::Varies { .. } => 1,
        }
    }

    fn then(self, next: DutyCase) -> DutyCase {
        match (self, next) {
            (DutyCase::Failed, _) => DutyCase::Failed,
            (DutyCase::Known(mut before), DutyCase::Known(next)) => {
                before.append(next);
                DutyCase::Known(before)
            }
            (DutyCase::Known(_), DutyCase::Failed) => DutyCase::Failed,
            (DutyCase::Known(known), DutyCase::Varies { may_fail, has_resource })
            | (DutyCase::Varies { may_fail, has_resource }, DutyCase::Known(known)) => {
                DutyCase::Varies { may_fail, has_resource: has_resource || known.resource.is_some() }
            }
            (DutyCase::Varies { .. }, DutyCase::Failed) => DutyCase::Failed,
            (
                DutyCase::Varies { may_fail: a, has_resource: a_resource },
                DutyCase::Varies { may_fail: b, has_resource: b_resource },
            ) => DutyCase::Varies { may_fail: a || b, has_resource: a_resource || b_resource },
        }
    }
}

impl Folding<'_> {
    /// What goes along with the effect, in the order of the policy; then what stands for the resource.
    pub(crate) fn duties(
        &mut self,
        effect: Effect,
        duties: &[DutyExpr],
        transform: Option<ExprId>,
    ) -> Vec<(F, DutyCase)> {
        let mut cases = vec![(F::TRUE, DutyCase::Known(Duties::default()))];
        for duty in duties.iter().filter(|duty| duty.on == effect) {
            let next = self.duty(duty);
            cases = self.followed(cases, &next);
        }
        if let Some(transform) = transform {
            let next = self.transformed(transform);
            cases = self.followed(cases, &next);
        }
        cases
    }

    fn followed(&mut self, cases: Vec<(F, DutyCase)>, next: &[(F, DutyCase)]) -> Vec<(F, DutyCase)> {
        let mut followed = Vec::with_capacity(cases.len() * next.len());
        for (guard, before) in &cases {
            for (other, next) in next {
                self.formulas.budget.spend_each(before.count() + next.count());
                let guard = self.formulas.all([*guard, *other]);
                if guard != F::FALSE {
                    followed.push((guard, before.clone().then(next.clone())));
                }
            }
        }
        if followed.len() > DUTY_CASES_MAX {
            self.note("what goes along with a decision has too many cases");
            return vec![(F::TRUE, DutyCase::Varies { may_fail: true, has_resource: true })];
        }
        followed
    }

    fn duty(&mut self, duty: &DutyExpr) -> Vec<(F, DutyCase)> {
        let of = |duty_done: Duty| {
            let mut duties = Duties::default();
            match duty.kind {
                DutyKind::Obligation => duties.obligations.push(duty_done),
                DutyKind::Advice => duties.advice.push(duty_done),
            }
            DutyCase::Known(duties)
        };
        match &duty.body {
            DutyBody::Plain(id) => {
                let known = |value: &Value| match value.is_undefined() {
                    true => DutyCase::Known(Duties::default()),
                    false => of(Duty::Plain(value.clone())),
                };
                let cases = self.plain(*id);
                cases.iter().map(|(guard, sym)| (*guard, case_of(sym, &known, false))).collect()
            }
            DutyBody::Named { id, assignments } => {
                let values: Vec<Cases<SymOperand>> =
                    assignments.iter().map(|assignment| self.operand(assignment.value)).collect();
                let Some(combinations) = self.combinations(&values) else {
                    return vec![(F::TRUE, DutyCase::Varies { may_fail: true, has_resource: false })];
                };
                let named =
                    |assignments| of(Duty::Named(NamedDuty { id: id.clone(), on: duty.on, assignments }));
                let mut cases = Vec::with_capacity(combinations.len());
                for (guard, operands) in combinations {
                    let is_left =
                        operands.iter().all(|operand| self.spend_on_operands(std::slice::from_ref(*operand)));
                    cases.push(match is_left {
                        true => (guard, named_case(assignments, &operands, &named)),
                        false => (guard, DutyCase::Varies { may_fail: true, has_resource: false }),
                    });
                }
                cases
            }
        }
    }

    fn transformed(&mut self, id: ExprId) -> Vec<(F, DutyCase)> {
        let known = |value: &Value| {
            let resource = (!value.is_undefined()).then(|| value.clone());
            DutyCase::Known(Duties { resource, ..Duties::default() })
        };
        let cases = self.plain(id);
        cases.iter().map(|(guard, sym)| (*guard, case_of(sym, &known, true))).collect()
    }

    /// One value, in whatever language it is written.
    fn plain(&mut self, id: ExprId) -> Vec<(F, Sym)> {
        let cases = self.operand(id);
        let one = |operand: &SymOperand| match operand {
            SymOperand::One(sym) => sym.clone(),
            SymOperand::Bag(_) | SymOperand::ManyBag(..) | SymOperand::Failed => Sym::Failed,
            SymOperand::Opaque => Sym::Opaque,
        };
        cases.iter().map(|(guard, operand)| (*guard, one(operand))).collect()
    }
}

fn case_of(sym: &Sym, known: &dyn Fn(&Value) -> DutyCase, has_resource: bool) -> DutyCase {
    match sym {
        Sym::Known(value) => known(value),
        Sym::Column(..) | Sym::Many(_) | Sym::Object(_) | Sym::Built(_) => {
            DutyCase::Varies { may_fail: false, has_resource }
        }
        Sym::Failed => DutyCase::Failed,
        Sym::Opaque => DutyCase::Varies { may_fail: true, has_resource },
    }
}

fn named_case(
    assignments: &[AssignmentExpr],
    operands: &[&SymOperand],
    named: &dyn Fn(Vec<Assignment>) -> DutyCase,
) -> DutyCase {
    if operands.iter().any(|operand| matches!(operand, SymOperand::Failed)) {
        return DutyCase::Failed;
    }
    let mut done = Vec::with_capacity(assignments.len());
    for (assignment, operand) in assignments.iter().zip(operands) {
        let values = match operand.known() {
            Some(Operand::One(value)) => vec![value.into_owned()],
            Some(Operand::Bag(values)) => values.into_owned(),
            None => {
                let may_fail = operands.iter().any(|operand| matches!(operand, SymOperand::Opaque));
                return DutyCase::Varies { may_fail, has_resource: false };
            }
        };
        done.extend(values.into_iter().map(|value| Assignment {
            id: assignment.id.clone(),
            category: assignment.category.clone(),
            issuer: assignment.issuer.clone(),
            value,
        }));
    }
    named(done)
}

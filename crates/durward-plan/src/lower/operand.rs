//! Expressions of XACML: values and bags, case by case.

use std::rc::Rc;

use durward_ir::function::{Body, Function, HigherOrder};
use durward_ir::program::{Expr, ExprId, SlotId};
use durward_ir::value::{DataType, Operand, Value};

use super::depends::SlotUse;
use super::{Cases, Folding, Sym, SymOperand};
use crate::columns::{ColumnId, ColumnType, Scalar};
use crate::formula::{F, Test};
use crate::interval::Truth;

/// Functions over functions are applied to up to so many combinations of values.
const APPLIED_MAX: usize = 1000;

impl Folding<'_> {
    /// As the evaluator's `operand`.
    pub(super) fn operand(&mut self, id: ExprId) -> Cases<SymOperand> {
        if let Some(known) = self.operands.get(&id) {
            return Rc::clone(known);
        }
        if !self.begin_expression() {
            return [(F::TRUE, SymOperand::Opaque)].into();
        }
        let cases: Cases<SymOperand> = self.new_operand(id).into();
        self.operands.insert(id, Rc::clone(&cases));
        cases
    }

    fn new_operand(&mut self, id: ExprId) -> Vec<(F, SymOperand)> {
        if !self.depends(id) {
            let operand = match self.evaluated_operand(id) {
                Some(Ok(operand)) => operand.into(),
                Some(Err(_)) => SymOperand::Failed,
                None => SymOperand::Opaque,
            };
            return vec![(F::TRUE, operand)];
        }
        let program = self.program;
        match program.expr(id) {
            Expr::Attribute { slot, must_be_present } => self.attribute(*slot, *must_be_present),
            Expr::Call(function, arguments) => self.call(function, arguments),
            Expr::HigherOrder(HigherOrder::Map, function, _) => {
                self.note(format!("`map` of `{}`", function.short_name()));
                vec![(F::TRUE, SymOperand::Opaque)]
            }
            Expr::HigherOrder(kind, function, arguments) => {
                let truth = self.higher_order(*kind, function, arguments);
                self.truth_operand(truth)
            }
            Expr::All(_)
            | Expr::Any(_)
            | Expr::Match(_)
            | Expr::Lazy(..)
            | Expr::Matches(..)
            | Expr::IsOneOf(..) => {
                let truth = self.truth(id);
                self.truth_operand(truth)
            }
            Expr::Structured(_) | Expr::Part(_) | Expr::Failed(_) => {
                let cases = self.value(id);
                let one = |(guard, sym): &(F, Sym)| match sym {
                    Sym::Failed => (*guard, SymOperand::Failed),
                    Sym::Opaque => (*guard, SymOperand::Opaque),
                    sym @ (Sym::Known(_)
                    | Sym::Column(..)
                    | Sym::Many(_)
                    | Sym::Object(_)
                    | Sym::Built(_)) => (*guard, SymOperand::One(sym.clone())),
                };
                cases.iter().map(one).collect()
            }
            Expr::Constant(_) | Expr::Selector(_) | Expr::Contextual(..) => {
                self.note("the content of requests is looked into");
                vec![(F::TRUE, SymOperand::Opaque)]
            }
        }
    }

    fn truth_operand(&mut self, truth: Truth) -> Vec<(F, SymOperand)> {
        let operand = |sym: Option<Sym>| match sym {
            Some(Sym::Failed) => SymOperand::Failed,
            Some(sym) => SymOperand::One(sym),
            None => SymOperand::Opaque,
        };
        self.cases_of_truth(truth).into_iter().map(|(guard, sym)| (guard, operand(sym))).collect()
    }

    /// The truth of an expression that is one value.
    pub(super) fn operand_truth(&mut self, id: ExprId) -> Truth {
        let program = self.program;
        let expr = program.expr(id);
        if let Expr::Call(function, arguments) = expr {
            return self.call_truth(function, arguments);
        }
        if let Expr::HigherOrder(kind, function, arguments) = expr
            && *kind != HigherOrder::Map
        {
            return self.higher_order(*kind, function, arguments);
        }
        let cases = self.operand(id);
        let truth = |operand: &SymOperand| match operand {
            SymOperand::One(sym) => super::truth::boolean(sym),
            SymOperand::Bag(_) | SymOperand::ManyBag(..) | SymOperand::Failed => Truth::ERROR,
            SymOperand::Opaque => Truth::UNKNOWN,
        };
        let cases: Vec<(F, Truth)> = cases.iter().map(|(guard, case)| (*guard, truth(case))).collect();
        self.formulas.by_cases(&cases)
    }

    /// The bag of an attribute (7.3.5), read from a subscription.
    fn attribute(&mut self, slot: SlotId, must_be_present: bool) -> Vec<(F, SymOperand)> {
        let data_type = self.program.slots.name(slot).data_type;
        let id = match self.slot_use(slot) {
            SlotUse::Column(id) => id,
            SlotUse::Known | SlotUse::Inside(_) | SlotUse::Object(_) | SlotUse::Unknown => {
                let name = self.program.slots.name(slot).id.clone();
                self.note(format!("`{name}` is read, which no column stands for"));
                return vec![(F::TRUE, SymOperand::Opaque)];
            }
        };
        let absent = if must_be_present { SymOperand::Failed } else { SymOperand::Bag(Vec::new()) };
        let Some(kind) = self.kind(id) else { return vec![(F::TRUE, SymOperand::Opaque)] };
        let is_many = self.columns.get(id).is_some_and(|column| column.many);
        let fits = match (kind, data_type) {
            (ColumnType::Text, DataType::Text)
            | (ColumnType::Boolean, DataType::Boolean)
            | (ColumnType::Integer, DataType::Integer | DataType::Double)
            | (ColumnType::Decimal | ColumnType::Double, DataType::Double) => true,
            // A text is of whatever type it can be read as; some decimals are whole.
            (ColumnType::Text, _) | (ColumnType::Decimal | ColumnType::Double, DataType::Integer) => {
                self.note(format!("a column is read as {data_type}"));
                return vec![(F::TRUE, SymOperand::Opaque)];
            }
            (ColumnType::Boolean | ColumnType::Integer | ColumnType::Decimal | ColumnType::Double, _) => {
                false
            }
        };
        if !fits {
            return vec![(F::TRUE, absent)];
        }
        if is_many && kind == ColumnType::Integer && data_type == DataType::Double {
            self.note("a column of many is read as double");
            return vec![(F::TRUE, SymOperand::Opaque)];
        }
        if is_many {
            let present = self.formulas.test(Test::Filled(id));
            return vec![(present.negated(), absent), (present, SymOperand::ManyBag(id, data_type))];
        }
        let present = self.present(id);
        let mut cases = vec![(present.negated(), absent)];
        if kind == ColumnType::Boolean {
            let yes = self.formulas.test(Test::Equal(id, Scalar::Boolean(true)));
            let no = self.formulas.all([present, yes.negated()]);
            for (guard, truth) in [(yes, true), (no, false)] {
                cases.push((guard, SymOperand::Bag(vec![Sym::Known(Value::Boolean(truth))])));
            }
        } else {
            cases.push((present, SymOperand::Bag(vec![Sym::Column(id, data_type)])));
        }
        cases.retain(|(guard, _)| *guard != F::FALSE);
        cases
    }

    fn arguments(&mut self, arguments: &[ExprId]) -> Option<Vec<(F, Vec<SymOperand>)>> {
        let arguments: Vec<Cases<SymOperand>> = arguments.iter().map(|part| self.operand(*part)).collect();
        let combinations = self.combinations(&arguments);
        if combinations.is_none() {
            self.note("a function is called with too many cases");
        }
        let owned = |(guard, chosen): (F, Vec<&SymOperand>)| (guard, chosen.into_iter().cloned().collect());
        Some(combinations?.into_iter().map(owned).collect())
    }

    fn call(&mut self, function: &'static Function, arguments: &[ExprId]) -> Vec<(F, SymOperand)> {
        if gives_truth(function) {
            let truth = self.call_truth(function, arguments);
            return self.truth_operand(truth);
        }
        let Some(combinations) = self.arguments(arguments) else {
            return vec![(F::TRUE, SymOperand::Opaque)];
        };
        let mut cases = Vec::with_capacity(combinations.len());
        for (guard, operands) in combinations {
            cases.push((guard, self.called(function, &operands)));
        }
        cases
    }

    fn call_truth(&mut self, function: &'static Function, arguments: &[ExprId]) -> Truth {
        let Some(combinations) = self.arguments(arguments) else { return Truth::UNKNOWN };
        let mut truths = Vec::with_capacity(combinations.len());
        for (guard, operands) in combinations {
            truths.push((guard, self.applied(function, &operands)));
        }
        self.formulas.by_cases(&truths)
    }

    /// A function whose result is no truth.
    fn called(&mut self, function: &'static Function, operands: &[SymOperand]) -> SymOperand {
        if operands.iter().any(|operand| matches!(operand, SymOperand::Failed)) {
            return SymOperand::Failed;
        }
        let known: Option<Vec<Operand<'static>>> = operands.iter().map(SymOperand::known).collect();
        if let (Some(known), Body::Strict(_, run)) = (known, function.body) {
            if !self.spend_on_operands(operands) {
                return SymOperand::Opaque;
            }
            return match run(&known) {
                Ok(operand) => operand.into_owned().into(),
                Err(_) => SymOperand::Failed,
            };
        }
        let name = function.short_name();
        match operands {
            [SymOperand::Bag(values)] if name.ends_with("-one-and-only") => match values.as_slice() {
                [only] => SymOperand::One(only.clone()),
                _ => SymOperand::Failed,
            },
            [SymOperand::Bag(values)] if name.ends_with("-bag-size") => {
                let size = i64::try_from(values.len()).unwrap_or(i64::MAX);
                SymOperand::One(Sym::Known(Value::integer(size)))
            }
            values if name.ends_with("-bag") => {
                let one = |operand: &SymOperand| match operand {
                    SymOperand::One(sym @ (Sym::Known(_) | Sym::Column(..))) => Some(sym.clone()),
                    SymOperand::One(_)
                    | SymOperand::Bag(_)
                    | SymOperand::ManyBag(..)
                    | SymOperand::Failed
                    | SymOperand::Opaque => None,
                };
                let values: Option<Vec<Sym>> = values.iter().map(one).collect();
                values.map_or(SymOperand::Opaque, SymOperand::Bag)
            }
            _ => {
                self.note(format!("`{name}` is called with what depends on the row"));
                SymOperand::Opaque
            }
        }
    }

    /// Counts what reading operands takes.
    pub(super) fn spend_on_operands(&self, operands: &[SymOperand]) -> bool {
        let budget = &self.formulas.budget;
        operands.iter().all(|operand| match operand {
            SymOperand::One(sym) => budget.spend_on(sym.known().unwrap_or(&Value::Undefined)),
            SymOperand::Bag(values) => budget.spend_each(1 + values.len()),
            SymOperand::ManyBag(..) | SymOperand::Failed | SymOperand::Opaque => budget.spend(1),
        })
    }

    /// A.3.12: functions asked about values out of bags.
    fn higher_order(
        &mut self,
        kind: HigherOrder,
        function: &'static Function,
        arguments: &[ExprId],
    ) -> Truth {
        let Some(combinations) = self.arguments(arguments) else { return Truth::UNKNOWN };
        let mut truths = Vec::with_capacity(combinations.len());
        for (guard, operands) in combinations {
            truths.push((guard, self.over_bags(kind, function, &operands)));
        }
        self.formulas.by_cases(&truths)
    }

    fn over_bags(
        &mut self,
        kind: HigherOrder,
        function: &'static Function,
        operands: &[SymOperand],
    ) -> Truth {
        if operands.iter().any(|operand| matches!(operand, SymOperand::Failed)) {
            return Truth::ERROR;
        }
        if operands.iter().any(|operand| matches!(operand, SymOperand::Opaque)) {
            return Truth::UNKNOWN;
        }
        if let Some(truth) = self.equality_over_many(kind, function, operands) {
            return truth;
        }
        if operands.iter().any(|operand| matches!(operand, SymOperand::ManyBag(..))) {
            self.note(format!("`{}` of a column of many", function.short_name()));
            return Truth::UNKNOWN;
        }
        match kind {
            HigherOrder::AnyOf => self.over_one_bag(function, operands, true),
            HigherOrder::AllOf => self.over_one_bag(function, operands, false),
            HigherOrder::AnyOfAny => self.any_of_any(function, operands, &mut Vec::new(), &mut 0),
            HigherOrder::AllOfAny | HigherOrder::AnyOfAll | HigherOrder::AllOfAll => {
                let [SymOperand::Bag(first), SymOperand::Bag(second)] = operands else { return Truth::ERROR };
                if first.len() * second.len() > APPLIED_MAX {
                    return Truth::UNKNOWN;
                }
                let mut outer = Vec::new();
                let (of, with) =
                    if kind == HigherOrder::AnyOfAll { (second, first) } else { (first, second) };
                for one in of {
                    let mut inner = Vec::new();
                    for other in with {
                        let (a, b) = if kind == HigherOrder::AnyOfAll { (other, one) } else { (one, other) };
                        let operands = [SymOperand::One(a.clone()), SymOperand::One(b.clone())];
                        inner.push(self.applied(function, &operands));
                    }
                    outer.push(self.formulas.kleene(&inner, kind != HigherOrder::AllOfAll));
                }
                self.formulas.kleene(&outer, false)
            }
            HigherOrder::Map => Truth::UNKNOWN,
        }
    }

    /// Equality with any value of a column of many.
    fn equality_over_many(
        &mut self,
        kind: HigherOrder,
        function: &'static Function,
        operands: &[SymOperand],
    ) -> Option<Truth> {
        let (id, data_type, others) = match operands {
            [SymOperand::ManyBag(id, data_type), other] | [other, SymOperand::ManyBag(id, data_type)] => {
                (*id, *data_type, other)
            }
            _ => return None,
        };
        if !is_equality(function, data_type) {
            return None;
        }
        let values: Vec<Value> = match (kind, others.known()?) {
            (HigherOrder::AnyOf | HigherOrder::AnyOfAny, Operand::One(value)) => vec![value.into_owned()],
            (HigherOrder::AnyOfAny, Operand::Bag(values)) => values.into_owned(),
            _ => return None,
        };
        Some(self.held_any(id, &values))
    }

    pub(super) fn held_any(&mut self, id: ColumnId, values: &[Value]) -> Truth {
        let parts: Vec<F> = values.iter().map(|value| self.holds(id, value)).collect();
        Truth::of(self.formulas.any(parts))
    }

    fn over_one_bag(
        &mut self,
        function: &'static Function,
        operands: &[SymOperand],
        decisive: bool,
    ) -> Truth {
        let mut bags = operands.iter().enumerate().filter_map(|(at, operand)| match operand {
            SymOperand::Bag(values) => Some((at, values)),
            SymOperand::One(_) | SymOperand::ManyBag(..) | SymOperand::Failed | SymOperand::Opaque => None,
        });
        let (Some((place, values)), None) = (bags.next(), bags.next()) else { return Truth::ERROR };
        let mut parts = Vec::with_capacity(values.len());
        let nothing = SymOperand::Bag(Vec::new());
        let of_bag = |operand: &SymOperand| matches!(operand, SymOperand::Bag(_));
        let others = operands.iter().map(|operand| if of_bag(operand) { &nothing } else { operand });
        let mut operands: Vec<SymOperand> = others.cloned().collect();
        for value in values {
            if !self.begin_expression() {
                break;
            }
            if let Some(operand) = operands.get_mut(place) {
                *operand = SymOperand::One(value.clone());
            }
            parts.push(self.applied(function, &operands));
        }
        self.formulas.kleene(&parts, decisive)
    }

    fn any_of_any(
        &mut self,
        function: &'static Function,
        operands: &[SymOperand],
        chosen: &mut Vec<SymOperand>,
        applied: &mut usize,
    ) -> Truth {
        let Some((first, rest)) = operands.split_first() else {
            *applied += 1;
            return if *applied > APPLIED_MAX { Truth::UNKNOWN } else { self.applied(function, chosen) };
        };
        if !self.begin_expression() {
            return Truth::UNKNOWN;
        }
        let values = match first {
            SymOperand::One(sym) => std::slice::from_ref(sym),
            SymOperand::Bag(values) => values,
            SymOperand::ManyBag(..) | SymOperand::Failed | SymOperand::Opaque => return Truth::UNKNOWN,
        };
        let mut parts = Vec::with_capacity(values.len());
        for value in values {
            chosen.push(SymOperand::One(value.clone()));
            parts.push(self.any_of_any(function, rest, chosen, applied));
            chosen.pop();
            // One that is unknown stands for all that follow.
            if *applied > APPLIED_MAX {
                break;
            }
        }
        self.formulas.kleene(&parts, true)
    }
}

/// Whether the function gives true or false.
fn gives_truth(function: &Function) -> bool {
    function
        .signature()
        .is_some_and(|signature| signature.result == durward_ir::function::Type::One(DataType::Boolean))
}

/// Whether this is the equality of the type.
fn is_equality(function: &Function, data_type: DataType) -> bool {
    function.short_name().strip_suffix("-equal").is_some_and(|name| name == data_type.short_name())
}

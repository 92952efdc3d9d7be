//! Functions of XACML that are true or false, of operands that may depend on the row.

use durward_ir::function::{Body, Function, Lazy};
use durward_ir::value::{DataType, Operand, Value};

use super::{Folding, Sym, SymOperand};
use crate::filter::{Order, TextTest};
use crate::formula::F;
use crate::interval::Truth;

impl Folding<'_> {
    /// A function applied to evaluated operands, as the evaluator's `apply` and then its truth.
    pub(super) fn applied(&mut self, function: &'static Function, operands: &[SymOperand]) -> Truth {
        if operands.iter().any(|operand| matches!(operand, SymOperand::Failed)) {
            return Truth::ERROR;
        }
        if operands.iter().any(|operand| matches!(operand, SymOperand::Opaque | SymOperand::One(Sym::Opaque)))
        {
            return Truth::UNKNOWN;
        }
        let run = match function.body {
            Body::Strict(_, run) => run,
            Body::Lazy(lazy @ (Lazy::And | Lazy::Or)) => return self.lazy_over_values(lazy, operands),
            Body::Lazy(Lazy::NOf) | Body::HigherOrder(_) | Body::Contextual(_) => {
                self.note(format!("`{}` is applied to what depends on the row", function.short_name()));
                return Truth::UNKNOWN;
            }
        };
        if !self.spend_on_operands(operands) {
            return Truth::UNKNOWN;
        }
        let known: Option<Vec<Operand<'static>>> = operands.iter().map(SymOperand::known).collect();
        if let Some(known) = known {
            let result = run(&known).and_then(|operand| operand.as_boolean());
            return result.map_or(Truth::ERROR, Truth::constant);
        }
        match self.lowered(function.short_name(), operands) {
            Some(truth) => truth,
            None => {
                self.note(format!("`{}` is called with what depends on the row", function.short_name()));
                Truth::UNKNOWN
            }
        }
    }

    /// Arguments are evaluated already, and one that is no boolean was an error.
    fn lazy_over_values(&mut self, lazy: Lazy, operands: &[SymOperand]) -> Truth {
        let truth = |operand: &SymOperand| match operand {
            SymOperand::One(sym) => super::truth::boolean(sym),
            SymOperand::Bag(_) | SymOperand::ManyBag(..) | SymOperand::Failed | SymOperand::Opaque => {
                Truth::UNKNOWN
            }
        };
        let parts: Vec<Truth> = operands.iter().map(truth).collect();
        // Any error among them is the result.
        if parts.iter().any(|part| !part.error.is_never()) {
            return Truth::UNKNOWN;
        }
        self.formulas.kleene(&parts, lazy == Lazy::Or)
    }

    fn lowered(&mut self, name: &str, operands: &[SymOperand]) -> Option<Truth> {
        match operands {
            [SymOperand::One(a), SymOperand::One(b)] => self.of_two(name, a, b),
            [SymOperand::One(value), SymOperand::Bag(bag)] if name.ends_with("-is-in") => {
                let mut parts = Vec::with_capacity(bag.len());
                for member in bag {
                    parts.push(self.same(value, member)?);
                }
                Some(Truth::of(self.formulas.any(parts)))
            }
            [SymOperand::One(Sym::Known(value)), SymOperand::ManyBag(id, _)] if name.ends_with("-is-in") => {
                Some(Truth::of(self.holds(*id, value)))
            }
            [SymOperand::Bag(left), SymOperand::Bag(right)] => {
                if name.ends_with("-at-least-one-member-of") {
                    let mut parts = Vec::new();
                    for member in left {
                        parts.push(self.member(member, right)?);
                    }
                    return Some(Truth::of(self.formulas.any(parts)));
                }
                if name.ends_with("-subset") {
                    return Some(Truth::of(self.subset(left, right)?));
                }
                if name.ends_with("-set-equals") {
                    let both = [self.subset(left, right)?, self.subset(right, left)?];
                    return Some(Truth::of(self.formulas.all(both)));
                }
                None
            }
            [SymOperand::ManyBag(id, _), other] | [other, SymOperand::ManyBag(id, _)]
                if name.ends_with("-at-least-one-member-of") =>
            {
                match other.known()? {
                    Operand::Bag(values) => Some(self.held_any(*id, &values)),
                    Operand::One(_) => None,
                }
            }
            [SymOperand::ManyBag(id, _), SymOperand::Bag(bag)]
            | [SymOperand::Bag(bag), SymOperand::ManyBag(id, _)]
                if name.ends_with("-subset") || name.ends_with("-set-equals") =>
            {
                // An empty bag is a part of every other one, which has a value here.
                if bag.is_empty() {
                    let is_first = matches!(operands.first(), Some(SymOperand::Bag(_)));
                    return Some(Truth::constant(is_first && name.ends_with("-subset")));
                }
                let is_first = matches!(operands.first(), Some(SymOperand::Bag(_)));
                if !is_first || !name.ends_with("-subset") {
                    return None;
                }
                let values: Option<Vec<Value>> = bag.iter().map(|sym| sym.known().cloned()).collect();
                let parts: Vec<F> = values?.iter().map(|value| self.holds(*id, value)).collect();
                Some(Truth::of(self.formulas.all(parts)))
            }
            _ => None,
        }
    }

    fn member(&mut self, value: &Sym, bag: &[Sym]) -> Option<F> {
        let mut parts = Vec::with_capacity(bag.len());
        for member in bag {
            parts.push(self.same(value, member)?);
        }
        Some(self.formulas.any(parts))
    }

    fn subset(&mut self, left: &[Sym], right: &[Sym]) -> Option<F> {
        let mut parts = Vec::with_capacity(left.len());
        for value in left {
            parts.push(self.member(value, right)?);
        }
        Some(self.formulas.all(parts))
    }

    fn of_two(&mut self, name: &str, a: &Sym, b: &Sym) -> Option<Truth> {
        let orders = [
            ("-less-than", Order::Less),
            ("-less-than-or-equal", Order::LessOrEqual),
            ("-greater-than", Order::Greater),
            ("-greater-than-or-equal", Order::GreaterOrEqual),
        ];
        let find = |data_type: &str| {
            let rest = name.strip_prefix(data_type)?;
            orders.iter().find(|(suffix, _)| *suffix == rest).map(|(_, order)| *order)
        };
        if let Some(data_type) = name.strip_suffix("-equal")
            && [a, b].iter().all(|sym| type_of(sym).is_some_and(|found| found.short_name() == data_type))
        {
            return Some(Truth::of(self.same(a, b)?));
        }
        if let Some(order) = ["string", "integer", "double"].into_iter().find_map(find) {
            return Some(Truth::of_some(self.ordered(a, order, b)));
        }
        let test = match name {
            "string-starts-with" => TextTest::Begins,
            "string-ends-with" => TextTest::Ends,
            "string-contains" => TextTest::Contains,
            _ => return None,
        };
        // What is looked for comes first.
        let found = self.part_of_text(test, b, a);
        if found.is_none() {
            self.note(format!("`{name}` of two columns, or of a column and a long text"));
        }
        Some(Truth::of_some(found))
    }
}

fn type_of(sym: &Sym) -> Option<DataType> {
    match sym {
        Sym::Known(value) => Some(value.data_type()),
        Sym::Column(_, data_type) => Some(*data_type),
        Sym::Many(_) | Sym::Object(_) | Sym::Built(_) | Sym::Failed | Sym::Opaque => None,
    }
}

//! SAPL's operators that give true or false, of values that may depend on the row.

use durward_ir::evaluate::operate;
use durward_ir::program::BinaryOperator;
use durward_ir::value::{DataType, Value};

use super::{Folding, Sym};
use crate::filter::{Order, TextTest};
use crate::formula::F;
use crate::interval::{Interval, Truth};

/// So many values are looked at in one step, where several are looked for.
const NEEDLES_PER_STEP: usize = 4;

impl Folding<'_> {
    /// What a test says of two values. An error in either is one of the test.
    pub(super) fn tested(&mut self, operator: BinaryOperator, left: &Sym, right: &Sym) -> Truth {
        if matches!(left, Sym::Failed) || matches!(right, Sym::Failed) {
            return Truth::ERROR;
        }
        if let (Sym::Known(left), Sym::Known(right)) = (left, right) {
            if !self.spend_on_test(operator, left, right) {
                return Truth::UNKNOWN;
            }
            return match operate(operator, left, right) {
                Ok(Value::Boolean(truth)) => Truth::constant(truth),
                Ok(_) | Err(_) => Truth::ERROR,
            };
        }
        if matches!(left, Sym::Opaque) || matches!(right, Sym::Opaque) {
            return Truth::UNKNOWN;
        }
        match operator {
            BinaryOperator::Equal => self.equal(left, right),
            BinaryOperator::NotEqual => self.equal(left, right).negated(),
            BinaryOperator::Less => self.compared_numbers(left, Order::Less, right),
            BinaryOperator::LessOrEqual => self.compared_numbers(left, Order::LessOrEqual, right),
            BinaryOperator::Greater => self.compared_numbers(left, Order::Greater, right),
            BinaryOperator::GreaterOrEqual => self.compared_numbers(left, Order::GreaterOrEqual, right),
            BinaryOperator::In => self.is_in(left, right),
            BinaryOperator::AnyIn => self.are_in(left, right, true),
            BinaryOperator::AllIn => self.are_in(left, right, false),
            BinaryOperator::Has => self.has(left, right),
            BinaryOperator::HasAny | BinaryOperator::HasAll => {
                // Without a base or without keys it is false.
                if left.is_undefined() || right.is_undefined() {
                    Truth::constant(false)
                } else {
                    Truth::UNKNOWN
                }
            }
            // Booleans are known in every case; of anything else it is an error.
            BinaryOperator::ExclusiveOr => Truth::ERROR,
            BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Remainder => Truth::ERROR,
        }
    }

    /// Counts what comparing two values takes.
    fn spend_on_test(&self, operator: BinaryOperator, left: &Value, right: &Value) -> bool {
        let budget = &self.formulas.budget;
        match (operator, left.as_array(), right.as_array()) {
            (BinaryOperator::AnyIn | BinaryOperator::AllIn, Some(needles), Some(values)) => {
                budget.spend_each(needles.len().saturating_mul(values.len()) / NEEDLES_PER_STEP)
            }
            _ => budget.spend_on(left) && budget.spend_on(right),
        }
    }

    fn equal(&mut self, left: &Sym, right: &Sym) -> Truth {
        let same = self.same(left, right);
        if same.is_none() {
            self.note("two values that depend on the row are compared");
        }
        Truth::of_some(same)
    }

    fn compared_numbers(&mut self, left: &Sym, order: Order, right: &Sym) -> Truth {
        if !is_number(left) || !is_number(right) {
            return Truth::ERROR;
        }
        let ordered = self.ordered(left, order, right);
        if ordered.is_none() {
            self.note("columns of different types are compared by order");
        }
        Truth::of_some(ordered)
    }

    /// `in`. What is searched decides.
    fn is_in(&mut self, needle: &Sym, haystack: &Sym) -> Truth {
        match haystack {
            Sym::Known(Value::Array(values)) => {
                let found = self.same_as_any(needle, values);
                Truth::of_some(found)
            }
            Sym::Known(Value::Object(object)) => {
                if !self.formulas.budget.spend_each(object.len()) {
                    return Truth::UNKNOWN;
                }
                let values: Vec<Value> = object.values().cloned().collect();
                let found = self.same_as_any(needle, &values);
                Truth::of_some(found)
            }
            Sym::Many(id) => match needle {
                Sym::Known(value) => Truth::of(self.holds(*id, value)),
                Sym::Many(_) | Sym::Object(_) | Sym::Built(_) => Truth::constant(false),
                Sym::Column(..) | Sym::Failed | Sym::Opaque => {
                    self.note("a column is looked for in a column of many");
                    Truth::EITHER
                }
            },
            Sym::Known(Value::Text(_)) | Sym::Column(_, DataType::Text) => self.is_in_text(needle, haystack),
            Sym::Object(_) | Sym::Built(_) => {
                self.note("`in` looks through an object that depends on the row");
                Truth::EITHER
            }
            Sym::Known(_) | Sym::Column(..) => Truth::ERROR,
            Sym::Failed | Sym::Opaque => Truth::UNKNOWN,
        }
    }

    fn is_in_text(&mut self, needle: &Sym, haystack: &Sym) -> Truth {
        if !matches!(needle, Sym::Known(Value::Text(_)) | Sym::Column(_, DataType::Text)) {
            return Truth::ERROR;
        }
        let found = self.part_of_text(TextTest::Contains, haystack, needle);
        if found.is_none() {
            self.note("a text of a column is looked for in a longer text, or in another column");
        }
        Truth::of_some(found)
    }

    /// `any in` and `all in`: one needle after the other, until one decides or fails.
    fn are_in(&mut self, needles: &Sym, haystack: &Sym, decisive: bool) -> Truth {
        match (needles, haystack) {
            (Sym::Known(Value::Array(needles)), _) => {
                let mut found = Truth::constant(!decisive);
                for needle in needles.iter().rev() {
                    if !self.begin_expression() {
                        return Truth::UNKNOWN;
                    }
                    let first = self.is_in(&Sym::Known(needle.clone()), haystack);
                    found = self.until(first, found, decisive);
                }
                found
            }
            (Sym::Many(id), Sym::Known(Value::Array(values))) if decisive => {
                let parts: Vec<F> = values.iter().map(|value| self.holds(*id, value)).collect();
                Truth::of(self.formulas.any(parts))
            }
            (Sym::Many(_), Sym::Known(Value::Array(_) | Value::Object(_)) | Sym::Many(_)) => {
                self.note("all values of a column of many are compared");
                Truth::EITHER
            }
            (Sym::Many(_), _) => Truth::UNKNOWN,
            _ => Truth::ERROR,
        }
    }

    /// The first if it decides or fails, else what follows.
    fn until(&mut self, first: Truth, rest: Truth, decisive: bool) -> Truth {
        let (decided, passes) = if decisive { (first.yes, first.no) } else { (first.no, first.yes) };
        let mut after = |of: Interval| self.formulas.every(&[passes, of]);
        let (yes, no, error) = (after(rest.yes), after(rest.no), after(rest.error));
        let (yes, no) = match decisive {
            true => (self.formulas.some(&[decided, yes]), no),
            false => (yes, self.formulas.some(&[decided, no])),
        };
        Truth { yes, no, error: self.formulas.some(&[first.error, error]) }
    }

    /// `has`
    fn has(&mut self, base: &Sym, key: &Sym) -> Truth {
        if base.is_undefined() || key.is_undefined() {
            return Truth::constant(false);
        }
        match key {
            Sym::Known(Value::Text(key)) => match base {
                Sym::Column(..) | Sym::Many(_) => Truth::constant(false),
                Sym::Built(entries) => Truth::constant(entries.iter().any(|(other, _)| other == key)),
                Sym::Object(path) => self.object_has(path, key),
                Sym::Known(_) | Sym::Failed | Sym::Opaque => Truth::UNKNOWN,
            },
            Sym::Column(_, DataType::Text) => match base {
                Sym::Known(Value::Object(object)) => {
                    if !self.formulas.budget.spend_each(object.len()) {
                        return Truth::UNKNOWN;
                    }
                    let keys: Vec<Value> = object.keys().map(|key| Value::Text(key.clone())).collect();
                    let found = self.same_as_any(key, &keys);
                    Truth::of_some(found)
                }
                Sym::Known(_) | Sym::Column(..) | Sym::Many(_) => Truth::constant(false),
                Sym::Object(_) | Sym::Built(_) => Truth::EITHER,
                Sym::Failed | Sym::Opaque => Truth::UNKNOWN,
            },
            Sym::Known(_) | Sym::Column(..) | Sym::Many(_) | Sym::Object(_) | Sym::Built(_) => Truth::ERROR,
            Sym::Failed | Sym::Opaque => Truth::UNKNOWN,
        }
    }
}

fn is_number(sym: &Sym) -> bool {
    matches!(sym, Sym::Known(Value::Number(_)) | Sym::Column(_, DataType::Number))
}

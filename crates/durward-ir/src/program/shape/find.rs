//! Finds the shapes of all conditions, and makes atoms of what they compare parts of the subscription with.

use std::rc::Rc;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::{Shape, Shapes};
use crate::path::key_of;
use crate::program::map::Map;
use crate::program::{BinaryOperator, Builder, Expr, ExprId, Node, SlotId, Step, Structured};
use crate::value::Value;

/// Values that are followed through the steps of an expression.
const FOLLOWED_VALUES_MAX: usize = 1 << 14;

/// How deep expressions are looked into.
const NESTING_MAX: usize = 64;

impl Shapes {
    /// Looks at all conditions; what they compare parts of the subscription with become atoms.
    pub(in crate::program) fn of(builder: &mut Builder) -> Shapes {
        let mut conditions: Vec<ExprId> = builder
            .nodes
            .iter()
            .flat_map(|node| match node {
                Node::Rule(rule) => [rule.target, rule.condition],
                Node::Set(set) => [set.target, None],
            })
            .flatten()
            .filter(|_| builder.slots.has_paths())
            .collect();
        conditions.sort_unstable();
        conditions.dedup();
        let mut finder = Finder { builder, shapes: Map::default(), values: Map::default() };
        for condition in &conditions {
            finder.shape(*condition, NESTING_MAX);
        }
        let by_expr = finder.shapes.into_iter().filter_map(|(id, shape)| Some((id, shape?))).collect();
        Shapes { by_expr, conditions, unnamed: unnamed(builder) }
    }
}

/// A text longer than any atom.
fn unnamed(builder: &Builder) -> Value {
    let longest = builder.slots.longest_text();
    Value::Text("x".repeat(longest + 1).into())
}

type Values = Rc<[Value]>;

struct Finder<'b> {
    builder: &'b mut Builder,
    shapes: Map<ExprId, Option<Shape>>,
    /// What expressions may come to, if they do not fail.
    values: Map<ExprId, Option<Values>>,
}

impl Finder<'_> {
    fn shape(&mut self, id: ExprId, levels_left: usize) -> Option<Shape> {
        if let Some(known) = self.shapes.get(&id) {
            return known.clone();
        }
        let shape = levels_left.checked_sub(1).and_then(|levels_left| self.find(id, levels_left));
        self.shapes.insert(id, shape.clone());
        shape
    }

    fn find(&mut self, id: ExprId, levels_left: usize) -> Option<Shape> {
        match self.builder.get(id)? {
            Expr::Constant(_) => Some(Shape::default()),
            Expr::Part(slot) => Some(Shape::of(*slot, false)),
            Expr::IsOneOf(slot, _) => Some(Shape::of(*slot, true)),
            Expr::All(parts) | Expr::Any(parts) => {
                let parts: SmallVec<[ExprId; 8]> = SmallVec::from_slice(parts);
                self.join(&parts, levels_left)
            }
            Expr::Structured(structured) => {
                let structured = structured.clone();
                self.structured(&structured, levels_left)
            }
            Expr::Attribute { .. }
            | Expr::Selector(_)
            | Expr::Call(..)
            | Expr::Lazy(..)
            | Expr::HigherOrder(..)
            | Expr::Contextual(..)
            | Expr::Matches(..)
            | Expr::Match(_)
            | Expr::Failed(_) => None,
        }
    }

    /// Of an expression that may look at each of these as it likes. All are looked at, whatever becomes of the others.
    fn join(&mut self, parts: &[ExprId], levels_left: usize) -> Option<Shape> {
        let mut all = Some(Shape::default());
        for part in parts {
            let shape = self.shape(*part, levels_left);
            all = all.and_then(|all| all.and(shape?));
        }
        all
    }

    fn structured(&mut self, structured: &Structured, levels_left: usize) -> Option<Shape> {
        match structured {
            Structured::Binary(operator, left, right) => self.binary(*operator, *left, *right, levels_left),
            Structured::Unary(_, operand) | Structured::Matches(_, operand) => {
                self.shape(*operand, levels_left)
            }
            // Its keys are atoms already.
            Structured::Lookup(lookup) => Some(Shape::of(lookup.slot, true)),
            Structured::Steps(base, steps) => self.steps(*base, steps, levels_left),
            Structured::Array(elements) => self.join(elements, levels_left),
            Structured::Object(entries) => {
                let values: Vec<ExprId> = entries.iter().map(|(_, value)| *value).collect();
                self.join(&values, levels_left)
            }
            Structured::Chain(first, rest) => {
                let operands: Vec<ExprId> =
                    std::iter::once(*first).chain(rest.iter().map(|(_, it)| *it)).collect();
                self.join(&operands, levels_left)
            }
            // What they take is not bounded by what is written.
            Structured::Here
            | Structured::Location
            | Structured::Template { .. }
            | Structured::Call(..)
            | Structured::StandIn(..)
            | Structured::Each { .. }
            | Structured::Edit { .. }
            | Structured::Finder(_) => None,
        }
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: ExprId,
        right: ExprId,
        levels_left: usize,
    ) -> Option<Shape> {
        let compared = match operator {
            BinaryOperator::Equal | BinaryOperator::NotEqual => self
                .compared(left, right, levels_left, |value| Some(vec![value.clone()]))
                .or_else(|| self.compared(right, left, levels_left, |value| Some(vec![value.clone()]))),
            BinaryOperator::In => self
                .compared(left, right, levels_left, elements)
                .or_else(|| self.object_in(left, right, levels_left)),
            BinaryOperator::Has => self.compared(right, left, levels_left, keys),
            BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual
            | BinaryOperator::AnyIn
            | BinaryOperator::AllIn
            | BinaryOperator::HasAny
            | BinaryOperator::HasAll
            | BinaryOperator::ExclusiveOr
            | BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Remainder => None,
        };
        compared.or_else(|| self.join(&[left, right], levels_left))
    }

    /// A part of the subscription that is compared with what `named` finds in any value that `other` may come to.
    fn compared(
        &mut self,
        part: ExprId,
        other: ExprId,
        levels_left: usize,
        named: impl Fn(&Value) -> Option<Vec<Value>>,
    ) -> Option<Shape> {
        let Some(Expr::Part(slot)) = self.builder.get(part) else { return None };
        let slot = *slot;
        let shape = self.shape(other, levels_left)?;
        let named: Option<Vec<Vec<Value>>> = self.values(other, levels_left)?.iter().map(named).collect();
        self.name(slot, &named?.concat())?;
        shape.and(Shape::of(slot, true))
    }

    /// `{ "key": part } in haystack`
    fn object_in(&mut self, left: ExprId, right: ExprId, levels_left: usize) -> Option<Shape> {
        let Some(Expr::Structured(Structured::Object(entries))) = self.builder.get(left) else { return None };
        let entries = entries.clone();
        let mut shape = self.shape(right, levels_left)?;
        let elements: Option<Vec<Vec<Value>>> =
            self.values(right, levels_left)?.iter().map(elements).collect();
        let elements = elements?.concat();
        for (key, value) in &entries {
            let entry = if let Expr::Part(slot) = self.builder.get(*value)? {
                let slot = *slot;
                self.name(slot, &under(&elements, key))?;
                Shape::of(slot, true)
            } else {
                self.shape(*value, levels_left)?
            };
            shape = shape.and(entry)?;
        }
        Some(shape)
    }

    fn steps(&mut self, base: ExprId, steps: &[Step], levels_left: usize) -> Option<Shape> {
        let mut shape = self.shape(base, levels_left)?;
        let mut values = self.values(base, levels_left);
        for step in steps {
            if let Step::Computed(key) = step {
                let known = values.as_deref();
                shape = shape.and(self.key(*key, known, levels_left)?)?;
            } else if matches!(step, Step::Condition(_)) {
                return None;
            }
            values = values.and_then(|values| stepped(&values, step));
        }
        Some(shape)
    }

    /// The key of a step, where the step may be taken from these values.
    fn key(&mut self, key: ExprId, from: Option<&[Value]>, levels_left: usize) -> Option<Shape> {
        if let (Some(Expr::Part(slot)), Some(from)) = (self.builder.get(key), from) {
            let slot = *slot;
            let named: Option<Vec<Vec<Value>>> = from.iter().map(keys).collect();
            if let Some(named) = named {
                self.name(slot, &named.concat())?;
                return Some(Shape::of(slot, true));
            }
        }
        self.shape(key, levels_left)
    }

    /// Makes atoms of values. Others than texts and the like cannot be atoms, and are told apart by evaluating.
    fn name(&mut self, slot: SlotId, values: &[Value]) -> Option<()> {
        if values.len() > FOLLOWED_VALUES_MAX {
            return None;
        }
        for value in values.iter().filter(|value| value.is_internable()) {
            self.builder.slots.atom_for(slot, value)?;
        }
        Some(())
    }

    /// What an expression may come to, where that is known.
    fn values(&mut self, id: ExprId, levels_left: usize) -> Option<Values> {
        if let Some(known) = self.values.get(&id) {
            return known.clone();
        }
        let values = levels_left.checked_sub(1).and_then(|levels_left| self.find_values(id, levels_left));
        self.values.insert(id, values.clone());
        values
    }

    fn find_values(&mut self, id: ExprId, levels_left: usize) -> Option<Values> {
        if let Some(value) = self.builder.value_of(id) {
            return Some([value.clone()].into());
        }
        let Some(Expr::Structured(structured)) = self.builder.get(id) else { return None };
        match structured {
            Structured::Lookup(lookup) => {
                let object = self.builder.value_of(lookup.base)?.as_object()?;
                Some(object.values().cloned().chain([Value::Undefined]).collect())
            }
            Structured::Steps(base, steps) => {
                let (base, steps) = (*base, steps.clone());
                let first = self.values(base, levels_left)?;
                steps.iter().try_fold(first, |values, step| stepped(&values, step))
            }
            Structured::Here
            | Structured::Location
            | Structured::Array(_)
            | Structured::Object(_)
            | Structured::Unary(..)
            | Structured::Binary(..)
            | Structured::Matches(..)
            | Structured::Chain(..)
            | Structured::Template { .. }
            | Structured::Call(..)
            | Structured::StandIn(..)
            | Structured::Each { .. }
            | Structured::Edit { .. }
            | Structured::Finder(_) => None,
        }
    }
}

/// What a step from any of these values may come to.
fn stepped(values: &[Value], step: &Step) -> Option<Values> {
    if let Step::Key(key) = step {
        return Some(values.iter().map(|value| key_of(value, key.as_str()).into_owned()).collect());
    }
    let Step::Computed(_) = step else { return None };
    let mut found = vec![Value::Undefined];
    for value in values {
        // An array gives parts of its elements to a text.
        if value.as_array().is_some() {
            return None;
        }
        found.extend(value.as_object().into_iter().flat_map(|object| object.values().cloned()));
    }
    (found.len() <= FOLLOWED_VALUES_MAX).then(|| found.into())
}

/// What `in` compares with; `None` for a text, which is searched.
fn elements(haystack: &Value) -> Option<Vec<Value>> {
    match (haystack.as_array(), haystack.as_object(), haystack) {
        (Some(elements), _, _) => Some(elements.to_vec()),
        (None, Some(object), _) => Some(object.values().cloned().collect()),
        (None, None, Value::Text(_)) => None,
        (None, None, _) => Some(Vec::new()),
    }
}

/// What a key is compared with; `None` for an array, of whose elements it takes parts.
fn keys(base: &Value) -> Option<Vec<Value>> {
    if base.as_array().is_some() {
        return None;
    }
    let keys = base.as_object().into_iter().flat_map(|object| object.keys().cloned().map(Value::Text));
    Some(keys.collect())
}

/// What the objects among these values have under a key.
fn under(values: &[Value], key: &SmolStr) -> Vec<Value> {
    values.iter().filter_map(|value| value.as_object()?.get(key).cloned()).collect()
}

//! Expressions over values of JSON, case by case.

use std::rc::Rc;

use durward_ir::evaluate::operate;
use durward_ir::fault::Evaluated;
use durward_ir::path::Path;
use durward_ir::program::{BinaryOperator, Expr, ExprId, Lookup, SlotId, Step, Structured, UnaryOperator};
use durward_ir::structure;
use durward_ir::value::{DataType, ObjectBuilder, Operand, Value};
use smol_str::SmolStr;

use super::depends::{SlotUse, plain_type};
use super::{CASES_MAX, Cases, Folding, Sym};
use crate::budget::{Budget, value_steps};
use crate::columns::{ColumnId, ColumnType, Nulls, Scalar};
use crate::formula::{F, Test};
use crate::interval::Truth;

/// So many parts of a combination are copied in one step.
const CHOSEN_PER_STEP: usize = 16;

/// What calling a function costs beside its arguments.
const CALL_STEPS: u64 = 32;

/// What a function does with each value in its arguments.
const STEPS_PER_VALUE: u64 = 4;

/// Keys of a constant object that a column is compared with.
const KEYS_MAX: usize = 60;

impl Folding<'_> {
    /// The value of an expression of SAPL.
    pub(super) fn value(&mut self, id: ExprId) -> Cases<Sym> {
        if let Some(known) = self.values.get(&id) {
            return Rc::clone(known);
        }
        if !self.begin_expression() {
            return [(F::TRUE, Sym::Opaque)].into();
        }
        let cases: Cases<Sym> = self.new_value(id).into();
        self.values.insert(id, Rc::clone(&cases));
        cases
    }

    fn new_value(&mut self, id: ExprId) -> Vec<(F, Sym)> {
        if !self.depends(id) {
            return vec![(F::TRUE, self.known_value(id))];
        }
        let program = self.program;
        match program.expr(id) {
            Expr::Part(slot) => self.part(*slot),
            Expr::IsOneOf(..) | Expr::All(_) | Expr::Any(_) => self.truth_as_value(id),
            Expr::Structured(structured) => self.structured(id, structured),
            Expr::Constant(_) | Expr::Failed(_) => vec![(F::TRUE, self.known_value(id))],
            // An expression of XACML cannot stand in one of SAPL.
            Expr::Attribute { .. }
            | Expr::Selector(_)
            | Expr::Call(..)
            | Expr::Lazy(..)
            | Expr::HigherOrder(..)
            | Expr::Contextual(..)
            | Expr::Matches(..)
            | Expr::Match(_) => vec![(F::TRUE, Sym::Failed)],
        }
    }

    fn known_value(&mut self, id: ExprId) -> Sym {
        match self.evaluated_operand(id) {
            Some(Ok(Operand::One(value))) => Sym::Known(value.into_owned()),
            Some(Ok(Operand::Bag(_)) | Err(_)) => Sym::Failed,
            None => Sym::Opaque,
        }
    }

    fn structured(&mut self, id: ExprId, structured: &Structured) -> Vec<(F, Sym)> {
        match structured {
            Structured::Unary(UnaryOperator::Not, _) | Structured::Matches(..) => self.truth_as_value(id),
            Structured::Binary(operator, ..) if !operator.is_arithmetic() => self.truth_as_value(id),
            Structured::Binary(operator, left, right) => self.chain(*left, &[(*operator, *right)]),
            Structured::Chain(first, rest) => self.chain(*first, rest),
            Structured::Unary(operator, operand) => {
                let operate = match operator {
                    UnaryOperator::Minus => structure::negative,
                    UnaryOperator::Plus => structure::positive,
                    UnaryOperator::Not => return self.truth_as_value(id),
                };
                let operand = self.value(*operand);
                operand.iter().map(|(guard, sym)| (*guard, known_or_opaque(sym, operate))).collect()
            }
            Structured::Array(elements) => self.product(elements, array),
            Structured::Object(entries) => {
                let (keys, values): (Vec<SmolStr>, Vec<ExprId>) = entries.iter().cloned().unzip();
                self.product(&values, |syms| object(&keys, syms))
            }
            Structured::Steps(base, steps) => {
                let mut cases: Vec<(F, Sym)> = self.value(*base).to_vec();
                for step in steps {
                    cases = self.stepped(cases, step);
                }
                cases
            }
            Structured::Lookup(lookup) => self.lookup(lookup),
            Structured::Call(function, arguments) => {
                let name = function.0.name;
                if is_test_of_text(name) {
                    return self.truth_as_value(id);
                }
                let cases = self.product(arguments, |syms| call(function.0, syms));
                if cases.iter().any(|(_, sym)| matches!(sym, Sym::Opaque)) {
                    self.note(format!("`{name}` is called with what depends on the row"));
                }
                cases
            }
            Structured::Finder(finder) => self.opaque(format!("`<{}>` is asked", finder.name)),
            Structured::StandIn(name, _) => self.opaque(format!("`{name}` is stood in for")),
            Structured::Template { .. } | Structured::Each { .. } | Structured::Edit { .. } => {
                self.opaque("a template or a filter is applied to what depends on the row".to_owned())
            }
            Structured::Here | Structured::Location => vec![(F::TRUE, Sym::Known(Value::Undefined))],
        }
    }

    fn opaque(&mut self, reason: String) -> Vec<(F, Sym)> {
        self.note(reason);
        vec![(F::TRUE, Sym::Opaque)]
    }

    /// What is true, false or an error, as a value.
    pub(super) fn truth_as_value(&mut self, id: ExprId) -> Vec<(F, Sym)> {
        let truth = self.truth(id);
        self.cases_of_truth(truth)
            .into_iter()
            .map(|(guard, sym)| (guard, sym.unwrap_or(Sym::Opaque)))
            .collect()
    }

    /// The cases of a truth; `None` where it is not known.
    pub(super) fn cases_of_truth(&mut self, truth: Truth) -> Vec<(F, Option<Sym>)> {
        let Truth { yes, no, error } = truth;
        let mut cases = vec![
            (yes.must, Some(Sym::Known(Value::Boolean(true)))),
            (no.must, Some(Sym::Known(Value::Boolean(false)))),
            (error.must, Some(Sym::Failed)),
        ];
        if !truth.is_exact() {
            let known = self.formulas.any([yes.must, no.must, error.must]);
            cases.push((known.negated(), None));
        }
        cases.retain(|(guard, _)| *guard != F::FALSE);
        cases
    }

    /// A part of the subscription that depends on the row.
    pub(super) fn part(&mut self, slot: SlotId) -> Vec<(F, Sym)> {
        match self.slot_use(slot) {
            SlotUse::Known => vec![(F::TRUE, Sym::Opaque)],
            SlotUse::Column(id) => self.column(id),
            SlotUse::Inside(id) => {
                let steps = self.program.slots.path(slot).map_or(&[][..], Path::keys).len();
                let depth = self.columns.get(id).map_or(0, |column| column.path.len());
                let mut cases = self.column(id);
                for _ in depth..steps {
                    cases = cases.into_iter().map(|(guard, sym)| (guard, key_of(sym))).collect();
                }
                cases
            }
            SlotUse::Object(path) => vec![(F::TRUE, Sym::Object(path))],
            SlotUse::Unknown => {
                let name = self.program.slots.path(slot).map(Path::to_string).unwrap_or_default();
                self.opaque(format!("`{name}` is read, which no column stands for"))
            }
        }
    }

    /// What a column holds, as SAPL sees it.
    fn column(&mut self, id: ColumnId) -> Vec<(F, Sym)> {
        let Some(column) = self.columns.get(id) else { return vec![(F::TRUE, Sym::Opaque)] };
        let (kind, is_many, nulls) = (column.kind, column.many, column.nulls);
        let present = self.present(id);
        let null = match nulls {
            Nulls::Null => Value::Null,
            Nulls::Absent | Nulls::Never => Value::Undefined,
        };
        let mut cases = vec![(present.negated(), Sym::Known(null))];
        if is_many {
            cases.push((present, Sym::Many(id)));
        } else if kind == ColumnType::Boolean {
            let yes = self.formulas.test(Test::Equal(id, Scalar::Boolean(true)));
            let no = self.formulas.all([present, yes.negated()]);
            cases.push((yes, Sym::Known(Value::Boolean(true))));
            cases.push((no, Sym::Known(Value::Boolean(false))));
        } else {
            cases.push((present, Sym::Column(id, plain_type(kind))));
        }
        cases.retain(|(guard, _)| *guard != F::FALSE);
        cases
    }

    fn chain(&mut self, first: ExprId, rest: &[(BinaryOperator, ExprId)]) -> Vec<(F, Sym)> {
        let operands: Vec<ExprId> =
            [first].into_iter().chain(rest.iter().map(|(_, operand)| *operand)).collect();
        let operators: Vec<BinaryOperator> = rest.iter().map(|(operator, _)| *operator).collect();
        let cases = self.product(&operands, |syms| {
            let (Some((first, rest)), true) = (syms.split_first(), syms.len() == operators.len() + 1) else {
                return Sym::Opaque;
            };
            let mut left = (*first).clone();
            for (operator, right) in operators.iter().zip(rest) {
                left = computed(*operator, &left, right);
            }
            left
        });
        if cases.iter().any(|(_, sym)| matches!(sym, Sym::Opaque)) {
            self.note("arithmetic is done with columns");
        }
        cases
    }

    /// What is made of several values. An error in one is what all come to, unless told otherwise by `make`.
    fn product(&mut self, parts: &[ExprId], make: impl Fn(&[&Sym]) -> Sym) -> Vec<(F, Sym)> {
        let parts: Vec<Cases<Sym>> = parts.iter().map(|part| self.value(*part)).collect();
        let Some(combinations) = self.combinations(&parts) else {
            self.note("an expression has too many cases");
            return vec![(F::TRUE, Sym::Opaque)];
        };
        let budget = self.formulas.budget.clone();
        let make = |syms: &[&Sym]| match syms.iter().any(|sym| matches!(sym, Sym::Failed)) {
            true => Sym::Failed,
            false if spend_on(&budget, syms) => make(syms),
            false => Sym::Opaque,
        };
        combinations.into_iter().map(|(guard, syms)| (guard, make(&syms))).collect()
    }

    /// Every combination of cases that can hold together; `None` where they are too many.
    pub(super) fn combinations<'c, T>(&mut self, parts: &'c [Cases<T>]) -> Option<Vec<(F, Vec<&'c T>)>> {
        let mut combinations: Vec<(F, Vec<&'c T>)> = vec![(F::TRUE, Vec::with_capacity(parts.len()))];
        for part in parts {
            let mut longer = Vec::with_capacity(combinations.len() * part.len());
            for (guard, chosen) in &combinations {
                for (other, case) in part.iter() {
                    let guard = self.formulas.all([*guard, *other]);
                    self.formulas.budget.spend_each(chosen.len() / CHOSEN_PER_STEP);
                    if guard != F::FALSE {
                        longer.push((guard, chosen.iter().copied().chain([case]).collect()));
                    }
                }
            }
            if longer.len() > CASES_MAX {
                return None;
            }
            combinations = longer;
        }
        Some(combinations)
    }

    fn stepped(&mut self, cases: Vec<(F, Sym)>, step: &Step) -> Vec<(F, Sym)> {
        if let Step::Computed(at) = step {
            let at = self.value(*at);
            return self.at_key(cases, &at);
        }
        let mut stepped = Vec::with_capacity(cases.len());
        for (guard, sym) in cases {
            match (&sym, step) {
                (Sym::Object(path), Step::Key(key)) => {
                    let found = self.inside(path, key.as_str());
                    self.extend(&mut stepped, guard, found);
                }
                _ => {
                    let is_short = matches!(step, Step::Key(_) | Step::Index(_));
                    if let Some(value) = sym.known().filter(|_| !is_short) {
                        self.formulas.budget.spend_on(value);
                    }
                    stepped.push((guard, take(sym, step)));
                }
            }
        }
        self.bounded(stepped)
    }

    fn extend(&mut self, cases: &mut Vec<(F, Sym)>, guard: F, found: Vec<(F, Sym)>) {
        for (other, sym) in found {
            let guard = self.formulas.all([guard, other]);
            if guard != F::FALSE {
                cases.push((guard, sym));
            }
        }
    }

    fn bounded(&mut self, cases: Vec<(F, Sym)>) -> Vec<(F, Sym)> {
        if cases.len() > CASES_MAX {
            return self.opaque("an expression has too many cases".to_owned());
        }
        cases
    }

    /// What is under a key in the object that the row stands for.
    fn inside(&mut self, path: &[SmolStr], key: &str) -> Vec<(F, Sym)> {
        let longer: Vec<SmolStr> = path.iter().cloned().chain([key.into()]).collect();
        let found = self.columns.numbered().find(|(_, column)| column.path == longer).map(|(id, _)| id);
        match found {
            Some(id) => self.column(id),
            None if self.columns.all().iter().any(|column| column.path.starts_with(&longer)) => {
                vec![(F::TRUE, Sym::Object(longer.into()))]
            }
            None => self.opaque(format!("`{}` is looked for in the row", longer.join("."))),
        }
    }

    /// `has` of the object that the row stands for.
    pub(super) fn object_has(&mut self, path: &[SmolStr], key: &str) -> Truth {
        let longer: Vec<SmolStr> = path.iter().cloned().chain([key.into()]).collect();
        let found = self.columns.numbered().find(|(_, column)| column.path == longer);
        match found.map(|(id, column)| (id, column.nulls)) {
            Some((id, Nulls::Absent)) => Truth::of(self.present(id)),
            Some((_, Nulls::Null | Nulls::Never)) => Truth::constant(true),
            None if self.columns.all().iter().any(|column| column.path.starts_with(&longer)) => {
                Truth::constant(true)
            }
            None => {
                self.note(format!("`{key}` is looked for in the row"));
                Truth::EITHER
            }
        }
    }

    /// The value of a constant object under a key that depends on the row.
    fn lookup(&mut self, lookup: &Lookup) -> Vec<(F, Sym)> {
        let base = self.value(lookup.base).to_vec();
        let at = self.value(lookup.key);
        self.at_key(base, &at)
    }

    fn at_key(&mut self, bases: Vec<(F, Sym)>, keys: &[(F, Sym)]) -> Vec<(F, Sym)> {
        let mut cases = Vec::new();
        for (guard, base) in bases {
            for (other, key) in keys {
                let guard = self.formulas.all([guard, *other]);
                if guard != F::FALSE {
                    let found = self.at(&base, key);
                    self.extend(&mut cases, guard, found);
                }
            }
        }
        self.bounded(cases)
    }

    fn at(&mut self, base: &Sym, key: &Sym) -> Vec<(F, Sym)> {
        let one = |sym| vec![(F::TRUE, sym)];
        match (base, key) {
            (Sym::Failed, _) | (_, Sym::Failed) => one(Sym::Failed),
            (Sym::Known(base), Sym::Known(key)) => one(sym_of(structure::lookup(base, key))),
            (Sym::Object(path), Sym::Known(Value::Text(key))) => self.inside(path, key),
            (_, Sym::Known(Value::Text(key))) => {
                one(take(base.clone(), &Step::Key(durward_ir::value::Key::new(key.clone()))))
            }
            (Sym::Known(Value::Object(object)), Sym::Column(id, DataType::Text)) => {
                if object.len() > KEYS_MAX {
                    return self.opaque("a column is looked up in a large object".to_owned());
                }
                let entries: Vec<(SmolStr, Value)> =
                    object.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                let mut cases = Vec::with_capacity(entries.len() + 1);
                let mut none = vec![self.present(*id)];
                for (key, value) in entries {
                    let found = self.formulas.test(Test::Equal(*id, Scalar::Text(key)));
                    none.push(found.negated());
                    cases.push((found, Sym::Known(value)));
                }
                let none = self.formulas.all(none);
                cases.push((none, Sym::Known(Value::Undefined)));
                cases
            }
            // What has no keys.
            (Sym::Known(value), Sym::Column(_, DataType::Text)) if value.as_array().is_none() => {
                one(Sym::Known(Value::Undefined))
            }
            (Sym::Opaque, _) | (_, Sym::Opaque) => one(Sym::Opaque),
            _ => self.opaque("what depends on the row is looked up".to_owned()),
        }
    }
}

/// What a function that tests texts is called.
pub(super) fn is_test_of_text(name: &str) -> bool {
    matches!(name, "string.contains" | "string.startsWith" | "string.endsWith" | "string.isEmpty")
}

/// Counts what making a value of these takes, or calling a function with them.
fn spend_on(budget: &Budget, syms: &[&Sym]) -> bool {
    let known = syms.iter().filter_map(|sym| sym.known());
    let size = known.fold(0_u64, |sum, value| sum.saturating_add(value_steps(value)));
    budget.spend(CALL_STEPS.saturating_add(size.saturating_mul(STEPS_PER_VALUE)))
}

fn sym_of(result: Evaluated<Value>) -> Sym {
    result.map_or(Sym::Failed, Sym::Known)
}

fn known_or_opaque(sym: &Sym, operate: fn(&Value) -> Evaluated<Value>) -> Sym {
    match sym {
        Sym::Known(value) => sym_of(operate(value)),
        Sym::Column(_, DataType::Number) | Sym::Opaque => Sym::Opaque,
        Sym::Column(..) | Sym::Many(_) | Sym::Object(_) | Sym::Built(_) | Sym::Failed => Sym::Failed,
    }
}

fn computed(operator: BinaryOperator, left: &Sym, right: &Sym) -> Sym {
    match (left, right) {
        (Sym::Failed, _) | (_, Sym::Failed) => Sym::Failed,
        (Sym::Known(left), Sym::Known(right)) => sym_of(operate(operator, left, right)),
        _ => Sym::Opaque,
    }
}

/// A key of what is no object. Arrays of columns hold no objects.
fn key_of(sym: Sym) -> Sym {
    match sym {
        Sym::Known(value) => Sym::Known(structure::key(&value, "")),
        Sym::Column(..) => Sym::Known(Value::Undefined),
        Sym::Many(_) => Sym::Known(Value::array([])),
        Sym::Failed => Sym::Failed,
        Sym::Object(_) | Sym::Built(_) | Sym::Opaque => Sym::Opaque,
    }
}

fn take(sym: Sym, step: &Step) -> Sym {
    match (sym, step) {
        (Sym::Failed, _) => Sym::Failed,
        (Sym::Known(base), Step::Key(key)) => Sym::Known(structure::key_of(&base, key)),
        (Sym::Built(entries), Step::Key(key)) => {
            let found = entries.into_iter().find(|(other, _)| other == key.as_str());
            found.map_or(Sym::Known(Value::Undefined), |(_, sym)| sym)
        }
        (sym @ (Sym::Column(..) | Sym::Many(_)), Step::Key(_)) => key_of(sym),
        (Sym::Known(base), Step::Index(index)) => sym_of(structure::index(&base, *index)),
        (Sym::Known(base), Step::Wildcard) => sym_of(structure::wildcard(&base)),
        (Sym::Known(base), Step::Slice(slice)) => sym_of(structure::slice(&base, *slice)),
        (Sym::Known(base), Step::Indices(indices)) => sym_of(structure::indices(&base, indices)),
        (Sym::Known(base), Step::Keys(keys)) => sym_of(structure::keys(&base, keys)),
        (Sym::Known(base), Step::DeepKey(key)) => sym_of(structure::descendants_of(&base, key)),
        (Sym::Known(base), Step::DeepWildcard) => sym_of(structure::all_descendants(&base)),
        (Sym::Known(base), Step::DeepIndex(index)) => sym_of(structure::descendants_at(&base, *index)),
        _ => Sym::Opaque,
    }
}

fn array(syms: &[&Sym]) -> Sym {
    let known: Option<Vec<Value>> = syms.iter().map(|sym| sym.known().cloned()).collect();
    match known {
        Some(values) => {
            sym_of(structure::limited(Value::array(values.into_iter().filter(|value| !value.is_undefined()))))
        }
        None => Sym::Opaque,
    }
}

fn object(keys: &[SmolStr], syms: &[&Sym]) -> Sym {
    let entries = || keys.iter().zip(syms);
    let known: Option<Vec<(SmolStr, Value)>> =
        entries().map(|(key, sym)| Some((key.clone(), sym.known()?.clone()))).collect();
    if let Some(known) = known {
        let mut object = ObjectBuilder::with_capacity(known.len());
        for (key, value) in known.into_iter().filter(|(_, value)| !value.is_undefined()) {
            object.insert(key, value);
        }
        return sym_of(structure::limited(Value::Object(object.finish().into())));
    }
    let has_repeats = keys.iter().enumerate().any(|(at, key)| keys.iter().take(at).any(|other| other == key));
    let is_opaque = syms.iter().any(|sym| matches!(sym, Sym::Opaque));
    if has_repeats || is_opaque {
        return Sym::Opaque;
    }
    let kept = entries().filter(|(_, sym)| !sym.is_undefined());
    Sym::Built(kept.map(|(key, sym)| (key.clone(), (*sym).clone())).collect())
}

fn call(function: &durward_ir::library::LibraryFunction, syms: &[&Sym]) -> Sym {
    let known: Option<Vec<Value>> = syms.iter().map(|sym| sym.known().cloned()).collect();
    match known {
        Some(values) => match function.call(&values) {
            Ok(value) => sym_of(structure::limited(value)),
            Err(_) => Sym::Failed,
        },
        None => Sym::Opaque,
    }
}

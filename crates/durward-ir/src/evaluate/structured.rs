//! Expressions over values of JSON, as SAPL evaluates them.
//!
//! Values are borrowed from the program and the question wherever nothing new has to be put together. What the
//! operators mean is in [`crate::structure`].

use std::borrow::Cow;
use std::cell::Cell;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::memory::{MemoCell, Remembering};
use super::unknown::Unknown;
use super::{too_many_steps, walked_steps};
use crate::fault::{Evaluated, Fault};
use crate::path::{UNDEFINED, key_of};
use crate::program::{
    Atom, BinaryOperator, Both, Compiled, EditPath, Expr, ExprId, Finder, Library, Lookup, SlotId, Step,
    Structured, UnaryOperator,
};
use crate::question::{Invocation, Question};
use crate::structure::{self, Comparison, Numeric, Relative, kind_of};
use crate::value::{Key, ObjectBuilder, Operand, Value, note_walk_over};

/// What `@` and `#` stand for, where they stand for anything.
type Here<'h> = Option<&'h Relative<'h>>;

/// Evaluates expressions over values of JSON. Also before there is a program: then with a question that knows nothing.
pub(crate) struct Reckoner<'a, 's> {
    pub(crate) exprs: Both<'a, Expr>,
    pub(crate) question: &'a Question<'a>,
    pub(crate) steps: &'s Cell<u64>,
    pub(crate) steps_max: u64,
    pub(crate) remembering: Option<Remembering<'a>>,
}

/// Whether the slot, which stands for a part of a subscription, holds one of these.
#[inline]
pub(super) fn is_one_of(question: &Question<'_>, slot: SlotId, atoms: &[Atom]) -> bool {
    let Some(atom) = question.number(slot).atom() else { return false };
    match atoms {
        [only] => *only == atom,
        atoms => atoms.binary_search(&atom).is_ok(),
    }
}

impl<'a> Reckoner<'a, '_> {
    fn expr(&self, id: ExprId) -> Evaluated<&'a Expr> {
        self.exprs.get(id.0 as usize).ok_or_else(|| Fault::processing("there is no such expression"))
    }

    /// The value of an expression.
    #[inline]
    pub(crate) fn value<'h>(&self, id: ExprId, here: Here<'h>) -> Evaluated<Cow<'h, Value>>
    where
        'a: 'h,
    {
        match self.exprs.get(id.0 as usize) {
            Some(Expr::Part(slot)) => Ok(self.question.part(*slot)),
            Some(Expr::Constant(Operand::One(value))) => Ok(Cow::Borrowed(value.as_ref())),
            Some(expr) => self.composite(id, expr, here),
            None => Err(Fault::processing("there is no such expression")),
        }
    }

    fn composite<'h>(&self, id: ExprId, expr: &'a Expr, here: Here<'h>) -> Evaluated<Cow<'h, Value>>
    where
        'a: 'h,
    {
        match expr {
            Expr::Constant(Operand::One(value)) => Ok(Cow::Borrowed(value.as_ref())),
            Expr::Part(slot) => Ok(self.question.part(*slot)),
            Expr::Structured(structured) => match self.memo_cell(id) {
                Some(cell) => self.remembered(structured, cell),
                None => self.structured(structured, here),
            },
            Expr::Failed(fault) => Err(fault.clone()),
            Expr::All(_) | Expr::Any(_) | Expr::IsOneOf(..) => {
                Ok(Cow::Owned(Value::Boolean(self.truth(id, here)?)))
            }
            Expr::Constant(Operand::Bag(_))
            | Expr::Attribute { .. }
            | Expr::Selector(_)
            | Expr::Call(..)
            | Expr::Lazy(..)
            | Expr::HigherOrder(..)
            | Expr::Contextual(..)
            | Expr::Matches(..)
            | Expr::Match(_) => Err(Fault::processing("an expression of XACML cannot stand in one of SAPL")),
        }
    }

    #[inline]
    fn memo_cell(&self, id: ExprId) -> Option<MemoCell<'a>> {
        self.remembering?.memo_cell(id)
    }

    /// The value of an expression that other expressions need, too.
    fn remembered(&self, structured: &'a Structured, cell: MemoCell<'a>) -> Evaluated<Cow<'a, Value>> {
        if let Some(value) = cell.value() {
            return Ok(value);
        }
        self.structured(structured, None).map(|value| cell.keep(value))
    }

    /// The value of an expression that must be true or false.
    pub(crate) fn truth(&self, id: ExprId, here: Here<'_>) -> Evaluated<bool> {
        if let Some(truth) = self.remembering.and_then(|memory| memory.tabled(id, self.question)) {
            return Ok(truth);
        }
        self.evaluated_truth(id, here)
    }

    /// The same, where no table says it.
    pub(super) fn evaluated_truth(&self, id: ExprId, here: Here<'_>) -> Evaluated<bool> {
        let Some(cell) = self.memo_cell(id) else { return self.new_truth(id, here) };
        if let Some(truth) = cell.truth() {
            return Ok(truth);
        }
        let truth = self.new_truth(id, here)?;
        cell.keep_truth(truth);
        Ok(truth)
    }

    fn new_truth(&self, id: ExprId, here: Here<'_>) -> Evaluated<bool> {
        match self.expr(id)? {
            Expr::IsOneOf(slot, atoms) => Ok(is_one_of(self.question, *slot, atoms)),
            Expr::All(parts) => self.junction(parts, here, false),
            Expr::Any(parts) => self.junction(parts, here, true),
            Expr::Structured(Structured::Unary(UnaryOperator::Not, operand)) => {
                Ok(!self.truth(*operand, here)?)
            }
            Expr::Structured(Structured::Binary(operator, left, right)) => {
                let Some(test) = Test::of(*operator) else { return boolean(&*self.value(id, here)?) };
                if let (Test::Compare(comparison), Some(left), Some(right)) =
                    (test, self.at_hand(*left), self.at_hand(*right))
                {
                    return structure::compare(comparison, left, right);
                }
                self.test(test, *left, *right, here)
            }
            Expr::Structured(_)
            | Expr::Constant(_)
            | Expr::Part(_)
            | Expr::Failed(_)
            | Expr::Attribute { .. }
            | Expr::Selector(_)
            | Expr::Call(..)
            | Expr::Lazy(..)
            | Expr::HigherOrder(..)
            | Expr::Contextual(..)
            | Expr::Matches(..)
            | Expr::Match(_) => boolean(&*self.value(id, here)?),
        }
    }

    /// The value of an expression that needs no evaluating.
    #[inline]
    fn at_hand(&self, id: ExprId) -> Option<&Value> {
        let expr = self.exprs.get(id.0 as usize)?;
        if let Expr::Constant(Operand::One(value)) = expr {
            return Some(value.as_ref());
        }
        if let Expr::Part(slot) = expr { self.question.held(*slot) } else { None }
    }

    /// All or any of some, in Kleene's logic: what decides wins over an error wherever it stands, and else the first
    /// error is what is left. A finder that has yet to say something does not matter if something else decides.
    fn junction(&self, parts: &[ExprId], here: Here<'_>, decisive: bool) -> Evaluated<bool> {
        let open = self.question.open();
        let mut unknown = Unknown::new();
        let mut is_assumed = false;
        for part in parts {
            let before = self.question.open();
            match self.truth(*part, here) {
                Ok(truth) if truth != decisive => {}
                Ok(_) if self.question.is_certain_since(before) => {
                    self.question.forget_since(open);
                    return Ok(decisive);
                }
                Ok(_) => is_assumed = true,
                Err(fault) => unknown.note(fault),
            }
        }
        if is_assumed { Ok(decisive) } else { unknown.or(!decisive) }
    }

    fn test(&self, test: Test, left: ExprId, right: ExprId, here: Here<'_>) -> Evaluated<bool> {
        if matches!(test, Test::In)
            && let Expr::Structured(Structured::Object(entries)) = self.expr(left)?
        {
            let mut literal = Literal { entries: SmallVec::new() };
            if self.fill(&mut literal, entries, here)?
                && let haystack = self.value(right, here)?
                && let Some(found) = literal.is_in(&haystack)
            {
                self.searched(&haystack)?;
                return Ok(found);
            }
        }
        let (left, right) = (self.value(left, here)?, self.value(right, here)?);
        let (left, right) = (&*left, &*right);
        if let Test::In = test {
            self.searched(right)?;
        }
        if is_nested(left) {
            return self.test_nested(test, left, right);
        }
        tested(test, left, right)
    }

    /// As [`tested`], where what is compared may be large.
    fn test_nested(&self, test: Test, left: &Value, right: &Value) -> Evaluated<bool> {
        let found = match (test, left.as_array()) {
            (Test::AnyIn | Test::AllIn, Some(needles)) => {
                let decisive = matches!(test, Test::AnyIn);
                let mut looked = 0;
                for needle in needles.iter() {
                    self.searched(right)?;
                    // A short haystack takes no step by itself, and thousands of needles do.
                    looked += 1 + length_of(right).filter(|length| *length < LONG_MIN).unwrap_or(0);
                    if looked >= LONG_MIN {
                        self.step(looked / LONG_MIN)?;
                        looked %= LONG_MIN;
                    }
                    if structure::is_in(needle, right)? == decisive {
                        return Ok(decisive);
                    }
                }
                !decisive
            }
            _ => tested(test, left, right)?,
        };
        self.step(0)?;
        Ok(found)
    }

    /// Counts what looking into a long array or a large object takes.
    #[inline]
    fn searched(&self, haystack: &Value) -> Evaluated<()> {
        match length_of(haystack) {
            Some(length) if length >= LONG_MIN => self.step(length / LONG_MIN),
            Some(_) | None => Ok(()),
        }
    }

    fn structured<'h>(&self, structured: &'a Structured, here: Here<'h>) -> Evaluated<Cow<'h, Value>>
    where
        'a: 'h,
    {
        match structured {
            Structured::Here => Ok(Cow::Borrowed(here.map_or(&UNDEFINED, |here| here.value))),
            Structured::Location => Ok(Cow::Borrowed(here.map_or(&UNDEFINED, |here| &here.location))),
            Structured::Array(elements) => self.array(elements, here).map(Cow::Owned),
            Structured::Object(entries) => self.object(entries, here).map(Cow::Owned),
            Structured::Unary(operator, operand) => self.unary(*operator, *operand, here).map(Cow::Owned),
            Structured::Binary(operator, left, right) => {
                self.binary(*operator, *left, *right, here).map(Cow::Owned)
            }
            Structured::Matches(pattern, operand) => {
                let matches = self.matches(pattern, *operand, here)?;
                Ok(Cow::Owned(Value::Boolean(matches)))
            }
            Structured::Lookup(lookup) => self.lookup(lookup, here),
            Structured::Chain(first, rest) => self.chain(*first, rest, here),
            Structured::Steps(base, steps) => {
                let base = self.value(*base, here)?;
                steps.iter().try_fold(base, |base, step| self.take(base, step, here))
            }
            Structured::Template { base, template } => {
                let base = self.value(*base, here)?;
                structure::template(&base, |relative| self.owned(*template, &relative)).map(Cow::Owned)
            }
            Structured::Call(function, arguments) => self.call(*function, arguments, here).map(Cow::Owned),
            Structured::Each { base, filter } => {
                let base = self.value(*base, here)?;
                structure::each(&base, |relative| self.owned(*filter, &relative)).map(Cow::Owned)
            }
            Structured::Edit { base, path, filter } => self.edit(*base, path, *filter, here).map(Cow::Owned),
            Structured::Finder(finder) => self.found(finder, here).map(Cow::Owned),
            Structured::StandIn(name, arguments) => self.stand_in(name, arguments, here).map(Cow::Owned),
        }
    }

    /// The value of an expression for one element of many.
    fn owned(&self, id: ExprId, relative: &Relative<'_>) -> Evaluated<Value> {
        self.step(1)?;
        self.value(id, Some(relative)).map(Cow::into_owned)
    }

    fn step(&self, steps: usize) -> Evaluated<()> {
        self.steps.set(self.steps.get() + steps as u64 + walked_steps());
        if self.steps.get() > self.steps_max { Err(too_many_steps(self.steps_max)) } else { Ok(()) }
    }

    fn array(&self, elements: &[ExprId], here: Here<'_>) -> Evaluated<Value> {
        let mut values = Vec::with_capacity(elements.len());
        for element in elements {
            let value = self.value(*element, here)?;
            if !value.is_undefined() {
                values.push(value.into_owned());
            }
        }
        self.limited(Value::Array(values.into()))
    }

    fn object(&self, entries: &[(SmolStr, ExprId)], here: Here<'_>) -> Evaluated<Value> {
        let mut object = ObjectBuilder::with_capacity(entries.len());
        for (key, value) in entries {
            let value = self.value(*value, here)?;
            if !value.is_undefined() {
                object.insert(key.clone(), value.into_owned());
            }
        }
        self.limited(Value::Object(object.finish().into()))
    }

    /// A new value, if it is not too large.
    fn limited(&self, value: Value) -> Evaluated<Value> {
        let value = structure::limited(value)?;
        self.step(0)?;
        Ok(value)
    }

    /// Evaluates the entries of an object that is only compared. False where it has to be put together.
    fn fill<'h>(
        &self,
        literal: &mut Literal<'h>,
        entries: &'h [(SmolStr, ExprId)],
        here: Here<'h>,
    ) -> Evaluated<bool>
    where
        'a: 'h,
    {
        for (key, value) in entries {
            if literal.entries.len() == LITERAL_MAX || literal.entries.iter().any(|(known, _)| *known == key)
            {
                return Ok(false);
            }
            let value = self.value(*value, here)?;
            if !value.is_undefined() {
                literal.entries.push((key, value));
            }
        }
        Ok(true)
    }

    fn unary(&self, operator: UnaryOperator, operand: ExprId, here: Here<'_>) -> Evaluated<Value> {
        match operator {
            UnaryOperator::Not => Ok(Value::Boolean(!self.truth(operand, here)?)),
            UnaryOperator::Minus => structure::negative(&*self.value(operand, here)?),
            UnaryOperator::Plus => structure::positive(&*self.value(operand, here)?),
        }
    }

    fn binary(
        &self,
        operator: BinaryOperator,
        left: ExprId,
        right: ExprId,
        here: Here<'_>,
    ) -> Evaluated<Value> {
        if let Some(test) = Test::of(operator) {
            return self.test(test, left, right, here).map(Value::Boolean);
        }
        let (left, right) = (self.value(left, here)?, self.value(right, here)?);
        computed(operator, &left, &right)
    }

    fn chain<'h>(
        &self,
        first: ExprId,
        rest: &[(BinaryOperator, ExprId)],
        here: Here<'h>,
    ) -> Evaluated<Cow<'h, Value>>
    where
        'a: 'h,
    {
        let mut left = self.value(first, here)?;
        for (operator, operand) in rest {
            left = Cow::Owned(computed(*operator, &left, &*self.value(*operand, here)?)?);
        }
        Ok(left)
    }

    fn matches(&self, pattern: &Compiled, operand: ExprId, here: Here<'_>) -> Evaluated<bool> {
        let value = self.value(operand, here)?;
        if let Value::Text(text) = &*value { pattern.is_match(text) } else { Ok(false) }
    }

    #[inline]
    fn lookup<'h>(&self, lookup: &'a Lookup, here: Here<'h>) -> Evaluated<Cow<'h, Value>>
    where
        'a: 'h,
    {
        if let Some(value) = self.question.number(lookup.slot).atom().and_then(|atom| lookup.get(atom)) {
            return Ok(Cow::Borrowed(value));
        }
        let at = self.value(lookup.key, here)?;
        by_value(self.value(lookup.base, here)?, &at)
    }

    /// A step from a value; what is borrowed stays borrowed where it can.
    fn take<'h>(&self, base: Cow<'h, Value>, step: &'a Step, here: Here<'h>) -> Evaluated<Cow<'h, Value>>
    where
        'a: 'h,
    {
        let taken = match step {
            Step::Key(key) => return Ok(by_key(base, key)),
            Step::Computed(expression) => {
                let at = self.value(*expression, here)?;
                return by_value(base, &at);
            }
            Step::Index(index) => structure::index(&base, *index),
            Step::Wildcard => structure::wildcard(&base),
            Step::Slice(slice) => structure::slice(&base, *slice),
            Step::Condition(condition) => {
                structure::condition(&base, |relative| self.owned(*condition, &relative))
            }
            Step::Indices(indices) => structure::indices(&base, indices),
            Step::Keys(keys) => structure::keys(&base, keys),
            Step::DeepKey(key) => structure::descendants_of(&base, key),
            Step::DeepWildcard => structure::all_descendants(&base),
            Step::DeepIndex(index) => structure::descendants_at(&base, *index),
        };
        if let Step::DeepKey(_) | Step::DeepWildcard | Step::DeepIndex(_) = step {
            self.step(0)?;
        }
        taken.map(Cow::Owned)
    }

    fn call(&self, Library(function): Library, arguments: &[ExprId], here: Here<'_>) -> Evaluated<Value> {
        let mut values = SmallVec::<[Value; 4]>::new();
        for argument in arguments {
            values.push(self.value(*argument, here)?.into_owned());
        }
        values.iter().filter(|value| is_nested(value)).for_each(note_walk_over);
        self.step(1)?;
        let result = function.call(&values)?;
        if is_nested(&result) { self.limited(result) } else { Ok(result) }
    }

    fn stand_in(&self, name: &str, arguments: &[ExprId], here: Here<'_>) -> Evaluated<Value> {
        let values = arguments.iter().map(|argument| Ok(self.value(*argument, here)?.into_owned()));
        let values = values.collect::<Evaluated<Vec<Value>>>()?;
        self.step(1)?;
        structure::limited(self.question.stand_in(name, &values)?)
    }

    fn edit(&self, base: ExprId, path: &EditPath, filter: ExprId, here: Here<'_>) -> Evaluated<Value> {
        let base = self.value(base, here)?;
        let mut apply = |value: &Value| self.owned(filter, &Relative { value, location: Value::Undefined });
        let mut evaluate = |id: &ExprId, relative: &Relative<'_>| self.owned(*id, relative);
        structure::filter(&base, path.walk(), &mut apply, &mut evaluate)
    }

    fn found(&self, finder: &Finder, here: Here<'_>) -> Evaluated<Value> {
        let entity = match finder.entity {
            Some(entity) => Some(self.value(entity, here)?.into_owned()),
            None => None,
        };
        if entity.as_ref().is_some_and(Value::is_undefined) {
            return Err(Fault::processing(format!("`<{}>` is asked of an undefined value", finder.name)));
        }
        let arguments = finder.arguments.iter().map(|argument| Ok(self.value(*argument, here)?.into_owned()));
        self.question.found(Invocation {
            name: finder.name.clone(),
            entity,
            arguments: arguments.collect::<Evaluated<_>>()?,
            options: finder.options,
            head: finder.head,
        })
    }
}

/// The entries of an object that is never put together: none is undefined, and no two have the same key.
struct Literal<'h> {
    entries: SmallVec<[(&'h SmolStr, Cow<'h, Value>); LITERAL_MAX]>,
}

/// Objects with more entries are put together to be compared.
const LITERAL_MAX: usize = 4;

impl Literal<'_> {
    /// Whether an array has such an element, or an object such a value; `None` for anything else.
    fn is_in(&self, haystack: &Value) -> Option<bool> {
        match (haystack.as_array(), haystack.as_object()) {
            (Some(values), _) => Some(values.iter().any(|value| self.equals(value))),
            (None, Some(object)) => Some(object.values().any(|value| self.equals(value))),
            (None, None) => None,
        }
    }

    fn equals(&self, value: &Value) -> bool {
        let Some(object) = value.as_object() else { return false };
        object.len() == self.entries.len()
            && self
                .entries
                .iter()
                .all(|(key, value)| object.get(key).is_some_and(|found| found.equals(value)))
    }
}

/// How many values there are to look through, in an array or an object.
fn length_of(haystack: &Value) -> Option<usize> {
    let array = haystack.as_array().map(|values| values.len());
    array.or_else(|| haystack.as_object().map(|object| object.len()))
}

/// Looking through so many values takes as long as a step; looking through fewer is not counted.
const LONG_MIN: usize = 16;

/// The operators that give true or false.
#[derive(Clone, Copy)]
enum Test {
    Equal,
    NotEqual,
    Compare(Comparison),
    In,
    AnyIn,
    AllIn,
    Has,
    HasAny,
    HasAll,
    ExclusiveOr,
}

impl Test {
    #[inline]
    fn of(operator: BinaryOperator) -> Option<Test> {
        Some(match operator {
            BinaryOperator::Equal => Test::Equal,
            BinaryOperator::NotEqual => Test::NotEqual,
            BinaryOperator::Less => Test::Compare(Comparison::Less),
            BinaryOperator::LessOrEqual => Test::Compare(Comparison::LessOrEqual),
            BinaryOperator::Greater => Test::Compare(Comparison::Greater),
            BinaryOperator::GreaterOrEqual => Test::Compare(Comparison::GreaterOrEqual),
            BinaryOperator::In => Test::In,
            BinaryOperator::AnyIn => Test::AnyIn,
            BinaryOperator::AllIn => Test::AllIn,
            BinaryOperator::Has => Test::Has,
            BinaryOperator::HasAny => Test::HasAny,
            BinaryOperator::HasAll => Test::HasAll,
            BinaryOperator::ExclusiveOr => Test::ExclusiveOr,
            BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Remainder => return None,
        })
    }
}

/// What an operator says of two values that are evaluated already.
///
/// # Errors
/// What the operator's error is.
pub fn operate(operator: BinaryOperator, left: &Value, right: &Value) -> Evaluated<Value> {
    match Test::of(operator) {
        Some(test) => tested(test, left, right).map(Value::Boolean),
        None => computed(operator, left, right),
    }
}

#[inline]
fn tested(test: Test, left: &Value, right: &Value) -> Evaluated<bool> {
    match test {
        Test::Equal => Ok(left.equals(right)),
        Test::NotEqual => Ok(!left.equals(right)),
        Test::Compare(comparison) => structure::compare(comparison, left, right),
        Test::In => structure::is_in(left, right),
        Test::AnyIn => structure::any_in(left, right),
        Test::AllIn => structure::all_in(left, right),
        Test::Has => structure::has(left, right),
        Test::HasAny => structure::has_any(left, right),
        Test::HasAll => structure::has_all(left, right),
        Test::ExclusiveOr => structure::exclusive_or(left, right),
    }
}

/// Whether there may be other values inside.
#[inline]
const fn is_nested(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

/// The operators that chain.
fn computed(operator: BinaryOperator, left: &Value, right: &Value) -> Evaluated<Value> {
    match operator {
        BinaryOperator::Add => structure::add(left, right),
        BinaryOperator::Subtract => structure::calculate(Numeric::Subtract, left, right),
        BinaryOperator::Multiply => structure::calculate(Numeric::Multiply, left, right),
        BinaryOperator::Divide => structure::calculate(Numeric::Divide, left, right),
        BinaryOperator::Remainder => structure::calculate(Numeric::Remainder, left, right),
        BinaryOperator::ExclusiveOr => structure::exclusive_or(left, right).map(Value::Boolean),
        BinaryOperator::Equal
        | BinaryOperator::NotEqual
        | BinaryOperator::Less
        | BinaryOperator::LessOrEqual
        | BinaryOperator::Greater
        | BinaryOperator::GreaterOrEqual
        | BinaryOperator::In
        | BinaryOperator::AnyIn
        | BinaryOperator::AllIn
        | BinaryOperator::Has
        | BinaryOperator::HasAny
        | BinaryOperator::HasAll => Err(Fault::processing("an operator that does not chain")),
    }
}

#[inline]
fn boolean(value: &Value) -> Evaluated<bool> {
    if let Value::Boolean(boolean) = value { Ok(*boolean) } else { Err(no_truth(value)) }
}

#[cold]
fn no_truth(value: &Value) -> Box<Fault> {
    Fault::processing(format!("a condition must be true or false, not {}", kind_of(value)))
}

#[inline]
fn by_key<'h>(base: Cow<'h, Value>, key: &Key) -> Cow<'h, Value> {
    match base {
        Cow::Borrowed(Value::Object(object)) => Cow::Borrowed(object.get_key(key).unwrap_or(&UNDEFINED)),
        Cow::Borrowed(base) => key_of(base, key.as_str()),
        Cow::Owned(base) => Cow::Owned(structure::key_of(&base, key)),
    }
}

/// `[(..)]`
#[inline]
fn by_value<'h>(base: Cow<'h, Value>, at: &Value) -> Evaluated<Cow<'h, Value>> {
    match (base, at) {
        (Cow::Borrowed(base), Value::Text(key)) => Ok(key_of(base, key)),
        (base, at) => structure::lookup(&base, at).map(Cow::Owned),
    }
}

//! Expressions: values out of what is known (XACML 3.0, section 7.3 to 7.9 and appendix A.3).

use std::borrow::Cow;

use super::structured::{Reckoner, is_one_of};
use super::unknown::Unknown;
use super::{Evaluator, Shortlist, Trace, too_many_steps, walked_steps};
use crate::datatype::Integer;
use crate::fault::{Evaluated, Fault};
use crate::function::{Body, Contextual, Function, HigherOrder, Lazy, regexp};
use crate::program::{Expr, ExprId, Match, Selector};
use crate::value::{Operand, Value, take_walked};

/// What compiling a regular expression that a request brought counts for: it takes up to some milliseconds.
const PATTERN_STEPS: usize = 20_000;

impl<'a, S: Shortlist, T: Trace> Evaluator<'a, S, T> {
    /// The value of an expression that is true or false: a target, a condition, or part of one.
    ///
    /// # Errors
    /// What the expression's error is; Indeterminate in the standard's words.
    pub fn truth(&self, id: ExprId) -> Evaluated<bool> {
        if let Some(truth) = self.remembering.and_then(|memory| memory.tabled(id, self.question)) {
            return Ok(truth);
        }
        match self.program.expr(id) {
            Expr::All(parts) => self.all(parts),
            Expr::Any(parts) => self.any(parts),
            Expr::Match(matching) => self.matching(matching),
            Expr::Lazy(Lazy::And, parts) => self.all(parts),
            Expr::Lazy(Lazy::Or, parts) => self.any(parts),
            Expr::Lazy(Lazy::NOf, parts) => self.n_of(parts),
            Expr::Matches(pattern, text) => {
                let operand = self.operand(*text)?;
                Ok(pattern.is_match(&operand.as_one()?.lexical()))
            }
            Expr::IsOneOf(slot, atoms) => Ok(is_one_of(self.question, *slot, atoms)),
            Expr::Structured(_) | Expr::Part(_) | Expr::Failed(_) => {
                self.reckoner().evaluated_truth(id, None)
            }
            Expr::Constant(_)
            | Expr::Attribute { .. }
            | Expr::Selector(_)
            | Expr::Call(..)
            | Expr::HigherOrder(..)
            | Expr::Contextual(..) => self.operand(id)?.as_boolean(),
        }
    }

    /// The value of an expression over values of JSON, by itself: nothing around it says what `@` is. It stands only if
    /// [`crate::question::Question::invocations`] is empty afterwards.
    ///
    /// # Errors
    /// What the expression's error is; and it takes more steps than there are.
    pub fn value(&self, id: ExprId) -> Evaluated<Value> {
        // What was walked over before is not this expression's.
        take_walked();
        let value = self.reckoner().value(id, None).map(Cow::into_owned);
        if self.is_spent() { Err(too_many_steps(self.steps_max)) } else { value }
    }

    /// The value of any expression.
    ///
    /// # Errors
    /// What the expression's error is.
    pub fn operand(&self, id: ExprId) -> Evaluated<Operand<'a>> {
        match self.program.expr(id) {
            Expr::Constant(Operand::One(value)) => Ok(Operand::One(Cow::Borrowed(value.as_ref()))),
            Expr::Constant(Operand::Bag(values)) => Ok(Operand::Bag(Cow::Borrowed(values.as_ref()))),
            Expr::Attribute { slot, must_be_present } => {
                let values = self.question.values(*slot);
                if values.is_empty() && *must_be_present {
                    return Err(Fault::missing(self.program.slots.name(*slot).clone()));
                }
                Ok(Operand::Bag(values))
            }
            Expr::Selector(selector) => self.selector(selector),
            Expr::Call(function, args) => self.call(function, args),
            Expr::HigherOrder(kind, function, args) => self.higher_order(*kind, function, args),
            Expr::Contextual(function, args) => self.apply(function, &self.operands(args)?),
            Expr::All(_)
            | Expr::Any(_)
            | Expr::Match(_)
            | Expr::Lazy(..)
            | Expr::Matches(..)
            | Expr::IsOneOf(..) => Ok(Operand::one(Value::Boolean(self.truth(id)?))),
            Expr::Structured(_) | Expr::Part(_) | Expr::Failed(_) => {
                self.reckoner().value(id, None).map(Operand::One)
            }
        }
    }

    /// What evaluates expressions over values of JSON.
    fn reckoner(&self) -> Reckoner<'a, '_> {
        Reckoner {
            exprs: self.program.all_exprs(),
            question: self.question,
            steps: &self.steps,
            steps_max: self.steps_max,
            remembering: self.remembering,
        }
    }

    fn selector(&self, selector: &Selector) -> Evaluated<Operand<'a>> {
        let values = self.question.surroundings().select(selector)?;
        if values.is_empty() && selector.must_be_present {
            return Err(Fault::selects_nothing(&selector.path.path));
        }
        Ok(Operand::bag(values))
    }

    /// False wins over an error wherever it stands. For targets that is section 7.7; for the function `and` it is
    /// the letter of A.3.5 ("SHALL return False if any of its arguments evaluates to False").
    fn all(&self, parts: &[ExprId]) -> Evaluated<bool> {
        self.decided(parts, false)
    }

    /// True wins over an error, as above.
    fn any(&self, parts: &[ExprId]) -> Evaluated<bool> {
        self.decided(parts, true)
    }

    /// Whether any part is `decisive`; that comes to all of them.
    #[inline(always)]
    fn decided(&self, parts: &[ExprId], decisive: bool) -> Evaluated<bool> {
        let open = self.question.open();
        let mut unknown = Unknown::new();
        let mut is_assumed = false;
        for part in parts {
            let before = self.question.open();
            match self.truth(*part) {
                Ok(truth) if truth != decisive => {}
                Ok(_) if self.question.is_certain_since(before) => {
                    // What finders have yet to say about other parts makes no difference.
                    self.question.forget_since(open);
                    return Ok(decisive);
                }
                Ok(_) => is_assumed = true,
                Err(fault) => unknown.note(fault),
            }
        }
        if is_assumed { Ok(decisive) } else { unknown.or(!decisive) }
    }

    /// A.3.5 `n-of`: True once enough of the arguments are, an error only while errors could make the difference.
    fn n_of(&self, parts: &[ExprId]) -> Evaluated<bool> {
        let Some((first, rest)) = parts.split_first() else {
            return Err(Fault::processing("`n-of` needs a number"));
        };
        let wanted = match self.operand(*first)?.as_integer()? {
            Integer::Small(wanted) => *wanted,
            Integer::Big(_) => i64::MAX,
        };
        if wanted == 0 {
            return Ok(true);
        }
        if wanted < 0 || wanted > rest.len() as i64 {
            return Err(Fault::processing(format!("`n-of` wants {wanted} of {} arguments", rest.len())));
        }
        let mut unknown = Unknown::new();
        let (mut missing, mut errors, mut left) = (wanted, 0, rest.len() as i64);
        for part in rest {
            left -= 1;
            match self.truth(*part) {
                Ok(true) => missing -= 1,
                Ok(false) => {}
                Err(fault) => {
                    errors += 1;
                    unknown.note(fault);
                }
            }
            if missing == 0 {
                return Ok(true);
            }
            if missing > left + errors {
                return Ok(false);
            }
        }
        unknown.or(false)
    }

    /// Section 7.6: True if the function holds for any value of the bag, else an error if there was one.
    fn matching(&self, matching: &Match) -> Evaluated<bool> {
        let bag = self.operand(matching.bag)?;
        let values = bag.as_bag()?;
        self.step(values.len())?;
        if matching.is_equality {
            return Ok(values.iter().any(|value| matching.literal.equals(value)));
        }
        if let Some(pattern) = &matching.pattern {
            return Ok(values.iter().any(|value| pattern.is_match(&value.lexical())));
        }
        let mut unknown = Unknown::new();
        for value in values {
            let args = [Operand::One(Cow::Borrowed(&matching.literal)), Operand::One(Cow::Borrowed(value))];
            match self.apply(matching.function, &args).and_then(|result| result.as_boolean()) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(fault) => unknown.note(fault),
            }
        }
        unknown.or(false)
    }

    fn call(&self, function: &'static Function, args: &[ExprId]) -> Evaluated<Operand<'a>> {
        match args {
            [one] => self.apply(function, &[self.operand(*one)?]),
            [one, two] => self.apply(function, &[self.operand(*one)?, self.operand(*two)?]),
            _ => {
                let operands = self.operands(args)?;
                self.step(operands.len())?;
                self.apply(function, &operands)
            }
        }
    }

    fn operands(&self, args: &[ExprId]) -> Evaluated<Vec<Operand<'a>>> {
        args.iter().map(|arg| self.operand(*arg)).collect()
    }

    /// A.3.12. Each asks its function about values out of the bags, as `or` and `and` would.
    fn higher_order(
        &self,
        kind: HigherOrder,
        function: &'static Function,
        args: &[ExprId],
    ) -> Evaluated<Operand<'a>> {
        let operands = self.operands(args)?;
        let truth = match kind {
            HigherOrder::AnyOf => self.over_one_bag(function, &operands, true)?,
            HigherOrder::AllOf => self.over_one_bag(function, &operands, false)?,
            HigherOrder::AnyOfAny => self.any_of_any(function, &operands, &mut Vec::new())?,
            HigherOrder::AllOfAny => {
                let (first, second) = two_bags(&operands)?;
                self.every(first, |a| self.some(second, |b| self.holds(function, a, b)))?
            }
            HigherOrder::AnyOfAll => {
                // "between each element of the second bag and any element of the first"
                let (first, second) = two_bags(&operands)?;
                self.every(second, |b| self.some(first, |a| self.holds(function, a, b)))?
            }
            HigherOrder::AllOfAll => {
                let (first, second) = two_bags(&operands)?;
                self.every(first, |a| self.every(second, |b| self.holds(function, a, b)))?
            }
            HigherOrder::Map => return self.map(function, &operands),
        };
        Ok(Operand::one(Value::Boolean(truth)))
    }

    fn holds(&self, function: &'static Function, a: &Value, b: &Value) -> Evaluated<bool> {
        self.step_applying()?;
        self.apply(function, &[Operand::One(Cow::Borrowed(a)), Operand::One(Cow::Borrowed(b))])?.as_boolean()
    }

    /// `any-of` looks for a True, `all-of` for a False.
    fn over_one_bag(
        &self,
        function: &'static Function,
        operands: &[Operand<'_>],
        looking_for: bool,
    ) -> Evaluated<bool> {
        let mut unknown = Unknown::new();
        for applied in self.apply_to_each(function, operands)? {
            match applied.and_then(|result| result.as_boolean()) {
                Ok(found) if found == looking_for => return Ok(looking_for),
                Ok(_) => {}
                Err(fault) if self.is_spent() => return Err(fault),
                Err(fault) => unknown.note(fault),
            }
        }
        unknown.or(!looking_for)
    }

    fn map(&self, function: &'static Function, operands: &[Operand<'_>]) -> Evaluated<Operand<'a>> {
        let results = self.apply_to_each(function, operands)?.map(|result| match result? {
            Operand::One(value) => Ok(value.into_owned()),
            Operand::Bag(_) => Err(Fault::processing("`map` needs a function that gives one value")),
        });
        Ok(Operand::bag(results.collect::<Evaluated<Vec<Value>>>()?))
    }

    /// The function applied once for every value of the only bag among the operands, in its place.
    fn apply_to_each<'o>(
        &'o self,
        function: &'static Function,
        operands: &'o [Operand<'_>],
    ) -> Evaluated<impl Iterator<Item = Evaluated<Operand<'static>>> + 'o> {
        let mut bags = operands.iter().enumerate().filter_map(|(at, operand)| match operand {
            Operand::Bag(values) => Some((at, values)),
            Operand::One(_) => None,
        });
        let (Some((bag_at, values)), None) = (bags.next(), bags.next()) else {
            return Err(Fault::processing("exactly one argument must be a bag"));
        };
        Ok(values.iter().map(move |value| {
            self.step_applying()?;
            let mut args = Vec::with_capacity(operands.len());
            for (at, operand) in operands.iter().enumerate() {
                args.push(if at == bag_at { Operand::One(Cow::Borrowed(value)) } else { operand.clone() });
            }
            self.apply(function, &args)
        }))
    }

    /// Every combination of values, one out of each operand, from the left.
    fn any_of_any<'o>(
        &self,
        function: &'static Function,
        operands: &'o [Operand<'_>],
        chosen: &mut Vec<&'o Value>,
    ) -> Evaluated<bool> {
        let Some((first, rest)) = operands.split_first() else {
            self.step_applying()?;
            let args: Vec<Operand<'_>> =
                chosen.iter().map(|value| Operand::One(Cow::Borrowed(*value))).collect();
            return self.apply(function, &args)?.as_boolean();
        };
        let values: &[Value] = match first {
            Operand::One(value) => std::slice::from_ref(value.as_ref()),
            Operand::Bag(values) => values,
        };
        let mut unknown = Unknown::new();
        for value in values {
            chosen.push(value);
            let outcome = self.any_of_any(function, rest, chosen);
            chosen.pop();
            match outcome {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(fault) if self.is_spent() => return Err(fault),
                Err(fault) => unknown.note(fault),
            }
        }
        unknown.or(false)
    }

    /// Whether the test holds for some value; once the budget is spent, no further value is tried.
    fn some(&self, values: &[Value], mut test: impl FnMut(&Value) -> Evaluated<bool>) -> Evaluated<bool> {
        let mut unknown = Unknown::new();
        for value in values {
            match test(value) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(fault) if self.is_spent() => return Err(fault),
                Err(fault) => unknown.note(fault),
            }
        }
        unknown.or(false)
    }

    /// Whether the test holds for every value; once the budget is spent, no further value is tried.
    fn every(&self, values: &[Value], mut test: impl FnMut(&Value) -> Evaluated<bool>) -> Evaluated<bool> {
        let mut unknown = Unknown::new();
        for value in values {
            match test(value) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(fault) if self.is_spent() => return Err(fault),
                Err(fault) => unknown.note(fault),
            }
        }
        unknown.or(true)
    }

    /// Calls a function with evaluated arguments. Functions that evaluate their own arguments can be called this way
    /// too, by a higher-order function: `and` over two bags of booleans.
    #[inline]
    fn apply(&self, function: &'static Function, args: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
        match function.body {
            Body::Strict(_, run) => run(args),
            Body::Lazy(lazy) => Ok(Operand::one(Value::Boolean(lazy_over_values(lazy, args)?))),
            Body::Contextual(contextual) => self.over_content(contextual, function, args),
            Body::HigherOrder(_) => {
                Err(Fault::processing(format!("`{}` cannot be passed to another function", function.id)))
            }
        }
    }

    /// Looks into the content of the request, or asks for another decision.
    fn over_content(
        &self,
        contextual: Contextual,
        function: &'static Function,
        args: &[Operand<'_>],
    ) -> Evaluated<Operand<'static>> {
        let surroundings = self.question.surroundings();
        let value = match (contextual, args) {
            (Contextual::XPathNodeCount, [path]) => {
                let count = surroundings.node_count(path.as_one()?)?;
                Value::Integer(Integer::Small(i64::try_from(count).unwrap_or(i64::MAX)))
            }
            (Contextual::XPathNodeEqual, [a, b]) => {
                Value::Boolean(surroundings.node_equal(a.as_one()?, b.as_one()?)?)
            }
            (Contextual::XPathNodeMatch, [a, b]) => {
                Value::Boolean(surroundings.node_match(a.as_one()?, b.as_one()?)?)
            }
            (Contextual::AccessPermitted, [category, attributes]) => Value::Boolean(
                surroundings
                    .access_permitted(&category.as_one()?.lexical(), &attributes.as_one()?.lexical())?,
            ),
            _ => {
                return Err(Fault::processing(format!(
                    "`{}` got the wrong number of arguments",
                    function.id
                )));
            }
        };
        Ok(Operand::one(value))
    }

    /// One step for applying a function to values, and more if the last application compiled a pattern.
    fn step_applying(&self) -> Evaluated<()> {
        self.step(1 + regexp::take_compiled() as usize * PATTERN_STEPS)
    }

    pub(super) fn step(&self, steps: usize) -> Evaluated<()> {
        self.steps.set(self.steps.get() + steps as u64 + walked_steps());
        if self.is_spent() { Err(too_many_steps(self.steps_max)) } else { Ok(()) }
    }

    /// Whether more steps were needed than there are.
    pub fn is_spent(&self) -> bool {
        self.steps.get() > self.steps_max
    }
}

fn lazy_over_values(lazy: Lazy, args: &[Operand<'_>]) -> Evaluated<bool> {
    let (wanted, rest) = match (lazy, args) {
        (Lazy::Or, rest) => (1, rest),
        (Lazy::And, rest) => (rest.len() as i64, rest),
        (Lazy::NOf, [first, rest @ ..]) => match first.as_integer()? {
            Integer::Small(wanted) if (0..=rest.len() as i64).contains(wanted) => (*wanted, rest),
            wanted @ (Integer::Small(_) | Integer::Big(_)) => {
                return Err(Fault::processing(format!("`n-of` wants {wanted} of {} arguments", rest.len())));
            }
        },
        (Lazy::NOf, []) => return Err(Fault::processing("`n-of` needs a number")),
    };
    let mut found = 0;
    for arg in rest {
        found += i64::from(arg.as_boolean()?);
    }
    Ok(found >= wanted)
}

fn two_bags<'o>(operands: &'o [Operand<'_>]) -> Evaluated<(&'o [Value], &'o [Value])> {
    match operands {
        [first, second] => Ok((first.as_bag()?, second.as_bag()?)),
        _ => Err(Fault::processing("exactly two bags are needed")),
    }
}

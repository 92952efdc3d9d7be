//! When an expression is true, when it is false, and when it is an error.

use durward_ir::fault::Evaluated;
use durward_ir::function::Lazy;
use durward_ir::program::{Expr, ExprId, Match, Structured, UnaryOperator};
use durward_ir::value::{DataType, Value};

use super::{Cases, Folding, Sym, SymOperand};
use crate::filter::TextTest;
use crate::formula::F;
use crate::interval::{Interval, Truth};

/// `n-of` of more arguments is not lowered.
const N_OF_MAX: usize = 12;

impl Folding<'_> {
    /// As the evaluator's `truth`.
    pub(crate) fn truth(&mut self, id: ExprId) -> Truth {
        if let Some(known) = self.truths.get(&id) {
            return *known;
        }
        if !self.begin_expression() {
            return Truth::UNKNOWN;
        }
        let truth = self.new_truth(id);
        self.truths.insert(id, truth);
        truth
    }

    fn new_truth(&mut self, id: ExprId) -> Truth {
        if !self.depends(id) {
            let evaluated = self.evaluated(id, |evaluator| evaluator.truth(id));
            return evaluated.map_or(Truth::UNKNOWN, known);
        }
        let program = self.program;
        match program.expr(id) {
            Expr::All(parts) | Expr::Lazy(Lazy::And, parts) => self.junction(parts, false),
            Expr::Any(parts) | Expr::Lazy(Lazy::Or, parts) => self.junction(parts, true),
            Expr::Lazy(Lazy::NOf, parts) => self.n_of(parts),
            Expr::Match(matching) => self.matching(matching),
            Expr::Matches(pattern, text) => {
                let cases = self.operand(*text);
                let truth = |sym: &SymOperand| match sym {
                    SymOperand::One(Sym::Known(value)) => Truth::constant(pattern.is_match(&value.lexical())),
                    SymOperand::One(Sym::Column(..)) => Truth::EITHER,
                    SymOperand::Failed | SymOperand::Bag(_) | SymOperand::ManyBag(..) => Truth::ERROR,
                    SymOperand::One(_) | SymOperand::Opaque => Truth::UNKNOWN,
                };
                self.note("a regular expression is applied to a column");
                let cases: Vec<(F, Truth)> = cases.iter().map(|(guard, sym)| (*guard, truth(sym))).collect();
                self.formulas.by_cases(&cases)
            }
            Expr::IsOneOf(slot, atoms) => {
                let values: Vec<Value> =
                    atoms.iter().map(|atom| program.slots.atom(*atom).1.clone()).collect();
                let cases = self.part(*slot);
                self.by_value(&cases, |folding, sym| match sym {
                    Sym::Failed | Sym::Opaque => Truth::EITHER,
                    sym @ (Sym::Known(_)
                    | Sym::Column(..)
                    | Sym::Many(_)
                    | Sym::Object(_)
                    | Sym::Built(_)) => {
                        let same = folding.same_as_any(sym, &values);
                        Truth::of_some(same)
                    }
                })
            }
            Expr::Structured(Structured::Unary(UnaryOperator::Not, operand)) => {
                self.truth(*operand).negated()
            }
            Expr::Structured(Structured::Binary(operator, left, right)) if !operator.is_arithmetic() => {
                let parts = [self.value(*left), self.value(*right)];
                self.by_two(&parts, |folding, left, right| folding.tested(*operator, left, right))
            }
            Expr::Structured(Structured::Matches(pattern, operand)) => {
                let cases = self.value(*operand);
                self.by_value(&cases, |folding, sym| match sym {
                    Sym::Known(Value::Text(text)) => known(pattern.is_match(text)),
                    Sym::Column(_, DataType::Text) => {
                        folding.note("a regular expression is applied to a column");
                        // Finding out may take too long.
                        Truth::UNKNOWN
                    }
                    Sym::Known(_) | Sym::Column(..) | Sym::Many(_) | Sym::Object(_) | Sym::Built(_) => {
                        Truth::constant(false)
                    }
                    Sym::Failed => Truth::ERROR,
                    Sym::Opaque => Truth::UNKNOWN,
                })
            }
            Expr::Structured(Structured::Call(function, arguments))
                if super::structured::is_test_of_text(function.0.name) =>
            {
                let arguments: Vec<Cases<Sym>> = arguments.iter().map(|part| self.value(*part)).collect();
                self.text_function(function.0.name, &arguments)
            }
            Expr::Structured(_) | Expr::Part(_) | Expr::Failed(_) => {
                let cases = self.value(id);
                self.by_value(&cases, |_, sym| boolean(sym))
            }
            Expr::Constant(_)
            | Expr::Attribute { .. }
            | Expr::Selector(_)
            | Expr::Call(..)
            | Expr::HigherOrder(..)
            | Expr::Contextual(..) => self.operand_truth(id),
        }
    }

    /// The truth of what is one value in each case.
    fn by_value(&mut self, cases: &[(F, Sym)], mut of: impl FnMut(&mut Self, &Sym) -> Truth) -> Truth {
        let mut truths = Vec::with_capacity(cases.len());
        for (guard, sym) in cases {
            truths.push((*guard, of(self, sym)));
        }
        self.formulas.by_cases(&truths)
    }

    fn by_two(
        &mut self,
        parts: &[Cases<Sym>; 2],
        mut of: impl FnMut(&mut Self, &Sym, &Sym) -> Truth,
    ) -> Truth {
        let Some(combinations) = self.combinations(parts) else {
            self.note("a comparison has too many cases");
            return Truth::UNKNOWN;
        };
        let mut truths = Vec::with_capacity(combinations.len());
        for (guard, syms) in combinations {
            if let [left, right] = syms.as_slice() {
                truths.push((guard, of(self, left, right)));
            }
        }
        self.formulas.by_cases(&truths)
    }

    fn text_function(&mut self, name: &str, arguments: &[Cases<Sym>]) -> Truth {
        let Some(combinations) = self.combinations(arguments) else { return Truth::UNKNOWN };
        let mut truths = Vec::with_capacity(combinations.len());
        for (guard, syms) in combinations {
            truths.push((guard, self.test_of_text(name, &syms)));
        }
        self.formulas.by_cases(&truths)
    }

    fn test_of_text(&mut self, name: &str, syms: &[&Sym]) -> Truth {
        if syms.iter().any(|sym| matches!(sym, Sym::Opaque)) {
            return Truth::UNKNOWN;
        }
        let is_text = |sym: &&Sym| matches!(sym, Sym::Known(Value::Text(_)) | Sym::Column(_, DataType::Text));
        if !syms.iter().all(is_text) {
            return Truth::ERROR;
        }
        let test = match (name, syms) {
            ("string.isEmpty", [text]) => {
                let same = self.same(text, &Sym::Known(Value::text("")));
                return Truth::of_some(same);
            }
            ("string.startsWith", [_, _]) => TextTest::Begins,
            ("string.endsWith", [_, _]) => TextTest::Ends,
            ("string.contains", [_, _]) => TextTest::Contains,
            // The wrong number of arguments.
            _ => return Truth::UNKNOWN,
        };
        let (Some(whole), Some(part)) = (syms.first(), syms.get(1)) else { return Truth::UNKNOWN };
        let found = self.part_of_text(test, whole, part);
        if found.is_none() {
            self.note("a text of a column is looked for in another column, or in a long text");
        }
        Truth::of_some(found)
    }

    fn junction(&mut self, parts: &[ExprId], decisive: bool) -> Truth {
        let parts: Vec<Truth> = parts.iter().map(|part| self.truth(*part)).collect();
        self.formulas.kleene(&parts, decisive)
    }

    /// A.3.5 `n-of`: true where enough of the arguments are, false where they could not be even with all errors.
    fn n_of(&mut self, parts: &[ExprId]) -> Truth {
        let Some((first, rest)) = parts.split_first() else { return Truth::ERROR };
        let truths: Vec<Truth> = rest.iter().map(|part| self.truth(*part)).collect();
        let wanted = self.operand(*first);
        let mut cases = Vec::with_capacity(wanted.len());
        for (guard, wanted) in wanted.iter() {
            let truth = match wanted {
                SymOperand::One(Sym::Known(Value::Integer(wanted))) => match wanted.to_i64() {
                    Some(0) => Truth::constant(true),
                    Some(wanted) => {
                        match usize::try_from(wanted).ok().filter(|wanted| *wanted <= truths.len()) {
                            Some(wanted) => self.at_least(wanted, &truths),
                            None => Truth::ERROR,
                        }
                    }
                    None => Truth::ERROR,
                },
                SymOperand::Failed => Truth::ERROR,
                SymOperand::One(_) | SymOperand::Bag(_) | SymOperand::ManyBag(..) | SymOperand::Opaque => {
                    Truth::UNKNOWN
                }
            };
            cases.push((*guard, truth));
        }
        self.formulas.by_cases(&cases)
    }

    fn at_least(&mut self, wanted: usize, truths: &[Truth]) -> Truth {
        if truths.len() > N_OF_MAX {
            self.note("`n-of` has many arguments");
            return Truth::UNKNOWN;
        }
        let yes: Vec<Interval> = truths.iter().map(|truth| truth.yes).collect();
        let no: Vec<Interval> = truths.iter().map(|truth| truth.no).collect();
        let yes = self.threshold(wanted, &yes);
        let no = self.threshold(truths.len() + 1 - wanted, &no);
        let error = self.formulas.every(&[yes.negated(), no.negated()]);
        Truth { yes, no, error }
    }

    /// That at least so many of these hold.
    fn threshold(&mut self, wanted: usize, parts: &[Interval]) -> Interval {
        // By how many are wanted of those that follow.
        let mut later = vec![Interval::FALSE; wanted + 1];
        if let Some(none) = later.first_mut() {
            *none = Interval::TRUE;
        }
        for part in parts.iter().rev() {
            for wanted in (1..later.len()).rev() {
                let (Some(without), Some(with)) =
                    (later.get(wanted).copied(), later.get(wanted - 1).copied())
                else {
                    continue;
                };
                let with = self.formulas.every(&[*part, with]);
                let either = self.formulas.some(&[with, without]);
                if let Some(place) = later.get_mut(wanted) {
                    *place = either;
                }
            }
        }
        later.pop().unwrap_or(Interval::UNKNOWN)
    }

    /// Section 7.6.
    fn matching(&mut self, matching: &Match) -> Truth {
        let cases = self.operand(matching.bag);
        let literal = Sym::Known(matching.literal.clone());
        let mut truths = Vec::with_capacity(cases.len());
        for (guard, bag) in cases.iter() {
            let truth = match bag {
                SymOperand::Bag(values) => {
                    let mut parts = Vec::with_capacity(values.len());
                    for value in values {
                        if !self.begin_expression() {
                            break;
                        }
                        parts.push(match (&matching.pattern, value) {
                            _ if matching.is_equality => {
                                let same = self.same(&literal, value);
                                Truth::of_some(same)
                            }
                            (Some(pattern), Sym::Known(value)) => {
                                Truth::constant(pattern.is_match(&value.lexical()))
                            }
                            (Some(_), _) => {
                                self.note("a regular expression is applied to a column");
                                Truth::EITHER
                            }
                            (None, value) => self.applied(
                                matching.function,
                                &[SymOperand::One(literal.clone()), SymOperand::One(value.clone())],
                            ),
                        });
                    }
                    self.formulas.kleene(&parts, true)
                }
                SymOperand::ManyBag(id, _) if matching.is_equality => {
                    Truth::of(self.holds(*id, &matching.literal))
                }
                SymOperand::ManyBag(..) => {
                    self.note(format!("`{}` of a column of many", matching.function.short_name()));
                    Truth::UNKNOWN
                }
                SymOperand::Failed | SymOperand::One(_) => Truth::ERROR,
                SymOperand::Opaque => Truth::UNKNOWN,
            };
            truths.push((*guard, truth));
        }
        self.formulas.by_cases(&truths)
    }
}

fn known(result: Evaluated<bool>) -> Truth {
    result.map_or(Truth::ERROR, Truth::constant)
}

/// A value that must be true or false.
pub(super) fn boolean(sym: &Sym) -> Truth {
    match sym {
        Sym::Known(Value::Boolean(truth)) => Truth::constant(*truth),
        Sym::Known(_) | Sym::Column(..) | Sym::Many(_) | Sym::Object(_) | Sym::Built(_) | Sym::Failed => {
            Truth::ERROR
        }
        Sym::Opaque => Truth::UNKNOWN,
    }
}

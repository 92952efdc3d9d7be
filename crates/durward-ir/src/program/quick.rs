//! Conditions compiled to what can be answered without evaluation: tables, values named, whole numbers compared.
//!
//! Where a quick condition has no answer it is evaluated; without quick conditions every decision stays the same.

use super::members::Members;
use super::{
    Atom, BinaryOperator, Expr, ExprId, Match, Program, RangeTest, SlotId, Structured, UnaryOperator,
};
use crate::question::{Number, SlotReader};
use crate::structure::Comparison;
use crate::value::{Operand, Value};

/// A condition that can be answered without evaluation.
#[derive(Clone, Debug)]
pub struct Quick(Form);

#[derive(Clone, Debug)]
enum Form {
    Known(bool),
    Members(Members),
    /// The number of a table.
    Table(u32),
    IsOneOf(SlotId, Box<[Atom]>),
    Holds {
        slot: SlotId,
        atom: Atom,
        must_be_present: bool,
    },
    Compare(Comparison, SlotId, SlotId),
    CompareWith(Comparison, SlotId, i64),
    Within(RangeTest),
    Not(Box<Form>),
    All(Box<[Form]>),
    Any(Box<[Form]>),
}

/// How deep conditions are compiled; beyond, they are evaluated.
const NESTING_MAX: usize = 8;

impl Quick {
    /// `None` where the condition must always be evaluated.
    pub fn of(program: &Program, condition: ExprId) -> Option<Quick> {
        form(program, condition, NESTING_MAX).map(Quick)
    }

    /// A number for how it is answered: conditions with equal ones are answered alike.
    pub fn kind(&self) -> u8 {
        match self.0 {
            Form::Known(_) => 0,
            Form::CompareWith(..) => 1,
            Form::Compare(..) => 2,
            Form::Members(_) => 3,
            Form::Holds { .. } => 4,
            Form::IsOneOf(..) => 5,
            Form::Table(_) => 6,
            Form::Not(_) => 7,
            Form::All(_) => 8,
            Form::Any(_) => 9,
            Form::Within(_) => 10,
        }
    }

    /// Whether the condition holds; `None` where it has to be evaluated. To be asked of the program it was made for.
    #[inline]
    pub fn truth(&self, program: &Program, reader: &impl SlotReader) -> Option<bool> {
        self.0.truth(program, reader)
    }
}

impl Form {
    #[inline]
    fn truth(&self, program: &Program, reader: &impl SlotReader) -> Option<bool> {
        match self {
            Form::Members(members) => members.truth(&program.tables.pool, reader.number(members.slot)),
            Form::Compare(comparison, left, right) => {
                Some(holds(*comparison, reader.integer(*left)?, reader.integer(*right)?))
            }
            Form::CompareWith(comparison, slot, constant) => {
                Some(holds(*comparison, reader.integer(*slot)?, *constant))
            }
            Form::IsOneOf(slot, atoms) => is_one_of(reader, *slot, atoms),
            Form::Holds { slot, atom, must_be_present } => match reader.number(*slot) {
                Number::MANY | Number::UNASKED => None,
                Number::ABSENT if *must_be_present => None,
                number => Some(number == Number::of(*atom)),
            },
            Form::Within(test) => test.truth(&program.slots, reader.number(test.slot)),
            Form::Known(truth) => Some(*truth),
            Form::Table(number) => program.tables.truth_by_reader(*number, reader),
            Form::Not(_) | Form::All(_) | Form::Any(_) => self.composed(program, reader),
        }
    }

    /// Recursion goes as deep as [`NESTING_MAX`].
    fn composed(&self, program: &Program, reader: &impl SlotReader) -> Option<bool> {
        match self {
            Form::Not(form) => form.truth(program, reader).map(|truth| !truth),
            Form::All(forms) => junction(forms, program, reader, false),
            Form::Any(forms) => junction(forms, program, reader, true),
            Form::Known(_)
            | Form::Members(_)
            | Form::Table(_)
            | Form::IsOneOf(..)
            | Form::Holds { .. }
            | Form::Compare(..)
            | Form::Within(_)
            | Form::CompareWith(..) => self.truth(program, reader),
        }
    }
}

/// Kleene's: what decides wins over what is not known.
fn junction(forms: &[Form], program: &Program, reader: &impl SlotReader, decisive: bool) -> Option<bool> {
    let mut all = Some(!decisive);
    for form in forms {
        match form.truth(program, reader) {
            Some(truth) if truth == decisive => return Some(decisive),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

#[inline]
fn is_one_of(reader: &impl SlotReader, slot: SlotId, atoms: &[Atom]) -> Option<bool> {
    match reader.number(slot) {
        Number::MANY | Number::UNASKED => None,
        number => Some(number.atom().is_some_and(|atom| match atoms {
            [only] => *only == atom,
            atoms => atoms.binary_search(&atom).is_ok(),
        })),
    }
}

#[inline]
fn holds(comparison: Comparison, left: i64, right: i64) -> bool {
    let (is_less, is_equal) = (left < right, left == right);
    // Without jumps: numbers cannot be foreseen.
    match comparison {
        Comparison::Less => is_less,
        Comparison::LessOrEqual => is_less | is_equal,
        Comparison::Greater => !(is_less | is_equal),
        Comparison::GreaterOrEqual => !is_less,
    }
}

fn form(program: &Program, id: ExprId, levels_left: usize) -> Option<Form> {
    let form = plain_form(program, id, levels_left);
    form.or_else(|| program.range(id).filter(|test| test.is_exact).map(|test| Form::Within(*test)))
}

/// Of anything but pieces, which have to be found first.
fn plain_form(program: &Program, id: ExprId, levels_left: usize) -> Option<Form> {
    let levels_left = levels_left.checked_sub(1)?;
    if let Some(form) = program.tables.form(id) {
        return Some(form);
    }
    let expr = program.expr(id);
    if let Expr::Constant(Operand::One(value)) = expr {
        let Value::Boolean(truth) = value.as_ref() else { return None };
        Some(Form::Known(*truth))
    } else if let Expr::IsOneOf(slot, atoms) = expr {
        Some(Form::IsOneOf(*slot, atoms.clone()))
    } else if let Expr::All(parts) = expr {
        forms(program, parts, levels_left).map(Form::All)
    } else if let Expr::Any(parts) = expr {
        forms(program, parts, levels_left).map(Form::Any)
    } else if let Expr::Match(matching) = expr {
        let Match { atom: Some(atom), bag, .. } = &**matching else { return None };
        let Expr::Attribute { slot, must_be_present } = program.expr(*bag) else { return None };
        Some(Form::Holds { slot: *slot, atom: *atom, must_be_present: *must_be_present })
    } else if let Expr::Structured(Structured::Unary(UnaryOperator::Not, operand)) = expr {
        form(program, *operand, levels_left).map(|form| Form::Not(Box::new(form)))
    } else if let Expr::Structured(Structured::Binary(operator, left, right)) = expr {
        comparison(program, comparison_of(*operator)?, *left, *right)
    } else {
        None
    }
}

fn forms(program: &Program, parts: &[ExprId], levels_left: usize) -> Option<Box<[Form]>> {
    parts.iter().map(|part| form(program, *part, levels_left)).collect()
}

fn comparison(program: &Program, comparison: Comparison, left: ExprId, right: ExprId) -> Option<Form> {
    match (term(program, left)?, term(program, right)?) {
        (Term::Slot(left), Term::Slot(right)) => Some(Form::Compare(comparison, left, right)),
        (Term::Slot(slot), Term::Constant(constant)) => Some(Form::CompareWith(comparison, slot, constant)),
        (Term::Constant(constant), Term::Slot(slot)) => {
            Some(Form::CompareWith(mirrored(comparison), slot, constant))
        }
        (Term::Constant(left), Term::Constant(right)) => Some(Form::Known(holds(comparison, left, right))),
    }
}

/// What is compared.
enum Term {
    Slot(SlotId),
    Constant(i64),
}

fn term(program: &Program, id: ExprId) -> Option<Term> {
    let expr = program.expr(id);
    if let Expr::Part(slot) = expr {
        return Some(Term::Slot(*slot));
    }
    let Expr::Constant(Operand::One(value)) = expr else { return None };
    let Value::Number(number) = value.as_ref() else { return None };
    number.to_i64().map(Term::Constant)
}

fn comparison_of(operator: BinaryOperator) -> Option<Comparison> {
    let comparisons = [
        (BinaryOperator::Less, Comparison::Less),
        (BinaryOperator::LessOrEqual, Comparison::LessOrEqual),
        (BinaryOperator::Greater, Comparison::Greater),
        (BinaryOperator::GreaterOrEqual, Comparison::GreaterOrEqual),
    ];
    comparisons.into_iter().find(|(known, _)| *known == operator).map(|(_, comparison)| comparison)
}

fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
    }
}

impl super::table::Tables {
    /// What answers an expression that has a table.
    fn form(&self, id: ExprId) -> Option<Form> {
        let number = self.number(id)?;
        Some(self.members(number).map_or(Form::Table(number), Form::Members))
    }
}

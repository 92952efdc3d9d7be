//! Reasons in words: which attribute kept a target or condition from holding.

use std::collections::BTreeSet;

use durward_ir::evaluate::{Evaluator, Everything, ListPolicies, Unwatched};
use durward_ir::program::{Atom, Expr, ExprId, Match, Program, SlotId};
use durward_ir::question::Question;
use durward_ir::value::{Operand, Value};

use super::near::Given;

/// How many values or alternatives a reason lists; more do not help anybody.
const LISTED_MAX: usize = 6;

/// Most characters of a value that is shown.
const SHOWN_CHARS_MAX: usize = 200;

/// What is explained: the policies, the question as they see it, and what was asked.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) program: &'a Program,
    pub(super) question: &'a Question<'a>,
    pub(super) given: Given<'a>,
}

/// Why an expression is false.
pub(super) fn why_false(case: &Case<'_>, id: ExprId) -> String {
    match case.program.expr(id) {
        Expr::All(parts) => match parts.iter().find(|part| is_false(case, **part)) {
            Some(part) => why_false(case, *part),
            None => String::new(),
        },
        Expr::Any(parts) => none_of(case, parts),
        Expr::Match(matching) => no_match(case, matching),
        Expr::IsOneOf(slot, atoms) => none_of_these(case, *slot, atoms),
        Expr::Failed(_)
        | Expr::Part(_)
        | Expr::Structured(_)
        | Expr::Constant(_)
        | Expr::Attribute { .. }
        | Expr::Selector(_)
        | Expr::Call(..)
        | Expr::Lazy(..)
        | Expr::HigherOrder(..)
        | Expr::Contextual(..)
        | Expr::Matches(..) => with_attributes(case, id),
    }
}

/// Why a condition holds: the attributes it looked at.
pub(super) fn why_true(case: &Case<'_>, id: ExprId) -> String {
    format!("its condition holds: {}", with_attributes(case, id))
}

fn is_false(case: &Case<'_>, id: ExprId) -> bool {
    let evaluator = Evaluator::new(case.program, case.question, &Everything, &Unwatched, ListPolicies::No);
    matches!(evaluator.truth(id), Ok(false))
}

/// None of several alternatives. Where all compare one attribute with constants, they become one list.
fn none_of(case: &Case<'_>, parts: &[ExprId]) -> String {
    let mut wanted = Vec::new();
    let mut slots = BTreeSet::new();
    for part in parts {
        if let Expr::Match(matching) = case.program.expr(*part)
            && matching.atom.is_some()
            && let Expr::Attribute { slot, .. } = case.program.expr(matching.bag)
        {
            wanted.push(quoted(&matching.literal.lexical()));
            slots.insert(*slot);
        }
    }
    match slots.first() {
        Some(slot) if slots.len() == 1 && wanted.len() == parts.len() => {
            format!("{}, none of {}", attribute(case, *slot), list(wanted))
        }
        _ => {
            let mut reasons: Vec<String> = Vec::new();
            for part in parts {
                let reason = why_false(case, *part);
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
            list_by(reasons, "; ")
        }
    }
}

fn no_match(case: &Case<'_>, matching: &Match) -> String {
    let literal = quoted(&matching.literal.lexical());
    let function = matching.function.id.rsplit(':').next().unwrap_or_default();
    match case.program.expr(matching.bag) {
        Expr::Attribute { slot, .. } if matching.atom.is_some() => {
            format!("{}, not {literal}", attribute(case, *slot))
        }
        Expr::Attribute { slot, .. } => {
            format!("{}, which {function} does not find to fit {literal}", attribute(case, *slot))
        }
        Expr::Constant(_)
        | Expr::Selector(_)
        | Expr::Call(..)
        | Expr::Lazy(..)
        | Expr::HigherOrder(..)
        | Expr::Contextual(..)
        | Expr::Matches(..)
        | Expr::All(_)
        | Expr::Any(_)
        | Expr::Failed(_)
        | Expr::Part(_)
        | Expr::IsOneOf(..)
        | Expr::Structured(_)
        | Expr::Match(_) => format!("nothing in the content fits {literal} by {function}"),
    }
}

/// The attributes below an expression with their values.
fn with_attributes(case: &Case<'_>, id: ExprId) -> String {
    attributes(case, id).unwrap_or_else(|| "it depends on no attribute".into())
}

/// The attributes below an expression with their values, if there are any.
pub(super) fn attributes(case: &Case<'_>, id: ExprId) -> Option<String> {
    let mut slots = BTreeSet::new();
    let mut content = false;
    collect(case.program, id, &mut slots, &mut content);
    let mut parts: Vec<String> = slots.into_iter().map(|slot| attribute(case, slot)).collect();
    if content {
        parts.push("it looks into the content".into());
    }
    (!parts.is_empty()).then(|| list_by(parts, " and "))
}

fn collect(program: &Program, id: ExprId, slots: &mut BTreeSet<SlotId>, content: &mut bool) {
    *content |= program.expr(id).looks_at_content();
    match program.expr(id) {
        Expr::Attribute { slot, .. } => {
            slots.insert(*slot);
        }
        Expr::Selector(_) => {}
        Expr::Call(_, args)
        | Expr::Contextual(_, args)
        | Expr::Lazy(_, args)
        | Expr::HigherOrder(_, _, args)
        | Expr::All(args)
        | Expr::Any(args) => args.iter().for_each(|arg| collect(program, *arg, slots, content)),
        Expr::Matches(_, arg) => collect(program, *arg, slots, content),
        Expr::Match(matching) => collect(program, matching.bag, slots, content),
        Expr::Part(slot) | Expr::IsOneOf(slot, _) => {
            slots.insert(*slot);
        }
        Expr::Structured(structured) => {
            structured.parts(&mut |part, _| collect(program, part, slots, content));
        }
        Expr::Failed(_) | Expr::Constant(Operand::One(_) | Operand::Bag(_)) => {}
    }
}

fn none_of_these(case: &Case<'_>, slot: SlotId, atoms: &[Atom]) -> String {
    let wanted: Vec<String> =
        atoms.iter().map(|atom| quoted(&shown(case.program.slots.atom(*atom).1))).collect();
    let held = attribute(case, slot);
    match wanted.as_slice() {
        [] => format!("{held}, and no value will do"),
        [only] => format!("{held}, not {only}"),
        _ => format!("{held}, none of {}", list(wanted)),
    }
}

/// "`role` is `nurse`", "`role` is missing".
fn attribute(case: &Case<'_>, slot: SlotId) -> String {
    if let Some(path) = case.program.slots.path(slot) {
        let value = case.question.part(slot);
        return match value.is_undefined() {
            true => missing(format!("`{path}` is undefined"), case.given.instead_of_part(path)),
            false => format!("`{path}` is {}", quoted(&shown(&value))),
        };
    }
    let name = quoted(&case.program.slots.name(slot).id);
    let values: Vec<String> =
        case.question.values(slot).iter().map(|value| quoted(&value.lexical())).collect();
    match values.as_slice() {
        [] => {
            let instead = case.given.instead_of_attribute(case.program.slots.name(slot));
            missing(format!("{name} is missing"), instead)
        }
        [value] => format!("{name} is {value}"),
        _ => format!("{name} holds {}", list(values)),
    }
}

/// What is missing, with what is there instead.
fn missing(what: String, instead: Option<String>) -> String {
    instead.map_or_else(|| what.clone(), |instead| format!("{what} ({instead})"))
}

/// A value of SAPL as JSON, cut when it is long.
pub(super) fn shown(value: &Value) -> String {
    let text = value.to_json();
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

fn quoted(text: &str) -> String {
    format!("`{text}`")
}

pub(super) fn list(items: Vec<String>) -> String {
    list_by(items, ", ")
}

fn list_by(mut items: Vec<String>, separator: &str) -> String {
    let more = items.len().saturating_sub(LISTED_MAX);
    items.truncate(LISTED_MAX);
    let listed = items.join(separator);
    if more == 0 { listed } else { format!("{listed}{separator}and {more} more") }
}

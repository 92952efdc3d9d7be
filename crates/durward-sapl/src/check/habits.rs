//! What is right and surprises: hints, which a reader may well disregard.

use std::collections::HashSet;

use smol_str::SmolStr;

use super::Check;
use super::expression::key_of;
use crate::syntax::tree::{
    Chain, ChainOperator, Comparison, ComparisonOperator, Effect, Expr, ExprKind, FunctionCall, Link, Policy,
    Statement, Step, StepKind, UnaryOperator,
};
use crate::syntax::{Span, quote};

/// What has a meaning of its own in a regular expression.
const SPECIAL: [char; 13] = ['\\', '[', ']', '(', ')', '{', '}', '.', '*', '+', '?', '|', '^'];

/// A policy as a whole; `is_gated` where something around it says when it applies.
pub(super) fn policy(check: &mut Check<'_>, policy: &Policy, is_gated: bool) {
    if policy.effect != Effect::Permit {
        return;
    }
    let conditions = || policy.body.iter().filter_map(condition);
    if !is_gated && conditions().next().is_none() {
        let message = format!("policy {} permits whatever is asked", quote(&policy.name.text));
        let help = "give it a condition, unless that is wanted".to_owned();
        check.report.hint("permits-everything", policy.name.span, message, help);
    }
    if conditions().any(excludes) {
        missing(check, conditions());
    }
}

fn condition(statement: &Statement) -> Option<&Expr> {
    match statement {
        Statement::Condition(condition) => Some(condition),
        Statement::Variable(_) => None,
    }
}

/// `subject.status != "blocked"` in a policy that permits, and that asks nothing else of `subject.status`: whoever has none
/// is permitted.
fn missing<'e>(check: &mut Check<'_>, conditions: impl Iterator<Item = &'e Expr>) {
    let mut conjuncts = Vec::new();
    conditions.for_each(|condition| split(condition, &mut conjuncts));
    let mut excluded: Vec<(&str, &Expr)> = Vec::new();
    let mut others = Vec::new();
    for conjunct in conjuncts {
        match excluding(conjunct) {
            Some(path) => excluded.push((check.document.piece(path.span), path)),
            None => others.push(conjunct),
        }
    }
    let (mut asked, mut keys) = (HashSet::new(), HashSet::new());
    for other in others {
        paths(other, &mut |span| {
            asked.insert(check.document.piece(span));
        });
        keys.extend(key_asked_for(other));
    }
    for (piece, path) in excluded {
        let is_asked = asked.contains(piece) || last_key(path).is_some_and(|key| keys.contains(key));
        if is_asked || check.is_required(path) {
            continue;
        }
        let message = format!("this also holds where {} is missing", quote(piece));
        let help = "ask for it with `!= undefined`, or say which values are permitted".to_owned();
        check.report.hint("permits-missing", path.span, message, help);
    }
}

/// The key of `subject has "status"`.
fn key_asked_for(condition: &Expr) -> Option<&SmolStr> {
    let ExprKind::Comparison(comparison) = &condition.kind else { return None };
    let ExprKind::Text(key) = &comparison.right.kind else { return None };
    (comparison.operator == ComparisonOperator::Has).then_some(key)
}

fn last_key(path: &Expr) -> Option<&SmolStr> {
    let ExprKind::Steps { steps, .. } = &path.kind else { return None };
    key_of(steps.last()?)
}

/// Takes `a && b` apart.
fn split<'e>(condition: &'e Expr, conjuncts: &mut Vec<&'e Expr>) {
    let Some(chain) = conjunction(condition) else { return conjuncts.push(condition) };
    split(&chain.first, conjuncts);
    chain.rest.iter().for_each(|link| split(&link.operand, conjuncts));
}

fn conjunction(condition: &Expr) -> Option<&Chain> {
    let ExprKind::Chain(chain) = &condition.kind else { return None };
    let joins = |link: &Link| matches!(link.operator, ChainOperator::LazyAnd | ChainOperator::And);
    chain.rest.iter().all(joins).then_some(chain)
}

/// Whether a condition excludes some values of a path, by itself or by a part of it.
fn excludes(condition: &Expr) -> bool {
    match conjunction(condition) {
        Some(chain) => excludes(&chain.first) || chain.rest.iter().any(|link| excludes(&link.operand)),
        None => excluding(condition).is_some(),
    }
}

/// The path of `path != constant`, of `!(path == constant)` and of `!(path in [constants])`.
fn excluding(condition: &Expr) -> Option<&Expr> {
    let (comparison, operators) = if let ExprKind::Comparison(comparison) = &condition.kind {
        (comparison, [ComparisonOperator::NotEqual; 2])
    } else if let ExprKind::Unary { operator: UnaryOperator::Not, operand, .. } = &condition.kind
        && let ExprKind::Comparison(comparison) = &operand.kind
    {
        (comparison, [ComparisonOperator::Equal, ComparisonOperator::In])
    } else {
        return None;
    };
    let is_value = |expression: &Expr| {
        is_constant(expression) && !matches!(expression.kind, ExprKind::Undefined | ExprKind::Null)
    };
    let is_excluding = operators.contains(&comparison.operator)
        && is_value(&comparison.right)
        && is_key_path(&comparison.left);
    is_excluding.then_some(&comparison.left)
}

/// Whether an expression leads by keys alone to a part of something.
fn is_key_path(expression: &Expr) -> bool {
    let is_key = |step: &Step| matches!(step.kind, StepKind::Key(_));
    matches!(&expression.kind, ExprKind::Steps { steps, .. } if steps.iter().all(is_key))
}

/// Shows every path in an expression, and paths in them.
fn paths(expression: &Expr, show: &mut impl FnMut(Span)) {
    match &expression.kind {
        ExprKind::Steps { base, .. } => {
            show(expression.span);
            paths(base, show);
        }
        ExprKind::Array(elements) => elements.iter().for_each(|element| paths(element, show)),
        ExprKind::Object(entries) => entries.iter().for_each(|entry| paths(&entry.value, show)),
        ExprKind::Call(FunctionCall { arguments, .. }) => {
            arguments.iter().for_each(|argument| paths(argument, show));
        }
        ExprKind::Unary { operand, .. } => paths(operand, show),
        ExprKind::Comparison(comparison) => {
            paths(&comparison.left, show);
            paths(&comparison.right, show);
        }
        ExprKind::Chain(chain) => {
            paths(&chain.first, show);
            chain.rest.iter().for_each(|link| paths(&link.operand, show));
        }
        ExprKind::Filter { base, .. } => paths(base, show),
        ExprKind::Subtemplate { base, .. } => paths(base, show),
        ExprKind::Null
        | ExprKind::Undefined
        | ExprKind::Boolean(_)
        | ExprKind::Number(_)
        | ExprKind::Text(_)
        | ExprKind::Identifier(_)
        | ExprKind::RelativeValue
        | ExprKind::RelativeLocation
        | ExprKind::Attribute(_)
        | ExprKind::Error => {}
    }
}

/// `subject.role == null`: a missing attribute is undefined, and that is not null.
pub(super) fn null(check: &mut Check<'_>, whole: &Expr, comparison: &Comparison) {
    let is_null = |expression: &Expr| matches!(expression.kind, ExprKind::Null);
    let other = match (is_null(&comparison.left), is_null(&comparison.right)) {
        (false, true) => &comparison.left,
        (true, false) => &comparison.right,
        (true, true) | (false, false) => return,
    };
    if matches!(other.kind, ExprKind::Steps { .. } | ExprKind::Identifier(_)) {
        let message = format!(
            "where {} is missing it is `undefined`, which does not equal `null`",
            quote(check.document.piece(other.span))
        );
        let help = "compare with `undefined`, unless `null` itself is meant".to_owned();
        check.report.hint("null-comparison", whole.span, message, help);
    }
}

/// A regular expression that is written out and is none, or is meant as another sort of pattern.
pub(super) fn pattern(check: &mut Check<'_>, pattern: &Expr) {
    let ExprKind::Text(text) = &pattern.kind else { return };
    if !text.contains(SPECIAL) && !text.contains('$') {
        let message = "this text has nothing of a regular expression: `=~` is `==` here".to_owned();
        check.report.hint("plain-pattern", pattern.span, message, "compare with `==`".to_owned());
        return;
    }
    let is_glob = text.contains('*') && !text.contains(|c| SPECIAL.contains(&c) && !matches!(c, '*' | '.'));
    if is_glob
        && text.match_indices('*').all(|(at, _)| !text.get(..at).is_some_and(|before| before.ends_with('.')))
    {
        let message = "in a regular expression, `*` repeats the character before it".to_owned();
        let help = "write `.*` for any text, or use `patterns.matchGlob`".to_owned();
        check.report.hint("glob-pattern", pattern.span, message, help);
    }
}

/// Whether an expression is written out, with nothing in it that could change.
pub(super) fn is_constant(expression: &Expr) -> bool {
    match &expression.kind {
        ExprKind::Null
        | ExprKind::Undefined
        | ExprKind::Boolean(_)
        | ExprKind::Number(_)
        | ExprKind::Text(_) => true,
        ExprKind::Array(elements) => elements.iter().all(is_constant),
        ExprKind::Object(entries) => entries.iter().all(|entry| is_constant(&entry.value)),
        ExprKind::Unary { operand, .. } => is_constant(operand),
        ExprKind::Comparison(comparison) => is_constant(&comparison.left) && is_constant(&comparison.right),
        ExprKind::Chain(chain) => {
            is_constant(&chain.first) && chain.rest.iter().all(|link| is_constant(&link.operand))
        }
        ExprKind::Identifier(_)
        | ExprKind::RelativeValue
        | ExprKind::RelativeLocation
        | ExprKind::Call(_)
        | ExprKind::Attribute(_)
        | ExprKind::Steps { .. }
        | ExprKind::Filter { .. }
        | ExprKind::Subtemplate { .. }
        | ExprKind::Error => false,
    }
}

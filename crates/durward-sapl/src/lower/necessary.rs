//! What of a policy's conditions indexes can work with.
//!
//! Comparisons of parts of the subscription with constants never fail. They become the rule's target, with what must
//! hold for other conditions to hold: since False wins over errors, a rule whose target is False would not have applied
//! anyhow, and one whose target is True applies when its condition holds.

use std::collections::HashSet;

use durward_ir::program::{Builder, Expr, ExprId, Junction};
use foldhash::fast::RandomState;

/// How deep junctions within junctions are looked into.
const NESTING_MAX: usize = 8;

/// Up to so many parts are compared with one another, which takes no longer than hashing them.
const COMPARED_MAX: usize = 16;

/// Takes the conjunction of all conditions apart: the target and the condition of the rule.
pub(super) fn split(builder: &mut Builder, body: Junction) -> (Option<ExprId>, Option<ExprId>) {
    let parts: Vec<ExprId> = match body {
        Junction::Parts(parts, _) => parts,
        Junction::Known(body) => match builder.get(body) {
            Some(Expr::All(parts)) => parts.to_vec(),
            _ => vec![body],
        },
    };
    let mut target = Vec::with_capacity(parts.len());
    let mut condition = Vec::new();
    for part in parts {
        if is_safe(builder, part, NESTING_MAX) {
            target.push(part);
        } else {
            target.extend(weaker(builder, part, NESTING_MAX));
            condition.push(part);
        }
    }
    (conjunction(builder, target), conjunction(builder, condition))
}

/// `None` where there is nothing that must hold.
fn conjunction(builder: &mut Builder, mut parts: Vec<ExprId>) -> Option<ExprId> {
    leave_out_repeats(&mut parts);
    match parts.as_slice() {
        [] => None,
        [only] => {
            let is_true = builder.value_of(*only).is_some_and(|value| value.as_boolean() == Some(true));
            (!is_true).then_some(*only)
        }
        _ => Some(builder.expr(Expr::All(parts.into()))),
    }
}

fn leave_out_repeats(parts: &mut Vec<ExprId>) {
    if parts.len() > COMPARED_MAX {
        let mut seen: HashSet<ExprId, RandomState> = HashSet::default();
        parts.retain(|part| seen.insert(*part));
        return;
    }
    let mut at = 0;
    while let Some((before, [part, ..])) = parts.split_at_checked(at) {
        if before.contains(part) {
            parts.remove(at);
        } else {
            at += 1;
        }
    }
}

/// Whether an expression consists of comparisons with constants, so that it never fails.
fn is_safe(builder: &Builder, id: ExprId, levels_left: usize) -> bool {
    match builder.get(id) {
        Some(Expr::IsOneOf(..)) => true,
        Some(Expr::All(parts) | Expr::Any(parts)) if levels_left > 0 => {
            parts.iter().all(|part| is_safe(builder, *part, levels_left - 1))
        }
        _ => false,
    }
}

/// Something that must hold for the expression to be anything but False, and that never fails.
fn weaker(builder: &mut Builder, id: ExprId, levels_left: usize) -> Option<ExprId> {
    if is_safe(builder, id, levels_left) {
        return Some(id);
    }
    let expr = builder.get(id)?;
    let is_all = matches!(expr, Expr::All(_));
    let (Expr::All(parts) | Expr::Any(parts)) = expr else { return None };
    if levels_left == 0 {
        return None;
    }
    let parts = parts.to_vec();
    let weaker: Vec<Option<ExprId>> =
        parts.into_iter().map(|part| weaker_part(builder, part, levels_left)).collect();
    if is_all {
        return conjunction(builder, weaker.into_iter().flatten().collect());
    }
    let alternatives: Vec<ExprId> = weaker.into_iter().collect::<Option<_>>()?;
    Some(builder.junction(alternatives, true))
}

fn weaker_part(builder: &mut Builder, id: ExprId, levels_left: usize) -> Option<ExprId> {
    weaker(builder, id, levels_left - 1)
}

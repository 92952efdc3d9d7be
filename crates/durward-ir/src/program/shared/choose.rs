//! Chooses what is remembered: what takes longest together, of what is used several times.

use super::{SHARED_MAX, Shared};
use crate::program::{Builder, DutyBody, Expr, ExprId, Node, Structured};

impl Shared {
    /// Chooses among the expressions over values of JSON.
    pub(in crate::program) fn of(builder: &Builder) -> Shared {
        let mut candidates: Vec<(ExprId, u64)> = (0..)
            .map(ExprId)
            .zip(uses(builder))
            .filter(|(id, uses)| *uses > 1 && is_worth_it(builder, *id))
            .map(|(id, uses)| (id, builder.facts(id).size.saturating_mul(uses)))
            .collect();
        if candidates.is_empty() {
            return Shared::default();
        }
        candidates.sort_by_key(|(id, worth)| (std::cmp::Reverse(*worth), *id));
        candidates.truncate(SHARED_MAX);
        let mut places = vec![0; builder.exprs.len()];
        for (place, (id, _)) in (1..).zip(&candidates) {
            if let Some(entry) = places.get_mut(id.0 as usize) {
                *entry = place;
            }
        }
        Shared { places: places.into(), count: candidates.len() }
    }
}

/// Whether it depends on the question alone and takes longer than remembering.
fn is_worth_it(builder: &Builder, id: ExprId) -> bool {
    let facts = builder.facts(id);
    let is_structured = matches!(
        builder.get(id),
        Some(Expr::Structured(structured)) if !matches!(structured, Structured::Here | Structured::Location)
    );
    is_structured && facts.depends && !facts.streams && !facts.is_relative
}

/// For each expression how often it is a part of another one or of an element.
fn uses(builder: &Builder) -> Vec<u64> {
    let mut uses = vec![0; builder.exprs.len()];
    let mut count = |id: ExprId| {
        if let Some(uses) = uses.get_mut(id.0 as usize) {
            *uses += 1;
        }
    };
    for expr in builder.exprs.iter() {
        if let Expr::All(parts) | Expr::Any(parts) = expr {
            parts.iter().copied().for_each(&mut count);
        } else if let Expr::Structured(structured) = expr {
            structured.parts(&mut |part, _| count(part));
        }
    }
    for node in builder.nodes.iter() {
        let (target, condition, duties, transform) = match node {
            Node::Rule(rule) => (rule.target, rule.condition, &rule.duties, rule.transform),
            Node::Set(set) => (set.target, None, &set.duties, None),
        };
        target.into_iter().chain(condition).chain(transform).for_each(&mut count);
        for duty in duties {
            if let DutyBody::Plain(value) = &duty.body {
                count(*value);
            }
        }
    }
    uses
}

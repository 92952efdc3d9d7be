//! Which expressions are worth remembering while one question is decided: those that several others are made of.

use std::sync::Arc;

use super::{Builder, DutyBody, Expr, ExprId, Node, Structured};

/// How many expressions are remembered at most: as many as fit a few cache lines.
pub(crate) const SHARED_MAX: usize = 16;

/// The place of every expression that is remembered.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    /// For each expression one more than its place; 0 where it is not remembered.
    places: Arc<[u8]>,
    count: usize,
}

impl Shared {
    /// Chooses among the expressions over values of JSON.
    pub(super) fn of(builder: &Builder) -> Shared {
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

    /// Whether nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The place of an expression, below [`SHARED_MAX`].
    #[inline]
    pub(super) fn place(&self, id: ExprId) -> Option<usize> {
        usize::from(*self.places.get(id.0 as usize)?).checked_sub(1)
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

//! What is known of the expressions of a program while it is built, and by those that extend it.

use std::sync::Arc;

use smol_str::SmolStr;

use super::digest::same;
use super::expression::Expr;
use super::ids::ExprId;
use super::map::Map;

/// What is known of an expression over values of JSON before it is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether it depends on what is asked.
    pub depends: bool,
    /// Whether an attribute finder is asked.
    pub streams: bool,
    /// Whether it needs to be told what `@` and `#` stand for.
    pub is_relative: bool,
    /// How deep expressions nest in it, itself included.
    pub depth: u32,
    /// How many expressions evaluating it meets, each as often as it is met.
    pub size: u64,
}

/// What is known of the expressions of a program while it is built.
#[derive(Clone, Debug, Default)]
pub(super) struct Folding {
    /// Digest of an expression to one with that digest. A clash only costs the sharing.
    pub(super) exprs: Map<u64, ExprId>,
    /// By expression, from the first that was not there before; shorter where the last ones are not over values of JSON.
    pub(super) facts: Vec<Facts>,
    /// The number of that one.
    pub(super) first: usize,
    /// Digest of an expression to those with that digest and what they come to.
    pub(super) known: Map<u64, Vec<(Expr, ExprId)>>,
    /// Lookups by object and key; `None` where there is no table.
    pub(super) lookups: Map<(ExprId, ExprId), Option<ExprId>>,
    /// Values by what policies call them.
    pub(super) named: Map<SmolStr, ExprId>,
    /// The steps that were taken so far.
    pub(super) steps: u64,
}

impl Folding {
    /// Of a program that goes on behind so many expressions, for which so many steps were taken.
    pub(super) fn behind(first: usize, steps: u64) -> Folding {
        Folding { first, steps, ..Folding::default() }
    }

    pub(super) fn facts(&self, id: ExprId) -> Option<Facts> {
        self.facts.get((id.0 as usize).checked_sub(self.first)?).copied()
    }

    /// What an expression comes to.
    pub(super) fn result(&self, digest: u64, expr: &Expr) -> Option<ExprId> {
        let known = self.known.get(&digest)?.iter().find(|(known, _)| same(known, expr));
        known.map(|(_, result)| *result)
    }
}

/// What is known of the expressions of a program, for those that extend it.
#[derive(Debug)]
pub(super) struct Memo {
    /// Of those of its base.
    pub(super) before: Arc<Folding>,
    /// Of those behind.
    pub(super) later: Folding,
}

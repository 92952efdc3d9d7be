//! Steps from values to parts of them.

use durward_ir::program::{ExprId, Step, Structured};
use durward_ir::structure::Slice;
use durward_ir::value::Key;

use super::Lowering;
use crate::syntax::tree::{self, StepKind};

impl<'t> Lowering<'t, '_, '_> {
    /// The base with all steps taken.
    pub(super) fn steps(&mut self, base: ExprId, steps: &'t [tree::Step]) -> ExprId {
        let mut base = base;
        let mut taken = Vec::new();
        for step in steps {
            if let StepKind::Attribute(call) = &step.kind {
                base = self.walk(base, &mut taken);
                base = self.finder(call, Some(base));
                continue;
            }
            match self.step(step) {
                Ok(step) => taken.push(step),
                Err(failed) => return failed,
            }
        }
        self.walk(base, &mut taken)
    }

    fn walk(&mut self, base: ExprId, steps: &mut Vec<Step>) -> ExprId {
        match std::mem::take(steps) {
            steps if steps.is_empty() => base,
            steps => self.builder.structured(Structured::Steps(base, steps.into())),
        }
    }

    /// A step; an expression that fails where it cannot be one.
    pub(super) fn step(&mut self, step: &'t tree::Step) -> Result<Step, ExprId> {
        Ok(match &step.kind {
            StepKind::Key(key) => Step::Key(Key::new(key.clone())),
            StepKind::Wildcard => Step::Wildcard,
            StepKind::Index(index) => Step::Index(i64::from(*index)),
            StepKind::Slice { from, to, step } => {
                let bound = |bound: &Option<i32>| bound.map(i64::from);
                Step::Slice(Slice { from: bound(from), to: bound(to), step: bound(step) })
            }
            StepKind::Expression(expression) => Step::Computed(self.unstreamed(expression)?),
            StepKind::Condition(condition) => Step::Condition(self.unstreamed(condition)?),
            StepKind::IndexUnion(indices) => {
                Step::Indices(indices.iter().map(|index| i64::from(*index)).collect())
            }
            StepKind::KeyUnion(keys) => Step::Keys(keys.iter().map(|key| Key::new(key.clone())).collect()),
            StepKind::RecursiveKey(key) => Step::DeepKey(Key::new(key.clone())),
            StepKind::RecursiveWildcard => Step::DeepWildcard,
            StepKind::RecursiveIndex(index) => Step::DeepIndex(i64::from(*index)),
            StepKind::Attribute(_) => {
                return Err(self.fails("a path of a filter cannot ask for attributes `<...>`"));
            }
        })
    }

    fn unstreamed(&mut self, expression: &'t tree::Expr) -> Result<ExprId, ExprId> {
        let expression = self.expression(expression);
        if self.builder.facts(expression).streams {
            return Err(
                self.fails("an expression in `[(...)]` or `[?(...)]` cannot ask for attributes `<...>`")
            );
        }
        Ok(expression)
    }
}

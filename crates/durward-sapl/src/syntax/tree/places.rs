//! Trees without places: two texts say the same if these are equal.

use super::{
    AttributeCall, Document, Expr, ExprKind, Filter, FilterCall, FunctionName, Import, Name, Policy,
    PolicySet, Root, SchemaStatement, Span, Statement, Step, StepKind, Variable,
};

/// What forgets where it was written.
pub(in crate::syntax) trait Forget {
    /// Sets every place to the start of the text.
    fn forget(&mut self);
}

impl Document {
    /// The same document with every place at the start of the text.
    pub fn without_places(mut self) -> Document {
        self.forget();
        self
    }
}

impl Expr {
    /// The same expression with every place at the start of the text.
    pub fn without_places(mut self) -> Expr {
        self.forget();
        self
    }
}

impl<T: Forget> Forget for Vec<T> {
    fn forget(&mut self) {
        self.iter_mut().for_each(T::forget);
    }
}

impl<T: Forget> Forget for Option<T> {
    fn forget(&mut self) {
        self.iter_mut().for_each(T::forget);
    }
}

impl<T: Forget> Forget for Box<T> {
    fn forget(&mut self) {
        T::forget(self);
    }
}

impl Forget for Span {
    fn forget(&mut self) {
        *self = Span::default();
    }
}

impl Forget for Name {
    fn forget(&mut self) {
        self.span.forget();
    }
}

impl Forget for FunctionName {
    fn forget(&mut self) {
        self.span.forget();
        self.segments.forget();
    }
}

impl Forget for Document {
    fn forget(&mut self) {
        self.span.forget();
        self.imports.forget();
        self.schemas.forget();
        match &mut self.root {
            Some(Root::Policy(policy)) => policy.forget(),
            Some(Root::Set(set)) => set.forget(),
            None => {}
        }
    }
}

impl Forget for Import {
    fn forget(&mut self) {
        self.span.forget();
        self.library.forget();
        self.function.forget();
        self.alias.forget();
    }
}

impl Forget for SchemaStatement {
    fn forget(&mut self) {
        self.span.forget();
        self.schema.forget();
    }
}

impl Forget for PolicySet {
    fn forget(&mut self) {
        self.span.forget();
        self.name.span.forget();
        self.algorithm.span.forget();
        self.target.forget();
        self.variables.forget();
        self.policies.forget();
    }
}

impl Forget for Policy {
    fn forget(&mut self) {
        self.span.forget();
        self.name.span.forget();
        self.body.forget();
        self.obligations.forget();
        self.advice.forget();
        self.transform.forget();
    }
}

impl Forget for Statement {
    fn forget(&mut self) {
        match self {
            Statement::Variable(variable) => variable.forget(),
            Statement::Condition(condition) => condition.forget(),
        }
    }
}

impl Forget for Variable {
    fn forget(&mut self) {
        self.span.forget();
        self.name.forget();
        self.value.forget();
        self.schemas.forget();
    }
}

impl Forget for Expr {
    fn forget(&mut self) {
        self.span.forget();
        match &mut self.kind {
            ExprKind::Null
            | ExprKind::Undefined
            | ExprKind::Boolean(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Identifier(_)
            | ExprKind::RelativeValue
            | ExprKind::RelativeLocation
            | ExprKind::Error => {}
            ExprKind::Array(items) => items.forget(),
            ExprKind::Object(entries) => {
                for entry in entries {
                    entry.span.forget();
                    entry.key_span.forget();
                    entry.value.forget();
                }
            }
            ExprKind::Call(call) => {
                call.name.forget();
                call.arguments.forget();
            }
            ExprKind::Attribute(call) => call.forget(),
            ExprKind::Steps { base, steps } => {
                base.forget();
                steps.forget();
            }
            ExprKind::Unary { operator_span, operand, .. } => {
                operator_span.forget();
                operand.forget();
            }
            ExprKind::Comparison(comparison) => {
                comparison.left.forget();
                comparison.operator_span.forget();
                comparison.right.forget();
            }
            ExprKind::Chain(chain) => {
                chain.first.forget();
                for link in &mut chain.rest {
                    link.operator_span.forget();
                    link.operand.forget();
                }
            }
            ExprKind::Filter { base, filter } => {
                base.forget();
                filter.forget();
            }
            ExprKind::Subtemplate { base, template } => {
                base.forget();
                template.forget();
            }
        }
    }
}

impl Forget for AttributeCall {
    fn forget(&mut self) {
        self.span.forget();
        self.name.forget();
        self.arguments.forget();
        self.options.forget();
    }
}

impl Forget for Filter {
    fn forget(&mut self) {
        match self {
            Filter::Simple(call) => call.forget(),
            Filter::Extended(statements) => {
                for statement in statements {
                    statement.span.forget();
                    statement.target.forget();
                    statement.call.forget();
                }
            }
        }
    }
}

impl Forget for FilterCall {
    fn forget(&mut self) {
        self.span.forget();
        self.name.forget();
        self.arguments.forget();
    }
}

impl Forget for Step {
    fn forget(&mut self) {
        self.span.forget();
        match &mut self.kind {
            StepKind::Key(_)
            | StepKind::Wildcard
            | StepKind::Index(_)
            | StepKind::Slice { .. }
            | StepKind::IndexUnion(_)
            | StepKind::KeyUnion(_)
            | StepKind::RecursiveKey(_)
            | StepKind::RecursiveWildcard
            | StepKind::RecursiveIndex(_) => {}
            StepKind::Expression(inner) | StepKind::Condition(inner) => inner.forget(),
            StepKind::Attribute(call) => call.forget(),
        }
    }
}

//! The places in a tree: changed all at once, or forgotten, for two texts say the same if their trees without places
//! are equal.

use super::{
    AttributeCall, Document, Expr, ExprKind, Filter, FilterCall, FunctionName, Import, Name, Policy,
    PolicySet, Root, SchemaStatement, Span, Statement, Step, StepKind, Variable,
};

/// What knows where it was written.
trait Placed {
    /// Changes every place.
    fn change(&mut self, change: &mut impl FnMut(&mut Span));
}

impl Document {
    /// The same document with every place at the start of the text.
    pub fn without_places(self) -> Document {
        self.with_places(|_| Span::default())
    }

    /// The same document with other places.
    pub fn with_places(mut self, mut place: impl FnMut(Span) -> Span) -> Document {
        self.change(&mut |span| *span = place(*span));
        self
    }
}

impl Expr {
    /// The same expression with every place at the start of the text.
    pub fn without_places(self) -> Expr {
        self.with_places(|_| Span::default())
    }

    /// The same expression with other places.
    pub fn with_places(mut self, mut place: impl FnMut(Span) -> Span) -> Expr {
        self.change(&mut |span| *span = place(*span));
        self
    }
}

impl<T: Placed> Placed for Vec<T> {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.iter_mut().for_each(|one| one.change(change));
    }
}

impl<T: Placed> Placed for Option<T> {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.iter_mut().for_each(|one| one.change(change));
    }
}

impl<T: Placed> Placed for Box<T> {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        T::change(self, change);
    }
}

impl Placed for Span {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        change(self);
    }
}

impl Placed for Name {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
    }
}

impl Placed for FunctionName {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.segments.change(change);
    }
}

impl Placed for Document {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.imports.change(change);
        self.schemas.change(change);
        match &mut self.root {
            Some(Root::Policy(policy)) => policy.change(change),
            Some(Root::Set(set)) => set.change(change),
            None => {}
        }
    }
}

impl Placed for Import {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.library.change(change);
        self.function.change(change);
        self.alias.change(change);
    }
}

impl Placed for SchemaStatement {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.schema.change(change);
    }
}

impl Placed for PolicySet {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.name.span.change(change);
        self.algorithm.span.change(change);
        self.target.change(change);
        self.variables.change(change);
        self.policies.change(change);
    }
}

impl Placed for Policy {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.name.span.change(change);
        self.body.change(change);
        self.obligations.change(change);
        self.advice.change(change);
        self.transform.change(change);
    }
}

impl Placed for Statement {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        match self {
            Statement::Variable(variable) => variable.change(change),
            Statement::Condition(condition) => condition.change(change),
        }
    }
}

impl Placed for Variable {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.name.change(change);
        self.value.change(change);
        self.schemas.change(change);
    }
}

impl Placed for Expr {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
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
            ExprKind::Array(items) => items.change(change),
            ExprKind::Object(entries) => {
                for entry in entries {
                    entry.span.change(change);
                    entry.key_span.change(change);
                    entry.value.change(change);
                }
            }
            ExprKind::Call(call) => {
                call.name.change(change);
                call.arguments.change(change);
            }
            ExprKind::Attribute(call) => call.change(change),
            ExprKind::Steps { base, steps } => {
                base.change(change);
                steps.change(change);
            }
            ExprKind::Unary { operator_span, operand, .. } => {
                operator_span.change(change);
                operand.change(change);
            }
            ExprKind::Comparison(comparison) => {
                comparison.left.change(change);
                comparison.operator_span.change(change);
                comparison.right.change(change);
            }
            ExprKind::Chain(chain) => {
                chain.first.change(change);
                for link in &mut chain.rest {
                    link.operator_span.change(change);
                    link.operand.change(change);
                }
            }
            ExprKind::Filter { base, filter } => {
                base.change(change);
                filter.change(change);
            }
            ExprKind::Subtemplate { base, template } => {
                base.change(change);
                template.change(change);
            }
        }
    }
}

impl Placed for AttributeCall {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.name.change(change);
        self.arguments.change(change);
        self.options.change(change);
    }
}

impl Placed for Filter {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        match self {
            Filter::Simple(call) => call.change(change),
            Filter::Extended(statements) => {
                for statement in statements {
                    statement.span.change(change);
                    statement.target.change(change);
                    statement.call.change(change);
                }
            }
        }
    }
}

impl Placed for FilterCall {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
        self.name.change(change);
        self.arguments.change(change);
    }
}

impl Placed for Step {
    fn change(&mut self, change: &mut impl FnMut(&mut Span)) {
        self.span.change(change);
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
            StepKind::Expression(inner) | StepKind::Condition(inner) => inner.change(change),
            StepKind::Attribute(call) => call.change(change),
        }
    }
}

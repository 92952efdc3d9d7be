//! Visiting every expression of a tree.

use super::tree::{
    AttributeCall, Document, Expr, ExprKind, Filter, FilterCall, FunctionName, Policy, Root, Statement, Step,
    StepKind, Variable,
};

/// Who wants to see what a tree holds. Every method does nothing by itself.
pub(super) trait Visit {
    /// The name of a function or an attribute, where it is used.
    fn function_name(&mut self, _: &FunctionName) {}
}

/// Shows all of a document, in the order of the text but for schemas, which come first.
pub(super) fn walk(document: &Document, visit: &mut impl Visit) {
    for schema in &document.schemas {
        expression(&schema.schema, visit);
    }
    match &document.root {
        Some(Root::Policy(one)) => policy(one, visit),
        Some(Root::Set(set)) => {
            expressions(&set.target, visit);
            set.variables.iter().for_each(|one| variable(one, visit));
            set.policies.iter().for_each(|one| policy(one, visit));
        }
        None => {}
    }
}

fn policy(policy: &Policy, visit: &mut impl Visit) {
    for statement in &policy.body {
        match statement {
            Statement::Variable(one) => variable(one, visit),
            Statement::Condition(condition) => expression(condition, visit),
        }
    }
    expressions(&policy.obligations, visit);
    expressions(&policy.advice, visit);
    expressions(&policy.transform, visit);
}

fn variable(variable: &Variable, visit: &mut impl Visit) {
    expression(&variable.value, visit);
    expressions(&variable.schemas, visit);
}

fn expressions<'t>(all: impl IntoIterator<Item = &'t Expr>, visit: &mut impl Visit) {
    all.into_iter().for_each(|one| expression(one, visit));
}

fn expression(expr: &Expr, visit: &mut impl Visit) {
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Undefined
        | ExprKind::Boolean(_)
        | ExprKind::Number(_)
        | ExprKind::Text(_)
        | ExprKind::Identifier(_)
        | ExprKind::RelativeValue
        | ExprKind::RelativeLocation
        | ExprKind::Error => {}
        ExprKind::Array(items) => expressions(items, visit),
        ExprKind::Object(entries) => expressions(entries.iter().map(|entry| &entry.value), visit),
        ExprKind::Call(call) => {
            visit.function_name(&call.name);
            expressions(&call.arguments, visit);
        }
        ExprKind::Attribute(call) => attribute(call, visit),
        ExprKind::Steps { base, steps: all } => {
            expression(base, visit);
            steps(all, visit);
        }
        ExprKind::Unary { operand, .. } => expression(operand, visit),
        ExprKind::Comparison(comparison) => expressions([&comparison.left, &comparison.right], visit),
        ExprKind::Chain(chain) => {
            expression(&chain.first, visit);
            expressions(chain.rest.iter().map(|link| &link.operand), visit);
        }
        ExprKind::Filter { base, filter: by } => {
            expression(base, visit);
            filter(by, visit);
        }
        ExprKind::Subtemplate { base, template } => expressions([&**base, &**template], visit),
    }
}

fn attribute(call: &AttributeCall, visit: &mut impl Visit) {
    visit.function_name(&call.name);
    expressions(&call.arguments, visit);
    expressions(&call.options, visit);
}

fn filter(filter: &Filter, visit: &mut impl Visit) {
    match filter {
        Filter::Simple(call) => filter_call(call, visit),
        Filter::Extended(statements) => {
            for statement in statements {
                steps(&statement.target, visit);
                filter_call(&statement.call, visit);
            }
        }
    }
}

fn filter_call(call: &FilterCall, visit: &mut impl Visit) {
    visit.function_name(&call.name);
    expressions(&call.arguments, visit);
}

fn steps(steps: &[Step], visit: &mut impl Visit) {
    for step in steps {
        match &step.kind {
            StepKind::Key(_)
            | StepKind::Wildcard
            | StepKind::Index(_)
            | StepKind::Slice { .. }
            | StepKind::IndexUnion(_)
            | StepKind::KeyUnion(_)
            | StepKind::RecursiveKey(_)
            | StepKind::RecursiveWildcard
            | StepKind::RecursiveIndex(_) => {}
            StepKind::Expression(inner) | StepKind::Condition(inner) => expression(inner, visit),
            StepKind::Attribute(call) => attribute(call, visit),
        }
    }
}

//! Expressions, each visited once: gives the kinds of value it can have.

use std::collections::HashSet;

use durward_ir::path::Element;
use smol_str::SmolStr;

use super::Check;
use super::kinds::Kinds;
use super::names::Position;
use super::schema::{Looked, Property};
use super::usage::Path;
use crate::syntax::quote;
use crate::syntax::tree::{Entry, Expr, ExprKind, Filter, Step, StepKind, UnaryOperator};

/// Keys of a path that are compared with those of other documents.
const PATH_LENGTH_MAX: usize = 8;

/// An object with fewer keys is searched for equal ones one by one.
const HASHED_MIN: usize = 16;

impl<'t> Check<'t> {
    /// Checks an expression and all in it.
    pub(super) fn expression(&mut self, expression: &'t Expr) -> Kinds {
        match &expression.kind {
            ExprKind::Null => Kinds::NULL,
            ExprKind::Undefined => Kinds::UNDEFINED,
            ExprKind::Boolean(_) => Kinds::BOOLEAN,
            ExprKind::Number(_) => Kinds::NUMBER,
            ExprKind::Text(_) => Kinds::TEXT,
            ExprKind::Array(elements) => {
                self.visit(elements);
                Kinds::ARRAY
            }
            ExprKind::Object(entries) => {
                self.keys(entries);
                self.visit(entries.iter().map(|entry| &entry.value));
                Kinds::OBJECT
            }
            ExprKind::Identifier(name) => self.identifier(expression, name, Position::Value),
            ExprKind::RelativeValue | ExprKind::RelativeLocation => self.relative(expression),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Attribute(call) => self.attribute(call, false),
            ExprKind::Steps { base, steps } => self.path(base, steps),
            ExprKind::Unary { operator, operand, .. } => {
                let kinds = self.expression(operand);
                match operator {
                    UnaryOperator::Not => {
                        self.want(Kinds::BOOLEAN, kinds, operand, &["what `!` turns round"]);
                        Kinds::BOOLEAN
                    }
                    UnaryOperator::Minus | UnaryOperator::Plus => {
                        self.want(Kinds::NUMBER, kinds, operand, &["what has a sign"]);
                        Kinds::NUMBER
                    }
                }
            }
            ExprKind::Comparison(comparison) => self.comparison(expression, comparison),
            ExprKind::Chain(chain) => self.chain(chain),
            ExprKind::Filter { base, filter } => {
                let kinds = self.expression(base);
                self.filter(kinds, filter);
                Kinds::ANY
            }
            ExprKind::Subtemplate { base, template } => {
                self.expression(base);
                self.within_loop(|check| check.visit([&**template]));
                Kinds::ANY
            }
            ExprKind::Error => Kinds::ANY,
        }
    }

    /// Checks expressions whatever they give.
    pub(super) fn visit(&mut self, expressions: impl IntoIterator<Item = &'t Expr>) {
        for expression in expressions {
            self.expression(expression);
        }
    }

    fn within_loop(&mut self, visit: impl FnOnce(&mut Self)) {
        self.loops += 1;
        visit(self);
        self.loops -= 1;
    }

    /// `@` and `#`, which stand for nothing where no value is gone through.
    fn relative(&mut self, expression: &'t Expr) -> Kinds {
        if self.loops == 0 && !self.may_be_relative {
            let written = self.document.piece(expression.span);
            let message = format!(
                "`{written}` is undefined here: it stands for an element within `::`, `[?(...)]` and filters"
            );
            self.report.warn("relative-outside", expression.span, message, None);
        }
        Kinds::ANY
    }

    /// The keys of an object: of equal ones the last counts.
    fn keys(&mut self, entries: &'t [Entry]) {
        let mut seen: HashSet<&str> = HashSet::new();
        for (number, entry) in entries.iter().enumerate() {
            let is_new = match entries.len() < HASHED_MIN {
                true => !entries.iter().take(number).any(|before| before.key == entry.key),
                false => seen.insert(&entry.key),
            };
            if !is_new {
                let message = format!("the key {} is there already; the last one counts", quote(&entry.key));
                self.report.warn("duplicate-key", entry.key_span, message, None);
            }
        }
    }

    /// A value, and the way to a part of it.
    fn path(&mut self, base: &'t Expr, steps: &'t [Step]) -> Kinds {
        let kinds = match &base.kind {
            ExprKind::Identifier(name) => self.identifier(base, name, Position::Base),
            ExprKind::Null
            | ExprKind::Undefined
            | ExprKind::Boolean(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Array(_)
            | ExprKind::Object(_)
            | ExprKind::RelativeValue
            | ExprKind::RelativeLocation
            | ExprKind::Call(_)
            | ExprKind::Attribute(_)
            | ExprKind::Steps { .. }
            | ExprKind::Unary { .. }
            | ExprKind::Comparison(_)
            | ExprKind::Chain(_)
            | ExprKind::Filter { .. }
            | ExprKind::Subtemplate { .. }
            | ExprKind::Error => self.expression(base),
        };
        self.note(base, steps);
        self.steps(steps);
        if kinds == Kinds::ANY { self.looked_up(base, steps) } else { Kinds::ANY }
    }

    pub(super) fn steps(&mut self, steps: &'t [Step]) {
        for step in steps {
            match &step.kind {
                StepKind::Expression(inner) => {
                    let kinds = self.expression(inner);
                    self.want(Kinds::TEXT.or(Kinds::NUMBER), kinds, inner, &["what stands in `[(...)]`"]);
                }
                StepKind::Condition(inner) => self.within_loop(|check| {
                    let kinds = check.expression(inner);
                    check.want(Kinds::BOOLEAN, kinds, inner, &["a condition"]);
                }),
                StepKind::Attribute(call) => drop(self.attribute(call, true)),
                StepKind::Key(_)
                | StepKind::Wildcard
                | StepKind::Index(_)
                | StepKind::Slice { .. }
                | StepKind::IndexUnion(_)
                | StepKind::KeyUnion(_)
                | StepKind::RecursiveKey(_)
                | StepKind::RecursiveWildcard
                | StepKind::RecursiveIndex(_) => {}
            }
        }
    }

    pub(super) fn filter(&mut self, base: Kinds, filter: &'t Filter) {
        match filter {
            Filter::Simple(call) => {
                let first = if call.each { Kinds::ANY } else { base };
                self.within_loop(|check| check.filter_call(first, call));
            }
            Filter::Extended(statements) => {
                for statement in statements {
                    self.within_loop(|check| {
                        check.steps(&statement.target);
                        check.filter_call(Kinds::ANY, &statement.call);
                    });
                }
            }
        }
    }

    /// Notes a path through a part of the subscription of which no schema knows.
    fn note(&mut self, base: &'t Expr, steps: &'t [Step]) {
        let (Some(paths), ExprKind::Identifier(name)) = (&mut self.paths, &base.kind) else { return };
        let Some(element) = Element::ALL.into_iter().find(|element| element.as_str() == name) else { return };
        if self.schemas.has(element) {
            return;
        }
        let keys =
            steps.iter().map_while(|step| Some((key_of(step)?.clone(), step.span))).take(PATH_LENGTH_MAX);
        paths.push(Path { element: element.as_str(), keys: keys.collect() });
    }

    /// What the schemas say of a path, with a finding where it leads nowhere.
    fn looked_up(&mut self, base: &'t Expr, steps: &'t [Step]) -> Kinds {
        let Some((element, keys)) = self.known_path(base, steps) else { return Kinds::ANY };
        match self.schemas.look(element, keys.iter().copied()) {
            Looked::Open => Kinds::ANY,
            Looked::Known(Property { kinds, .. }) if keys.len() == steps.len() => kinds,
            Looked::Known(_) => Kinds::ANY,
            Looked::Unknown { step, keys: there } => {
                self.unknown_key(element, &keys, step, &there, steps);
                // Once is enough: what it is compared with is no matter.
                Kinds::ANY
            }
        }
    }

    /// What the schemas say of an expression that is a path through a part of the subscription.
    pub(super) fn property(&self, expression: &'t Expr) -> Option<Property<'t>> {
        if self.schemas.is_empty() {
            return None;
        }
        let (base, steps): (&Expr, &[Step]) = if let ExprKind::Steps { base, steps } = &expression.kind {
            (base, steps)
        } else {
            (expression, &[])
        };
        let (element, keys) = self.known_path(base, steps)?;
        match self.schemas.look(element, keys.iter().copied()) {
            Looked::Known(property) if keys.len() == steps.len() => Some(property),
            Looked::Known(_) | Looked::Open | Looked::Unknown { .. } => None,
        }
    }

    /// Whether the document asks for what is at a path, by a schema that it enforces.
    pub(super) fn is_required(&self, path: &'t Expr) -> bool {
        self.is_gated() && self.property(path).is_some_and(|property| property.is_required)
    }

    /// The part of the subscription where a path begins, and the keys that it takes first; `None` where nothing is known of
    /// subscriptions.
    fn known_path(&self, base: &Expr, steps: &'t [Step]) -> Option<(Element, Vec<&'t SmolStr>)> {
        let ExprKind::Identifier(name) = &base.kind else { return None };
        if self.schemas.is_empty() {
            return None;
        }
        let element = Element::ALL.into_iter().find(|element| element.as_str() == name)?;
        Some((element, steps.iter().map_while(key_of).collect()))
    }
}

/// The key that a step goes to, if it is written out.
pub(super) fn key_of(step: &Step) -> Option<&SmolStr> {
    if let StepKind::Key(key) = &step.kind { Some(key) } else { None }
}

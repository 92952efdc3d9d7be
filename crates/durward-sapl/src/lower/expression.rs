//! Expressions, but for steps and calls.

use durward_ir::datatype::Decimal;
use durward_ir::path::{Element, Path};
use durward_ir::program::{BinaryOperator, ExprId, Structured, UnaryOperator};
use durward_ir::{Fault, Value};
use smol_str::SmolStr;

use super::{Lowering, pattern};
use crate::syntax::tree::{self, Chain, ChainOperator, Comparison, ComparisonOperator, Expr, ExprKind, Link};

impl<'t> Lowering<'t, '_, '_> {
    /// Lowers an expression. One with a problem, which is noted, becomes an error.
    pub(super) fn expression(&mut self, expression: &'t Expr) -> ExprId {
        match &expression.kind {
            ExprKind::Null => self.builder.constant(Value::Null),
            ExprKind::Undefined => self.builder.constant(Value::Undefined),
            ExprKind::Boolean(boolean) => self.builder.constant(Value::Boolean(*boolean)),
            ExprKind::Number(digits) => self.number(digits),
            ExprKind::Text(text) => self.builder.constant(Value::Text(text.clone())),
            ExprKind::Array(elements) => {
                let elements = self.all(elements);
                self.builder.structured(Structured::Array(elements.into()))
            }
            ExprKind::Object(entries) => {
                let entries: Vec<(SmolStr, ExprId)> =
                    entries.iter().map(|entry| (entry.key.clone(), self.expression(&entry.value))).collect();
                self.builder.structured(Structured::Object(entries.into()))
            }
            ExprKind::Identifier(name) => self.identifier(name),
            ExprKind::RelativeValue => self.builder.structured(Structured::Here),
            ExprKind::RelativeLocation => self.builder.structured(Structured::Location),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Attribute(call) => self.finder(call, None),
            ExprKind::Steps { base, steps } => {
                let base = self.expression(base);
                self.steps(base, steps)
            }
            ExprKind::Unary { operator, operand, .. } => match operator {
                tree::UnaryOperator::Not => self.negated(operand),
                tree::UnaryOperator::Minus => self.unary(UnaryOperator::Minus, operand),
                tree::UnaryOperator::Plus => self.unary(UnaryOperator::Plus, operand),
            },
            ExprKind::Comparison(comparison) => self.comparison(comparison),
            ExprKind::Chain(chain) => self.chain(chain),
            ExprKind::Filter { base, filter } => {
                let base = self.expression(base);
                self.filter(base, filter)
            }
            ExprKind::Subtemplate { base, template } => {
                let (base, template) = (self.expression(base), self.expression(template));
                if self.builder.facts(template).streams {
                    return self.fails("a template behind `::` cannot ask for attributes `<...>`");
                }
                let is_undefined = self.builder.value_of(base).is_some_and(Value::is_undefined);
                if is_undefined && self.builder.fault_of(template).is_none() {
                    return base;
                }
                self.builder.structured(Structured::Template { base, template })
            }
            ExprKind::Error => self.fails("this could not be read"),
        }
    }

    /// `!x`. As the engine has it, `!!x` is `x`, whatever that is.
    fn negated(&mut self, mut operand: &'t Expr) -> ExprId {
        let mut is_negated = true;
        while let ExprKind::Unary { operator: tree::UnaryOperator::Not, operand: inner, .. } = &operand.kind {
            operand = inner;
            is_negated = !is_negated;
        }
        if is_negated { self.unary(UnaryOperator::Not, operand) } else { self.expression(operand) }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &'t Expr) -> ExprId {
        let operand = self.expression(operand);
        self.builder.structured(Structured::Unary(operator, operand))
    }

    pub(super) fn all(&mut self, expressions: &'t [Expr]) -> Vec<ExprId> {
        expressions.iter().map(|expression| self.expression(expression)).collect()
    }

    /// An expression that is known to fail.
    pub(super) fn fails(&mut self, message: impl Into<String>) -> ExprId {
        self.builder.failed(Fault::processing(message))
    }

    fn number(&mut self, digits: &str) -> ExprId {
        match Decimal::parse(digits) {
            Ok(number) => self.builder.constant(Value::number(number)),
            Err(reason) => self.fails(format!("`{digits}` is no number: {reason}")),
        }
    }

    /// Parts of the subscription first, then variables of the policy and its set, then those of the configuration.
    /// Any other name is undefined.
    fn identifier(&mut self, name: &SmolStr) -> ExprId {
        if let Some(element) = Element::ALL.into_iter().find(|element| element.as_str() == name) {
            return self.builder.part(&Path::new(element, []));
        }
        if let Some(variable) = self.variables.get(name) {
            return variable;
        }
        if let Some(variable) = self.builder.named(name) {
            return variable;
        }
        let value = self.configuration.variable(name).cloned();
        let id = self.builder.constant(value.unwrap_or(Value::Undefined));
        self.builder.name(name, id);
        id
    }

    fn comparison(&mut self, comparison: &'t Comparison) -> ExprId {
        let (left, right) = (self.expression(&comparison.left), self.expression(&comparison.right));
        let operator = match comparison.operator {
            ComparisonOperator::Matches => return pattern::matches(self, comparison, left, right),
            ComparisonOperator::Equal => BinaryOperator::Equal,
            ComparisonOperator::NotEqual => BinaryOperator::NotEqual,
            ComparisonOperator::Has => BinaryOperator::Has,
            ComparisonOperator::HasAny => BinaryOperator::HasAny,
            ComparisonOperator::HasAll => BinaryOperator::HasAll,
            ComparisonOperator::Less => BinaryOperator::Less,
            ComparisonOperator::LessOrEqual => BinaryOperator::LessOrEqual,
            ComparisonOperator::Greater => BinaryOperator::Greater,
            ComparisonOperator::GreaterOrEqual => BinaryOperator::GreaterOrEqual,
            ComparisonOperator::In => BinaryOperator::In,
            ComparisonOperator::AnyIn => BinaryOperator::AnyIn,
            ComparisonOperator::AllIn => BinaryOperator::AllIn,
        };
        self.builder.structured(Structured::Binary(operator, left, right))
    }

    /// Whether `&&` and `||` or `&` and `|` are written makes no difference to what is decided, nor to what is asked.
    fn chain(&mut self, chain: &'t Chain) -> ExprId {
        let first = self.expression(&chain.first);
        let operator = chain.rest.first().map(|link| link.operator);
        match operator {
            Some(ChainOperator::LazyOr | ChainOperator::Or) => self.junction(first, &chain.rest, true),
            Some(ChainOperator::LazyAnd | ChainOperator::And) => self.junction(first, &chain.rest, false),
            Some(_) | None => self.computed(first, &chain.rest),
        }
    }

    fn junction(&mut self, first: ExprId, rest: &'t [Link], decisive: bool) -> ExprId {
        let mut parts = vec![first];
        for link in rest {
            parts.push(self.expression(&link.operand));
        }
        self.builder.junction(parts, decisive)
    }

    fn computed(&mut self, first: ExprId, rest: &'t [Link]) -> ExprId {
        let mut operands = Vec::with_capacity(rest.len());
        for link in rest {
            let operator = match link.operator {
                ChainOperator::ExclusiveOr => BinaryOperator::ExclusiveOr,
                ChainOperator::Add => BinaryOperator::Add,
                ChainOperator::Subtract => BinaryOperator::Subtract,
                ChainOperator::Multiply => BinaryOperator::Multiply,
                ChainOperator::Divide => BinaryOperator::Divide,
                ChainOperator::Remainder => BinaryOperator::Remainder,
                ChainOperator::LazyOr | ChainOperator::LazyAnd | ChainOperator::Or | ChainOperator::And => {
                    return self.fails("operators of different precedence in one chain");
                }
            };
            operands.push((operator, self.expression(&link.operand)));
        }
        match operands.as_slice() {
            [(operator, second)] => self.builder.structured(Structured::Binary(*operator, first, *second)),
            _ => self.builder.structured(Structured::Chain(first, operands.into())),
        }
    }
}

//! Expressions as text.

use std::fmt::Write;

use super::super::tree::{
    AttributeCall, Chain, ChainOperator, Comparison, ComparisonOperator, Entry, Expr, ExprKind, Filter,
    FilterCall, FilterStatement, FunctionName, Step, StepKind, UnaryOperator,
};
use super::Printer;

/// How strongly an operator before its operand binds; those between operands bind with 0 to 9.
const UNARY: u8 = 10;
/// A filter or a template.
const POSTFIX: u8 = 11;
/// Steps.
const BASIC: u8 = 12;
/// What never needs parentheses.
const PRIMARY: u8 = 13;

/// How strongly an expression holds together.
fn strength(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Chain(chain) => chain.rest.first().map_or(PRIMARY, |link| link.operator.strength()),
        ExprKind::Comparison(comparison) => comparison.operator.strength(),
        ExprKind::Unary { .. } => UNARY,
        ExprKind::Filter { .. } | ExprKind::Subtemplate { .. } => POSTFIX,
        ExprKind::Steps { .. } => BASIC,
        ExprKind::Null
        | ExprKind::Undefined
        | ExprKind::Boolean(_)
        | ExprKind::Number(_)
        | ExprKind::Text(_)
        | ExprKind::Array(_)
        | ExprKind::Object(_)
        | ExprKind::Identifier(_)
        | ExprKind::RelativeValue
        | ExprKind::RelativeLocation
        | ExprKind::Call(_)
        | ExprKind::Attribute(_)
        | ExprKind::Error => PRIMARY,
    }
}

impl Printer {
    pub(super) fn expression(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Null => self.push("null"),
            ExprKind::Undefined => self.push("undefined"),
            ExprKind::Boolean(true) => self.push("true"),
            ExprKind::Boolean(false) => self.push("false"),
            ExprKind::Number(number) => self.push(number),
            ExprKind::Text(text) => self.text(text),
            ExprKind::Array(items) => {
                self.push("[");
                self.expressions(items);
                self.push("]");
            }
            ExprKind::Object(entries) => self.object(entries),
            ExprKind::Identifier(name) => self.name(name),
            ExprKind::RelativeValue => self.push("@"),
            ExprKind::RelativeLocation => self.push("#"),
            ExprKind::Call(call) => {
                self.function_name(&call.name);
                self.push("(");
                self.expressions(&call.arguments);
                self.push(")");
            }
            ExprKind::Attribute(call) => self.attribute(call),
            ExprKind::Steps { base, steps } => {
                self.operand(base, PRIMARY);
                self.steps(steps);
            }
            ExprKind::Unary { operator, operand, .. } => {
                self.push(match operator {
                    UnaryOperator::Not => "!",
                    UnaryOperator::Minus => "-",
                    UnaryOperator::Plus => "+",
                });
                self.operand(operand, UNARY);
            }
            ExprKind::Comparison(comparison) => self.comparison(comparison),
            ExprKind::Chain(chain) => self.chain(chain),
            ExprKind::Filter { base, filter } => {
                self.operand(base, BASIC);
                self.push(" |- ");
                self.filter(filter);
            }
            ExprKind::Subtemplate { base, template } => {
                self.operand(base, BASIC);
                self.push(" :: ");
                self.operand(template, POSTFIX);
            }
            // No text gives this tree; any text that is refused will do.
            ExprKind::Error => self.push("`"),
        }
    }

    /// An expression where only such stand that hold together at least that strongly.
    fn operand(&mut self, expr: &Expr, least: u8) {
        if strength(expr) >= least {
            return self.expression(expr);
        }
        self.push("(");
        self.expression(expr);
        self.push(")");
    }

    fn expressions(&mut self, expressions: &[Expr]) {
        self.separated(expressions, ", ", Self::expression);
    }

    fn object(&mut self, entries: &[Entry]) {
        if entries.is_empty() {
            return self.push("{}");
        }
        self.push("{ ");
        self.separated(entries, ", ", |printer, entry| {
            printer.text(&entry.key);
            printer.push(": ");
            printer.expression(&entry.value);
        });
        self.push(" }");
    }

    fn chain(&mut self, chain: &Chain) {
        let strength = chain.rest.first().map_or(0, |link| link.operator.strength() + 1);
        self.operand(&chain.first, strength);
        for link in &chain.rest {
            self.push(match link.operator {
                ChainOperator::LazyOr => " || ",
                ChainOperator::LazyAnd => " && ",
                ChainOperator::Or => " | ",
                ChainOperator::ExclusiveOr => " ^ ",
                ChainOperator::And => " & ",
                ChainOperator::Add => " + ",
                ChainOperator::Subtract => " - ",
                ChainOperator::Multiply => " * ",
                ChainOperator::Divide => " / ",
                ChainOperator::Remainder => " % ",
            });
            self.operand(&link.operand, strength);
        }
    }

    fn comparison(&mut self, comparison: &Comparison) {
        let strength = comparison.operator.strength() + 1;
        self.operand(&comparison.left, strength);
        self.push(match comparison.operator {
            ComparisonOperator::Equal => " == ",
            ComparisonOperator::NotEqual => " != ",
            ComparisonOperator::Matches => " =~ ",
            ComparisonOperator::Has => " has ",
            ComparisonOperator::HasAny => " has any ",
            ComparisonOperator::HasAll => " has all ",
            ComparisonOperator::Less => " < ",
            ComparisonOperator::LessOrEqual => " <= ",
            ComparisonOperator::Greater => " > ",
            ComparisonOperator::GreaterOrEqual => " >= ",
            ComparisonOperator::In => " in ",
            ComparisonOperator::AnyIn => " any in ",
            ComparisonOperator::AllIn => " all in ",
        });
        self.operand(&comparison.right, strength);
    }

    fn function_name(&mut self, name: &FunctionName) {
        self.separated(&name.segments, ".", |printer, segment| printer.name(&segment.text));
    }

    /// A function's name, and its arguments if it has any.
    fn call_or_name(&mut self, name: &FunctionName, arguments: &[Expr]) {
        self.function_name(name);
        if !arguments.is_empty() {
            self.push("(");
            self.expressions(arguments);
            self.push(")");
        }
    }

    fn attribute(&mut self, call: &AttributeCall) {
        self.push(if call.head { "|<" } else { "<" });
        self.call_or_name(&call.name, &call.arguments);
        if let Some(options) = &call.options {
            self.push("[");
            self.expression(options);
            self.push("]");
        }
        self.push(">");
    }

    fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::Simple(call) => {
                self.push(if call.each { "each " } else { "" });
                self.filter_call(call);
            }
            Filter::Extended(statements) => {
                self.push("{ ");
                self.separated(statements, ", ", Self::filter_statement);
                self.push(" }");
            }
        }
    }

    fn filter_statement(&mut self, statement: &FilterStatement) {
        self.push(if statement.call.each { "each @" } else { "@" });
        self.steps(&statement.target);
        self.push(" : ");
        self.filter_call(&statement.call);
    }

    fn filter_call(&mut self, call: &FilterCall) {
        self.call_or_name(&call.name, &call.arguments);
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(&step.kind);
        }
    }

    fn step(&mut self, step: &StepKind) {
        match step {
            StepKind::Key(key) => self.key(".", key),
            StepKind::Wildcard => self.push(".*"),
            StepKind::Index(index) => self.number("[", *index, "]"),
            StepKind::Slice { from, to, step } => self.slice(*from, *to, *step),
            StepKind::Expression(expr) => {
                self.push("[(");
                self.expression(expr);
                self.push(")]");
            }
            StepKind::Condition(expr) => {
                self.push("[?(");
                self.expression(expr);
                self.push(")]");
            }
            StepKind::IndexUnion(indices) => {
                self.push("[");
                self.separated(indices, ", ", |printer, index| printer.number("", *index, ""));
                self.push("]");
            }
            StepKind::KeyUnion(keys) => {
                self.push("[");
                self.separated(keys, ", ", |printer, key| printer.text(key));
                self.push("]");
            }
            StepKind::RecursiveKey(key) => self.key("..", key),
            StepKind::RecursiveWildcard => self.push("..*"),
            StepKind::RecursiveIndex(index) => self.number("..[", *index, "]"),
            StepKind::Attribute(call) => {
                self.push(".");
                self.attribute(call);
            }
        }
    }

    fn slice(&mut self, from: Option<i32>, to: Option<i32>, step: Option<i32>) {
        self.push("[");
        for (before, part) in [("", from), (":", to)] {
            self.push(before);
            self.index(part);
        }
        if step.is_some() {
            self.push(":");
            self.index(step);
        }
        self.push("]");
    }

    fn index(&mut self, index: Option<i32>) {
        if let Some(index) = index {
            self.number("", index, "");
        }
    }

    fn number(&mut self, before: &str, number: i32, after: &str) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.out, "{before}{number}{after}");
    }
}

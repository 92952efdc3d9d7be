//! Expressions: where their lines may end.

use super::super::token::TokenKind as K;
use super::super::tree::{
    AttributeCall, Chain, Comparison, Entry, Expr, ExprKind, Filter, FilterCall, FilterStatement,
    FunctionName, Step, StepKind,
};
use super::layout::Gap;
use super::writer::Writer;

impl Writer<'_> {
    /// An expression, with the parentheses around it, however many its author wrote.
    pub(super) fn expression(&mut self, expr: &Expr) {
        if !self.starts_parentheses(expr) {
            return self.bare(expr);
        }
        self.bracketed(false, |writer| writer.expression(expr));
    }

    /// Whether the next word is a parenthesis around an expression, not one that it starts with itself.
    fn starts_parentheses(&self, expr: &Expr) -> bool {
        self.is(K::OpenParenthesis) && self.next().span.start < expr.span.start
    }

    /// An opening bracket, what it holds, a closing bracket.
    fn bracketed(&mut self, blank: bool, inside: impl FnOnce(&mut Self)) {
        self.open();
        self.word();
        self.further_in();
        self.line_may_end(blank);
        inside(self);
        self.end_bracket(blank);
    }

    fn end_bracket(&mut self, blank: bool) {
        // Comments before the closing bracket belong to what it closes.
        self.trailing();
        self.leading();
        self.further_out();
        self.line_may_end(blank);
        self.word();
        self.close();
    }

    fn bare(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Null
            | ExprKind::Undefined
            | ExprKind::Boolean(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Identifier(_)
            | ExprKind::RelativeValue
            | ExprKind::RelativeLocation => self.word(),
            ExprKind::Array(items) => self.expressions(items),
            ExprKind::Object(entries) => self.object(entries),
            ExprKind::Call(call) => {
                self.function_name(&call.name);
                self.expressions(&call.arguments);
            }
            ExprKind::Attribute(call) => self.attribute(call),
            ExprKind::Steps { base, steps } => {
                let open = self.base(base);
                self.steps(steps, open);
            }
            ExprKind::Unary { operand, .. } => {
                self.word();
                self.expression(operand);
            }
            ExprKind::Comparison(comparison) => self.comparison(comparison),
            ExprKind::Chain(chain) => self.chain(chain),
            ExprKind::Filter { base, filter } => self.behind(base, |writer| writer.filter(filter)),
            ExprKind::Subtemplate { base, template } => {
                self.behind(base, |writer| writer.expression(template))
            }
            ExprKind::Error => {}
        }
    }

    /// Where steps begin. A parenthesis before it may close behind any of the steps, so it makes no group; gives how
    /// many are open.
    fn base(&mut self, base: &Expr) -> usize {
        let mut open = 0;
        while self.starts_parentheses(base) {
            self.word();
            open += 1;
        }
        self.bare(base);
        self.close_parentheses(open)
    }

    /// Writes the closing parentheses that stand here, if so many are open; gives how many still are.
    fn close_parentheses(&mut self, mut open: usize) -> usize {
        while open > 0 && self.is(K::CloseParenthesis) {
            self.word();
            open -= 1;
        }
        open
    }

    /// A bracket, items with commas between them, a bracket; one item that has brackets itself shares their lines.
    fn expressions(&mut self, items: &[Expr]) {
        match items {
            [] => {
                self.word();
                self.word();
            }
            [Expr { kind: ExprKind::Array(_) | ExprKind::Object(_), .. }] => {
                self.word();
                self.items(items, Self::expression);
                self.word();
            }
            _ => self.bracketed(false, |writer| writer.items(items, Self::expression)),
        }
    }

    fn items<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (index, one) in items.iter().enumerate() {
            if index > 0 {
                self.word();
                self.line_may_end(true);
            }
            item(self, one);
        }
    }

    fn object(&mut self, entries: &[Entry]) {
        if entries.is_empty() {
            self.word();
            return self.word();
        }
        self.bracketed(true, |writer| {
            writer.items(entries, |writer, entry| {
                writer.word();
                writer.word();
                writer.gap(Gap::Blank);
                writer.expression(&entry.value);
            });
        });
    }

    /// Operands with the operators between them, each at the start of a line if one of them is.
    fn chain(&mut self, chain: &Chain) {
        self.open();
        self.expression(&chain.first);
        self.further_in();
        for link in &chain.rest {
            self.line_may_end(true);
            self.word();
            self.gap(Gap::Blank);
            self.expression(&link.operand);
        }
        self.further_out();
        self.close();
    }

    fn comparison(&mut self, comparison: &Comparison) {
        self.expression(&comparison.left);
        while self.next().span.end <= comparison.operator_span.end && !self.is(K::End) {
            self.gap(Gap::Blank);
            self.word();
        }
        self.gap(Gap::Blank);
        self.expression(&comparison.right);
    }

    /// An expression, and what a sign behind it does to it.
    fn behind(&mut self, base: &Expr, rest: impl FnOnce(&mut Self)) {
        self.open();
        self.expression(base);
        self.further_in();
        self.line_may_end(true);
        self.word();
        self.gap(Gap::Blank);
        rest(self);
        self.further_out();
        self.close();
    }

    fn function_name(&mut self, name: &FunctionName) {
        self.words_to(name.span);
    }

    /// Arguments, with their parentheses if there are any.
    fn arguments(&mut self, arguments: &[Expr]) {
        if self.is(K::OpenParenthesis) {
            self.expressions(arguments);
        }
    }

    fn attribute(&mut self, call: &AttributeCall) {
        self.word();
        self.function_name(&call.name);
        self.arguments(&call.arguments);
        if let Some(options) = &call.options {
            self.word();
            self.expression(options);
            self.word();
        }
        self.word();
    }

    fn filter(&mut self, filter: &Filter) {
        match filter {
            Filter::Simple(call) => self.filter_call(call),
            Filter::Extended(statements) => {
                self.bracketed(true, |writer| writer.items(statements, Self::filter_statement));
            }
        }
    }

    /// `each function(arguments)`
    fn filter_call(&mut self, call: &FilterCall) {
        self.each();
        self.function_name(&call.name);
        self.arguments(&call.arguments);
    }

    fn each(&mut self) {
        if self.is_word("each") {
            self.word();
            self.gap(Gap::Blank);
        }
    }

    /// `each @.path : function(arguments)`
    fn filter_statement(&mut self, statement: &FilterStatement) {
        self.each();
        self.word();
        self.steps(&statement.target, 0);
        self.gap(Gap::Blank);
        self.word();
        self.gap(Gap::Blank);
        self.filter_call(&statement.call);
    }

    /// Steps; `open` parentheses close behind some of them.
    fn steps(&mut self, steps: &[Step], mut open: usize) {
        for step in steps {
            self.step(step);
            open = self.close_parentheses(open);
        }
    }

    fn step(&mut self, step: &Step) {
        self.word();
        match &step.kind {
            StepKind::Expression(expr) => {
                self.expression(expr);
                self.word();
            }
            StepKind::Condition(condition) => {
                self.word();
                self.expression(condition);
                self.word();
            }
            StepKind::Attribute(call) => self.attribute(call),
            StepKind::Key(_)
            | StepKind::Wildcard
            | StepKind::Index(_)
            | StepKind::Slice { .. }
            | StepKind::IndexUnion(_)
            | StepKind::KeyUnion(_)
            | StepKind::RecursiveKey(_)
            | StepKind::RecursiveWildcard
            | StepKind::RecursiveIndex(_) => self.words_of_step(step),
        }
    }

    /// Words up to the end of a step, with blanks after commas.
    fn words_of_step(&mut self, step: &Step) {
        while self.next().span.end <= step.span.end && !self.is(K::End) {
            let comma = self.is(K::Comma);
            self.word();
            if comma {
                self.gap(Gap::Blank);
            }
        }
    }
}

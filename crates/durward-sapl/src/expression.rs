//! Expressions that stand for themselves, outside of any document: text into a tree with its names resolved.

use durward_ir::finding::{Finding, Severity};
use smol_str::SmolStr;

use crate::check::{Settings, check};
use crate::configuration::Configuration;
use crate::document::{Document, Problem};
use crate::syntax::tree::{self, Effect, Expr, ExprKind, Filter, Policy, Root, StepKind};
use crate::syntax::{self, Diagnostic, Names, Span};

/// One expression that was read without an error.
#[derive(Clone, Debug)]
pub struct Expression {
    tree: Expr,
    /// The expression as what a policy transforms the resource to: what is checked.
    document: Document,
}

/// An expression, or a part of one that comes to the same outside of it.
#[derive(Clone, Copy, Debug)]
pub struct ExpressionPart<'e> {
    document: &'e Document,
    tree: &'e Expr,
}

impl Expression {
    /// Reads an expression; `source` is how messages call it. Functions are called by their full names.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    ///
    /// ```
    /// use durward_sapl::Expression;
    ///
    /// assert!(Expression::read("sum", "1 + 2").is_ok());
    /// let problems = Expression::read("sum", "1 +").unwrap_err();
    /// assert_eq!((problems[0].line, problems[0].column), (1, 4));
    /// ```
    pub fn read(source: &str, text: &str) -> Result<Expression, Vec<Problem>> {
        let parsed = syntax::parse_expression(text);
        Expression::new(source, text, parsed.tree, parsed.diagnostics)
    }

    /// Reads the value of a variable, `var name = value;`, and gives its name, too. Schemas behind it mean nothing, as in a
    /// policy.
    ///
    /// # Errors
    /// Everything that is wrong with the text.
    pub fn read_variable(source: &str, text: &str) -> Result<(SmolStr, Expression), Vec<Problem>> {
        let parsed = syntax::parse_variable(text);
        let (name, value) = match parsed.tree {
            Some(variable) => (variable.name.text, variable.value),
            None => (SmolStr::default(), Expr::new(Span::default(), ExprKind::Error)),
        };
        Ok((name, Expression::new(source, text, value, parsed.diagnostics)?))
    }

    fn new(
        source: &str,
        text: &str,
        tree: Expr,
        diagnostics: Vec<Diagnostic>,
    ) -> Result<Expression, Vec<Problem>> {
        let around = around(tree.clone());
        let (names, unresolved) = Names::resolve_expression(&around);
        let document = Document::of_expression(source, text, around, names);
        let found = diagnostics.into_iter().chain(unresolved);
        let errors: Vec<Problem> = found
            .filter(|diagnostic| diagnostic.severity == syntax::Severity::Error)
            .map(|diagnostic| document.problem(diagnostic))
            .collect();
        if errors.is_empty() { Ok(Expression { tree, document }) } else { Err(errors) }
    }

    /// All of it.
    pub fn whole(&self) -> ExpressionPart<'_> {
        ExpressionPart { document: &self.document, tree: &self.tree }
    }

    /// What is certainly not meant: the warnings of [`check()`].
    pub fn warnings(&self, configuration: &Configuration, settings: &Settings) -> Vec<Finding> {
        let mut found = check(&self.document, configuration, settings);
        found.retain(|finding| finding.severity >= Severity::Warning);
        found
    }
}

/// A document that holds the expression and nothing else.
fn around(tree: Expr) -> tree::Document {
    let span = tree.span;
    let policy = Policy {
        span,
        name: tree::Text { span, text: SmolStr::new_static("expression") },
        effect: Effect::Permit,
        body: Vec::new(),
        obligations: Vec::new(),
        advice: Vec::new(),
        transform: Some(tree),
    };
    tree::Document { span, imports: Vec::new(), schemas: Vec::new(), root: Some(Root::Policy(policy)) }
}

impl<'e> ExpressionPart<'e> {
    /// The parts of this one, in their order; not those in which `@` means something, since they come to nothing outside.
    pub fn parts(self) -> Vec<ExpressionPart<'e>> {
        let inner: Vec<&'e Expr> = match &self.tree.kind {
            ExprKind::Null
            | ExprKind::Undefined
            | ExprKind::Boolean(_)
            | ExprKind::Number(_)
            | ExprKind::Text(_)
            | ExprKind::Identifier(_)
            | ExprKind::RelativeValue
            | ExprKind::RelativeLocation
            | ExprKind::Error => Vec::new(),
            ExprKind::Array(items) => items.iter().collect(),
            ExprKind::Object(entries) => entries.iter().map(|entry| &entry.value).collect(),
            ExprKind::Call(call) => call.arguments.iter().collect(),
            ExprKind::Attribute(call) => call.arguments.iter().collect(),
            ExprKind::Steps { base, steps } => of_steps(base, steps),
            ExprKind::Unary { operand, .. } => vec![&**operand],
            ExprKind::Comparison(comparison) => vec![&comparison.left, &comparison.right],
            ExprKind::Chain(chain) => {
                std::iter::once(&chain.first).chain(chain.rest.iter().map(|link| &link.operand)).collect()
            }
            ExprKind::Filter { base, filter } => of_filter(base, filter),
            ExprKind::Subtemplate { base, .. } => vec![&**base],
        };
        inner.into_iter().map(|tree| ExpressionPart { document: self.document, tree }).collect()
    }

    /// Line and column, from 1.
    pub fn place(self) -> (u32, u32) {
        self.document.place(self.tree.span)
    }

    pub(crate) fn document(self) -> &'e Document {
        self.document
    }

    pub(crate) fn tree(self) -> &'e Expr {
        self.tree
    }
}

fn of_steps<'e>(base: &'e Expr, steps: &'e [tree::Step]) -> Vec<&'e Expr> {
    let mut inner = vec![base];
    for step in steps {
        if let StepKind::Attribute(call) = &step.kind {
            inner.extend(&call.arguments);
        }
    }
    inner
}

fn of_filter<'e>(base: &'e Expr, filter: &'e Filter) -> Vec<&'e Expr> {
    let mut inner = vec![base];
    if let Filter::Simple(call) = filter
        && !call.each
    {
        inner.extend(&call.arguments);
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<(u32, u32)> {
        let expression = Expression::read("e", text).unwrap();
        expression.whole().parts().into_iter().map(ExpressionPart::place).collect()
    }

    #[test]
    fn parts_are_what_means_the_same_outside() {
        assert_eq!(places("[1,\n 2]"), [(1, 2), (2, 2)]);
        assert_eq!(places("subject[?(@ == 1)]"), [(1, 1)]);
        assert_eq!(places("subject |- { @.a : filter.blacken(1) }"), [(1, 1)]);
        assert_eq!(places("subject :: { \"a\": @ }"), [(1, 1)]);
        assert_eq!(places("math.max(1, 2)"), [(1, 10), (1, 13)]);
        assert!(places("subject").is_empty());
    }

    #[test]
    fn a_variable_is_read_with_its_name() {
        let (name, value) = Expression::read_variable("e", "var x = 1 + 2;").unwrap();
        assert_eq!((name.as_str(), value.whole().place()), ("x", (1, 9)));
        for wrong in ["var = 1;", "var x 1;", "var subject = 1;", "1", "var x = 1; 2", "var x = 1"] {
            assert!(Expression::read_variable("e", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_want_their_library() {
        let problems = Expression::read("e", "blacken(\"abc\")").unwrap_err();
        assert_eq!(problems[0].to_string(), "e:1:1: `blacken` is not imported; write `filter.blacken`");
        assert!(Expression::read("e", "import filter.blacken blacken(\"a\")").is_err());
    }

    #[test]
    fn what_is_not_meant_is_told() {
        let expression = Expression::read("e", "string.lenght(nobody)").unwrap();
        let found = expression.warnings(&Configuration::default(), &Settings::default());
        let codes: Vec<&str> = found.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["unknown-function", "unknown-variable"]);
        let expression = Expression::read("e", "1 + 2").unwrap();
        assert!(expression.warnings(&Configuration::default(), &Settings::default()).is_empty());
    }
}

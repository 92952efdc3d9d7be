//! The tree of a document: what its text says, piece by piece, with the place of every piece.
//!
//! Names stand here without their backticks, texts with their escapes resolved, numbers as they are written. Names of
//! functions and attributes are as written too: imports are not applied. Parentheses leave no trace but the tree's
//! shape. Long chains (`a + b - c`, `a || b || c`, `a.b.c.d`) are flat, so a tree is only as deep as the text nests,
//! and the parser bounds that: a tree that it made can be walked by recursion.

mod document;
mod expression;
mod places;

pub use document::{
    Algorithm, DefaultDecision, Document, Effect, Element, ErrorHandling, Import, Mode, Policy, PolicySet,
    Root, SchemaStatement, Statement, Variable,
};
pub use expression::{
    AttributeCall, Chain, ChainOperator, Comparison, ComparisonOperator, Entry, Expr, ExprKind, Filter,
    FilterCall, FilterStatement, FunctionCall, Link, Step, StepKind, UnaryOperator,
};

use smol_str::SmolStr;

use super::Span;

/// An identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Where it is written, with its backticks if it has any.
    pub span: Span,
    /// Its characters, without backticks.
    pub text: SmolStr,
}

/// A text in quotation marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Where it is written, with its quotation marks.
    pub span: Span,
    /// What it says, escapes resolved.
    pub text: SmolStr,
}

/// The name of a function or an attribute, as written: `length`, which some import must explain, or
/// `standard.length`. Any other number of segments is an error that resolving the names reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionName {
    /// Where it is written.
    pub span: Span,
    /// What stands between the dots; at least one.
    pub segments: Vec<Name>,
}

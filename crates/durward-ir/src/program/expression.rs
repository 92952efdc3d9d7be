//! What targets, conditions and duties are made of.

use std::sync::Arc;

use smol_str::SmolStr;

use super::atoms::Atom;
use super::ids::{ExprId, SlotId};
use super::structured::Structured;
use crate::datatype::XPathExpression;
use crate::fault::Fault;
use crate::function::pattern::Pattern;
use crate::function::{Function, HigherOrder, Lazy};
use crate::value::{DataType, Operand, Value};

/// An expression. Whether it is well typed was checked when the policy was lowered.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A value or bag that needs nothing to be known.
    Constant(Operand<'static>),
    /// The bag of an attribute (XACML 3.0, 7.3.5).
    Attribute {
        /// Which attribute.
        slot: SlotId,
        /// Whether an empty bag is an error.
        must_be_present: bool,
    },
    /// The bag of values an XPath expression selects from the request's content (7.3.7).
    Selector(Arc<Selector>),
    /// A function of its evaluated arguments.
    Call(&'static Function, Box<[ExprId]>),
    /// A function that evaluates its own arguments.
    Lazy(Lazy, Box<[ExprId]>),
    /// A function applied to values of bags; the function comes first in the policy.
    HigherOrder(HigherOrder, &'static Function, Box<[ExprId]>),
    /// A function over the content of the request, or another decision.
    Contextual(&'static Function, Box<[ExprId]>),
    /// A regular expression known when the policy was read, applied to the text of a value.
    Matches(Arc<Pattern>, ExprId),
    /// True when all are; False wins over an error (targets, 7.7).
    All(Box<[ExprId]>),
    /// True when any is; True wins over an error (targets, 7.7).
    Any(Box<[ExprId]>),
    /// True when the function holds for the literal and any value of the bag (7.6).
    Match(Box<Match>),
    /// An error known when the policy was read.
    Failed(Box<Fault>),
    /// A part of a subscription.
    Part(SlotId),
    /// True when a part of a subscription is equal to any of these values; sorted. Never an error, and indexes can work
    /// with it.
    IsOneOf(SlotId, Box<[Atom]>),
    /// An expression over values of JSON.
    Structured(Structured),
}

impl Expr {
    /// Whether it looks at more than attributes by itself, whatever its arguments do: at the content of the request, or
    /// at another decision.
    pub fn looks_at_content(&self) -> bool {
        match self {
            Expr::Selector(_) | Expr::Contextual(..) => true,
            Expr::HigherOrder(_, function, _) => function.looks_at_content(),
            Expr::Match(matching) => matching.function.looks_at_content(),
            Expr::Constant(_)
            | Expr::Attribute { .. }
            | Expr::Call(..)
            | Expr::Lazy(..)
            | Expr::Matches(..)
            | Expr::All(_)
            | Expr::Any(_)
            | Expr::Failed(_)
            | Expr::Part(_)
            | Expr::IsOneOf(..)
            | Expr::Structured(_) => false,
        }
    }
}

/// A `<Match>` of a target.
#[derive(Clone, Debug)]
pub struct Match {
    /// The function; takes the literal and one value of the bag.
    pub function: &'static Function,
    /// The literal.
    pub literal: Value,
    /// The bag.
    pub bag: ExprId,
    /// Whether the function is the equality of the literal's type.
    pub is_equality: bool,
    /// Set when this is just "the slot holds this very value": what indexes work with.
    pub atom: Option<Atom>,
    /// The literal compiled, where the function takes it for a regular expression and it is one.
    pub pattern: Option<Arc<Pattern>>,
}

/// An attribute selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// The XPath expression, its category and namespaces.
    pub path: XPathExpression,
    /// The attribute whose xpathExpression value names the context node, if any.
    pub context: Option<SmolStr>,
    /// The type the selected nodes are read as.
    pub data_type: DataType,
    /// Whether an empty bag is an error.
    pub must_be_present: bool,
    /// Whether the path is over a whole XACML 2.0 request document instead of a category's content.
    pub over_request: bool,
}

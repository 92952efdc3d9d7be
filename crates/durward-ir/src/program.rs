//! Policies after lowering: an arena of policy elements and expressions, with every attribute a numbered slot.
//!
//! A program is built once ([`Builder`]), never changed, and shared by everybody who decides. Expressions are
//! hash-consed, so an expression that occurs in a thousand policies is one expression here.
//!
//! A program that differs from another one in a few documents shares all that they have in common
//! ([`Builder::extending`]): what is new stands behind it, and what no root document needs any more is just not reached.

mod arena;
mod atoms;
mod build;
mod fold;
mod foregone;
mod grid;
mod ids;
mod map;
mod members;
mod open_addressing;
mod quick;
mod ranges;
mod shape;
mod shared;
mod slots;
mod structured;
mod table;
mod words;
mod written;

pub(crate) use arena::Both;
pub use atoms::Atom;
pub use build::Builder;
pub use fold::{Facts, Junction};
pub use ids::{ExprId, NodeId, SlotId};
pub use quick::Quick;
pub(crate) use ranges::Derived;
pub use ranges::RangeTest;
pub(crate) use shared::SHARED_MAX;
pub use slots::Slots;
pub use structured::{
    BinaryOperator, Compiled, EditPath, Finder, Library, Lookup, Step, Structured, UnaryOperator,
};
pub use written::{Written, WrittenCondition};

pub use crate::effect::Effect;

use smol_str::SmolStr;
use std::sync::Arc;

use arena::Arena;

use crate::combine::{Algorithm, Effects, Verdict};
use crate::datatype::XPathExpression;
use crate::fault::Fault;
use crate::function::pattern::Pattern;
use crate::function::{Function, HigherOrder, Lazy};
use crate::question::{Attributes, Encoding, Glance, Question};
use crate::value::{DataType, Operand, Value};

/// Where in which document something was written. Lines and columns count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Place {
    /// The document, an index into [`Program::sources`].
    pub source: u32,
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// All policies in force at one moment, lowered.
#[derive(Debug)]
pub struct Program {
    /// Policy elements. A set stands behind its children, so a later index is never a descendant.
    nodes: Arena<Node>,
    exprs: Arena<Expr>,
    /// `None` unless [`Builder::keep_extensible`].
    memo: Option<build::Memo>,
    shared: shared::Shared,
    ranges: Arc<ranges::Ranges>,
    tables: table::Tables,
    foregone: Option<foregone::Foregone>,
    /// The set of all root documents.
    root: NodeId,
    entry: NodeId,
    /// The attributes any expression reads.
    pub slots: Slots,
    /// The names of the documents, for messages.
    sources: Arena<SmolStr>,
    /// How policies of SAPL were written, in the order of the documents; empty unless [`Builder::keep_written`].
    pub written: Vec<Written>,
    /// See [`Program::dead`].
    dead: Arena<Dead>,
}

/// A policy or a set that never has a say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    /// Where it, or what keeps it from applying, was written.
    pub place: Place,
    /// Which it is and why, for its author.
    pub message: String,
    /// A way out.
    pub help: &'static str,
}

/// One policy element.
#[derive(Clone, Debug)]
pub enum Node {
    /// A leaf: says its effect when it applies.
    Rule(Rule),
    /// Combines its children. Boxed: most elements are rules, which are much smaller.
    Set(Box<Set>),
}

/// A leaf of the policy tree.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its identifier.
    pub id: SmolStr,
    /// What it says when it applies.
    pub effect: Effect,
    /// When it applies at all; `None` is always.
    pub target: Option<ExprId>,
    /// What must hold besides.
    pub condition: Option<ExprId>,
    /// Its obligations and advice.
    pub duties: Vec<DutyExpr>,
    /// What is to stand for the resource; undefined changes nothing.
    pub transform: Option<ExprId>,
    /// SAPL: of conditions that ask attribute finders, those that must hold before any is asked. `None` where no condition
    /// asks one.
    pub gate: Option<ExprId>,
    /// Where it was written.
    pub place: Place,
}

/// A policy, a policy set, or the set of all root documents.
#[derive(Clone, Debug)]
pub struct Set {
    /// Its identifier.
    pub id: SmolStr,
    /// Its version, as written.
    pub version: SmolStr,
    /// What the policy language calls it.
    pub kind: SetKind,
    /// When it applies at all; `None` is always.
    pub target: Option<ExprId>,
    /// How its children's votes become one.
    pub algorithm: Algorithm,
    /// The effects that any of its parts might have, for when it fails as a whole; SAPL's default is such a part.
    pub effects: Effects,
    /// Its children, in document order.
    pub children: Vec<NodeId>,
    /// What SAPL's algorithms know of the children.
    pub voters: Voters,
    /// Its own obligations and advice.
    pub duties: Vec<DutyExpr>,
    /// Where it was written.
    pub place: Place,
}

/// What SAPL's algorithms know of the children of a set, for when one of them fails.
#[derive(Clone, Debug, Default)]
pub struct Voters {
    /// How many of the first children say the same whatever is asked.
    pub constants: u32,
    /// Whether no child depends on what is asked, those included that were left out because they never apply.
    pub are_all_constant: bool,
    /// Whether a child may apply and have nothing to say all the same; the builder sees to it.
    pub may_abstain: bool,
    /// Where the first vote counts, for each child: the effects of those behind it and of the default. Of no other
    /// algorithm.
    pub behind: Box<[Effects]>,
}

/// What the policy language calls a [`Set`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SetKind {
    /// Holds rules.
    Policy,
    /// Holds policies and policy sets.
    PolicySet,
    /// Holds the root documents; not written by anybody.
    Root,
}

/// An obligation or advice, to be evaluated when its element has the effect it goes with.
#[derive(Clone, Debug)]
pub struct DutyExpr {
    /// Whether it must be done or may be done.
    pub kind: DutyKind,
    /// The effect it goes with.
    pub on: Effect,
    /// What is to be done.
    pub body: DutyBody,
}

/// What a duty says.
#[derive(Clone, Debug)]
pub enum DutyBody {
    /// An identifier and attributes (XACML).
    Named {
        /// Its identifier.
        id: SmolStr,
        /// Its attributes.
        assignments: Vec<AssignmentExpr>,
    },
    /// Any value; an undefined one is no duty (SAPL).
    Plain(ExprId),
}

/// Whether a duty binds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DutyKind {
    /// Must be done, or access is refused.
    Obligation,
    /// May be done.
    Advice,
}

/// One attribute of a duty, to be evaluated.
#[derive(Clone, Debug)]
pub struct AssignmentExpr {
    /// The attribute's identifier.
    pub id: SmolStr,
    /// Its category, if given.
    pub category: Option<SmolStr>,
    /// Its issuer, if given.
    pub issuer: Option<SmolStr>,
    /// Its value; a bag gives one assignment for each value.
    pub value: ExprId,
}

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

impl Program {
    /// The element with this number.
    ///
    /// # Panics
    /// Never for numbers out of this very program.
    #[inline]
    #[expect(clippy::expect_used, reason = "node numbers are only made by the builder of this program")]
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id.0 as usize).expect("an element of this program")
    }

    /// The effects that an element has, or any of its parts.
    pub fn effects(&self, id: NodeId) -> Effects {
        match self.node(id) {
            Node::Rule(rule) => Effects::only(rule.effect),
            Node::Set(set) => set.effects,
        }
    }

    /// The expression with this number.
    ///
    /// # Panics
    /// Never for numbers out of this very program.
    #[inline]
    #[expect(clippy::expect_used, reason = "expression numbers are only made by the builder of this program")]
    pub fn expr(&self, id: ExprId) -> &Expr {
        self.exprs.get(id.0 as usize).expect("an expression of this program")
    }

    /// Where an expression is remembered while a question is decided, if it is: a place below [`SHARED_MAX`].
    #[inline]
    pub(crate) fn shared_place(&self, id: ExprId) -> Option<usize> {
        self.shared.place(id)
    }

    /// Whether any expression is remembered, or has a table.
    #[inline]
    pub(crate) fn has_shared(&self) -> bool {
        !self.shared.is_empty() || !self.tables.is_empty()
    }

    /// What the program says to a subscription, where that was computed ahead; nothing goes along with it then. `None`
    /// where it has to be decided. `encoding` is of these very attributes, or for another program.
    #[inline]
    pub fn foregone(&self, attributes: &dyn Attributes, encoding: &Encoding) -> Option<Verdict> {
        self.foregone.as_ref()?.verdict(self, attributes, encoding)
    }

    /// Whether anything was computed ahead for the whole program.
    pub fn has_foregone(&self) -> bool {
        self.foregone.is_some()
    }

    /// The same, as far as can be seen at once.
    #[inline]
    pub fn foregone_glance(&self, glance: &impl Glance) -> Option<Verdict> {
        self.foregone.as_ref()?.glance(glance)
    }

    /// Whether an expression is true, where a table says so; `None` where it has to be evaluated.
    #[inline]
    pub(crate) fn tabled(&self, id: ExprId, question: &Question<'_>) -> Option<bool> {
        self.tables.truth(id, question)
    }

    /// All expressions, in order of their numbers.
    pub fn exprs(&self) -> impl ExactSizeIterator<Item = &Expr> {
        self.exprs.iter()
    }

    /// All expressions, for evaluators.
    #[inline]
    pub(crate) fn all_exprs(&self) -> Both<'_, Expr> {
        self.exprs.all()
    }

    /// The name of the document with this number ([`Place::source`]), if there is one.
    pub fn source(&self, number: u32) -> Option<&SmolStr> {
        self.sources.get(number as usize)
    }

    /// What was found to have no say whatever is asked, in the order of the documents. Only what policies of SAPL were
    /// found to be; XACML's are looked at as trees. In a program that extends another one, what is in documents that are
    /// gone is among them.
    pub fn dead(&self) -> impl ExactSizeIterator<Item = &Dead> {
        self.dead.iter()
    }

    /// How many documents have a name.
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// Whether programs that extend it share with it what is known of its expressions ([`Builder::keep_extensible`]).
    pub fn is_extensible(&self) -> bool {
        self.memo.is_some()
    }

    /// How many elements and expressions it adds to the program that it extends.
    pub fn added_len(&self) -> usize {
        self.nodes.tail().len() + self.exprs.tail().len()
    }

    /// How many elements it has in common with the program that it extends, or has in all where it extends none. Those
    /// have the lowest numbers, and mean the same in both.
    pub fn base_len(&self) -> usize {
        self.nodes.base_len()
    }

    /// The set of all root documents.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Where a decision may as well begin: below the root where that has one child and only passes on what it says.
    #[inline]
    pub fn entry(&self) -> NodeId {
        self.entry
    }

    /// See [`Program::entry`].
    fn find_entry(&self) -> NodeId {
        match self.node(self.root) {
            // XACML's algorithms make an error of a Suspend.
            Node::Set(set)
                if set.target.is_none()
                    && set.duties.is_empty()
                    && set.algorithm.passes_on()
                    && !set.effects.contains(Effect::Suspend) =>
            {
                match set.children.as_slice() {
                    [only] => *only,
                    _ => self.root,
                }
            }
            Node::Set(_) | Node::Rule(_) => self.root,
        }
    }

    /// All elements with their numbers; children before their parents. In a program that extends another one, those that
    /// are no longer reached from the root are among them.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(number, node)| (NodeId(number as u32), node))
    }

    /// The elements from [`Program::base_len`] on, with their numbers.
    pub fn later_nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        let first = self.nodes.base_len();
        self.nodes
            .tail()
            .iter()
            .enumerate()
            .map(move |(number, node)| (NodeId((first + number) as u32), node))
    }

    /// How many policies there are: sets of kind [`SetKind::Policy`], and rules that stand in a set of another kind, as
    /// policies of SAPL do.
    pub fn policy_count(&self) -> usize {
        let count = |node: &Node| match node {
            Node::Set(set) if set.kind == SetKind::Policy => 1,
            Node::Set(set) => {
                set.children.iter().filter(|child| matches!(self.node(**child), Node::Rule(_))).count()
            }
            Node::Rule(_) => 0,
        };
        self.nodes.iter().map(count).sum()
    }
}

impl Node {
    /// When the element applies at all; `None` is always.
    pub fn target(&self) -> Option<ExprId> {
        match self {
            Node::Rule(rule) => rule.target,
            Node::Set(set) => set.target,
        }
    }

    /// The element's identifier.
    pub fn id(&self) -> &SmolStr {
        match self {
            Node::Rule(rule) => &rule.id,
            Node::Set(set) => &set.id,
        }
    }

    /// Where it was written.
    pub fn place(&self) -> Place {
        match self {
            Node::Rule(rule) => rule.place,
            Node::Set(set) => set.place,
        }
    }
}

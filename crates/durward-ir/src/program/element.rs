//! Policy elements: rules and sets, what they oblige to, and where they were written.

use smol_str::SmolStr;

use super::ids::{ExprId, NodeId};
use crate::combine::Algorithm;
use crate::effect::{Effect, Effects};

/// One policy element.
#[derive(Clone, Debug)]
pub enum Node {
    /// A leaf: says its effect when it applies.
    Rule(Rule),
    /// Combines its children. Boxed: most elements are rules, which are much smaller.
    Set(Box<Set>),
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
    pub fn place(&self) -> SourceLocation {
        match self {
            Node::Rule(rule) => rule.place,
            Node::Set(set) => set.place,
        }
    }
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
    pub place: SourceLocation,
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
    pub place: SourceLocation,
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

/// The document, line and column that a part of a policy stands at. Lines and columns count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SourceLocation {
    /// The number of the document, for [`Program::source`](super::Program::source).
    pub source: u32,
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

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
mod digest;
mod element;
mod expression;
mod fold;
mod foregone;
mod grid;
mod ids;
mod map;
mod members;
mod memo;
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
pub use element::{
    AssignmentExpr, DutyBody, DutyExpr, DutyKind, Node, Rule, Set, SetKind, SourceLocation, Voters,
};
pub use expression::{Expr, Match, Selector};
pub use fold::Junction;
pub use ids::{ExprId, NodeId, SlotId};
pub use memo::Facts;
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

use crate::combine::{Effects, Verdict};
use crate::question::{Attributes, Encoding, Question, SlotReader};

/// All policies in force at one moment, lowered.
#[derive(Debug)]
pub struct Program {
    /// Policy elements. A set stands behind its children, so a later index is never a descendant.
    nodes: Arena<Node>,
    exprs: Arena<Expr>,
    /// `None` unless [`Builder::keep_extensible`].
    memo: Option<memo::Memo>,
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
    pub place: SourceLocation,
    /// Which it is and why, for its author.
    pub message: String,
    /// A way out.
    pub help: &'static str,
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
        self.foregone.as_ref()?.verdict(&self.slots, attributes, encoding)
    }

    /// Whether anything was computed ahead for the whole program.
    pub fn has_foregone(&self) -> bool {
        self.foregone.is_some()
    }

    /// [`Program::foregone`] for who has a reader of the slots; `None` also where the reader does not see enough.
    #[inline]
    pub fn foregone_by_reader(&self, reader: &impl SlotReader) -> Option<Verdict> {
        self.foregone.as_ref()?.verdict_by_reader(reader)
    }

    /// Whether an expression is true, where a table says so; `None` where it has to be evaluated.
    #[inline]
    pub(crate) fn tabled(&self, id: ExprId, question: &Question<'_>) -> Option<bool> {
        self.tables.truth(id, question)
    }

    /// What an expression that compares an attribute by order or with a prefix says of a slot that holds pieces of its
    /// values.
    pub fn range(&self, id: ExprId) -> Option<&RangeTest> {
        self.ranges.get(id)
    }

    /// Whether there are such expressions.
    pub fn has_ranges(&self) -> bool {
        !self.ranges.is_empty()
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

    /// The name of the document with this number ([`SourceLocation::source`]), if there is one.
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

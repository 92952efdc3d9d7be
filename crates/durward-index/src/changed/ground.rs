//! What changed programs have in common: the program that they extend, and its index.

use std::fmt;
use std::sync::Arc;

use durward_ir::combine::{Flow, PlainFold};
use durward_ir::evaluate::{ListPolicies, Shortlist, TargetMatch};
use durward_ir::program::{Node, NodeId, Program, Set, SlotId};
use durward_ir::question::Question;

use crate::{DiagramIndex, Index};

/// A program and its index, built in one go.
pub trait Base: fmt::Debug + Send + Sync {
    /// The program.
    fn program(&self) -> &Program;
    /// Its index.
    fn index(&self) -> &Index;
}

/// What programs that extend another one have in common.
#[derive(Debug)]
pub struct Ground {
    base: Arc<dyn Base>,
    /// For each element the place, among the children of the root, of the one that it lies in; that of any of them
    /// where it lies in several.
    owners: Box<[u32]>,
    /// Whether an element lies in several.
    are_shared: bool,
    /// Whether the index lists children by more than their own targets.
    is_dividing: bool,
    children: Box<[NodeId]>,
    /// How votes are combined, where that can be done without evaluation.
    fold: Option<PlainFold>,
    /// What the index looks at to tell the children of the root apart.
    order: Vec<SlotId>,
}

impl Ground {
    /// Takes time about proportional to the program, and no more than a small part of what building it took.
    pub fn of(base: Arc<dyn Base>) -> Ground {
        let program = base.program();
        let children: Box<[NodeId]> = match program.node(program.root()) {
            Node::Set(set) => set.children.as_slice().into(),
            Node::Rule(_) => Box::default(),
        };
        let mut owners = vec![NOBODY; program.nodes().len()].into_boxed_slice();
        let mut are_shared = false;
        let mut left = Vec::new();
        for (place, child) in (0..).zip(&children) {
            left.push(*child);
            while let Some(id) = left.pop() {
                let Some(owner) = owners.get_mut(id.0 as usize) else { continue };
                if *owner != NOBODY {
                    are_shared |= *owner != place;
                    continue;
                }
                *owner = place;
                if let Node::Set(set) = program.node(id) {
                    left.extend_from_slice(&set.children);
                }
            }
        }
        let fold = match base.index() {
            Index::Diagram(diagram) if !are_shared => diagram.root_fold(program),
            Index::Diagram(_)
            | Index::Scan(_)
            | Index::Bloom(_)
            | Index::Canonical(_)
            | Index::Changed(_) => None,
        };
        let is_dividing = matches!(base.index(), Index::Diagram(_));
        let order = base.index().order(program.root());
        Ground { base, owners, are_shared, is_dividing, children, fold, order }
    }

    pub(super) fn program(&self) -> &Program {
        self.base.program()
    }

    pub(super) fn index(&self) -> &Index {
        self.base.index()
    }

    /// The set of all root documents.
    #[expect(clippy::panic, reason = "every program is built with a set for its root")]
    pub(super) fn root(&self) -> &Set {
        let program = self.program();
        match program.node(program.root()) {
            Node::Set(set) => set,
            Node::Rule(_) => panic!("the root of a program is a set"),
        }
    }

    /// The child of the root at a place.
    pub(super) fn child(&self, place: u32) -> Option<NodeId> {
        self.children.get(place as usize).copied()
    }

    /// The diagrams, if that is what the index is.
    pub(super) fn diagram(&self) -> Option<&DiagramIndex> {
        match self.index() {
            Index::Diagram(diagram) => Some(diagram),
            Index::Scan(_) | Index::Bloom(_) | Index::Canonical(_) | Index::Changed(_) => None,
        }
    }

    /// How the votes of the root's children are combined, where that can be done without evaluation.
    pub(super) fn fold(&self) -> Option<PlainFold> {
        self.fold
    }

    /// Whether the index looks at a slot to tell the children of the root apart.
    pub(super) fn looks_at(&self, slot: SlotId) -> bool {
        self.order.contains(&slot)
    }

    /// The place of the child of the root that an element lies in; beyond all where it lies in none.
    #[inline]
    pub(super) fn owner(&self, id: NodeId) -> u32 {
        self.owners.get(id.0 as usize).copied().unwrap_or(NOBODY)
    }

    /// Whether the index lists children by more than their own targets.
    pub(super) fn is_dividing(&self) -> bool {
        self.is_dividing
    }

    /// What the index lists of the children of the root, or of theirs, each with the place of the child that it is or
    /// lies in.
    #[inline]
    pub(super) fn children(
        &self,
        question: &Question<'_>,
        list: ListPolicies,
        show: &mut dyn FnMut(u32, NodeId, TargetMatch) -> Flow,
    ) {
        let Some(diagram) = self.diagram() else { return };
        // What lies in several has no place of its own: then only children are listed, which have one.
        let list = if self.are_shared { ListPolicies::Yes } else { list };
        diagram.children(self.program().root(), self.root(), question, list, |node, known| {
            show(self.owner(node), node, known)
        });
    }
}

/// The place of what lies below no child of the root.
const NOBODY: u32 = u32::MAX;

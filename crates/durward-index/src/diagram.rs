//! A decision diagram for every set: a few looks at what slots hold leave the children that can still apply.
//!
//! What is touched per set and decision: its entry in `starts`; for every node on the way the node, the slot's
//! number and one branch; the list at the end, which says of each child whether its target is known to match by
//! then. A slot with several values takes all their branches, and the lists are merged.
//!
//! A slot that an attribute source has yet to be asked for tells nothing: its children stay together, so that a
//! source is asked only for what the policies themselves read. Once it was asked, the walk takes its branch.

mod build;
mod division;
mod expand;
mod look;
mod merge;
mod order;
mod packed;
mod store;
mod table;

use durward_ir::combine::Flow;
use durward_ir::evaluate::{ListPolicies, Shortlist, TargetMatch};
use durward_ir::program::{NodeId, Program, Set, SlotId};
use durward_ir::question::{Number, Question};

use crate::necessary;
use crate::sieve::Sieves;
use crate::target::Targets;
use crate::{DiagramStatistics, Settings};
use build::DiagramBuilder;
use merge::DiagramMerge;
use packed::PackedDiagram;
use table::{BranchTable, BranchTables};

/// Decision diagrams over the targets of a program.
#[derive(Debug)]
pub struct DiagramIndex {
    /// For each element from the first set on, where its diagrams start.
    starts: Box<[SetEntryPoints]>,
    first_set: u32,
    nodes: Box<[DiagramNode]>,
    forks: Box<[[DiagramEdge; 2]]>,
    tables: BranchTables,
    lists: Box<[ListEntry]>,
    sieves: Sieves,
    targets: Targets,
    packed: PackedDiagram,
    statistics: DiagramStatistics,
}

/// Where a walk goes on: `kind` is the length of a list, or one of the constants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct DiagramEdge {
    at: u32,
    kind: u32,
}

impl DiagramEdge {
    /// `at` is a node.
    const NODE: u32 = u32::MAX;
    /// `at` is a node whose slot holds several values.
    const MANY: u32 = u32::MAX - 1;
    /// `at` is a fork: both ways are to be gone.
    const FORK: u32 = u32::MAX - 2;
    /// All children of the set.
    const ALL: u32 = u32::MAX - 3;

    /// `at` is a sieve.
    const SIEVE: u32 = u32::MAX - 4;

    const UNDIVIDED: DiagramEdge = DiagramEdge { at: 0, kind: DiagramEdge::ALL };
    const NOBODY: DiagramEdge = DiagramEdge { at: 0, kind: 0 };

    /// Whether this is the end of a walk.
    #[inline]
    fn is_list(self) -> bool {
        self.kind < DiagramEdge::SIEVE
    }
}

/// Where the two diagrams of a set start; [`DiagramEdge::UNDIVIDED`] where there is none.
#[derive(Clone, Copy, Debug)]
struct SetEntryPoints {
    /// Lists children of children, too. For questions with at most one value for each slot it looks at.
    deep: DiagramEdge,
    /// Lists children only.
    exact: DiagramEdge,
}

impl SetEntryPoints {
    const UNDIVIDED: SetEntryPoints =
        SetEntryPoints { deep: DiagramEdge::UNDIVIDED, exact: DiagramEdge::UNDIVIDED };
}

/// A child in a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct ListEntry {
    node: NodeId,
    /// Twice the place among all that may stand in lists of the set, plus one if its target is known to match.
    rank: u32,
}

impl ListEntry {
    fn new(node: NodeId, place: u32, is_known_match: bool) -> ListEntry {
        ListEntry { node, rank: 2 * place + u32::from(is_known_match) }
    }

    fn place(self) -> u32 {
        self.rank >> 1
    }

    #[inline]
    fn is_known_match(self) -> bool {
        self.rank & 1 == 1
    }

    #[inline]
    fn known(self) -> TargetMatch {
        if self.is_known_match() { TargetMatch::Match } else { TargetMatch::Unsure }
    }
}

/// A node: looks at one slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct DiagramNode {
    slot: SlotId,
    /// Where a slot without value leads.
    absent: DiagramEdge,
    /// Where a value leads that this node does not name.
    other: DiagramEdge,
    /// Where a slot leads that a source has yet to be asked for.
    unasked: DiagramEdge,
    /// For the values that it names.
    table: BranchTable,
    /// Whether a slot with several values leads to all their branches; else the walk ends.
    is_mergeable: bool,
}

impl DiagramIndex {
    pub(crate) fn build(
        program: &Program,
        settings: &Settings,
        is_sourced: &dyn Fn(SlotId) -> bool,
    ) -> DiagramIndex {
        let targets = Targets::build(program);
        let necessary = necessary::of_nodes(program, &targets, settings.necessary_atoms_max);
        let diagram = DiagramBuilder::new(program, &targets, &necessary, settings, is_sourced).build();
        let packed = PackedDiagram::of(program, &diagram);
        let bytes = diagram.statistics.bytes + packed.bytes();
        let statistics = DiagramStatistics { bytes, ..diagram.statistics };
        DiagramIndex { targets, packed, statistics, ..diagram }
    }

    /// What the diagrams consist of.
    pub fn statistics(&self) -> DiagramStatistics {
        self.statistics.clone()
    }

    /// The targets of all elements.
    pub(crate) fn targets(&self) -> &Targets {
        &self.targets
    }

    #[inline]
    fn starts_of(&self, id: NodeId) -> SetEntryPoints {
        let place = id.0.wrapping_sub(self.first_set) as usize;
        self.starts.get(place).copied().unwrap_or(SetEntryPoints::UNDIVIDED)
    }

    /// Walks until there is a list, or a step only [`DiagramMerge`] can take.
    #[inline]
    fn walk(&self, mut step: DiagramEdge, question: &Question<'_>) -> DiagramEdge {
        while step.kind == DiagramEdge::NODE
            && let Some(node) = self.nodes.get(step.at as usize)
        {
            step = match question.peek(node.slot) {
                Number::ABSENT => node.absent,
                Number::OTHER | Number::OTHER_TEXT => node.other,
                Number::MANY => self.way_of_many(step, node, question),
                Number::UNASKED => node.unasked,
                number => self.tables.find(&node.table, number).unwrap_or(node.other),
            };
        }
        step
    }

    /// Where a slot with several values leads: the branch of the only one that has its own, if so.
    fn way_of_many(&self, step: DiagramEdge, node: &DiagramNode, question: &Question<'_>) -> DiagramEdge {
        if !node.is_mergeable {
            return DiagramEdge::UNDIVIDED;
        }
        let mut only = None;
        let are_several =
            self.any_way_of_many(node, question, |way| only.replace(way).is_some_and(|before| before != way));
        if are_several {
            DiagramEdge { at: step.at, kind: DiagramEdge::MANY }
        } else {
            only.unwrap_or(node.other)
        }
    }

    /// Whether the test holds for the branch of any value that has its own. The branch of other values need not be
    /// gone besides: who is on it does not look at the slot and is on all the others, or stands behind somebody who
    /// decides. For the same reason a value whose branch is that of others has none of its own: whoever asks for it
    /// stands behind somebody who decides.
    fn any_way_of_many(
        &self,
        node: &DiagramNode,
        question: &Question<'_>,
        mut test: impl FnMut(DiagramEdge) -> bool,
    ) -> bool {
        question.any_of_many(node.slot, |atom| {
            let step = self.tables.find(&node.table, Number::of(atom)).unwrap_or(node.other);
            step != node.other && test(step)
        })
    }

    #[inline]
    fn list(&self, step: DiagramEdge) -> &[ListEntry] {
        let first = step.at as usize;
        self.lists.get(first..first + step.kind as usize).unwrap_or_default()
    }

    /// Shows the children where the walk has ended without a list: a merged one, that of the exact diagram, or all.
    #[cold]
    fn show_otherwise(
        &self,
        step: DiagramEdge,
        starts: SetEntryPoints,
        set: &Set,
        question: &Question<'_>,
        show: &mut dyn FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        let mut merging = DiagramMerge::new(self, set, question);
        let merged = merging.merge(step).or_else(|| merging.merge(starts.exact));
        match merged {
            Some(()) => merging.show(show),
            None => {
                for child in &set.children {
                    if show(*child, TargetMatch::Unsure) == Flow::Stop {
                        break;
                    }
                }
            }
        }
    }
}

impl Shortlist for DiagramIndex {
    #[inline]
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        list: ListPolicies,
        mut show: impl FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        let starts = self.starts_of(id);
        let start = match list {
            ListPolicies::No => starts.deep,
            ListPolicies::Yes => starts.exact,
        };
        let step = self.walk(start, question);
        if step.is_list() {
            for entry in self.list(step) {
                if show(entry.node, entry.known()) == Flow::Stop {
                    break;
                }
            }
        } else if step.kind == DiagramEdge::SIEVE {
            self.sieves.pour(step.at, question, |left| show(left.node, left.known));
        } else {
            self.show_otherwise(step, starts, set, question, &mut show);
        }
    }

    #[inline]
    fn target(&self, id: NodeId, question: &Question<'_>) -> TargetMatch {
        self.targets.known(id, question)
    }
}

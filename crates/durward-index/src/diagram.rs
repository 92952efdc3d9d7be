//! A decision diagram for every set: a few looks at what slots hold leave the children that can still apply.
//!
//! What is touched per set and decision: its entry in `starts`; for every node on the way the node, the slot's
//! number and one branch; the list at the end, which says of each child whether its target is known to match by
//! then. A slot with several values takes all their branches, and the lists are merged.
//!
//! A slot that an attribute source has yet to be asked for stops the walk: the set is then evaluated undivided, so
//! that a source is asked only for what the policies themselves read. Once it was asked, the walk goes through.

mod build;
mod expand;
mod store;
mod table;

use durward_ir::combine::Flow;
use durward_ir::evaluate::{Everything, Known, ListPolicies, Shortlist};
use durward_ir::program::{NodeId, Program, Set, SlotId};
use durward_ir::question::{Number, Question};

use crate::necessary;
use crate::target::Targets;
use crate::{DiagramStatistics, Settings};
use build::Maker;
use table::{Table, Tables};

/// Beyond this many lists and children for each child of the set, merging the branches of many values is given up
/// and the set evaluated undivided.
const MERGE_FACTOR_MAX: usize = 4;

/// Merging this much is always tried.
const MERGE_MIN: usize = 64;

/// Decision diagrams over the targets of a program.
#[derive(Debug)]
pub struct Diagram {
    /// For each element, where its diagrams start.
    starts: Box<[Starts]>,
    nodes: Box<[Branching]>,
    forks: Box<[[Step; 2]]>,
    tables: Tables,
    lists: Box<[Entry]>,
    targets: Targets,
    statistics: DiagramStatistics,
}

/// Where a walk goes on: `kind` is the length of a list, or one of the constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Step {
    at: u32,
    kind: u32,
}

impl Step {
    /// `at` is a node.
    const NODE: u32 = u32::MAX;
    /// `at` is a node whose slot holds several values.
    const MANY: u32 = u32::MAX - 1;
    /// `at` is a fork: both ways are to be gone.
    const FORK: u32 = u32::MAX - 2;
    /// All children of the set.
    const ALL: u32 = u32::MAX - 3;

    const UNDIVIDED: Step = Step { at: 0, kind: Step::ALL };
    const NOBODY: Step = Step { at: 0, kind: 0 };

    /// Whether this is the end of a walk.
    #[inline]
    fn is_list(self) -> bool {
        self.kind < Step::ALL
    }
}

/// Where the two diagrams of a set start; [`Step::UNDIVIDED`] where there is none.
#[derive(Clone, Copy, Debug)]
struct Starts {
    /// Lists children of children, too. For questions with at most one value for each slot it looks at.
    deep: Step,
    /// Lists children only.
    exact: Step,
}

impl Starts {
    const UNDIVIDED: Starts = Starts { deep: Step::UNDIVIDED, exact: Step::UNDIVIDED };
}

/// A child in a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Entry {
    node: NodeId,
    /// Twice the place among all that may stand in lists of the set, plus one if its target is known to match.
    rank: u32,
}

impl Entry {
    fn new(node: NodeId, place: u32, is_known_match: bool) -> Entry {
        Entry { node, rank: 2 * place + u32::from(is_known_match) }
    }

    #[inline]
    fn known(self) -> Known {
        if self.rank & 1 == 1 { Known::Match } else { Known::Unsure }
    }
}

/// A node: looks at one slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Branching {
    slot: SlotId,
    /// For the states of a slot, in order of their numbers: absent, other, many, unasked.
    states: [Step; Number::FIRST_ATOM as usize],
    /// For the values that this node names; all others go the way of `other`.
    table: Table,
}

impl Branching {
    fn other(&self) -> Step {
        let [_, other, _, _] = self.states;
        other
    }
}

impl Diagram {
    pub(crate) fn build(program: &Program, settings: &Settings) -> Diagram {
        let targets = Targets::build(program);
        let necessary = necessary::of_nodes(program, &targets, settings.necessary_atoms_max);
        let diagram = Maker::new(program, &targets, &necessary, settings).build();
        Diagram { targets, ..diagram }
    }

    /// What the diagrams consist of.
    pub fn statistics(&self) -> DiagramStatistics {
        self.statistics.clone()
    }

    /// Where to go from a node.
    #[inline]
    fn next(&self, node: &Branching, number: Number) -> Step {
        match node.states.get(number.0 as usize) {
            Some(step) => *step,
            None => self.tables.find(&node.table, number).unwrap_or_else(|| node.other()),
        }
    }

    /// Walks until there is a list, or a step only [`Diagram::merge`] can take.
    #[inline]
    fn walk(&self, mut step: Step, question: &Question<'_>) -> Step {
        while step.kind == Step::NODE
            && let Some(node) = self.nodes.get(step.at as usize)
        {
            step = self.next(node, question.peek(node.slot));
        }
        step
    }

    #[inline]
    fn list(&self, step: Step) -> &[Entry] {
        let first = step.at as usize;
        self.lists.get(first..first + step.kind as usize).unwrap_or_default()
    }

    /// The list where the walk has ended without one: merged, or that of the exact diagram. `None` if the set must
    /// be evaluated undivided.
    #[cold]
    fn find_otherwise<'d>(
        &'d self,
        step: Step,
        exact: Step,
        set: &Set,
        question: &Question<'_>,
        merged: &'d mut Vec<Entry>,
    ) -> Option<&'d [Entry]> {
        if let Some(entries) = self.merge(step, set, question) {
            *merged = entries;
        } else {
            let exact_end = self.walk(exact, question);
            if exact_end.is_list() {
                return Some(self.list(exact_end));
            }
            *merged = self.merge(exact_end, set, question)?;
        }
        Some(merged)
    }

    /// Goes all ways at once. `None` if that takes too long or leads to an undivided set.
    fn merge(&self, step: Step, set: &Set, question: &Question<'_>) -> Option<Vec<Entry>> {
        let limit = MERGE_MIN + MERGE_FACTOR_MAX * set.children.len();
        let mut merging = Merging { diagram: self, question, found: Vec::new(), work_left: limit };
        merging.add(step)?;
        let mut found = merging.found;
        found.sort_unstable_by_key(|entry| entry.rank);
        found.dedup_by(|later, kept| {
            let is_same = later.rank >> 1 == kept.rank >> 1;
            if is_same {
                kept.rank |= later.rank;
            }
            is_same
        });
        Some(found)
    }
}

/// A walk along several ways.
struct Merging<'d> {
    diagram: &'d Diagram,
    question: &'d Question<'d>,
    found: Vec<Entry>,
    work_left: usize,
}

impl Merging<'_> {
    /// Recursion goes as deep as the diagram; see [`build::DEPTH_MAX`].
    fn add(&mut self, step: Step) -> Option<()> {
        let step = self.diagram.walk(step, self.question);
        match step.kind {
            Step::NODE | Step::ALL => None,
            Step::MANY => self.add_many(self.diagram.nodes.get(step.at as usize)?),
            Step::FORK => {
                let [first, second] = self.diagram.forks.get(step.at as usize)?;
                self.add(*first)?;
                self.add(*second)
            }
            length => {
                self.work_left = self.work_left.checked_sub(length as usize + 1)?;
                self.found.extend_from_slice(self.diagram.list(step));
                Some(())
            }
        }
    }

    /// Every value's branch. Where none is named by any policy, the slot is as if it held another value; else that
    /// branch need not be gone: who is on it does not look at the slot and is on all the others.
    fn add_many(&mut self, node: &Branching) -> Option<()> {
        let mut is_any = false;
        for atom in self.question.atoms_of(node.slot) {
            is_any = true;
            self.add(self.diagram.next(node, Number::of(atom)))?;
        }
        if is_any { Some(()) } else { self.add(node.other()) }
    }
}

impl Shortlist for Diagram {
    #[inline]
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        list: ListPolicies,
        mut show: impl FnMut(NodeId, Known) -> Flow,
    ) {
        let starts = self.starts.get(id.0 as usize).copied().unwrap_or(Starts::UNDIVIDED);
        let start = match list {
            ListPolicies::No => starts.deep,
            ListPolicies::Yes => starts.exact,
        };
        let step = self.walk(start, question);
        let mut merged = Vec::new();
        let entries = if step.is_list() {
            self.list(step)
        } else {
            match self.find_otherwise(step, starts.exact, set, question, &mut merged) {
                Some(entries) => entries,
                None => return Everything.children(id, set, question, list, show),
            }
        };
        for entry in entries {
            if show(entry.node, entry.known()) == Flow::Stop {
                break;
            }
        }
    }

    #[inline]
    fn target(&self, id: NodeId, question: &Question<'_>) -> Known {
        self.targets.known(id, question)
    }
}

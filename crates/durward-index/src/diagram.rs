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
mod store;
mod swift;
mod table;

use durward_ir::combine::Flow;
use durward_ir::evaluate::{Known, ListPolicies, Shortlist};
use durward_ir::program::{NodeId, Program, Set, SlotId};
use durward_ir::question::{Number, Question};

use crate::necessary;
use crate::sieve::Sieves;
use crate::target::Targets;
use crate::{DiagramStatistics, Settings};
use build::Maker;
use merge::Merging;
use swift::Swift;
use table::{Table, Tables};

/// Decision diagrams over the targets of a program.
#[derive(Debug)]
pub struct Diagram {
    /// For each element from the first set on, where its diagrams start.
    starts: Box<[Starts]>,
    first_set: u32,
    nodes: Box<[Branching]>,
    forks: Box<[[Step; 2]]>,
    tables: Tables,
    lists: Box<[Entry]>,
    sieves: Sieves,
    targets: Targets,
    swift: Swift,
    statistics: DiagramStatistics,
}

/// Where a walk goes on: `kind` is the length of a list, or one of the constants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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

    /// `at` is a sieve.
    const SIEVE: u32 = u32::MAX - 4;

    const UNDIVIDED: Step = Step { at: 0, kind: Step::ALL };
    const NOBODY: Step = Step { at: 0, kind: 0 };

    /// Whether this is the end of a walk.
    #[inline]
    fn is_list(self) -> bool {
        self.kind < Step::SIEVE
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

    fn place(self) -> u32 {
        self.rank >> 1
    }

    #[inline]
    fn is_known_match(self) -> bool {
        self.rank & 1 == 1
    }

    #[inline]
    fn known(self) -> Known {
        if self.is_known_match() { Known::Match } else { Known::Unsure }
    }
}

/// A node: looks at one slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Branching {
    slot: SlotId,
    /// Where a slot without value leads.
    absent: Step,
    /// Where a value leads that this node does not name.
    other: Step,
    /// Where a slot leads that a source has yet to be asked for.
    unasked: Step,
    /// For the values that it names.
    table: Table,
    /// Whether a slot with several values leads to all their branches; else the walk ends.
    is_mergeable: bool,
}

impl Diagram {
    pub(crate) fn build(
        program: &Program,
        settings: &Settings,
        is_sourced: &dyn Fn(SlotId) -> bool,
    ) -> Diagram {
        let targets = Targets::build(program);
        let necessary = necessary::of_nodes(program, &targets, settings.necessary_atoms_max);
        let diagram = Maker::new(program, &targets, &necessary, settings, is_sourced).build();
        let swift = Swift::of(program, &diagram);
        let bytes = diagram.statistics.bytes + swift.bytes();
        let statistics = DiagramStatistics { bytes, ..diagram.statistics };
        Diagram { targets, swift, statistics, ..diagram }
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
    fn starts_of(&self, id: NodeId) -> Starts {
        let place = id.0.wrapping_sub(self.first_set) as usize;
        self.starts.get(place).copied().unwrap_or(Starts::UNDIVIDED)
    }

    /// Walks until there is a list, or a step only [`Merging`] can take.
    #[inline]
    fn walk(&self, mut step: Step, question: &Question<'_>) -> Step {
        while step.kind == Step::NODE
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
    fn way_of_many(&self, step: Step, node: &Branching, question: &Question<'_>) -> Step {
        if !node.is_mergeable {
            return Step::UNDIVIDED;
        }
        let mut only = None;
        let are_several =
            self.any_way_of_many(node, question, |way| only.replace(way).is_some_and(|before| before != way));
        if are_several { Step { at: step.at, kind: Step::MANY } } else { only.unwrap_or(node.other) }
    }

    /// Whether the test holds for the branch of any value that has its own. The branch of other values need not be
    /// gone besides: who is on it does not look at the slot and is on all the others, or stands behind somebody who
    /// decides. For the same reason a value whose branch is that of others has none of its own: whoever asks for it
    /// stands behind somebody who decides.
    fn any_way_of_many(
        &self,
        node: &Branching,
        question: &Question<'_>,
        mut test: impl FnMut(Step) -> bool,
    ) -> bool {
        question.any_of_many(node.slot, |atom| {
            let step = self.tables.find(&node.table, Number::of(atom)).unwrap_or(node.other);
            step != node.other && test(step)
        })
    }

    #[inline]
    fn list(&self, step: Step) -> &[Entry] {
        let first = step.at as usize;
        self.lists.get(first..first + step.kind as usize).unwrap_or_default()
    }

    /// Shows the children where the walk has ended without a list: a merged one, that of the exact diagram, or all.
    #[cold]
    fn show_otherwise(
        &self,
        step: Step,
        starts: Starts,
        set: &Set,
        question: &Question<'_>,
        show: &mut dyn FnMut(NodeId, Known) -> Flow,
    ) {
        let mut merging = Merging::new(self, set, question);
        let merged = merging.merge(step).or_else(|| merging.merge(starts.exact));
        match merged {
            Some(()) => merging.show(show),
            None => {
                for child in &set.children {
                    if show(*child, Known::Unsure) == Flow::Stop {
                        break;
                    }
                }
            }
        }
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
        } else if step.kind == Step::SIEVE {
            self.sieves.pour(step.at, question, |left| show(left.node, left.known));
        } else {
            self.show_otherwise(step, starts, set, question, &mut show);
        }
    }

    #[inline]
    fn target(&self, id: NodeId, question: &Question<'_>) -> Known {
        self.targets.known(id, question)
    }
}

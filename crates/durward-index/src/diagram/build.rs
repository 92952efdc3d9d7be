//! Divides the children of every set by what their targets ask for.
//!
//! Greedy: the slot whose values leave the fewest children on the average is looked at first, then each branch is
//! divided further. Children that do not limit that slot go into all branches; where that would copy too many of
//! them, those that do and those that do not are divided apart, and their lists merged when deciding. Equal lists
//! and equal nodes are kept once.
//!
//! Every limit reached ends in a list that is longer than need be, which is correct always.

use std::collections::{BTreeMap, HashMap};

use durward_ir::combine::Algorithm;
use durward_ir::program::{Atom, Node, NodeId, Program, Set, SlotId};

use super::table::{Table, Tables};
use super::{Branching, Diagram, Entry, Step};
use crate::necessary::{self, Limit, Necessary};
use crate::target::{Target, Targets};
use crate::{DiagramStatistics, Settings};

/// How many slots and forks one diagram looks at on any way through it. Policies test a handful of attributes.
pub(super) const DEPTH_MAX: usize = 32;

/// A list this short is divided by its children's own targets only, and however little that helps: it saves
/// evaluating them.
const SHORT: usize = 4;

/// Longer lists are divided where that leaves at most this share of them, in percent.
const LEFT_MAX_PERCENT: usize = 75;

/// How many entries dividing a list may make for each of its own, besides [`COPIES_MIN`].
const COPIES_MAX: usize = 4;

/// How many entries dividing a list may always make.
const COPIES_MIN: usize = 64;

/// How many entries and branches a set's diagram may have for each child and each value its children ask for.
const GROWTH_MAX: usize = 32;

/// Diagrams in the making.
pub(super) struct Maker {
    nodes: Vec<Branching>,
    forks: Vec<[Step; 2]>,
    tables: Tables,
    lists: Vec<Entry>,
    known_nodes: HashMap<NodeKey, Step>,
    known_lists: HashMap<Vec<Entry>, Step>,
    settings: Settings,
    /// How many more entries the set at hand may have.
    allowance: usize,
    is_cut: bool,
}

/// What makes two nodes interchangeable.
#[derive(PartialEq, Eq, Hash)]
struct NodeKey {
    slot: SlotId,
    absent: Step,
    other: Step,
    branches: Vec<(Atom, Step)>,
}

/// A child to be told apart from its siblings.
#[derive(Clone, Copy)]
struct Child<'b> {
    id: NodeId,
    position: u32,
    limits: &'b [Limit],
    has_target: bool,
    target: Option<&'b Target>,
}

impl<'b> Child<'b> {
    fn limit(&self, slot: SlotId) -> Option<&'b Limit> {
        self.limits.binary_search_by_key(&slot, |limit| limit.slot).ok().and_then(|at| self.limits.get(at))
    }

    /// Whether the target is True for every question on this path.
    fn is_known_match(&self, path: &Path) -> bool {
        if !self.has_target {
            return true;
        }
        let Some(mut clauses) = self.target.and_then(Target::as_one_ofs) else { return false };
        clauses.all(|clause| path.atom(clause.slot).is_some_and(|atom| clause.names(atom)))
    }
}

/// What is known where a list is made: for each slot looked at, an atom it holds, if it is one of those named.
#[derive(Default)]
struct Path(Vec<(SlotId, Option<Atom>)>);

impl Path {
    fn has(&self, slot: SlotId) -> bool {
        self.0.iter().any(|(seen, _)| *seen == slot)
    }

    fn atom(&self, slot: SlotId) -> Option<Atom> {
        self.0.iter().find(|(seen, _)| *seen == slot).and_then(|(_, atom)| *atom)
    }
}

/// How well a slot divides a list.
#[derive(Default)]
struct Division {
    /// How many children limit the slot.
    limiting: usize,
    /// How many of them ask for each atom.
    askers: HashMap<Atom, usize>,
    /// The sum of that.
    asked: usize,
}

impl Division {
    /// How many of the limiting children are left on the average, if questions hold what policies ask for.
    fn left(&self) -> usize {
        let squares: usize = self.askers.values().map(|askers| askers * askers).sum();
        squares.div_ceil(self.asked.max(1))
    }

    /// How many entries the branches have in all, of a list this long.
    fn copies(&self, length: usize) -> usize {
        let (both, free) = (self.limiting + self.asked, length - self.limiting);
        both + free * (self.askers.len() + 2)
    }
}

impl Maker {
    pub(super) fn new(settings: &Settings) -> Maker {
        Maker {
            nodes: Vec::new(),
            forks: Vec::new(),
            tables: Tables::default(),
            lists: Vec::new(),
            known_nodes: HashMap::new(),
            known_lists: HashMap::new(),
            settings: settings.clone(),
            allowance: 0,
            is_cut: false,
        }
    }

    pub(super) fn build(mut self, program: &Program, targets: Targets) -> Diagram {
        let necessary = necessary::of_nodes(program, &targets, self.settings.necessary_atoms_max);
        let starts: Box<[Step]> = program
            .nodes()
            .map(|(_, node)| match node {
                Node::Rule(_) => Step::UNDIVIDED,
                Node::Set(set) => self.set(program, &targets, &necessary, set),
            })
            .collect();
        self.tables.finish();
        let statistics = DiagramStatistics {
            nodes: self.nodes.len() + self.forks.len(),
            lists: self.known_lists.len(),
            bytes: size_of_val(&*starts)
                + size_of_val(&*self.nodes)
                + size_of_val(&*self.forks)
                + size_of_val(&*self.lists)
                + self.tables.bytes()
                + targets.bytes(),
            sets: starts.iter().filter(|step| **step != Step::UNDIVIDED).count(),
            is_cut: self.is_cut,
        };
        Diagram {
            starts,
            nodes: self.nodes.into(),
            forks: self.forks.into(),
            tables: self.tables,
            lists: self.lists.into(),
            targets,
            statistics,
        }
    }

    fn set(&mut self, program: &Program, targets: &Targets, necessary: &[Necessary], set: &Set) -> Step {
        let own: Vec<Necessary>;
        let needs: Vec<&Necessary> = match set.algorithm {
            Algorithm::OnPermitApplySecond => return Step::UNDIVIDED,
            // Looks at the targets of its children alone.
            Algorithm::OnlyOneApplicable => {
                own = set.children.iter().map(|child| necessary::of_target(targets.get(*child))).collect();
                own.iter().collect()
            }
            Algorithm::DenyOverrides
            | Algorithm::PermitOverrides
            | Algorithm::DenyUnlessPermit
            | Algorithm::PermitUnlessDeny
            | Algorithm::FirstApplicable
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides => {
                set.children.iter().filter_map(|child| necessary.get(child.0 as usize)).collect()
            }
        };
        let children = set.children.iter().zip(needs).enumerate();
        let children: Vec<Child<'_>> = children
            .filter(|(_, (_, necessary))| !necessary.is_never())
            .map(|(position, (id, necessary))| Child {
                id: *id,
                position: position as u32,
                limits: necessary.limits(),
                has_target: program.node(*id).target().is_some(),
                target: targets.get(*id),
            })
            .collect();
        let asked: usize =
            children.iter().flat_map(|child| child.limits).map(|limit| limit.atoms.len()).sum();
        self.allowance = COPIES_MIN + GROWTH_MAX * (children.len() + asked);
        self.divide(&children, &mut Path::default(), DEPTH_MAX)
    }

    /// The diagram of these children, where the path is known.
    fn divide(&mut self, children: &[Child<'_>], path: &mut Path, depth_left: usize) -> Step {
        if children.is_empty() {
            return Step::NOBODY;
        }
        if depth_left == 0 || self.allowance == 0 || self.is_full() {
            self.is_cut = true;
            return self.list(children, path);
        }
        let divisions = divisions(children, path);
        let length = children.len();
        let best = divisions
            .iter()
            .min_by_key(|(slot, division)| (length - division.limiting + division.left(), **slot));
        let Some((slot, division)) = best else { return self.list(children, path) };
        let left = length - division.limiting + division.left();
        let is_worth_it = length <= SHORT || left * 100 <= length * LEFT_MAX_PERCENT;
        if is_worth_it && division.copies(length) <= COPIES_MIN + COPIES_MAX * length {
            return self.branch(*slot, children, path, depth_left - 1);
        }
        let most = divisions
            .iter()
            .filter(|(_, division)| division.left() * 2 <= division.limiting)
            .max_by_key(|(slot, division)| (division.limiting, std::cmp::Reverse(**slot)));
        match most {
            Some((slot, division)) if division.limiting >= (length / 16).max(2 * SHORT) => {
                self.fork(*slot, children, path, depth_left - 1)
            }
            _ => self.list(children, path),
        }
    }

    /// A node that looks at this slot.
    fn branch(&mut self, slot: SlotId, children: &[Child<'_>], path: &mut Path, depth_left: usize) -> Step {
        let mut askers: BTreeMap<Atom, Vec<Child<'_>>> = BTreeMap::new();
        for child in children {
            for atom in child.limit(slot).iter().flat_map(|limit| limit.atoms.iter()) {
                askers.entry(*atom).or_default().push(*child);
            }
        }
        self.allowance = self.allowance.saturating_sub(askers.len() + 1);
        let free: Vec<Child<'_>> =
            children.iter().filter(|child| child.limit(slot).is_none()).copied().collect();
        let without_value: Vec<Child<'_>> = children
            .iter()
            .filter(|child| child.limit(slot).is_none_or(|limit| limit.is_absent_allowed))
            .copied()
            .collect();
        let other = self.divide_on(&free, path, (slot, None), depth_left);
        let absent = self.divide_on(&without_value, path, (slot, None), depth_left);
        let mut branches = Vec::with_capacity(askers.len());
        for (atom, askers) in askers {
            let together = in_document_order(&askers, &free);
            let step = self.divide_on(&together, path, (slot, Some(atom)), depth_left);
            if step != other {
                branches.push((atom, step));
            }
        }
        self.node(NodeKey { slot, absent, other, branches })
    }

    fn divide_on(
        &mut self,
        children: &[Child<'_>],
        path: &mut Path,
        known: (SlotId, Option<Atom>),
        depth_left: usize,
    ) -> Step {
        path.0.push(known);
        let step = self.divide(children, path, depth_left);
        path.0.pop();
        step
    }

    /// Those that limit this slot and those that do not, apart.
    fn fork(&mut self, slot: SlotId, children: &[Child<'_>], path: &mut Path, depth_left: usize) -> Step {
        let (limiting, free): (Vec<Child<'_>>, Vec<Child<'_>>) =
            children.iter().partition(|child| child.limit(slot).is_some());
        self.allowance = self.allowance.saturating_sub(1);
        let ways = [self.divide(&limiting, path, depth_left), self.divide(&free, path, depth_left)];
        if ways.contains(&Step::UNDIVIDED) {
            return Step::UNDIVIDED;
        }
        self.forks.push(ways);
        Step { at: self.forks.len() as u32 - 1, kind: Step::FORK }
    }

    fn list(&mut self, children: &[Child<'_>], path: &Path) -> Step {
        let entries: Vec<Entry> = children
            .iter()
            .map(|child| Entry::new(child.id, child.position, child.is_known_match(path)))
            .collect();
        if let Some(step) = self.known_lists.get(&entries) {
            return *step;
        }
        self.allowance = self.allowance.saturating_sub(entries.len());
        if self.is_full() {
            self.is_cut = true;
            return Step::UNDIVIDED;
        }
        let step = Step { at: self.lists.len() as u32, kind: entries.len() as u32 };
        self.lists.extend_from_slice(&entries);
        self.known_lists.insert(entries, step);
        step
    }

    fn node(&mut self, key: NodeKey) -> Step {
        if key.branches.is_empty() && key.absent == key.other {
            return key.other;
        }
        if let Some(step) = self.known_nodes.get(&key) {
            return *step;
        }
        let at = self.nodes.len() as u32;
        let table: Table = self.tables.add(&key.branches, key.other);
        let many = Step { at, kind: Step::MANY };
        let states = [key.absent, key.other, many, Step::UNDIVIDED];
        self.nodes.push(Branching { slot: key.slot, states, table });
        let step = Step { at, kind: Step::NODE };
        self.known_nodes.insert(key, step);
        step
    }

    /// Whether a limit of the settings is reached.
    fn is_full(&self) -> bool {
        let entries = self.lists.len() + self.tables.len();
        self.nodes.len() + self.forks.len() >= self.settings.diagram_nodes_max.min(NUMBERS_MAX)
            || entries >= self.settings.diagram_entries_max.min(NUMBERS_MAX)
    }
}

/// Places are numbers of 32 bits; half of that leaves room for what is added in one go.
const NUMBERS_MAX: usize = 1 << 31;

/// How each slot that has not been looked at divides these children.
fn divisions(children: &[Child<'_>], path: &Path) -> HashMap<SlotId, Division> {
    let is_short = children.len() <= SHORT;
    let mut divisions: HashMap<SlotId, Division> = HashMap::new();
    for child in children {
        for limit in child.limits.iter().filter(|limit| !is_short || limit.is_own) {
            if path.has(limit.slot) {
                continue;
            }
            let division = divisions.entry(limit.slot).or_default();
            division.limiting += 1;
            division.asked += limit.atoms.len();
            for atom in limit.atoms.iter() {
                *division.askers.entry(*atom).or_default() += 1;
            }
        }
    }
    divisions
}

fn in_document_order<'b>(some: &[Child<'b>], others: &[Child<'b>]) -> Vec<Child<'b>> {
    let mut all = [some, others].concat();
    all.sort_unstable_by_key(|child| child.position);
    all
}

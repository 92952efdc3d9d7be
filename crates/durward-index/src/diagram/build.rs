//! Divides the children of every set by what their targets ask for.
//!
//! Greedy: the slot whose values leave the fewest children on the average is looked at first, then each branch is
//! divided further. Children that do not limit that slot go into all branches; where that would copy too many of
//! them, those that do and those that do not are divided apart, and their lists merged when deciding. Equal lists
//! and equal nodes are kept once.
//!
//! A set has up to two diagrams. The exact one lists its children. The deep one also divides the children of
//! children that may be replaced by them ([`super::expand`]); it is for questions with one value for each slot, so
//! what is known on the way rules out whatever asks for another value.
//!
//! Every limit reached ends in a list that is longer than need be, which is correct always.

use std::collections::BTreeMap;

use durward_ir::combine::Algorithm;
use durward_ir::program::{Atom, Node, NodeId, Program, Set, SlotId};

use super::expand::{Above, Extents};
use super::store::{NodeKey, Store};
use super::{Diagram, Entry, Starts, Step};
use crate::Map;
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
const GROWTH_MAX: u64 = 32;

/// How many limits and values may be looked at while dividing one set, for each entry it may have.
const EFFORT_MAX: u64 = 16;

/// Builds the diagrams of a program.
pub(super) struct Maker<'p> {
    program: &'p Program,
    targets: &'p Targets,
    necessary: &'p [Necessary],
    extents: Extents,
    is_sourced: &'p dyn Fn(SlotId) -> bool,
    store: Store,
    /// Which elements some deep diagram lists.
    is_listed: Vec<bool>,
    is_cut: bool,
}

/// One diagram in the making.
struct Division {
    /// Set in deep diagrams.
    above: Option<Above>,
    /// Whether what follows a child that certainly decides can be left out.
    is_first_applicable: bool,
    path: Path,
    /// How many more entries and branches there may be.
    allowance: u64,
    effort_left: u64,
}

/// A child to be told apart from its siblings.
#[derive(Clone, Copy)]
struct Child<'p> {
    id: NodeId,
    node: &'p Node,
    /// Its place among its siblings, and in deep diagrams among all that may come to stand in the list.
    rank: u32,
    limits: &'p [Limit],
    target: Option<&'p Target>,
}

impl<'p> Child<'p> {
    fn limit(&self, slot: SlotId) -> Option<&'p Limit> {
        self.limits.binary_search_by_key(&slot, |limit| limit.slot).ok().and_then(|at| self.limits.get(at))
    }

    /// Whether the target is True for every question on this path.
    fn is_known_match(&self, path: &Path) -> bool {
        if self.node.target().is_none() {
            return true;
        }
        let Some(mut clauses) = self.target.and_then(Target::as_one_ofs) else { return false };
        clauses.all(|clause| path.get(clause.slot).is_some_and(|seen| seen.is_one_of(clause)))
    }

    /// Whether a rule has nothing left that could keep it from having something to say.
    fn is_decisive(&self, path: &Path) -> bool {
        matches!(self.node, Node::Rule(rule) if rule.condition.is_none()) && self.is_known_match(path)
    }
}

/// What a slot was seen to hold.
#[derive(Clone, Copy)]
enum Seen {
    /// This, perhaps among others.
    Atom(Atom),
    /// Nothing that any child asks for.
    Other,
    /// Nothing.
    Absent,
    /// Not known: a source has yet to be asked.
    Unasked,
}

impl Seen {
    fn is_one_of(self, clause: &crate::target::OneOf) -> bool {
        match self {
            Seen::Atom(atom) => clause.names(atom),
            Seen::Other | Seen::Absent | Seen::Unasked => false,
        }
    }

    /// Whether the limit can still be kept, if this is all that the slot holds.
    fn is_within(self, limit: &Limit) -> bool {
        match self {
            Seen::Atom(atom) => limit.atoms.binary_search(&atom).is_ok(),
            Seen::Other => false,
            Seen::Absent => limit.is_absent_allowed,
            Seen::Unasked => true,
        }
    }
}

/// What is known of the slots looked at.
#[derive(Default)]
struct Path(Vec<(SlotId, Seen)>);

impl Path {
    fn get(&self, slot: SlotId) -> Option<Seen> {
        self.0.iter().find(|(seen, _)| *seen == slot).map(|(_, what)| *what)
    }

    /// Whether an element with these limits can still apply, if every slot holds one value at most.
    fn admits(&self, limits: &[Limit]) -> bool {
        limits.iter().all(|limit| self.get(limit.slot).is_none_or(|seen| seen.is_within(limit)))
    }
}

/// How well a slot divides a list.
#[derive(Default)]
struct Split {
    /// How many children limit the slot.
    limiting: usize,
    /// How many of them ask for each atom.
    askers: Map<Atom, usize>,
    /// The sum of that.
    asked: usize,
}

impl Split {
    /// How many of the limiting children are left on the average, if questions hold what policies ask for.
    fn left(&self) -> usize {
        let squares: usize = self.askers.values().map(|askers| askers * askers).sum();
        squares.div_ceil(self.asked.max(1))
    }

    /// The same, of a whole list of this length.
    fn left_of(&self, length: usize) -> usize {
        length - self.limiting + self.left()
    }

    /// How many entries the branches have in all, of a list this long.
    fn copies(&self, length: usize) -> usize {
        let (both, free) = (self.limiting + self.asked, length - self.limiting);
        both + free * (self.askers.len() + 2)
    }
}

impl<'p> Maker<'p> {
    pub(super) fn new(
        program: &'p Program,
        targets: &'p Targets,
        necessary: &'p [Necessary],
        settings: &Settings,
        is_sourced: &'p dyn Fn(SlotId) -> bool,
    ) -> Maker<'p> {
        Maker {
            program,
            targets,
            necessary,
            extents: Extents::of(program, necessary),
            is_sourced,
            store: Store::new(settings),
            is_listed: vec![false; necessary.len()],
            is_cut: false,
        }
    }

    /// All diagrams: `Diagram` without its targets.
    pub(super) fn build(mut self) -> Diagram {
        let sets: Vec<(NodeId, &Set)> = self
            .program
            .nodes()
            .filter_map(|(id, node)| match node {
                Node::Set(set) => Some((id, set)),
                Node::Rule(_) => None,
            })
            .collect();
        let mut starts = vec![Starts::UNDIVIDED; self.necessary.len()];
        // Parents first: a set needs a deep diagram only if it is listed in one.
        for (id, set) in sets.into_iter().rev() {
            let exact = self.exact(set);
            let deep = if id == self.program.root() || self.is_listed(id) { self.deep(set) } else { None };
            if let Some(starts) = starts.get_mut(id.0 as usize) {
                *starts = Starts { deep: deep.unwrap_or(exact), exact };
            }
        }
        self.finish(starts.into())
    }

    fn finish(mut self, starts: Box<[Starts]>) -> Diagram {
        let statistics = DiagramStatistics {
            nodes: self.store.nodes.len() + self.store.forks.len(),
            lists: self.store.list_count(),
            bytes: size_of_val(&*starts) + self.store.bytes() + self.targets.bytes(),
            sets: starts.iter().filter(|starts| starts.exact != Step::UNDIVIDED).count(),
            is_cut: self.is_cut,
        };
        self.store.finish();
        Diagram {
            starts,
            nodes: self.store.nodes.into(),
            forks: self.store.forks.into(),
            tables: self.store.tables,
            lists: self.store.lists.into(),
            targets: Targets::default(),
            statistics,
        }
    }

    fn is_listed(&self, id: NodeId) -> bool {
        self.is_listed.get(id.0 as usize).is_some_and(|is_listed| *is_listed)
    }

    /// The diagram of the children themselves.
    fn exact(&mut self, set: &Set) -> Step {
        let own: Vec<Necessary>;
        let needs: Vec<&Necessary> = match set.algorithm {
            Algorithm::OnPermitApplySecond => return Step::UNDIVIDED,
            // Looks at the targets of its children alone.
            Algorithm::OnlyOneApplicable => {
                own =
                    set.children.iter().map(|child| necessary::of_target(self.targets.get(*child))).collect();
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
                set.children.iter().filter_map(|child| self.necessary.get(child.0 as usize)).collect()
            }
        };
        let children: Vec<Child<'_>> = (0..)
            .zip(set.children.iter().zip(needs))
            .filter_map(|(rank, (id, necessary))| self.child(*id, rank, necessary))
            .collect();
        let asked: usize =
            children.iter().flat_map(|child| child.limits).map(|limit| limit.atoms.len()).sum();
        let mut division = Division::new(set, None, children.len() as u64, asked as u64);
        self.divide(&mut division, children, DEPTH_MAX)
    }

    /// The diagram of the children and of theirs, where there are any that may be replaced. Notes what it lists.
    fn deep(&mut self, set: &'p Set) -> Option<Step> {
        let above = Above::of(set.algorithm);
        let extents: Vec<_> =
            set.children.iter().filter_map(|child| self.extents.get(above?, *child)).copied().collect();
        let elements = extents.iter().map(|extent| extent.elements).sum();
        if extents.iter().any(|extent| extent.is_replaceable) && elements < u64::from(u32::MAX / 4) {
            let asked = extents.iter().map(|extent| extent.asked).fold(0, u64::saturating_add);
            let mut division = Division::new(set, above, elements, asked);
            let mut children = Vec::new();
            self.add_all(&division, set, 0, &mut children);
            let step = self.divide(&mut division, children, DEPTH_MAX);
            if step != Step::UNDIVIDED {
                return Some(step);
            }
        }
        set.children.iter().for_each(|child| self.note_listed(*child));
        None
    }

    fn note_listed(&mut self, id: NodeId) {
        if let Some(is_listed) = self.is_listed.get_mut(id.0 as usize) {
            *is_listed = true;
        }
    }

    /// `None` for an element that never applies.
    fn child<'c>(&self, id: NodeId, rank: u32, necessary: &'c Necessary) -> Option<Child<'c>>
    where
        'p: 'c,
    {
        let limits = necessary.limits();
        let (node, target) = (self.program.node(id), self.targets.get(id));
        (!necessary.is_never()).then_some(Child { id, node, rank, limits, target })
    }

    /// The children of a set that can still apply; `rank` is that of the first.
    fn add_all(&self, division: &Division, set: &'p Set, mut rank: u32, children: &mut Vec<Child<'p>>) {
        let Some(above) = division.above else { return };
        for id in &set.children {
            if let Some(necessary) = self.necessary.get(id.0 as usize)
                && let Some(child) = self.child(*id, rank, necessary)
                && division.path.admits(child.limits)
            {
                children.push(child);
            }
            rank += self.extents.get(above, *id).map_or(1, |extent| extent.elements as u32);
        }
    }

    /// Replaces children that may be by their own, and leaves out what stands behind one that certainly decides.
    fn refine<'c>(&self, division: &Division, children: Vec<Child<'c>>) -> Vec<Child<'c>>
    where
        'p: 'c,
    {
        let mut refined = Vec::with_capacity(children.len());
        let mut left: Vec<Child<'c>> = children;
        left.reverse();
        while let Some(child) = left.pop() {
            if let Some(set) = self.replaceable(division, &child) {
                let mut inner = Vec::new();
                self.add_all(division, set, child.rank + 1, &mut inner);
                left.extend(inner.into_iter().rev());
                continue;
            }
            refined.push(child);
            if division.is_first_applicable && child.is_decisive(&division.path) {
                break;
            }
        }
        refined
    }

    fn replaceable(&self, division: &Division, child: &Child<'_>) -> Option<&'p Set> {
        let extent = self.extents.get(division.above?, child.id)?;
        match self.program.node(child.id) {
            Node::Set(set) if extent.is_replaceable && child.is_known_match(&division.path) => Some(set),
            Node::Set(_) | Node::Rule(_) => None,
        }
    }

    /// The diagram of these children, where the path is known.
    fn divide(&mut self, division: &mut Division, children: Vec<Child<'_>>, depth_left: usize) -> Step {
        let children = self.refine(division, children);
        if children.is_empty() {
            return Step::NOBODY;
        }
        if depth_left == 0 || division.is_spent() || self.store.is_full() {
            self.is_cut = true;
            return self.list(division, &children);
        }
        let splits = division.splits(&children);
        let length = children.len();
        let best = splits.iter().min_by_key(|(slot, split)| (split.left_of(length), **slot));
        let Some((slot, split)) = best else { return self.list(division, &children) };
        let is_worth_it = length <= SHORT || split.left_of(length) * 100 <= length * LEFT_MAX_PERCENT;
        if is_worth_it && split.copies(length) <= COPIES_MIN + COPIES_MAX * length {
            return self.branch(division, *slot, &children, depth_left - 1);
        }
        let most = splits
            .iter()
            .filter(|(_, split)| split.left() * 2 <= split.limiting)
            .max_by_key(|(slot, split)| (split.limiting, std::cmp::Reverse(**slot)));
        match most {
            Some((slot, split)) if split.limiting >= (length / 16).max(2 * SHORT) => {
                self.fork(division, *slot, children, depth_left - 1)
            }
            _ => self.list(division, &children),
        }
    }

    /// A node that looks at this slot.
    fn branch(
        &mut self,
        division: &mut Division,
        slot: SlotId,
        children: &[Child<'_>],
        depth_left: usize,
    ) -> Step {
        let mut askers: BTreeMap<Atom, Vec<Child<'_>>> = BTreeMap::new();
        for child in children {
            for atom in child.limit(slot).iter().flat_map(|limit| limit.atoms.iter()) {
                askers.entry(*atom).or_default().push(*child);
            }
        }
        division.spend(askers.len() + 1);
        let mut free = children.to_vec();
        free.retain(|child| child.limit(slot).is_none());
        let mut without_value = children.to_vec();
        without_value.retain(|child| child.limit(slot).is_none_or(|limit| limit.is_absent_allowed));
        let unasked = (self.is_sourced)(slot)
            .then(|| self.divide_on(division, children.to_vec(), (slot, Seen::Unasked), depth_left));
        let other = self.divide_on(division, free.clone(), (slot, Seen::Other), depth_left);
        let absent = self.divide_on(division, without_value, (slot, Seen::Absent), depth_left);
        let mut branches = Vec::with_capacity(askers.len());
        for (atom, askers) in askers {
            let together = in_document_order(&askers, &free);
            let step = self.divide_on(division, together, (slot, Seen::Atom(atom)), depth_left);
            if step != other {
                branches.push((atom, step));
            }
        }
        self.store.node(NodeKey {
            slot,
            absent,
            other,
            unasked,
            branches,
            is_mergeable: division.above.is_none(),
        })
    }

    fn divide_on(
        &mut self,
        division: &mut Division,
        children: Vec<Child<'_>>,
        seen: (SlotId, Seen),
        depth_left: usize,
    ) -> Step {
        division.path.0.push(seen);
        let step = self.divide(division, children, depth_left);
        division.path.0.pop();
        step
    }

    /// Those that limit this slot and those that do not, apart.
    fn fork(
        &mut self,
        division: &mut Division,
        slot: SlotId,
        children: Vec<Child<'_>>,
        depth_left: usize,
    ) -> Step {
        let (limiting, free) = children.into_iter().partition(|child| child.limit(slot).is_some());
        division.spend(1);
        let ways = [self.divide(division, limiting, depth_left), self.divide(division, free, depth_left)];
        self.store.fork(ways)
    }

    fn list(&mut self, division: &mut Division, children: &[Child<'_>]) -> Step {
        if division.above.is_some() {
            children.iter().for_each(|child| self.note_listed(child.id));
        }
        let entries: Vec<Entry> = children
            .iter()
            .map(|child| Entry::new(child.id, child.rank, child.is_known_match(&division.path)))
            .collect();
        if let Some(step) = self.store.known_list(&entries) {
            return step;
        }
        division.spend(entries.len());
        if self.store.is_full() {
            self.is_cut = true;
            return Step::UNDIVIDED;
        }
        self.store.add_list(entries)
    }
}

impl Division {
    /// `elements` may come to stand in its lists, and ask for this many values.
    fn new(set: &Set, above: Option<Above>, elements: u64, asked: u64) -> Division {
        let allowance = COPIES_MIN as u64 + GROWTH_MAX.saturating_mul(elements.saturating_add(asked));
        Division {
            above,
            is_first_applicable: set.algorithm == Algorithm::FirstApplicable,
            path: Path::default(),
            allowance,
            effort_left: allowance.saturating_mul(EFFORT_MAX),
        }
    }

    fn spend(&mut self, entries: usize) {
        self.allowance = self.allowance.saturating_sub(entries as u64);
    }

    fn is_spent(&self) -> bool {
        self.allowance == 0 || self.effort_left == 0
    }

    /// How each slot that has not been looked at divides these children.
    fn splits(&mut self, children: &[Child<'_>]) -> Map<SlotId, Split> {
        let is_short = children.len() <= SHORT;
        let mut splits: Map<SlotId, Split> = Map::default();
        for limit in children.iter().flat_map(|child| child.limits) {
            self.effort_left = self.effort_left.saturating_sub(1);
            if (is_short && !limit.is_own) || self.path.get(limit.slot).is_some() {
                continue;
            }
            let split = splits.entry(limit.slot).or_default();
            split.limiting += 1;
            split.asked += limit.atoms.len();
            for atom in limit.atoms.iter() {
                *split.askers.entry(*atom).or_default() += 1;
            }
            self.effort_left = self.effort_left.saturating_sub(limit.atoms.len() as u64);
        }
        splits
    }
}

fn in_document_order<'c>(some: &[Child<'c>], others: &[Child<'c>]) -> Vec<Child<'c>> {
    let mut all = [some, others].concat();
    all.sort_unstable_by_key(|child| child.rank);
    all
}

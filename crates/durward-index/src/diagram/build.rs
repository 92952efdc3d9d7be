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

mod sift;

use std::collections::BTreeMap;

use durward_ir::combine::Algorithm;
use durward_ir::program::{Atom, Node, NodeId, Program, Set, SlotId};

use super::division::{COPIES_MIN, Child, Division, SHORT, Seen};
use super::expand::{Above, Extents};
use super::store::{NodeKey, Store};
use super::swift::Swift;
use super::{Diagram, Entry, Starts, Step};
use crate::necessary::{self, Necessary};
use crate::sieve::Sieves;
use crate::target::Targets;
use crate::{DiagramStatistics, Settings};

/// How many slots and forks one diagram looks at on any way through it. Policies test a handful of attributes.
pub(super) const DEPTH_MAX: usize = 32;

/// Longer lists are divided where that leaves at most this share of them, in percent.
const LEFT_MAX_PERCENT: usize = 75;

/// How many entries dividing a list may make for each of its own, besides [`COPIES_MIN`].
const COPIES_MAX: usize = 4;

/// Builds the diagrams of a program.
pub(super) struct Maker<'p> {
    program: &'p Program,
    targets: &'p Targets,
    necessary: &'p [Necessary],
    extents: Extents,
    is_sourced: &'p dyn Fn(SlotId) -> bool,
    store: Store,
    sieves: Sieves,
    /// See [`Settings::canonical_ways_max`].
    ways_max: usize,
    /// Which elements some deep diagram lists.
    is_listed: Vec<bool>,
    is_cut: bool,
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
            sieves: Sieves::default(),
            ways_max: settings.canonical_ways_max,
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
            bytes: size_of_val(&*starts) + self.store.bytes() + self.sieves.bytes() + self.targets.bytes(),
            forks: self.store.forks.len(),
            sieves: self.sieves.len(),
            sets: starts.iter().filter(|starts| starts.exact != Step::UNDIVIDED).count(),
            is_cut: self.is_cut,
            is_full: self.store.is_full(),
        };
        self.store.finish();
        self.sieves.finish();
        Diagram {
            starts,
            nodes: self.store.nodes.into(),
            forks: self.store.forks.into(),
            tables: self.store.tables,
            lists: self.store.lists.into(),
            sieves: self.sieves,
            targets: Targets::default(),
            swift: Swift::default(),
            statistics,
        }
    }

    fn is_listed(&self, id: NodeId) -> bool {
        self.is_listed.get(id.0 as usize).is_some_and(|is_listed| *is_listed)
    }

    /// The diagram of the children themselves.
    fn exact(&mut self, set: &Set) -> Step {
        if self.is_full() {
            return Step::UNDIVIDED;
        }
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
            | Algorithm::Voting(_)
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
        let is_worth_it = extents.iter().any(|extent| extent.is_replaceable);
        if is_worth_it && elements < u64::from(u32::MAX / 4) && !self.is_full() {
            let asked = extents.iter().map(|extent| extent.asked).fold(0, u64::saturating_add);
            let mut division = Division::new(set, above, elements, asked);
            let mut children = Vec::new();
            self.add_all(&division, set, 0, &mut children);
            return Some(self.divide(&mut division, children, DEPTH_MAX));
        }
        set.children.iter().for_each(|child| self.note_listed(*child));
        None
    }

    /// Whether a limit of the settings is reached. A diagram that was begun is finished then, with its lists as they
    /// are; none is left half undivided, since merging takes equal branches for equal children.
    fn is_full(&mut self) -> bool {
        let is_full = self.store.is_full();
        self.is_cut |= is_full;
        is_full
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
        if let Some(step) = self.sift(division, &children, &splits) {
            return step;
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
        let sought = askers.keys().copied().collect();
        let other = self.divide_on(division, free.clone(), (slot, Seen::Other(sought)), depth_left);
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
        (slot, seen): (SlotId, Seen),
        depth_left: usize,
    ) -> Step {
        division.path.push(slot, seen);
        let step = self.divide(division, children, depth_left);
        division.path.pop();
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
        self.store.add_list(entries)
    }
}

fn in_document_order<'c>(some: &[Child<'c>], others: &[Child<'c>]) -> Vec<Child<'c>> {
    let mut all = [some, others].concat();
    all.sort_unstable_by_key(|child| child.rank);
    all
}

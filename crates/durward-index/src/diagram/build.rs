//! Divides the children of every set by what their targets ask for.
//!
//! Greedy: the slot whose values leave the fewest children on the average is looked at first, but for those that are
//! better looked at last ([`super::order`]); then each branch is divided further. Children that do not limit that
//! slot go into all branches. Where that would copy too many of them, they are sifted ([`sift`]); or those that do
//! and those that do not are divided apart, and their lists merged when deciding. Equal lists and equal nodes are
//! kept once.
//!
//! A set has up to two diagrams. The exact one lists its children. The deep one also divides the children of
//! children that may be replaced by them ([`super::expand`]); it is for questions with one value for each slot, so
//! what is known on the way rules out whatever asks for another value.
//!
//! Every limit reached ends in a list that is longer than need be, which is correct always.

mod sift;

use std::rc::Rc;

use durward_ir::combine::Algorithm;
use durward_ir::program::{Atom, Node, NodeId, Program, Set, SlotId};

use smallvec::SmallVec;

use super::division::{
    COPIES_MIN, ChildPosition, DiagramDivision, DividedChild, KnownSlotValue, SHORT, SlotAtomCounts,
    SplitScore, SplitScores,
};
use super::expand::{ParentAlgorithm, PossibleVotesByElement};
use super::order;
use super::packed::PackedDiagram;
use super::store::{DiagramStore, NodeKey};
use super::{DiagramEdge, DiagramIndex, ListEntry, SetEntryPoints};
use crate::necessary::{self, NecessaryTests};
use crate::sieve::Sieves;
use crate::target::Targets;
use crate::{DiagramStatistics, Settings};

/// How many slots and forks one diagram looks at on any way through it. Policies test a handful of attributes.
pub(super) const DEPTH_MAX: usize = 32;

/// Longer lists are divided where that leaves at most this share of them, in percent.
const LEFT_MAX_PERCENT: usize = 75;

/// How many entries dividing a list may make for each of its own, besides [`COPIES_MIN`].
const COPIES_MAX: usize = 4;

/// The same while slots are kept back that leave fewer: those branches share their lists in the end.
const EARLY_COPIES_MAX: usize = 8;

/// The same for a slot of pieces, of lists longer than [`RANGE_LENGTH`]: a range is in many of them.
const RANGE_COPIES_MAX: usize = 16;
const RANGE_LENGTH: usize = 64;

/// How many slots and forks are looked at behind children that nothing seen before makes a difference to.
const UNTOUCHED_DEPTH: usize = DEPTH_MAX / 2;

/// Shorter lists are divided anew rather than remembered.
const REMEMBERED_MIN: usize = 8;

/// Builds the diagrams of a program.
pub(super) struct DiagramBuilder<'p> {
    program: &'p Program,
    targets: &'p Targets,
    necessary: &'p [NecessaryTests],
    extents: PossibleVotesByElement,
    is_sourced: &'p dyn Fn(SlotId) -> bool,
    store: DiagramStore,
    counting: SlotAtomCounts,
    sieves: Sieves,
    /// See [`Settings::canonical_ways_max`].
    ways_max: usize,
    /// See [`Settings::canonical_conjunctions_max`].
    conjunctions_max: usize,
    /// Which elements some deep diagram lists.
    is_listed: Vec<bool>,
    is_cut: bool,
    /// Whether greed decides alone, because keeping slots back took too much before.
    is_thrifty: bool,
}

impl<'p> DiagramBuilder<'p> {
    pub(super) fn new(
        program: &'p Program,
        targets: &'p Targets,
        necessary: &'p [NecessaryTests],
        settings: &Settings,
        is_sourced: &'p dyn Fn(SlotId) -> bool,
    ) -> DiagramBuilder<'p> {
        DiagramBuilder {
            program,
            targets,
            necessary,
            extents: PossibleVotesByElement::of(program, necessary),
            is_sourced,
            store: DiagramStore::new(settings),
            counting: SlotAtomCounts::of(program),
            sieves: Sieves::default(),
            ways_max: settings.canonical_ways_max,
            conjunctions_max: settings.canonical_conjunctions_max,
            is_listed: vec![false; necessary.len()],
            is_cut: false,
            is_thrifty: false,
        }
    }

    /// All diagrams: `DiagramIndex` without its targets.
    pub(super) fn build(mut self) -> DiagramIndex {
        let sets: Vec<(NodeId, &Set)> = self
            .program
            .nodes()
            .filter_map(|(id, node)| match node {
                Node::Set(set) => Some((id, &**set)),
                Node::Rule(_) => None,
            })
            .collect();
        let first_set = sets.first().map_or(0, |(id, _)| id.0);
        let mut starts =
            vec![SetEntryPoints::UNDIVIDED; self.necessary.len().saturating_sub(first_set as usize)];
        // Parents first: a set needs a deep diagram only if it is listed in one.
        for (id, set) in sets.into_iter().rev() {
            let exact = self.exact(set);
            let deep = if id == self.program.root() || self.is_listed(id) { self.deep(set) } else { None };
            if let Some(starts) = starts.get_mut((id.0 - first_set) as usize) {
                *starts = SetEntryPoints { deep: deep.unwrap_or(exact), exact };
            }
        }
        self.finish(starts.into(), first_set)
    }

    fn finish(mut self, starts: Box<[SetEntryPoints]>, first_set: u32) -> DiagramIndex {
        let statistics = DiagramStatistics {
            nodes: self.store.nodes.len() + self.store.forks.len(),
            lists: self.store.list_count(),
            bytes: size_of_val(&*starts) + self.store.bytes() + self.sieves.bytes() + self.targets.bytes(),
            forks: self.store.forks.len(),
            sieves: self.sieves.len(),
            sets: starts.iter().filter(|starts| starts.exact != DiagramEdge::UNDIVIDED).count(),
            is_cut: self.is_cut,
            is_full: self.store.is_full(),
        };
        self.store.finish();
        self.sieves.finish();
        DiagramIndex {
            starts,
            first_set,
            nodes: self.store.nodes.into(),
            forks: self.store.forks.into(),
            tables: self.store.tables,
            lists: self.store.lists.into(),
            sieves: self.sieves,
            targets: Targets::default(),
            packed: PackedDiagram::default(),
            statistics,
        }
    }

    fn is_listed(&self, id: NodeId) -> bool {
        self.is_listed.get(id.0 as usize).is_some_and(|is_listed| *is_listed)
    }

    /// The diagram of the children themselves.
    fn exact(&mut self, set: &Set) -> DiagramEdge {
        if self.is_full() {
            return DiagramEdge::UNDIVIDED;
        }
        let own: Vec<NecessaryTests>;
        let needs: Vec<&NecessaryTests> = match set.algorithm {
            Algorithm::OnPermitApplySecond => return DiagramEdge::UNDIVIDED,
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
        let children: Vec<DividedChild<'_>> = (0..)
            .zip(set.children.iter().zip(needs))
            .filter_map(|(rank, (id, necessary))| self.child(*id, rank, necessary))
            .collect();
        let asked: usize =
            children.iter().flat_map(|child| child.limits).map(|limit| limit.atoms.len()).sum();
        let counting = std::mem::take(&mut self.counting);
        let mut division = DiagramDivision::new(counting, set, None, children.len() as u64, asked as u64);
        let places = children.into_iter().map(|child| division.add(child)).collect();
        self.divide_all(division, places)
    }

    /// The diagram of all children.
    fn divide_all<'c>(&mut self, mut division: DiagramDivision<'c>, places: Vec<ChildPosition>) -> DiagramEdge
    where
        'p: 'c,
    {
        if !self.is_thrifty {
            division.kept_back = order::kept_back(division.children());
        }
        let step = self.divide_within(&mut division, places);
        self.counting = division.counting;
        step
    }

    /// The same. Where keeping slots back takes more than there is, greed decides alone.
    fn divide_within<'c>(
        &mut self,
        division: &mut DiagramDivision<'c>,
        places: Vec<ChildPosition>,
    ) -> DiagramEdge
    where
        'p: 'c,
    {
        if division.kept_back.is_empty() {
            return self.divide(division, places, DEPTH_MAX);
        }
        let (mark, sieves, was_cut) = (self.store.mark(), self.sieves.mark(), self.is_cut);
        let step = self.divide(division, places.clone(), DEPTH_MAX);
        if !division.is_spent() && !self.store.is_full() {
            return step;
        }
        // Going back looks at all that there is: once is enough.
        self.is_thrifty = true;
        self.store.go_back_to(mark);
        self.sieves.go_back_to(sieves);
        self.is_cut = was_cut;
        division.start_over();
        self.divide(division, places, DEPTH_MAX)
    }

    /// The diagram of the children and of theirs, where there are any that may be replaced. Notes what it lists.
    fn deep(&mut self, set: &'p Set) -> Option<DiagramEdge> {
        let above = ParentAlgorithm::of(set.algorithm);
        let extents: Vec<_> =
            set.children.iter().filter_map(|child| self.extents.get(above?, *child)).copied().collect();
        let elements = extents.iter().map(|extent| extent.elements).sum();
        let is_worth_it = extents.iter().any(|extent| extent.is_replaceable);
        if is_worth_it && elements < u64::from(u32::MAX / 4) && !self.is_full() {
            let asked = extents.iter().map(|extent| extent.asked).fold(0, u64::saturating_add);
            let counting = std::mem::take(&mut self.counting);
            let mut division = DiagramDivision::new(counting, set, above, elements, asked);
            let mut children = Vec::new();
            self.add_all(&mut division, set, 0, &mut children);
            return Some(self.divide_all(division, children));
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
    fn child<'c>(&self, id: NodeId, rank: u32, necessary: &'c NecessaryTests) -> Option<DividedChild<'c>>
    where
        'p: 'c,
    {
        let limits = necessary.limits();
        let (node, target) = (self.program.node(id), self.targets.get(id));
        (!necessary.is_never()).then_some(DividedChild { id, node, rank, limits, target })
    }

    /// The children of a set that can still apply; `rank` is that of the first.
    fn add_all<'c>(
        &self,
        division: &mut DiagramDivision<'c>,
        set: &'p Set,
        mut rank: u32,
        children: &mut Vec<ChildPosition>,
    ) where
        'p: 'c,
    {
        let Some(above) = division.above else { return };
        for id in &set.children {
            if let Some(necessary) = self.necessary.get(id.0 as usize)
                && let Some(child) = self.child(*id, rank, necessary)
                && division.path.admits(child.limits)
            {
                children.push(division.add(child));
            }
            rank += self.extents.get(above, *id).map_or(1, |extent| extent.elements as u32);
        }
    }

    /// Replaces children that may be by their own, and leaves out what stands behind one that certainly decides.
    fn refine<'c>(
        &self,
        division: &mut DiagramDivision<'c>,
        children: Vec<ChildPosition>,
    ) -> Vec<ChildPosition>
    where
        'p: 'c,
    {
        if division.above.is_none() {
            return if division.is_first_applicable { until_decided(division, children) } else { children };
        }
        let mut refined = Vec::with_capacity(children.len());
        let mut left: Vec<ChildPosition> = children;
        left.reverse();
        while let Some(place) = left.pop() {
            let child = *division.child(place);
            if let Some(set) = self.replaceable(division, &child) {
                let mut inner = Vec::new();
                self.add_all(division, set, child.rank + 1, &mut inner);
                left.extend(inner.into_iter().rev());
                continue;
            }
            refined.push(place);
            if division.is_first_applicable && child.is_decisive(&division.path) {
                break;
            }
        }
        refined
    }

    fn replaceable(&self, division: &DiagramDivision<'_>, child: &DividedChild<'_>) -> Option<&'p Set> {
        let extent = self.extents.get(division.above?, child.id)?;
        match self.program.node(child.id) {
            Node::Set(set) if extent.is_replaceable && child.is_known_match(&division.path) => Some(&**set),
            Node::Set(_) | Node::Rule(_) => None,
        }
    }

    /// The diagram of these children, where the path is known.
    fn divide<'c>(
        &mut self,
        division: &mut DiagramDivision<'c>,
        children: Vec<ChildPosition>,
        depth_left: usize,
    ) -> DiagramEdge
    where
        'p: 'c,
    {
        let children = self.refine(division, children);
        if children.is_empty() {
            return DiagramEdge::NOBODY;
        }
        if depth_left == 0 || division.is_spent() || self.store.is_full() {
            self.is_cut = true;
            return self.list(division, &children);
        }
        // What takes the place of a set depends on the path.
        let is_untouched = children.len() >= REMEMBERED_MIN
            && (UNTOUCHED_DEPTH..DEPTH_MAX).contains(&depth_left)
            && division.above.is_none()
            && division.is_untouched(&children);
        if !is_untouched {
            return self.divide_further(division, children, depth_left);
        }
        if let Some(step) = division.known.get(&children) {
            return *step;
        }
        let step = self.divide_further(division, children.clone(), UNTOUCHED_DEPTH);
        division.known.insert(children, step);
        step
    }

    fn divide_further<'c>(
        &mut self,
        division: &mut DiagramDivision<'c>,
        children: Vec<ChildPosition>,
        depth_left: usize,
    ) -> DiagramEdge
    where
        'p: 'c,
    {
        let splits = division.splits(&children);
        let length = children.len();
        for count in (0..=division.kept_back.len()).rev() {
            let kept_back = division.kept_back.get(..count).unwrap_or_default();
            if let Some(slot) = self.best(&splits, kept_back, length) {
                return self.branch(division, slot, &children, depth_left - 1);
            }
        }
        if let Some(step) = self.sift(division, &children, &splits) {
            return step;
        }
        let most = splits
            .iter()
            .filter(|(_, split)| split.left() * 2 <= split.limiting)
            .max_by_key(|(slot, split)| (split.limiting, std::cmp::Reverse(*slot)));
        match most {
            Some((slot, split)) if split.limiting >= (length / 16).max(2 * SHORT) => {
                self.fork(division, *slot, children, depth_left - 1)
            }
            _ => self.list(division, &children),
        }
    }

    /// The slot to look at, other than these.
    fn best(&self, splits: &SplitScores, kept_back: &[SlotId], length: usize) -> Option<SlotId> {
        let is_kept_back = |(slot, _): &&(SlotId, SplitScore)| kept_back.contains(slot);
        // Lists that will be short are divided by all their own targets, and before is as good as after.
        let is_short = length <= SHORT
            || splits.iter().filter(is_kept_back).any(|(_, split)| split.left_of(length) <= 2 * SHORT);
        let candidates = splits.iter().filter(|split| !is_kept_back(split));
        let (slot, split) = candidates.min_by_key(|(slot, split)| (split.left_of(length), *slot))?;
        let is_range = self.is_of_pieces(*slot);
        let copies_max = match kept_back {
            _ if is_range && length > RANGE_LENGTH => RANGE_COPIES_MAX,
            [] => COPIES_MAX,
            [_, ..] => EARLY_COPIES_MAX,
        };
        // A few conditions are evaluated as fast as pieces are found.
        let is_long = !is_range || split.is_own || length > 2 * SHORT;
        let is_worth_it = (is_short && split.is_own)
            || (is_long && split.left_of(length) * 100 <= length * LEFT_MAX_PERCENT);
        (is_worth_it && split.copies(length) <= COPIES_MIN + copies_max * length).then_some(*slot)
    }

    /// A node that looks at this slot.
    fn branch<'c>(
        &mut self,
        division: &mut DiagramDivision<'c>,
        slot: SlotId,
        children: &[ChildPosition],
        depth_left: usize,
    ) -> DiagramEdge
    where
        'p: 'c,
    {
        let SlotChildren { by_atom, free, without_value } = SlotChildren::of(division, slot, children);
        let sought: Rc<[Atom]> =
            by_atom.chunk_by(|one, next| one.0 == next.0).filter_map(|run| Some(run.first()?.0)).collect();
        division.spend(sought.len() + 1);
        let unasked = (self.is_sourced)(slot).then(|| {
            self.divide_on(division, children.to_vec(), (slot, KnownSlotValue::Unasked), depth_left)
        });
        let mut branches = Vec::with_capacity(sought.len());
        let other = self.divide_on(division, free.clone(), (slot, KnownSlotValue::Other(sought)), depth_left);
        let absent = if self.is_of_pieces(slot) {
            self.leave(division, without_value, (slot, KnownSlotValue::Absent))
        } else {
            self.divide_on(division, without_value, (slot, KnownSlotValue::Absent), depth_left)
        };
        for askers in by_atom.chunk_by(|one, next| one.0 == next.0) {
            let Some((atom, _)) = askers.first() else { continue };
            let together = in_document_order(division, askers, &free);
            let step = self.divide_on(division, together, (slot, KnownSlotValue::Atom(*atom)), depth_left);
            if step != other {
                branches.push((*atom, step));
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

    fn divide_on<'c>(
        &mut self,
        division: &mut DiagramDivision<'c>,
        children: Vec<ChildPosition>,
        (slot, seen): (SlotId, KnownSlotValue),
        depth_left: usize,
    ) -> DiagramEdge
    where
        'p: 'c,
    {
        division.path.push(slot, seen);
        let step = self.divide(division, children, depth_left);
        division.path.pop();
        step
    }

    fn is_of_pieces(&self, slot: SlotId) -> bool {
        self.program.slots.origin(slot) != slot
    }

    /// Children that are not divided any further where dividing them would double the diagram for every slot: those of
    /// which comparisons are in error, or want to be evaluated.
    fn leave<'c>(
        &mut self,
        division: &mut DiagramDivision<'c>,
        children: Vec<ChildPosition>,
        (slot, seen): (SlotId, KnownSlotValue),
    ) -> DiagramEdge
    where
        'p: 'c,
    {
        division.path.push(slot, seen);
        let children = self.refine(division, children);
        let splits =
            if children.len() > RANGE_LENGTH { division.splits(&children) } else { SplitScores::new() };
        let step = match self.sift(division, &children, &splits) {
            Some(sieve) => sieve,
            None if children.is_empty() => DiagramEdge::NOBODY,
            None => self.list(division, &children),
        };
        division.path.pop();
        step
    }

    /// Those that limit this slot and those that do not, apart.
    fn fork<'c>(
        &mut self,
        division: &mut DiagramDivision<'c>,
        slot: SlotId,
        children: Vec<ChildPosition>,
        depth_left: usize,
    ) -> DiagramEdge
    where
        'p: 'c,
    {
        let (limiting, free) =
            children.into_iter().partition(|place| division.child(*place).limit(slot).is_some());
        division.spend(1);
        let ways = [self.divide(division, limiting, depth_left), self.divide(division, free, depth_left)];
        self.store.fork(ways)
    }

    fn list(&mut self, division: &mut DiagramDivision<'_>, children: &[ChildPosition]) -> DiagramEdge {
        let mut entries: SmallVec<[ListEntry; 16]> = SmallVec::with_capacity(children.len());
        for place in children {
            let child = division.child(*place);
            if division.above.is_some() {
                self.note_listed(child.id);
            }
            entries.push(ListEntry::new(child.id, child.rank, child.is_known_match(&division.path)));
        }
        let (step, added) = self.store.list(&entries);
        division.spend(added);
        step
    }
}

/// What follows a child that certainly decides can be left out.
fn until_decided(division: &DiagramDivision<'_>, mut children: Vec<ChildPosition>) -> Vec<ChildPosition> {
    let decides = |place: &ChildPosition| division.child(*place).is_decisive(&division.path);
    if let Some(at) = children.iter().position(decides) {
        children.truncate(at + 1);
    }
    children
}

/// Children by what they ask a slot for.
struct SlotChildren {
    /// Sorted by atom; those of one atom in document order.
    by_atom: Vec<(Atom, ChildPosition)>,
    /// Those that do not limit the slot.
    free: Vec<ChildPosition>,
    /// Those that can apply where it has no value.
    without_value: Vec<ChildPosition>,
}

impl SlotChildren {
    fn of(division: &DiagramDivision<'_>, slot: SlotId, children: &[ChildPosition]) -> SlotChildren {
        let mut askers = SlotChildren { by_atom: Vec::new(), free: Vec::new(), without_value: Vec::new() };
        for place in children {
            let Some(limit) = division.child(*place).limit(slot) else {
                askers.free.push(*place);
                askers.without_value.push(*place);
                continue;
            };
            askers.by_atom.extend(limit.atoms.iter().map(|atom| (*atom, *place)));
            if limit.is_absent_allowed {
                askers.without_value.push(*place);
            }
        }
        askers.by_atom.sort_by_key(|(atom, _)| *atom);
        askers
    }
}

/// Those who ask for an atom and those who ask for none.
fn in_document_order(
    division: &DiagramDivision<'_>,
    some: &[(Atom, ChildPosition)],
    others: &[ChildPosition],
) -> Vec<ChildPosition> {
    let rank = |place: ChildPosition| division.child(place).rank;
    let mut all = Vec::with_capacity(some.len() + others.len());
    let mut others = others.iter().copied().peekable();
    for (_, place) in some {
        while let Some(other) = others.next_if(|other| rank(*other) < rank(*place)) {
            all.push(other);
        }
        all.push(*place);
    }
    all.extend(others);
    all
}

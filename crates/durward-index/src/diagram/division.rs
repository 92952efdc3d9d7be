//! What is known while children are divided: the children, what was seen on the way, how far a slot divides them,
//! and how much more may be spent.

use std::rc::Rc;

use durward_ir::combine::{Algorithm, Mode, Voting};
use durward_ir::program::{Atom, Node, NodeId, Program, Set, SlotId};

use smallvec::SmallVec;

use super::DiagramEdge;
use super::expand::ParentAlgorithm;
use crate::BuildMap;
use crate::necessary::NecessaryTest;
use crate::target::{TargetParts, ValueIn, names};

/// A list this short is divided by its children's own targets only, and however little that helps: it saves
/// evaluating them.
pub(super) const SHORT: usize = 4;

/// How many entries dividing a list may always make.
pub(super) const COPIES_MIN: usize = 64;

/// How many entries and branches a set's diagram may have for each child and each value its children ask for.
pub(super) const GROWTH_MAX: u64 = 32;

/// How many limits and values may be looked at while dividing one set, for each entry it may have.
pub(super) const EFFORT_MAX: u64 = 16;

/// A child's place among those of a [`DiagramDivision`].
pub(super) type ChildPosition = u32;

/// One diagram in the making.
pub(super) struct DiagramDivision<'c> {
    /// All that were met so far; lists of children are lists of their places.
    children: Vec<DividedChild<'c>>,
    /// Set in deep diagrams.
    pub(super) above: Option<ParentAlgorithm>,
    /// Whether what follows a child that certainly decides can be left out.
    pub(super) is_first_applicable: bool,
    pub(super) path: SlotPath,
    /// Slots to be looked at when no other divides the children, that which comes last first.
    pub(super) kept_back: Vec<SlotId>,
    /// What children came to that nothing on the path says anything about.
    pub(super) known: BuildMap<Vec<ChildPosition>, DiagramEdge>,
    /// For one division after another: it is as long as there are atoms.
    pub(super) counting: SlotAtomCounts,
    budget: u64,
    /// How many more entries and branches there may be.
    pub(super) allowance: u64,
    pub(super) effort_left: u64,
}

/// A child to be told apart from its siblings.
#[derive(Clone, Copy)]
pub(super) struct DividedChild<'p> {
    pub(super) id: NodeId,
    pub(super) node: &'p Node,
    /// Its place among its siblings, and in deep diagrams among all that may come to stand in the list.
    pub(super) rank: u32,
    pub(super) limits: &'p [NecessaryTest],
    pub(super) target: Option<TargetParts<'p>>,
}

impl<'p> DividedChild<'p> {
    pub(super) fn limit(&self, slot: SlotId) -> Option<&'p NecessaryTest> {
        self.limits.binary_search_by_key(&slot, |limit| limit.slot).ok().and_then(|at| self.limits.get(at))
    }

    /// Whether the target is True for every question on this path.
    pub(super) fn is_known_match(&self, path: &SlotPath) -> bool {
        if self.node.target().is_none() {
            return true;
        }
        let Some(mut clauses) = self.target.and_then(TargetParts::as_one_ofs) else { return false };
        clauses.all(|clause| path.get(clause.slot).is_some_and(|seen| seen.is_one_of(clause)))
    }

    /// Whether a rule has nothing left that could keep it from having something to say.
    pub(super) fn is_decisive(&self, path: &SlotPath) -> bool {
        matches!(self.node, Node::Rule(rule) if rule.condition.is_none()) && self.is_known_match(path)
    }
}

/// What a slot was seen to hold.
#[derive(Clone)]
pub(super) enum KnownSlotValue {
    /// This, perhaps among others.
    Atom(Atom),
    /// A value that was not looked for, or one that nobody asks for; those looked for, sorted. Children that take
    /// the place of their set later may ask for others.
    Other(Rc<[Atom]>),
    /// Nothing.
    Absent,
    /// Not known: a source has yet to be asked.
    Unasked,
}

impl KnownSlotValue {
    pub(super) fn is_one_of(&self, clause: &ValueIn) -> bool {
        self.is_among(&clause.atoms)
    }

    /// Whether the slot certainly holds one of these; sorted.
    pub(super) fn is_among(&self, atoms: &[Atom]) -> bool {
        match self {
            KnownSlotValue::Atom(atom) => names(atoms, *atom),
            KnownSlotValue::Other(_) | KnownSlotValue::Absent | KnownSlotValue::Unasked => false,
        }
    }

    /// Whether the limit can still be kept, if this is all that the slot holds.
    pub(super) fn is_within(&self, limit: &NecessaryTest) -> bool {
        match self {
            KnownSlotValue::Atom(atom) => limit.atoms.binary_search(atom).is_ok(),
            KnownSlotValue::Other(sought) => {
                limit.atoms.iter().any(|atom| sought.binary_search(atom).is_err())
            }
            KnownSlotValue::Absent => limit.is_absent_allowed,
            KnownSlotValue::Unasked => true,
        }
    }
}

/// What is known of the slots looked at.
#[derive(Default)]
pub(super) struct SlotPath(Vec<(SlotId, KnownSlotValue)>);

impl SlotPath {
    pub(super) fn push(&mut self, slot: SlotId, seen: KnownSlotValue) {
        self.0.push((slot, seen));
    }

    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    pub(super) fn get(&self, slot: SlotId) -> Option<&KnownSlotValue> {
        self.0.iter().find(|(seen, _)| *seen == slot).map(|(_, what)| what)
    }

    /// Whether an element with these limits can still apply, if every slot holds one value at most.
    pub(super) fn admits(&self, limits: &[NecessaryTest]) -> bool {
        limits.iter().all(|limit| self.get(limit.slot).is_none_or(|seen| seen.is_within(limit)))
    }
}

/// How well a slot divides a list.
#[derive(Clone, Copy, Default)]
pub(super) struct SplitScore {
    /// How many children limit the slot.
    pub(super) limiting: usize,
    /// For how many atoms.
    pub(super) atoms: usize,
    /// How many of the children ask for each atom, in all.
    pub(super) asked: usize,
    /// The sum of the squares of these numbers.
    squares: usize,
    /// Whether any of the limits comes from a child's own target: then short lists are divided by it.
    pub(super) is_own: bool,
}

impl SplitScore {
    /// How many of the limiting children are left on the average, if questions hold what policies ask for.
    pub(super) fn left(&self) -> usize {
        self.squares.div_ceil(self.asked.max(1))
    }

    /// The same, of a whole list of this length.
    pub(super) fn left_of(&self, length: usize) -> usize {
        length - self.limiting + self.left()
    }

    /// How many entries the branches have in all, of a list this long.
    pub(super) fn copies(&self, length: usize) -> usize {
        let (both, free) = (self.limiting + self.asked, length - self.limiting);
        both + free * (self.atoms + 2)
    }
}

/// How each slot divides a list.
pub(super) type SplitScores = SmallVec<[(SlotId, SplitScore); 8]>;

/// Numbers by slot and by atom that are all forgotten at once.
#[derive(Debug, Default)]
pub(super) struct SlotAtomCounts {
    round: u32,
    /// For each slot and atom the round it was last met in, and its number then.
    slots: Vec<(u32, u32)>,
    atoms: Vec<(u32, u32)>,
}

impl SlotAtomCounts {
    pub(super) fn of(program: &Program) -> SlotAtomCounts {
        let (slots, atoms) = (vec![(0, 0); program.slots.len()], vec![(0, 0); program.slots.atom_count()]);
        SlotAtomCounts { round: 0, slots, atoms }
    }

    fn forget(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.iter_mut().chain(&mut self.atoms).for_each(|entry| *entry = (0, 0));
            self.round = 1;
        }
    }

    /// How often the atom was met before, in this round.
    #[inline]
    fn meet(&mut self, atom: Atom) -> usize {
        let Some((round, count)) = self.atoms.get_mut(atom.0 as usize) else { return 0 };
        if *round != self.round {
            (*round, *count) = (self.round, 0);
        }
        *count += 1;
        *count as usize - 1
    }

    /// The number of a slot, `next` if it has none in this round.
    #[inline]
    fn number(&mut self, slot: SlotId, next: usize) -> usize {
        let Some((round, number)) = self.slots.get_mut(slot.0 as usize) else { return next };
        if *round != self.round {
            (*round, *number) = (self.round, next as u32);
        }
        *number as usize
    }
}

/// Whether the first child that has something to say has the last word.
fn is_first_applicable(algorithm: Algorithm) -> bool {
    match algorithm {
        Algorithm::FirstApplicable | Algorithm::Voting(Voting { mode: Mode::First, .. }) => true,
        Algorithm::DenyOverrides
        | Algorithm::PermitOverrides
        | Algorithm::DenyUnlessPermit
        | Algorithm::PermitUnlessDeny
        | Algorithm::OnlyOneApplicable
        | Algorithm::LegacyRuleDenyOverrides
        | Algorithm::LegacyPolicyDenyOverrides
        | Algorithm::LegacyRulePermitOverrides
        | Algorithm::LegacyPolicyPermitOverrides
        | Algorithm::OnPermitApplySecond
        | Algorithm::Voting(_) => false,
    }
}

impl<'c> DiagramDivision<'c> {
    /// `elements` may come to stand in its lists, and ask for this many values.
    pub(super) fn new(
        counting: SlotAtomCounts,
        set: &Set,
        above: Option<ParentAlgorithm>,
        elements: u64,
        asked: u64,
    ) -> DiagramDivision<'c> {
        let budget = COPIES_MIN as u64 + GROWTH_MAX.saturating_mul(elements.saturating_add(asked));
        DiagramDivision {
            children: Vec::new(),
            above,
            is_first_applicable: is_first_applicable(set.algorithm),
            path: SlotPath::default(),
            kept_back: Vec::new(),
            known: BuildMap::default(),
            counting,
            budget,
            allowance: budget,
            effort_left: budget.saturating_mul(EFFORT_MAX),
        }
    }

    /// As if nothing had been spent, with no slot kept back.
    pub(super) fn start_over(&mut self) {
        self.kept_back.clear();
        self.known.clear();
        self.allowance = self.budget;
        self.effort_left = self.budget.saturating_mul(EFFORT_MAX);
    }

    pub(super) fn spend(&mut self, entries: usize) {
        self.allowance = self.allowance.saturating_sub(entries as u64);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.allowance == 0 || self.effort_left == 0
    }

    pub(super) fn add(&mut self, child: DividedChild<'c>) -> ChildPosition {
        self.children.push(child);
        self.children.len() as u32 - 1
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "places are only made by `add`")]
    pub(super) fn child(&self, place: ChildPosition) -> &DividedChild<'c> {
        &self.children[place as usize]
    }

    pub(super) fn children(&self) -> &[DividedChild<'c>] {
        &self.children
    }

    /// Whether nothing that was seen on the way makes a difference to any of these.
    pub(super) fn is_untouched(&self, children: &[ChildPosition]) -> bool {
        let is_untouched = |limit: &NecessaryTest| self.path.get(limit.slot).is_none();
        children.iter().all(|place| self.child(*place).limits.iter().all(is_untouched))
    }

    /// How each slot that has not been looked at divides these children.
    pub(super) fn splits(&mut self, children: &[ChildPosition]) -> SplitScores {
        let is_short = children.len() <= SHORT;
        let mut splits = SplitScores::new();
        self.counting.forget();
        for place in children {
            let limits = self.children.get(*place as usize).map_or(&[][..], |child| child.limits);
            for limit in limits {
                self.effort_left = self.effort_left.saturating_sub(1);
                if (is_short && !limit.is_own) || self.path.get(limit.slot).is_some() {
                    continue;
                }
                let number = self.counting.number(limit.slot, splits.len());
                if number == splits.len() {
                    splits.push((limit.slot, SplitScore::default()));
                }
                let Some((_, split)) = splits.get_mut(number) else { continue };
                split.limiting += 1;
                split.is_own |= limit.is_own;
                split.asked += limit.atoms.len();
                for atom in limit.atoms.iter() {
                    let before = self.counting.meet(*atom);
                    split.atoms += usize::from(before == 0);
                    split.squares += 2 * before + 1;
                }
                self.effort_left = self.effort_left.saturating_sub(limit.atoms.len() as u64);
            }
        }
        splits
    }
}

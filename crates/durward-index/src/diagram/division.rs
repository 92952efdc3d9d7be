//! What is known while children are divided: the children, what was seen on the way, how far a slot divides them,
//! and how much more may be spent.

use std::rc::Rc;

use durward_ir::combine::{Algorithm, Mode, Voting};
use durward_ir::program::{Atom, Node, NodeId, Program, Set, SlotId};

use smallvec::SmallVec;

use super::Step;
use super::expand::Above;
use crate::Map;
use crate::necessary::Limit;
use crate::target::{OneOf, Target, names};

/// A list this short is divided by its children's own targets only, and however little that helps: it saves
/// evaluating them.
pub(super) const SHORT: usize = 4;

/// How many entries dividing a list may always make.
pub(super) const COPIES_MIN: usize = 64;

/// How many entries and branches a set's diagram may have for each child and each value its children ask for.
pub(super) const GROWTH_MAX: u64 = 32;

/// How many limits and values may be looked at while dividing one set, for each entry it may have.
pub(super) const EFFORT_MAX: u64 = 16;

/// A child's place among those of a [`Division`].
pub(super) type Place = u32;

/// One diagram in the making.
pub(super) struct Division<'c> {
    /// All that were met so far; lists of children are lists of their places.
    children: Vec<Child<'c>>,
    /// Set in deep diagrams.
    pub(super) above: Option<Above>,
    /// Whether what follows a child that certainly decides can be left out.
    pub(super) is_first_applicable: bool,
    pub(super) path: Path,
    /// Slots to be looked at when no other divides the children, that which comes last first.
    pub(super) kept_back: Vec<SlotId>,
    /// What children came to that nothing on the path says anything about.
    pub(super) known: Map<Vec<Place>, Step>,
    /// For one division after another: it is as long as there are atoms.
    pub(super) counting: Counting,
    budget: u64,
    /// How many more entries and branches there may be.
    pub(super) allowance: u64,
    pub(super) effort_left: u64,
}

/// A child to be told apart from its siblings.
#[derive(Clone, Copy)]
pub(super) struct Child<'p> {
    pub(super) id: NodeId,
    pub(super) node: &'p Node,
    /// Its place among its siblings, and in deep diagrams among all that may come to stand in the list.
    pub(super) rank: u32,
    pub(super) limits: &'p [Limit],
    pub(super) target: Option<Target<'p>>,
}

impl<'p> Child<'p> {
    pub(super) fn limit(&self, slot: SlotId) -> Option<&'p Limit> {
        self.limits.binary_search_by_key(&slot, |limit| limit.slot).ok().and_then(|at| self.limits.get(at))
    }

    /// Whether the target is True for every question on this path.
    pub(super) fn is_known_match(&self, path: &Path) -> bool {
        if self.node.target().is_none() {
            return true;
        }
        let Some(mut clauses) = self.target.and_then(Target::as_one_ofs) else { return false };
        clauses.all(|clause| path.get(clause.slot).is_some_and(|seen| seen.is_one_of(clause)))
    }

    /// Whether a rule has nothing left that could keep it from having something to say.
    pub(super) fn is_decisive(&self, path: &Path) -> bool {
        matches!(self.node, Node::Rule(rule) if rule.condition.is_none()) && self.is_known_match(path)
    }
}

/// What a slot was seen to hold.
#[derive(Clone)]
pub(super) enum Seen {
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

impl Seen {
    pub(super) fn is_one_of(&self, clause: &OneOf) -> bool {
        self.is_among(&clause.atoms)
    }

    /// Whether the slot certainly holds one of these; sorted.
    pub(super) fn is_among(&self, atoms: &[Atom]) -> bool {
        match self {
            Seen::Atom(atom) => names(atoms, *atom),
            Seen::Other(_) | Seen::Absent | Seen::Unasked => false,
        }
    }

    /// Whether the limit can still be kept, if this is all that the slot holds.
    pub(super) fn is_within(&self, limit: &Limit) -> bool {
        match self {
            Seen::Atom(atom) => limit.atoms.binary_search(atom).is_ok(),
            Seen::Other(sought) => limit.atoms.iter().any(|atom| sought.binary_search(atom).is_err()),
            Seen::Absent => limit.is_absent_allowed,
            Seen::Unasked => true,
        }
    }
}

/// What is known of the slots looked at.
#[derive(Default)]
pub(super) struct Path(Vec<(SlotId, Seen)>);

impl Path {
    pub(super) fn push(&mut self, slot: SlotId, seen: Seen) {
        self.0.push((slot, seen));
    }

    pub(super) fn pop(&mut self) {
        self.0.pop();
    }

    pub(super) fn get(&self, slot: SlotId) -> Option<&Seen> {
        self.0.iter().find(|(seen, _)| *seen == slot).map(|(_, what)| what)
    }

    /// Whether an element with these limits can still apply, if every slot holds one value at most.
    pub(super) fn admits(&self, limits: &[Limit]) -> bool {
        limits.iter().all(|limit| self.get(limit.slot).is_none_or(|seen| seen.is_within(limit)))
    }
}

/// How well a slot divides a list.
#[derive(Clone, Copy, Default)]
pub(super) struct Split {
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

impl Split {
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
pub(super) type Splits = SmallVec<[(SlotId, Split); 8]>;

/// Numbers by slot and by atom that are all forgotten at once.
#[derive(Debug, Default)]
pub(super) struct Counting {
    round: u32,
    /// For each slot and atom the round it was last met in, and its number then.
    slots: Vec<(u32, u32)>,
    atoms: Vec<(u32, u32)>,
}

impl Counting {
    pub(super) fn of(program: &Program) -> Counting {
        let (slots, atoms) = (vec![(0, 0); program.slots.len()], vec![(0, 0); program.slots.atom_count()]);
        Counting { round: 0, slots, atoms }
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

impl<'c> Division<'c> {
    /// `elements` may come to stand in its lists, and ask for this many values.
    pub(super) fn new(
        counting: Counting,
        set: &Set,
        above: Option<Above>,
        elements: u64,
        asked: u64,
    ) -> Division<'c> {
        let budget = COPIES_MIN as u64 + GROWTH_MAX.saturating_mul(elements.saturating_add(asked));
        Division {
            children: Vec::new(),
            above,
            is_first_applicable: is_first_applicable(set.algorithm),
            path: Path::default(),
            kept_back: Vec::new(),
            known: Map::default(),
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

    pub(super) fn add(&mut self, child: Child<'c>) -> Place {
        self.children.push(child);
        self.children.len() as u32 - 1
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "places are only made by `add`")]
    pub(super) fn child(&self, place: Place) -> &Child<'c> {
        &self.children[place as usize]
    }

    pub(super) fn children(&self) -> &[Child<'c>] {
        &self.children
    }

    /// Whether nothing that was seen on the way makes a difference to any of these.
    pub(super) fn is_untouched(&self, children: &[Place]) -> bool {
        let is_untouched = |limit: &Limit| self.path.get(limit.slot).is_none();
        children.iter().all(|place| self.child(*place).limits.iter().all(is_untouched))
    }

    /// How each slot that has not been looked at divides these children.
    pub(super) fn splits(&mut self, children: &[Place]) -> Splits {
        let is_short = children.len() <= SHORT;
        let mut splits = Splits::new();
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
                    splits.push((limit.slot, Split::default()));
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

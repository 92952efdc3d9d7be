//! What is known while children are divided: the children, what was seen on the way, how far a slot divides them,
//! and how much more may be spent.

use std::rc::Rc;

use durward_ir::combine::{Algorithm, Mode, Voting};
use durward_ir::program::{Atom, Node, NodeId, Set, SlotId};

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

/// One diagram in the making.
pub(super) struct Division {
    /// Set in deep diagrams.
    pub(super) above: Option<Above>,
    /// Whether what follows a child that certainly decides can be left out.
    pub(super) is_first_applicable: bool,
    pub(super) path: Path,
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
    pub(super) target: Option<&'p Target>,
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
#[derive(Default)]
pub(super) struct Split {
    /// How many children limit the slot.
    pub(super) limiting: usize,
    /// How many of them ask for each atom.
    pub(super) askers: Map<Atom, usize>,
    /// The sum of that.
    pub(super) asked: usize,
}

impl Split {
    /// How many of the limiting children are left on the average, if questions hold what policies ask for.
    pub(super) fn left(&self) -> usize {
        let squares: usize = self.askers.values().map(|askers| askers * askers).sum();
        squares.div_ceil(self.asked.max(1))
    }

    /// The same, of a whole list of this length.
    pub(super) fn left_of(&self, length: usize) -> usize {
        length - self.limiting + self.left()
    }

    /// How many entries the branches have in all, of a list this long.
    pub(super) fn copies(&self, length: usize) -> usize {
        let (both, free) = (self.limiting + self.asked, length - self.limiting);
        both + free * (self.askers.len() + 2)
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

impl Division {
    /// `elements` may come to stand in its lists, and ask for this many values.
    pub(super) fn new(set: &Set, above: Option<Above>, elements: u64, asked: u64) -> Division {
        let allowance = COPIES_MIN as u64 + GROWTH_MAX.saturating_mul(elements.saturating_add(asked));
        Division {
            above,
            is_first_applicable: is_first_applicable(set.algorithm),
            path: Path::default(),
            allowance,
            effort_left: allowance.saturating_mul(EFFORT_MAX),
        }
    }

    pub(super) fn spend(&mut self, entries: usize) {
        self.allowance = self.allowance.saturating_sub(entries as u64);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.allowance == 0 || self.effort_left == 0
    }

    /// How each slot that has not been looked at divides these children.
    pub(super) fn splits(&mut self, children: &[Child<'_>]) -> Map<SlotId, Split> {
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

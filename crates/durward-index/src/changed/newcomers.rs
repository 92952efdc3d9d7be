//! The documents that the base does not have, indexed by the rarest value that their target compares with.

use std::sync::Arc;

use durward_ir::combine::Algorithm;
use durward_ir::evaluate::TargetMatch;
use durward_ir::program::{Atom, NodeId, Program, SlotId};
use durward_ir::question::{Number, Question};

use super::ground::Ground;
use super::table_decision::PreparedNewcomer;
use crate::BuildMap;
use crate::necessary::{self, NecessaryTest};
use crate::target::Targets;

/// How many values one may be limited to and still count for the set above.
const ATOMS_MAX: usize = 1 << 8;

/// To look at a slot that the base does not look at costs as much as looking at so many newcomers: it may hold several
/// values, each of which has to be found.
const STRANGER_COST: u32 = 32;

/// One of them, for a question that it may apply to.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewChild {
    /// The place of the base's child that it comes before.
    pub(super) before: u32,
    pub(super) node: NodeId,
    pub(super) known: TargetMatch,
}

/// A child of the root that the base does not have, with the place of the base's child that it comes before.
pub(super) type NewChildPosition = (u32, NodeId);

/// All of them.
#[derive(Debug, Default)]
pub(super) struct NewChildren {
    /// In document order.
    all: Vec<NewChildPosition>,
    /// All, made ready to be answered without evaluation; none where nobody will ask.
    pub(super) forms: Vec<Arc<PreparedNewcomer>>,
    /// Those that may always apply, by their place in `all`, as everywhere here.
    pub(super) free: Vec<u32>,
    pub(super) pivots: Vec<SlotNewcomers>,
}

/// Those that ask for values of one slot.
#[derive(Debug)]
pub(super) struct SlotNewcomers {
    pub(super) slot: SlotId,
    by_atom: BuildMap<Atom, Vec<u32>>,
    pub(super) if_absent: Vec<u32>,
    all: Vec<u32>,
}

impl NewChildren {
    /// `arrivals` are in document order; `targets` are those of all elements from `first`.
    pub(super) fn of(
        program: &Program,
        targets: &Targets,
        first: u32,
        ground: &Ground,
        arrivals: Vec<NewChildPosition>,
    ) -> NewChildren {
        let algorithm = ground.root().algorithm;
        let necessary = necessary::of_later(program, targets, ATOMS_MAX);
        let limits = |id: &NodeId| {
            let behind = NodeId(id.0.checked_sub(first)?);
            if algorithm == Algorithm::OnlyOneApplicable {
                // Looks at the targets of its children alone.
                return Some(necessary::of_target(targets.get(behind)));
            }
            necessary.get(behind.0 as usize).cloned()
        };
        let needs: Vec<_> = arrivals.iter().map(|(_, id)| limits(id)).collect();
        let mut askers: BuildMap<Atom, u32> = BuildMap::default();
        for limit in needs.iter().flatten().flat_map(|necessary| necessary.limits()) {
            limit.atoms.iter().for_each(|atom| *askers.entry(*atom).or_default() += 1);
        }
        let most = |limit: &&NecessaryTest| {
            let askers = limit.atoms.iter().filter_map(|atom| askers.get(atom)).max();
            let stranger = if ground.looks_at(limit.slot) { 0 } else { STRANGER_COST };
            (limit.is_absent_allowed, askers.copied().unwrap_or_default() + stranger, limit.slot)
        };
        let mut newcomers = NewChildren { all: arrivals, ..NewChildren::default() };
        for (number, necessary) in (0..).zip(&needs) {
            match necessary {
                Some(necessary) if necessary.is_never() => {}
                Some(necessary) => newcomers.add(number, necessary.limits().iter().min_by_key(most)),
                None => newcomers.add(number, None),
            }
        }
        newcomers
    }

    fn add(&mut self, number: u32, limit: Option<&NecessaryTest>) {
        let Some(limit) = limit else {
            self.free.push(number);
            return;
        };
        let at = self.pivots.iter().position(|pivot| pivot.slot == limit.slot).unwrap_or_else(|| {
            let (by_atom, if_absent, all) = (BuildMap::default(), Vec::new(), Vec::new());
            self.pivots.push(SlotNewcomers { slot: limit.slot, by_atom, if_absent, all });
            self.pivots.len() - 1
        });
        let Some(pivot) = self.pivots.get_mut(at) else { return };
        pivot.all.push(number);
        if limit.is_absent_allowed {
            pivot.if_absent.push(number);
        }
        limit.atoms.iter().for_each(|atom| pivot.by_atom.entry(*atom).or_default().push(number));
    }

    /// Makes all ready to be answered without evaluation. `before` are others, of a program that this one has them in common with.
    pub(super) fn make_ready(&mut self, program: &Program, before: Option<&NewChildren>) {
        let known: BuildMap<NodeId, &Arc<PreparedNewcomer>> = before
            .into_iter()
            .flat_map(|before| before.all.iter().zip(&before.forms))
            .map(|((_, node), form)| (*node, form))
            .collect();
        let form = |(_, node): &NewChildPosition| match known.get(node) {
            Some(form) => Arc::clone(form),
            None => Arc::new(PreparedNewcomer::of(program, *node)),
        };
        self.forms = self.all.iter().map(form).collect();
    }

    /// The place of the base's child that one comes before.
    pub(super) fn before(&self, number: u32) -> Option<u32> {
        self.all.get(number as usize).map(|(before, _)| *before)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Those that may apply, in document order.
    pub(super) fn candidates(&self, question: &Question<'_>, targets: &Targets, first: u32) -> Vec<NewChild> {
        let mut numbers = self.free.clone();
        self.pivots.iter().for_each(|pivot| pivot.find(question, &mut numbers));
        numbers.sort_unstable();
        numbers.dedup();
        let newcomer = |number: u32| {
            let (before, node) = *self.all.get(number as usize)?;
            let known = targets.known(NodeId(node.0.checked_sub(first)?), question);
            (known != TargetMatch::NoMatch).then_some(NewChild { before, node, known })
        };
        numbers.into_iter().filter_map(newcomer).collect()
    }
}

impl SlotNewcomers {
    fn find(&self, question: &Question<'_>, numbers: &mut Vec<u32>) {
        let found: &[u32] = match question.peek(self.slot) {
            Number::ABSENT => &self.if_absent,
            Number::OTHER | Number::OTHER_TEXT => &[],
            Number::UNASKED => &self.all,
            Number::MANY => {
                question.any_of_many(self.slot, |atom| {
                    numbers.extend_from_slice(self.askers(atom));
                    false
                });
                &[]
            }
            number => number.atom().map_or(&[], |atom| self.askers(atom)),
        };
        numbers.extend_from_slice(found);
    }

    pub(super) fn askers(&self, atom: Atom) -> &[u32] {
        self.by_atom.get(&atom).map_or(&[], Vec::as_slice)
    }
}

//! Count-and-eliminate over targets in disjunctive normal form: a sieve ([`crate::sieve`]) for every set that has
//! more than a few children.
//!
//! Its strength is what divides badly: policies that test now these, now those of many attributes, in alternatives
//! over different ones. It takes about as long whatever they test, and grows with the number of policies.

use durward_ir::combine::{Algorithm, Flow};
use durward_ir::evaluate::{Everything, ListPolicies, Shortlist, TargetMatch};
use durward_ir::program::{Node, NodeId, Program, Set, SlotId};
use durward_ir::question::Question;

use crate::formula;
use crate::necessary::{self, NecessaryTests};
use crate::sieve::{SieveCandidate, Sieves};
use crate::target::Targets;
use crate::{CanonicalStatistics, Settings};

/// Sets of fewer children have no sieve: their targets are evaluated as fast as one is prepared.
const CHILDREN_MIN: usize = 8;

/// Sieves over the targets of a program.
#[derive(Debug)]
pub struct CanonicalIndex {
    /// For each element one more than the number of its sieve; 0 where it has none.
    of_node: Box<[u32]>,
    sieves: Sieves,
    targets: Targets,
    statistics: CanonicalStatistics,
}

impl CanonicalIndex {
    pub(crate) fn build(program: &Program, settings: &Settings) -> CanonicalIndex {
        let targets = Targets::build(program);
        let necessary = necessary::of_nodes(program, &targets, settings.necessary_atoms_max);
        let maker = SieveMaker { program, targets: &targets, necessary: &necessary, settings };
        let (mut sieves, mut statistics) = (Sieves::default(), CanonicalStatistics::default());
        let of_node = program.nodes().map(|(_, node)| match node {
            Node::Set(set) if set.children.len() >= CHILDREN_MIN => {
                if sieves.conjunctions() >= settings.canonical_conjunctions_max {
                    statistics.is_cut = true;
                    return 0;
                }
                let candidates = maker.candidates(set, &mut statistics);
                candidates.map_or(0, |candidates| sieves.add(&candidates) + 1)
            }
            Node::Set(_) | Node::Rule(_) => 0,
        });
        let of_node: Box<[u32]> = of_node.collect();
        sieves.finish();
        statistics.sets = sieves.len();
        statistics.conjunctions = sieves.conjunctions();
        statistics.slots = sieves.steps();
        statistics.bytes = size_of_val(&*of_node) + sieves.bytes() + targets.bytes();
        CanonicalIndex { of_node, sieves, targets, statistics }
    }

    /// The slots that the sieve of a set looks at, in order.
    pub(crate) fn order(&self, id: NodeId) -> Vec<SlotId> {
        self.sieve(id).map_or_else(Vec::new, |sieve| self.sieves.slots(sieve))
    }

    /// What the sieves consist of.
    pub fn statistics(&self) -> CanonicalStatistics {
        self.statistics.clone()
    }

    #[inline]
    fn sieve(&self, id: NodeId) -> Option<u32> {
        self.of_node.get(id.0 as usize)?.checked_sub(1)
    }
}

/// What sieves are made of.
struct SieveMaker<'p> {
    program: &'p Program,
    targets: &'p Targets,
    necessary: &'p [NecessaryTests],
    settings: &'p Settings,
}

impl SieveMaker<'_> {
    /// The children of a set that can apply at all. `None` where a sieve would not tell any apart.
    fn candidates(&self, set: &Set, statistics: &mut CanonicalStatistics) -> Option<Vec<SieveCandidate>> {
        // Is never asked for: it counts its children.
        if set.algorithm == Algorithm::OnPermitApplySecond {
            return None;
        }
        let mut candidates = Vec::with_capacity(set.children.len());
        for (place, node) in (0..).zip(&set.children) {
            let target = self.targets.get(*node);
            let own;
            let necessary = if set.algorithm == Algorithm::OnlyOneApplicable {
                // Looks at the targets of its children alone.
                own = necessary::of_target(target);
                &own
            } else {
                self.necessary.get(node.0 as usize)?
            };
            if necessary.is_never() {
                continue;
            }
            let has_target = self.program.node(*node).target().is_some();
            let ways_max = self.settings.canonical_ways_max;
            let formula = formula::of(target, has_target, necessary.limits(), ways_max);
            statistics.abridged += usize::from(formula.is_abridged);
            candidates.push(SieveCandidate { node: *node, place, formula: formula.ways });
        }
        let tells_apart =
            |candidate: &SieveCandidate| candidate.formula.iter().any(|way| !way.tests.is_empty());
        let is_worth_it = candidates.len() < set.children.len() || candidates.iter().any(tells_apart);
        is_worth_it.then_some(candidates)
    }
}

impl Shortlist for CanonicalIndex {
    #[inline]
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        list: ListPolicies,
        mut show: impl FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        match self.sieve(id) {
            Some(number) => self.sieves.pour(number, question, |left| show(left.node, left.known)),
            None => Everything.children(id, set, question, list, show),
        }
    }

    #[inline]
    fn target(&self, id: NodeId, question: &Question<'_>) -> TargetMatch {
        self.targets.known(id, question)
    }
}

//! Which sets may be replaced by their children in a list, and how many elements that can come to.
//!
//! A first-applicable set without duties inside a first-applicable set is its children in its place, once its
//! target matches: the first that has something to say decides, and its Indeterminate is {DP} either way
//! (XACML 3.0, C.8). A set with a single child and no duties says what the child says where the algorithm keeps
//! effects apart. Both hold only while nobody wants to know which policies applied.

use durward_ir::combine::Algorithm;
use durward_ir::program::{Effect, Node, NodeId, Program, Set, SetKind};

use crate::necessary::NecessaryTests;

/// A set that would come to more elements than this is not replaced. Keeps numbers within 32 bits where documents
/// refer to the same policies over and over.
const ELEMENTS_MAX: u64 = 1 << 20;

/// How the algorithm of the set above combines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ParentAlgorithm {
    /// First-applicable.
    FirstApplicable,
    /// Something else that looks at votes one by one.
    Other,
}

impl ParentAlgorithm {
    /// `None` for algorithms whose children are not to be replaced.
    pub(super) fn of(algorithm: Algorithm) -> Option<ParentAlgorithm> {
        match algorithm {
            Algorithm::FirstApplicable => Some(ParentAlgorithm::FirstApplicable),
            // Voting hears those who cannot tell whether they apply last, and asks this of children only.
            Algorithm::OnlyOneApplicable | Algorithm::OnPermitApplySecond | Algorithm::Voting(_) => None,
            Algorithm::DenyOverrides
            | Algorithm::PermitOverrides
            | Algorithm::DenyUnlessPermit
            | Algorithm::PermitUnlessDeny
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides => Some(ParentAlgorithm::Other),
        }
    }

    fn may_replace(self, set: &Set) -> bool {
        let is_transparent = match set.algorithm {
            Algorithm::FirstApplicable => self == ParentAlgorithm::FirstApplicable,
            // These two cannot combine a Suspend.
            Algorithm::DenyOverrides | Algorithm::PermitOverrides => {
                set.children.len() == 1 && !set.effects.contains(Effect::Suspend)
            }
            Algorithm::DenyUnlessPermit
            | Algorithm::PermitUnlessDeny
            | Algorithm::OnlyOneApplicable
            | Algorithm::Voting(_)
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides
            | Algorithm::OnPermitApplySecond => false,
        };
        is_transparent && set.duties.is_empty() && set.kind != SetKind::Root
    }
}

/// The votes that one element can cast.
#[derive(Clone, Copy, Debug)]
pub(super) struct PossibleVotes {
    /// How many elements: itself and, where it may be replaced, what its children come to.
    pub(super) elements: u64,
    /// How many values all of them ask for.
    pub(super) asked: u64,
    pub(super) is_replaceable: bool,
}

/// For every element below sets of either kind.
#[derive(Debug)]
pub(super) struct PossibleVotesByElement {
    first_applicable: Vec<PossibleVotes>,
    other: Vec<PossibleVotes>,
}

impl PossibleVotesByElement {
    pub(super) fn of(program: &Program, necessary: &[NecessaryTests]) -> PossibleVotesByElement {
        PossibleVotesByElement {
            first_applicable: extents(program, necessary, ParentAlgorithm::FirstApplicable),
            other: extents(program, necessary, ParentAlgorithm::Other),
        }
    }

    pub(super) fn get(&self, above: ParentAlgorithm, id: NodeId) -> Option<&PossibleVotes> {
        let extents = match above {
            ParentAlgorithm::FirstApplicable => &self.first_applicable,
            ParentAlgorithm::Other => &self.other,
        };
        extents.get(id.0 as usize)
    }
}

fn extents(program: &Program, necessary: &[NecessaryTests], above: ParentAlgorithm) -> Vec<PossibleVotes> {
    let mut extents: Vec<PossibleVotes> = Vec::with_capacity(necessary.len());
    for ((_, node), necessary) in program.nodes().zip(necessary) {
        let asked = necessary.limits().iter().map(|limit| limit.atoms.len() as u64).sum();
        let mut extent = PossibleVotes { elements: 1, asked, is_replaceable: false };
        if let Node::Set(set) = node
            && above.may_replace(set)
        {
            let mut whole = PossibleVotes { is_replaceable: true, ..extent };
            for child in set.children.iter().filter_map(|child| extents.get(child.0 as usize)) {
                whole.elements = whole.elements.saturating_add(child.elements);
                whole.asked = whole.asked.saturating_add(child.asked);
            }
            if whole.elements <= ELEMENTS_MAX {
                extent = whole;
            }
        }
        extents.push(extent);
    }
    extents
}

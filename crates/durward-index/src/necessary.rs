//! What must hold of a question for an element to be anything but NotApplicable, slot by slot.
//!
//! Only necessary conditions, never sufficient ones. They come up from the leaves: a rule's from its target and, under a
//! target that cannot fail, from its condition, a set's from its own target and, where the algorithm makes it NotApplicable when all its children are, from the
//! least its children have in common. A set with an erroneous target still combines its children, and
//! NotApplicable stays NotApplicable then (XACML 3.0, table 7), so both count at once. In SAPL the error counts
//! whatever the children say, so there theirs count only under a target that cannot fail.

use std::sync::Arc;

use durward_ir::combine::{Algorithm, Voting};
use durward_ir::program::{Atom, Node, NodeId, Program, Set, SlotId};

use crate::target::{TargetClause, TargetParts, Targets, TestConjunction, ValueIn};

/// "Some value of the slot is one of these, or, if allowed, it has no value." Where an absent value is an error
/// in a target it is allowed here, because an element with an erroneous target has something to say.
#[derive(Clone, Debug)]
pub(crate) struct NecessaryTest {
    pub(crate) slot: SlotId,
    /// Sorted, without repeats.
    pub(crate) atoms: Arc<[Atom]>,
    pub(crate) is_absent_allowed: bool,
    /// Whether this comes from the element's own target rather than from its condition or its children.
    pub(crate) is_own: bool,
}

/// What must hold.
#[derive(Clone, Debug)]
pub(crate) enum NecessaryTests {
    /// Nothing makes the element apply.
    Never,
    /// All of these, at most one for each slot, sorted by slot.
    All(Vec<NecessaryTest>),
}

impl NecessaryTests {
    const NOTHING: NecessaryTests = NecessaryTests::All(Vec::new());

    /// The limits; none where nothing must hold or nothing can.
    pub(crate) fn limits(&self) -> &[NecessaryTest] {
        match self {
            NecessaryTests::Never => &[],
            NecessaryTests::All(limits) => limits,
        }
    }

    pub(crate) fn is_never(&self) -> bool {
        matches!(self, NecessaryTests::Never)
    }

    /// The same, for the element above.
    fn inherited(mut self) -> NecessaryTests {
        if let NecessaryTests::All(limits) = &mut self {
            limits.iter_mut().for_each(|limit| limit.is_own = false);
        }
        self
    }

    /// Both must hold.
    fn and(self, other: NecessaryTests) -> NecessaryTests {
        let (NecessaryTests::All(mut limits), NecessaryTests::All(others)) = (self, other) else {
            return NecessaryTests::Never;
        };
        others.into_iter().for_each(|other| add(&mut limits, other));
        NecessaryTests::All(limits)
    }

    /// One of them must hold; `Never` of none. Limits to more than `atoms_max` values are dropped.
    fn any<'n>(
        alternatives: impl IntoIterator<Item = &'n NecessaryTests>,
        atoms_max: usize,
    ) -> NecessaryTests {
        let possible: Vec<&[NecessaryTest]> = alternatives
            .into_iter()
            .filter_map(|alternative| match alternative {
                NecessaryTests::Never => None,
                NecessaryTests::All(limits) => Some(limits.as_slice()),
            })
            .collect();
        match possible.as_slice() {
            [] => NecessaryTests::Never,
            [first, rest @ ..] => {
                NecessaryTests::All(first.iter().filter_map(|limit| common(limit, rest, atoms_max)).collect())
            }
        }
    }
}

/// This must hold, too. Of two limits on one slot the tighter is kept: they cannot be intersected, since different
/// values of one bag may satisfy them.
fn add(limits: &mut Vec<NecessaryTest>, other: NecessaryTest) {
    match limits.binary_search_by_key(&other.slot, |limit| limit.slot) {
        Ok(at) => {
            if let Some(limit) = limits.get_mut(at) {
                limit.is_absent_allowed &= other.is_absent_allowed;
                if other.atoms.len() < limit.atoms.len() {
                    limit.atoms = other.atoms;
                    limit.is_own = other.is_own;
                }
            }
        }
        Err(at) => limits.insert(at, other),
    }
}

/// The limit on the slot of `first` that it and the others have in common, if all have one.
fn common(first: &NecessaryTest, others: &[&[NecessaryTest]], atoms_max: usize) -> Option<NecessaryTest> {
    let mut atoms = first.atoms.to_vec();
    let mut is_absent_allowed = first.is_absent_allowed;
    for limits in others {
        let at = limits.binary_search_by_key(&first.slot, |limit| limit.slot).ok()?;
        let limit = limits.get(at)?;
        is_absent_allowed |= limit.is_absent_allowed;
        atoms.extend_from_slice(&limit.atoms);
        if atoms.len() > 2 * atoms_max {
            atoms.sort_unstable();
            atoms.dedup();
            if atoms.len() > atoms_max {
                return None;
            }
        }
    }
    atoms.sort_unstable();
    atoms.dedup();
    (atoms.len() <= atoms_max).then(|| NecessaryTest {
        atoms: atoms.into(),
        is_absent_allowed,
        ..first.clone()
    })
}

/// For the target to be anything but False.
pub(crate) fn of_target(target: Option<TargetParts<'_>>) -> NecessaryTests {
    let Some(target) = target else { return NecessaryTests::NOTHING };
    let clauses = target.clauses();
    let mut all = NecessaryTests::All(Vec::with_capacity(clauses.len()));
    for clause in clauses {
        match (clause, &mut all) {
            (TargetClause::OneOf(one_of), NecessaryTests::All(limits)) => add(limits, limit_of(one_of)),
            (TargetClause::OneOf(_), NecessaryTests::Never) => {}
            (TargetClause::Alternatives(alternatives), _) => all = all.and(of_alternatives(alternatives)),
        }
    }
    all
}

fn of_alternatives(alternatives: &[TestConjunction]) -> NecessaryTests {
    let alternatives: Vec<NecessaryTests> = alternatives
        .iter()
        .map(|alternative| {
            let mut limits = Vec::with_capacity(alternative.tests.len());
            alternative.tests.iter().for_each(|test| add(&mut limits, limit_of(test)));
            NecessaryTests::All(limits)
        })
        .collect();
    NecessaryTests::any(&alternatives, usize::MAX / 2)
}

fn limit_of(test: &ValueIn) -> NecessaryTest {
    NecessaryTest {
        slot: test.slot,
        atoms: Arc::clone(&test.atoms),
        is_absent_allowed: test.is_error_if_absent,
        is_own: true,
    }
}

/// For every element, in order of their numbers.
pub(crate) fn of_nodes(program: &Program, targets: &Targets, atoms_max: usize) -> Vec<NecessaryTests> {
    of_each(program.nodes(), 0, (targets, &Targets::of_conditions(program)), atoms_max)
}

/// The same for [`Program::later_nodes`] only, whose targets these are. What is known of children that are none of these is
/// left out of account, and so are conditions.
pub(crate) fn of_later(program: &Program, targets: &Targets, atoms_max: usize) -> Vec<NecessaryTests> {
    of_each(program.later_nodes(), program.base_len() as u32, (targets, &Targets::default()), atoms_max)
}

fn of_each<'p>(
    nodes: impl ExactSizeIterator<Item = (NodeId, &'p Node)>,
    first: u32,
    (targets, conditions): (&Targets, &Targets),
    atoms_max: usize,
) -> Vec<NecessaryTests> {
    let mut all: Vec<NecessaryTests> = Vec::with_capacity(nodes.len());
    let place = |id: NodeId| NodeId(id.0.wrapping_sub(first));
    for (id, node) in nodes {
        let own = of_target(targets.get(place(id)));
        let necessary = match node {
            Node::Rule(_) if !cannot_fail(node, place(id), targets) => own,
            Node::Rule(_) => own.and(of_target(conditions.get(place(id))).inherited()),
            Node::Set(set) if may_fail_alone(place(id), set, targets) => own,
            // The root, and whatever else is not made of these alone.
            Node::Set(set) if set.children.iter().any(|child| child.0 < first) => own,
            Node::Set(set) => {
                let children: Vec<NodeId> = set.children.iter().copied().map(place).collect();
                own.and(of_children(set.algorithm, &children, &all, targets, atoms_max).inherited())
            }
        };
        all.push(necessary);
    }
    all
}

/// Whether an error in the target of the set counts when none of its children applies.
fn may_fail_alone(id: NodeId, set: &Set, targets: &Targets) -> bool {
    let never_fails = || set.target.is_none() || targets.get(id).is_some_and(TargetParts::never_fails);
    matches!(set.algorithm, Algorithm::Voting(_)) && !never_fails()
}

/// Whether the target of a rule is never an error, which would count although the condition was False (XACML 3.0,
/// table 4).
fn cannot_fail(node: &Node, id: NodeId, targets: &Targets) -> bool {
    node.target().is_none() || targets.get(id).is_some_and(TargetParts::never_fails)
}

/// What the children of a set have in common, as far as the set depends on them.
fn of_children(
    algorithm: Algorithm,
    children: &[NodeId],
    all: &[NecessaryTests],
    targets: &Targets,
    atoms_max: usize,
) -> NecessaryTests {
    match algorithm {
        Algorithm::DenyOverrides
        | Algorithm::PermitOverrides
        | Algorithm::FirstApplicable
        | Algorithm::Voting(Voting { default: None, .. })
        | Algorithm::LegacyRuleDenyOverrides
        | Algorithm::LegacyPolicyDenyOverrides
        | Algorithm::LegacyRulePermitOverrides
        | Algorithm::LegacyPolicyPermitOverrides => {
            NecessaryTests::any(children.iter().filter_map(|child| of_node(*child, all)), atoms_max)
        }
        // Two children whose targets match are an error whatever they would say themselves.
        Algorithm::OnlyOneApplicable => {
            let own: Vec<NecessaryTests> =
                children.iter().map(|child| of_target(targets.get(*child))).collect();
            NecessaryTests::any(&own, atoms_max)
        }
        // These have something to say when no child has, or count their children.
        Algorithm::DenyUnlessPermit
        | Algorithm::PermitUnlessDeny
        | Algorithm::OnPermitApplySecond
        | Algorithm::Voting(Voting { default: Some(_), .. }) => NecessaryTests::NOTHING,
    }
}

/// Children stand before their parents.
fn of_node(id: NodeId, all: &[NecessaryTests]) -> Option<&NecessaryTests> {
    all.get(id.0 as usize)
}

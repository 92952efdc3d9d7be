//! Children that an index may have left out because they stand behind one that certainly decides, which is gone now.
//!
//! A list ends at a rule that has nothing left to keep it from deciding. When that is gone, whoever came behind it and is
//! not ruled out by what the rule's document asks for may be missing from the list.

use std::collections::BTreeSet;

use durward_ir::combine::{Algorithm, Mode, Voting};
use durward_ir::evaluate::TargetMatch;
use durward_ir::program::{Atom, Node, NodeId, Program, SlotId};

use super::RemovedChildren;
use super::ground::Ground;
use crate::necessary;
use crate::target::{TargetClause, TargetParts};

/// Where more than this many go at once, all that come behind them are taken for hidden: finding out would take longer
/// than building an index.
const GOING_MAX: usize = 8;

/// Those that may be missing.
#[derive(Clone, Debug, Default)]
pub(super) enum HiddenChildren {
    /// Nobody is.
    #[default]
    Nobody,
    /// Those at these places, if at all.
    Some(BTreeSet<u32>),
    /// Anybody may be.
    Anybody,
}

impl HiddenChildren {
    /// Those hidden by what is gone. `known` are those that were hidden by what was gone before.
    pub(super) fn of(
        ground: &Ground,
        gone: &[u32],
        known: Option<(&HiddenChildren, &RemovedChildren)>,
    ) -> HiddenChildren {
        if !is_first_applicable(ground.root().algorithm) || gone.is_empty() {
            return HiddenChildren::Nobody;
        }
        // One that is there again hides what it hid before: to take that for missing is never wrong.
        let was_gone = |place: &u32| known.is_some_and(|(_, before)| before.contains(*place));
        let going: Vec<u32> = gone
            .iter()
            .copied()
            .filter(|place| !was_gone(place))
            .filter(|place| ground.child(*place).is_some_and(|child| decides(ground.program(), child)))
            .collect();
        let before = known.map(|(hidden, _)| hidden.clone()).unwrap_or_default();
        if going.is_empty() {
            return before;
        }
        let mut places = match before {
            HiddenChildren::Anybody => return HiddenChildren::Anybody,
            HiddenChildren::Nobody => BTreeSet::new(),
            HiddenChildren::Some(places) => places,
        };
        if going.len() > GOING_MAX {
            return HiddenChildren::Anybody;
        }
        for place in going {
            places.extend(hidden_by(ground, place));
        }
        HiddenChildren::Some(places)
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            HiddenChildren::Nobody => true,
            HiddenChildren::Some(places) => places.is_empty(),
            HiddenChildren::Anybody => false,
        }
    }

    /// Those behind a place, in order.
    pub(super) fn behind<'a>(
        &'a self,
        place: u32,
        ground: &'a Ground,
    ) -> impl Iterator<Item = (u32, NodeId, TargetMatch)> + 'a {
        let (some, all) = match self {
            HiddenChildren::Nobody => (None, 0..0),
            HiddenChildren::Some(places) => (Some(places.range(place..).copied()), 0..0),
            HiddenChildren::Anybody => (None, place..ground.root().children.len() as u32),
        };
        let places = some.into_iter().flatten().chain(all);
        places.filter_map(|place| Some((place, ground.child(place)?, TargetMatch::Unsure)))
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

/// Whether there is a rule in it that its target alone could keep from deciding.
fn decides(program: &Program, id: NodeId) -> bool {
    let mut left = vec![id];
    while let Some(id) = left.pop() {
        match program.node(id) {
            Node::Rule(rule) if rule.condition.is_none() => return true,
            Node::Rule(_) => {}
            Node::Set(set) => left.extend_from_slice(&set.children),
        }
    }
    false
}

/// Those behind a child that its target does not rule out.
fn hidden_by(ground: &Ground, place: u32) -> impl Iterator<Item = u32> {
    let targets = ground.diagram().map(|diagram| diagram.targets());
    let target = move |place| targets?.get(ground.child(place)?);
    let own = necessary::of_target(target(place));
    (place + 1..ground.root().children.len() as u32).filter(move |behind| {
        let Some(target) = target(*behind) else { return true };
        own.limits().iter().all(|limit| may_hold(target, limit.slot, &limit.atoms))
    })
}

/// Whether the target may match where the slot holds one of these, and nothing else. Both are sorted.
fn may_hold(target: TargetParts<'_>, slot: SlotId, atoms: &[Atom]) -> bool {
    target.clauses().all(|clause| match clause {
        TargetClause::OneOf(one_of) => one_of.slot != slot || atoms.iter().any(|atom| one_of.names(*atom)),
        TargetClause::Alternatives(_) => true,
    })
}

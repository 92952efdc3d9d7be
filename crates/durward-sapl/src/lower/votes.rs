//! The order in which policies and sets vote, and what their algorithms know of them.

use durward_ir::combine::{Effects, Voting};
use durward_ir::program::{NodeId, Voters};
use smol_str::SmolStr;

/// What a document became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// Its element.
    pub node: NodeId,
    /// When it votes.
    pub stratum: Stratum,
}

/// What a vote depends on. Those of one stratum vote in the order of the documents, and the strata in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stratum {
    /// On nothing: it is the same whatever is asked.
    Constant,
    /// On the subscription.
    Pure,
    /// On attribute finders.
    Streaming,
}

impl Stratum {
    const ALL: [Stratum; 3] = [Stratum::Constant, Stratum::Pure, Stratum::Streaming];
}

/// The elements in the order in which they vote.
pub fn in_order(lowered: &[Option<Lowered>]) -> impl Iterator<Item = NodeId> {
    Stratum::ALL.into_iter().flat_map(move |stratum| {
        let all = lowered.iter().flatten().filter(move |lowered| lowered.stratum == stratum);
        all.map(|lowered| lowered.node)
    })
}

/// What a policy became.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// `None` where it was left out.
    pub(super) lowered: Option<Lowered>,
    /// The effects that it has where it applies.
    pub(super) effects: Effects,
    /// Whether it was left out although it depends on what is asked.
    pub(super) is_left_out_unfolded: bool,
}

/// What is known of the policies before another one where the first vote counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Before {
    /// Whether the first vote counts.
    pub(super) is_first: bool,
    /// The name and the line of a policy that always votes, after which none is asked.
    pub(super) decided: Option<(SmolStr, u32)>,
}

/// The policies of a set.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<Policy>);

impl Members {
    pub(super) fn push(&mut self, policy: Policy) {
        self.0.push(policy);
    }

    /// The effects of the policies and of the default.
    pub(super) fn effects(&self, voting: Voting) -> Effects {
        let all = self.0.iter().map(|policy| policy.effects);
        all.fold(default(voting), Effects::union)
    }

    /// The children of the set, in the order in which they vote. Where the first vote counts, constants do not go first.
    pub(super) fn children(&self, is_first: bool) -> Vec<NodeId> {
        let lowered: Vec<Option<Lowered>> = self.0.iter().map(|policy| policy.lowered).collect();
        if is_first {
            return lowered.into_iter().flatten().map(|lowered| lowered.node).collect();
        }
        in_order(&lowered).collect()
    }

    /// What the algorithm knows of the children.
    pub(super) fn voters(&self, voting: Voting, is_first: bool) -> Voters {
        if is_first {
            return Voters { behind: self.behind(voting), ..Voters::default() };
        }
        let constants = self.0.iter().filter_map(|policy| policy.lowered);
        let constants = constants.filter(|lowered| lowered.stratum == Stratum::Constant).count();
        Voters { constants: constants as u32, are_all_constant: self.are_all_constant(), ..Voters::default() }
    }

    /// For each child the effects of those behind it, those included that were left out, and of the default.
    fn behind(&self, voting: Voting) -> Box<[Effects]> {
        let mut effects = default(voting);
        let mut behind = Vec::with_capacity(self.0.len());
        for policy in self.0.iter().rev() {
            if policy.lowered.is_some() {
                behind.push(effects);
            }
            effects = effects.union(policy.effects);
        }
        behind.reverse();
        behind.into()
    }

    fn are_all_constant(&self) -> bool {
        self.0.iter().all(|policy| match policy.lowered {
            Some(lowered) => lowered.stratum == Stratum::Constant,
            None => !policy.is_left_out_unfolded,
        })
    }

    /// When the set votes, if it always applies.
    pub(super) fn stratum(&self, is_first: bool) -> Stratum {
        if self.are_all_constant() || is_first && self.begins_constant() {
            return Stratum::Constant;
        }
        self.unfolded_stratum()
    }

    /// When a set votes that applies or not, depending on what is asked.
    pub(super) fn unfolded_stratum(&self) -> Stratum {
        let strata = self.0.iter().filter_map(|policy| Some(policy.lowered?.stratum));
        strata.fold(Stratum::Pure, Ord::max)
    }

    /// Whether the first policy that may vote says the same whatever is asked.
    fn begins_constant(&self) -> bool {
        let mut policies = self.0.iter();
        let first = policies.find(|policy| policy.lowered.is_some() || policy.is_left_out_unfolded);
        first.is_some_and(|first| first.lowered.is_some_and(|lowered| lowered.stratum == Stratum::Constant))
    }
}

fn default(voting: Voting) -> Effects {
    voting.default.map_or(Effects::NONE, Effects::only)
}

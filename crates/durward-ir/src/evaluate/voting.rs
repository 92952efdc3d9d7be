//! SAPL's combining algorithms: asks the children of a set for their votes, in the order in which these count.
//!
//! While no vote fails it is enough to count what applies, and an index may leave out whatever does not. Where one fails and
//! it matters what the others could have decided, or which sets apply and abstain, all is counted again, ballot by ballot.

use super::{Evaluator, ListPolicies, Shortlist, TargetMatch, Trace};
use crate::combine::{Algorithm, Ballot, Effects, Flow, Mode, Standing, Tally, Verdict, Vote, Voting};
use crate::fault::Evaluated;
use crate::program::{Expr, ExprId, Node, NodeId, Rule, Set, SetKind};

impl<S: Shortlist, T: Trace> Evaluator<'_, S, T> {
    #[inline]
    pub(super) fn voting(&self, id: NodeId, set: &Set, voting: Voting) -> Vote {
        if voting.mode == Mode::First {
            return self.first_vote(id, set, voting);
        }
        if T::IS_WATCHING {
            return self.counted(id, set, voting);
        }
        let (open, applicable) = (self.question.open(), self.applicable_count());
        // Nobody asks a root, or a set that abstains after errors, which effects it could have had.
        let is_asked = set.kind != SetKind::Root && voting.propagates();
        let is_counted = is_asked || set.voters.may_abstain;
        let mut tally = Tally::new(voting);
        self.shortlist.children(id, set, self.question, self.list(), |child, known| {
            let vote = match self.program.node(child) {
                Node::Rule(rule) => self.rule(child, rule, known),
                Node::Set(_) => self.vote(child, known),
            };
            let flow = tally.add(vote);
            if is_counted && tally.has_failed() { Flow::Stop } else { flow }
        });
        if is_counted && tally.has_failed() && (is_asked || !tally.is_settled()) {
            self.question.forget_since(open);
            self.forget_applicable_since(applicable);
            return self.counted(id, set, voting);
        }
        tally.finish()
    }

    fn applicable_count(&self) -> usize {
        self.applicable.as_ref().map_or(0, |applicable| applicable.borrow().len())
    }

    fn forget_applicable_since(&self, count: usize) {
        if let Some(applicable) = &self.applicable {
            applicable.borrow_mut().truncate(count);
        }
    }

    /// The first child that has something to say decides. Where it fails, those behind it might have decided, too.
    #[inline]
    fn first_vote(&self, id: NodeId, set: &Set, voting: Voting) -> Vote {
        let mut first = Vote::not_applicable();
        self.shortlist.children(id, set, self.question, self.list(), |child, known| {
            first = self.vote(child, known);
            match &mut first.verdict {
                Verdict::NotApplicable => return Flow::Continue,
                Verdict::Indeterminate(effects) => *effects = effects.union(behind(set, child)),
                Verdict::Permit | Verdict::Deny | Verdict::Suspend => {}
            }
            Flow::Stop
        });
        first.is_undecided = false;
        voting.finished(first)
    }

    /// The votes of all children that an index does not leave out, and of those sets that it does leave out although they
    /// apply, because all they do is to abstain.
    #[cold]
    fn counted(&self, id: NodeId, set: &Set, voting: Voting) -> Vote {
        let mut shown: Vec<(NodeId, TargetMatch)> = Vec::new();
        self.shortlist.children(id, set, self.question, ListPolicies::Yes, |child, known| {
            shown.push((child, known));
            Flow::Continue
        });
        shown.sort_by_key(|(child, _)| *child);
        let mut ballots = Vec::with_capacity(shown.len());
        for (place, child) in (0..).zip(&set.children) {
            let vote = match shown.binary_search_by_key(child, |(child, _)| *child) {
                Ok(at) => self.vote(*child, shown.get(at).map_or(TargetMatch::Unsure, |(_, known)| *known)),
                Err(_) => Vote::not_applicable(),
            };
            let ballot = if place < set.voters.constants {
                Some(Standing::Constant).filter(|_| vote.verdict != Verdict::NotApplicable)
            } else {
                self.standing(*child, &vote)
            };
            if let Some(standing) = ballot {
                ballots.push(Ballot { standing, effects: self.program.effects(*child), vote });
            }
        }
        let mut vote = voting.count(ballots, set.voters.are_all_constant);
        vote.is_undecided = false;
        vote
    }

    /// Whether a child that says this applies at all; `None` where it does not.
    fn standing(&self, child: NodeId, vote: &Vote) -> Option<Standing> {
        match vote.verdict {
            Verdict::Indeterminate(_) if vote.is_undecided => Some(Standing::Undecided),
            Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::Indeterminate(_) => {
                Some(Standing::Applies)
            }
            Verdict::NotApplicable => match self.applies(child) {
                Ok(true) => Some(Standing::Applies),
                Ok(false) => None,
                Err(_) => Some(Standing::Undecided),
            },
        }
    }

    /// Whether a child that has nothing to say applies all the same: a set of SAPL whose target matches, or a policy of
    /// which only conditions over attribute finders do not hold.
    fn applies(&self, child: NodeId) -> Evaluated<bool> {
        match self.program.node(child) {
            Node::Set(set) if matches!(set.algorithm, Algorithm::Voting(_)) => match set.target {
                Some(target) => self.known_truth(child, target),
                None => Ok(true),
            },
            Node::Rule(Rule { gate: Some(gate), .. }) => self.truth(*gate),
            Node::Set(_) | Node::Rule(_) => Ok(false),
        }
    }

    fn known_truth(&self, id: NodeId, target: ExprId) -> Evaluated<bool> {
        match self.shortlist.target(id, self.question) {
            TargetMatch::Match => Ok(true),
            TargetMatch::NoMatch => Ok(false),
            TargetMatch::Unsure => self.truth(target),
        }
    }

    /// Whether an error in its conditions keeps a policy from telling whether it applies. What is known to fail whatever is
    /// asked is as good as decided, and votes with the constants; and where nothing but a finder's attribute failed, the
    /// policy does apply.
    #[cold]
    pub(super) fn is_undecided(&self, rule: &Rule, condition: ExprId) -> bool {
        match rule.gate {
            Some(gate) => self.truth(gate).is_err(),
            // Beside a target it does not fail whatever is asked: where the target does not hold, neither do all conditions.
            None => rule.target.is_some() || !matches!(self.program.expr(condition), Expr::Failed(_)),
        }
    }
}

#[cold]
fn behind(set: &Set, child: NodeId) -> Effects {
    let place = set.children.iter().position(|other| *other == child);
    let behind = place.and_then(|place| set.voters.behind.get(place));
    behind.copied().unwrap_or(Effects::ALL)
}

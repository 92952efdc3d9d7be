//! Algorithms that choose one of the votes.

use durward_ir::combine::{Effects, ErrorHandling, Verdict, Voting};
use durward_ir::program::{Effect, NodeId};

use super::{Ballot, Collected, Outcome, Votes};
use crate::interval::{Interval, Truth};

impl Ballot<'_> {
    /// The first child that has something to say decides; `effects` says what its error counts for.
    pub(super) fn first_vote(
        &mut self,
        children: &[Votes],
        effects: impl Fn(usize, Effects) -> Effects,
    ) -> Collected {
        let mut later = Votes::never();
        for (at, child) in children.iter().enumerate().rev() {
            let mut votes = Collected::default();
            for (outcome, interval) in child.iter() {
                let outcome = match outcome.verdict {
                    Verdict::NotApplicable => continue,
                    Verdict::Indeterminate(its) => Outcome::plain(Verdict::Indeterminate(effects(at, its))),
                    Verdict::Permit | Verdict::Deny | Verdict::Suspend => outcome,
                };
                votes.add(outcome, interval);
            }
            let silent = child.silent();
            for (outcome, interval) in later.iter() {
                let here = self.both(silent, interval);
                votes.add(outcome, here);
            }
            later = self.collected(votes);
        }
        let mut votes = Collected::default();
        later.iter().for_each(|(outcome, interval)| votes.add(outcome, interval));
        votes
    }

    /// What a set of SAPL's algorithm says where its votes came to these.
    pub(super) fn finished(&mut self, voting: Voting, votes: Collected) -> Votes {
        let votes = self.collected(votes);
        let mut finished = Collected::default();
        for (outcome, interval) in votes.iter() {
            let outcome = match (outcome.verdict, voting.default, voting.errors) {
                (Verdict::NotApplicable, Some(default), _) => Outcome::plain(default.into()),
                (Verdict::Indeterminate(_), _, ErrorHandling::Abstain) => {
                    Outcome::plain(Verdict::NotApplicable)
                }
                (Verdict::Indeterminate(_), _, ErrorHandling::Propagate) => {
                    Outcome { is_undecided: false, ..outcome }
                }
                (Verdict::NotApplicable | Verdict::Permit | Verdict::Deny | Verdict::Suspend, _, _) => {
                    outcome
                }
            };
            finished.add(outcome, interval);
        }
        self.collected(finished)
    }

    /// C.9: exactly one child's target may match, and that child decides.
    pub(super) fn only_one_applicable(&mut self, children: &[NodeId]) -> Votes {
        let targets: Vec<Truth> = children.iter().map(|child| self.target(*child)).collect();
        // Of the children from here on: none matches, and what the only one says that does.
        let mut none = Interval::TRUE;
        let mut one = Votes::default();
        for (child, target) in children.iter().zip(&targets).rev() {
            let mut votes = Collected::default();
            if !target.yes.is_never() {
                let only = self.both(target.yes, none);
                for (outcome, interval) in self.votes_of(*child, Truth::constant(true)).iter() {
                    let outcome = match outcome.verdict {
                        Verdict::Indeterminate(_) => {
                            Outcome::plain(Verdict::Indeterminate(Effects::DENY_OR_PERMIT))
                        }
                        Verdict::NotApplicable | Verdict::Permit | Verdict::Deny | Verdict::Suspend => {
                            outcome
                        }
                    };
                    let here = self.both(only, interval);
                    votes.add(outcome, here);
                }
            }
            for (outcome, interval) in one.iter() {
                let here = self.both(target.no, interval);
                votes.add(outcome, here);
            }
            one = self.collected(votes);
            none = self.both(target.no, none);
        }
        let mut votes = Collected::default();
        one.iter().for_each(|(outcome, interval)| votes.add(outcome, interval));
        votes.add(Outcome::plain(Verdict::NotApplicable), none);
        let one_matches = self.exactly_one(&targets);
        let failed = self.folding.formulas.some(&[none, one_matches]).negated();
        votes.add(Outcome::plain(Verdict::Indeterminate(Effects::DENY_OR_PERMIT)), failed);
        self.collected(votes)
    }

    fn exactly_one(&mut self, targets: &[Truth]) -> Interval {
        let (mut none, mut one) = (Interval::TRUE, Interval::FALSE);
        for target in targets.iter().rev() {
            let this = self.both(target.yes, none);
            let later = self.both(target.no, one);
            one = self.folding.formulas.some(&[this, later]);
            none = self.both(target.no, none);
        }
        one
    }

    /// Additional Combining Algorithms profile 1.0.
    pub(super) fn on_permit_apply_second(&mut self, children: &[NodeId]) -> Votes {
        let failed = Outcome::plain(Verdict::Indeterminate(Effects::DENY_OR_PERMIT));
        let (first, second, third) = match children {
            [first, second] => (first, second, None),
            [first, second, third] => (first, second, Some(third)),
            _ => return Votes(vec![(failed, Interval::TRUE)]),
        };
        let (asked, second) = (self.votes(*first), self.votes(*second));
        let third = third.map_or_else(Votes::never, |third| self.votes(*third));
        let mut votes = Collected::default();
        for (asked, here) in asked.iter() {
            let answers = match asked.verdict {
                Verdict::Permit => &second,
                Verdict::Indeterminate(effects) if effects.contains(Effect::Permit) => {
                    votes.add(failed, here);
                    continue;
                }
                Verdict::Deny | Verdict::Suspend | Verdict::NotApplicable | Verdict::Indeterminate(_) => {
                    &third
                }
            };
            for (answer, interval) in answers.iter() {
                let tag = match asked.verdict == answer.verdict {
                    true => self.tags.appended(asked.tag, answer.tag),
                    false => answer.tag,
                };
                let both = self.both(here, interval);
                votes.add(Outcome { tag, ..answer }, both);
            }
        }
        self.collected(votes)
    }
}

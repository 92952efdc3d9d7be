//! What algorithms make of plain votes: effects that nothing goes along with, none of them an error.

use super::{Algorithm, Combiner, Effects, Mode, Tally, Verdict, Vote, Voting};

/// An algorithm, as far as it combines plain votes.
#[derive(Clone, Copy, Debug)]
pub enum PlainFold {
    /// The first vote counts; this is what holds without any.
    First(Verdict),
    /// It only matters which effects there are among the votes.
    Any(PlainVerdicts),
}

/// The verdict for every set of effects.
#[derive(Clone, Copy, Debug)]
pub struct PlainVerdicts([Option<Verdict>; 8]);

impl PlainVerdicts {
    /// What votes of these effects come to; `None` where that is more than a plain vote.
    #[inline]
    pub fn of(&self, effects: Effects) -> Option<Verdict> {
        *self.0.get(usize::from(effects.bits()))?
    }
}

impl PlainFold {
    /// `None` for an algorithm that wants to know more of its children than how they vote, or how many vote alike.
    pub fn of(algorithm: Algorithm) -> Option<PlainFold> {
        match algorithm {
            Algorithm::FirstApplicable => Some(PlainFold::First(Verdict::NotApplicable)),
            Algorithm::Voting(Voting { mode: Mode::First, .. }) => {
                verdict(algorithm, Effects::NONE).map(PlainFold::First)
            }
            Algorithm::OnlyOneApplicable
            | Algorithm::OnPermitApplySecond
            | Algorithm::Voting(Voting { mode: Mode::Unique, .. }) => None,
            Algorithm::DenyOverrides
            | Algorithm::PermitOverrides
            | Algorithm::DenyUnlessPermit
            | Algorithm::PermitUnlessDeny
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides
            | Algorithm::Voting(Voting {
                mode: Mode::Priority(_) | Mode::Unanimous | Mode::UnanimousStrict,
                ..
            }) => {
                let mut verdicts = PlainVerdicts([None; 8]);
                for (effects, entry) in (0..).zip(&mut verdicts.0) {
                    *entry = verdict(algorithm, Effects::of_bits(effects));
                }
                Some(PlainFold::Any(verdicts))
            }
        }
    }
}

/// What the algorithm itself makes of one vote for each effect; `None` where that is an error.
fn verdict(algorithm: Algorithm, effects: Effects) -> Option<Verdict> {
    let kinds = [
        (Effects::PERMIT, Verdict::Permit),
        (Effects::DENY, Verdict::Deny),
        (Effects::SUSPEND, Verdict::Suspend),
    ];
    let votes = kinds.into_iter().filter(|(kind, _)| effects.bits() & kind.bits() != 0);
    let mut votes = votes.map(|(_, verdict)| Vote::plain(verdict));
    let combined = if let Algorithm::Voting(voting) = algorithm {
        let mut tally = Tally::new(voting);
        votes.all(|vote| tally.add(vote) == super::Flow::Continue);
        tally.finish()
    } else {
        let mut combiner = Combiner::new(algorithm);
        votes.all(|vote| combiner.add(vote) == super::Flow::Continue);
        combiner.finish()
    };
    match combined {
        Vote { verdict: Verdict::Indeterminate(_), .. } | Vote { duties: Some(_), .. } => None,
        Vote { verdict, .. } => Some(verdict),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::combine::ErrorHandling;
    use crate::effect::Effect;

    fn algorithms() -> Vec<Algorithm> {
        let mut all = vec![
            Algorithm::DenyOverrides,
            Algorithm::PermitOverrides,
            Algorithm::DenyUnlessPermit,
            Algorithm::PermitUnlessDeny,
            Algorithm::LegacyRuleDenyOverrides,
            Algorithm::LegacyPolicyDenyOverrides,
            Algorithm::LegacyRulePermitOverrides,
            Algorithm::LegacyPolicyPermitOverrides,
        ];
        let effects = [Effect::Permit, Effect::Deny, Effect::Suspend];
        let modes = effects.map(Mode::Priority).into_iter().chain([
            Mode::First,
            Mode::Unanimous,
            Mode::UnanimousStrict,
            Mode::Unique,
        ]);
        for mode in modes {
            for default in [None, Some(Effect::Permit), Some(Effect::Deny), Some(Effect::Suspend)] {
                for errors in [ErrorHandling::Abstain, ErrorHandling::Propagate] {
                    all.push(Algorithm::Voting(Voting { mode, default, errors }));
                }
            }
        }
        all
    }

    /// What the algorithm makes of these votes, one by one.
    fn combined(algorithm: Algorithm, verdicts: &[Verdict]) -> Verdict {
        let mut votes = verdicts.iter().map(|verdict| Vote::plain(*verdict));
        if let Algorithm::Voting(voting) = algorithm {
            let mut tally = Tally::new(voting);
            votes.all(|vote| tally.add(vote) == crate::combine::Flow::Continue);
            return tally.finish().verdict;
        }
        let mut combiner = Combiner::new(algorithm);
        votes.all(|vote| combiner.add(vote) == crate::combine::Flow::Continue);
        combiner.finish().verdict
    }

    /// All sequences of up to four votes.
    #[test]
    fn a_plain_fold_is_the_algorithm() {
        let kinds = [Verdict::Permit, Verdict::Deny, Verdict::Suspend, Verdict::NotApplicable];
        let bit = |verdict: &Verdict| match verdict {
            Verdict::Permit => Effects::PERMIT,
            Verdict::Deny => Effects::DENY,
            Verdict::Suspend => Effects::SUSPEND,
            Verdict::NotApplicable | Verdict::Indeterminate(_) => Effects::NONE,
        };
        for algorithm in algorithms() {
            let Some(fold) = PlainFold::of(algorithm) else { continue };
            for code in 0..5_usize.pow(4) {
                let digits = (0..4).map(|at| code / 5_usize.pow(at) % 5);
                let votes: Vec<Verdict> = digits.filter_map(|digit| kinds.get(digit).copied()).collect();
                let said = match fold {
                    PlainFold::First(otherwise) => Some(
                        *votes.iter().find(|vote| **vote != Verdict::NotApplicable).unwrap_or(&otherwise),
                    ),
                    PlainFold::Any(verdicts) => {
                        verdicts.of(votes.iter().map(bit).fold(Effects::NONE, Effects::union))
                    }
                };
                let truth = combined(algorithm, &votes);
                match said {
                    Some(said) => assert_eq!(said, truth, "{algorithm:?} {votes:?}"),
                    None => assert!(matches!(truth, Verdict::Indeterminate(_)), "{algorithm:?} {votes:?}"),
                }
            }
        }
    }
}

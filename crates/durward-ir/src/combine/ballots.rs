//! SAPL's algorithms over all ballots: where a vote failed, or votes contradict each other, it matters what the others could
//! have decided.
//!
//! [`Tally`] is enough while no vote fails. A failed set hands up every effect that it could have had, for the algorithm
//! above must not let something weaker win that a vote of the set would have beaten. Which votes count then is a rule of
//! each algorithm, and is written here as the engine has it, its oddities included.

use super::vote::{Verdict, Vote};
use super::voting::{Mode, Tally, Voting};
use crate::effect::Effects;

/// What is known of a child before it votes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It says the same whatever is asked.
    Constant,
    /// It applies.
    Applies,
    /// An error keeps it from telling whether it applies.
    Undecided,
}

/// The vote of a child that was asked, because nothing says that it does not apply.
#[derive(Clone, Debug)]
pub struct Ballot {
    /// What is known of the child.
    pub standing: Standing,
    /// The effects that any of its parts has.
    pub effects: Effects,
    /// What it says; NotApplicable of a set that applies and abstains.
    pub vote: Vote,
}

impl Voting {
    /// What these ballots come to, in the order of the children, constants first. `are_all_constant` where no child depends
    /// on what is asked, those that never apply included.
    ///
    /// Not for [`Mode::First`], which asks no further after the first vote.
    pub fn count(self, ballots: Vec<Ballot>, are_all_constant: bool) -> Vote {
        match self.mode {
            Mode::Priority(_) => self.count_by_priority(ballots),
            Mode::Unanimous | Mode::UnanimousStrict | Mode::Unique => {
                self.count_by_agreement(ballots, are_all_constant)
            }
            Mode::First => {
                let mut votes = ballots.into_iter().map(|ballot| ballot.vote);
                let first = votes.find(|vote| vote.verdict != Verdict::NotApplicable);
                self.finished(first.unwrap_or_else(Vote::not_applicable))
            }
        }
    }

    /// Those that apply vote before those that cannot tell. Whoever applies and abstains takes back an error that does not
    /// matter for the strong effect.
    fn count_by_priority(self, ballots: Vec<Ballot>) -> Vote {
        let (constant, applies, undecided) = sorted(ballots);
        let mut tally = self.constants(&constant);
        for ballot in applies.into_iter().chain(undecided) {
            match ballot.vote.verdict {
                Verdict::NotApplicable => tally.abstain(ballot.effects),
                Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::Indeterminate(_) => {
                    tally.add(ballot.vote);
                }
            }
        }
        tally.finish()
    }

    /// Those that cannot tell vote before those that apply. Once nothing can help, those that have not voted are taken for
    /// what they could have said.
    fn count_by_agreement(self, ballots: Vec<Ballot>, are_all_constant: bool) -> Vote {
        let (constant, applies, undecided) = sorted(ballots);
        let mut tally = self.constants(&constant);
        if are_all_constant {
            tally.widen(constant.iter().map(|ballot| ballot.effects));
        }
        for ballot in undecided {
            tally.add(ballot.vote);
        }
        let mut left = applies.into_iter();
        while let Some(ballot) = left.next() {
            tally.add(ballot.vote);
            if tally.is_final() {
                tally.widen(left.by_ref().map(|ballot| ballot.effects));
            }
        }
        tally.finish()
    }

    /// Of constants none votes after one with which nothing can help.
    fn constants(self, ballots: &[Ballot]) -> Tally {
        let mut tally = Tally::new(self);
        for ballot in ballots {
            if tally.is_final() {
                break;
            }
            tally.add(ballot.vote.clone());
        }
        tally
    }
}

fn sorted(ballots: Vec<Ballot>) -> (Vec<Ballot>, Vec<Ballot>, Vec<Ballot>) {
    let (mut constant, mut applies, mut undecided) = (Vec::new(), Vec::new(), Vec::new());
    for ballot in ballots {
        match ballot.standing {
            Standing::Constant => constant.push(ballot),
            Standing::Applies => applies.push(ballot),
            Standing::Undecided => undecided.push(ballot),
        }
    }
    (constant, applies, undecided)
}

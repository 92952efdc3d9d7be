//! SAPL's combining algorithms: votes are combined two by two, what was combined so far with the next vote.
//!
//! An algorithm says who wins ([`Mode`]), what holds when nobody voted, and what becomes of an error. Constant
//! policies vote first, then those that apply, then those that failed to say whether they apply; the evaluator sees
//! to that order.

use std::fmt;

use super::vote::{Duties, Flow, Verdict, Vote, append};
use crate::effect::{Effect, Effects};
use crate::fault::Fault;

/// One of SAPL's combining algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Voting {
    /// Who wins.
    pub mode: Mode,
    /// What is decided when no child has anything to say; `None` abstains.
    pub default: Option<Effect>,
    /// What becomes of an error.
    pub errors: ErrorHandling,
}

impl Voting {
    /// What holds where nobody wrote an algorithm: priority deny or deny, errors propagate.
    pub const DEFAULT: Voting = Voting {
        mode: Mode::Priority(Effect::Deny),
        default: Some(Effect::Deny),
        errors: ErrorHandling::Propagate,
    };
}

/// How votes are combined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// The first child that has anything to say.
    First,
    /// This effect wins over the others, and over errors that could not have had it.
    Priority(Effect),
    /// All children that apply have the same effect.
    Unanimous,
    /// All children that apply say the very same.
    UnanimousStrict,
    /// Only one child applies.
    Unique,
}

impl Mode {
    /// Its name, as policies write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::First => "first",
            Mode::Priority(Effect::Deny) => "priority deny",
            Mode::Priority(Effect::Permit) => "priority permit",
            Mode::Priority(Effect::Suspend) => "priority suspend",
            Mode::Unanimous => "unanimous",
            Mode::UnanimousStrict => "unanimous strict",
            Mode::Unique => "unique",
        }
    }
}

/// What becomes of an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorHandling {
    /// The set has nothing to say then; its default does not count either.
    Abstain,
    /// The set is Indeterminate.
    Propagate,
}

impl fmt::Display for Voting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = match self.default {
            None => "abstain",
            Some(Effect::Deny) => "deny",
            Some(Effect::Permit) => "permit",
            Some(Effect::Suspend) => "suspend",
        };
        let errors = match self.errors {
            ErrorHandling::Abstain => "abstain",
            ErrorHandling::Propagate => "propagate",
        };
        write!(f, "{} or {default} errors {errors}", self.mode.as_str())
    }
}

/// A count of votes under way.
#[derive(Debug)]
pub struct Tally {
    voting: Voting,
    /// What the votes so far came to.
    vote: Vote,
}

impl Tally {
    /// A count that has seen nothing.
    #[inline]
    pub fn new(voting: Voting) -> Tally {
        Tally { voting, vote: Vote::not_applicable() }
    }

    /// Takes the next vote.
    #[inline]
    pub fn add(&mut self, vote: Vote) -> Flow {
        if vote.verdict == Verdict::NotApplicable {
            return Flow::Continue;
        }
        if self.vote.verdict == Verdict::NotApplicable {
            self.vote = vote;
        } else {
            let before = std::mem::replace(&mut self.vote, Vote::not_applicable());
            self.vote = match self.voting.mode {
                Mode::First => before,
                Mode::Priority(strong) => by_priority(strong, before, vote),
                Mode::Unanimous => by_unanimity(before, vote),
                Mode::UnanimousStrict => by_identity(before, vote),
                Mode::Unique => by_uniqueness(before, vote),
            };
        }
        self.flow()
    }

    /// Whether what follows can still change the verdict.
    #[inline]
    fn flow(&self) -> Flow {
        let has_voted = self.vote.verdict != Verdict::NotApplicable;
        let is_final = self.is_final() || self.voting.mode == Mode::First && has_voted;
        if is_final { Flow::Stop } else { Flow::Continue }
    }

    /// Whether a vote failed, or votes contradict each other.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.vote.verdict, Verdict::Indeterminate(_))
    }

    /// What the votes so far came to, before the default and the handling of errors.
    pub fn vote(&self) -> &Vote {
        &self.vote
    }

    /// Whether nothing that follows can help against an error.
    pub fn is_final(&self) -> bool {
        let Some(errors) = error(self.vote.verdict) else { return false };
        match self.voting.mode {
            Mode::Priority(strong) => errors.contains(strong),
            Mode::Unanimous => errors.are_several(),
            Mode::First | Mode::UnanimousStrict | Mode::Unique => true,
        }
    }

    /// Whether an error stays one, whoever votes or abstains after it.
    pub(crate) fn is_settled(&self) -> bool {
        match self.voting.mode {
            Mode::Priority(_) => self.is_final(),
            Mode::First | Mode::Unanimous | Mode::UnanimousStrict | Mode::Unique => self.has_failed(),
        }
    }

    /// A child that applies has nothing to say; it could have had these effects. With priority that takes back an error
    /// which could not have had the strong effect.
    pub fn abstain(&mut self, effects: Effects) {
        if !matches!(self.voting.mode, Mode::Priority(_)) {
            return;
        }
        if self.is_final() {
            self.widen([effects].into_iter());
        } else if self.has_failed() {
            self.vote = Vote::not_applicable();
        }
    }

    /// An error might have had these effects, too.
    pub(crate) fn widen(&mut self, effects: impl Iterator<Item = Effects>) {
        if let Verdict::Indeterminate(errors) = &mut self.vote.verdict {
            *errors = effects.fold(*errors, Effects::union);
        }
    }

    /// What all votes came to, with the default and the handling of errors applied.
    #[inline]
    pub fn finish(self) -> Vote {
        self.voting.finished(self.vote)
    }
}

impl Voting {
    /// Whether an error is handed up.
    pub(crate) fn propagates(self) -> bool {
        self.errors == ErrorHandling::Propagate
    }

    /// What a set of this algorithm says where its votes came to this one.
    #[inline]
    pub(crate) fn finished(self, vote: Vote) -> Vote {
        match (vote.verdict, self.default, self.errors) {
            (Verdict::NotApplicable, Some(default), _) => Vote::plain(default.into()),
            // The default does not count after an error: the documentation says otherwise, the engine does this.
            (Verdict::Indeterminate(_), _, ErrorHandling::Abstain) => Vote::not_applicable(),
            (
                Verdict::NotApplicable
                | Verdict::Indeterminate(_)
                | Verdict::Permit
                | Verdict::Deny
                | Verdict::Suspend,
                _,
                _,
            ) => vote,
        }
    }
}

/// The effects a vote has or might have had.
fn effects(verdict: Verdict) -> Effects {
    match verdict {
        Verdict::Permit => Effects::PERMIT,
        Verdict::Deny => Effects::DENY,
        Verdict::Suspend => Effects::SUSPEND,
        Verdict::NotApplicable => Effects::NONE,
        Verdict::Indeterminate(effects) => effects,
    }
}

/// The effects a failed vote might have had; `None` where the vote did not fail.
fn error(verdict: Verdict) -> Option<Effects> {
    match verdict {
        Verdict::Indeterminate(effects) => Some(effects),
        Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::NotApplicable => None,
    }
}

/// Neither vote is NotApplicable. An error counts only if it could have had the strong effect; then nothing helps
/// against it, not even the strong effect itself.
fn by_priority(strong: Effect, before: Vote, next: Vote) -> Vote {
    match (error(before.verdict), error(next.verdict)) {
        (Some(_), Some(_)) => failed(before, next),
        (Some(errors), None) if errors.contains(strong) => failed(before, next),
        (Some(_), None) => next,
        (None, Some(errors)) if errors.contains(strong) => failed(before, next),
        (None, Some(_)) => before,
        (None, None) if before.verdict == next.verdict => merged(before, next),
        (None, None) if before.verdict == strong.into() => before,
        (None, None) if next.verdict == strong.into() => next,
        (None, None) if before.verdict == second(strong) => before,
        (None, None) => next,
    }
}

/// The effect that wins where the strong one has no part.
fn second(strong: Effect) -> Verdict {
    match strong {
        Effect::Deny | Effect::Permit => Verdict::Suspend,
        Effect::Suspend => Verdict::Deny,
    }
}

fn by_unanimity(before: Vote, next: Vote) -> Vote {
    match (error(before.verdict), error(next.verdict)) {
        (None, None) if before.verdict == next.verdict => merged(before, next),
        (None, None) => disagreed(before, next, "the policies do not agree on an effect"),
        (Some(_), _) | (_, Some(_)) => failed(before, next),
    }
}

fn by_identity(before: Vote, next: Vote) -> Vote {
    match (error(before.verdict), error(next.verdict)) {
        (None, None) if are_identical(&before, &next) => before,
        (None, None) => disagreed(before, next, "the policies do not say the very same"),
        (Some(_), _) | (_, Some(_)) => failed(before, next),
    }
}

fn by_uniqueness(before: Vote, next: Vote) -> Vote {
    match (error(before.verdict), error(next.verdict)) {
        (None, None) => disagreed(before, next, "more than one policy applies"),
        (Some(_), _) => before,
        (None, Some(_)) => next,
    }
}

/// Both said the same: first the duties of one, then those of the other. Two different resources are one too many.
fn merged(mut before: Vote, next: Vote) -> Vote {
    if let (Some(one), Some(other)) = (resource(&before), resource(&next))
        && !one.equals(other)
    {
        return disagreed(before, next, "policies transform the resource in different ways");
    }
    append(&mut before.duties, next.duties);
    before
}

fn resource(vote: &Vote) -> Option<&crate::Value> {
    vote.duties.as_ref()?.resource.as_ref()
}

fn are_identical(one: &Vote, other: &Vote) -> bool {
    let nothing = Duties::default();
    let duties = one.duties.as_deref().unwrap_or(&nothing);
    one.verdict == other.verdict && duties.equals(other.duties.as_deref().unwrap_or(&nothing))
}

/// At least one has failed; its error stays, the first of two.
fn failed(before: Vote, next: Vote) -> Vote {
    let effects = effects(before.verdict).union(effects(next.verdict));
    let fault = before.fault.or(next.fault).unwrap_or_else(|| Fault::processing("evaluation failed"));
    Vote::indeterminate(effects, fault)
}

#[cold]
fn disagreed(before: Vote, next: Vote, message: &str) -> Vote {
    Vote::indeterminate(effects(before.verdict).union(effects(next.verdict)), Fault::processing(message))
}

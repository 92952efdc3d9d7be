//! SAPL's algorithms over all ballots, one after the other: where errors, abstentions or what goes along with votes matter.
//!
//! What a count has come to is a state, and for every state there is a formula: the rows of which the count has come to it.
//! Each step asks the count itself ([`Tally`]). The order is that of `combine/ballots.rs`.

use durward_ir::combine::{Algorithm, Effects, Mode, Tally, Verdict, Vote, Voting};
use durward_ir::program::{Node, NodeId, Rule, Set};

use super::classes::vote;
use super::{Ballot, Collected, Outcome, Tag, Votes};
use crate::formula::F;
use crate::interval::{Interval, Truth};

/// So many pairs of states and casts are compared in one step.
const PAIRS_PER_STEP: usize = 16;

/// What is known of a child before it votes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Applies,
    Undecided,
}

/// What a child does.
#[derive(Clone, Copy)]
struct Cast {
    outcome: Outcome,
    /// `None` where it does not apply.
    standing: Option<Standing>,
    interval: Interval,
}

/// What a count has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    outcome: Outcome,
    /// Whether those that follow are only taken for what they could have said.
    is_widening: bool,
}

/// A state and a cast that are of the same rows, and what the count may come to then.
struct Pair {
    row: usize,
    column: usize,
    here: Interval,
    after: Vec<State>,
}

/// What the count comes to in all of these, if that is one and certain.
fn only_state<'p>(pairs: impl Iterator<Item = &'p Pair>) -> Option<State> {
    let mut found = None;
    for pair in pairs {
        let [state] = pair.after.as_slice() else { return None };
        if *found.get_or_insert(*state) != *state {
            return None;
        }
    }
    found
}

/// The states of a count with the rows of each.
type States = Vec<(State, Interval)>;

impl Ballot<'_> {
    /// What the votes of all children come to.
    pub(super) fn counted(&mut self, voting: Voting, set: &Set, children: &[Votes]) -> Collected {
        let constants = set.voters.constants as usize;
        let mut states: States = vec![(
            State { outcome: Outcome::plain(Verdict::NotApplicable), is_widening: false },
            Interval::TRUE,
        )];
        for child in children.iter().take(constants) {
            let casts = child.iter().map(|(outcome, interval)| Cast {
                outcome,
                standing: Some(Standing::Applies),
                interval,
            });
            states = self.step(states, &casts.collect::<Vec<_>>(), |ballot, state, cast| {
                match is_final(voting, state.outcome) {
                    true => vec![state],
                    false => ballot.added(voting, state, cast.outcome),
                }
            });
        }
        let mut voters = Vec::new();
        for (child, votes) in set.children.iter().zip(children).skip(constants) {
            let effects = self.folding.program.effects(*child);
            voters.push((effects, self.casts(*child, votes)));
        }
        let states = match voting.mode {
            Mode::Priority(_) => {
                let states = self.by_priority(voting, states, &voters, Standing::Applies);
                self.by_priority(voting, states, &voters, Standing::Undecided)
            }
            Mode::First | Mode::Unanimous | Mode::UnanimousStrict | Mode::Unique => {
                self.by_agreement(voting, set, states, children, &voters)
            }
        };
        let mut votes = Collected::default();
        for (state, interval) in states {
            votes.add(Outcome { is_undecided: false, ..state.outcome }, interval);
        }
        votes
    }

    fn by_priority(
        &mut self,
        voting: Voting,
        mut states: States,
        voters: &[(Effects, Vec<Cast>)],
        standing: Standing,
    ) -> States {
        for (effects, casts) in voters {
            states = self.step(states, casts, |ballot, state, cast| {
                if cast.standing != Some(standing) {
                    return vec![state];
                }
                match cast.outcome.verdict {
                    Verdict::NotApplicable => vec![abstained(voting, state, *effects)],
                    Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::Indeterminate(_) => {
                        ballot.added(voting, state, cast.outcome)
                    }
                }
            });
        }
        states
    }

    fn by_agreement(
        &mut self,
        voting: Voting,
        set: &Set,
        mut states: States,
        children: &[Votes],
        voters: &[(Effects, Vec<Cast>)],
    ) -> States {
        if set.voters.are_all_constant {
            let mut effects = Effects::NONE;
            for (child, votes) in set.children.iter().zip(children).take(set.voters.constants as usize) {
                if votes.silent() != Interval::TRUE {
                    effects = effects.union(self.folding.program.effects(*child));
                }
            }
            states = self.step(states, &[Cast::nothing()], |_, state, _| vec![widened(state, effects)]);
        }
        for (_, casts) in voters {
            states = self.step(states, casts, |ballot, state, cast| {
                match cast.standing == Some(Standing::Undecided) {
                    true => ballot.added(voting, state, cast.outcome),
                    false => vec![state],
                }
            });
        }
        for (effects, casts) in voters {
            states = self.step(states, casts, |ballot, state, cast| {
                if cast.standing != Some(Standing::Applies) {
                    return vec![state];
                }
                if state.is_widening {
                    return vec![widened(state, *effects)];
                }
                let mut after = ballot.added(voting, state, cast.outcome);
                for state in &mut after {
                    state.is_widening = is_final(voting, state.outcome);
                }
                after
            });
        }
        states
    }

    /// What a child does of which rows.
    fn casts(&mut self, child: NodeId, votes: &Votes) -> Vec<Cast> {
        let mut casts = Vec::new();
        for (outcome, interval) in votes.iter() {
            let standing = match outcome.verdict {
                Verdict::Indeterminate(_) if outcome.is_undecided => Standing::Undecided,
                Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::Indeterminate(_) => {
                    Standing::Applies
                }
                Verdict::NotApplicable => {
                    let applies = self.applies(child);
                    for (standing, when) in [
                        (Some(Standing::Applies), applies.yes),
                        (None, applies.no),
                        (Some(Standing::Undecided), applies.error),
                    ] {
                        let interval = self.both(interval, when);
                        if !interval.is_never() {
                            casts.push(Cast { outcome, standing, interval });
                        }
                    }
                    continue;
                }
            };
            casts.push(Cast { outcome, standing: Some(standing), interval });
        }
        casts
    }

    /// Whether a child that has nothing to say applies all the same.
    fn applies(&mut self, child: NodeId) -> Truth {
        let program = self.folding.program;
        match program.node(child) {
            Node::Set(set) if matches!(set.algorithm, Algorithm::Voting(_)) => self.target(child),
            Node::Rule(Rule { gate: Some(gate), .. }) => self.folding.truth(*gate),
            Node::Set(_) | Node::Rule(_) => Truth::constant(false),
        }
    }

    /// One ballot more. Where there are several states afterwards, it may be any of them.
    fn step(
        &mut self,
        states: States,
        casts: &[Cast],
        mut after: impl FnMut(&mut Self, State, &Cast) -> Vec<State>,
    ) -> States {
        let mut pairs = Vec::new();
        for (row, (state, before)) in states.iter().enumerate() {
            for (column, cast) in casts.iter().enumerate() {
                let here = self.both(*before, cast.interval);
                if !here.is_never() {
                    pairs.push(Pair { row, column, here, after: after(self, *state, cast) });
                }
            }
        }
        let compared = (states.len() + casts.len()).saturating_mul(pairs.len());
        self.folding.formulas.budget.spend_each(compared / PAIRS_PER_STEP);
        // A state that is left for the same one whatever is cast, and a cast that leads to the same one whatever there was
        // before: most do, and the formula stays short.
        let rows: Vec<Option<State>> =
            (0..states.len()).map(|row| only_state(pairs.iter().filter(|pair| pair.row == row))).collect();
        let columns: Vec<Option<State>> = (0..casts.len())
            .map(|column| only_state(pairs.iter().filter(|pair| pair.column == column)))
            .collect();
        let mut next: Vec<(State, Vec<Interval>)> = Vec::new();
        let mut add = |state: State, here: Interval| match next.iter_mut().find(|(other, _)| *other == state)
        {
            Some((_, parts)) => parts.push(here),
            None => next.push((state, vec![here])),
        };
        for ((_, before), only) in states.iter().zip(&rows) {
            only.iter().for_each(|state| add(*state, *before));
        }
        for (cast, only) in casts.iter().zip(&columns) {
            only.iter().for_each(|state| add(*state, cast.interval));
        }
        let is_said = |all: &[Option<State>], at: usize| all.get(at).is_some_and(Option::is_some);
        for Pair { row, column, here, after } in pairs {
            if is_said(&rows, row) || is_said(&columns, column) {
                continue;
            }
            let is_certain = after.len() == 1;
            let here = if is_certain { here } else { Interval { must: F::FALSE, may: here.may } };
            after.into_iter().for_each(|state| add(state, here));
        }
        next.into_iter().map(|(state, parts)| (state, self.folding.formulas.some(&parts))).collect()
    }

    /// The count with one vote more.
    fn added(&mut self, voting: Voting, state: State, next: Outcome) -> Vec<State> {
        let before = state.outcome;
        let of = |outcome: Outcome| State { outcome: Outcome { is_undecided: false, ..outcome }, ..state };
        if next.verdict == Verdict::NotApplicable {
            return vec![state];
        }
        if before.verdict == Verdict::NotApplicable {
            return vec![of(next)];
        }
        let varies = before.tag.varies() || next.tag.varies();
        if varies && before.verdict == next.verdict && !matches!(before.verdict, Verdict::Indeterminate(_)) {
            return self.added_varying(voting, before, next).into_iter().map(of).collect();
        }
        let mut tally = Tally::new(voting);
        tally.add(self.vote_of(before));
        tally.add(self.vote_of(next));
        let verdict = tally.vote().verdict;
        let tag = match (verdict == before.verdict, verdict == next.verdict) {
            (true, true) => match voting.mode {
                Mode::First | Mode::Unique | Mode::UnanimousStrict => before.tag,
                Mode::Priority(_) | Mode::Unanimous => self.tags.appended(before.tag, next.tag),
            },
            (true, false) => before.tag,
            (false, true) => next.tag,
            (false, false) => Tag::NONE,
        };
        // Nothing goes along with an error.
        let tag = if super::effect_of(verdict).is_some() { tag } else { Tag::NONE };
        vec![of(Outcome { tag, ..Outcome::plain(verdict) })]
    }

    /// Both say the same, and what goes along with one of them depends on the row.
    fn added_varying(&mut self, voting: Voting, before: Outcome, next: Outcome) -> Vec<Outcome> {
        let effects = super::effect_of(before.verdict).map_or(Effects::NONE, Effects::only);
        let failed = Outcome::plain(Verdict::Indeterminate(effects));
        match voting.mode {
            Mode::First => vec![before],
            Mode::Unique => vec![failed],
            Mode::UnanimousStrict => vec![before, failed],
            Mode::Priority(_) | Mode::Unanimous => {
                let merged = Outcome { tag: self.tags.appended(before.tag, next.tag), ..before };
                let may_differ = self.tags.has_resource(before.tag) && self.tags.has_resource(next.tag);
                if may_differ { vec![merged, failed] } else { vec![merged] }
            }
        }
    }

    fn vote_of(&self, outcome: Outcome) -> Vote {
        let duties = self.tags.duties(outcome.tag).filter(|duties| !duties.is_empty());
        Vote { duties: duties.map(Box::new), ..vote(outcome.verdict) }
    }
}

impl Cast {
    /// Nothing is cast, of all rows.
    fn nothing() -> Cast {
        Cast { outcome: Outcome::plain(Verdict::NotApplicable), standing: None, interval: Interval::TRUE }
    }
}

fn tally_of(voting: Voting, outcome: Outcome) -> Tally {
    let mut tally = Tally::new(voting);
    tally.add(vote(outcome.verdict));
    tally
}

fn is_final(voting: Voting, outcome: Outcome) -> bool {
    tally_of(voting, outcome).is_final()
}

fn abstained(voting: Voting, state: State, effects: Effects) -> State {
    let mut tally = tally_of(voting, state.outcome);
    tally.abstain(effects);
    let verdict = tally.vote().verdict;
    match verdict == state.outcome.verdict {
        true => state,
        false => State { outcome: Outcome::plain(verdict), ..state },
    }
}

fn widened(state: State, effects: Effects) -> State {
    match state.outcome.verdict {
        Verdict::Indeterminate(errors) => {
            State { outcome: Outcome::plain(Verdict::Indeterminate(errors.union(effects))), ..state }
        }
        Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::NotApplicable => state,
    }
}

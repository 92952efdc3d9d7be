//! Elements into formulas: for every vote there may be, the rows of which it is the vote.
//!
//! [`Votes`] of an element exclude each other, and of every row one of them is the element's. How votes are combined is
//! asked of the very folds that decisions are made with: `classes` asks them about sets of votes, where the order does not
//! matter, and `voting` about one vote after the other.

mod chosen;
mod classes;
mod tags;
mod voting;

use durward_ir::combine::{Algorithm, Effects, Mode, Verdict};
use durward_ir::program::{Effect, ExprId, Node, NodeId, Program, Rule, Set, SetKind};
use durward_ir::question::Question;
use durward_ir::value::Value;

use crate::columns::Columns;
use crate::interval::{Interval, Truth};
use crate::lower::{DutyCase, Folding};
pub(crate) use tags::{Tag, Tags};

/// What an element may say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    /// Whether an error keeps it from telling whether it applies.
    pub(crate) is_undecided: bool,
    /// What goes along with it.
    pub(crate) tag: Tag,
}

impl Outcome {
    pub(crate) fn plain(verdict: Verdict) -> Outcome {
        Outcome { verdict, is_undecided: false, tag: Tag::NONE }
    }

    fn undecided(effects: Effects) -> Outcome {
        Outcome { is_undecided: true, ..Outcome::plain(Verdict::Indeterminate(effects)) }
    }
}

/// What looking at an element costs beside its expressions and formulas.
const ELEMENT_STEPS: u64 = 20;

/// What an element says of which rows. What is not here it never says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Votes(Vec<(Outcome, Interval)>);

impl Votes {
    fn never() -> Votes {
        Votes(vec![(Outcome::plain(Verdict::NotApplicable), Interval::TRUE)])
    }

    /// All that it may say.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Outcome, Interval)> {
        self.0.iter().copied()
    }

    /// When it says nothing.
    fn silent(&self) -> Interval {
        let found = self.iter().find(|(outcome, _)| outcome.verdict == Verdict::NotApplicable);
        found.map_or(Interval::FALSE, |(_, interval)| interval)
    }

    fn of(&self, verdict: Verdict) -> impl Iterator<Item = (Outcome, Interval)> {
        self.iter().filter(move |(outcome, _)| outcome.verdict == verdict)
    }
}

/// Lowers elements.
pub(crate) struct Ballot<'a> {
    pub(crate) folding: Folding<'a>,
    pub(crate) tags: Tags,
}

impl<'a> Ballot<'a> {
    pub(crate) fn new(
        program: &'a Program,
        question: &'a Question<'a>,
        columns: &'a Columns,
        fixed: &Value,
    ) -> Ballot<'a> {
        let folding = Folding::new(program, question, columns, fixed);
        let tags = Tags::new(folding.formulas.budget.clone());
        Ballot { folding, tags }
    }

    /// Whether the plan took more steps than it may: then nothing that was made is of any use.
    pub(crate) fn is_spent(&self) -> bool {
        self.folding.formulas.budget.is_spent()
    }

    /// What one element says.
    pub(crate) fn votes(&mut self, id: NodeId) -> Votes {
        let target = self.target(id);
        self.votes_of(id, target)
    }

    fn target(&mut self, id: NodeId) -> Truth {
        match self.folding.program.node(id).target() {
            Some(target) => self.folding.truth(target),
            None => Truth::constant(true),
        }
    }

    /// The same, where the truth of its target is this.
    fn votes_of(&mut self, id: NodeId, target: Truth) -> Votes {
        if target.yes.is_never() && target.error.is_never() {
            return Votes::never();
        }
        let program = self.folding.program;
        if !self.folding.formulas.budget.spend(ELEMENT_STEPS) {
            return Votes::never();
        }
        match program.node(id) {
            Node::Rule(rule) => self.rule(rule, target),
            Node::Set(set) => self.set(set, target),
        }
    }

    /// Section 7.11, table 4.
    fn rule(&mut self, rule: &Rule, target: Truth) -> Votes {
        let condition = match rule.condition {
            Some(condition) => self.folding.truth(condition),
            None => Truth::constant(true),
        };
        let effects = Effects::only(rule.effect);
        let mut votes = Collected::default();
        let silent = [target.no, self.both(target.yes, condition.no)];
        let silent = self.folding.formulas.some(&silent);
        votes.add(Outcome::plain(Verdict::NotApplicable), silent);
        votes.add(Outcome::undecided(effects), target.error);
        let failed = self.both(target.yes, condition.error);
        self.failed_condition(rule, failed, &mut votes);
        let applies = self.both(target.yes, condition.yes);
        let outcome = Outcome::plain(rule.effect.into());
        self.with_duties(outcome, applies, rule.effect, &rule.duties, rule.transform, &mut votes);
        self.collected(votes)
    }

    fn failed_condition(&mut self, rule: &Rule, failed: Interval, votes: &mut Collected) {
        if failed.is_never() {
            return;
        }
        let effects = Effects::only(rule.effect);
        let decided = Outcome::plain(Verdict::Indeterminate(effects));
        match (rule.gate, rule.condition) {
            (Some(gate), _) => {
                let gate = self.folding.truth(gate);
                let undecided = self.both(failed, gate.error);
                let known = self.both(failed, gate.error.negated());
                votes.add(Outcome::undecided(effects), undecided);
                votes.add(decided, known);
            }
            (None, condition) => {
                let is_failed = condition.is_some_and(|condition| self.is_failed(condition));
                let is_undecided = rule.target.is_some() || !is_failed;
                votes.add(Outcome { is_undecided, ..decided }, failed);
            }
        }
    }

    fn is_failed(&self, condition: ExprId) -> bool {
        matches!(self.folding.program.expr(condition), durward_ir::program::Expr::Failed(_))
    }

    /// Section 7.18: the effect with what goes along with it, where `applies`.
    fn with_duties(
        &mut self,
        outcome: Outcome,
        applies: Interval,
        effect: Effect,
        duties: &[durward_ir::program::DutyExpr],
        transform: Option<ExprId>,
        votes: &mut Collected,
    ) {
        if applies.is_never() {
            return;
        }
        let has_any = transform.is_some() || duties.iter().any(|duty| duty.on == effect);
        if !has_any {
            return votes.add(outcome, applies);
        }
        let failed = Outcome::plain(Verdict::Indeterminate(Effects::only(effect)));
        for (guard, case) in self.folding.duties(effect, duties, transform) {
            let here = self.both(applies, Interval::exact(guard));
            match case {
                DutyCase::Failed => votes.add(failed, here),
                DutyCase::Known(own) => {
                    let own = self.tags.of(&own);
                    votes.add(Outcome { tag: self.tags.appended(outcome.tag, own), ..outcome }, here);
                }
                DutyCase::Varies { may_fail, has_resource } => {
                    let tag = self.tags.appended(outcome.tag, Tag::varying(has_resource));
                    let outcome = Outcome { tag, ..outcome };
                    if may_fail {
                        let maybe = Interval { must: crate::formula::F::FALSE, may: here.may };
                        votes.add(failed, maybe);
                        votes.add(outcome, maybe);
                    } else {
                        votes.add(outcome, here);
                    }
                }
            }
        }
    }

    /// Sections 7.12 and 7.13, tables 5 to 7.
    fn set(&mut self, set: &Set, target: Truth) -> Votes {
        let combined = self.combined(set);
        let mut votes = Collected::default();
        votes.add(Outcome::plain(Verdict::NotApplicable), target.no);
        for (outcome, interval) in combined.iter() {
            let here = self.both(target.yes, interval);
            match effect_of(outcome.verdict) {
                Some(effect) => self.with_duties(outcome, here, effect, &set.duties, None, &mut votes),
                None => votes.add(outcome, here),
            }
        }
        if target.error.is_never() {
            return self.collected(votes);
        }
        if matches!(set.algorithm, Algorithm::Voting(_)) {
            votes.add(Outcome::undecided(set.effects), target.error);
            return self.collected(votes);
        }
        // Section 7.14, table 7.
        for (outcome, interval) in combined.iter() {
            let here = self.both(target.error, interval);
            let verdict = match outcome.verdict {
                Verdict::NotApplicable => Verdict::NotApplicable,
                Verdict::Permit => Verdict::Indeterminate(Effects::PERMIT),
                Verdict::Deny => Verdict::Indeterminate(Effects::DENY),
                Verdict::Suspend => Verdict::Indeterminate(Effects::SUSPEND),
                Verdict::Indeterminate(effects) => Verdict::Indeterminate(effects),
            };
            votes.add(Outcome::plain(verdict), here);
        }
        self.collected(votes)
    }

    fn combined(&mut self, set: &Set) -> Votes {
        let looks_at_order =
            matches!(set.algorithm, Algorithm::Voting(voting) if voting.mode == Mode::UnanimousStrict);
        if !looks_at_order {
            return self.combined_votes(set);
        }
        self.tags.enter_order();
        let votes = self.combined_votes(set);
        self.tags.leave_order();
        let mut once = Collected::default();
        for (outcome, interval) in votes.iter() {
            once.add(Outcome { tag: self.tags.each_once(outcome.tag), ..outcome }, interval);
        }
        self.collected(once)
    }

    fn combined_votes(&mut self, set: &Set) -> Votes {
        let algorithm = set.algorithm;
        if algorithm == Algorithm::OnlyOneApplicable {
            return self.only_one_applicable(&set.children);
        }
        if algorithm == Algorithm::OnPermitApplySecond {
            return self.on_permit_apply_second(&set.children);
        }
        let children: Vec<Votes> = set.children.iter().map(|child| self.votes(*child)).collect();
        match algorithm {
            Algorithm::FirstApplicable => {
                let first = self.first_vote(&children, |_, _| Effects::DENY_OR_PERMIT);
                self.collected(first)
            }
            Algorithm::Voting(voting) if voting.mode == Mode::First => {
                let behind = |at: usize, effects: Effects| {
                    effects.union(set.voters.behind.get(at).copied().unwrap_or(Effects::ALL))
                };
                let first = self.first_vote(&children, behind);
                self.finished(voting, first)
            }
            Algorithm::Voting(voting) => {
                let is_asked = set.kind != SetKind::Root
                    && voting.errors == durward_ir::combine::ErrorHandling::Propagate;
                // With priority, only errors make errors.
                let may_fail = fails(&children) || !matches!(voting.mode, Mode::Priority(_));
                let is_told = is_asked && may_fail;
                if !is_told && self.is_simple(voting, set, &children) {
                    let counted = self.by_classes_of_voting(voting, &children);
                    return self.finished(voting, counted);
                }
                let counted = self.counted(voting, set, &children);
                self.finished(voting, counted)
            }
            Algorithm::DenyOverrides
            | Algorithm::PermitOverrides
            | Algorithm::DenyUnlessPermit
            | Algorithm::PermitUnlessDeny
            | Algorithm::OnlyOneApplicable
            | Algorithm::OnPermitApplySecond
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides => {
                let combined = self.by_classes(algorithm, &children);
                self.collected(combined)
            }
        }
    }

    pub(crate) fn both(&mut self, a: Interval, b: Interval) -> Interval {
        self.folding.formulas.every(&[a, b])
    }

    /// What was collected, each outcome once.
    fn collected(&mut self, collected: Collected) -> Votes {
        let mut votes = Vec::with_capacity(collected.0.len());
        for (outcome, parts) in collected.0 {
            let interval = self.folding.formulas.some(&parts);
            if !interval.is_never() {
                votes.push((outcome, interval));
            }
        }
        Votes(votes)
    }
}

/// Votes under way: where each holds, in parts.
#[derive(Clone, Debug, Default)]
struct Collected(Vec<(Outcome, Vec<Interval>)>);

impl Collected {
    fn add(&mut self, outcome: Outcome, interval: Interval) {
        if interval.is_never() {
            return;
        }
        match self.0.iter_mut().find(|(other, _)| *other == outcome) {
            Some((_, parts)) => parts.push(interval),
            None => self.0.push((outcome, vec![interval])),
        }
    }
}

/// Whether any vote may be an error.
fn fails(children: &[Votes]) -> bool {
    let mut outcomes = children.iter().flat_map(Votes::iter).map(|(outcome, _)| outcome);
    outcomes.any(|outcome| matches!(outcome.verdict, Verdict::Indeterminate(_)))
}

/// The effect of a vote that has one.
fn effect_of(verdict: Verdict) -> Option<Effect> {
    match verdict {
        Verdict::Permit => Some(Effect::Permit),
        Verdict::Deny => Some(Effect::Deny),
        Verdict::Suspend => Some(Effect::Suspend),
        Verdict::NotApplicable | Verdict::Indeterminate(_) => None,
    }
}

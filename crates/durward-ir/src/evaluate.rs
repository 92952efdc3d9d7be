//! The plain evaluator: what a program answers to a question, as XACML 3.0 section 7 says it, step by step.
//!
//! This is the truth that every index is held to. An index takes part through [`Shortlist`]: it may leave out
//! children that certainly do not apply and answer targets it is certain of; [`Everything`] leaves out nothing.

mod expression;
mod memory;
mod structured;
mod unknown;
mod voting;

pub use memory::Memory;
pub(crate) use memory::Remembering;
pub(crate) use structured::Reckoner;
pub use structured::operate;

use std::cell::{Cell, RefCell};

use crate::combine::{
    Algorithm, Assignment, Combiner, Duties, Duty, Effects, Flow, NamedDuty, Verdict, Vote, append,
};
use crate::fault::{Evaluated, Fault};
use crate::program::{
    AssignmentExpr, DutyBody, DutyExpr, DutyKind, Effect, ExprId, Node, NodeId, Program, Rule, Set, SetKind,
};
use crate::question::Question;
use crate::value::{Operand, Value, note_writing, take_walked};

/// How much work one decision may do, in applications of functions to values inside higher-order functions and
/// bag comparisons. Far above any real policy; keeps `any-of-any` over two bags of 10,000 values from stopping
/// the service. A decision that spends them is Indeterminate as a whole, whatever the combining algorithms would make
/// of an error: under permit-unless-deny an error permits, and nobody may buy a Permit with a long request.
pub const STEPS_MAX: u64 = 5_000_000;

/// Walking over so many values inside of others, to compare or to weigh them, takes as long as one step.
const WALKED_PER_STEP: u64 = 16;

/// The steps that this thread has spent, since this was last asked for, on walking over values.
fn walked_steps() -> u64 {
    take_walked() / WALKED_PER_STEP
}

/// Forgets what this thread has walked over so far, so that it is not counted on what is evaluated next.
pub fn forget_walked() {
    take_walked();
}

/// What an index knows about a target without evaluating it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetMatch {
    /// It matches.
    Match,
    /// It does not match.
    NoMatch,
    /// It must be evaluated.
    Unsure,
}

/// What an index does for the evaluator. Must be exact where it is certain: with or without it every decision,
/// every duty and their order are the same.
pub trait Shortlist {
    /// Shows the children of `set` that may be anything but NotApplicable, in document order, until told to stop;
    /// each with what is already known about its target. Of [`Algorithm::OnlyOneApplicable`], which looks at
    /// targets alone, only children whose own target certainly does not match may be left out. Not asked for
    /// [`Algorithm::OnPermitApplySecond`], which counts its children.
    ///
    /// Where policies need not be listed, a child whose target matches may be replaced by its own children, if
    /// their votes, one by one in its place, come to the same; and what follows a child that certainly decides may
    /// be left out.
    fn children(
        &self,
        id: NodeId,
        set: &Set,
        question: &Question<'_>,
        list: ListPolicies,
        show: impl FnMut(NodeId, TargetMatch) -> Flow,
    );

    /// What is known about the target of an element.
    fn target(&self, id: NodeId, question: &Question<'_>) -> TargetMatch;
}

/// The index that leaves out nothing and knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Shortlist for Everything {
    #[inline]
    fn children(
        &self,
        _: NodeId,
        set: &Set,
        _: &Question<'_>,
        _: ListPolicies,
        mut show: impl FnMut(NodeId, TargetMatch) -> Flow,
    ) {
        for child in &set.children {
            if show(*child, TargetMatch::Unsure) == Flow::Stop {
                break;
            }
        }
    }

    fn target(&self, _: NodeId, _: &Question<'_>) -> TargetMatch {
        TargetMatch::Unsure
    }
}

/// Watches an evaluation, for explanations. All methods do nothing unless overridden.
pub trait Trace {
    /// Whether it wants to see every element, even those that only pass on what another says.
    const IS_WATCHING: bool = true;
    /// An element is about to be evaluated.
    fn enter(&self, _: NodeId) {}
    /// The target of an element was evaluated.
    fn target(&self, _: NodeId, _: &Evaluated<bool>, _: &Question<'_>) {}
    /// The condition of a rule was evaluated.
    fn condition(&self, _: NodeId, _: &Evaluated<bool>, _: &Question<'_>) {}
    /// An element has voted.
    fn leave(&self, _: NodeId, _: &Vote) {}
    /// The decision was made; it stands only if [`Question::needs`] is empty.
    fn decided(&self, _: &Vote, _: &Question<'_>) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Trace for Unwatched {
    const IS_WATCHING: bool = false;
}

/// One evaluation of one question.
#[derive(Debug)]
pub struct Evaluator<'a, S, T> {
    program: &'a Program,
    question: &'a Question<'a>,
    shortlist: &'a S,
    trace: &'a T,
    steps: Cell<u64>,
    steps_max: u64,
    applicable: Option<RefCell<Vec<NodeId>>>,
    remembering: Option<Remembering<'a>>,
}

/// Whether the policies that applied are to be listed in the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListPolicies {
    /// Collect them.
    Yes,
    /// Do not spend time on it.
    No,
}

impl<'a, S: Shortlist, T: Trace> Evaluator<'a, S, T> {
    /// An evaluation of `question`, which must have been encoded for `program`.
    #[inline]
    pub fn new(
        program: &'a Program,
        question: &'a Question<'a>,
        shortlist: &'a S,
        trace: &'a T,
        list: ListPolicies,
    ) -> Evaluator<'a, S, T> {
        let applicable = match list {
            ListPolicies::Yes => Some(RefCell::default()),
            ListPolicies::No => None,
        };
        Evaluator {
            program,
            question,
            shortlist,
            trace,
            steps: Cell::new(0),
            steps_max: STEPS_MAX,
            applicable,
            remembering: None,
        }
    }

    /// The same, not evaluating again what several policies share. No answer depends on it.
    #[must_use]
    #[inline]
    pub fn remembering(mut self, memory: &'a Memory<'a>) -> Evaluator<'a, S, T> {
        if self.program.has_shared() {
            self.remembering = Some(Remembering { program: self.program, memory });
        }
        self
    }

    /// The same, with no more than this many steps: what is left to a request that asks for several decisions.
    #[must_use]
    pub fn within(mut self, steps_max: u64) -> Evaluator<'a, S, T> {
        self.steps_max = steps_max.min(STEPS_MAX);
        self
    }

    /// The steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// What the whole program says. Stands only if [`Question::needs`] is empty afterwards. Indeterminate where a
    /// budget was spent on the way: see [`STEPS_MAX`].
    #[inline]
    pub fn decide(&self) -> Vote {
        // What was walked over before is not this decision's.
        take_walked();
        let start = if T::IS_WATCHING { self.program.root() } else { self.program.entry() };
        let vote = self.vote(start, TargetMatch::Unsure);
        self.trace.decided(&vote, self.question);
        if self.is_spent() {
            return Vote::indeterminate(Effects::DENY_OR_PERMIT, too_many_steps(self.steps_max));
        }
        if self.question.surroundings().is_spent() {
            return match vote.verdict {
                Verdict::Indeterminate(_) => vote,
                Verdict::Permit | Verdict::Deny | Verdict::Suspend | Verdict::NotApplicable => {
                    let fault = Fault::processing(
                        "the request takes too many steps over its content, or too many decisions within",
                    );
                    Vote::indeterminate(Effects::DENY_OR_PERMIT, fault)
                }
            };
        }
        vote
    }

    #[inline]
    fn list(&self) -> ListPolicies {
        if self.applicable.is_some() { ListPolicies::Yes } else { ListPolicies::No }
    }

    /// The policies and policy sets that applied and decided, children before parents; empty unless asked for.
    pub fn into_applicable(self) -> Vec<NodeId> {
        self.applicable.map(RefCell::into_inner).unwrap_or_default()
    }

    /// What one element says, given what is known about its target.
    fn vote(&self, id: NodeId, known: TargetMatch) -> Vote {
        self.trace.enter(id);
        let vote = match self.program.node(id) {
            Node::Rule(rule) => self.rule(id, rule, known),
            Node::Set(set) => self.set(id, set, known),
        };
        self.trace.leave(id, &vote);
        vote
    }

    /// Section 7.11, table 4.
    #[inline]
    fn rule(&self, id: NodeId, rule: &Rule, known: TargetMatch) -> Vote {
        match self.target(id, rule.target, known) {
            Ok(true) => {}
            Ok(false) => return Vote::not_applicable(),
            Err(fault) => return Vote::undecided(Effects::only(rule.effect), fault),
        }
        if let Some(condition) = rule.condition {
            let holds = self.truth(condition);
            self.trace.condition(id, &holds, self.question);
            match holds {
                Ok(true) => {}
                Ok(false) => return Vote::not_applicable(),
                Err(fault) => return self.failed_condition(rule, condition, fault),
            }
        }
        let vote = self.with_duties(Vote::plain(rule.effect.into()), rule.effect, &rule.duties);
        match rule.transform {
            Some(transform) if !matches!(vote.verdict, Verdict::Indeterminate(_)) => {
                self.with_resource(vote, rule.effect, transform)
            }
            Some(_) | None => vote,
        }
    }

    #[cold]
    fn failed_condition(&self, rule: &Rule, condition: ExprId, fault: Box<Fault>) -> Vote {
        let vote = Vote::undecided(Effects::only(rule.effect), fault);
        Vote { is_undecided: self.is_undecided(rule, condition), ..vote }
    }

    /// Sections 7.12 and 7.13, tables 5 to 7.
    #[inline]
    fn set(&self, id: NodeId, set: &Set, known: TargetMatch) -> Vote {
        let vote = match self.target(id, set.target, known) {
            Ok(false) => return Vote::not_applicable(),
            Ok(true) => self.combine(id, set),
            // SAPL: an error in the target of a set counts whatever its policies would say.
            Err(fault) if matches!(set.algorithm, Algorithm::Voting(_)) => {
                return Vote::undecided(set.effects, fault);
            }
            Err(fault) => return despite_target_error(self.combine(id, set).verdict, fault),
        };
        let vote = match vote.verdict {
            Verdict::Permit => self.with_duties(vote, Effect::Permit, &set.duties),
            Verdict::Deny => self.with_duties(vote, Effect::Deny, &set.duties),
            Verdict::Suspend => self.with_duties(vote, Effect::Suspend, &set.duties),
            Verdict::NotApplicable | Verdict::Indeterminate(_) => vote,
        };
        if let Some(applicable) = &self.applicable
            && set.kind != SetKind::Root
            && matches!(vote.verdict, Verdict::Permit | Verdict::Deny | Verdict::Suspend)
        {
            applicable.borrow_mut().push(id);
        }
        vote
    }

    #[inline]
    fn combine(&self, id: NodeId, set: &Set) -> Vote {
        match set.algorithm {
            Algorithm::FirstApplicable => return self.first_applicable(id, set),
            Algorithm::OnlyOneApplicable => return self.only_one_applicable(id, set),
            Algorithm::OnPermitApplySecond => return self.on_permit_apply_second(&set.children),
            Algorithm::Voting(voting) => return self.voting(id, set, voting),
            Algorithm::DenyOverrides
            | Algorithm::PermitOverrides
            | Algorithm::DenyUnlessPermit
            | Algorithm::PermitUnlessDeny
            | Algorithm::LegacyRuleDenyOverrides
            | Algorithm::LegacyPolicyDenyOverrides
            | Algorithm::LegacyRulePermitOverrides
            | Algorithm::LegacyPolicyPermitOverrides => {}
        }
        let mut combiner = Combiner::new(set.algorithm);
        self.shortlist.children(id, set, self.question, self.list(), |child, known| {
            combiner.add(self.vote(child, known))
        });
        combiner.finish()
    }

    /// C.8: the first child that has something to say decides.
    #[inline]
    fn first_applicable(&self, id: NodeId, set: &Set) -> Vote {
        let mut first = Vote::not_applicable();
        self.shortlist.children(id, set, self.question, self.list(), |child, known| {
            first = self.vote(child, known);
            if first.verdict == Verdict::NotApplicable { Flow::Continue } else { Flow::Stop }
        });
        first.without_effects()
    }

    /// C.9: exactly one child's target may match, and that child decides.
    fn only_one_applicable(&self, id: NodeId, set: &Set) -> Vote {
        let mut chosen = None;
        let mut failed = None;
        self.shortlist.children(id, set, self.question, self.list(), |child, known| {
            match self.target(child, self.program.node(child).target(), known) {
                Ok(false) => return Flow::Continue,
                Ok(true) if chosen.is_none() => {
                    chosen = Some(child);
                    return Flow::Continue;
                }
                Ok(true) => failed = Some(Fault::processing("more than one policy is applicable")),
                Err(fault) => failed = Some(fault),
            }
            Flow::Stop
        });
        if let Some(fault) = failed {
            return Vote::indeterminate(Effects::DENY_OR_PERMIT, fault);
        }
        match chosen {
            Some(child) => self.vote(child, TargetMatch::Match).without_effects(),
            None => Vote::not_applicable(),
        }
    }

    /// Additional Combining Algorithms profile 1.0: the first child asks, the second answers if it permits, the
    /// third (if any) if it does not. Where the first says what the answer says, its duties go along (7.18).
    fn on_permit_apply_second(&self, children: &[NodeId]) -> Vote {
        let (first, second, third) = match children {
            [first, second] => (first, second, None),
            [first, second, third] => (first, second, Some(third)),
            _ => {
                let fault = Fault::processing("`on-permit-apply-second` needs two or three policies");
                return Vote::indeterminate(Effects::DENY_OR_PERMIT, fault);
            }
        };
        let asked = self.vote(*first, TargetMatch::Unsure);
        let mut answer = match asked.verdict {
            Verdict::Permit => self.vote(*second, TargetMatch::Unsure),
            Verdict::Indeterminate(effects) if effects.contains(Effect::Permit) => {
                return Vote { verdict: Verdict::Indeterminate(Effects::DENY_OR_PERMIT), ..asked };
            }
            Verdict::Deny | Verdict::Suspend | Verdict::NotApplicable | Verdict::Indeterminate(_) => {
                third.map_or_else(Vote::not_applicable, |third| self.vote(*third, TargetMatch::Unsure))
            }
        };
        if asked.verdict == answer.verdict {
            let own = std::mem::replace(&mut answer.duties, asked.duties);
            append(&mut answer.duties, own);
        }
        answer
    }

    /// Section 7.7. An absent target matches.
    #[inline]
    fn target(&self, id: NodeId, target: Option<ExprId>, known: TargetMatch) -> Evaluated<bool> {
        let Some(target) = target else { return Ok(true) };
        let known =
            if known == TargetMatch::Unsure { self.shortlist.target(id, self.question) } else { known };
        let outcome = match known {
            TargetMatch::Match => Ok(true),
            TargetMatch::NoMatch => Ok(false),
            TargetMatch::Unsure => self.truth(target),
        };
        self.trace.target(id, &outcome, self.question);
        outcome
    }

    /// Section 7.18: evaluates the duties that go with the effect. An error in any of them makes the whole element
    /// Indeterminate; its effect is the only one it might have had.
    #[inline(always)]
    fn with_duties(&self, vote: Vote, effect: Effect, duties: &[DutyExpr]) -> Vote {
        if duties.is_empty() { vote } else { self.with_some_duties(vote, effect, duties) }
    }

    fn with_some_duties(&self, mut vote: Vote, effect: Effect, duties: &[DutyExpr]) -> Vote {
        match self.duties(effect, duties) {
            Ok(own) => {
                append(&mut vote.duties, own);
                vote
            }
            Err(fault) => Vote::indeterminate(Effects::only(effect), fault),
        }
    }

    /// SAPL: what is to stand for the resource. Undefined changes nothing.
    fn with_resource(&self, mut vote: Vote, effect: Effect, transform: ExprId) -> Vote {
        match self.plain(transform) {
            Ok(None) => vote,
            Ok(Some(resource)) => {
                vote.duties.get_or_insert_default().resource = Some(resource);
                vote
            }
            Err(fault) => Vote::indeterminate(Effects::only(effect), fault),
        }
    }

    fn duties(&self, effect: Effect, duties: &[DutyExpr]) -> Evaluated<Option<Box<Duties>>> {
        let mut evaluated = Duties::default();
        for duty in duties.iter().filter(|duty| duty.on == effect) {
            let Some(done) = self.duty(duty)? else { continue };
            match duty.kind {
                DutyKind::Obligation => evaluated.obligations.push(done),
                DutyKind::Advice => evaluated.advice.push(done),
            }
        }
        Ok((!evaluated.is_empty()).then(|| Box::new(evaluated)))
    }

    fn duty(&self, duty: &DutyExpr) -> Evaluated<Option<Duty>> {
        match &duty.body {
            DutyBody::Named { id, assignments } => {
                let assignments = self.assignments(assignments)?;
                Ok(Some(Duty::Named(NamedDuty { id: id.clone(), on: duty.on, assignments })))
            }
            DutyBody::Plain(value) => Ok(self.plain(*value)?.map(Duty::Plain)),
        }
    }

    fn assignments(&self, expressions: &[AssignmentExpr]) -> Evaluated<Vec<Assignment>> {
        let mut assignments = Vec::with_capacity(expressions.len());
        for expression in expressions {
            let mut assign = |value| {
                assignments.push(Assignment {
                    id: expression.id.clone(),
                    category: expression.category.clone(),
                    issuer: expression.issuer.clone(),
                    value,
                });
            };
            match self.operand(expression.value)? {
                Operand::One(value) => assign(value.into_owned()),
                Operand::Bag(values) => values.iter().cloned().for_each(assign),
            }
        }
        Ok(assignments)
    }

    /// A value, unless it is undefined.
    fn plain(&self, id: ExprId) -> Evaluated<Option<Value>> {
        let operand = self.operand(id)?;
        let value = operand.as_one()?;
        note_writing(value);
        self.step(0)?;
        Ok((!matches!(value, Value::Undefined)).then(|| value.clone()))
    }
}

fn too_many_steps(steps_max: u64) -> Box<Fault> {
    Fault::processing(match steps_max {
        STEPS_MAX => format!("the decision takes more than {STEPS_MAX} steps"),
        _ => "the decisions of this request take too many steps together".to_owned(),
    })
}

/// Section 7.14, table 7: what a set with an erroneous target says, given what it would have said.
fn despite_target_error(combined: Verdict, fault: Box<Fault>) -> Vote {
    let effects = match combined {
        Verdict::NotApplicable => return Vote::not_applicable(),
        Verdict::Permit => Effects::PERMIT,
        Verdict::Deny => Effects::DENY,
        Verdict::Suspend => Effects::SUSPEND,
        Verdict::Indeterminate(effects) => effects,
    };
    Vote::indeterminate(effects, fault)
}

//! Lowering: documents become elements of a program, or a list of what is wrong with them.
//!
//! Everything that does not depend on what is asked is computed here, once for all documents: constants, variables of
//! the configuration, functions of them. Variables of policies are put where they are used, so that one that fails and
//! is not used does no harm. A policy becomes a rule: what of its conditions can never fail becomes the target, which
//! indexes work with, and the rest the condition.

mod alone;
mod call;
mod dead;
mod expression;
mod memory;
mod necessary;
mod options;
mod outline;
mod pattern;
mod schema;
mod step;
mod votes;

use std::collections::{HashMap, HashSet};

use durward_ir::combine::{self, Algorithm, Effects, Voting};
use durward_ir::program::{
    Builder, DutyBody, DutyExpr, DutyKind, Effect, ExprId, Facts, Junction, Node, NodeId, Rule, Set, SetKind,
    SourceLocation, Written, WrittenCondition,
};
use durward_ir::value::Value;
use foldhash::fast::RandomState;
use smol_str::SmolStr;

use crate::configuration::Configuration;
use crate::document::{Document, Problem};
use crate::syntax::tree::{self, Expr, Policy, PolicySet, Root, Statement, Variable};
use crate::syntax::{Diagnostic, Span};
pub use alone::lower_parts;
pub use call::no_function;
use memory::{Memory, Variables};
pub use outline::Outline;
use outline::Rehearsal;
use votes::{Before, Members};
pub use votes::{Lowered, Stratum, in_order};

/// How deep expressions may nest once variables are put in their places: the recursion of the evaluator, on a thread
/// with 2 MiB of stack.
pub const NESTING_MAX: u32 = 400;

/// How many expressions one policy may have once variables are substituted. They are shared in memory, but a decision
/// walks them again each time: without a bound, thirty variables of `x + x` each would take hours.
pub const EXPRESSIONS_MAX: u64 = 1_000_000;

/// Lowers documents into the program being built, and gives their elements: first those that say the same whatever is
/// asked, then the others, each in the order of the documents. That is the order in which they vote.
///
/// # Errors
/// Every problem found, each with its place. Nothing of documents with problems is ever put in force.
pub fn lower(
    documents: &[Document],
    configuration: &Configuration,
    builder: &mut Builder,
) -> Result<Vec<NodeId>, Vec<Problem>> {
    Ok(in_order(&lower_each(documents, configuration, builder)?).collect())
}

/// The same, document by document; `None` for one that can never apply. That no other document has the same name is only
/// known among these.
///
/// # Errors
/// Those of [`lower()`].
pub fn lower_each(
    documents: &[Document],
    configuration: &Configuration,
    builder: &mut Builder,
) -> Result<Vec<Option<Lowered>>, Vec<Problem>> {
    lower_all(documents, configuration, builder, None)
}

/// The same for a test of policies: functions with these full names are not called, but whoever asks the question is
/// asked for what they give ([`durward_ir::question::Attributes::stand_in`]). Gives besides what each policy and set
/// became, in the order of the documents; a set comes before its policies.
///
/// # Errors
/// Those of [`lower()`].
pub fn lower_for_tests(
    documents: &[Document],
    configuration: &Configuration,
    builder: &mut Builder,
    stand_ins: &HashSet<SmolStr>,
) -> Result<(Vec<NodeId>, Vec<Outline>), Vec<Problem>> {
    let mut rehearsal = Rehearsal { stand_ins, outlines: Vec::new() };
    let lowered = lower_all(documents, configuration, builder, Some(&mut rehearsal))?;
    Ok((in_order(&lowered).collect(), rehearsal.outlines))
}

fn lower_all(
    documents: &[Document],
    configuration: &Configuration,
    builder: &mut Builder,
    mut rehearsal: Option<&mut Rehearsal<'_>>,
) -> Result<Vec<Option<Lowered>>, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut names = Names::with_capacity_and_hasher(documents.len(), RandomState::default());
    let mut lowered = Vec::with_capacity(documents.len());
    let mut memory = Memory::default();
    for (number, document) in documents.iter().enumerate() {
        let source = builder.source(&document.source);
        let mut lowering = Lowering {
            document,
            number,
            rehearsal: rehearsal.as_deref_mut(),
            configuration,
            memory: &mut memory,
            builder,
            source,
            problems: &mut problems,
            variables: Variables::default(),
        };
        lowered.push(lowering.document(&mut names));
    }
    if problems.is_empty() { Ok(lowered) } else { Err(problems) }
}

/// The documents by the names of their policies and sets.
type Names<'t> = HashMap<&'t str, &'t Document, RandomState>;

/// What must hold, and where it is written.
struct Condition {
    id: ExprId,
    span: Span,
    /// The enforced schemas that it is made of, for explanations.
    schemas: Vec<WrittenCondition>,
}

/// The conditions of a policy together.
struct Body {
    body: Junction,
    /// Of those that ask attribute finders: what must hold before any is asked.
    gate: Option<ExprId>,
}

/// The state of lowering one document.
struct Lowering<'t, 'b, 'r> {
    document: &'t Document,
    /// The document's number among all.
    number: usize,
    /// There in a test of policies.
    rehearsal: Option<&'b mut Rehearsal<'r>>,
    configuration: &'b Configuration,
    memory: &'b mut Memory<'t>,
    builder: &'b mut Builder,
    source: u32,
    problems: &'b mut Vec<Problem>,
    /// The variables of the set and the policy, as far as they are defined.
    variables: Variables<'t>,
}

impl<'t> Lowering<'t, '_, '_> {
    fn document(&mut self, names: &mut Names<'t>) -> Option<Lowered> {
        let schemas = schema::conditions(self, &self.document.tree.schemas);
        let (name, span) = match &self.document.tree.root {
            Some(Root::Policy(policy)) => (&policy.name.text, policy.name.span),
            Some(Root::Set(set)) => (&set.name.text, set.name.span),
            None => return None,
        };
        if let Some(first) = names.insert(name.as_str(), self.document) {
            let message = format!("another document has the name `{name}` already: {}", first.source);
            self.problem(span, message, Some("give each policy and set a name of its own"));
        }
        let (lowered, written) = match &self.document.tree.root {
            Some(Root::Policy(policy)) => {
                let (policy, written) = self.policy(policy, schemas, &mut Before::default());
                (policy.lowered, written)
            }
            Some(Root::Set(set)) => self.set(set, schemas),
            None => (None, None),
        };
        if let Some(written) = written {
            self.builder.write(written);
        }
        lowered
    }

    fn set(&mut self, set: &'t PolicySet, schemas: Vec<Condition>) -> (Option<Lowered>, Option<Written>) {
        for variable in &set.variables {
            self.variable(variable);
        }
        let shared = self.variables.clone();
        let gates = schemas.iter().map(|schema| schema.id).collect();
        let outline = self.outline(set.span, gates);
        let conditions = self.set_conditions(set, schemas, outline);
        let target = self.set_target(&conditions);
        if target.is_none() {
            self.note_false("set", &set.name, &conditions);
        }
        let mut written = self.written(&set.name, set.span, None, conditions);
        let members = self.members(set, &shared, &mut written);
        self.variables = shared;
        let Some(target) = target else { return (None, written) };
        let voting = voting(set.algorithm, combine::ErrorHandling::Abstain);
        let is_first = voting.mode == combine::Mode::First;
        let stratum = if target.is_none() { members.stratum(is_first) } else { members.unfolded_stratum() };
        let node = self.builder.set(Set {
            id: set.name.text.clone(),
            version: SmolStr::default(),
            kind: SetKind::PolicySet,
            target,
            algorithm: Algorithm::Voting(voting),
            effects: members.effects(voting),
            children: members.children(is_first),
            voters: members.voters(voting, is_first),
            duties: Vec::new(),
            place: self.place(set.span),
        });
        let written = written.map(|written| Written { node: Some(node), ..written });
        (Some(Lowered { node, stratum }), written)
    }

    /// The policies of a set, each with the variables of the set only.
    fn members(
        &mut self,
        set: &'t PolicySet,
        shared: &Variables<'t>,
        written: &mut Option<Written>,
    ) -> Members {
        let mut names = HashSet::new();
        let mut members = Members::default();
        let mut before = Before { is_first: set.algorithm.mode == tree::Mode::First, ..Before::default() };
        for policy in &set.policies {
            if !names.insert(policy.name.text.as_str()) {
                let message = format!("the set has a policy `{}` already", policy.name.text);
                self.problem(policy.name.span, message, Some("give each policy of a set a name of its own"));
            }
            self.variables.clone_from(shared);
            let (member, its_written) = self.policy(policy, Vec::new(), &mut before);
            members.push(member);
            if let Some(set) = written {
                set.policies.extend(its_written);
            }
        }
        members
    }

    /// What must hold for the set to apply.
    fn set_conditions(
        &mut self,
        set: &'t PolicySet,
        mut conditions: Vec<Condition>,
        outline: Option<usize>,
    ) -> Vec<Condition> {
        if let Some(expression) = &set.target {
            let target = self.expression(expression);
            let target = self.builder.junction(vec![target], false);
            if let Some(outline) = self.outlined(outline) {
                outline.target = Some(target);
            }
            let facts = self.builder.facts(target);
            if let Some(fault) = self.builder.fault_of(target) {
                let message = format!("the target always fails: {}", fault.message);
                self.problem(expression.span, message, None);
            } else if facts.streams {
                let message = "a target cannot ask for attributes `<...>`".to_owned();
                let help = "ask for them in the conditions of the policies";
                self.problem(expression.span, message, Some(help));
            } else if facts.is_relative {
                let message = "`@` and `#` mean nothing here".to_owned();
                self.problem(expression.span, message, Some("name what they are to stand for"));
            }
            conditions.push(Condition { id: target, span: expression.span, schemas: Vec::new() });
        }
        conditions
    }

    /// When the set applies: `Some(None)` always, `None` never.
    fn set_target(&mut self, conditions: &[Condition]) -> Option<Option<ExprId>> {
        let target = self.conjunction(conditions);
        match self.builder.value_of(target) {
            Some(Value::Boolean(true)) => Some(None),
            Some(_) => None,
            None if self.builder.is_never(target) => None,
            None => Some(Some(target)),
        }
    }

    fn conjunction(&mut self, conditions: &[Condition]) -> ExprId {
        let conditions = conditions.iter().map(|condition| condition.id).collect();
        self.builder.junction(conditions, false)
    }

    fn policy(
        &mut self,
        policy: &'t Policy,
        mut conditions: Vec<Condition>,
        before: &mut Before,
    ) -> (votes::Policy, Option<Written>) {
        let outline = self.outline(policy.span, conditions.iter().map(|schema| schema.id).collect());
        for statement in &policy.body {
            match statement {
                Statement::Variable(variable) => self.variable(variable),
                Statement::Condition(condition) => {
                    let id = self.checked(condition);
                    conditions.push(Condition { id, span: condition.span, schemas: Vec::new() });
                    if let Some(outline) = self.outlined(outline) {
                        outline.conditions.push(id);
                    }
                }
            }
        }
        let effect = effect(policy.effect);
        let mut duties = self.duties(policy, effect, DutyKind::Obligation, &policy.obligations);
        duties.extend(self.duties(policy, effect, DutyKind::Advice, &policy.advice));
        let transform = policy.transform.as_slice();
        let transform = self.outcomes("transform", transform).first().copied();
        let Body { body, gate } = self.body(&conditions, before.is_first);
        let is_false = self.is_false(&body);
        if is_false {
            self.note_false("policy", &policy.name, &conditions);
        }
        let written = self.written(&policy.name, policy.span, Some(effect), conditions);
        let mut lowered = votes::Policy {
            lowered: None,
            effects: Effects::only(effect),
            is_left_out_unfolded: is_false && self.junction_facts(&body).depends,
        };
        if is_false || !self.is_asked(policy, before) {
            return (lowered, written);
        }
        if before.is_first && matches!(body, Junction::Known(id) if self.is_always(id, true)) {
            before.decided.get_or_insert((policy.name.text.clone(), self.place(policy.span).line));
        }
        let stratum = self.stratum(&body, &duties, transform);
        let (target, condition) = necessary::split(self.builder, body);
        let node = self.builder.node(Node::Rule(Rule {
            id: policy.name.text.clone(),
            effect,
            target,
            condition,
            duties,
            transform,
            gate,
            place: self.place(policy.span),
        }));
        lowered.lowered = Some(Lowered { node, stratum });
        (lowered, written.map(|written| Written { node: Some(node), ..written }))
    }

    /// What must hold for a policy to apply. Those conditions come first that ask no attribute finder: where they are known
    /// to fail, none is asked, except where the first vote counts.
    fn body(&mut self, conditions: &[Condition], is_first: bool) -> Body {
        let ids = || conditions.iter().map(|condition| condition.id);
        let body = self.builder.gather(ids().collect(), false);
        if !self.junction_facts(&body).streams {
            return Body { body, gate: None };
        }
        let gate = ids().filter(|id| !self.builder.facts(*id).streams).collect();
        let gate = self.builder.junction(gate, false);
        if !is_first && self.builder.fault_of(gate).is_some() {
            return Body { body: Junction::Known(gate), gate: None };
        }
        Body { body, gate: Some(gate) }
    }

    /// When a policy votes.
    fn stratum(&self, body: &Junction, duties: &[DutyExpr], transform: Option<ExprId>) -> Stratum {
        let body_facts = self.junction_facts(body);
        if matches!(body, Junction::Known(id) if self.builder.fault_of(*id).is_some()) {
            return Stratum::Constant;
        }
        let duties = duties.iter().filter_map(|duty| match &duty.body {
            DutyBody::Plain(value) => Some(*value),
            DutyBody::Named { .. } => None,
        });
        let mut all = vec![body_facts];
        all.extend(duties.chain(transform).map(|id| self.builder.facts(id)));
        if all.iter().any(|facts| facts.streams) {
            Stratum::Streaming
        } else if all.iter().any(|facts| facts.depends || facts.is_relative) {
            Stratum::Pure
        } else {
            Stratum::Constant
        }
    }

    /// How an element is written; `None` if nobody will ask.
    fn written(
        &self,
        name: &tree::Text,
        span: Span,
        effect: Option<Effect>,
        conditions: Vec<Condition>,
    ) -> Option<Written> {
        let conditions = conditions.into_iter().flat_map(|Condition { id, span, schemas }| {
            if !schemas.is_empty() {
                return schemas;
            }
            let (text, place) = (self.document.shown(span), self.place(span));
            vec![WrittenCondition { expr: id, text, place, is_schema: false }]
        });
        self.builder.keeps_written().then(|| Written {
            id: name.text.clone(),
            effect,
            node: None,
            conditions: conditions.collect(),
            policies: Vec::new(),
            place: self.place(span),
        })
    }

    /// Notes a policy or a set; gives the number of its outline, if anybody wants outlines.
    fn outline(&mut self, span: Span, gates: Vec<ExprId>) -> Option<usize> {
        self.rehearsal.as_ref()?;
        let (place, document) = (self.place(span), self.number);
        let rehearsal = self.rehearsal.as_deref_mut()?;
        rehearsal.outlines.push(Outline { document, place, gates, target: None, conditions: Vec::new() });
        Some(rehearsal.outlines.len() - 1)
    }

    fn outlined(&mut self, number: Option<usize>) -> Option<&mut Outline> {
        self.rehearsal.as_deref_mut()?.outlines.get_mut(number?)
    }

    fn is_false(&self, body: &Junction) -> bool {
        let Junction::Known(id) = body else { return false };
        self.builder.is_never(*id) || self.is_always(*id, false)
    }

    fn junction_facts(&self, body: &Junction) -> Facts {
        match body {
            Junction::Known(id) => self.builder.facts(*id),
            Junction::Parts(_, facts) => *facts,
        }
    }

    fn duties(
        &mut self,
        _policy: &'t Policy,
        on: Effect,
        kind: DutyKind,
        expressions: &'t [Expr],
    ) -> Vec<DutyExpr> {
        let what = match kind {
            DutyKind::Obligation => "obligation",
            DutyKind::Advice => "advice",
        };
        let lowered = self.outcomes(what, expressions);
        lowered.into_iter().map(|value| DutyExpr { kind, on, body: DutyBody::Plain(value) }).collect()
    }

    /// What a policy gives along with its effect, without what is always undefined. `@` and `#` are undefined where nothing
    /// binds them; where none of these depends on the subscription, they are taken for a mistake, as in the engine.
    fn outcomes(&mut self, what: &str, expressions: &'t [Expr]) -> Vec<ExprId> {
        let values: Vec<ExprId> = expressions.iter().map(|expression| self.checked(expression)).collect();
        let depends = values.iter().any(|value| self.builder.facts(*value).depends);
        for (expression, value) in expressions.iter().zip(&values) {
            if let Some(fault) = self.builder.fault_of(*value) {
                let message = format!("the {what} always fails: {}", fault.message);
                self.problem(expression.span, message, None);
            }
            if !depends && self.builder.facts(*value).is_relative {
                let message = format!("`@` and `#` mean nothing in the {what} itself");
                let help = "they stand for elements within `::`, `[?(...)]` and filters";
                self.problem(expression.span, message, Some(help));
            }
        }
        let is_defined = |value: &ExprId| !self.builder.value_of(*value).is_some_and(Value::is_undefined);
        values.into_iter().filter(is_defined).collect()
    }

    fn variable(&mut self, variable: &'t Variable) {
        let value = self.checked(&variable.value);
        let name = &variable.name.text;
        let scope = self.memory.with(self.variables.scope, name, value);
        if !self.variables.define(name, value, scope) {
            let message = format!("there is a variable `{name}` already");
            let help = "use another name; a policy cannot change variables of its set either";
            self.problem(variable.name.span, message, Some(help));
        }
    }

    /// An expression within the limits of what may be evaluated.
    fn checked(&mut self, expression: &'t Expr) -> ExprId {
        let id = self.remembered(expression);
        let facts = self.builder.facts(id);
        let help = "use the variables in fewer places, or compute in the configuration";
        if facts.size > EXPRESSIONS_MAX {
            let message = format!(
                "with all variables in their places, this has more than {EXPRESSIONS_MAX} expressions"
            );
            self.problem(expression.span, message, Some(help));
        } else if facts.depth > NESTING_MAX {
            let message =
                format!("with all variables in their places, this nests more than {NESTING_MAX} deep");
            self.problem(expression.span, message, Some(help));
        }
        id
    }

    /// What the same text came to before, where that is the same again; else the expression is lowered.
    fn remembered(&mut self, expression: &'t Expr) -> ExprId {
        if self.rehearsal.is_some() || self.document.names.has_imports() {
            return self.expression(expression);
        }
        let (scope, text) = (self.variables.scope, self.document.piece(expression.span));
        if let Some(known) = self.memory.get(scope, text) {
            return known;
        }
        let problems = self.problems.len();
        let id = self.expression(expression);
        // A problem has to be told in every document.
        if self.problems.len() == problems {
            self.memory.keep(scope, text, id);
        }
        id
    }

    fn problem(&mut self, span: Span, message: String, help: Option<&str>) {
        let diagnostic = Diagnostic::error(span, message, help.map(str::to_owned));
        self.problems.push(self.document.problem(diagnostic));
    }

    fn place(&self, span: Span) -> SourceLocation {
        let (line, column) = self.document.place(span);
        SourceLocation { source: self.source, line, column }
    }
}

fn effect(effect: tree::Effect) -> Effect {
    match effect {
        tree::Effect::Permit => Effect::Permit,
        tree::Effect::Deny => Effect::Deny,
        tree::Effect::Suspend => Effect::Suspend,
    }
}

/// The algorithm that these words mean; `unsaid` is what becomes of errors where they do not say it.
pub fn voting(algorithm: tree::Algorithm, unsaid: combine::ErrorHandling) -> Voting {
    let mode = match algorithm.mode {
        tree::Mode::First => combine::Mode::First,
        tree::Mode::PriorityDeny => combine::Mode::Priority(Effect::Deny),
        tree::Mode::PriorityPermit => combine::Mode::Priority(Effect::Permit),
        tree::Mode::PrioritySuspend => combine::Mode::Priority(Effect::Suspend),
        tree::Mode::Unanimous => combine::Mode::Unanimous,
        tree::Mode::UnanimousStrict => combine::Mode::UnanimousStrict,
        tree::Mode::Unique => combine::Mode::Unique,
    };
    let default = match algorithm.default {
        tree::DefaultDecision::Deny => Some(Effect::Deny),
        tree::DefaultDecision::Permit => Some(Effect::Permit),
        tree::DefaultDecision::Suspend => Some(Effect::Suspend),
        tree::DefaultDecision::Abstain => None,
    };
    let errors = match algorithm.errors {
        None => unsaid,
        Some(tree::ErrorHandling::Abstain) => combine::ErrorHandling::Abstain,
        Some(tree::ErrorHandling::Propagate) => combine::ErrorHandling::Propagate,
    };
    Voting { mode, default, errors }
}

//! Why: which policies applied, which did not and because of which attribute, in words and as JSON.
//!
//! An explanation is made by the plain evaluator, watched; it costs what a decision without index costs and some
//! text, and always agrees with what [`Pdp::decide`] answers.

#[cfg(feature = "json")]
mod json;
mod near;
mod reason;
#[cfg_attr(not(feature = "sapl"), path = "explain/no_sapl.rs")]
mod sapl;
#[cfg(feature = "sapl")]
mod subscription;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use durward_ir::combine::{Effects, Verdict, Vote};
use durward_ir::evaluate::{Everything, ListPolicies, Trace};
use durward_ir::fault::Evaluated;
use durward_ir::program::{Effect, Node, NodeId, Program, SetKind};
use durward_ir::question::Question;
use durward_xacml::multiple::{self, Individual, MultipleError};
use durward_xacml::request::Request;
use durward_xacml::response::Decision;

use crate::decide::Asking;
use crate::{Pdp, RequestLanguage};
use near::Given;
use reason::Case;
use sapl::Seen;

/// Why a request is answered as it is: one part for each individual decision.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The individual decisions, in the order of the response.
    pub results: Vec<Explained>,
    /// That all policies in force are of another language than the question, if they are ([`Pdp::mismatch`]).
    pub note: Option<&'static str>,
}

/// One policy element, what it said and why.
#[derive(Clone, Debug, Default)]
pub struct Explained {
    /// `rule`, `policy`, `policy set` or, of SAPL, `set`; `decision` at the top.
    pub kind: &'static str,
    /// Its identifier.
    pub id: String,
    /// Its version; empty for rules and for all of SAPL.
    pub version: String,
    /// Where it is written, `file:line:column`; empty at the top.
    pub place: String,
    /// What it said: `Permit`, `Deny`, `NotApplicable`, `Indeterminate{D}`, `Indeterminate{P}` or
    /// `Indeterminate{DP}`. Of SAPL `PERMIT`, `DENY`, `SUSPEND`, `NOT_APPLICABLE`, `INDETERMINATE`, or `NOT_EVALUATED`
    /// where the decision was certain before.
    pub outcome: String,
    /// Why, in words.
    pub reason: String,
    /// SAPL: the conditions, enforced schemas and target: all of them where it applies, else the schemas that do not hold, the condition
    /// that is false, or those that fail.
    pub conditions: Vec<ExplainedCondition>,
    /// SAPL: its obligations as JSON.
    pub obligations: Vec<String>,
    /// SAPL: its advice as JSON.
    pub advice: Vec<String>,
    /// SAPL: what it gives for the resource, as JSON.
    pub resource: Option<String>,
    /// The elements below that were evaluated, in order; of SAPL all.
    pub children: Vec<Explained>,
    node: Option<NodeId>,
}

/// A condition of SAPL and what it said.
#[derive(Clone, Debug)]
pub struct ExplainedCondition {
    /// Where it is written, `file:line:column`.
    pub place: String,
    /// Its text, in one line, cut when it is long.
    pub text: String,
    /// `true`, `false` or `error`.
    pub outcome: &'static str,
    /// The values that it depends on, or why it failed.
    pub reason: String,
}

impl fmt::Display for ExplainedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: `{}`", self.outcome, self.text)?;
        if !self.reason.is_empty() {
            write!(f, ", {}", self.reason)?;
        }
        write!(f, " ({})", self.place)
    }
}

impl Pdp {
    /// Explains the answer to a request. The decisions are those of [`Pdp::decide`].
    pub fn explain(&self, request: &Request) -> Explanation {
        let snapshot = self.snapshot.load();
        let asking = Asking::new(self, &snapshot);
        let hierarchy =
            self.hierarchy.as_ref().map(|hierarchy| &**hierarchy as &dyn multiple::ResourceHierarchy);
        let results = match multiple::individual_requests(request, hierarchy) {
            Ok(Individual::One(request)) => vec![asking.explain(request)],
            Ok(Individual::Many(requests)) => {
                let explain = |request: &Result<Request, MultipleError>| match request {
                    Ok(request) => asking.explain(request),
                    Err(error) => Explained::failed(error.to_string()),
                };
                requests.iter().map(explain).collect()
            }
            Err(error) => vec![Explained::failed(error.to_string())],
        };
        Explanation { results, note: self.mismatch(RequestLanguage::Xacml) }
    }
}

impl Asking<'_> {
    fn explain(&self, request: &Request) -> Explained {
        self.begin();
        let recorder = Recorder::new(&self.snapshot.program, Given::Request(request));
        match self.vote(request, &Everything, &recorder, ListPolicies::No) {
            Ok((vote, _)) => recorder.finish(&vote),
            Err(fault) => Explained::failed(fault.whole_message().into_owned()),
        }
    }
}

impl Explained {
    fn failed(reason: String) -> Explained {
        let outcome = Decision::Indeterminate.as_str().into();
        Explained { kind: "decision", outcome, reason, ..Explained::default() }
    }

    fn write(&self, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:indent$}{}: {}", "", self.outcome, self.kind, indent = depth * 2)?;
        if !self.id.is_empty() {
            write!(f, " `{}`", self.id)?;
        }
        if !self.reason.is_empty() {
            write!(f, ", {}", self.reason)?;
        }
        if !self.place.is_empty() {
            write!(f, " ({})", self.place)?;
        }
        writeln!(f)?;
        for line in self.details() {
            writeln!(f, "{:indent$}{line}", "", indent = depth * 2 + 2)?;
        }
        self.children.iter().try_for_each(|child| child.write(depth + 1, f))
    }

    fn details(&self) -> Vec<String> {
        let duties = |kind: &'static str, values: &[String]| -> Vec<String> {
            values.iter().map(|value| format!("{kind}: {value}")).collect()
        };
        let mut lines: Vec<String> = self.conditions.iter().map(ToString::to_string).collect();
        lines.extend(duties("obligation", &self.obligations));
        lines.extend(duties("advice", &self.advice));
        lines.extend(duties("transform", self.resource.as_slice()));
        lines
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.results.iter().try_for_each(|result| result.write(0, f))?;
        self.note.map_or(Ok(()), |note| writeln!(f, "note: {note}"))
    }
}

/// Watches an evaluation and keeps what it sees as a tree.
struct Recorder<'a> {
    program: &'a Program,
    /// What was asked.
    given: Given<'a>,
    /// The elements being evaluated, outermost first; the first is never closed before the end. A round for
    /// attribute sources starts over.
    open: RefCell<Vec<Explained>>,
    /// What every element said.
    seen: RefCell<HashMap<NodeId, Seen>>,
}

impl Trace for Recorder<'_> {
    fn enter(&self, id: NodeId) {
        let mut open = self.open.borrow_mut();
        if id == self.program.root() {
            open.clear();
            self.seen.borrow_mut().clear();
        }
        open.push(self.describe(id));
    }

    fn target(&self, id: NodeId, outcome: &Evaluated<bool>, question: &Question<'_>) {
        // `only-one-applicable` asks for targets of children it has not entered; those explain nothing here.
        let is_open = self.open.borrow().last().is_some_and(|open| open.id == *self.program.node(id).id());
        let reason = match (outcome, self.program.node(id).target()) {
            (Ok(false), Some(target)) => reason::why_false(&self.case(question), target),
            (Err(fault), _) => format!("its target failed: {}", fault.whole_message()),
            (Ok(_), _) => return,
        };
        if is_open {
            self.give_reason(reason);
        }
    }

    fn condition(&self, id: NodeId, outcome: &Evaluated<bool>, question: &Question<'_>) {
        let Node::Rule(rule) = self.program.node(id) else { return };
        let reason = match (outcome, rule.condition) {
            (Ok(true), Some(condition)) => reason::why_true(&self.case(question), condition),
            (Ok(false), Some(condition)) => {
                format!("its condition is false: {}", reason::why_false(&self.case(question), condition))
            }
            (Err(fault), _) => format!("its condition failed: {}", fault.whole_message()),
            (Ok(_), None) => return,
        };
        self.give_reason(reason);
    }

    fn leave(&self, id: NodeId, vote: &Vote) {
        let mut open = self.open.borrow_mut();
        let Some(mut done) = open.pop() else { return };
        self.seen.borrow_mut().insert(id, Seen::of(vote));
        done.outcome = outcome(vote.verdict);
        if done.reason.is_empty() {
            done.reason = self.reason_of(id, vote, &done.children);
        }
        match open.last_mut() {
            Some(parent) => parent.children.push(done),
            None => open.push(done),
        }
    }

    fn decided(&self, _: &Vote, question: &Question<'_>) {
        let (seen, mut open) = (self.seen.borrow(), self.open.borrow_mut());
        let (Some(top), false) = (open.last_mut(), self.program.written.is_empty()) else { return };
        sapl::tell(self.program, question, self.given, &seen, top);
    }
}

impl<'a> Recorder<'a> {
    fn new(program: &'a Program, given: Given<'a>) -> Recorder<'a> {
        Recorder { program, given, open: RefCell::default(), seen: RefCell::default() }
    }
    fn case<'q>(&'q self, question: &'q Question<'q>) -> Case<'q> {
        Case { program: self.program, question, given: self.given }
    }

    fn give_reason(&self, reason: String) {
        if let Some(current) = self.open.borrow_mut().last_mut() {
            current.reason = reason;
        }
    }

    /// What an element's own target or condition did not already explain.
    fn reason_of(&self, id: NodeId, vote: &Vote, children: &[Explained]) -> String {
        let Node::Set(set) = self.program.node(id) else {
            return match vote.verdict {
                Verdict::Permit | Verdict::Deny | Verdict::Suspend => "its target matches".into(),
                Verdict::NotApplicable => String::new(),
                Verdict::Indeterminate(_) => fault_message(vote),
            };
        };
        match vote.verdict {
            Verdict::Permit | Verdict::Deny | Verdict::Suspend => {
                format!("by {}", set.algorithm.short_name())
            }
            Verdict::NotApplicable if children.is_empty() => "it has nothing that could apply".into(),
            Verdict::NotApplicable => "nothing in it applies".into(),
            Verdict::Indeterminate(_) => fault_message(vote),
        }
    }

    fn describe(&self, id: NodeId) -> Explained {
        let node = self.program.node(id);
        let (kind, version) = match node {
            Node::Rule(_) => ("rule", String::new()),
            Node::Set(set) => match set.kind {
                SetKind::Policy => ("policy", set.version.to_string()),
                SetKind::PolicySet => ("policy set", set.version.to_string()),
                SetKind::Root => ("decision", String::new()),
            },
        };
        let is_top = id == self.program.root();
        let place = node.place();
        let source = self.program.source(place.source).filter(|_| !is_top);
        Explained {
            kind,
            id: if is_top { String::new() } else { node.id().to_string() },
            version,
            place: source
                .map(|source| format!("{source}:{}:{}", place.line, place.column))
                .unwrap_or_default(),
            node: Some(id),
            ..Explained::default()
        }
    }

    fn finish(self, vote: &Vote) -> Explained {
        let mut open = self.open.into_inner();
        match open.pop() {
            Some(top) => top,
            None => Explained::failed(fault_message(vote)),
        }
    }
}

fn fault_message(vote: &Vote) -> String {
    vote.fault.as_ref().map(|fault| fault.whole_message().into_owned()).unwrap_or_default()
}

fn outcome(verdict: Verdict) -> String {
    match verdict {
        Verdict::Permit => "Permit".into(),
        Verdict::Deny => "Deny".into(),
        Verdict::Suspend => "Suspend".into(),
        Verdict::NotApplicable => "NotApplicable".into(),
        Verdict::Indeterminate(effects) => format!("Indeterminate{{{}}}", letters(effects)),
    }
}

fn letters(effects: Effects) -> String {
    let letters = [(Effect::Deny, 'D'), (Effect::Permit, 'P'), (Effect::Suspend, 'S')];
    letters.into_iter().filter(|(effect, _)| effects.contains(*effect)).map(|(_, letter)| letter).collect()
}

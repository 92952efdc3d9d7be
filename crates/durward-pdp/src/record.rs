//! What a record of decisions says of one beside the decision: by which policies it was made, which of them applied,
//! and where it failed.
//!
//! Nothing here is touched by a decision that nobody records. Where somebody does, a decision that is Indeterminate is
//! evaluated once more, by the same policies and watched, to find the places where it failed.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};

use durward_ir::combine::{Algorithm, Verdict, Vote};
use durward_ir::evaluate::Trace;
use durward_ir::program::{Node, NodeId, Program, SetKind};
use durward_xacml::request::Request;
use durward_xacml::response::{PolicyIdentifier, PolicyKind, Response};

use crate::{AttributeSource, Pdp};

#[cfg(feature = "sapl")]
pub use crate::subscription::Recorded;

/// How many failures a record tells of one decision; the others are counted.
pub const FAILURES_MAX: usize = 8;

/// How many characters of a message are kept: it may quote a value of any length.
const MESSAGE_LENGTH_MAX: usize = 1_000;

/// What is to be recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Whether the policies that applied are listed, whoever asked for them.
    pub policies: bool,
}

/// What is recorded of a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The policies that decided: [`crate::SnapshotInfo::id`]; 0 where there were none.
    pub snapshot: u64,
    /// Why it is Indeterminate; empty for every other decision. At most [`FAILURES_MAX`].
    pub failures: Vec<Failure>,
    /// How many failures there were beside these.
    pub failures_more: usize,
    /// The policies and sets that applied, children before parents, if they were to be listed.
    pub policies: Vec<PolicyIdentifier>,
}

/// One reason why a decision is Indeterminate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Failure {
    /// The identifiers of the rule, policy or set that failed and of those around it, outermost first; empty where it
    /// lies in none.
    pub path: Vec<String>,
    /// Where that is written, `file:line:column`; empty where it is written nowhere.
    pub place: String,
    /// What went wrong. May quote values.
    pub message: String,
}

impl Hash for Record {
    /// By what makes decisions of streams differ.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.snapshot.hash(state);
        self.failures.hash(state);
    }
}

impl Failure {
    /// One that lies in no policy.
    pub fn outside(message: impl Into<String>) -> Failure {
        Failure { message: cut(&message.into()).to_owned(), ..Failure::default() }
    }
}

impl Record {
    /// Both in one: that of decisions that were combined.
    pub(crate) fn take(&mut self, other: Record) {
        self.failures.extend(other.failures);
        self.failures_more += other.failures_more + self.failures.len().saturating_sub(FAILURES_MAX);
        self.failures.truncate(FAILURES_MAX);
        self.policies.extend(other.policies);
    }

    /// Of a decision that failed outside of all policies.
    pub fn failed(snapshot: u64, message: impl Into<String>) -> Record {
        Record { snapshot, failures: vec![Failure::outside(message)], ..Record::default() }
    }
}

impl Pdp {
    /// As [`Pdp::decide`], with a record for each result.
    pub fn decide_recorded(&self, request: &Request, recording: Recording) -> (Response, Vec<Record>) {
        self.decide_recorded_by(&self.snapshot.load(), request, None, recording)
    }

    /// As [`Pdp::decide_with`], with a record for each result.
    pub fn decide_recorded_with(
        &self,
        request: &Request,
        source: &dyn AttributeSource,
        recording: Recording,
    ) -> (Response, Vec<Record>) {
        self.decide_recorded_by(&self.snapshot.load(), request, Some(source), recording)
    }
}

/// Watches an evaluation and keeps the places where it failed, and what applied.
pub(crate) struct Watch<'p> {
    program: &'p Program,
    seen: RefCell<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The elements being evaluated, outermost first, each with how many failures and policies there were before it.
    open: Vec<(NodeId, usize, usize)>,
    failures: Vec<Failure>,
    applied: Vec<NodeId>,
}

impl Trace for Watch<'_> {
    fn enter(&self, id: NodeId) {
        let mut seen = self.seen.borrow_mut();
        // A round after sources were asked starts over.
        if id == self.program.root() && seen.open.is_empty() {
            *seen = Seen::default();
        }
        let (failures, applied) = (seen.failures.len(), seen.applied.len());
        seen.open.push((id, failures, applied));
    }

    fn leave(&self, id: NodeId, vote: &Vote) {
        let mut seen = self.seen.borrow_mut();
        let Some((_, failures, applied)) = seen.open.pop() else { return };
        match vote.verdict {
            Verdict::Indeterminate(_) => {
                seen.applied.truncate(applied);
                self.fail(&mut seen, id, failures, vote);
            }
            Verdict::NotApplicable => {
                seen.failures.truncate(failures);
                seen.applied.truncate(applied);
            }
            Verdict::Permit | Verdict::Deny | Verdict::Suspend => {
                seen.failures.truncate(failures);
                if self.is_policy(id, &seen) {
                    seen.applied.push(id);
                }
            }
        }
    }
}

impl<'p> Watch<'p> {
    pub(crate) fn new(program: &'p Program) -> Watch<'p> {
        Watch { program, seen: RefCell::default() }
    }

    /// An element failed: for what one below it did, or by itself.
    fn fail(&self, seen: &mut Seen, id: NodeId, before: usize, vote: &Vote) {
        let whole = vote.fault.as_ref().map(|fault| fault.whole_message());
        let message = cut(whole.as_deref().unwrap_or("evaluation failed"));
        let below = seen.failures.get(before..).unwrap_or_default();
        let passes_on = match vote.fault {
            Some(_) => below.iter().any(|failure| failure.message == message),
            None => !below.is_empty(),
        };
        if passes_on {
            return;
        }
        let around = seen.open.iter().map(|(around, ..)| *around).chain([id]);
        let around = around.filter(|around| *around != self.program.root());
        let path = around.map(|around| self.program.node(around).id().to_string()).collect();
        let message = message.to_owned();
        seen.failures.push(Failure { path, place: self.place(id), message });
    }

    /// The evaluation failed as a whole.
    pub(crate) fn fail_outside(&self, vote: &Vote) {
        let message = vote.fault.as_ref().map(|fault| fault.whole_message().into_owned()).unwrap_or_default();
        self.seen.borrow_mut().failures = vec![Failure::outside(message)];
    }

    fn place(&self, id: NodeId) -> String {
        let place = self.program.node(id).place();
        let source = self.program.source(place.source).filter(|_| id != self.program.root());
        source.map(|source| format!("{source}:{}:{}", place.line, place.column)).unwrap_or_default()
    }

    /// A rule of XACML is none; what SAPL calls a policy is a rule here, in a set that votes.
    fn is_policy(&self, id: NodeId, seen: &Seen) -> bool {
        match self.program.node(id) {
            Node::Set(set) => set.kind != SetKind::Root,
            Node::Rule(_) => seen.open.last().is_some_and(|(around, ..)| {
                matches!(self.program.node(*around), Node::Set(set) if matches!(set.algorithm, Algorithm::Voting(_)))
            }),
        }
    }

    pub(crate) fn record(self, snapshot: u64) -> Record {
        let Seen { mut failures, applied, .. } = self.seen.into_inner();
        let failures_more = failures.len().saturating_sub(FAILURES_MAX);
        failures.truncate(FAILURES_MAX);
        let policies = applied.into_iter().map(|id| identifier(self.program, id)).collect();
        Record { snapshot, failures, failures_more, policies }
    }
}

fn cut(message: &str) -> &str {
    match message.char_indices().nth(MESSAGE_LENGTH_MAX) {
        Some((at, _)) => message.get(..at).unwrap_or_default(),
        None => message,
    }
}

fn identifier(program: &Program, id: NodeId) -> PolicyIdentifier {
    let node = program.node(id);
    let (kind, version) = match node {
        Node::Rule(_) => (PolicyKind::Policy, None),
        Node::Set(set) if matches!(set.algorithm, Algorithm::Voting(_)) => (PolicyKind::PolicySet, None),
        Node::Set(set) if set.kind == SetKind::Policy => (PolicyKind::Policy, Some(set.version.clone())),
        Node::Set(set) => (PolicyKind::PolicySet, Some(set.version.clone())),
    };
    PolicyIdentifier { kind, id: node.id().clone(), version }
}

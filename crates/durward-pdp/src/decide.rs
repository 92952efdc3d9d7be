//! One request, answered: attributes into slots, evaluation, sources asked where needed, the vote as a result.
//!
//! What is touched per decision: the snapshot pointer; each attribute's bucket and atom entry; what the index and
//! the evaluator touch; the result.

pub(crate) mod batch;
mod text;

use std::cell::{Cell, OnceCell, RefCell};

use durward_index::Index;
use durward_ir::combine::{Verdict, Vote};
use durward_ir::evaluate::{Evaluator, Everything, ListPolicies, STEPS_MAX, Shortlist, Trace, Unwatched};
use durward_ir::program::{Node, NodeId, SetKind, SlotId};
use durward_ir::question::{
    Attributes, CompactSubscription, Encoded, Number, Question, Reading, SlotReader, Surroundings, Unencoded,
};
use durward_ir::{AttributeName, Fault, Value};
use durward_xacml::content::Contents;
use durward_xacml::multiple::{self, Individual, MultipleError};
use durward_xacml::request::Request;
use durward_xacml::response::{
    Decision, Echoes, PolicyIdentifier, PolicyKind, Response, ResultOf, Results, Status,
};

use crate::Pdp;
use crate::duty;
use crate::record::{Failure, Record, Recording, Watch};
use crate::snapshot::Snapshot;
use crate::source::{AttributeSource, SourceError};
use crate::surroundings::RequestSurroundings;
use crate::time::Moment;

/// How often one decision may go back to its sources because what they gave made further attributes matter. Each
/// round asks for at least one attribute not asked before; real policies need one or two.
pub(crate) const SOURCE_ROUNDS_MAX: usize = 64;

/// How many steps all decisions of one request may take together. A thousand individual decisions over ten thousand
/// rules fit; a thousand that each spend [`STEPS_MAX`] would keep a core busy for a minute.
pub(crate) const REQUEST_STEPS_MAX: u64 = 20 * STEPS_MAX;

/// How many decisions the function `access-permitted` may ask for within one request, nested ones included
/// (XACML 3.0, A.3.16 asks for a bound).
pub(crate) const NESTED_DECISIONS_MAX: u32 = 32;

/// How deep such decisions may nest: each level needs the stack of a whole decision.
pub(crate) const NESTED_DEPTH_MAX: u32 = 4;

/// What goes along with one request through all its individual decisions.
pub(crate) struct Asking<'p> {
    pub(crate) pdp: &'p Pdp,
    pub(crate) snapshot: &'p Snapshot,
    /// A source that is asked before those of the decision point.
    beside: Option<&'p dyn AttributeSource>,
    moment: Option<Box<Moment>>,
    /// The content of the request, read when first asked for.
    contents: OnceCell<Contents>,
    /// How many decisions `access-permitted` may still ask for, and how many are under way.
    nested_left: Cell<u32>,
    nested_depth: Cell<u32>,
    /// What is left of [`REQUEST_STEPS_MAX`].
    steps_left: Cell<u64>,
    /// Whether the individual decision under way, or one nested in it, has spent its steps.
    has_spent_steps: Cell<bool>,
}

/// Values that sources gave, by slot.
type Fetched = Vec<(SlotId, Vec<Value>)>;

impl Pdp {
    /// Looks up ahead what the policies in force want to know of a request, and keeps it in the request: deciding is
    /// then about twice as fast. Worth it for a request that is asked more than once, or read where there is time.
    /// The answer is the same with and without; after the policies were replaced the request is looked up anew.
    pub fn encode(&self, request: &mut Request) {
        request.categories.encode(&self.snapshot.load().program.slots);
    }

    /// Answers a request: one result, or several where the request asks several things at once (Multiple Decision
    /// profile). Never fails: what cannot be decided is an Indeterminate result that says why.
    pub fn decide(&self, request: &Request) -> Response {
        self.decide_by(&self.snapshot.load(), request)
    }

    /// Answers as [`Pdp::decide`] does, and asks `source` before the sources of the decision point, for what one of
    /// these provides. For attributes that take their time: a first decision finds out which are wanted, by a source that
    /// notes them and fails; they are fetched without a thread that waits; and the request is decided again.
    pub fn decide_with(&self, request: &Request, source: &dyn AttributeSource) -> Response {
        let snapshot = self.snapshot.load();
        let mut asking = Asking::new(self, &snapshot);
        asking.beside = Some(source);
        self.answer(&asking, request, Asking::decide, |_| {})
    }

    /// Answers by these policies.
    #[inline]
    pub(crate) fn decide_by(&self, snapshot: &Snapshot, request: &Request) -> Response {
        if !is_one(request) || request.categories.has_echoes() {
            return self.decide_each(snapshot, request);
        }
        match self.table_decision(snapshot, request) {
            Some(verdict) => Response::of(ResultOf::new(decision_of(verdict))),
            None => self.decide_evaluating(snapshot, request),
        }
    }

    /// Answers each individual request.
    #[inline(never)]
    fn decide_each(&self, snapshot: &Snapshot, request: &Request) -> Response {
        self.answer(&Asking::new(self, snapshot), request, Asking::decide, |_| {})
    }

    /// Answers a request that means one decision and for which there is no table decision.
    #[inline(never)]
    fn decide_evaluating(&self, snapshot: &Snapshot, request: &Request) -> Response {
        let asking = Asking::new(self, snapshot);
        asking.begin();
        Response::of(asking.result_of(request, asking.vote_by_evaluating(request, ListPolicies::No)))
    }

    /// What can be answered without evaluating anything, of a request that means one decision; nothing goes along with it.
    #[inline]
    fn table_decision(&self, snapshot: &Snapshot, request: &Request) -> Option<Verdict> {
        if !self.has_table_decisions(snapshot) {
            return None;
        }
        snapshot.verdict(&Seen::new(snapshot, request)?)
    }

    /// Whether verdicts on requests can be found without evaluating anything: the time must not matter.
    #[inline]
    fn has_table_decisions(&self, snapshot: &Snapshot) -> bool {
        snapshot.has_table_decisions() && !(self.clock.is_some() && snapshot.time.is_used())
    }

    /// The same, with a record for each result; `source` is asked first, as in [`Pdp::decide_with`].
    pub(crate) fn decide_recorded_by(
        &self,
        snapshot: &Snapshot,
        request: &Request,
        source: Option<&dyn AttributeSource>,
        recording: Recording,
    ) -> (Response, Vec<Record>) {
        let records = RefCell::new(Vec::new());
        let decide = |asking: &Asking<'_>, request: &Request| {
            let (result, record) = asking.decide_recorded(request, recording);
            records.borrow_mut().push(record);
            result
        };
        let undecided = |error: &MultipleError| {
            records.borrow_mut().push(Record::failed(snapshot.info.id, error.to_string()));
        };
        let mut asking = Asking::new(self, snapshot);
        asking.beside = source;
        let response = self.answer(&asking, request, decide, undecided);
        let mut records = records.into_inner();
        // Results that were combined have one record.
        while records.len() > response.results.len()
            && let Some(last) = records.pop()
            && let Some(before) = records.last_mut()
        {
            before.take(last);
        }
        (response, records)
    }

    /// Answers with what one individual request is answered, and is told of those that cannot be asked.
    #[inline]
    fn answer<'a>(
        &self,
        asking: &Asking<'a>,
        request: &Request,
        decide: impl Fn(&Asking<'a>, &Request) -> ResultOf,
        undecided: impl Fn(&MultipleError),
    ) -> Response {
        let hierarchy =
            self.hierarchy.as_ref().map(|hierarchy| &**hierarchy as &dyn multiple::ResourceHierarchy);
        match multiple::individual_requests(request, hierarchy) {
            Ok(Individual::One(request)) => {
                let mut results = Results::new();
                results.push(decide(asking, request));
                Response { results }
            }
            Ok(Individual::Many(requests)) => {
                let answer = |request: &Result<Request, MultipleError>| match request {
                    // Only results before 3.0 name their resource, and only where there are several must they.
                    Ok(request) => ResultOf { resource_id: request.resource_id(), ..decide(asking, request) },
                    Err(error) => {
                        undecided(error);
                        ResultOf::with_status(Decision::Indeterminate, error.status())
                    }
                };
                let results = requests.iter().map(answer).collect();
                multiple::combine_if_asked(request, Response { results })
            }
            Err(error) => {
                undecided(&error);
                Response::indeterminate(error.status())
            }
        }
    }
}

/// Whether the request means one decision, and nobody wants to know the policies.
#[inline]
fn is_one(request: &Request) -> bool {
    !request.return_policy_ids && request.multi_requests.is_empty() && !request.categories.may_mean_several()
}

/// What a verdict is called in results.
#[inline]
fn decision_of(verdict: Verdict) -> Decision {
    match verdict {
        Verdict::Permit => Decision::Permit,
        Verdict::Deny => Decision::Deny,
        Verdict::NotApplicable => Decision::NotApplicable,
        // XACML has no word for it, and it is no Permit.
        Verdict::Suspend | Verdict::Indeterminate(_) => Decision::Indeterminate,
    }
}

/// A request as it can be seen at once: looked up ahead, or by its rows.
pub(crate) enum Seen<'a> {
    Encoded(Encoded<'a>),
    Read(Unencoded<'a>),
}

impl<'a> Seen<'a> {
    /// `None` where it was read before these policies were known.
    #[inline]
    fn new(snapshot: &'a Snapshot, request: &'a Request) -> Option<Seen<'a>> {
        let (slots, categories) = (&snapshot.program.slots, &request.categories);
        match Encoded::new(slots, categories.encoding(), CompactSubscription::NONE) {
            Some(encoded) => Some(Seen::Encoded(encoded)),
            None => Unencoded::new(slots, categories.rows(), categories).map(Seen::Read),
        }
    }
}

impl SlotReader for Seen<'_> {
    #[inline]
    fn number(&self, slot: SlotId) -> Number {
        match self {
            Seen::Encoded(encoded) => encoded.number(slot),
            Seen::Read(read) => read.number(slot),
        }
    }

    #[inline]
    fn integer(&self, slot: SlotId) -> Option<i64> {
        match self {
            Seen::Encoded(encoded) => encoded.integer(slot),
            Seen::Read(read) => read.integer(slot),
        }
    }
}

impl Snapshot {
    /// Whether verdicts on requests can be found without evaluating anything: by an index that divides, where nobody is asked
    /// besides. The time must not matter either.
    #[inline]
    fn has_table_decisions(&self) -> bool {
        self.is_sourced.is_empty() && matches!(self.index, Index::Diagram(_) | Index::Changed(_))
    }

    /// The verdict on a request, if it can be found so; nothing goes along with it.
    #[inline]
    fn verdict(&self, seen: &impl SlotReader) -> Option<Verdict> {
        match &self.index {
            Index::Diagram(diagram) => diagram.table_decision(&self.program, seen),
            Index::Changed(changed) => changed.table_decision(&self.program, seen),
            Index::Scan(_) | Index::Bloom(_) | Index::Canonical(_) => None,
        }
    }
}

/// Whoever asks is told which attribute could not be had. Why is the operator's affair: it may name addresses, entries of
/// a directory, answers of services.
#[cold]
fn failed(name: &AttributeName, error: SourceError) -> Box<Fault> {
    let SourceError { message, missing } = error;
    let mut fault = match missing {
        None => Fault::processing(String::new()),
        Some(missing) => Fault::missing(*missing),
    };
    fault.message = format!("the attribute source for `{}` failed", name.id);
    fault.cause = Some(message);
    fault
}

impl<'p> Asking<'p> {
    pub(crate) fn new(pdp: &'p Pdp, snapshot: &'p Snapshot) -> Asking<'p> {
        let moment = match &pdp.clock {
            Some(clock) if snapshot.time.is_used() => Some(Box::new(Moment::at(clock()))),
            _ => None,
        };
        Asking {
            pdp,
            snapshot,
            beside: None,
            moment,
            contents: OnceCell::new(),
            nested_left: Cell::new(NESTED_DECISIONS_MAX),
            nested_depth: Cell::new(0),
            steps_left: Cell::new(REQUEST_STEPS_MAX),
            has_spent_steps: Cell::new(false),
        }
    }

    /// Whether the individual decision under way has spent a budget.
    pub(crate) fn is_spent(&self) -> bool {
        self.has_spent_steps.get() || self.contents.get().is_some_and(Contents::is_spent)
    }

    /// Begins the next individual decision: that one before it took too long is not its fault.
    pub(crate) fn begin(&self) {
        self.has_spent_steps.set(false);
        if let Some(contents) = self.contents.get() {
            contents.forget_spent();
        }
    }

    /// The content of the request; shared by all individual decisions.
    pub(crate) fn contents(&self) -> &Contents {
        self.contents.get_or_init(Contents::default)
    }

    /// Looks whether there may be one more decision within this one. Where there may not, the whole decision is
    /// Indeterminate: nobody buys a Permit with a request that asks for many.
    ///
    /// # Errors
    /// Too many of them, or too deep.
    pub(crate) fn check_nested(&self) -> Result<(), Box<Fault>> {
        if self.nested_left.get() > 0 && self.nested_depth.get() < NESTED_DEPTH_MAX {
            return Ok(());
        }
        self.has_spent_steps.set(true);
        Err(Fault::processing(format!(
            "`access-permitted` asks for more than {NESTED_DECISIONS_MAX} decisions, or more than {NESTED_DEPTH_MAX} deep"
        )))
    }

    /// A decision asked for from within a decision.
    ///
    /// # Errors
    /// Too many of them, or too deep.
    pub(crate) fn nested(&self, request: &Request) -> Result<Vote, Box<Fault>> {
        self.check_nested()?;
        let depth = self.nested_depth.get();
        self.nested_left.set(self.nested_left.get().saturating_sub(1));
        self.nested_depth.set(depth + 1);
        let decided = self.vote_by_index(request, ListPolicies::No);
        self.nested_depth.set(depth);
        decided.map(|(vote, _)| vote)
    }

    /// Evaluates with the index in force.
    #[inline]
    fn vote_by_index(
        &self,
        request: &Request,
        list: ListPolicies,
    ) -> Result<(Vote, Vec<NodeId>), Box<Fault>> {
        if let Some(vote) = self.table_decision(request, list) {
            return Ok((vote, Vec::new()));
        }
        self.vote_by_evaluating(request, list)
    }

    /// The same where there is no table decision.
    #[inline]
    fn vote_by_evaluating(
        &self,
        request: &Request,
        list: ListPolicies,
    ) -> Result<(Vote, Vec<NodeId>), Box<Fault>> {
        match &self.snapshot.index {
            Index::Scan(everything) => self.vote(request, everything, &Unwatched, list),
            Index::Bloom(bloom) => self.vote(request, bloom, &Unwatched, list),
            Index::Canonical(canonical) => self.vote(request, canonical, &Unwatched, list),
            Index::Diagram(diagram) => self.vote(request, &**diagram, &Unwatched, list),
            Index::Changed(changed) => self.vote(request, &**changed, &Unwatched, list),
        }
    }

    /// What can be answered without evaluating anything; nothing goes along with it.
    #[inline]
    fn table_decision(&self, request: &Request, list: ListPolicies) -> Option<Vote> {
        if list == ListPolicies::Yes || self.moment.is_some() || !self.snapshot.has_table_decisions() {
            return None;
        }
        self.snapshot.verdict(&Seen::new(self.snapshot, request)?).map(Vote::plain)
    }

    /// One individual decision.
    #[inline]
    pub(crate) fn decide(&self, request: &Request) -> ResultOf {
        self.begin();
        let list = if request.return_policy_ids { ListPolicies::Yes } else { ListPolicies::No };
        self.result_of(request, self.vote_by_index(request, list))
    }

    #[inline]
    fn result_of(&self, request: &Request, decided: Result<(Vote, Vec<NodeId>), Box<Fault>>) -> ResultOf {
        match decided {
            Ok((vote, applicable)) => self.result(request, vote, applicable),
            Err(fault) => ResultOf::with_status(Decision::Indeterminate, Status::from(&*fault)),
        }
    }

    /// The same, with its record. Sources are asked once, so where there are any the decision is watched from the start;
    /// where there are none, only one that failed is evaluated again, and that costs no other decision its steps.
    fn decide_recorded(&self, request: &Request, recording: Recording) -> (ResultOf, Record) {
        let snapshot = self.snapshot.info.id;
        let list = match recording.policies || request.return_policy_ids {
            true => ListPolicies::Yes,
            false => ListPolicies::No,
        };
        let is_sourced = !self.snapshot.is_sourced.is_empty();
        let watch = Watch::new(&self.snapshot.program);
        self.begin();
        let decided =
            if is_sourced { self.watched(request, &watch, list) } else { self.vote_by_index(request, list) };
        let (vote, applicable) = match decided {
            Ok(decided) => decided,
            Err(fault) => {
                let result = ResultOf::with_status(Decision::Indeterminate, Status::from(&*fault));
                return (result, Record::failed(snapshot, fault.whole_message()));
            }
        };
        let policies = applicable.iter().filter_map(|id| self.policy_identifier(*id)).collect();
        let mut record = Record { snapshot, policies, ..Record::default() };
        if matches!(vote.verdict, Verdict::Indeterminate(_)) {
            let is_spent = self.is_spent();
            if !is_sourced && !is_spent {
                let (nested, steps) = (self.nested_left.replace(NESTED_DECISIONS_MAX), self.steps_left.get());
                // What it comes to is known.
                let _ = self.vote(request, &Index::Scan(Everything), &watch, ListPolicies::No);
                self.nested_left.set(nested);
                self.steps_left.set(steps);
            }
            let watched = watch.record(snapshot);
            record.failures = watched.failures;
            record.failures_more = watched.failures_more;
            if record.failures.is_empty() || is_spent {
                let message =
                    vote.fault.as_ref().map(|fault| fault.whole_message().into_owned()).unwrap_or_default();
                record.failures = vec![Failure::outside(message)];
            }
        }
        (self.result(request, vote, applicable), record)
    }

    /// Evaluates with the index in force, watched. Not by an evaluator of its own for each kind of index, as what nobody watches.
    fn watched(
        &self,
        request: &Request,
        watch: &Watch<'_>,
        list: ListPolicies,
    ) -> Result<(Vote, Vec<NodeId>), Box<Fault>> {
        self.vote(request, &self.snapshot.index, watch, list)
    }

    /// Evaluates until no attribute is missing that a source might have.
    ///
    /// # Errors
    /// A source that failed, or too many rounds.
    pub(crate) fn vote<S: Shortlist, T: Trace>(
        &self,
        request: &Request,
        shortlist: &S,
        trace: &T,
        list: ListPolicies,
    ) -> Result<(Vote, Vec<NodeId>), Box<Fault>> {
        let surroundings = RequestSurroundings::new(self, request);
        let mut fetched = Fetched::new();
        for _ in 0..SOURCE_ROUNDS_MAX {
            let question = self.encode(request, &fetched, &surroundings);
            let evaluator = Evaluator::new(&self.snapshot.program, &question, shortlist, trace, list)
                .within(self.steps_left.get());
            let vote = evaluator.decide();
            self.steps_left.set(self.steps_left.get().saturating_sub(evaluator.steps()));
            if evaluator.is_spent() {
                self.has_spent_steps.set(true);
            }
            let applicable = evaluator.into_applicable();
            let needs = question.needs();
            if needs.is_empty() {
                return Ok((vote, applicable));
            }
            // All are asked before one that failed ends it: a source may note what is wanted of it.
            let values: Vec<_> = needs.into_iter().map(|slot| (slot, self.fetch(slot, request))).collect();
            for (slot, values) in values {
                fetched.push((slot, values?));
            }
        }
        Err(Fault::processing(format!(
            "the attribute sources were asked more than {SOURCE_ROUNDS_MAX} times"
        )))
    }

    /// The question, with what the moment and the sources know beside the request.
    #[inline(always)]
    fn encode<'r>(
        &'r self,
        request: &'r Request,
        fetched: &'r Fetched,
        surroundings: &'r dyn Surroundings,
    ) -> Question<'r> {
        let snapshot = self.snapshot;
        let slots = &snapshot.program.slots;
        let attributes = &request.categories;
        let encoding = attributes.encoding();
        let mut question = Question::new(slots, attributes, surroundings, &snapshot.is_sourced, encoding);
        if let Some(moment) = &self.moment {
            for (slot, values) in snapshot.time.with(moment) {
                if matches!(request.categories.read(slots.name(slot), slots.key(slot)), Reading::Absent) {
                    question.supply(slot, values);
                }
            }
        }
        for (slot, values) in fetched {
            question.supply(*slot, values);
        }
        question
    }

    fn fetch(&self, slot: SlotId, request: &Request) -> Result<Vec<Value>, Box<Fault>> {
        let name = self.snapshot.program.slots.name(slot);
        let own = self.pdp.sources.iter().map(|source| &**source);
        let own = own.filter(|source| self.beside.is_none() || !source.is_announcement());
        let is_announced =
            || self.pdp.sources.iter().any(|source| source.is_announcement() && source.provides(name));
        if self.beside.is_some_and(|beside| !beside.provides(name) && is_announced()) {
            return Err(failed(name, SourceError::new("nobody was given who could be asked")));
        }
        let sources = self.beside.into_iter().chain(own);
        for source in sources.filter(|source| source.provides(name)) {
            let mut values = source.values(name, request).map_err(|error| failed(name, error))?;
            values.retain(|value| value.data_type() == name.data_type);
            if !values.is_empty() {
                return Ok(values.into_iter().map(Value::in_normal_form).collect());
            }
        }
        Ok(Vec::new())
    }

    #[inline]
    fn result(&self, request: &Request, vote: Vote, applicable: Vec<NodeId>) -> ResultOf {
        let decision = decision_of(vote.verdict);
        let mut result = match &vote.fault {
            Some(fault) => ResultOf::with_status(decision, Status::from(&**fault)),
            None => ResultOf::new(decision),
        };
        if let Some(duties) = vote.duties {
            result.obligations = duties.obligations.into_iter().map(duty::to_xacml).collect();
            result.advice = duties.advice.into_iter().map(duty::to_xacml).collect();
        }
        if request.categories.has_echoes() {
            result.attributes = Echoes::of(request.categories.included());
        }
        if request.return_policy_ids {
            result.policy_ids =
                Some(applicable.into_iter().filter_map(|id| self.policy_identifier(id)).collect());
        }
        result
    }

    fn policy_identifier(&self, id: NodeId) -> Option<PolicyIdentifier> {
        let Node::Set(set) = self.snapshot.program.node(id) else { return None };
        let kind = match set.kind {
            SetKind::Policy => PolicyKind::Policy,
            SetKind::PolicySet => PolicyKind::PolicySet,
            SetKind::Root => return None,
        };
        Some(PolicyIdentifier { kind, id: set.id.clone(), version: Some(set.version.clone()) })
    }
}

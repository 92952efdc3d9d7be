//! Subscriptions of SAPL, answered.
//!
//! What is touched per decision: the snapshot pointer; the fields of the subscription that policies compare; what the
//! index and the evaluator touch. Nothing is allocated where nothing goes along with a decision. Attribute sources of
//! XACML are not asked: they want a request.

mod batch;
mod record;

use durward_index::Index;
use durward_ir::Value;
use durward_ir::attribute::{AttributeName, NameKey};
use durward_ir::combine::{Verdict, Vote};
use durward_ir::evaluate::{Evaluator, Everything, ListPolicies, Memory, Shortlist, Trace, Unwatched};
use durward_ir::fault::Evaluated;
use durward_ir::path::Path;
use durward_ir::program::Program;
use durward_ir::question::{
    Attributes, Encoded, Encoding, Invocation, NoContent, Prepared, Question, RawSubscription, Reading,
    SlotReader, UNENCODED,
};
use durward_sapl::{Decision, Subscription, SubscriptionError};

pub use record::Recorded;

use crate::snapshot::Snapshot;
use crate::stream::{KnownAttributes, NothingKnown};
use crate::time::Moment;
use crate::{Decider, Pdp};

/// What a subscription is answered with what is known so far.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The decision; it stands only if nothing is needed.
    pub decision: Decision,
    /// The attribute finders that have yet to say something.
    pub needs: Vec<Invocation>,
}

impl Pdp {
    /// Answers a subscription with what is known at once. Attributes that policies ask for and nobody supplies are
    /// undefined. Never fails: what cannot be decided is Indeterminate.
    ///
    /// ```
    /// use durward_pdp::{Pdp, sapl::{Outcome, Subscription}};
    ///
    /// let policy = r#"policy "doctors" permit subject.role == "doctor";"#;
    /// let pdp = Pdp::builder().policy("doctors.sapl", policy).build().map_err(|errors| errors[0].to_string())?;
    ///
    /// let ask = |json: &str| Subscription::from_json(json.as_bytes()).map(|asked| pdp.decide_once(&asked).outcome);
    /// let doctor = r#"{"subject":{"role":"doctor"},"action":"read","resource":"record"}"#;
    /// assert_eq!(ask(doctor), Ok(Outcome::Permit));
    /// let visitor = r#"{"subject":{"role":"visitor"},"action":"read","resource":"record"}"#;
    /// assert_eq!(ask(visitor), Ok(Outcome::Deny));
    /// # Ok::<(), String>(())
    /// ```
    #[inline]
    pub fn decide_once(&self, subscription: &Subscription) -> Decision {
        self.decide_once_by(&self.snapshot.load(), subscription)
    }

    /// Answers by these policies.
    #[inline]
    pub(crate) fn decide_once_by(&self, snapshot: &Snapshot, subscription: &Subscription) -> Decision {
        if let Some(decision) = &snapshot.constant {
            return decision.clone();
        }
        match table_decision(snapshot, subscription) {
            Some(verdict) => Decision::plain(verdict.into()),
            None => self.evaluated(snapshot, subscription),
        }
    }

    /// Answers a subscription with what is known at once, and says which attribute finders have yet to be asked. As
    /// [`Pdp::decide_once`] where no policy that matters asks one.
    #[inline]
    pub fn attempt_once(&self, subscription: &Subscription) -> Attempt {
        self.attempt_once_by(&self.snapshot.load(), subscription, &NothingKnown)
    }

    /// Answers a subscription of JSON; see [`Subscription::from_json`]. Faster than to read it and to ask: what policies
    /// compare is looked at in the text, and values are made only where a policy looks deeper.
    ///
    /// # Errors
    /// The text is no JSON, or no subscription.
    ///
    /// ```
    /// use durward_pdp::{Pdp, sapl::Outcome};
    ///
    /// let policy = r#"policy "doctors" permit subject.role == "doctor";"#;
    /// let pdp = Pdp::builder().policy("doctors.sapl", policy).build().map_err(|errors| errors[0].to_string())?;
    ///
    /// let doctor = br#"{"subject":{"role":"doctor"},"action":"read","resource":"record"}"#;
    /// assert_eq!(pdp.decide_json(doctor).map(|decision| decision.outcome), Ok(Outcome::Permit));
    /// # Ok::<(), String>(())
    /// ```
    #[inline]
    pub fn decide_json(&self, text: &[u8]) -> Result<Decision, SubscriptionError> {
        let subscription = match durward_ir::json::read_subscription(text) {
            Ok(raw) => match self.decide_raw(&raw) {
                Some(decision) => return Ok(decision),
                None => Subscription::from_raw(raw),
            },
            Err(_) => Subscription::from_json(text)?,
        };
        Ok(self.decide_once(&subscription))
    }

    /// Answers a subscription of which no values were made; `None` where an answer needs them. What is answered needs
    /// no attribute finder.
    #[inline]
    pub fn decide_raw(&self, raw: &RawSubscription<'_>) -> Option<Decision> {
        let snapshot = self.snapshot.load();
        if let Some(decision) = &snapshot.constant {
            return Some(decision.clone());
        }
        if snapshot.time.is_used() {
            return None;
        }
        let verdict = Prepared::look(&snapshot.program.slots, raw.compact(), raw, |prepared| {
            verdict_by_reader(&snapshot, prepared)
        });
        verdict.map(|verdict| Decision::plain(verdict.into()))
    }

    /// By these policies, and with what attribute finders have said so far.
    #[inline]
    pub(crate) fn attempt_once_by(
        &self,
        snapshot: &Snapshot,
        subscription: &Subscription,
        known: &dyn KnownAttributes,
    ) -> Attempt {
        if let Some(decision) = &snapshot.constant {
            return Attempt { decision: decision.clone(), needs: Vec::new() };
        }
        match table_decision(snapshot, subscription) {
            Some(verdict) => Attempt { decision: Decision::plain(verdict.into()), needs: Vec::new() },
            None => self.attempt(snapshot, &Supplied { subscription, known }, subscription.encoding()),
        }
    }

    fn evaluated(&self, snapshot: &Snapshot, subscription: &Subscription) -> Decision {
        self.attempt(snapshot, subscription, subscription.encoding()).decision
    }

    /// Looks up what the policies in force will ask for, for those who ask a subscription more than once. The answer is
    /// the same without; after other policies came into force, it is looked up as it is asked for again.
    pub fn encode_subscription(&self, subscription: &mut Subscription) {
        subscription.encode(&self.snapshot.load().program.slots);
    }

    /// Answers with what `known` has, the values of attribute finders included, and says which of those it lacks.
    pub fn decide_known(&self, known: &dyn Attributes) -> Attempt {
        let snapshot = self.snapshot.load();
        match &snapshot.constant {
            Some(decision) => Attempt { decision: decision.clone(), needs: Vec::new() },
            None => self.attempt(&snapshot, known, &UNENCODED),
        }
    }

    /// Evaluates what no table of decisions answers, and says which attributes nobody supplied.
    // Not inlined: every crate that asks would have an evaluator of its own for each kind of index.
    #[inline(never)]
    pub(crate) fn attempt(
        &self,
        snapshot: &Snapshot,
        known: &dyn Attributes,
        encoding: &Encoding,
    ) -> Attempt {
        match &snapshot.index {
            Index::Scan(everything) => self.attempt_by(snapshot, known, encoding, everything),
            Index::Bloom(bloom) => self.attempt_by(snapshot, known, encoding, bloom),
            Index::Canonical(canonical) => self.attempt_by(snapshot, known, encoding, canonical),
            Index::Diagram(diagram) => self.attempt_by(snapshot, known, encoding, &**diagram),
            Index::Changed(changed) => self.attempt_by(snapshot, known, encoding, &**changed),
        }
    }

    #[inline]
    fn attempt_by<S: Shortlist>(
        &self,
        snapshot: &Snapshot,
        known: &dyn Attributes,
        encoding: &Encoding,
        shortlist: &S,
    ) -> Attempt {
        if let Some(verdict) = snapshot.program.foregone(known, encoding) {
            return Attempt { decision: Decision::plain(verdict.into()), needs: Vec::new() };
        }
        self.asking(snapshot, known, encoding, |question| {
            let vote = vote(&snapshot.program, question, shortlist);
            let needs = question.invocations();
            Attempt { decision: vote.into(), needs }
        })
    }

    /// Decides a subscription watched; without an index.
    pub(crate) fn watched(&self, snapshot: &Snapshot, known: &dyn Attributes, trace: &impl Trace) -> Vote {
        self.asking(snapshot, known, &UNENCODED, |question| {
            Evaluator::new(&snapshot.program, question, &Everything, trace, ListPolicies::No).decide()
        })
    }

    #[inline]
    pub(crate) fn asking<R>(
        &self,
        snapshot: &Snapshot,
        known: &dyn Attributes,
        encoding: &Encoding,
        ask: impl FnOnce(&Question<'_>) -> R,
    ) -> R {
        let slots = &snapshot.program.slots;
        let mut question = Question::new(slots, known, &NoContent, &[], encoding);
        let moment;
        if let Some(clock) = &self.clock
            && snapshot.time.is_used()
        {
            moment = Moment::at(clock());
            for (slot, values) in snapshot.time.with(&moment) {
                if matches!(known.read(slots.name(slot), slots.key(slot)), Reading::Absent) {
                    question.supply(slot, values);
                }
            }
        }
        ask(&question)
    }
}

impl Decider<'_> {
    /// See [`Pdp::decide_once`].
    #[inline]
    pub fn decide_once(&mut self, subscription: &Subscription) -> Decision {
        let (pdp, snapshot) = self.in_force();
        pdp.decide_once_by(snapshot, subscription)
    }
}

/// A subscription, and what attribute finders have said of it.
pub(crate) struct Supplied<'a> {
    pub(crate) subscription: &'a Subscription,
    pub(crate) known: &'a dyn KnownAttributes,
}

impl Attributes for Supplied<'_> {
    fn read<'a>(&'a self, name: &AttributeName, key: NameKey) -> Reading<'a> {
        self.subscription.read(name, key)
    }

    #[inline]
    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        self.subscription.part(path)
    }

    fn place(&self, path: &Path) -> Option<u16> {
        self.subscription.place(path)
    }

    #[inline]
    fn at(&self, place: u16) -> Option<&Value> {
        self.subscription.at(place)
    }

    fn found(&self, invocation: &Invocation) -> Option<Evaluated<Value>> {
        self.known.get(invocation).cloned()
    }
}

/// What can be answered without evaluating anything; nothing goes along with it.
#[inline]
fn table_decision(snapshot: &Snapshot, subscription: &Subscription) -> Option<Verdict> {
    if snapshot.time.is_used() {
        return None;
    }
    let (slots, compact) = (&snapshot.program.slots, subscription.compact());
    match Encoded::new(slots, subscription.encoding(), compact) {
        Some(encoded) => verdict_by_reader(snapshot, &encoded),
        None => {
            Prepared::look(slots, compact, subscription, |prepared| verdict_by_reader(snapshot, prepared))
        }
    }
}

/// Where a verdict was computed ahead, or can be found in the index.
#[inline]
fn verdict_by_reader(snapshot: &Snapshot, reader: &impl SlotReader) -> Option<Verdict> {
    if let Some(verdict) = snapshot.program.foregone_by_reader(reader) {
        return Some(verdict);
    }
    match &snapshot.index {
        Index::Diagram(diagram) => diagram.table_decision(&snapshot.program, reader),
        Index::Changed(changed) => changed.table_decision(&snapshot.program, reader),
        Index::Scan(_) | Index::Bloom(_) | Index::Canonical(_) => None,
    }
}

/// What the documents in the shortlist say together.
#[inline]
pub(crate) fn vote<S: Shortlist>(program: &Program, question: &Question<'_>, shortlist: &S) -> Vote {
    let memory = Memory::new();
    Evaluator::new(program, question, shortlist, &Unwatched, ListPolicies::No).remembering(&memory).decide()
}

//! What must be: the rules of streaming decisions, written down as simply as possible. Nothing is shared with the
//! product but the questions and how they are answered; everything is decided afresh all the time.

use std::collections::BTreeMap;
use std::fmt;

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::ir::fault::Evaluated;
use durward_pdp::stream::{Decider, Invocation, KnownAttributes, Step};

use super::sources::serves;
use crate::world::{Found, Question, Rules};

/// Where the source of a stream stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// There is no finder.
    None,
    /// To be opened at once.
    Due,
    /// Open since then; whether it has published.
    Open { id: u64, since: i64, has_published: bool },
    /// Completed, or failed too often.
    Resting,
    /// Failed.
    Retrying,
}

#[derive(Debug)]
struct Stream {
    value: Option<Evaluated<Value>>,
    source: Source,
    retries: u64,
    invocation: Invocation,
}

/// What an attribute is for one subscription.
#[derive(Clone, Debug)]
enum Use {
    /// The value of the stream.
    Whole,
    /// The first value; `None` until it is there.
    Head(Option<Evaluated<Value>>),
    /// What is no longer in force.
    Stale,
}

struct Subscription {
    question: Question,
    uses: Vec<(Invocation, Use)>,
    decision: Option<String>,
    given: Option<String>,
}

/// What a source has said, to be heard in the next round.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Value(Value),
    Completed,
    Failed,
}

/// See the module.
#[derive(Default)]
pub(super) struct Model {
    pub(super) rules: Rules,
    pub(super) bound: u64,
    streams: BTreeMap<String, Stream>,
    subscriptions: BTreeMap<u64, Subscription>,
    unheard: Vec<(u64, Said)>,
    gone: Vec<u64>,
}

impl Model {
    pub(super) fn with(rules: Rules, bound: u64) -> Model {
        Model { rules, bound, ..Model::default() }
    }

    /// Gives all streams that are to be opened their value at once. Whether there were any.
    pub(super) fn feed(&mut self, value: impl Fn(&str) -> Value) -> bool {
        let mut has_fed = false;
        for (name, stream) in self.streams.iter_mut().filter(|(_, stream)| stream.source == Source::Due) {
            stream.value = Some(Ok(value(name)));
            stream.source = Source::Open { id: 0, since: 0, has_published: true };
            has_fed = true;
        }
        self.fill_heads();
        has_fed
    }

    /// A source has been opened. Whether one was to be.
    pub(super) fn opened(&mut self, name: &str, id: u64, now: i64) -> Result<(), String> {
        let stream = self.streams.get_mut(name).ok_or(format!("nobody needs {name}, and it was opened"))?;
        match stream.source {
            Source::Due | Source::Retrying => {}
            Source::Resting => stream.retries = 0,
            Source::None | Source::Open { .. } => return Err(format!("{name} was opened: {stream:?}")),
        }
        stream.source = Source::Open { id, since: now, has_published: false };
        Ok(())
    }

    /// Whether all sources are open that are to be.
    pub(super) fn check_opened(&self) -> Result<(), String> {
        match self.streams.iter().find(|(_, stream)| stream.source == Source::Due) {
            Some((name, _)) => Err(format!("{name} is needed, and was not opened")),
            None => Ok(()),
        }
    }

    /// A source says something. Of several values before the next round the latest counts.
    pub(super) fn said(&mut self, id: u64, said: Said) {
        if matches!(said, Said::Value(_)) {
            self.unheard.retain(|(other, _)| *other != id);
        }
        self.unheard.push((id, said));
    }

    pub(super) fn subscribe(&mut self, id: u64, question: Question) {
        self.subscriptions
            .insert(id, Subscription { question, uses: Vec::new(), decision: None, given: None });
    }

    pub(super) fn unsubscribe(&mut self, id: u64) {
        self.gone.push(id);
    }

    /// Whether anything waits for a round.
    pub(super) fn has_unheard(&self) -> bool {
        !self.unheard.is_empty() || !self.gone.is_empty()
    }

    pub(super) fn is_decided(&self, id: u64) -> bool {
        self.subscriptions.get(&id).is_some_and(|subscription| subscription.decision.is_some())
    }

    /// The decision of a subscription.
    pub(super) fn decision(&self, id: u64) -> Option<String> {
        self.subscriptions.get(&id)?.decision.clone()
    }

    /// A whole round.
    pub(super) fn round(&mut self, now: i64) {
        for (id, said) in std::mem::take(&mut self.unheard) {
            self.hear(id, &said);
        }
        for id in std::mem::take(&mut self.gone) {
            self.subscriptions.remove(&id);
        }
        self.pass_time(now);
        let ids: Vec<u64> = self.subscriptions.keys().copied().collect();
        ids.into_iter().for_each(|id| self.decide(id));
        self.drop_unused();
    }

    fn hear(&mut self, id: u64, said: &Said) {
        let is_it =
            |stream: &&mut Stream| matches!(stream.source, Source::Open { id: open, .. } if open == id);
        let Some(stream) = self.streams.values_mut().find(is_it) else { return };
        match said {
            Said::Value(value) => {
                stream.value = Some(Ok(value.clone()));
                if let Source::Open { has_published, .. } = &mut stream.source {
                    *has_published = true;
                }
            }
            Said::Completed => {
                if matches!(stream.source, Source::Open { has_published: false, .. }) {
                    stream.value = Some(Ok(Value::Undefined));
                }
                stream.source = Source::Resting;
            }
            Said::Failed => fail(stream, "down"),
        }
        self.fill_heads();
    }

    /// Sources that are late have failed.
    pub(super) fn pass_time(&mut self, now: i64) {
        for stream in self.streams.values_mut() {
            if let Source::Open { since, has_published: false, .. } = stream.source
                && since + stream.invocation.options.initial_timeout_ms as i64 <= now
            {
                stream.value = Some(Ok(Value::Undefined));
                fail(stream, "no value within the initial timeout");
            }
        }
        self.fill_heads();
    }

    fn fill_heads(&mut self) {
        for subscription in self.subscriptions.values_mut() {
            for (invocation, used) in &mut subscription.uses {
                if let Use::Head(head @ None) = used {
                    *head = self.streams.get(&*invocation.name).and_then(|stream| stream.value.clone());
                }
            }
        }
    }

    /// Decides one subscription as far as possible.
    pub(super) fn decide(&mut self, id: u64) {
        loop {
            let Some(subscription) = self.subscriptions.get(&id) else { return };
            let known = Seen { streams: &self.streams, uses: &subscription.uses, asked: Default::default() };
            match self.rules.step(&subscription.question, &known) {
                Step::Decided(Found(found)) => {
                    let asked = known.asked.into_inner();
                    let Some(subscription) = self.subscriptions.get_mut(&id) else { return };
                    subscription.uses.retain(|(invocation, used)| {
                        !matches!(used, Use::Stale) && asked.contains(invocation)
                    });
                    subscription.decision = Some(found);
                    return;
                }
                Step::Needs(needs) => {
                    if !self.need(id, &needs) {
                        return;
                    }
                }
            }
        }
    }

    /// Makes a subscription use these. Whether it is worth another attempt: one has a value now, or all have.
    fn need(&mut self, id: u64, needs: &[Invocation]) -> bool {
        let (mut are_known, mut is_news) = (true, false);
        for invocation in needs {
            let whole = Invocation { head: false, ..invocation.clone() };
            let is_served = serves(self.bound, &invocation.name);
            let Some(subscription) = self.subscriptions.get_mut(&id) else { return false };
            let uses = &mut subscription.uses;
            let held = uses.iter().position(|(used, how)| used == invocation && !matches!(how, Use::Stale));
            let is_fixed_head = held.is_some_and(|at| matches!(uses[at].1, Use::Head(Some(_))));
            if is_fixed_head {
                continue;
            }
            let stream = self.streams.entry(invocation.name.to_string()).or_insert_with(|| Stream {
                value: (!is_served).then_some(Ok(Value::Undefined)),
                source: if is_served { Source::Due } else { Source::None },
                retries: 0,
                invocation: whole,
            });
            if held.is_none() {
                let used = if invocation.head { Use::Head(stream.value.clone()) } else { Use::Whole };
                uses.push((invocation.clone(), used));
                is_news |= stream.value.is_some();
            }
            are_known &= stream.value.is_some();
        }
        are_known || is_news
    }

    pub(super) fn drop_unused(&mut self) {
        let uses = self.subscriptions.values().flat_map(|subscription| &subscription.uses);
        let needed = uses.filter(|(_, used)| matches!(used, Use::Whole | Use::Head(None)));
        let names: Vec<String> = needed.map(|(invocation, _)| invocation.name.to_string()).collect();
        self.streams.retain(|name, _| names.contains(name));
    }

    /// Other policies. Sources are opened anew when the variables are others.
    pub(super) fn replace(&mut self, rules: Rules) {
        let are_variables_new = rules.surroundings != self.rules.surroundings;
        self.rules = rules;
        for (_, used) in self.subscriptions.values_mut().flat_map(|one| &mut one.uses) {
            if matches!(used, Use::Head(_)) {
                *used = Use::Stale;
            }
        }
        if are_variables_new {
            self.forget(|stream| stream.source != Source::None);
        }
        self.drop_unused();
    }

    /// Another finder, for attributes below another bound.
    pub(super) fn set_finder(&mut self, bound: u64) {
        self.bound = bound;
        self.forget(|stream| stream.source != Source::None || serves(bound, &stream.invocation.name));
    }

    fn forget(&mut self, which: impl Fn(&Stream) -> bool) {
        let mut names = Vec::new();
        self.streams.retain(|name, stream| {
            let is_meant = which(stream);
            names.extend(is_meant.then(|| name.clone()));
            !is_meant
        });
        for (invocation, used) in self.subscriptions.values_mut().flat_map(|one| &mut one.uses) {
            if names.contains(&invocation.name.to_string()) && matches!(used, Use::Whole | Use::Head(None)) {
                *used = Use::Stale;
            }
        }
    }

    /// What a subscriber must be given now.
    pub(super) fn take(&mut self, id: u64) -> Option<String> {
        let subscription = self.subscriptions.get_mut(&id)?;
        if subscription.decision == subscription.given {
            return None;
        }
        subscription.given.clone_from(&subscription.decision);
        subscription.decision.clone()
    }

    /// What the subscriber of a multi-subscription must be given now.
    pub(super) fn take_group(&mut self, ids: &[u64], are_all_wanted: bool) -> Option<Vec<(u64, String)>> {
        let subscriptions: Vec<&Subscription> =
            ids.iter().filter_map(|id| self.subscriptions.get(id)).collect();
        let are_decided = subscriptions.iter().all(|one| one.decision.is_some());
        let is_news = subscriptions.iter().any(|one| one.decision != one.given);
        if !are_decided || !is_news {
            return None;
        }
        let given = ids.iter().filter_map(|id| {
            let decision = self.subscriptions.get(id)?.decision.clone();
            let is_new = self.take(*id).is_some();
            decision.filter(|_| is_new || are_all_wanted).map(|decision| (*id, decision))
        });
        Some(given.collect())
    }
}

/// For whoever looks for what a seed has found.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, stream) in &self.streams {
            writeln!(f, "  {name}: {:?} {:?}, {} retries", stream.source, stream.value, stream.retries)?;
        }
        for (id, subscription) in &self.subscriptions {
            writeln!(f, "  subscription {id}: {:?}", subscription.decision)?;
            for (invocation, used) in &subscription.uses {
                writeln!(f, "    {} {used:?}", invocation.name)?;
            }
        }
        Ok(())
    }
}

fn fail(stream: &mut Stream, reason: &str) {
    if stream.retries < stream.invocation.options.retries {
        stream.retries += 1;
        stream.source = Source::Retrying;
        return;
    }
    let (name, retries) = (&stream.invocation.name, stream.retries);
    let message = format!("the attribute `{name}` failed, after {retries} retries: {reason}");
    stream.value = Some(Err(Fault::processing(message)));
    stream.source = Source::Resting;
}

/// What a subscription knows.
struct Seen<'a> {
    streams: &'a BTreeMap<String, Stream>,
    uses: &'a [(Invocation, Use)],
    asked: std::cell::RefCell<Vec<Invocation>>,
}

impl KnownAttributes for Seen<'_> {
    fn get(&self, invocation: &Invocation) -> Option<&Evaluated<Value>> {
        self.asked.borrow_mut().push(invocation.clone());
        let mut uses = self.uses.iter().filter(|(_, used)| !matches!(used, Use::Stale));
        match &uses.find(|(used, _)| used == invocation)?.1 {
            Use::Whole => self.streams.get(&*invocation.name)?.value.as_ref(),
            Use::Head(value) => value.as_ref(),
            Use::Stale => None,
        }
    }
}

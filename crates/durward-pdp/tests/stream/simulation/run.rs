//! One simulated life.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use durward_pdp::Value;
use durward_pdp::stream::{
    BrokerSettings, Finder, FinderOptions, Invocation, MultiSubscription, Publisher, Streams, Subscription,
    Surroundings,
};
use durward_testdata::TestShift;

use super::model::{Model, Said};
use super::sources::{Happened, Opened, Simulated};
use crate::world::{Ask, Question, Rules, attribute, number};

/// How many attributes there are; the last ones have no finder.
const ATTRIBUTES: u64 = 7;

/// What is broken in a simulated world, to see whether it is found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    None,
    /// One value in twenty is published as the one before it.
    LateValue,
    /// One value in twenty is lost on its way.
    LostValue,
    /// One set of policies in two is never put in force.
    LostPolicies,
    /// The driver does not hear that it is woken.
    DeafDriver,
}

struct Source {
    name: String,
    id: u64,
    publisher: Publisher,
    /// When it does something next.
    next: i64,
    last: Value,
}

enum Subscriber {
    One(u64, Subscription<Rules>),
    Several(Vec<u64>, MultiSubscription<Rules>, bool),
}

struct Life {
    chance: TestShift,
    fault: Fault,
    streams: Streams<Rules>,
    model: Model,
    happened: Arc<Mutex<Happened>>,
    sources: Vec<Source>,
    subscribers: Vec<Subscriber>,
    questions: BTreeMap<u64, Question>,
    is_woken: Arc<AtomicBool>,
    next_tick: Option<i64>,
    now: i64,
    last_subscription: u64,
    /// Whether sources publish once and then stay.
    is_steady: bool,
}

/// Lives through a seed. What was violated, if anything.
pub(super) fn run(seed: u64, fault: Fault) -> Result<(), String> {
    let mut life = Life::begin(seed, fault);
    for step in 0..150 {
        life.step().map_err(|violation| {
            format!("safety, step {step}, at {} ms: {violation}\nthe model:\n{}", life.now, life.model)
        })?;
    }
    life.settle().map_err(|violation| format!("liveness: {violation}"))
}

impl Life {
    fn begin(seed: u64, fault: Fault) -> Life {
        let is_woken = Arc::new(AtomicBool::new(true));
        let waking = Arc::clone(&is_woken);
        let wake = move || waking.store(fault != Fault::DeafDriver, Ordering::Relaxed);
        let streams = Streams::new(Arc::new(Rules::default()), BrokerSettings::default(), seed, wake);
        let mut life = Life {
            chance: TestShift::new(seed),
            fault,
            streams,
            model: Model::default(),
            happened: Arc::default(),
            sources: Vec::new(),
            subscribers: Vec::new(),
            questions: BTreeMap::new(),
            is_woken,
            next_tick: None,
            now: 1_000_000,
            last_subscription: 0,
            is_steady: false,
        };
        life.set_finder(ATTRIBUTES - 1);
        life
    }

    fn step(&mut self) -> Result<(), String> {
        match self.chance.below(20) {
            0..=2 => self.subscribe()?,
            3 => self.subscribe_several()?,
            4 => self.leave(),
            5 if self.chance.once_in(2) => self.replace(),
            6 if self.chance.once_in(4) => {
                let bound = ATTRIBUTES - 1 - self.chance.below(2);
                self.set_finder(bound);
            }
            _ => {
                // Mostly little time passes; sometimes long enough for polls and timeouts.
                let most = [1, 20, 300, 3_000][self.chance.below(4) as usize];
                self.now += self.chance.below(most) as i64;
                self.act_sources();
            }
        }
        self.observe()?;
        // A driver may be late.
        if !self.chance.once_in(3) {
            self.drive()?;
        }
        self.look()
    }

    /// Sources become steady; then everybody must come to the decision that their values make.
    fn settle(&mut self) -> Result<(), String> {
        self.is_steady = true;
        for source in &mut self.sources {
            source.next = self.now;
        }
        for _ in 0..400 {
            self.now += 100;
            self.act_sources();
            self.observe()?;
            self.drive()?;
            self.look()?;
        }
        let mut steady = Model::with(self.model.rules.clone(), self.model.bound);
        for (id, question) in &self.questions {
            steady.subscribe(*id, question.clone());
        }
        steady.round(0);
        while steady.feed(steady_value) {
            steady.round(0);
        }
        for id in self.questions.keys() {
            let (is, ought) = (self.model.decision(*id), steady.decision(*id));
            if is != ought && !self.questions[id].ask.has_head() {
                return Err(format!("subscription {id} has {is:?}, and should have {ought:?}"));
            }
            if is.is_none() {
                return Err(format!("subscription {id} has no decision"));
            }
        }
        self.subscribers.clear();
        self.is_woken.store(true, Ordering::Relaxed);
        self.drive_plainly();
        let info = self.streams.info();
        let open = self.happened.lock().unwrap().open;
        if (info.subscriptions, info.undecided, info.streams, info.sources, open) != (0, 0, 0, 0, 0) {
            return Err(format!("{open} sources and {info:?} are left when nobody is"));
        }
        Ok(())
    }

    fn subscribe(&mut self) -> Result<(), String> {
        let question = Question::from(self.ask(2));
        let id = self.enter(&question);
        let subscription = self.streams.subscribe(question, self.now).map_err(|error| error.to_string())?;
        self.model.pass_time(self.now);
        self.model.decide(id);
        self.model.drop_unused();
        self.subscribers.push(Subscriber::One(id, subscription));
        self.expect_synchronous(&[id])
    }

    fn subscribe_several(&mut self) -> Result<(), String> {
        let questions: Vec<Question> =
            (0..=self.chance.below(3)).map(|_| Question::from(self.ask(1))).collect();
        let ids: Vec<u64> = questions.iter().map(|question| self.enter(question)).collect();
        let named = ids.iter().map(|id| id.to_string().into()).zip(questions).collect();
        let multi = self.streams.subscribe_all(named, self.now).map_err(|error| error.to_string())?;
        self.model.pass_time(self.now);
        ids.iter().for_each(|id| self.model.decide(*id));
        self.model.drop_unused();
        let are_all_wanted = self.chance.once_in(2);
        self.subscribers.push(Subscriber::Several(ids.clone(), multi, are_all_wanted));
        self.expect_synchronous(&ids)
    }

    /// One that is not decided at once takes what others have left in the inbox.
    fn expect_synchronous(&mut self, ids: &[u64]) -> Result<(), String> {
        if self.model.has_unheard() && !ids.iter().all(|id| self.model.is_decided(*id)) {
            self.model.round(self.now);
        }
        self.observe()
    }

    fn enter(&mut self, question: &Question) -> u64 {
        self.last_subscription += 1;
        self.model.subscribe(self.last_subscription, question.clone());
        self.questions.insert(self.last_subscription, question.clone());
        self.last_subscription
    }

    fn leave(&mut self) {
        if self.subscribers.is_empty() {
            return;
        }
        let at = self.chance.below(self.subscribers.len() as u64) as usize;
        let ids = match self.subscribers.swap_remove(at) {
            Subscriber::One(id, _) => vec![id],
            Subscriber::Several(ids, _, _) => ids,
        };
        for id in ids {
            self.model.unsubscribe(id);
            self.questions.remove(&id);
        }
    }

    fn replace(&mut self) {
        let variables = Value::object([("v", number(self.chance.below(2) as i64))]);
        let surroundings = Surroundings { variables, ..Surroundings::default() };
        let rules = Rules { name: format!("p{} ", self.chance.below(3)), surroundings };
        self.model.replace(rules.clone());
        if self.fault != Fault::LostPolicies || self.chance.once_in(2) {
            self.streams.replace(Arc::new(rules), self.now);
        }
    }

    fn set_finder(&mut self, bound: u64) {
        let finder = Simulated { happened: Arc::clone(&self.happened), bound };
        self.streams.set_finders(vec![Finder::outside(finder)], self.now);
        self.model.set_finder(bound);
        self.model.drop_unused();
    }

    /// A question of some depth.
    fn ask(&mut self, depth: u64) -> Ask {
        match self.chance.below(if depth == 0 { 2 } else { 5 }) {
            0 if self.chance.once_in(8) => Ask::Nothing,
            0 | 1 => Ask::Value(self.invocation()),
            2 => Ask::All((0..=self.chance.below(3)).map(|_| self.ask(depth - 1)).collect()),
            _ => Ask::If(self.invocation(), Box::new(self.ask(depth - 1)), Box::new(self.ask(depth - 1))),
        }
    }

    /// An attribute, whose name says its options.
    fn invocation(&mut self) -> Invocation {
        let n = self.chance.below(ATTRIBUTES);
        let options = FinderOptions {
            initial_timeout_ms: 200 + 100 * n,
            poll_interval_ms: 300 * n,
            retries: n % 3,
            backoff_ms: 50,
            fresh: false,
        };
        Invocation { options, head: self.chance.once_in(5), ..attribute(&format!("src.{n}")) }
    }

    /// Sources do what is due.
    fn act_sources(&mut self) {
        for at in 0..self.sources.len() {
            if self.sources[at].next <= self.now && !self.sources[at].publisher.is_closed() {
                self.act(at);
            }
        }
    }

    fn act(&mut self, at: usize) {
        let pause = [5, 50, 500, 5_000][self.chance.below(4) as usize];
        let source = &mut self.sources[at];
        source.next = self.now + 1 + self.chance.below(pause) as i64;
        if self.is_steady {
            let value = steady_value(&source.name);
            self.model.said(source.id, Said::Value(value.clone()));
            source.publisher.publish(Ok(value));
            source.next = i64::MAX;
            return;
        }
        match self.chance.below(10) {
            0 => {
                source.publisher.complete();
                self.model.said(source.id, Said::Completed);
            }
            1 | 2 => {
                source.publisher.fail("down");
                self.model.said(source.id, Said::Failed);
            }
            _ => {
                let value = match self.chance.below(4) {
                    0 => Value::Boolean(true),
                    1 => Value::Boolean(false),
                    n => number(n as i64),
                };
                self.model.said(source.id, Said::Value(value.clone()));
                let is_hit = self.chance.once_in(20);
                let said = if is_hit && self.fault == Fault::LateValue {
                    source.last.clone()
                } else {
                    value.clone()
                };
                if !is_hit || self.fault != Fault::LostValue {
                    source.publisher.publish(Ok(said));
                }
                source.last = value;
            }
        }
    }

    /// Hears which sources were opened and closed.
    fn observe(&mut self) -> Result<(), String> {
        let (opened, closed) = {
            let mut happened = self.happened.lock().unwrap();
            (std::mem::take(&mut happened.opened), std::mem::take(&mut happened.closed))
        };
        // One that was closed again within the same step is no longer needed.
        for Opened { name, id, publisher } in opened.into_iter().filter(|one| !closed.contains(&one.id)) {
            self.model.opened(&name, id, self.now)?;
            let next = self.now + if self.is_steady { 0 } else { self.chance.below(700) as i64 };
            self.sources.push(Source { name, id, publisher, next, last: Value::Null });
        }
        self.sources.retain(|source| !closed.contains(&source.id));
        self.model.check_opened()
    }

    /// Ticks for as long as there is reason to.
    fn drive(&mut self) -> Result<(), String> {
        for _ in 0..100 {
            let is_due = self.next_tick.is_some_and(|next| next <= self.now);
            if !self.is_woken.swap(false, Ordering::Relaxed) && !is_due {
                return Ok(());
            }
            self.next_tick = self.streams.tick(self.now);
            self.model.round(self.now);
            self.observe()?;
        }
        Err("the driver is never done".into())
    }

    /// Ticks as long as there is reason to, and looks at nothing.
    fn drive_plainly(&mut self) {
        while self.is_woken.swap(false, Ordering::Relaxed)
            || self.next_tick.is_some_and(|next| next <= self.now)
        {
            self.next_tick = self.streams.tick(self.now);
        }
    }

    /// Some subscribers look whether there is news for them.
    fn look(&mut self) -> Result<(), String> {
        for subscriber in &mut self.subscribers {
            if !self.is_steady && self.chance.once_in(3) {
                continue;
            }
            match subscriber {
                Subscriber::One(id, subscription) => {
                    let (is, ought) =
                        (subscription.take().map(|found| found.0.clone()), self.model.take(*id));
                    if is != ought {
                        return Err(format!(
                            "subscription {id} was given {is:?}, and should have been {ought:?}"
                        ));
                    }
                }
                Subscriber::Several(ids, multi, are_all_wanted) => {
                    let named = if *are_all_wanted { multi.take_all() } else { multi.take_changed() };
                    let is = named.map(|named| {
                        let pairs =
                            named.iter().map(|(name, found)| (name.parse::<u64>().unwrap(), found.0.clone()));
                        pairs.collect::<Vec<_>>()
                    });
                    let ought = self.model.take_group(ids, *are_all_wanted);
                    if is != ought {
                        return Err(format!(
                            "group {ids:?} was given {is:?}, and should have been {ought:?}"
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a steady source says.
fn steady_value(name: &str) -> Value {
    Value::Boolean(name.ends_with(['1', '3', '5']))
}

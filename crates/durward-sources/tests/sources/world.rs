//! Streams of decisions whose decision is the value of one attribute, driven as the server drives them.

use std::hash::Hasher;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use durward_pdp::Value;
use durward_pdp::ir::json;
use durward_pdp::stream::{
    Answer, BrokerSettings, Decider, FinderOptions, Invocation, KnownAttributes, Step, Streams, Subscription,
    Surroundings,
};
use durward_sources::Sources;
use durward_sources::{Clock, SourceSettings};
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is asked: one attribute, with secrets.
pub(crate) struct Question {
    pub(crate) invocation: Invocation,
    pub(crate) secrets: Value,
}

/// The attribute's value as JSON, or `ERROR: ` and the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said(pub(crate) String);

impl Answer for Said {
    fn equals(&self, other: &Said) -> bool {
        self == other
    }

    fn is_identical(&self, other: &Said) -> bool {
        self == other
    }

    fn hash(&self, state: &mut dyn Hasher) {
        state.write(self.0.as_bytes());
    }
}

/// Policies that say what an attribute says.
pub(crate) struct Echo(pub(crate) Surroundings);

impl Decider for Echo {
    type Subscription = Question;
    type Decision = Said;

    fn step(&self, question: &Question, known: &dyn KnownAttributes) -> Step<Said> {
        match known.get(&question.invocation) {
            None => Step::Needs(vec![question.invocation.clone()]),
            Some(Ok(Value::Undefined)) => Step::Decided(Said("undefined".into())),
            Some(Ok(value)) => Step::Decided(Said(value.to_json())),
            Some(Err(fault)) => Step::Decided(Said(format!("ERROR: {}", fault.message))),
        }
    }

    fn indeterminate(&self, reason: &str) -> Said {
        Said(format!("PANIC: {reason}"))
    }

    fn surroundings(&self) -> Surroundings {
        self.0.clone()
    }

    fn secrets(&self, question: &Question) -> Value {
        question.secrets.clone()
    }
}

pub(crate) fn value(json_text: &str) -> Value {
    json::read(json_text).expect(json_text)
}

pub(crate) fn surroundings(variables: &str, secrets: &str) -> Surroundings {
    Surroundings { variables: value(variables), secrets: value(secrets) }
}

/// A decision point with attribute sources.
pub(crate) struct World {
    pub(crate) streams: Streams<Echo>,
    driver: tokio::task::JoinHandle<()>,
    _sources: Sources,
}

impl Drop for World {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl World {
    pub(crate) fn new() -> World {
        World::with(&SourceSettings::default(), Surroundings::default())
    }

    pub(crate) fn with(settings: &SourceSettings, surroundings: Surroundings) -> World {
        let sources = Sources::start(settings, &clock()).unwrap();
        let awake = Arc::new(Notify::new());
        let wake = Arc::clone(&awake);
        let policies = Arc::new(Echo(surroundings));
        let streams = Streams::new(policies, BrokerSettings::default(), 7, move || wake.notify_one());
        streams.set_finders(sources.finders(), now_ms());
        let driver = tokio::spawn(drive(streams.clone(), awake));
        World { streams, driver, _sources: sources }
    }

    pub(crate) fn ask(&self, invocation: Invocation) -> EchoSubscription {
        self.ask_with(invocation, "{}")
    }

    pub(crate) fn ask_with(&self, invocation: Invocation, secrets: &str) -> EchoSubscription {
        EchoSubscription(
            self.streams.subscribe(Question { invocation, secrets: value(secrets) }, now_ms()).unwrap(),
        )
    }
}

/// Calls the streams when something has happened and when a time has come.
async fn drive(streams: Streams<Echo>, awake: Arc<Notify>) {
    loop {
        let next_ms = streams.tick(now_ms()).unwrap_or(i64::MAX);
        let nap_ms = u64::try_from(next_ms.saturating_sub(now_ms())).unwrap_or(0).min(10_000);
        let _ = timeout(Duration::from_millis(nap_ms), awake.notified()).await;
    }
}

/// A live question.
pub(crate) struct EchoSubscription(Subscription<Echo>);

impl EchoSubscription {
    pub(crate) async fn next(&mut self) -> String {
        timeout(PATIENCE, self.0.next()).await.expect("an answer in time").0.clone()
    }

    /// Waits for this answer; gives those before.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&str) -> bool) -> Vec<String> {
        let mut before = Vec::new();
        loop {
            let next = self.next().await;
            if is_it(&next) {
                return before;
            }
            before.push(next);
        }
    }

    /// Whether nothing comes for a while.
    pub(crate) async fn is_quiet(&mut self, ms: u64) -> bool {
        timeout(Duration::from_millis(ms), self.0.next()).await.is_err()
    }
}

#[expect(clippy::disallowed_methods, reason = "what services say happens in real time")]
pub(crate) fn clock() -> Clock {
    Arc::new(SystemTime::now)
}

pub(crate) fn now_ms() -> i64 {
    clock()().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64
}

/// Options with which a source is asked again soon.
pub(crate) fn often() -> FinderOptions {
    FinderOptions {
        poll_interval_ms: 50,
        initial_timeout_ms: 10_000,
        retries: 0,
        backoff_ms: 50,
        ..FinderOptions::default()
    }
}

/// `<name(arguments)>`, or the same of an entity.
pub(crate) fn attribute(entity: Option<&str>, name: &str, arguments: &[&str]) -> Invocation {
    let mut invocation = Invocation::environment(name, arguments.iter().map(|argument| value(argument)));
    invocation.entity = entity.map(value);
    invocation.options = often();
    invocation
}

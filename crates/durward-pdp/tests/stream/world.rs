//! A small world: questions instead of policies, sources that say what a test tells them, a clock that it moves.

use std::collections::BTreeMap;
use std::hash::Hasher;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use durward_pdp::Value;
use durward_pdp::ir::Fault;
use durward_pdp::stream::{
    Answer, AttributeFinder, BrokerSettings, Context, Decider, Finder, Invocation, KnownAttributes,
    Publisher, Step, Streams, Subscription, Surroundings,
};

/// What is asked, in place of policies and a subscription to them.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// The value of an attribute.
    Value(Invocation),
    /// All of these.
    All(Vec<Ask>),
    /// The second if the attribute is true, otherwise the third.
    If(Invocation, Box<Ask>, Box<Ask>),
    /// Nothing.
    Nothing,
    /// Panics.
    Panic,
    /// Always one attribute more, none of them known before.
    More,
}

impl Ask {
    /// Whether a first value is asked for, which depends on when.
    pub(crate) fn has_head(&self) -> bool {
        match self {
            Ask::Value(invocation) => invocation.head,
            Ask::All(asks) => asks.iter().any(Ask::has_head),
            Ask::If(invocation, yes, no) => invocation.head || yes.has_head() || no.has_head(),
            Ask::Nothing | Ask::Panic | Ask::More => false,
        }
    }
}

/// A decision: what was found. Decisions are equal if their words are, whatever their case.
#[derive(Clone, Debug)]
pub(crate) struct Found(pub(crate) String);

impl Answer for Found {
    fn equals(&self, other: &Found) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
    fn is_identical(&self, other: &Found) -> bool {
        self.0 == other.0
    }
    fn hash(&self, state: &mut dyn Hasher) {
        state.write(self.0.as_bytes());
    }
}

/// Policies: what is found, behind their name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) name: String,
    pub(crate) surroundings: Surroundings,
}

/// An [`Ask`] and the secrets that come with it.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) ask: Ask,
    pub(crate) secrets: Value,
}

impl From<Ask> for Question {
    fn from(ask: Ask) -> Question {
        Question { ask, secrets: Value::Undefined }
    }
}

impl Decider for Rules {
    type Subscription = Question;
    type Decision = Found;

    fn step(&self, question: &Question, known: &dyn KnownAttributes) -> Step<Found> {
        let mut needs = Vec::new();
        let found = answer(&question.ask, known, &mut needs);
        if needs.is_empty() { Step::Decided(Found(self.name.clone() + &found)) } else { Step::Needs(needs) }
    }

    fn indeterminate(&self, reason: &str) -> Found {
        Found(format!("indeterminate: {reason}"))
    }

    fn surroundings(&self) -> Surroundings {
        self.surroundings.clone()
    }

    fn secrets(&self, question: &Question) -> Value {
        question.secrets.clone()
    }
}

fn answer(ask: &Ask, known: &dyn KnownAttributes, needs: &mut Vec<Invocation>) -> String {
    let mut get = |invocation: &Invocation| match known.get(invocation) {
        Some(Ok(value)) => Some(value.to_json()),
        Some(Err(fault)) => Some(format!("error({fault})")),
        None => {
            needs.push(invocation.clone());
            None
        }
    };
    match ask {
        Ask::Nothing => "nothing".into(),
        Ask::Value(invocation) => get(invocation).unwrap_or_default(),
        Ask::All(asks) => {
            let found: Vec<String> = asks.iter().map(|ask| answer(ask, known, needs)).collect();
            found.join(" ")
        }
        Ask::If(condition, yes, no) => match get(condition).as_deref() {
            None => String::new(),
            Some("true") => answer(yes, known, needs),
            Some(_) => answer(no, known, needs),
        },
        Ask::Panic => panic!("as asked"),
        Ask::More => {
            let mut n = 0;
            while get(&attribute(&format!("none.n{n}"))).is_some() {
                n += 1;
            }
            String::new()
        }
    }
}

/// `<name>` with default options.
pub(crate) fn attribute(name: &str) -> Invocation {
    Invocation::environment(name, [])
}

/// The question for the value of `<name>`.
pub(crate) fn value(name: &str) -> Ask {
    Ask::Value(attribute(name))
}

/// The question for several values.
pub(crate) fn values(names: &[&str]) -> Ask {
    Ask::All(names.iter().map(|name| value(name)).collect())
}

#[derive(Default)]
struct SourcesState {
    /// The open sources by name and argument, the latest last.
    open: BTreeMap<String, Vec<(usize, Publisher)>>,
    opened: BTreeMap<String, usize>,
    count: usize,
}

/// Sources for all attributes `<src...>`.
#[derive(Clone, Default)]
pub(crate) struct Sources(Arc<Mutex<SourcesState>>);

struct Handle {
    sources: Sources,
    name: String,
    id: usize,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.sources.0.lock().unwrap();
        let gone = {
            let open = state.open.get_mut(&self.name).unwrap();
            let at = open.iter().position(|(id, _)| *id == self.id).unwrap();
            open.remove(at)
        };
        drop(state);
        drop(gone);
    }
}

impl AttributeFinder for Sources {
    fn serves(&self, invocation: &Invocation) -> bool {
        invocation.name.starts_with("src")
    }

    fn open(&self, invocation: &Invocation, context: &Context, publisher: Publisher) -> Box<dyn Send> {
        if invocation.name == "src.panic" {
            panic!("as asked");
        }
        if invocation.name.starts_with("src.sync") {
            publisher.publish(Ok(Value::Text("sync".into())));
        }
        if invocation.name == "src.context" {
            let variables = &context.surroundings.as_ref().unwrap().variables;
            let secrets = context.secrets.as_deref().cloned().unwrap_or(Value::Undefined);
            publisher.publish(Ok(Value::array([variables.clone(), secrets])));
        }
        if invocation.name == "src.surroundings" {
            publisher.publish(Ok(context.surroundings.as_ref().unwrap().secrets.clone()));
        }
        let name = invocation.name.to_string();
        let mut state = self.0.lock().unwrap();
        state.count += 1;
        let id = state.count;
        *state.opened.entry(name.clone()).or_default() += 1;
        state.open.entry(name.clone()).or_default().push((id, publisher));
        Box::new(Handle { sources: self.clone(), name, id })
    }
}

impl Sources {
    fn publishers(&self, name: &str) -> Vec<Publisher> {
        let state = self.0.lock().unwrap();
        let open = state.open.get(name).into_iter().flatten();
        open.map(|(_, publisher)| publisher.clone()).collect()
    }

    /// The one source of this name that is open.
    pub(crate) fn publisher(&self, name: &str) -> Publisher {
        let mut publishers = self.publishers(name);
        assert_eq!(publishers.len(), 1, "open sources of {name}");
        publishers.remove(0)
    }

    /// Publishes to all open sources of this name.
    pub(crate) fn publish(&self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        let publishers = self.publishers(name);
        assert!(!publishers.is_empty(), "no open source of {name}");
        publishers.iter().for_each(|publisher| publisher.publish(Ok(value.clone())));
    }

    /// Publishes an error as the value.
    pub(crate) fn publish_error(&self, name: &str, message: &str) {
        self.publisher(name).publish(Err(Fault::processing(message)));
    }

    /// How many sources of this name are open, and how many have been opened so far.
    pub(crate) fn count(&self, name: &str) -> (usize, usize) {
        let opened = self.0.lock().unwrap().opened.get(name).copied().unwrap_or_default();
        (self.publishers(name).len(), opened)
    }
}

/// Streams, sources and a clock.
pub(crate) struct World {
    pub(crate) streams: Streams<Rules>,
    pub(crate) sources: Sources,
    pub(crate) now: i64,
    next: Option<i64>,
    woken: Arc<AtomicUsize>,
}

impl World {
    pub(crate) fn new() -> World {
        World::with(BrokerSettings::default())
    }

    pub(crate) fn with(settings: BrokerSettings) -> World {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        let wake = move || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let streams = Streams::new(Arc::new(Rules::default()), settings, 7, wake);
        let sources = Sources::default();
        streams.set_finders(vec![Finder::outside(sources.clone())], 0);
        let mut world = World { streams, sources, now: 0, next: None, woken };
        world.run(0);
        world
    }

    pub(crate) fn subscribe(&self, ask: impl Into<Question>) -> Subscription<Rules> {
        self.streams.subscribe(ask.into(), self.now).unwrap()
    }

    /// Lets this many milliseconds pass, as a driver does: it ticks when it is woken, and when the time comes that was
    /// told to it.
    pub(crate) fn run(&mut self, ms: i64) {
        let end = self.now + ms;
        for _ in 0..10_000 {
            if self.woken.swap(0, Ordering::Relaxed) == 0 {
                let Some(next) = self.next.filter(|next| *next <= end) else {
                    self.now = end;
                    return;
                };
                self.now = self.now.max(next);
            }
            self.next = self.streams.tick(self.now);
        }
        panic!("the driver is never done");
    }

    /// Lets things settle without time passing.
    pub(crate) fn settle(&mut self) {
        self.run(0);
    }
}

/// The next decision, if it is there.
pub(crate) fn take(subscription: &mut Subscription<Rules>) -> Option<String> {
    subscription.take().map(|found| found.0.clone())
}

pub(crate) fn number(number: i64) -> Value {
    Value::number(number)
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.into())
}

//! Where attribute values come from: attribute finders, policy information points in SAPL's words.

use std::fmt;
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::fault::Evaluated;

use super::invocation::{Context, Invocation, Surroundings};
use super::publisher::Publisher;

/// What a finder reads beside name, entity and arguments. What it does not read does not keep subscriptions from
/// sharing a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// The secrets of the subscription.
    pub secrets: bool,
    /// The variables and secrets of the configuration; the stream is then opened again when they change.
    pub surroundings: bool,
}

impl Reads {
    /// Nothing beside the invocation.
    pub const NOTHING: Reads = Reads { secrets: false, surroundings: false };
    /// All there is.
    pub const EVERYTHING: Reads = Reads { secrets: true, surroundings: true };

    pub(crate) fn context(
        self,
        secrets: impl FnOnce() -> Value,
        surroundings: impl FnOnce() -> Arc<Surroundings>,
    ) -> Context {
        let secrets = self.secrets.then(secrets).filter(|secrets| !matches!(secrets, Value::Undefined));
        Context { secrets: secrets.map(Arc::new), surroundings: self.surroundings.then(surroundings) }
    }
}

/// An attribute finder that gets its values from somewhere else: a service, a message queue, a file.
///
/// ```
/// use durward_pdp::Value;
/// use durward_pdp::stream::{AttributeFinder, Context, Invocation, Publisher};
///
/// /// `<weather.now>`: always fine.
/// struct Weather;
///
/// impl AttributeFinder for Weather {
///     fn serves(&self, invocation: &Invocation) -> bool {
///         invocation.name == "weather.now" && invocation.entity.is_none() && invocation.arguments.is_empty()
///     }
///     fn open(&self, _: &Invocation, _: &Context, publisher: Publisher) -> Box<dyn Send> {
///         publisher.publish(Ok(Value::Text("fine".into())));
///         // What closes the source when it is dropped; here it only keeps the publisher, so that the source lasts.
///         Box::new(publisher)
///     }
/// }
/// ```
pub trait AttributeFinder: Send + Sync {
    /// Whether the finder knows this attribute: its name, whether it is one of an entity, the number of arguments.
    /// What the arguments are is its own affair: for unfit ones it publishes an error. The answer must not change.
    fn serves(&self, invocation: &Invocation) -> bool;

    /// What the finder reads of the context for this attribute; all unless said otherwise.
    fn reads(&self, invocation: &Invocation) -> Reads {
        let _ = invocation;
        Reads::EVERYTHING
    }

    /// Opens a source, which publishes when it likes, from any thread, until what this returns is dropped. Must not
    /// wait: it is called on the thread that drives the streams.
    fn open(&self, invocation: &Invocation, context: &Context, publisher: Publisher) -> Box<dyn Send>;
}

/// What a timed finder says at some moment.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The attribute's value, or the error that it is.
    pub value: Evaluated<Value>,
    /// When it changes next, in milliseconds since 1970; `None` where it never does.
    pub next_ms: Option<i64>,
}

impl Reading {
    /// A value that stays.
    pub fn lasting(value: Evaluated<Value>) -> Reading {
        Reading { value, next_ms: None }
    }
}

/// An attribute finder whose values depend on nothing but the time. It has no source that could fail or be late, and is
/// not polled: it says itself when it is to be asked again.
pub trait TimedFinder: Send + Sync {
    /// See [`AttributeFinder::serves`].
    fn serves(&self, invocation: &Invocation) -> bool;

    /// See [`AttributeFinder::reads`].
    fn reads(&self, invocation: &Invocation) -> Reads {
        let _ = invocation;
        Reads::NOTHING
    }

    /// The value at `now_ms` of a stream that began at `opened_ms`, both in milliseconds since 1970.
    fn read(&self, invocation: &Invocation, context: &Context, opened_ms: i64, now_ms: i64) -> Reading;
}

/// An attribute finder of either kind.
#[derive(Clone)]
pub enum Finder {
    /// With sources outside.
    Outside(Arc<dyn AttributeFinder>),
    /// With nothing but the time.
    Timed(Arc<dyn TimedFinder>),
}

impl Finder {
    /// A finder with sources outside.
    pub fn outside(finder: impl AttributeFinder + 'static) -> Finder {
        Finder::Outside(Arc::new(finder))
    }

    /// A finder with nothing but the time.
    pub fn timed(finder: impl TimedFinder + 'static) -> Finder {
        Finder::Timed(Arc::new(finder))
    }

    pub(crate) fn serves(&self, invocation: &Invocation) -> bool {
        match self {
            Finder::Outside(finder) => finder.serves(invocation),
            Finder::Timed(finder) => finder.serves(invocation),
        }
    }

    pub(crate) fn reads(&self, invocation: &Invocation) -> Reads {
        match self {
            Finder::Outside(finder) => finder.reads(invocation),
            Finder::Timed(finder) => finder.reads(invocation),
        }
    }

    /// Whether both are one and the same object.
    pub(crate) fn is(&self, other: &Finder) -> bool {
        match (self, other) {
            (Finder::Outside(a), Finder::Outside(b)) => Arc::ptr_eq(a, b),
            (Finder::Timed(a), Finder::Timed(b)) => Arc::ptr_eq(a, b),
            (Finder::Outside(_), Finder::Timed(_)) | (Finder::Timed(_), Finder::Outside(_)) => false,
        }
    }
}

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Finder::Outside(_) => "Finder::Outside",
            Finder::Timed(_) => "Finder::Timed",
        })
    }
}

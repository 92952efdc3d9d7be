//! What policies ask attribute finders, and how.

use smol_str::SmolStr;

use crate::value::Value;

/// What a policy asks an attribute finder.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The finder and its attribute: `time.now`.
    pub name: SmolStr,
    /// What the attribute is about; `None` for one of the environment.
    pub entity: Option<Value>,
    /// The arguments, in order.
    pub arguments: Box<[Value]>,
    /// How it is to be asked.
    pub options: FinderOptions,
    /// Whether only its first value counts.
    pub head: bool,
}

impl Invocation {
    /// An attribute of the environment, asked for with default options.
    pub fn environment(name: impl Into<SmolStr>, arguments: impl IntoIterator<Item = Value>) -> Invocation {
        Invocation {
            name: name.into(),
            entity: None,
            arguments: arguments.into_iter().collect(),
            options: FinderOptions::default(),
            head: false,
        }
    }

    /// An attribute of an entity, asked for with default options.
    pub fn entity(
        entity: Value,
        name: impl Into<SmolStr>,
        arguments: impl IntoIterator<Item = Value>,
    ) -> Invocation {
        Invocation { entity: Some(entity), ..Invocation::environment(name, arguments) }
    }
}

/// Two are equal when they ask the same in the same way; values are compared as [`Value::equals`] does.
impl PartialEq for Invocation {
    fn eq(&self, other: &Invocation) -> bool {
        let is_same_entity = match (&self.entity, &other.entity) {
            (Some(one), Some(other)) => one.equals(other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.name == other.name
            && self.head == other.head
            && self.options == other.options
            && is_same_entity
            && self.arguments.len() == other.arguments.len()
            && self.arguments.iter().zip(&other.arguments).all(|(one, other)| one.equals(other))
    }
}

impl Eq for Invocation {}

/// How an attribute finder is to be asked. SAPL's defaults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FinderOptions {
    /// How long to wait for the first value before it counts as undefined.
    pub initial_timeout_ms: u64,
    /// How long after its end a finder is asked again.
    pub poll_interval_ms: u64,
    /// How often a finder that failed is asked again.
    pub retries: u64,
    /// How long to wait before that, at first.
    pub backoff_ms: u64,
    /// Whether not to share what others have already asked.
    pub fresh: bool,
}

impl Default for FinderOptions {
    fn default() -> FinderOptions {
        FinderOptions {
            initial_timeout_ms: 3000,
            poll_interval_ms: 30_000,
            retries: 3,
            backoff_ms: 1000,
            fresh: false,
        }
    }
}

//! What policies ask attribute finders for.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use durward_ir::Value;
use durward_ir::value::Object;
use smol_str::SmolStr;

/// The shortest time to wait before a failed source is opened again, in milliseconds, before chance is added.
pub const BACKOFF_MS_MIN: u64 = 50;

/// The shortest time after which a completed source is opened again, in milliseconds: a source that completes at
/// once must not keep a core busy.
pub const POLL_INTERVAL_MS_MIN: u64 = 10;

/// How a stream of attribute values is to be fed: the object after the finder's name, `<http.get(url)[{retries: 0}]>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// How long a source may take for its first value, in milliseconds, before the attribute becomes `undefined`.
    pub initial_timeout_ms: u64,
    /// How long after a source has completed it is opened again, in milliseconds; at least [`POLL_INTERVAL_MS_MIN`].
    pub poll_interval_ms: u64,
    /// How often a source that failed is opened again before the attribute becomes an error.
    pub retries: u64,
    /// How long to wait before the first of these times, in milliseconds; doubled for each further one. At least
    /// [`BACKOFF_MS_MIN`].
    pub backoff_ms: u64,
    /// Whether this subscription gets a source of its own.
    pub fresh: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            initial_timeout_ms: 3_000,
            poll_interval_ms: 30_000,
            retries: 3,
            backoff_ms: 1_000,
            fresh: false,
        }
    }
}

impl Options {
    /// These options, changed by what an object says. Keys that are no options are ignored.
    ///
    /// # Errors
    /// An option of the wrong type or out of range.
    pub fn changed_by(mut self, object: &Object) -> Result<Options, String> {
        for (key, value) in object.iter() {
            match key.as_str() {
                "initialTimeOutMs" => self.initial_timeout_ms = whole(key, value, 0)?,
                "pollIntervalMs" => self.poll_interval_ms = whole(key, value, 0)?,
                "retries" => self.retries = whole(key, value, 0)?,
                "backoffMs" => self.backoff_ms = whole(key, value, BACKOFF_MS_MIN)?,
                "fresh" => {
                    let Value::Boolean(fresh) = value else {
                        return Err(format!("`fresh` is {}; write true or false", value.lexical()));
                    };
                    self.fresh = *fresh;
                }
                _ => {}
            }
        }
        Ok(self)
    }
}

fn whole(key: &str, value: &Value, least: u64) -> Result<u64, String> {
    let number = if let Value::Number(number) = value { number.to_i64() } else { None };
    let number = number.and_then(|number| u64::try_from(number).ok());
    number
        .filter(|number| *number >= least)
        .ok_or_else(|| format!("`{key}` is {}; write a whole number from {least}", value.lexical()))
}

/// One attribute asked for: `entity.<name(arguments)[options]>`, or `<name(arguments)[options]>` of the environment.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The whole name, such as `time.now`.
    pub name: SmolStr,
    /// Whose attribute; `None` for attributes of the environment.
    pub entity: Option<Value>,
    /// The values between the parentheses.
    pub arguments: Box<[Value]>,
    /// How the stream is to be fed.
    pub options: Options,
    /// Whether only the first value counts (`|<`): it then stays what it is for as long as it is in use.
    pub head: bool,
}

impl Invocation {
    /// An attribute of the environment with default options.
    pub fn environment(name: &str, arguments: impl IntoIterator<Item = Value>) -> Invocation {
        Invocation {
            name: name.into(),
            entity: None,
            arguments: arguments.into_iter().collect(),
            options: Options::default(),
            head: false,
        }
    }

    /// An attribute of an entity with default options.
    pub fn entity(entity: Value, name: &str, arguments: impl IntoIterator<Item = Value>) -> Invocation {
        Invocation { entity: Some(entity), ..Invocation::environment(name, arguments) }
    }

    fn hash_content<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.options.hash(state);
        self.head.hash(state);
        self.entity.is_some().hash(state);
        self.entity.iter().chain(&self.arguments).for_each(|value| value.hash_content(state));
    }
}

impl PartialEq for Invocation {
    fn eq(&self, other: &Invocation) -> bool {
        self.name == other.name
            && self.head == other.head
            && self.options == other.options
            && self.arguments.len() == other.arguments.len()
            && same(self.entity.as_ref(), other.entity.as_ref())
            && self.arguments.iter().zip(&other.arguments).all(|(a, b)| a.equals(b))
    }
}

impl Eq for Invocation {}

/// What a finder may read beside the invocation. Values that differ here never share a stream.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The secrets of the subscription; `None` where it has none, or the finder does not read them.
    pub secrets: Option<Arc<Value>>,
    /// What the policies bring along; `None` where the finder does not read it.
    pub surroundings: Option<Arc<Surroundings>>,
}

/// What a configuration holds beside its policies.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The variables of `pdp.json`, an object.
    pub variables: Value,
    /// The secrets of `secrets.json`, an object.
    pub secrets: Value,
}

impl Default for Surroundings {
    fn default() -> Surroundings {
        Surroundings { variables: Value::Object(Arc::default()), secrets: Value::Object(Arc::default()) }
    }
}

impl PartialEq for Surroundings {
    fn eq(&self, other: &Surroundings) -> bool {
        self.variables.equals(&other.variables) && self.secrets.equals(&other.secrets)
    }
}

/// An invocation with what its finder reads: equal ones share a stream.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) invocation: Arc<Invocation>,
    pub(crate) context: Context,
}

impl Key {
    /// A digest of the key. Callers choose entities and arguments, so the seed must be the process's secret.
    pub(crate) fn digest(&self, hashing: &impl BuildHasher) -> u64 {
        let mut hasher = hashing.build_hasher();
        self.invocation.hash_content(&mut hasher);
        if let Some(secrets) = &self.context.secrets {
            secrets.hash_content(&mut hasher);
        }
        hasher.finish()
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.invocation == other.invocation
            && same(self.context.secrets.as_deref(), other.context.secrets.as_deref())
            && same_surroundings(self.context.surroundings.as_ref(), other.context.surroundings.as_ref())
    }
}

/// The broker keeps those in force in one place: comparing what may be large variables is not needed.
fn same_surroundings(a: Option<&Arc<Surroundings>>, b: Option<&Arc<Surroundings>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.equals(b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[(&str, Value)]) -> Result<Options, String> {
        let entries = entries.iter().map(|(key, value)| (*key, value.clone()));
        Options::default().changed_by(&Object::from_iter(entries))
    }

    #[test]
    fn options_are_changed_one_by_one_and_unknown_ones_ignored() {
        let read = read(&[("retries", Value::number(0)), ("colour", Value::Null)]).unwrap();
        assert_eq!(read, Options { retries: 0, ..Options::default() });
    }

    #[test]
    fn options_of_the_wrong_type_or_range_are_refused() {
        for (key, value) in [
            ("retries", Value::number(-1)),
            ("backoffMs", Value::number(49)),
            ("pollIntervalMs", Value::Text("10".into())),
            ("fresh", Value::number(1)),
        ] {
            assert!(read(&[(key, value)]).unwrap_err().contains(key));
        }
    }

    #[test]
    fn equal_keys_have_equal_digests() {
        let hashing = foldhash::fast::RandomState::default();
        let key = |number: &str, secrets: Option<&str>| Key {
            invocation: Arc::new(Invocation::environment(
                "time.now",
                [Value::number(durward_ir::datatype::Decimal::parse(number).unwrap())],
            )),
            context: Context {
                secrets: secrets.map(|text| Arc::new(Value::Text(text.into()))),
                surroundings: None,
            },
        };
        assert!(key("1.0", None) == key("1", None));
        assert_eq!(key("1.0", None).digest(&hashing), key("1", None).digest(&hashing));
        assert!(key("1", Some("a")) != key("1", Some("b")));
        assert!(key("1", Some("a")) != key("1", None));
        assert_ne!(key("1", Some("a")).digest(&hashing), key("1", Some("b")).digest(&hashing));
    }
}

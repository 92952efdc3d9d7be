//! What policies ask attribute finders for.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use durward_ir::Value;
pub use durward_ir::question::{FinderOptions, Invocation};

/// The shortest time to wait before a failed source is opened again, in milliseconds, before chance is added.
pub const BACKOFF_MS_MIN: u64 = 50;

/// The shortest time after which a completed source is opened again, in milliseconds: a source that completes at
/// once must not keep a core busy.
pub const POLL_INTERVAL_MS_MIN: u64 = 10;

/// What a finder may read beside the invocation. Values that differ here never share a stream.
#[derive(Clone, Default)]
pub struct Context {
    /// The secrets of the subscription; `None` where it has none, or the finder does not read them.
    pub secrets: Option<Arc<Value>>,
    /// What the policies bring along; `None` where the finder does not read it.
    pub surroundings: Option<Arc<Surroundings>>,
}

/// What a configuration holds beside its policies.
#[derive(Clone)]
pub struct Surroundings {
    /// The variables of `pdp.json`, an object.
    pub variables: Value,
    /// The secrets of `secrets.json`, an object.
    pub secrets: Value,
}

impl fmt::Debug for Context {
    /// Secrets are not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("surroundings", &self.surroundings).finish_non_exhaustive()
    }
}

impl fmt::Debug for Surroundings {
    /// Secrets are not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("variables", &self.variables).finish_non_exhaustive()
    }
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
        hash_invocation(&self.invocation, &mut hasher);
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

fn hash_invocation<H: Hasher>(invocation: &Invocation, state: &mut H) {
    invocation.name.hash(state);
    invocation.options.hash(state);
    invocation.head.hash(state);
    invocation.entity.is_some().hash(state);
    invocation.entity.iter().chain(&invocation.arguments).for_each(|value| value.hash_content(state));
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

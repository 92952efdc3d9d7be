//! Attributes that are published rather than asked for: what a policy gets where no other finder serves an attribute.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use durward_ir::Value;
use smol_str::SmolStr;

use super::finder::{AttributeFinder, Finder, Reads};
use super::invocation::{Context, Invocation};
use super::publisher::Publisher;

/// Most attributes published at once.
pub const PUBLISHED_COUNT_MAX: usize = 100_000;
/// Most bytes that all published attributes may have, written as JSON.
pub const PUBLISHED_BYTES_MAX: usize = 64 << 20;

/// Published attributes. Clones are handles to the same.
///
/// Subscribers see every change. Like all of this it has no clock: whoever publishes with an end calls
/// [`Repository::expire`] when it comes.
///
/// ```
/// use durward_pdp::Value;
/// use durward_pdp::stream::{Invocation, Repository};
///
/// let repository = Repository::default();
/// // `"alice".<user.presence>` is "online" until the tenth second of 1970.
/// let presence = Invocation::entity(Value::Text("alice".into()), "user.presence", []);
/// repository.publish(&presence, Value::Text("online".into()), Some(10_000))?;
/// assert_eq!(repository.expire(9_999), Some(10_000));
/// assert_eq!(repository.expire(10_000), None);
/// assert_eq!(repository.len(), 0);
/// # Ok::<(), durward_pdp::stream::RepositoryFull>(())
/// ```
#[derive(Clone, Default)]
pub struct Repository(Arc<Mutex<State>>);

/// There is no room for what was to be published: [`PUBLISHED_COUNT_MAX`], [`PUBLISHED_BYTES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositoryFull;

impl std::fmt::Display for RepositoryFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "more than {PUBLISHED_COUNT_MAX} attributes are published, or more than {PUBLISHED_BYTES_MAX} bytes of them"
        )
    }
}

impl std::error::Error for RepositoryFull {}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository").field("published", &self.len()).finish()
    }
}

/// What an attribute is of: how it is asked for does not matter.
#[derive(Clone)]
struct Address(Arc<(SmolStr, Option<Value>, Box<[Value]>)>);

impl From<&Invocation> for Address {
    fn from(invocation: &Invocation) -> Address {
        let Invocation { name, entity, arguments, .. } = invocation;
        Address(Arc::new((name.clone(), entity.clone(), arguments.clone())))
    }
}

impl Address {
    fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.1.iter().chain(&self.0.2)
    }
}

impl Hash for Address {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.0.hash(state);
        self.0.1.is_some().hash(state);
        self.values().for_each(|value| value.hash_content(state));
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Address) -> bool {
        self.0.0 == other.0.0
            && self.0.1.is_some() == other.0.1.is_some()
            && self.0.2.len() == other.0.2.len()
            && self.values().zip(other.values()).all(|(one, other)| one.equals(other))
    }
}

impl Eq for Address {}

/// A value, and when it ends.
struct Published {
    value: Value,
    until_ms: Option<i64>,
    /// What it counts in [`PUBLISHED_BYTES_MAX`].
    bytes: usize,
    /// Under which it stands among the ends.
    number: u64,
}

#[derive(Default)]
struct State {
    published: HashMap<Address, Published>,
    /// Who reads what, published or not.
    readers: HashMap<Address, Vec<(u64, Publisher)>>,
    /// When values end, soonest first.
    ends: BTreeSet<(i64, u64)>,
    ending: HashMap<u64, Address>,
    bytes: usize,
    last_number: u64,
}

impl Repository {
    /// The finder that gives what is published, and `undefined` for everything else: to be put behind all others.
    pub fn finder(&self) -> Finder {
        Finder::Outside(Arc::new(self.clone()))
    }

    /// Publishes a value of an attribute in the place of the one before, until a time in milliseconds since 1970, or for
    /// good. Of the invocation, name, entity and arguments count.
    ///
    /// # Errors
    /// There is no room; what was published before stays.
    pub fn publish(
        &self,
        attribute: &Invocation,
        value: Value,
        until_ms: Option<i64>,
    ) -> Result<(), RepositoryFull> {
        self.lock().publish(attribute.into(), value, until_ms)
    }

    /// Takes a value back: the attribute is `undefined` then. False if there was none.
    pub fn remove(&self, attribute: &Invocation) -> bool {
        self.lock().remove(&attribute.into())
    }

    /// Puts these in the place of all that is published. Those that stay the same are not disturbed.
    ///
    /// # Errors
    /// There is no room for all; nothing has changed then.
    pub fn replace_all(
        &self,
        attributes: impl IntoIterator<Item = (Invocation, Value, Option<i64>)>,
    ) -> Result<(), RepositoryFull> {
        let attributes: HashMap<Address, (Value, Option<i64>)> = attributes
            .into_iter()
            .map(|(attribute, value, until_ms)| (Address::from(&attribute), (value, until_ms)))
            .collect();
        let bytes = attributes.iter().map(|(address, (value, _))| size(address, value)).sum::<usize>();
        if attributes.len() > PUBLISHED_COUNT_MAX || bytes > PUBLISHED_BYTES_MAX {
            return Err(RepositoryFull);
        }
        let mut state = self.lock();
        let gone = state.published.keys().filter(|address| !attributes.contains_key(*address));
        for address in gone.cloned().collect::<Vec<_>>() {
            state.remove(&address);
        }
        // Together they fit; on the way from one to the other they need not.
        attributes.into_iter().for_each(|(address, (value, until_ms))| state.put(address, value, until_ms));
        Ok(())
    }

    /// Takes back what has ended. Gives when to call again; `None` when nothing published ends.
    pub fn expire(&self, now_ms: i64) -> Option<i64> {
        let mut state = self.lock();
        while let Some((end_ms, number)) = state.ends.first().copied() {
            if end_ms > now_ms {
                return Some(end_ms);
            }
            state.ends.remove(&(end_ms, number));
            if let Some(address) = state.ending.remove(&number) {
                state.remove(&address);
            }
        }
        None
    }

    /// How many attributes are published.
    pub fn len(&self) -> usize {
        self.lock().published.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size(address: &Address, value: &Value) -> usize {
    let key: usize = address.values().map(|value| value.to_json().len()).sum();
    address.0.0.len() + key + value.to_json().len()
}

impl State {
    fn publish(
        &mut self,
        address: Address,
        value: Value,
        until_ms: Option<i64>,
    ) -> Result<(), RepositoryFull> {
        let before = self.published.get(&address).map(|published| published.bytes);
        let bytes = self.bytes - before.unwrap_or_default() + size(&address, &value);
        let count = self.published.len() + usize::from(before.is_none());
        if count > PUBLISHED_COUNT_MAX || bytes > PUBLISHED_BYTES_MAX {
            return Err(RepositoryFull);
        }
        self.put(address, value, until_ms);
        Ok(())
    }

    fn put(&mut self, address: Address, value: Value, until_ms: Option<i64>) {
        let is_new = self.forget(&address).is_none_or(|before| before.to_json() != value.to_json());
        self.last_number += 1;
        let (number, bytes) = (self.last_number, size(&address, &value));
        if let Some(until_ms) = until_ms {
            self.ends.insert((until_ms, number));
            self.ending.insert(number, address.clone());
        }
        if is_new {
            self.tell(&address, &value);
        }
        self.bytes += bytes;
        self.published.insert(address, Published { value, until_ms, bytes, number });
    }

    fn remove(&mut self, address: &Address) -> bool {
        let is_known = self.forget(address).is_some();
        if is_known {
            self.tell(address, &Value::Undefined);
        }
        is_known
    }

    fn forget(&mut self, address: &Address) -> Option<Value> {
        let Published { value, until_ms, bytes, number } = self.published.remove(address)?;
        self.bytes -= bytes;
        if let Some(until_ms) = until_ms {
            self.ends.remove(&(until_ms, number));
            self.ending.remove(&number);
        }
        Some(value)
    }

    fn tell(&self, address: &Address, value: &Value) {
        let readers = self.readers.get(address).into_iter().flatten();
        readers.for_each(|(_, reader)| reader.publish(Ok(value.clone())));
    }
}

impl AttributeFinder for Repository {
    fn serves(&self, _: &Invocation) -> bool {
        true
    }

    fn reads(&self, _: &Invocation) -> Reads {
        Reads::NOTHING
    }

    fn open(&self, invocation: &Invocation, _: &Context, publisher: Publisher) -> Box<dyn Send> {
        let address = Address::from(invocation);
        let mut state = self.lock();
        let value = state.published.get(&address).map_or(Value::Undefined, |known| known.value.clone());
        publisher.publish(Ok(value));
        state.last_number += 1;
        let number = state.last_number;
        state.readers.entry(address.clone()).or_default().push((number, publisher));
        Box::new(Reader { repository: self.clone(), address, number })
    }
}

/// Reads an attribute until it is dropped.
struct Reader {
    repository: Repository,
    address: Address,
    number: u64,
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.repository.lock();
        let Entry::Occupied(mut readers) = state.readers.entry(self.address.clone()) else { return };
        let at = readers.get().iter().position(|(number, _)| *number == self.number);
        // Dropped without the lock: it says that the source has ended.
        let reader = at.map(|at| readers.get_mut().swap_remove(at));
        if readers.get().is_empty() {
            readers.remove();
        }
        drop(state);
        drop(reader);
    }
}

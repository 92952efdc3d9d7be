//! Objects: values by their keys, in the order in which they were written.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

use foldhash::fast::{FixedState, RandomState};
use smol_str::SmolStr;

use super::{Value, same_text, weight};

/// Up to so many keys are compared one by one: that takes no longer than hashing the key that is looked for.
const LINEAR_MAX: usize = 8;

/// Values by their keys, in the order in which the keys were first written. Looking a key up costs some comparisons of
/// short texts, or in larger objects one hash and one comparison.
#[derive(Clone, Default)]
pub struct Object {
    entries: Box<[(SmolStr, Value)]>,
    /// INVARIANT: there when there are more than [`LINEAR_MAX`] entries.
    table: Table,
    /// INVARIANT: what [`weight::of_entries`] says of the entries, which do not change.
    pub(super) weight: usize,
}

/// Builds an [`Object`] key by key.
#[derive(Clone, Debug, Default)]
pub struct ObjectBuilder {
    entries: Vec<(SmolStr, Value)>,
    table: Table,
}

/// A key whose hash is known, for keys that policies look up again and again.
#[derive(Clone, Debug)]
pub struct Key {
    text: SmolStr,
    hash: u64,
}

impl Key {
    /// The key of this text.
    pub fn new(text: impl Into<SmolStr>) -> Key {
        let text = text.into();
        Key { hash: hash(&text), text }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Requests bring objects with keys of their choice: every process hashes differently.
fn hash(key: &str) -> u64 {
    static HASHING: LazyLock<RandomState> = LazyLock::new(RandomState::default);
    let mut hasher = HASHING.build_hasher();
    hasher.write(key.as_bytes());
    hasher.finish()
}

impl Object {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of this key.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value> {
        if self.entries.len() <= LINEAR_MAX {
            return self.scan(key);
        }
        let at = self.table.find(hash(key), |at| holds(&self.entries, at, key))?;
        self.entries.get(at).map(|(_, value)| value)
    }

    /// As [`Object::get`], without hashing.
    #[inline]
    pub fn get_key(&self, key: &Key) -> Option<&Value> {
        if self.entries.len() <= LINEAR_MAX {
            return self.scan(&key.text);
        }
        let at = self.table.find(key.hash, |at| holds(&self.entries, at, &key.text))?;
        self.entries.get(at).map(|(_, value)| value)
    }

    #[inline]
    fn scan(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(known, _)| same_text(known, key)).map(|(_, value)| value)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Keys and values, in their order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&SmolStr, &Value)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &SmolStr> + ExactSizeIterator {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Whether both have equal values under the same keys, in whatever order.
    pub(super) fn equals(&self, other: &Object) -> bool {
        weight::note_walked(self.len());
        self.len() == other.len()
            && self.iter().all(|(key, value)| other.get(key).is_some_and(|found| value.equals(found)))
    }

    /// The sum of the hashes of all entries, so that their order does not count.
    pub(super) fn hash_content<H: Hasher>(&self, state: &mut H) {
        let sum = self.iter().fold(0_u64, |sum, (key, value)| {
            let mut hasher = FixedState::with_seed(super::CONTENT_SEED).build_hasher();
            hasher.write(key.as_bytes());
            value.hash_content(&mut hasher);
            sum.wrapping_add(hasher.finish())
        });
        state.write_u64(sum);
    }
}

impl<K: Into<SmolStr>> FromIterator<(K, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Object {
        let entries = entries.into_iter();
        let mut builder = ObjectBuilder::with_capacity(entries.size_hint().0);
        for (key, value) in entries {
            builder.insert(key, value);
        }
        builder.finish()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl ObjectBuilder {
    /// No keys yet.
    pub fn new() -> ObjectBuilder {
        ObjectBuilder::default()
    }

    /// No keys yet, and room for this many.
    pub fn with_capacity(count: usize) -> ObjectBuilder {
        ObjectBuilder { entries: Vec::with_capacity(count), table: Table::default() }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a key; one that is there already keeps its place and gets the new value.
    pub fn insert(&mut self, key: impl Into<SmolStr>, value: Value) {
        let key = key.into();
        if self.entries.len() < LINEAR_MAX {
            match self.entries.iter_mut().find(|(known, _)| same_text(known, &key)) {
                Some((_, held)) => *held = value,
                None => self.entries.push((key, value)),
            }
            return;
        }
        self.grow();
        let hash = hash(&key);
        match self.table.find(hash, |at| holds(&self.entries, at, &key)) {
            Some(at) => {
                if let Some((_, held)) = self.entries.get_mut(at) {
                    *held = value;
                }
            }
            None => {
                self.table.insert(hash, self.entries.len());
                self.entries.push((key, value));
            }
        }
    }

    /// Makes room in the table for one entry more.
    fn grow(&mut self) {
        if self.table.has_room_for(self.entries.len() + 1) {
            return;
        }
        self.table = Table::with_room_for((self.entries.len() + 1) * 2);
        for (at, (key, _)) in self.entries.iter().enumerate() {
            self.table.insert(hash(key), at);
        }
    }

    /// The object.
    pub fn finish(self) -> Object {
        let table = if self.entries.len() > LINEAR_MAX { self.table } else { Table::default() };
        let weight = weight::of_entries(&self.entries);
        Object { entries: self.entries.into_boxed_slice(), table, weight }
    }
}

#[inline]
fn holds(entries: &[(SmolStr, Value)], at: usize, key: &str) -> bool {
    entries.get(at).is_some_and(|(known, _)| same_text(known, key))
}

/// Places of entries by the hashes of their keys: open addressing, at most half full, so that a search ends within a
/// few steps. A slot is 0, or the upper half of the hash above the place plus one, so that hardly any key is compared
/// in vain.
#[derive(Clone, Debug, Default)]
struct Table {
    /// INVARIANT: the length is a power of two, or 0.
    slots: Box<[u64]>,
}

const TAG: u64 = 0xffff_ffff_0000_0000;

impl Table {
    fn with_room_for(count: usize) -> Table {
        Table { slots: vec![0; (count * 2).next_power_of_two()].into_boxed_slice() }
    }

    fn has_room_for(&self, count: usize) -> bool {
        self.slots.len() >= count * 2
    }

    #[inline]
    fn find(&self, hash: u64, holds: impl Fn(usize) -> bool) -> Option<usize> {
        for slot in self.from(hash) {
            if slot == 0 {
                return None;
            }
            let at = place(slot);
            if slot & TAG == hash & TAG && holds(at) {
                return Some(at);
            }
        }
        None
    }

    /// The slots in the order in which a hash is looked for.
    #[inline]
    fn from(&self, hash: u64) -> impl Iterator<Item = u64> + '_ {
        let (before, after) = self.slots.split_at(self.start(hash));
        after.iter().chain(before).copied()
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "only the low bits of the hash are wanted")]
    fn start(&self, hash: u64) -> usize {
        hash as usize & self.slots.len().wrapping_sub(1)
    }

    fn insert(&mut self, hash: u64, at: usize) {
        let start = self.start(hash);
        // Keys beyond 32 bits would take hundreds of gigabytes.
        let place = u64::try_from(at + 1).unwrap_or(u64::MAX) & !TAG;
        let (before, after) = self.slots.split_at_mut(start);
        if let Some(free) = after.iter_mut().chain(before).find(|slot| **slot == 0) {
            *free = hash & TAG | place;
        }
    }
}

/// The place of the entry in a slot that is not empty.
#[inline]
fn place(slot: u64) -> usize {
    (slot & !TAG) as usize - 1
}

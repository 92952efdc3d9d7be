//! The names of attributes that programs of this process read, each with a number: so that a decision compares numbers instead of texts.
//!
//! Names come out of policies only, so a caller can neither grow nor skew the table with names of their choice. A number stands for
//! its name as long as the process lives, because requests that were read keep numbers. What a request calls an attribute is
//! compared with the name's texts once, where the request is read: equal numbers are equal names.

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use foldhash::fast::FixedState;
use smol_str::SmolStr;

use super::AttributeName;

/// Names of attributes that get a number, and are kept as long as the process lives. A number may have 24 bits, beside the 8 of a data
/// type. A full table stays full until the process ends, which the metric `durward_known_names` shows: further names are compared as
/// texts, which takes longer and changes no decision.
pub const NAMES_MAX: usize = 1 << 20;

/// The number of an attribute's name, which is a category and an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct NameKey(u32);

impl NameKey {
    /// Of a name that had no number when it was looked for.
    pub const NONE: NameKey = NameKey(0);

    #[inline]
    pub(crate) const fn of_number(number: u32) -> NameKey {
        NameKey(number)
    }

    /// The number; 0 of [`NameKey::NONE`].
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A digest of a category, from which that of its attributes' names goes on.
#[derive(Clone, Copy, Debug)]
pub struct CategoryHash(u64);

impl CategoryHash {
    /// Of a category.
    #[inline]
    pub fn of(category: &str) -> CategoryHash {
        CategoryHash(hash(0x6475_7277_6172_6421, category))
    }

    #[inline]
    fn with(self, id: &str) -> u64 {
        hash(self.0, id)
    }
}

#[inline]
fn hash(seed: u64, text: &str) -> u64 {
    let mut hasher = FixedState::with_seed(seed).build_hasher();
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// The names that had a number at some moment.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// An open-addressing table, a power of two long and at most half full.
    entries: Vec<Entry>,
    /// The name with the number N is at N - 1.
    names: Vec<Name>,
    categories: HashSet<SmolStr, FixedState>,
}

/// A number of 0 is no entry.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    hash: u32,
    number: u32,
}

#[derive(Clone, Debug)]
struct Name {
    category: SmolStr,
    id: SmolStr,
}

static KNOWN: LazyLock<Mutex<Arc<Names>>> = LazyLock::new(Mutex::default);
/// How many there are, so that a thread learns without the lock that there are more.
static COUNT: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// What this thread has seen of them: so that threads share nothing when there is nothing new.
    static SEEN: RefCell<Arc<Names>> = RefCell::default();
}

/// How many names of attributes have a number in this process; [`NAMES_MAX`] says how many may.
pub fn count() -> usize {
    COUNT.load(Ordering::Acquire) as usize
}

impl Names {
    /// Reads with the names that there are now.
    #[inline]
    pub fn with<R>(read: impl FnOnce(&Names) -> R) -> R {
        SEEN.with(|seen| {
            if seen.borrow().count() != COUNT.load(Ordering::Acquire) {
                refresh(seen);
            }
            read(&seen.borrow())
        })
    }

    /// How many there are: a name with a greater number was not among them.
    #[inline]
    pub fn count(&self) -> u32 {
        self.names.len() as u32
    }

    /// The number of a name; `hash` is that of its category.
    #[inline]
    pub fn find(&self, category: &str, hash: CategoryHash, id: &str) -> NameKey {
        let hash = hash.with(id);
        let mask = self.entries.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(Entry { hash: known, number }) = self.entries.get(at).copied()
            && number != 0
        {
            if known == (hash >> 32) as u32
                && let Some(name) = self.names.get(number as usize - 1)
                && *name.id == *id
                && is_same(&name.category, category)
            {
                return NameKey(number);
            }
            at = (at + 1) & mask;
        }
        NameKey::NONE
    }

    /// The identifier of a name, which is cheap to clone.
    #[inline]
    pub fn id(&self, key: NameKey) -> Option<&SmolStr> {
        self.names.get((key.0 as usize).checked_sub(1)?).map(|name| &name.id)
    }

    /// The numbers of names that a program reads, which have one from now on; [`NameKey::NONE`] for `None`.
    pub(crate) fn keys_of(names: &[Option<&AttributeName>]) -> Vec<NameKey> {
        let find = |known: &Names, name: &AttributeName| {
            known.find(&name.category, CategoryHash::of(&name.category), &name.id)
        };
        let found = |known: &Names| -> Vec<NameKey> {
            names.iter().map(|name| name.map_or(NameKey::NONE, |name| find(known, name))).collect()
        };
        let keys = Names::with(found);
        if keys.iter().zip(names).all(|(key, name)| *key != NameKey::NONE || name.is_none()) {
            return keys;
        }
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.names.len() >= NAMES_MAX {
            return found(&known);
        }
        let more = Arc::make_mut(&mut known);
        for name in names.iter().flatten() {
            if find(&*more, name) == NameKey::NONE {
                more.add(name);
            }
        }
        let keys = found(&*more);
        COUNT.store(more.count(), Ordering::Release);
        keys
    }

    fn add(&mut self, name: &AttributeName) {
        if self.names.len() >= NAMES_MAX {
            return;
        }
        let known = self.categories.get(&name.category).cloned();
        let category = known.unwrap_or_else(|| {
            let category = kept(&name.category);
            self.categories.insert(category.clone());
            category
        });
        self.names.push(Name { category, id: kept(&name.id) });
        if self.names.len() * 2 > self.entries.len() {
            self.entries = vec![Entry::default(); (self.names.len() * 4).next_power_of_two().max(64)];
            (1..=self.count()).for_each(|number| self.insert(number));
        } else {
            self.insert(self.count());
        }
    }

    fn insert(&mut self, number: u32) {
        let Some(name) = self.names.get(number as usize - 1) else { return };
        let hash = CategoryHash::of(&name.category).with(&name.id);
        let mask = self.entries.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(entry) = self.entries.get_mut(at) {
            if entry.number == 0 {
                *entry = Entry { hash: (hash >> 32) as u32, number };
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cold]
fn refresh(seen: &RefCell<Arc<Names>>) {
    // Who reads with those of before goes on with them.
    if let Ok(mut seen) = seen.try_borrow_mut() {
        let newest = Arc::clone(&KNOWN.lock().unwrap_or_else(PoisonError::into_inner));
        // The older table is given back after the lock.
        *seen = newest;
    }
}

/// A text that lives as long as the process: copies of it have nothing to count, which threads would share.
pub(crate) fn kept(text: &SmolStr) -> SmolStr {
    if text.is_heap_allocated() {
        SmolStr::new_static(Box::leak(Box::<str>::from(text.as_str())))
    } else {
        text.clone()
    }
}

/// Well-known categories are one text in memory, so that most comparisons end at the address.
#[inline]
fn is_same(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::DataType;

    fn name(category: &str, id: &str) -> AttributeName {
        AttributeName { category: category.into(), id: id.into(), data_type: DataType::Text, issuer: None }
    }

    fn all(names: &[AttributeName]) -> Vec<Option<&AttributeName>> {
        names.iter().map(Some).collect()
    }

    fn found(category: &str, id: &str) -> NameKey {
        Names::with(|names| names.find(category, CategoryHash::of(category), id))
    }

    #[test]
    fn a_name_has_a_number_once_a_program_reads_it_and_keeps_it() {
        let long = "urn:example:names-of-this-test:a-category-of-more-than-23-bytes";
        let names = [name(long, "a"), name(long, "b"), name("names-of-this-test", "a")];
        assert_eq!(found(long, "a"), NameKey::NONE);
        let keys = Names::keys_of(&all(&names));
        assert!(count() >= names.len());
        let again = Names::keys_of(&all(&names));
        assert_eq!(keys, again);
        for (name, key) in names.iter().zip(&keys) {
            assert_eq!(found(&name.category, &name.id), *key);
            assert_eq!(keys.iter().filter(|other| *other == key).count(), 1);
            assert!(*key != NameKey::NONE);
        }
        assert_eq!(found(long, "ab"), NameKey::NONE);
        assert_eq!(found("names-of-this-testa", ""), NameKey::NONE);
    }

    #[test]
    fn many_names_are_found() {
        let names: Vec<AttributeName> = (0..1_000).map(|n| name("many", &format!("attribute-{n}"))).collect();
        let keys = Names::keys_of(&all(&names));
        for (name, key) in names.iter().zip(keys) {
            assert_eq!(found(&name.category, &name.id), key);
        }
    }

    /// The table is one of this test's own: that of the process must not be full for others.
    #[test]
    fn a_name_beyond_the_limit_has_no_number() {
        let other = Name { category: "other".into(), id: "other".into() };
        let mut names = Names {
            entries: vec![Entry::default(); 2 * NAMES_MAX],
            names: vec![other; NAMES_MAX - 1],
            ..Names::default()
        };
        names.add(&name("limit", "last"));
        names.add(&name("limit", "beyond"));
        let find = |id: &str| names.find("limit", CategoryHash::of("limit"), id).number() as usize;
        assert_eq!((find("last"), find("beyond"), names.names.len()), (NAMES_MAX, 0, NAMES_MAX));
    }

    /// A thread that reads while another puts policies in force goes on with the names that it began with.
    #[test]
    fn names_may_come_while_some_are_read() {
        Names::with(|before| {
            let key = Names::keys_of(&all(&[name("names-while-read", "x")]))[0];
            assert_eq!(
                before.find("names-while-read", CategoryHash::of("names-while-read"), "x"),
                NameKey::NONE
            );
            assert!(key.number() > before.count());
        });
        assert!(found("names-while-read", "x") != NameKey::NONE);
    }
}

//! Attributes as numbered slots, and the constants they are compared with as numbered atoms.
//!
//! What is touched per decision: for each category of the request one comparison of its name; for each attribute
//! one bucket of `buckets`, one entry of `read` and one comparison of its identifier; for each single value one entry
//! of `atom_table` and one comparison of its text. Everything after that compares numbers.

use std::collections::HashMap;

use smol_str::SmolStr;

use crate::attribute::{AttributeName, NameKey};
use crate::value::{DataType, Value};

/// The number of an attribute that some expression reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SlotId(pub u32);

/// The number of a fact "this slot holds this value". Two atoms are the same fact exactly when their numbers are
/// the same; each belongs to one slot ([`Slots::atom`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Atom(pub u32);

/// The attributes a program reads, and the values it compares them with. Grows while policies are lowered; then
/// [`Slots::seal`] makes the tables that questions are encoded with.
#[derive(Debug, Default)]
pub struct Slots {
    names: Vec<AttributeName>,
    by_name: HashMap<AttributeName, SlotId>,
    atoms: Vec<(SlotId, Value)>,
    by_digest: HashMap<u64, Vec<Atom>>,
    categories: Vec<SmolStr>,
    buckets: Vec<Bucket>,
    grouped: Vec<Reading>,
    atom_table: Vec<AtomEntry>,
}

/// The number of a category that some expression reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CategoryNumber(u32);

/// One way in which an attribute of some (category, id) is read: what a question must know of its slot.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The slot.
    pub slot: SlotId,
    /// The type of the values it takes.
    pub data_type: DataType,
    /// Whether it takes the values of one issuer only ([`Slots::name`] says which).
    pub is_issued: bool,
    category: CategoryNumber,
    id: SmolStr,
}

/// The slots of one (category, id): `grouped[first..first + count]`. Empty buckets have a count of 0.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    key: u64,
    first: u32,
    count: u32,
}

/// One entry of the open-addressing table of atoms; `atom` is one more than the atom's number, 0 is empty.
#[derive(Clone, Copy, Debug, Default)]
struct AtomEntry {
    digest: u64,
    atom: u32,
}

impl Slots {
    /// The slot of this attribute, made if new.
    pub fn slot(&mut self, name: &AttributeName) -> SlotId {
        if let Some(slot) = self.by_name.get(name) {
            return *slot;
        }
        let slot = SlotId(self.names.len() as u32);
        self.names.push(name.clone());
        self.by_name.insert(name.clone(), slot);
        slot
    }

    /// The atom "`slot` holds `value`", made if new; `None` for types whose equality is not that of their text.
    pub fn atom_for(&mut self, slot: SlotId, value: &Value) -> Option<Atom> {
        if !value.is_internable() {
            return None;
        }
        let atoms = self.by_digest.entry(digest(slot, value)).or_default();
        for atom in atoms.iter() {
            if self.atoms.get(atom.0 as usize).is_some_and(|known| known.0 == slot && known.1.equals(value)) {
                return Some(*atom);
            }
        }
        let atom = Atom(self.atoms.len() as u32);
        atoms.push(atom);
        self.atoms.push((slot, value.clone()));
        Some(atom)
    }

    /// Makes the lookup tables. Called once, by the builder.
    pub(super) fn seal(&mut self) {
        self.seal_names();
        self.seal_atoms();
        self.by_digest = HashMap::new();
    }

    fn seal_names(&mut self) {
        let mut groups: Vec<(NameKey, Vec<Reading>)> = Vec::new();
        let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
        for (number, name) in self.names.iter().enumerate() {
            let category = match self.categories.iter().position(|known| *known == name.category) {
                Some(known) => known,
                None => {
                    self.categories.push(name.category.clone());
                    self.categories.len() - 1
                }
            };
            let group = *seen.entry((&name.category, &name.id)).or_insert_with(|| {
                groups.push((NameKey::of(&name.category, &name.id), Vec::new()));
                groups.len() - 1
            });
            if let Some((_, readings)) = groups.get_mut(group) {
                readings.push(Reading {
                    slot: SlotId(number as u32),
                    data_type: name.data_type,
                    is_issued: name.issuer.is_some(),
                    category: CategoryNumber(category as u32),
                    id: name.id.clone(),
                });
            }
        }
        self.buckets = vec![Bucket::default(); table_size(groups.len())];
        for (key, readings) in groups {
            let bucket =
                Bucket { key: key.0, first: self.grouped.len() as u32, count: readings.len() as u32 };
            self.grouped.extend(readings);
            place(&mut self.buckets, key.0, bucket, |bucket| bucket.count == 0);
        }
    }

    fn seal_atoms(&mut self) {
        self.atom_table = vec![AtomEntry::default(); table_size(self.atoms.len())];
        for (number, (slot, value)) in self.atoms.iter().enumerate() {
            let digest = digest(*slot, value);
            place(&mut self.atom_table, digest, AtomEntry { digest, atom: number as u32 + 1 }, |e| {
                e.atom == 0
            });
        }
    }

    /// How many slots there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no expression reads any attribute.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The attribute of a slot.
    ///
    /// # Panics
    /// Never for slots of this program.
    #[expect(clippy::indexing_slicing, reason = "slot numbers are only made by `slot`")]
    pub fn name(&self, slot: SlotId) -> &AttributeName {
        &self.names[slot.0 as usize]
    }

    /// All slots with their attributes.
    pub fn names(&self) -> impl ExactSizeIterator<Item = (SlotId, &AttributeName)> {
        self.names.iter().enumerate().map(|(number, name)| (SlotId(number as u32), name))
    }

    /// How many atoms there are.
    pub fn atom_count(&self) -> usize {
        self.atoms.len()
    }

    /// The slot and value of an atom.
    ///
    /// # Panics
    /// Never for atoms of this program.
    #[expect(clippy::indexing_slicing, reason = "atom numbers are only made by `atom_for`")]
    pub fn atom(&self, atom: Atom) -> (SlotId, &Value) {
        let (slot, value) = &self.atoms[atom.0 as usize];
        (*slot, value)
    }

    /// The number of a category, if any expression reads it. Policies read a handful, so they are looked through.
    #[inline]
    pub fn category(&self, name: &str) -> Option<CategoryNumber> {
        self.categories.iter().position(|known| known == name).map(|number| CategoryNumber(number as u32))
    }

    /// How the attribute `id` in `category` is read. `key` is its [`NameKey`].
    #[inline]
    pub fn find(&self, key: NameKey, category: CategoryNumber, id: &str) -> &[Reading] {
        let mask = self.buckets.len().wrapping_sub(1);
        let mut at = key.0 as usize & mask;
        while let Some(bucket) = self.buckets.get(at) {
            if bucket.count == 0 {
                return &[];
            }
            if bucket.key == key.0 {
                let readings =
                    self.grouped.get(bucket.first as usize..(bucket.first + bucket.count) as usize);
                let readings = readings.unwrap_or_default();
                if readings.first().is_some_and(|first| first.category == category && first.id == id) {
                    return readings;
                }
            }
            at = (at + 1) & mask;
        }
        &[]
    }

    /// The atom "`slot` holds `value`", if the program has it. `value` must be internable.
    #[inline]
    pub fn find_atom(&self, slot: SlotId, value: &Value) -> Option<Atom> {
        let digest = digest(slot, value);
        let mask = self.atom_table.len().wrapping_sub(1);
        let mut at = digest as usize & mask;
        while let Some(entry) = self.atom_table.get(at) {
            if entry.atom == 0 {
                return None;
            }
            if entry.digest == digest {
                let atom = Atom(entry.atom - 1);
                let known = self.atom(atom);
                if known.0 == slot && known.1.equals(value) {
                    return Some(atom);
                }
            }
            at = (at + 1) & mask;
        }
        None
    }
}

#[inline]
fn digest(slot: SlotId, value: &Value) -> u64 {
    value.content_hash() ^ (u64::from(slot.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Twice the entries, rounded up to a power of two, so that a chain is rarely longer than two; at least 2 so that
/// there is always an empty entry to stop at.
fn table_size(entries: usize) -> usize {
    (entries * 2).next_power_of_two().max(2)
}

fn place<T>(table: &mut [T], hash: u64, entry: T, is_empty: impl Fn(&T) -> bool) {
    let mask = table.len().wrapping_sub(1);
    let mut at = hash as usize & mask;
    while let Some(slot) = table.get_mut(at) {
        if is_empty(slot) {
            *slot = entry;
            return;
        }
        at = (at + 1) & mask;
    }
}

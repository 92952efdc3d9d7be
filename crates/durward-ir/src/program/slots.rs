//! Attributes as numbered slots, and the constants they are compared with as numbered atoms.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smol_str::SmolStr;

use super::atoms::{Atom, Atoms};
use super::ids::SlotId;
use super::map::Map;
use super::open_addressing::{place, table_size};
use super::ranges::DerivedSlots;
use super::words::Words;
use crate::attribute::{AttributeName, NameKey, Names};
use crate::path::Path;
use crate::question::RowKey;
use crate::value::{DataType, Value};

/// The attributes a program reads, and the values it compares them with. Grows while policies are lowered; then
/// [`Slots::seal`] makes the tables that questions are answered with. A copy may grow again: what it has in common with
/// the original keeps its numbers.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    /// See [`Slots::id`].
    id: u64,
    names: Vec<AttributeName>,
    /// By slot, once sealed; [`NameKey::NONE`] of slots that stand for no attribute.
    keys: Vec<NameKey>,
    /// By slot, what rows of requests are compared with; [`RowKey::NONE`] where that does not say all.
    row_keys: Vec<RowKey>,
    /// The greatest number of a name.
    names_known: u32,
    by_name: Map<AttributeName, SlotId>,
    /// By slot; empty while there is no path.
    paths: Vec<Option<Path>>,
    by_path: Map<Path, SlotId>,
    atoms: Atoms,
    /// For each slot the number of its first atom, and behind them how many atoms there are; empty before
    /// [`Slots::group`].
    firsts: Arc<[u32]>,
    pub(super) words: Words,
    /// Slots that stand for attributes, those of one name beside each other.
    by_key: Vec<SlotId>,
    key_table: Vec<KeyEntry>,
    pub(super) derived: DerivedSlots,
}

/// Counts the programs of this process.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// One entry of the open-addressing table of slots by the numbers of their names: where those of a name begin and end in
/// [`Slots::by_key`]. An empty one has no name.
#[derive(Clone, Copy, Debug, Default)]
struct KeyEntry {
    key: NameKey,
    from: u32,
    to: u32,
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

    /// The slot of this part of the subscription, made if new. Its name is only for people.
    pub fn path_slot(&mut self, path: &Path) -> SlotId {
        if let Some(slot) = self.by_path.get(path) {
            return *slot;
        }
        let slot = SlotId(self.names.len() as u32);
        let category = path.element().as_str().into();
        let id = path.keys().join(".").into();
        self.names.push(AttributeName { category, id, data_type: DataType::Undefined, issuer: None });
        self.paths.resize(self.names.len(), None);
        if let Some(last) = self.paths.last_mut() {
            *last = Some(path.clone());
        }
        self.by_path.insert(path.clone(), slot);
        slot
    }

    /// A slot that is made of another one. Its name is only for people, and that of no attribute.
    pub(super) fn last_slot(&mut self, source: SlotId) -> SlotId {
        let slot = SlotId(self.names.len() as u32);
        let mut name = self.name(source).clone();
        name.id = format!("{} (ranges)", name.id).into();
        self.names.push(name);
        slot
    }

    /// The part of the subscription that a slot stands for; `None` where it stands for an attribute.
    #[inline]
    pub fn path(&self, slot: SlotId) -> Option<&Path> {
        self.paths.get(slot.0 as usize)?.as_ref()
    }

    /// Whether any slot stands for a part of a subscription.
    pub(super) fn has_paths(&self) -> bool {
        !self.by_path.is_empty()
    }

    /// The atom "`slot` holds `value`", made if new; `None` for types whose equality is not that of their text.
    pub fn atom_for(&mut self, slot: SlotId, value: &Value) -> Option<Atom> {
        value.is_internable().then(|| self.atoms.add(slot, value))
    }

    /// An atom that no value of an attribute is found by.
    pub(super) fn last_atom(&mut self, slot: SlotId, value: Value) {
        self.atoms.add(slot, &value);
    }

    /// Numbers the atoms so that those of one slot follow one another: then a table needs no more places than a slot
    /// has atoms. Gives the new numbers by the old ones.
    pub(super) fn group(&mut self) -> Vec<Atom> {
        let numbers = self.atoms.group();
        let mut firsts = vec![0u32; self.names.len() + 2];
        for (slot, _) in self.atoms.iter() {
            if let Some(count) = firsts.get_mut(slot.0 as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for first in &mut firsts {
            sum += *first;
            *first = sum;
        }
        self.firsts = firsts.into();
        numbers
    }

    /// The atoms of a slot, which follow one another: the number of the first, and how many there are.
    pub(crate) fn atoms_of(&self, slot: SlotId) -> (u32, u32) {
        let first = |at: u32| self.firsts.get(at as usize).copied().unwrap_or_default();
        (first(slot.0), first(slot.0 + 1).saturating_sub(first(slot.0)))
    }

    /// The length of the longest text among the atoms, in bytes; 0 without any.
    pub(super) fn longest_text(&self) -> usize {
        let length = |value: &Value| if let Value::Text(text) = value { text.len() } else { 0 };
        self.atoms.iter().map(|(_, value)| length(value)).max().unwrap_or_default()
    }

    /// Makes the lookup tables. Called by the builder when nothing more is added.
    pub(super) fn seal(&mut self) {
        self.seal_derived();
        self.atoms.seal();
        self.seal_keys();
        self.words = Words::of(self);
        self.id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
    }

    /// The same for what was added to sealed ones.
    pub(super) fn seal_again(&mut self) {
        self.atoms.seal();
        self.seal_keys();
        self.words = self.words.extended(self);
        self.id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
    }

    fn seal_keys(&mut self) {
        let is_attribute = |slot: SlotId| self.path(slot).is_none() && !self.is_piece(slot);
        let names: Vec<Option<&AttributeName>> =
            self.names().map(|(slot, name)| is_attribute(slot).then_some(name)).collect();
        self.keys = Names::keys_of(&names);
        let row_key = |(name, key): (&AttributeName, &NameKey)| match name.issuer {
            None => RowKey::of(*key, name.data_type),
            Some(_) => RowKey::NONE,
        };
        self.row_keys = self.names.iter().zip(&self.keys).map(row_key).collect();
        self.names_known = self.keys.iter().map(|key| key.number()).max().unwrap_or_default();
        let mut by_key: Vec<(NameKey, SlotId)> =
            (0..).map(SlotId).zip(&self.keys).map(|(slot, key)| (*key, slot)).collect();
        by_key.retain(|(key, _)| *key != NameKey::NONE);
        by_key.sort_unstable_by_key(|(key, slot)| (key.number(), *slot));
        self.key_table = vec![KeyEntry::default(); table_size(by_key.len())];
        let mut from = 0;
        for of_one in by_key.chunk_by(|(one, _), (other, _)| one == other) {
            let to = from + of_one.len() as u32;
            let key = of_one.first().map(|(key, _)| *key).unwrap_or_default();
            let entry = KeyEntry { key, from, to };
            place(&mut self.key_table, u64::from(key.number()), entry, |entry| entry.key == NameKey::NONE);
            from = to;
        }
        self.by_key = by_key.into_iter().map(|(_, slot)| slot).collect();
    }

    /// A number that only programs with the very same slots and atoms have in common; 0 before the program is built.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The slots that read an attribute of this name.
    #[inline]
    pub fn with_name(&self, key: NameKey) -> impl Iterator<Item = SlotId> {
        let mask = self.key_table.len().wrapping_sub(1);
        let mut at = key.number() as usize & mask;
        let mut found = &[][..];
        while let Some(entry) = self.key_table.get(at)
            && entry.key != NameKey::NONE
        {
            if entry.key == key {
                found = self.by_key.get(entry.from as usize..entry.to as usize).unwrap_or_default();
                break;
            }
            at = (at + 1) & mask;
        }
        found.iter().copied()
    }

    /// The greatest number of a name that a slot reads.
    #[inline]
    pub(crate) fn names_known(&self) -> u32 {
        self.names_known
    }

    /// What a row of a request has that this slot asks for; [`RowKey::NONE`] of slots for parts, pieces or an issuer.
    #[inline]
    pub(crate) fn row_key(&self, slot: SlotId) -> RowKey {
        self.row_keys.get(slot.0 as usize).copied().unwrap_or_default()
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

    /// The number of the name of a slot's attribute; [`NameKey::NONE`] before the program is built.
    #[inline]
    pub fn key(&self, slot: SlotId) -> NameKey {
        self.keys.get(slot.0 as usize).copied().unwrap_or_default()
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
    #[expect(clippy::expect_used, reason = "atom numbers are only made by `atom_for`")]
    pub fn atom(&self, atom: Atom) -> (SlotId, &Value) {
        let (slot, value) = self.atoms.get(atom).expect("an atom of this program");
        (*slot, value)
    }

    /// The atom "`slot` holds `value`", if the program has it. `value` must be internable; `content_hash` is its
    /// [`Value::content_hash`].
    #[inline]
    pub fn find_atom(&self, slot: SlotId, value: &Value, content_hash: u64) -> Option<Atom> {
        self.atoms.find(slot, value, content_hash)
    }

    /// The same of a [`Value::Text`] with this text.
    #[inline]
    pub(crate) fn find_text(&self, slot: SlotId, text: &SmolStr, content_hash: u64) -> Option<Atom> {
        self.atoms.find_text(slot, text, content_hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_one_name_are_found_together() {
        let name = |id: &str, data_type, issuer: Option<&str>| AttributeName {
            category: "slots-of-one-name".into(),
            id: id.into(),
            data_type,
            issuer: issuer.map(Into::into),
        };
        let mut slots = Slots::default();
        for name in [
            name("a", DataType::Text, None),
            name("b", DataType::Text, None),
            name("a", DataType::Integer, None),
            name("a", DataType::Text, Some("somebody")),
        ] {
            slots.slot(&name);
        }
        slots.seal();
        let found = |key| slots.with_name(key).collect::<Vec<_>>();
        assert_eq!(found(slots.key(SlotId(0))), [SlotId(0), SlotId(2), SlotId(3)]);
        assert_eq!(found(slots.key(SlotId(1))), [SlotId(1)]);
        assert_eq!(found(NameKey::NONE), []);
    }
}

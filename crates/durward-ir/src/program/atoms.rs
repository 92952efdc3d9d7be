//! The constants that slots are compared with, by number and by what they are.

use std::sync::Arc;

use smol_str::SmolStr;

use super::arena::Arena;
use super::ids::SlotId;
use super::map::Map;
use super::open_addressing::{place, table_size};
use crate::value::{Value, same_text};

/// The number of a fact "this slot holds this value". Two atoms are the same fact exactly when their numbers are
/// the same; each belongs to one slot ([`super::Slots::atom`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Atom(pub u32);

/// All atoms. Those that were there when it was sealed are found in a table, those that came later in a map.
#[derive(Clone, Debug, Default)]
pub(super) struct Atoms {
    atoms: Arena<(SlotId, Value)>,
    /// Of the arena's base.
    table: Arc<[Entry]>,
    /// Of what stands behind the base.
    later: Map<u64, Vec<Atom>>,
}

/// One entry of the open-addressing table; `atom` is one more than the atom's number, 0 is empty.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    digest: u64,
    atom: u32,
}

impl Atoms {
    /// The atom, made if new. `content_hash` is that of the value.
    pub(super) fn add(&mut self, slot: SlotId, value: &Value) -> Atom {
        let content_hash = value.content_hash();
        if let Some(known) = self.find(slot, value, content_hash) {
            return known;
        }
        let atom = Atom(self.atoms.len() as u32);
        self.later.entry(digest(slot, content_hash)).or_default().push(atom);
        self.atoms.push((slot, value.clone()));
        atom
    }

    /// Numbers the atoms so that those of one slot follow one another, where none are sealed yet. Gives the new numbers
    /// by the old ones.
    pub(super) fn group(&mut self) -> Vec<Atom> {
        let atoms = self.atoms.tail_mut();
        let mut order: Vec<usize> = (0..atoms.len()).collect();
        order.sort_by_key(|at| atoms.get(*at).map(|(slot, _)| *slot));
        let mut numbers = vec![Atom(0); order.len()];
        for (new, old) in (0..).zip(&order) {
            if let Some(number) = numbers.get_mut(*old) {
                *number = Atom(new);
            }
        }
        atoms.sort_by_key(|(slot, _)| *slot);
        numbers
    }

    /// Makes the table, where there is none yet. Atoms that are added afterwards have higher numbers.
    pub(super) fn seal(&mut self) {
        if self.atoms.base_len() > 0 {
            return;
        }
        self.later = Map::default();
        self.atoms.settle();
        let mut table = vec![Entry::default(); table_size(self.atoms.len())];
        for (number, (slot, value)) in (1..).zip(self.atoms.iter()) {
            let digest = digest(*slot, value.content_hash());
            place(&mut table, digest, Entry { digest, atom: number }, |entry| entry.atom == 0);
        }
        self.table = table.into();
    }

    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(SlotId, Value)> {
        self.atoms.iter()
    }

    #[inline]
    pub(super) fn get(&self, atom: Atom) -> Option<&(SlotId, Value)> {
        self.atoms.get(atom.0 as usize)
    }

    #[inline]
    pub(super) fn find(&self, slot: SlotId, value: &Value, content_hash: u64) -> Option<Atom> {
        self.find_by(slot, content_hash, |known| known.equals(value))
    }

    /// The same of a text; what nearly all values are need not be told apart from all that there are.
    #[inline]
    pub(super) fn find_text(&self, slot: SlotId, text: &SmolStr, content_hash: u64) -> Option<Atom> {
        self.find_by(
            slot,
            content_hash,
            |known| matches!(known, Value::Text(known) if same_text(known, text)),
        )
    }

    #[inline]
    fn find_by(&self, slot: SlotId, content_hash: u64, is_it: impl Fn(&Value) -> bool) -> Option<Atom> {
        let digest = digest(slot, content_hash);
        let is = |atom| self.get(atom).is_some_and(|known| known.0 == slot && is_it(&known.1));
        let mask = self.table.len().wrapping_sub(1);
        let mut at = digest as usize & mask;
        while let Some(entry) = self.table.get(at) {
            if entry.atom == 0 {
                break;
            }
            if entry.digest == digest {
                let atom = Atom(entry.atom - 1);
                if is(atom) {
                    return Some(atom);
                }
            }
            at = (at + 1) & mask;
        }
        if self.later.is_empty() { None } else { self.find_later(digest, &is) }
    }

    #[cold]
    fn find_later(&self, digest: u64, is: &dyn Fn(Atom) -> bool) -> Option<Atom> {
        self.later.get(&digest)?.iter().copied().find(|atom| is(*atom))
    }
}

#[inline]
fn digest(slot: SlotId, content_hash: u64) -> u64 {
    content_hash ^ (u64::from(slot.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

//! Branches by value: from the number of an atom to a step.
//!
//! Atoms are numbered in the order in which policies name them, so the values of one slot often stand close
//! together: then the number, less the lowest, is the place. Where they do not, few are compared one by one, more
//! are hashed.

use durward_ir::program::Atom;
use durward_ir::question::Number;

use super::DiagramEdge;
use crate::BuildMap;

/// Up to this many branches comparing them one by one is as fast as hashing.
const COMPARED_MAX: usize = 6;

/// A table with a place for every number from the lowest to the highest may be this many times longer than it has
/// branches; hashed branches take three times the memory of a place.
const SPREAD_MAX: usize = 4;

/// Longer tables are not compared with others: they hardly ever are the same where their nodes are not.
const SHARED_MAX: usize = 64;

/// Where the branches of one node are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum BranchTable {
    /// `places[first + number - low]`, for `count` numbers from `low`.
    Placed { low: u32, first: u32, count: u32 },
    /// `pairs[first..first + count]`.
    Compared { first: u32, count: u32 },
    /// `pairs[first..=first + mask]`, found by [`hash`]; a number of 0 ends a chain.
    Hashed { first: u32, mask: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BranchPair {
    number: u32,
    step: DiagramEdge,
}

impl BranchPair {
    const EMPTY: BranchPair = BranchPair { number: 0, step: DiagramEdge::NOBODY };
}

/// The branches of all nodes.
#[derive(Debug, Default)]
pub(super) struct BranchTables {
    places: Vec<DiagramEdge>,
    pairs: Vec<BranchPair>,
    known: BuildMap<Vec<(Atom, DiagramEdge)>, BranchTable>,
}

impl BranchTables {
    /// The branch of a number; `None` if none has this number, unless [`BranchTables::add`] put `other` there.
    #[inline]
    pub(super) fn find(&self, table: &BranchTable, number: Number) -> Option<DiagramEdge> {
        match *table {
            BranchTable::Placed { low, first, count } => {
                let place = number.0.wrapping_sub(low);
                if place < count { self.places.get((first + place) as usize).copied() } else { None }
            }
            BranchTable::Compared { first, count } => {
                let pairs = self.pairs.get(first as usize..(first + count) as usize)?;
                pairs.iter().find(|pair| pair.number == number.0).map(|pair| pair.step)
            }
            BranchTable::Hashed { first, mask } => {
                let mut at = hash(number.0) & mask;
                loop {
                    let pair = self.pairs.get((first + at) as usize)?;
                    if pair.number == number.0 {
                        return Some(pair.step);
                    }
                    if pair.number == 0 {
                        return None;
                    }
                    at = (at + 1) & mask;
                }
            }
        }
    }

    /// All branches, by number; among them may be numbers between those of the branches, that lead to `other`.
    pub(super) fn branches(&self, table: &BranchTable) -> Vec<(u32, DiagramEdge)> {
        let pairs = |first: u32, end: u32| {
            let pairs = self.pairs.get(first as usize..end as usize).unwrap_or_default();
            let pairs = pairs.iter().filter(|pair| pair.number != 0);
            pairs.map(|pair| (pair.number, pair.step)).collect()
        };
        match *table {
            BranchTable::Placed { low, first, count } => {
                let places = self.places.get(first as usize..(first + count) as usize);
                (low..).zip(places.unwrap_or_default().iter().copied()).collect()
            }
            BranchTable::Compared { first, count } => pairs(first, first + count),
            BranchTable::Hashed { first, mask } => pairs(first, first + mask + 1),
        }
    }

    /// A table of these branches, sorted by atom; `other` is where a number between them leads that has none.
    pub(super) fn add(&mut self, branches: &[(Atom, DiagramEdge)], other: DiagramEdge) -> BranchTable {
        let (Some((lowest, _)), Some((highest, _))) = (branches.first(), branches.last()) else {
            return BranchTable::Compared { first: 0, count: 0 };
        };
        let span = (highest.0 - lowest.0) as usize + 1;
        let is_full = span == branches.len();
        if branches.len() <= SHARED_MAX
            && let Some(table) = self.known.get(branches)
            && (is_full || !matches!(table, BranchTable::Placed { .. }))
        {
            return *table;
        }
        let table = if span <= SPREAD_MAX * branches.len() {
            self.place(branches, Number::of(*lowest).0, span, other)
        } else if branches.len() <= COMPARED_MAX {
            self.list(branches)
        } else {
            self.hash(branches)
        };
        if branches.len() <= SHARED_MAX {
            self.known.insert(branches.to_vec(), table);
        }
        table
    }

    /// See [`BranchTables::truncate`].
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.places.len(), self.pairs.len())
    }

    /// Forgets what was added since the lengths were these.
    pub(super) fn truncate(&mut self, (places, pairs): (usize, usize)) {
        self.places.truncate(places);
        self.pairs.truncate(pairs);
        self.known.retain(|_, table| match *table {
            BranchTable::Placed { first, .. } => (first as usize) < places,
            BranchTable::Compared { first, .. } | BranchTable::Hashed { first, .. } => {
                (first as usize) < pairs
            }
        });
    }

    fn place(
        &mut self,
        branches: &[(Atom, DiagramEdge)],
        low: u32,
        span: usize,
        other: DiagramEdge,
    ) -> BranchTable {
        let first = self.places.len();
        self.places.resize(first + span, other);
        for (atom, step) in branches {
            if let Some(place) = self.places.get_mut(first + (Number::of(*atom).0 - low) as usize) {
                *place = *step;
            }
        }
        BranchTable::Placed { low, first: first as u32, count: span as u32 }
    }

    fn list(&mut self, branches: &[(Atom, DiagramEdge)]) -> BranchTable {
        let first = self.pairs.len() as u32;
        self.pairs.extend(
            branches.iter().map(|(atom, step)| BranchPair { number: Number::of(*atom).0, step: *step }),
        );
        BranchTable::Compared { first, count: branches.len() as u32 }
    }

    /// Twice as many places as branches, so that there is always an empty one and chains are short.
    fn hash(&mut self, branches: &[(Atom, DiagramEdge)]) -> BranchTable {
        let (first, size) = (self.pairs.len(), (branches.len() * 2).next_power_of_two());
        let mask = size as u32 - 1;
        self.pairs.resize(first + size, BranchPair::EMPTY);
        for (atom, step) in branches {
            let number = Number::of(*atom).0;
            let mut at = hash(number) & mask;
            while let Some(pair) = self.pairs.get_mut(first + at as usize) {
                if *pair == BranchPair::EMPTY {
                    *pair = BranchPair { number, step: *step };
                    break;
                }
                at = (at + 1) & mask;
            }
        }
        BranchTable::Hashed { first: first as u32, mask }
    }

    /// How many entries of about 8 bytes there are.
    pub(super) fn len(&self) -> usize {
        self.places.len() + self.pairs.len()
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.places) + size_of_val(&*self.pairs)
    }

    /// Gives back what only building needs.
    pub(super) fn finish(&mut self) {
        self.known = BuildMap::default();
        self.places.shrink_to_fit();
        self.pairs.shrink_to_fit();
    }
}

/// Spreads neighbouring numbers; the upper half of the product is the better mixed one.
#[inline]
fn hash(number: u32) -> u32 {
    number.wrapping_mul(0x9e37_79b9).rotate_right(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at: u32) -> DiagramEdge {
        DiagramEdge { at, kind: 1 }
    }

    /// Every number leads where its branch says, and all others to `other`, whatever the table looks like.
    #[test]
    fn all_forms_of_table_find_their_branches() {
        let mut tables = BranchTables::default();
        for spread in [1, 3, 50] {
            for count in [0, 1, 2, COMPARED_MAX as u32, 40, 1000] {
                let branches: Vec<_> =
                    (0..count).map(|number| (Atom(7 + number * spread), step(number))).collect();
                // The same branches again with another `other`: its table is not to be taken for the first one.
                for other in [step(5000), step(6000)] {
                    let table = tables.add(&branches, other);
                    for number in 0..7 + (count + 2) * spread {
                        let branch = branches.iter().find(|(atom, _)| atom.0 == number);
                        let found = tables.find(&table, Number::of(Atom(number))).unwrap_or(other);
                        assert_eq!(found, branch.map_or(other, |(_, step)| *step), "{table:?} {number}");
                    }
                }
            }
        }
    }
}

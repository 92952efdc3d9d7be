//! Which slots are better looked at last.
//!
//! Greed takes the slot with the most values first: it leaves the fewest children. But where policies are the same for
//! every department but for the department, that makes a diagram of its own for each, while the department looked at
//! last makes one diagram with a table at every end. So a slot is kept back that children would be far fewer without.

use std::collections::HashSet;

use durward_ir::program::SlotId;
use smallvec::SmallVec;

use super::division::DividedChild;
use crate::necessary::NecessaryTest;

/// Fewer children make a small diagram in any order.
const CHILDREN_MIN: usize = 32;

/// Where children limit more slots, greed decides alone.
const SLOTS_MAX: usize = 16;

/// A slot is kept back if at least so many children differ in nothing else, on the average.
const ALIKE_MIN: usize = 3;

/// The slots to keep back, that which comes last first.
pub(super) fn kept_back(children: &[DividedChild<'_>]) -> Vec<SlotId> {
    let mut kept_back = Vec::new();
    let Some(mut rest) = SlotDigests::of(children) else { return kept_back };
    while rest.slots.len() > 1
        && let Some((slot, others)) = rest.least()
        && others.rows.len() * ALIKE_MIN <= rest.rows.len()
    {
        kept_back.push(slot);
        rest = others;
    }
    kept_back
}

/// What children ask for, different ones only.
#[derive(Default)]
struct SlotDigests {
    slots: Vec<SlotId>,
    /// For each child a digest of its limit on each slot, in order of the slots; 0 where it has none.
    rows: Vec<SlotRow>,
}

type SlotRow = SmallVec<[u64; 4]>;

impl SlotDigests {
    /// `None` where there are too few children, or too many slots.
    fn of(children: &[DividedChild<'_>]) -> Option<SlotDigests> {
        if children.len() < CHILDREN_MIN {
            return None;
        }
        let mut slots: Vec<SlotId> = Vec::new();
        for limit in children.iter().flat_map(|child| child.limits) {
            if !slots.contains(&limit.slot) {
                slots.push(limit.slot);
            }
            if slots.len() > SLOTS_MAX {
                return None;
            }
        }
        let row = |child: &DividedChild<'_>| {
            slots.iter().map(|slot| child.limit(*slot).map_or(0, digest)).collect()
        };
        let rows = children.iter().map(row).collect();
        Some(SlotDigests { rows, slots }.different())
    }

    fn different(mut self) -> SlotDigests {
        let mut seen: HashSet<u64, foldhash::fast::FixedState> = HashSet::default();
        self.rows.retain(|row| seen.insert(total(row)));
        self
    }

    /// The slot without which there are the fewest, and those.
    fn least(&self) -> Option<(SlotId, SlotDigests)> {
        let (at, _) =
            (0..self.slots.len()).map(|at| (at, self.count_without(at))).min_by_key(|(_, count)| *count)?;
        let mut slots = self.slots.clone();
        let slot = slots.remove(at);
        let without = |row: &SlotRow| {
            let mut row = row.clone();
            row.remove(at);
            row
        };
        let rows = self.rows.iter().map(without).collect();
        Some((slot, SlotDigests { slots, rows }.different()))
    }

    fn count_without(&self, at: usize) -> usize {
        let mut seen: HashSet<u64, foldhash::fast::FixedState> = HashSet::default();
        for row in &self.rows {
            seen.insert(total(row).wrapping_sub(row.get(at).copied().unwrap_or_default()));
        }
        seen.len()
    }
}

/// Digests of different slots add up to one of all.
fn total(row: &SlotRow) -> u64 {
    row.iter().fold(0, |total, digest| total.wrapping_add(*digest))
}

/// Of a slot and the values it is limited to; clashes only make the estimate worse.
fn digest(limit: &NecessaryTest) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |digest: u64, number: u32| (digest ^ u64::from(number)).wrapping_mul(FACTOR).rotate_left(29);
    let slot = mix(u64::from(limit.is_absent_allowed) + 1, limit.slot.0);
    limit.atoms.iter().fold(slot, |digest, atom| mix(digest, atom.0)).wrapping_mul(FACTOR)
}

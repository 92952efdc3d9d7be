//! Which of a constant object's values have a key: the truths of `object[(part)] has "key"`, by what the part holds.
//!
//! Conditions of this form are how policies ask who belongs to what. Their truths follow from the object without
//! evaluating anything: the values that have a key are found once for all keys.

mod find;

use std::sync::Arc;

use super::{Atom, SlotId};
use crate::question::Number;
pub(super) use find::Finder;

/// The truths of one condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Members {
    pub(super) slot: SlotId,
    /// The [`Number`] of the slot's first atom.
    first: u32,
    /// How many atoms the slot has.
    count: u32,
    /// Where in [`Pool`] the members are.
    at: u32,
    /// How many words of 32 bits less one a set of members has; 0 where there is a bit for each atom.
    mask: u32,
}

/// The members of all conditions.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    words: Arc<[u32]>,
    /// Before they are finished.
    growing: Vec<u32>,
}

/// A bit for each atom is kept where that takes no more memory than so many times what a set of the members takes.
const BITS_WORTH: usize = 2;

impl Members {
    /// Whether what the slot holds is a member; `None` where that is no atom of it.
    #[inline]
    pub(super) fn truth(&self, pool: &Pool, number: Number) -> Option<bool> {
        let place = number.0.wrapping_sub(self.first);
        if place >= self.count {
            return None;
        }
        if self.mask == 0 {
            let word = pool.words.get((self.at + place / 32) as usize)?;
            return Some(word >> (place % 32) & 1 == 1);
        }
        let mut at = spread(place) & self.mask;
        loop {
            let entry = *pool.words.get((self.at + at) as usize)?;
            if entry == 0 || entry == place + 1 {
                return Some(entry != 0);
            }
            at = (at + 1) & self.mask;
        }
    }
}

fn spread(place: u32) -> u32 {
    place.wrapping_mul(0x9e37_79b9) >> 12
}

impl Pool {
    /// `members` are places among the `count` atoms of a slot.
    fn add(&mut self, slot: SlotId, (first, count): (u32, u32), members: &[u32]) -> Option<Members> {
        let at = u32::try_from(self.growing.len()).ok()?;
        let size = (members.len() * 3 / 2 + 1).next_power_of_two().max(2);
        let bits = (count as usize).div_ceil(32);
        let members_of = |mask| Members { slot, first: Number::of(Atom(first)).0, count, at, mask };
        if bits <= BITS_WORTH * size {
            self.growing.resize(self.growing.len() + bits, 0);
            for place in members {
                let word = self.growing.get_mut(at as usize + *place as usize / 32)?;
                *word |= 1 << (place % 32);
            }
            return Some(members_of(0));
        }
        let mask = size as u32 - 1;
        self.growing.resize(self.growing.len() + size, 0);
        for place in members {
            let mut to = spread(*place) & mask;
            while let Some(entry) = self.growing.get_mut((at + to) as usize) {
                if *entry == 0 {
                    *entry = place + 1;
                    break;
                }
                to = (to + 1) & mask;
            }
        }
        Some(members_of(mask))
    }

    pub(super) fn finish(&mut self) {
        self.words = std::mem::take(&mut self.growing).into();
    }
}

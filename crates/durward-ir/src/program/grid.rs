//! The cells of what is computed ahead: one for every combination of values that policies know of a few parts of the
//! subscription.

use smallvec::SmallVec;

use super::shape::{Shape, TABLE_SLOTS_MAX};
use super::{Atom, SlotId, Slots};
use crate::attribute::{AttributeName, NameKey};
use crate::path::Path;
use crate::question::{Attributes, Number, Reading};
use crate::value::Value;

/// The cells, by the numbers that some slots hold.
#[derive(Debug)]
pub(super) struct Grid {
    axes: SmallVec<[Axis; TABLE_SLOTS_MAX]>,
    cells: usize,
}

/// One part of the subscription.
#[derive(Clone, Copy, Debug)]
struct Axis {
    slot: SlotId,
    /// The [`Number`] of the slot's first atom.
    first: u32,
    /// How many atoms the slot has; places [`ABSENT`] and [`OTHER`] come before them.
    count: u32,
    /// How many cells lie between one place and the next.
    stride: u32,
    /// Whether a text that no policy names is as good as any other.
    is_opaque: bool,
}

/// The place of a part that is not there.
const ABSENT: u32 = 0;
/// The place of a text that no policy names.
const OTHER: u32 = 1;
/// The place of the first atom.
const FIRST: u32 = 2;

impl Grid {
    /// `None` where there would be more than so many cells, or where policies know no value of a part.
    pub(super) fn new(slots: &Slots, shape: &Shape, cells_max: usize) -> Option<Grid> {
        let mut grid = Grid { axes: SmallVec::new(), cells: 1 };
        for (slot, is_opaque) in shape.slots() {
            let (first, count) = slots.atoms_of(slot);
            if count == 0 {
                return None;
            }
            let stride = u32::try_from(grid.cells).ok()?;
            grid.axes.push(Axis { slot, first: Number::of(Atom(first)).0, count, stride, is_opaque });
            grid.cells =
                grid.cells.checked_mul((count + FIRST) as usize).filter(|cells| *cells <= cells_max)?;
        }
        (!grid.axes.is_empty()).then_some(grid)
    }

    /// How many cells there are.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// The cell of what the slots hold; `None` where one holds something that has no place.
    #[inline]
    pub(super) fn cell(&self, number: impl Fn(SlotId) -> Number) -> Option<usize> {
        let mut at = 0;
        for axis in &self.axes {
            at += axis.place(number(axis.slot))? * axis.stride;
        }
        Some(at as usize)
    }

    /// What a cell stands for, with a text that no policy names for all such texts; `None` where those are not alike.
    pub(super) fn parts<'a>(&self, slots: &'a Slots, cell: usize, unnamed: &'a Value) -> Option<Parts<'a>> {
        let mut parts = Parts { values: SmallVec::new() };
        for axis in &self.axes {
            let path = slots.path(axis.slot)?;
            match (cell / axis.stride as usize) as u32 % (axis.count + FIRST) {
                ABSENT => {}
                OTHER if axis.is_opaque => parts.values.push((path, unnamed)),
                OTHER => return None,
                place => {
                    let (_, value) = slots.atom(Atom(axis.first - Number::FIRST_ATOM + place - FIRST));
                    parts.values.push((path, value));
                }
            }
        }
        Some(parts)
    }
}

impl Axis {
    #[inline]
    fn place(&self, number: Number) -> Option<u32> {
        let atom = number.0.wrapping_sub(self.first);
        if atom < self.count {
            return Some(atom + FIRST);
        }
        match number {
            Number::ABSENT => Some(ABSENT),
            Number::OTHER_TEXT => Some(OTHER),
            _ => None,
        }
    }
}

/// The parts of the subscription that one cell stands for.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    values: SmallVec<[(&'a Path, &'a Value); TABLE_SLOTS_MAX]>,
}

impl Attributes for Parts<'_> {
    fn read<'a>(&'a self, _: &AttributeName, _: NameKey) -> Reading<'a> {
        Reading::Absent
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        match self.values.iter().find(|(known, _)| *known == path) {
            Some((_, value)) => Reading::of(std::slice::from_ref(*value)),
            None => Reading::Absent,
        }
    }
}

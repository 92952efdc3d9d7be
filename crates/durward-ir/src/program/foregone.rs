//! Verdicts known ahead: where all policies together look at few parts of the subscription, what they say for every
//! value that they know.
//!
//! As with tables of single conditions the plain evaluator has filled the cells, and where there is no entry it is asked:
//! without this every decision stays the same.

mod make;

use super::Slots;
use super::grid::Grid;
use crate::combine::Verdict;
use crate::question::{Attributes, Encoding, SlotReader, known, looked_up};

/// The verdicts of a whole program.
#[derive(Debug)]
pub(super) struct Foregone {
    grid: Grid,
    /// `None` where it has to be decided.
    cells: Box<[Option<Verdict>]>,
}

impl Foregone {
    /// What the program says, as far as can be seen at once.
    #[inline]
    pub(super) fn verdict_by_reader(&self, reader: &impl SlotReader) -> Option<Verdict> {
        *self.cells.get(self.grid.cell(|slot| reader.number(slot))?)?
    }

    #[inline]
    pub(super) fn verdict(
        &self,
        slots: &Slots,
        attributes: &dyn Attributes,
        encoding: &Encoding,
    ) -> Option<Verdict> {
        let at = match encoding.complete(slots) {
            Some(numbers) => self.grid.cell(|slot| known(numbers, slot)),
            None => self.grid.cell(|slot| looked_up(slots, attributes, slot)),
        };
        *self.cells.get(at?)?
    }
}

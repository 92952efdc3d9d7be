//! Truths computed ahead: for conditions over few parts of the subscription, what they come to for every value that
//! policies know.
//!
//! A table says nothing the plain evaluator would not say: its cells were filled by it. Where a part holds something
//! that no policy names, or where the condition is in error, there is no entry, and the condition is evaluated. Without
//! tables every decision stays the same.

mod make;

use std::sync::Arc;

use super::grid::Grid;
use super::members::{Members, Pool};
use super::{ExprId, SlotId};
use crate::question::{Number, Question, SlotReader};

/// All tables of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    /// For each expression one more than the number of its table; 0 where it has none. Empty where there is no table.
    places: Arc<[u32]>,
    tables: Arc<[Table]>,
    pub(super) pool: Pool,
}

/// The truths of one expression.
#[derive(Debug)]
enum Table {
    /// Found by evaluating it.
    Cells(Cells),
    /// Found in a constant object.
    Members(Members),
}

#[derive(Debug)]
struct Cells {
    grid: Grid,
    /// Two bits for each cell: whether there is an entry, and the entry.
    cells: Box<[u64]>,
}

const CELLS_PER_WORD: usize = 32;

impl Tables {
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    #[inline]
    pub(super) fn truth(&self, id: ExprId, question: &Question<'_>) -> Option<bool> {
        match self.tables.get(self.number(id)? as usize)? {
            Table::Cells(cells) => cells.truth(|slot| question.peek(slot)),
            Table::Members(members) => members.truth(&self.pool, question.peek(members.slot)),
        }
    }

    /// The same of the table with this number, as far as can be seen at once.
    #[inline]
    pub(super) fn truth_by_reader(&self, number: u32, reader: &impl SlotReader) -> Option<bool> {
        match self.tables.get(number as usize)? {
            Table::Cells(cells) => cells.truth(|slot| reader.number(slot)),
            Table::Members(members) => members.truth(&self.pool, reader.number(members.slot)),
        }
    }

    /// The number of an expression's table.
    #[inline]
    pub(super) fn number(&self, id: ExprId) -> Option<u32> {
        self.places.get(id.0 as usize)?.checked_sub(1)
    }

    /// The members that a table consists of, if it is one of those.
    pub(super) fn members(&self, number: u32) -> Option<Members> {
        match self.tables.get(number as usize)? {
            Table::Members(members) => Some(*members),
            Table::Cells(_) => None,
        }
    }
}

impl Cells {
    #[inline]
    fn truth(&self, number: impl Fn(SlotId) -> Number) -> Option<bool> {
        let at = self.grid.cell(number)?;
        match self.cells.get(at / CELLS_PER_WORD)? >> (at % CELLS_PER_WORD * 2) & 0b11 {
            0b10 => Some(false),
            0b11 => Some(true),
            _ => None,
        }
    }

    fn set(&mut self, at: usize, truth: bool) {
        if let Some(word) = self.cells.get_mut(at / CELLS_PER_WORD) {
            *word |= (0b10 | u64::from(truth)) << (at % CELLS_PER_WORD * 2);
        }
    }
}

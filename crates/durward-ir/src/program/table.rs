//! Truths computed ahead: for conditions over few parts of the subscription, what they come to for every value that
//! policies know.
//!
//! A table says nothing the plain evaluator would not say: its cells were filled by it. Where a part holds something
//! that no policy names, or where the condition is in error, there is no entry, and the condition is evaluated. Without
//! tables every decision stays the same.

use std::cell::Cell;
use std::sync::Arc;

use super::grid::Grid;
use super::members::{Finder, Members, Pool};
use super::shape::{Shape, Shapes};
use super::{Expr, ExprId, Program, SlotId, Structured, UnaryOperator};
use crate::evaluate::{Reckoner, STEPS_MAX};
use crate::question::{NoContent, Number, Question, SlotReader, UNENCODED};

/// No table has more cells: filling one costs an evaluation each.
const TABLE_CELLS_MAX: usize = 1 << 14;

/// Filling all tables of a program meets no more expressions, so that it takes some tenths of a second at most, however
/// long the conditions are.
const TABLES_WORK_MAX: u64 = 1 << 22;

/// How deep conditions are taken apart.
const NESTING_MAX: usize = 8;

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
    /// Makes a table of every condition that can have one, and otherwise of those of its parts that can.
    pub(super) fn of(program: &Program, shapes: &Shapes) -> Tables {
        let mut maker = Maker {
            program,
            shapes,
            members: Finder::new(program),
            places: Vec::new(),
            tables: Vec::new(),
            pool: Pool::default(),
            work_left: TABLES_WORK_MAX,
            steps: Cell::new(0),
        };
        for condition in shapes.conditions() {
            maker.table(*condition, NESTING_MAX);
        }
        maker.pool.finish();
        Tables { places: maker.places.into(), tables: maker.tables.into(), pool: maker.pool }
    }

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

struct Maker<'a> {
    program: &'a Program,
    shapes: &'a Shapes,
    members: Finder<'a>,
    places: Vec<u32>,
    tables: Vec<Table>,
    pool: Pool,
    /// What is left of [`TABLES_WORK_MAX`].
    work_left: u64,
    /// The steps that all cells took together: those of one decision are enough for them all.
    steps: Cell<u64>,
}

impl Maker<'_> {
    fn table(&mut self, id: ExprId, levels_left: usize) {
        let expr = self.program.expr(id);
        if self.is_plain(expr) || self.places.get(id.0 as usize).is_some_and(|place| *place > 0) {
            return;
        }
        let members = self.members.find(id, &mut self.pool).map(Table::Members);
        if let Some(table) = members.or_else(|| self.make(id, self.shapes.get(id)?).map(Table::Cells)) {
            self.tables.push(table);
            self.places.resize(self.program.exprs().len(), 0);
            if let Some(place) = self.places.get_mut(id.0 as usize) {
                *place = self.tables.len() as u32;
            }
            return;
        }
        if levels_left == 0 {
            return;
        }
        if let Expr::All(parts) | Expr::Any(parts) = expr {
            parts.iter().for_each(|part| self.table(*part, levels_left - 1));
        } else if let Expr::Structured(Structured::Unary(UnaryOperator::Not, operand)) = expr {
            self.table(*operand, levels_left - 1);
        }
    }

    /// Whether an index answers it, and the evaluator as fast as a table.
    fn is_plain(&self, expr: &Expr) -> bool {
        let is_one_of = |part: &ExprId| matches!(self.program.expr(*part), Expr::IsOneOf(..));
        if let Expr::All(parts) | Expr::Any(parts) = expr {
            return parts.iter().all(is_one_of);
        }
        matches!(expr, Expr::IsOneOf(..))
    }

    /// `None` where it would be too large, or say nothing.
    fn make(&mut self, id: ExprId, shape: &Shape) -> Option<Cells> {
        let grid = Grid::new(&self.program.slots, shape, TABLE_CELLS_MAX)?;
        self.work_left = self.work_left.checked_sub(shape.work(grid.cells()))?;
        let cells = vec![0; grid.cells().div_ceil(CELLS_PER_WORD)].into();
        let mut table = Cells { grid, cells };
        for at in 0..table.grid.cells() {
            if let Some(truth) = self.truth(id, &table.grid, at) {
                table.set(at, truth);
            }
        }
        table.cells.iter().any(|word| *word != 0).then_some(table)
    }

    /// What the plain evaluator says for one cell; `None` where that is an error or not the same for all that the cell
    /// stands for.
    fn truth(&self, id: ExprId, grid: &Grid, at: usize) -> Option<bool> {
        let parts = grid.parts(&self.program.slots, at, self.shapes.unnamed())?;
        let question = Question::new(&self.program.slots, &parts, &NoContent, &[], &UNENCODED);
        let reckoner = Reckoner {
            exprs: self.program.all_exprs(),
            question: &question,
            steps: &self.steps,
            steps_max: STEPS_MAX,
            remembering: None,
        };
        reckoner.truth(id, None).ok()
    }
}

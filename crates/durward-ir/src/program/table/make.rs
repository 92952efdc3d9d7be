//! Makes the tables of all policies: finds the conditions that can have one, and has the plain evaluator fill the cells.

use std::cell::Cell;

use super::{CELLS_PER_WORD, Cells, Table, Tables};
use crate::evaluate::{Reckoner, STEPS_MAX};
use crate::program::grid::Grid;
use crate::program::members::{Finder, Pool};
use crate::program::shape::{Shape, Shapes};
use crate::program::{Expr, ExprId, Program, Structured, UnaryOperator};
use crate::question::{NoContent, Question, UNENCODED};

/// No table has more cells: filling one costs an evaluation each.
const TABLE_CELLS_MAX: usize = 1 << 14;

/// Filling all tables of a program meets no more expressions, so that it takes some tenths of a second at most, however
/// long the conditions are.
const TABLES_WORK_MAX: u64 = 1 << 22;

/// How deep conditions are taken apart.
const NESTING_MAX: usize = 8;

impl Tables {
    /// Makes a table of every condition that can have one, and otherwise of those of its parts that can.
    pub(in crate::program) fn of(program: &Program, shapes: &Shapes) -> Tables {
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

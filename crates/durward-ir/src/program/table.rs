//! Truths computed ahead: for conditions over few parts of the subscription, what they come to for every value that
//! policies know.
//!
//! A table says nothing the plain evaluator would not say: its cells were filled by it. Where a part holds something
//! that no policy names, or where the condition is in error, there is no entry, and the condition is evaluated. Without
//! tables every decision stays the same.

use std::cell::Cell;

use smallvec::SmallVec;

use super::shape::{SLOTS_MAX, Shape, Shapes};
use super::{Expr, ExprId, Program, SlotId, UnaryOperator};
use crate::evaluate::{Reckoner, STEPS_MAX};
use crate::path::Path;
use crate::program::{Atom, Structured};
use crate::question::{Attributes, Encoding, NoContent, Number, Question, Reading};
use crate::value::Value;

/// No table has more cells: filling one costs an evaluation each.
const CELLS_MAX: usize = 1 << 14;

/// All tables of a program together have no more cells, so that building them takes some tenths of a second at most.
const ALL_CELLS_MAX: usize = 1 << 20;

/// All tables of a program.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// For each expression one more than the number of its table; 0 where it has none. Empty where there is no table.
    places: Box<[u32]>,
    tables: Box<[Table]>,
}

/// The truths of one expression.
#[derive(Debug)]
struct Table {
    axes: SmallVec<[Axis; SLOTS_MAX]>,
    /// Two bits for each cell: whether there is an entry, and the entry.
    cells: Box<[u64]>,
}

/// One part of the subscription that an expression depends on.
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

const CELLS_PER_WORD: usize = 32;

impl Tables {
    /// Makes a table of every condition that can have one, and otherwise of those of its parts that can.
    pub(super) fn of(program: &Program, shapes: &Shapes) -> Tables {
        let mut maker =
            Maker { program, shapes, places: Vec::new(), tables: Vec::new(), cells_left: ALL_CELLS_MAX };
        for condition in shapes.conditions() {
            maker.table(*condition, NESTING_MAX);
        }
        if maker.tables.is_empty() {
            return Tables::default();
        }
        Tables { places: maker.places.into(), tables: maker.tables.into() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    #[inline]
    pub(super) fn truth(&self, id: ExprId, question: &Question<'_>) -> Option<bool> {
        let place = *self.places.get(id.0 as usize)?;
        self.tables.get((place as usize).wrapping_sub(1))?.truth(question)
    }
}

impl Table {
    #[inline]
    fn truth(&self, question: &Question<'_>) -> Option<bool> {
        let mut at = 0;
        for axis in &self.axes {
            at += axis.place(question.number(axis.slot))? * axis.stride;
        }
        let at = at as usize;
        let word = self.cells.get(at / CELLS_PER_WORD)?;
        match word >> (at % CELLS_PER_WORD * 2) & 0b11 {
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

    fn places(&self) -> usize {
        (self.count + FIRST) as usize
    }
}

/// How deep conditions are taken apart.
const NESTING_MAX: usize = 8;

struct Maker<'a> {
    program: &'a Program,
    shapes: &'a Shapes,
    places: Vec<u32>,
    tables: Vec<Table>,
    cells_left: usize,
}

impl Maker<'_> {
    fn table(&mut self, id: ExprId, levels_left: usize) {
        let expr = self.program.expr(id);
        if self.is_plain(expr) || self.places.get(id.0 as usize).is_some_and(|place| *place > 0) {
            return;
        }
        if let Some(table) = self.shapes.get(id).and_then(|shape| self.make(id, shape)) {
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
        match expr {
            Expr::IsOneOf(..) => true,
            Expr::All(parts) | Expr::Any(parts) => parts.iter().all(is_one_of),
            _ => false,
        }
    }

    /// `None` where it would be too large, or say nothing.
    fn make(&mut self, id: ExprId, shape: &Shape) -> Option<Table> {
        let mut axes: SmallVec<[Axis; SLOTS_MAX]> = SmallVec::new();
        let mut cells = 1_usize;
        for (slot, is_opaque) in shape.slots() {
            let (first, count) = self.program.slots.atoms_of(slot);
            if count == 0 {
                return None;
            }
            let stride = u32::try_from(cells).ok()?;
            let axis = Axis { slot, first: Number::of(Atom(first)).0, count, stride, is_opaque };
            cells = cells.checked_mul(axis.places()).filter(|cells| *cells <= CELLS_MAX)?;
            axes.push(axis);
        }
        if axes.is_empty() {
            return None;
        }
        self.cells_left = self.cells_left.checked_sub(cells)?;
        let words = cells.div_ceil(CELLS_PER_WORD);
        let mut table = Table { axes, cells: vec![0; words].into() };
        for at in 0..cells {
            if let Some(truth) = self.truth(id, &table.axes, at) {
                table.set(at, truth);
            }
        }
        table.cells.iter().any(|word| *word != 0).then_some(table)
    }

    /// What the plain evaluator says for one cell; `None` where that is an error or not the same for all that the cell
    /// stands for.
    fn truth(&self, id: ExprId, axes: &[Axis], at: usize) -> Option<bool> {
        let mut parts = Parts { values: SmallVec::new() };
        for axis in axes {
            let path = self.program.slots.path(axis.slot)?;
            match (at / axis.stride as usize % axis.places()) as u32 {
                ABSENT => {}
                OTHER if axis.is_opaque => parts.values.push((path, self.shapes.unnamed())),
                OTHER => return None,
                place => {
                    let (_, value) =
                        self.program.slots.atom(Atom(axis.first - Number::FIRST_ATOM + place - FIRST));
                    parts.values.push((path, value));
                }
            }
        }
        let question = Question::new(&self.program.slots, &parts, &NoContent, &[], &Encoding::none());
        let steps = Cell::new(0);
        let reckoner = Reckoner {
            exprs: self.program.exprs(),
            question: &question,
            steps: &steps,
            steps_max: STEPS_MAX,
            remembering: None,
        };
        reckoner.truth(id, None).ok()
    }
}

/// The parts of the subscription that one cell stands for.
struct Parts<'a> {
    values: SmallVec<[(&'a Path, &'a Value); SLOTS_MAX]>,
}

impl Attributes for Parts<'_> {
    fn read<'a>(&'a self, _: &crate::attribute::AttributeName, _: crate::attribute::NameKey) -> Reading<'a> {
        Reading::Absent
    }

    fn part<'a>(&'a self, path: &Path) -> Reading<'a> {
        match self.values.iter().find(|(known, _)| *known == path) {
            Some((_, value)) => Reading::of(std::slice::from_ref(*value)),
            None => Reading::Absent,
        }
    }
}

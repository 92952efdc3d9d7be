//! Has the plain evaluator decide for all values that policies know.

use super::Foregone;
use crate::combine::{Verdict, Vote};
use crate::evaluate::{Evaluator, Everything, ListPolicies, STEPS_MAX, Unwatched};
use crate::program::grid::Grid;
use crate::program::shape::{Shape, Shapes};
use crate::program::{Node, Program};
use crate::question::{NoContent, Question, UNENCODED};

/// Cells for decisions that are computed ahead: each costs a decision when policies are loaded.
const FOREGONE_CELLS_MAX: usize = 1 << 14;

/// Expressions that are evaluated to fill these cells: some tenths of a second at most, however long the conditions
/// are.
const FOREGONE_WORK_MAX: u64 = 1 << 22;

impl Foregone {
    /// `None` where anything goes along with a verdict, or policies look at too much.
    pub(in crate::program) fn of(program: &Program, shapes: &Shapes) -> Option<Foregone> {
        let shape = shape(program, shapes)?;
        let grid = Grid::new(&program.slots, &shape, FOREGONE_CELLS_MAX)?;
        let visits = (program.nodes().len() as u64).checked_mul(grid.cells() as u64)?;
        if shape.work(grid.cells()).checked_add(visits)? > FOREGONE_WORK_MAX {
            return None;
        }
        let mut steps_left = STEPS_MAX;
        let cells =
            (0..grid.cells()).map(|at| verdict(program, shapes, &grid, at, &mut steps_left)).collect();
        Some(Foregone { grid, cells })
    }
}

/// What all conditions together depend on.
fn shape(program: &Program, shapes: &Shapes) -> Option<Shape> {
    let mut all = Shape::default();
    for (_, node) in program.nodes() {
        let (target, condition, duties, transform) = match node {
            Node::Rule(rule) => (rule.target, rule.condition, &rule.duties, rule.transform),
            Node::Set(set) => (set.target, None, &set.duties, None),
        };
        if !duties.is_empty() || transform.is_some() {
            return None;
        }
        for condition in target.into_iter().chain(condition) {
            all = all.and(shapes.get(condition)?.clone())?;
        }
    }
    Some(all)
}

/// `None` where it is an error, which wants to be told, or not the same for all that the cell stands for.
/// All cells together take no more steps than one decision may.
fn verdict(
    program: &Program,
    shapes: &Shapes,
    grid: &Grid,
    at: usize,
    steps_left: &mut u64,
) -> Option<Verdict> {
    let parts = grid.parts(&program.slots, at, shapes.unnamed())?;
    let question = Question::new(&program.slots, &parts, &NoContent, &[], &UNENCODED);
    let evaluator = Evaluator::new(program, &question, &Everything, &Unwatched, ListPolicies::No);
    let evaluator = evaluator.within(*steps_left);
    let vote = evaluator.decide();
    *steps_left = steps_left.saturating_sub(evaluator.steps());
    match vote {
        Vote { verdict: Verdict::Indeterminate(_), .. } | Vote { duties: Some(_), .. } => None,
        Vote { verdict, .. } => Some(verdict),
    }
}

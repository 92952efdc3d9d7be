//! What was evaluated for a question already: expressions that several others are made of ([`Program`] chooses them).

use std::borrow::Cow;
use std::cell::Cell;

use crate::program::{ExprId, Program, SHARED_MAX};
use crate::question::Question;
use crate::value::Value;

/// Room for what one evaluation remembers.
#[derive(Debug)]
pub struct Memory<'a> {
    cells: [Cell<Remembered<'a>>; SHARED_MAX],
}

/// Truths, and values that are part of the program or the question; others are not worth a copy.
#[derive(Clone, Copy, Debug)]
enum Remembered<'a> {
    Nothing,
    Value(&'a Value),
    Truth(bool),
}

impl Memory<'_> {
    /// Nothing is remembered yet.
    #[inline]
    pub fn new() -> Self {
        Memory { cells: [const { Cell::new(Remembered::Nothing) }; SHARED_MAX] }
    }
}

impl Default for Memory<'_> {
    fn default() -> Self {
        Memory::new()
    }
}

/// The memory with what says where in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remembering<'a> {
    pub(crate) program: &'a Program,
    pub(crate) memory: &'a Memory<'a>,
}

impl<'a> Remembering<'a> {
    /// The cell of an expression, if it is one to be remembered.
    #[inline]
    pub(super) fn memo_cell(self, id: ExprId) -> Option<MemoCell<'a>> {
        self.memory.cells.get(self.program.shared_place(id)?).map(MemoCell)
    }
}

impl Remembering<'_> {
    /// Whether an expression is true, where a table of the program says so.
    #[inline]
    pub(super) fn tabled(self, id: ExprId, question: &Question<'_>) -> Option<bool> {
        self.program.tabled(id, question)
    }
}

/// Where one expression is remembered.
#[derive(Clone, Copy)]
pub(super) struct MemoCell<'a>(&'a Cell<Remembered<'a>>);

impl<'a> MemoCell<'a> {
    #[inline]
    pub(super) fn value(self) -> Option<Cow<'a, Value>> {
        match self.0.get() {
            Remembered::Nothing => None,
            Remembered::Value(value) => Some(Cow::Borrowed(value)),
            Remembered::Truth(truth) => Some(Cow::Owned(Value::Boolean(truth))),
        }
    }

    #[inline]
    pub(super) fn truth(self) -> Option<bool> {
        match self.0.get() {
            Remembered::Nothing | Remembered::Value(_) => None,
            Remembered::Truth(truth) => Some(truth),
        }
    }

    #[inline]
    pub(super) fn keep(self, value: Cow<'a, Value>) -> Cow<'a, Value> {
        match &value {
            Cow::Borrowed(value) => self.0.set(Remembered::Value(value)),
            Cow::Owned(Value::Boolean(truth)) => self.0.set(Remembered::Truth(*truth)),
            Cow::Owned(_) => {}
        }
        value
    }

    #[inline]
    pub(super) fn keep_truth(self, truth: bool) {
        self.0.set(Remembered::Truth(truth));
    }
}

//! Going several ways through a diagram at once: the branches of several values, and forks.

use durward_ir::combine::Flow;
use durward_ir::evaluate::Known;
use durward_ir::program::{NodeId, Set};
use durward_ir::question::Question;

use super::{Diagram, Entry, Step};

/// Beyond this many lists and entries for each child of the set, merging is given up. Slots with many values each
/// would otherwise multiply.
const WORK_MAX: usize = 4;

/// This much is always tried.
const WORK_MIN: usize = 64;

/// Up to this many entries are merged without asking for memory.
const INLINE_MAX: usize = 24;

/// A walk along several ways.
pub(super) struct Merging<'d> {
    diagram: &'d Diagram,
    question: &'d Question<'d>,
    pub(super) found: Found,
    work_left: usize,
}

impl<'d> Merging<'d> {
    pub(super) fn new(diagram: &'d Diagram, set: &Set, question: &'d Question<'d>) -> Merging<'d> {
        let work_left = WORK_MIN + WORK_MAX * set.children.len();
        Merging { diagram, question, found: Found::new(), work_left }
    }

    /// Finds the children on all ways from here, in document order and once each. `None` if that takes too long or
    /// a way ends in an undivided set; then nothing is found.
    pub(super) fn merge(&mut self, step: Step) -> Option<()> {
        let all = self.add(step);
        match all {
            Some(()) => self.found.put_in_order(),
            None => self.found.clear(),
        }
        all
    }

    /// Recursion goes as deep as the diagram; see [`super::build::DEPTH_MAX`].
    fn add(&mut self, step: Step) -> Option<()> {
        let step = self.diagram.walk(step, self.question);
        match step.kind {
            Step::NODE | Step::ALL => None,
            Step::MANY => {
                let node = self.diagram.nodes.get(step.at as usize)?;
                let (diagram, question) = (self.diagram, self.question);
                diagram.ways_of_many(node, question).try_for_each(|way| self.add(way))
            }
            Step::FORK => {
                let [first, second] = self.diagram.forks.get(step.at as usize)?;
                self.add(*first)?;
                self.add(*second)
            }
            length => {
                self.work_left = self.work_left.checked_sub(length as usize + 1)?;
                self.found.extend(self.diagram.list(step));
                Some(())
            }
        }
    }
}

/// Entries, in place while they are few.
pub(super) struct Found {
    few: [Entry; INLINE_MAX],
    /// How many there are; past `INLINE_MAX` all of them are in `many`.
    count: usize,
    many: Vec<Entry>,
}

impl Found {
    fn new() -> Found {
        Found { few: [Entry { node: NodeId(0), rank: 0 }; INLINE_MAX], count: 0, many: Vec::new() }
    }

    fn clear(&mut self) {
        self.count = 0;
        self.many.clear();
    }

    fn extend(&mut self, entries: &[Entry]) {
        let end = self.count + entries.len();
        if let Some(room) = self.few.get_mut(self.count..end) {
            room.copy_from_slice(entries);
        } else {
            if self.many.is_empty() {
                self.many.extend_from_slice(self.few.get(..self.count).unwrap_or_default());
            }
            self.many.extend_from_slice(entries);
        }
        self.count = end;
    }

    fn as_mut_slice(&mut self) -> &mut [Entry] {
        match self.few.get_mut(..self.count) {
            Some(few) => few,
            None => &mut self.many,
        }
    }

    /// By place; of one child found twice the one known to match comes first.
    fn put_in_order(&mut self) {
        self.as_mut_slice().sort_unstable_by_key(|entry| entry.rank ^ 1);
    }

    /// Shows each child once.
    pub(super) fn show(&mut self, show: &mut dyn FnMut(NodeId, Known) -> Flow) {
        let mut last = None;
        for entry in self.as_mut_slice() {
            let place = entry.place();
            if last.replace(place) != Some(place) && show(entry.node, entry.known()) == Flow::Stop {
                break;
            }
        }
    }
}

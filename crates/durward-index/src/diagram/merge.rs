//! Merges several paths through a diagram: the branches of several values, and forks.

use durward_ir::combine::Flow;
use durward_ir::evaluate::TargetMatch;
use durward_ir::program::{NodeId, Set};
use durward_ir::question::Question;

use super::{DiagramEdge, DiagramIndex, ListEntry};
use crate::inline::Inline;

/// Beyond this many lists and entries for each child of the set, merging is given up. Slots with many values each
/// would otherwise multiply.
const WORK_MAX: usize = 4;

/// This much is always tried.
const WORK_MIN: usize = 64;

/// Up to this many entries and ways are merged without asking for memory.
const INLINE_MAX: usize = 24;

/// A walk along several ways.
pub(super) struct DiagramMerge<'d> {
    diagram: &'d DiagramIndex,
    question: &'d Question<'d>,
    found: Inline<ListEntry, INLINE_MAX>,
    work_left: usize,
}

impl<'d> DiagramMerge<'d> {
    pub(super) fn new(diagram: &'d DiagramIndex, set: &Set, question: &'d Question<'d>) -> DiagramMerge<'d> {
        let work_left = WORK_MIN + WORK_MAX * set.children.len();
        DiagramMerge { diagram, question, found: Inline::new(ListEntry::new(NodeId(0), 0, false)), work_left }
    }

    /// Finds the children on all ways from here, in document order and once each. `None` if that takes too long or
    /// a way ends in an undivided set; then nothing is found.
    pub(super) fn merge(&mut self, step: DiagramEdge) -> Option<()> {
        let all = self.add(step);
        match all {
            // Of one child found twice the one known to match comes first.
            Some(()) => self.found.as_mut_slice().sort_unstable_by_key(|entry| entry.rank ^ 1),
            None => self.found.clear(),
        }
        all
    }

    /// Shows each child found once.
    pub(super) fn show(&mut self, show: &mut dyn FnMut(NodeId, TargetMatch) -> Flow) {
        let mut last = None;
        for entry in self.found.as_mut_slice() {
            let place = entry.place();
            if last.replace(place) != Some(place) && show(entry.node, entry.known()) == Flow::Stop {
                break;
            }
        }
    }

    /// Recursion goes as deep as the diagram; see [`super::build::DEPTH_MAX`].
    fn add(&mut self, step: DiagramEdge) -> Option<()> {
        let step = self.diagram.walk(step, self.question);
        match step.kind {
            DiagramEdge::NODE | DiagramEdge::ALL => None,
            DiagramEdge::MANY => {
                let mut ways: Inline<DiagramEdge, INLINE_MAX> = Inline::new(DiagramEdge::NOBODY);
                let node = self.diagram.nodes.get(step.at as usize)?;
                self.diagram.any_way_of_many(node, self.question, |way| {
                    ways.extend(&[way]);
                    false
                });
                let ways = ways.as_mut_slice();
                ways.sort_unstable();
                ways.chunk_by(|way, next| way == next)
                    .filter_map(<[DiagramEdge]>::first)
                    .try_for_each(|way| self.add(*way))
            }
            DiagramEdge::FORK => {
                let [first, second] = self.diagram.forks.get(step.at as usize)?;
                self.add(*first)?;
                self.add(*second)
            }
            DiagramEdge::SIEVE => {
                self.diagram.sieves.pour(step.at, self.question, |left| {
                    let is_known_match = left.known == TargetMatch::Match;
                    self.found.extend(&[ListEntry::new(left.node, left.place, is_known_match)]);
                    Flow::Continue
                });
                Some(())
            }
            length => {
                self.work_left = self.work_left.checked_sub(length as usize + 1)?;
                self.found.extend(self.diagram.list(step));
                Some(())
            }
        }
    }
}

//! Where dividing would copy children over and over: a sieve of them.
//!
//! Policies that test random subsets of many attributes have no good order of attributes. Whichever is looked at
//! first, most of them do not test it and would go into every branch; and dividing those that do and those that do
//! not apart doubles the ways to go with every attribute. A sieve looks at each attribute once, keeps each child
//! once, and its time grows slowly with their number.

use super::{DiagramBuilder, DiagramEdge};
use crate::diagram::division::{ChildPosition, DiagramDivision, DividedChild, SlotPath, SplitScores};
use crate::formula::{self, TargetFormula};
use crate::sieve::SieveCandidate;

/// Fewer children are better listed, or divided however often that copies them.
const CHILDREN_MIN: usize = 64;

/// More children are rather divided in two, where a slot does that well: a sieve of 4096 takes as long as following
/// two ways and merging what they end in.
const CHILDREN_MAX: usize = 4096;

/// A slot divides children well in two if at least this share of them limits it, in percent.
const LIMITING_MIN_PERCENT: usize = 40;

/// A child in a sieve takes as much memory as so many entries of lists.
const ENTRIES: usize = 8;

impl DiagramBuilder<'_> {
    /// A sieve of these children; `None` where listing or forking them is better.
    pub(super) fn sift(
        &mut self,
        division: &mut DiagramDivision<'_>,
        children: &[ChildPosition],
        splits: &SplitScores,
    ) -> Option<DiagramEdge> {
        let length = children.len();
        if length < CHILDREN_MIN || self.sieves.conjunctions() >= self.conjunctions_max {
            return None;
        }
        if length > CHILDREN_MAX && divides_in_two(splits, length) {
            return None;
        }
        let left = splits.iter().fold(length, |left, (_, split)| left * split.left_of(length) / length);
        if left * 2 > length {
            return None;
        }
        let mut candidates = Vec::with_capacity(length);
        for place in children {
            let child = division.child(*place);
            if division.above.is_some() {
                self.note_listed(child.id);
            }
            let formula = self.formula(child, &division.path).ways;
            candidates.push(SieveCandidate { node: child.id, place: child.rank, formula });
        }
        division.spend(length * ENTRIES);
        Some(DiagramEdge { at: self.sieves.add(&candidates), kind: DiagramEdge::SIEVE })
    }

    /// When the child applies, as far as that is not known on the way. What is known of slots that do not limit the
    /// child is not used: children that nothing on the way limits are divided once for all ways.
    fn formula(&self, child: &DividedChild<'_>, path: &SlotPath) -> TargetFormula {
        let has_target = child.node.target().is_some();
        let mut formula = formula::of(child.target, has_target, child.limits, self.ways_max);
        for way in &mut formula.ways {
            way.tests.retain(|test| {
                let seen = child.limit(test.slot).and_then(|limit| path.get(limit.slot));
                seen.is_none_or(|seen| !seen.is_among(&test.atoms))
            });
        }
        formula
    }
}

fn divides_in_two(splits: &SplitScores, length: usize) -> bool {
    splits.iter().any(|(_, split)| {
        let is_in_two = split.limiting < length && split.limiting * 100 >= length * LIMITING_MIN_PERCENT;
        is_in_two && split.left() * 2 <= split.limiting
    })
}

//! Finds the comparisons of all policies, and makes a slot for those of one attribute.

use super::bound::{Bound, Scale};
use super::derived::{Bag, Derived, Domain};
use super::find::{self, Range};
use super::{RangeTest, Ranges};
use crate::function::Lazy;
use crate::program::map::Map;
use crate::program::{Atom, Builder, Expr, ExprId, Node, SlotId, Slots};

/// An attribute that fewer elements compare gets no slot: evaluating them takes no longer than finding its piece.
const USES_MIN: usize = 4;

/// How deep conditions are taken apart.
const NESTING_MAX: usize = 8;

/// How many pieces (intervals between constants) a comparison may have on average. With more, only every second
/// constant is used, until there are few enough: an index then skips fewer policies, and no decision changes.
const PIECES_MEAN_MAX: usize = 64;

/// As many pieces as this are always good.
const PIECES_MIN: usize = 4096;

/// What comparisons share a slot.
type Key = (SlotId, Domain, Bag);

/// A comparison, and the expression that says it.
type Comparison = (ExprId, Range);

impl Ranges {
    /// Finds comparisons in targets and conditions, and makes slots for them. Before atoms are grouped.
    pub(in crate::program) fn of(builder: &mut Builder) -> Ranges {
        let mut groups = Groups::default();
        for (id, uses) in parts(builder) {
            if let Some(range) = find::find(builder, id) {
                groups.add(id, range, uses);
            }
        }
        let mut ranges = Ranges::default();
        for (key, group) in groups.all {
            if group.uses >= USES_MIN {
                ranges.add(&mut builder.slots, key, &group.comparisons);
            }
        }
        ranges
    }

    /// Makes the slot of these comparisons.
    fn add(&mut self, slots: &mut Slots, (source, domain, bag): Key, comparisons: &[Comparison]) {
        let (scale, piece_ranges) = cut(comparisons);
        let slot = slots.derived_slot(Derived { source, domain, bag, scale, first: Atom(0) });
        for ((id, range), piece_range) in comparisons.iter().zip(piece_ranges) {
            let test = RangeTest {
                slot,
                is_exact: range.is_exact && piece_range.is_exact,
                is_error_if_absent: range.is_error_if_absent,
                first: piece_range.first,
                count: piece_range.end - piece_range.first,
                is_outside: range.is_outside,
            };
            self.tests.insert(*id, test);
        }
    }
}

/// The comparisons of one slot.
#[derive(Default)]
struct Group {
    comparisons: Vec<Comparison>,
    uses: usize,
}

/// In the order in which they were met.
#[derive(Default)]
struct Groups {
    all: Vec<(Key, Group)>,
    places: Map<Key, usize>,
}

impl Groups {
    fn add(&mut self, id: ExprId, range: Range, uses: usize) {
        let key = (range.source, range.domain, range.bag);
        let place = *self.places.entry(key).or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push((key, Group::default()));
        }
        if let Some((_, group)) = self.all.get_mut(place) {
            group.comparisons.push((id, range));
            group.uses += uses;
        }
    }
}

/// The parts of targets and conditions that may be comparisons, each with how many elements have it: in the order of their
/// numbers, so that slots are numbered alike in every process.
fn parts(builder: &Builder) -> Vec<(ExprId, usize)> {
    let mut uses: Map<ExprId, usize> = Map::default();
    for node in builder.nodes.iter() {
        let conditions = match node {
            Node::Rule(rule) => [rule.target, rule.condition],
            Node::Set(set) => [set.target, None],
        };
        conditions.into_iter().flatten().for_each(|id| count(builder, id, NESTING_MAX, &mut uses));
    }
    let mut parts: Vec<(ExprId, usize)> = uses.into_iter().collect();
    parts.sort_unstable();
    parts
}

/// The bounds of these comparisons, and where each of them is among the pieces.
fn cut(comparisons: &[Comparison]) -> (Scale, Vec<PieceRange>) {
    let bounds = comparisons.iter().flat_map(|(_, range)| range.low.iter().chain(&range.high));
    let mut bounds: Vec<Bound> = bounds.cloned().collect();
    bounds.sort_by(Bound::order);
    bounds.dedup_by(|one, next| one.order(next).is_eq());
    loop {
        let scale = Scale::new(bounds.clone());
        let piece_ranges: Vec<PieceRange> =
            comparisons.iter().map(|(_, range)| range.piece_range(&scale)).collect();
        let pieces = piece_ranges.iter().zip(comparisons).map(|(piece_range, (_, range))| {
            let inside = (piece_range.end - piece_range.first) as usize;
            if range.is_outside { scale.pieces() as usize - inside } else { inside }
        });
        if pieces.sum::<usize>() <= comparisons.len() * PIECES_MEAN_MAX + PIECES_MIN {
            return (scale, piece_ranges);
        }
        bounds = bounds.into_iter().skip(1).step_by(2).collect();
    }
}

/// The pieces of a range, from the first to before the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PieceRange {
    pub(super) first: u32,
    pub(super) end: u32,
    /// Whether the range is just these. Else it is in these and maybe less; where the others are meant, in those and
    /// maybe less.
    pub(super) is_exact: bool,
}

impl Range {
    pub(super) fn piece_range(&self, scale: &Scale) -> PieceRange {
        let (first, begins) = self.low.as_ref().map_or((0, true), |low| scale.behind(low));
        let (end, ends) =
            self.high.as_ref().map_or_else(|| (scale.pieces(), true), |high| scale.behind(high));
        let first = first + u32::from(!begins && self.is_outside);
        let end = end + u32::from(!ends && !self.is_outside);
        PieceRange { first, end: end.max(first), is_exact: begins && ends }
    }
}

/// Counts the parts of a condition that may be comparisons.
fn count(builder: &Builder, id: ExprId, levels_left: usize, uses: &mut Map<ExprId, usize>) {
    match builder.get(id) {
        Some(Expr::All(parts) | Expr::Any(parts) | Expr::Lazy(Lazy::And | Lazy::Or, parts))
            if levels_left > 0 =>
        {
            parts.iter().for_each(|part| count(builder, *part, levels_left - 1, uses));
        }
        Some(Expr::Structured(_) | Expr::Match(_) | Expr::Call(..)) => *uses.entry(id).or_default() += 1,
        Some(_) | None => {}
    }
}

//! Count-and-eliminate over the ways in which children apply: bit sets of conjunctions are intersected by the request's values; those that no predicate falsified are left.
//!
//! The idea is that of Heutelbeck, Baur and Kluba (In-memory policy indexing for policy retrieval points in
//! attribute-based access control, SACMAT 2021), with what a program of numbered values makes possible:
//! - Predicates over one slot are evaluated together: one look at the slot's number finds the row of all
//!   conjunctions that this number does not falsify. So each predicate is evaluated at most once for a question, and
//!   those of a slot that nobody left asks about not at all where one row leaves few.
//! - Every conjunction stands in the row of a slot by one predicate; where it has more on the same slot, the slot has
//!   as many rows. A conjunction that is left after the last row has had as many predicates satisfied as it has: it
//!   need not be counted.
//! - Suspects are conjunctions left with a predicate nobody can tell: an absent value that is an error, a source yet
//!   to be asked, a test that is no comparison. They go to the evaluator.
//! - Conjunctions of one child follow one another, and children stand in document order. Once one of them is
//!   satisfied, its siblings are passed over.
//!
//! Rows that few conjunctions are in are lists. Where there is a short one, its conjunctions are looked up in all
//! other rows; else blocks of 512 conjunctions are intersected row by row, which touches the memory in order.

mod build;
mod rows;

use durward_ir::combine::Flow;
use durward_ir::evaluate::TargetMatch;
use durward_ir::program::{NodeId, SlotId};
use durward_ir::question::{Number, Question, SlotReader};

use crate::inline::Inline;
pub(crate) use build::SieveCandidate;
use rows::{BLOCK_BITS, BLOCK_WORDS, SieveRow, SieveRows};

/// So many slots are looked at without asking for memory.
const INLINE_MAX: usize = 24;

/// So many slots whose rows are lists, or that hold several values, the values counted.
const FEW: usize = 8;

/// So many slots that nobody can tell.
const RARE: usize = 4;

/// How many slots one sieve looks at, the most telling ones. What is asked of others is for the evaluator.
const STEPS_MAX: usize = 64;

/// A child left by a sieve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RemainingChild {
    pub(crate) node: NodeId,
    /// Its place among its siblings.
    pub(crate) place: u32,
    pub(crate) known: TargetMatch,
}

/// The sieves of one index.
#[derive(Debug, Default)]
pub(crate) struct Sieves {
    sieves: Vec<SieveLayout>,
    steps: Vec<SieveStep>,
    rows: SieveRows,
    /// Rows of values, found by number from a step.
    of_values: Vec<SieveRow>,
    /// Sorted for each slot.
    numbers: Vec<u32>,
    /// By conjunction: the child and its place.
    members: Vec<(NodeId, u32)>,
}

/// Where the parts of one sieve are.
#[derive(Clone, Copy, Debug)]
struct SieveLayout {
    first_step: u32,
    steps: u32,
    first_member: u32,
    /// How many conjunctions there are.
    members: u32,
    /// Those that take more than comparisons.
    has_others: SieveRow,
}

/// A slot that is looked at.
#[derive(Clone, Copy, Debug)]
struct SieveStep {
    slot: SlotId,
    /// Not falsified by a value.
    values: SlotRows,
    /// Not falsified by a value that nobody asks for: those that do not test the slot.
    free: SieveRow,
    /// Not falsified if there is no value.
    absent: SieveRow,
    /// Nobody can tell if there is no value.
    suspects: SieveRow,
}

/// Where the rows of a slot's values are.
#[derive(Clone, Copy, Debug)]
enum SlotRows {
    /// `of_values[first + number - low]`, for `span` numbers from `low`.
    Placed { low: u32, first: u32, span: u32 },
    /// `of_values[first + at]`, where `numbers[first_number + at]` is the number.
    Searched { first: u32, first_number: u32, count: u32 },
}

/// Rows of which a conjunction must be in one.
#[derive(Clone, Copy, Debug)]
struct RowUnion {
    row: SieveRow,
    /// Whether the next one belongs to this.
    goes_on: bool,
}

/// The evaluation of one request against the sieves.
struct SieveQuery {
    /// Dense rows a conjunction must be in.
    plain: Inline<u32, INLINE_MAX>,
    /// All others.
    unions: Inline<RowUnion, FEW>,
    /// The shortest list among the rows.
    shortest: Option<SieveRow>,
    /// Conjunctions in these are suspects.
    suspects: Inline<SieveRow, RARE>,
    /// Conjunctions not in these are.
    unasked: Inline<SieveRow, RARE>,
}

impl Sieves {
    pub(crate) fn len(&self) -> usize {
        self.sieves.len()
    }

    /// How many conjunctions there are.
    pub(crate) fn conjunctions(&self) -> usize {
        self.members.len()
    }

    /// The slots that a sieve looks at, in order.
    pub(crate) fn slots(&self, number: u32) -> Vec<SlotId> {
        let steps = self.sieves.get(number as usize).and_then(|sieve| {
            let first = sieve.first_step as usize;
            self.steps.get(first..first + sieve.steps as usize)
        });
        let mut slots = Vec::new();
        for step in steps.unwrap_or_default() {
            if !slots.contains(&step.slot) {
                slots.push(step.slot);
            }
        }
        slots
    }

    /// How many slots all sieves look at.
    pub(crate) fn steps(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.sieves)
            + size_of_val(&*self.steps)
            + size_of_val(&*self.of_values)
            + size_of_val(&*self.numbers)
            + size_of_val(&*self.members)
            + self.rows.bytes()
    }

    /// Shows the children that a question leaves, in order, until told to stop. Shows nothing if there is no such
    /// sieve.
    pub(crate) fn pour(
        &self,
        number: u32,
        question: &Question<'_>,
        show: impl FnMut(RemainingChild) -> Flow,
    ) {
        let Some(sieve) = self.sieves.get(number as usize) else { return };
        let Some(mut pour) = self.prepare(sieve, question) else { return };
        let mut shower = RemainingChildren { pending: None, show };
        let members = self.members_of(sieve);
        let flow =
            self.find_left(sieve, &mut pour, |conjunction, pour| match members.get(conjunction as usize) {
                Some((node, place)) => {
                    shower.found(*node, *place, || self.is_suspect(sieve, pour, conjunction))
                }
                None => Flow::Continue,
            });
        if flow == Flow::Continue {
            shower.finish();
        }
    }

    /// Shows what a question leaves, by [`Sieves::members`], as [`Sieves::pour`] does, but a child once for each of its
    /// conjunctions that apply; `show` says `None` where it has to be poured. So does this, and where not all can be
    /// seen at once.
    #[inline]
    pub(crate) fn pour_by_reader(
        &self,
        number: u32,
        reader: &impl SlotReader,
        mut show: impl FnMut(usize, NodeId) -> Option<Flow>,
    ) -> Option<()> {
        let sieve = self.sieves.get(number as usize)?;
        let mut pour = SieveQuery::new();
        let first = sieve.first_step as usize;
        for step in self.steps.get(first..first + sieve.steps as usize)? {
            let is_left = match reader.number(step.slot) {
                Number::ABSENT => {
                    if !step.suspects.is_empty() {
                        pour.suspects.extend(&[step.suspects]);
                    }
                    pour.add(step.absent)
                }
                Number::OTHER | Number::OTHER_TEXT => pour.add(step.free),
                Number::UNASKED | Number::MANY => return None,
                number => pour.add(self.row_of(step, number)),
            };
            if is_left.is_none() {
                return Some(());
            }
        }
        let mut is_complete = true;
        self.find_left(sieve, &mut pour, |conjunction, pour| {
            let at = sieve.first_member as usize + conjunction as usize;
            let member = self.members.get(at).filter(|_| !self.is_suspect(sieve, pour, conjunction));
            member.and_then(|(node, _)| show(at, *node)).unwrap_or_else(|| {
                is_complete = false;
                Flow::Stop
            })
        });
        is_complete.then_some(())
    }

    /// The conjunctions of a sieve, by their children, and the number of the first of them.
    pub(crate) fn members(&self, number: u32) -> (usize, impl Iterator<Item = NodeId>) {
        let sieve = self.sieves.get(number as usize);
        let members = sieve.map(|sieve| self.members_of(sieve)).unwrap_or_default();
        let first = sieve.map_or(0, |sieve| sieve.first_member as usize);
        (first, members.iter().map(|(node, _)| *node))
    }

    /// Shows all conjunctions that are in all rows, until told to stop.
    #[inline]
    fn find_left(
        &self,
        sieve: &SieveLayout,
        pour: &mut SieveQuery,
        mut found: impl FnMut(u32, &mut SieveQuery) -> Flow,
    ) -> Flow {
        match pour.shortest {
            Some(row) => self.look_up_all(row, pour, &mut found),
            None => self.intersect(sieve, pour, &mut found),
        }
    }

    fn members_of(&self, sieve: &SieveLayout) -> &[(NodeId, u32)] {
        let first = sieve.first_member as usize;
        self.members.get(first..first + sieve.members as usize).unwrap_or_default()
    }

    /// Looks at the slots. `None` where nobody is left.
    #[inline]
    fn prepare(&self, sieve: &SieveLayout, question: &Question<'_>) -> Option<SieveQuery> {
        let mut pour = SieveQuery::new();
        let first = sieve.first_step as usize;
        for step in self.steps.get(first..first + sieve.steps as usize)? {
            match question.peek(step.slot) {
                Number::ABSENT => {
                    pour.add(step.absent)?;
                    if !step.suspects.is_empty() {
                        pour.suspects.extend(&[step.suspects]);
                    }
                }
                Number::OTHER | Number::OTHER_TEXT => pour.add(step.free)?,
                Number::UNASKED => pour.unasked.extend(&[step.free]),
                Number::MANY => self.add_many(step, question, &mut pour)?,
                number => pour.add(self.row_of(step, number))?,
            }
        }
        Some(pour)
    }

    #[inline]
    fn row_of(&self, step: &SieveStep, number: Number) -> SieveRow {
        let at = match step.values {
            SlotRows::Placed { low, first, span } => {
                let place = number.0.wrapping_sub(low);
                (place < span).then(|| first + place)
            }
            SlotRows::Searched { first, first_number, count } => {
                let from = first_number as usize;
                let numbers = self.numbers.get(from..from + count as usize).unwrap_or_default();
                numbers.binary_search(&number.0).ok().map(|at| first + at as u32)
            }
        };
        let row = at.and_then(|at| self.of_values.get(at as usize));
        row.copied().unwrap_or(step.free)
    }

    /// Adds the rows of several values as one.
    #[cold]
    fn add_many(&self, step: &SieveStep, question: &Question<'_>, pour: &mut SieveQuery) -> Option<()> {
        let mut rows: Inline<SieveRow, FEW> = Inline::new(SieveRow::EMPTY);
        question.any_of_many(step.slot, |atom| {
            let row = self.row_of(step, Number::of(atom));
            // What is free is in every row.
            if row != step.free {
                rows.extend(&[row]);
            }
            false
        });
        let rows = rows.as_mut_slice();
        rows.sort_unstable();
        let mut different = rows.chunk_by(|row, next| row == next).filter_map(<[SieveRow]>::first).peekable();
        let Some(first) = different.next() else { return pour.add(step.free) };
        if different.peek().is_none() {
            return pour.add(*first);
        }
        pour.unions.extend(&[RowUnion { row: *first, goes_on: true }]);
        while let Some(row) = different.next() {
            pour.unions.extend(&[RowUnion { row: *row, goes_on: different.peek().is_some() }]);
        }
        Some(())
    }

    /// Looks up each conjunction of a list in all other rows.
    #[inline]
    fn look_up_all(
        &self,
        row: SieveRow,
        pour: &mut SieveQuery,
        found: &mut impl FnMut(u32, &mut SieveQuery) -> Flow,
    ) -> Flow {
        for conjunction in self.rows.list(row) {
            if self.is_left(pour, *conjunction) && found(*conjunction, pour) == Flow::Stop {
                return Flow::Stop;
            }
        }
        Flow::Continue
    }

    #[inline]
    fn is_left(&self, pour: &mut SieveQuery, conjunction: u32) -> bool {
        if !pour.plain.as_slice().iter().all(|dense| self.rows.is_in_dense(*dense, conjunction)) {
            return false;
        }
        let mut is_in = false;
        for union in pour.unions.as_slice() {
            is_in = is_in || self.rows.contains(union.row, conjunction);
            if !union.goes_on {
                if !is_in {
                    return false;
                }
                is_in = false;
            }
        }
        true
    }

    /// Intersects all rows, block by block.
    #[inline]
    fn intersect(
        &self,
        sieve: &SieveLayout,
        pour: &mut SieveQuery,
        found: &mut impl FnMut(u32, &mut SieveQuery) -> Flow,
    ) -> Flow {
        for block in 0..sieve.members.div_ceil(BLOCK_BITS) {
            let left = self.left_in_block(block, sieve, pour);
            for (at, mut word) in (0..).zip(left) {
                while word != 0 {
                    let conjunction = block * BLOCK_BITS + at * 64 + word.trailing_zeros();
                    word &= word - 1;
                    if found(conjunction, pour) == Flow::Stop {
                        return Flow::Stop;
                    }
                }
            }
        }
        Flow::Continue
    }

    #[inline]
    fn left_in_block(&self, block: u32, sieve: &SieveLayout, pour: &mut SieveQuery) -> [u64; BLOCK_WORDS] {
        let mut left = rows::full_block(sieve.members - block * BLOCK_BITS);
        let (fours, rest) = pour.plain.as_slice().as_chunks();
        for four in fours {
            self.rows.intersect_four(*four, block, &mut left);
            if rows::is_none_in(&left) {
                return left;
            }
        }
        for dense in rest {
            self.rows.intersect(*dense, block, &mut left);
        }
        let mut either = [0; BLOCK_WORDS];
        for union in pour.unions.as_mut_slice() {
            self.rows.unite(&mut union.row, block, &mut either);
            if !union.goes_on {
                left.iter_mut().zip(either).for_each(|(left, either)| *left &= either);
                either = [0; BLOCK_WORDS];
            }
        }
        left
    }

    /// Whether a conjunction that is left has a predicate nobody can tell.
    #[inline]
    fn is_suspect(&self, sieve: &SieveLayout, pour: &SieveQuery, conjunction: u32) -> bool {
        let is_sure = sieve.has_others.is_empty() && pour.suspects.is_empty() && pour.unasked.is_empty();
        !is_sure && self.is_in_suspects(sieve, pour, conjunction)
    }

    #[inline(never)]
    fn is_in_suspects(&self, sieve: &SieveLayout, pour: &SieveQuery, conjunction: u32) -> bool {
        self.rows.contains(sieve.has_others, conjunction)
            || pour.suspects.as_slice().iter().any(|row| self.rows.contains(*row, conjunction))
            || pour.unasked.as_slice().iter().any(|free| !self.rows.contains(*free, conjunction))
    }
}

impl SieveQuery {
    #[inline]
    fn new() -> SieveQuery {
        let union = RowUnion { row: SieveRow::EMPTY, goes_on: false };
        SieveQuery {
            plain: Inline::new(0),
            unions: Inline::new(union),
            shortest: None,
            suspects: Inline::new(SieveRow::EMPTY),
            unasked: Inline::new(SieveRow::EMPTY),
        }
    }

    /// Adds a row that conjunctions must be in. `None` if nobody is in it.
    #[inline]
    fn add(&mut self, row: SieveRow) -> Option<()> {
        if let Some(dense) = row.as_dense() {
            self.plain.extend(&[dense]);
            return Some(());
        }
        if row.is_empty() {
            return None;
        }
        let is_shortest =
            row.is_short() && self.shortest.is_none_or(|shortest| row.count() < shortest.count());
        let other = if is_shortest { self.shortest.replace(row) } else { Some(row) };
        if let Some(row) = other {
            self.unions.extend(&[RowUnion { row, goes_on: false }]);
        }
        Some(())
    }
}

/// Makes children of conjunctions.
struct RemainingChildren<F> {
    pending: Option<RemainingChild>,
    show: F,
}

impl<F: FnMut(RemainingChild) -> Flow> RemainingChildren<F> {
    #[inline]
    fn found(&mut self, node: NodeId, place: u32, is_suspect: impl FnOnce() -> bool) -> Flow {
        let known = |is_suspect| if is_suspect { TargetMatch::Unsure } else { TargetMatch::Match };
        match &mut self.pending {
            Some(pending) if pending.place == place => {
                if pending.known == TargetMatch::Unsure {
                    pending.known = known(is_suspect());
                }
                Flow::Continue
            }
            pending => {
                let new = RemainingChild { node, place, known: known(is_suspect()) };
                pending.replace(new).map_or(Flow::Continue, &mut self.show)
            }
        }
    }

    fn finish(mut self) {
        if let Some(pending) = self.pending {
            (self.show)(pending);
        }
    }
}

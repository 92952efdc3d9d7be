//! From formulas to rows.

use std::collections::BTreeMap;

use durward_ir::program::{Atom, NodeId, SlotId};
use durward_ir::question::Number;

use super::rows::{LIST_PART, SieveRow, short_max};
use super::{STEPS_MAX, SieveLayout, SieveStep, Sieves, SlotRows};
use crate::BuildMap;
use crate::formula::{Conjunction, WhenAbsent};

/// A table with a place for every number from the lowest to the highest may be this many times longer than there are
/// values; other numbers are searched for.
const SPREAD_MAX: usize = 4;

/// How long all parts of the sieves were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SievesMark {
    sieves: usize,
    steps: usize,
    of_values: usize,
    numbers: usize,
    members: usize,
    /// Blocks and entries of lists.
    rows: (usize, usize),
}

/// A child and when it applies.
#[derive(Debug)]
pub(crate) struct SieveCandidate {
    pub(crate) node: NodeId,
    /// Its place among its siblings.
    pub(crate) place: u32,
    /// The ways in which it applies; none if it never does.
    pub(crate) formula: Vec<Conjunction>,
}

/// What conjunctions ask of one slot, each at most once.
#[derive(Default)]
struct SlotConjunctions {
    /// Those that ask at all; sorted, as are all others.
    testers: Vec<u32>,
    by_atom: BuildMap<Atom, Vec<u32>>,
    absent_holds: Vec<u32>,
    absent_unsure: Vec<u32>,
}

impl SlotConjunctions {
    /// How many of so many conjunctions are left on the average, if questions hold what policies ask for.
    fn left_of(&self, conjunctions: usize) -> usize {
        let asked: usize = self.by_atom.values().map(Vec::len).sum();
        let squares: usize = self.by_atom.values().map(|askers| askers.len() * askers.len()).sum();
        conjunctions - self.testers.len() + squares.div_ceil(asked.max(1))
    }

    fn note(&mut self, conjunction: u32, atoms: &[Atom], absent: WhenAbsent) {
        self.testers.push(conjunction);
        for atom in atoms {
            self.by_atom.entry(*atom).or_default().push(conjunction);
        }
        match absent {
            WhenAbsent::Fails => {}
            WhenAbsent::Holds => self.absent_holds.push(conjunction),
            WhenAbsent::Unsure => self.absent_unsure.push(conjunction),
        }
    }
}

impl Sieves {
    /// Makes a sieve of children in document order; gives its number. The memory it takes is proportional to their
    /// tests.
    pub(crate) fn add(&mut self, candidates: &[SieveCandidate]) -> u32 {
        let first_member = self.members.len() as u32;
        let mut conjunctions: Vec<&Conjunction> = Vec::new();
        for candidate in candidates {
            conjunctions.extend(&candidate.formula);
            let member = (candidate.node, candidate.place);
            self.members.resize(first_member as usize + conjunctions.len(), member);
        }
        let count = conjunctions.len();
        let mut steps: Vec<((SlotId, usize), SlotConjunctions)> = asked(&conjunctions).into_iter().collect();
        steps.sort_by_key(|(_, asked)| asked.left_of(count));
        let mut others: Vec<u32> =
            (0..).zip(&conjunctions).filter(|(_, one)| one.has_others).map(|(number, _)| number).collect();
        for (_, dropped) in steps.drain(STEPS_MAX.min(steps.len())..) {
            others.extend(dropped.testers);
        }
        others.sort_unstable();
        others.dedup();
        let first_step = self.steps.len() as u32;
        for ((slot, _), asked) in &steps {
            let step = self.step(*slot, asked, count);
            self.steps.push(step);
        }
        let has_others = self.row(&UntestedConjunctions::nobody(), &others, count);
        self.sieves.push(SieveLayout {
            first_step,
            steps: steps.len() as u32,
            first_member,
            members: count as u32,
            has_others,
        });
        self.sieves.len() as u32 - 1
    }

    /// As long as the sieves are now.
    pub(crate) fn mark(&self) -> SievesMark {
        SievesMark {
            sieves: self.sieves.len(),
            steps: self.steps.len(),
            of_values: self.of_values.len(),
            numbers: self.numbers.len(),
            members: self.members.len(),
            rows: self.rows.lengths(),
        }
    }

    /// Forgets what was added since.
    pub(crate) fn go_back_to(&mut self, mark: SievesMark) {
        self.sieves.truncate(mark.sieves);
        self.steps.truncate(mark.steps);
        self.of_values.truncate(mark.of_values);
        self.numbers.truncate(mark.numbers);
        self.members.truncate(mark.members);
        self.rows.truncate(mark.rows);
    }

    fn step(&mut self, slot: SlotId, asked: &SlotConjunctions, conjunctions: usize) -> SieveStep {
        let free = self.free(&asked.testers, conjunctions);
        let mut values: Vec<(Number, SieveRow)> = Vec::with_capacity(asked.by_atom.len());
        for (atom, askers) in &asked.by_atom {
            values.push((Number::of(*atom), self.row(&free, askers, conjunctions)));
        }
        values.sort_unstable_by_key(|(number, _)| number.0);
        let mut absent = [asked.absent_holds.as_slice(), &asked.absent_unsure].concat();
        absent.sort_unstable();
        SieveStep {
            slot,
            values: self.values(&values, free.row),
            free: free.row,
            absent: self.row(&free, &absent, conjunctions),
            suspects: self.row(&UntestedConjunctions::nobody(), &asked.absent_unsure, conjunctions),
        }
    }

    /// The conjunctions other than these.
    fn free(&mut self, testers: &[u32], conjunctions: usize) -> UntestedConjunctions {
        let count = conjunctions - testers.len();
        if count == 0 {
            return UntestedConjunctions::nobody();
        }
        let mut testers = testers.iter().peekable();
        let free = (0..conjunctions as u32).filter(move |one| testers.next_if_eq(&one).is_none());
        if count <= short_max(conjunctions) {
            let list: Vec<u32> = free.collect();
            return UntestedConjunctions {
                row: self.rows.add_list(None, &list, conjunctions),
                list: Some(list),
            };
        }
        UntestedConjunctions { row: self.rows.add_dense(free, conjunctions), list: None }
    }

    /// Those who are free and these.
    fn row(&mut self, free: &UntestedConjunctions, askers: &[u32], conjunctions: usize) -> SieveRow {
        if askers.is_empty() {
            return free.row;
        }
        let is_dense = askers.len() > short_max(conjunctions).max(conjunctions / LIST_PART as usize);
        match &free.list {
            Some(list) if list.is_empty() && !is_dense => self.rows.add_list(None, askers, conjunctions),
            Some(list) if list.len() + askers.len() <= short_max(conjunctions) => {
                let mut all = [list, askers].concat();
                all.sort_unstable();
                self.rows.add_list(None, &all, conjunctions)
            }
            Some(list) => self.rows.add_dense(list.iter().chain(askers).copied(), conjunctions),
            None if is_dense => self.rows.add_dense_to(free.row, askers, conjunctions),
            None => self.rows.add_list(Some(free.row), askers, conjunctions),
        }
    }

    /// A table of rows, sorted by number.
    fn values(&mut self, values: &[(Number, SieveRow)], free: SieveRow) -> SlotRows {
        let first = self.of_values.len() as u32;
        let (Some((low, _)), Some((high, _))) = (values.first(), values.last()) else {
            return SlotRows::Placed { low: 0, first, span: 0 };
        };
        let span = (high.0 - low.0) as usize + 1;
        if span <= SPREAD_MAX * values.len() {
            self.of_values.resize(first as usize + span, free);
            for (number, row) in values {
                if let Some(place) = self.of_values.get_mut((first + number.0 - low.0) as usize) {
                    *place = *row;
                }
            }
            return SlotRows::Placed { low: low.0, first, span: span as u32 };
        }
        let first_number = self.numbers.len() as u32;
        self.numbers.extend(values.iter().map(|(number, _)| number.0));
        self.of_values.extend(values.iter().map(|(_, row)| *row));
        SlotRows::Searched { first, first_number, count: values.len() as u32 }
    }

    /// Gives back what only building needs.
    pub(crate) fn finish(&mut self) {
        self.sieves.shrink_to_fit();
        self.steps.shrink_to_fit();
        self.of_values.shrink_to_fit();
        self.numbers.shrink_to_fit();
        self.members.shrink_to_fit();
        self.rows.finish();
    }
}

/// The conjunctions that do not test a slot.
struct UntestedConjunctions {
    row: SieveRow,
    /// Which they are, if they are few.
    list: Option<Vec<u32>>,
}

impl UntestedConjunctions {
    fn nobody() -> UntestedConjunctions {
        UntestedConjunctions { row: SieveRow::EMPTY, list: Some(Vec::new()) }
    }
}

/// What is asked of each slot. A conjunction that tests a slot more than once does so in several places.
fn asked(conjunctions: &[&Conjunction]) -> BTreeMap<(SlotId, usize), SlotConjunctions> {
    let mut asked: BTreeMap<(SlotId, usize), SlotConjunctions> = BTreeMap::new();
    for (number, conjunction) in (0..).zip(conjunctions) {
        for tests in conjunction.tests.chunk_by(|one, next| one.slot == next.slot) {
            for (place, test) in tests.iter().enumerate() {
                asked.entry((test.slot, place)).or_default().note(number, &test.atoms, test.absent);
            }
        }
    }
    asked
}

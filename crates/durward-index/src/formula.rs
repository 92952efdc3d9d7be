//! What must hold for a child to apply, as a disjunction of conjunctions: its own target, and in every conjunction
//! what must hold besides for the child to have something to say.
//!
//! Multiplying out conjunctions of disjunctions changes nothing: Kleene's conjunction and disjunction distribute
//! over each other, so what is True, False or unknown of the one form is so of the other.

use std::sync::Arc;

use durward_ir::program::{Atom, SlotId};

use crate::necessary::NecessaryTest;
use crate::target::{TargetClause, TargetParts, ValueIn};

/// A limit that comes from below and names more values than this is not made a test: it would rule out little, and
/// every one of its values has to name the child.
const LIMIT_ATOMS_MAX: usize = 64;

/// What a test comes to where the slot has no value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum WhenAbsent {
    /// False.
    Fails,
    /// True.
    Holds,
    /// An error, which is for the evaluator to find.
    Unsure,
}

/// "The slot holds one of these values."
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SlotTest {
    pub(crate) slot: SlotId,
    /// Sorted.
    pub(crate) atoms: Arc<[Atom]>,
    pub(crate) absent: WhenAbsent,
}

/// One way for a child to apply.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Conjunction {
    /// Sorted by slot.
    pub(crate) tests: Vec<SlotTest>,
    /// Whether it takes more than the tests.
    pub(crate) has_others: bool,
}

/// When a child applies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct TargetFormula {
    /// All ways; none if it never applies.
    pub(crate) ways: Vec<Conjunction>,
    /// Whether its target would come to too many, and only what must hold was used.
    pub(crate) is_abridged: bool,
}

/// The formula of a child with this target and these limits. A target that comes to more than `ways_max`
/// conjunctions is not multiplied out; its limits are all that is used then.
pub(crate) fn of(
    target: Option<TargetParts<'_>>,
    has_target: bool,
    limits: &[NecessaryTest],
    ways_max: usize,
) -> TargetFormula {
    let multiplied = match (target, has_target) {
        (Some(target), _) => multiply(target, ways_max),
        (None, true) => Some(vec![Conjunction { has_others: true, ..Conjunction::default() }]),
        (None, false) => Some(vec![Conjunction::default()]),
    };
    let is_abridged = multiplied.is_none();
    let mut ways = match multiplied {
        Some(ways) => with_inherited(ways, limits),
        None => {
            let tests = limits.iter().map(SlotTest::of_limit).collect();
            vec![Conjunction { tests, has_others: true }]
        }
    };
    ways.iter_mut().for_each(Conjunction::tidy);
    TargetFormula { ways, is_abridged }
}

/// `None` if that comes to too many conjunctions.
fn multiply(target: TargetParts<'_>, ways_max: usize) -> Option<Vec<Conjunction>> {
    let mut formula = vec![Conjunction { has_others: target.has_others, ..Conjunction::default() }];
    for clause in target.clauses() {
        formula = match clause {
            TargetClause::OneOf(test) => {
                times(&formula, &[Conjunction::of_tests(std::slice::from_ref(test), false)])
            }
            TargetClause::Alternatives(alternatives) if formula.len() * alternatives.len() > ways_max => {
                return None;
            }
            TargetClause::Alternatives(alternatives) => {
                let ways: Vec<Conjunction> = alternatives
                    .iter()
                    .map(|way| Conjunction::of_tests(&way.tests, way.has_others))
                    .collect();
                times(&formula, &ways)
            }
        };
    }
    Some(formula)
}

fn times(formula: &[Conjunction], ways: &[Conjunction]) -> Vec<Conjunction> {
    let with = |one: &Conjunction, way: &Conjunction| Conjunction {
        tests: one.tests.iter().chain(&way.tests).cloned().collect(),
        has_others: one.has_others || way.has_others,
    };
    formula.iter().flat_map(|one| ways.iter().map(move |way| with(one, way))).collect()
}

/// Limits of the child's own target say nothing that its formula does not.
fn with_inherited(mut ways: Vec<Conjunction>, limits: &[NecessaryTest]) -> Vec<Conjunction> {
    for limit in limits.iter().filter(|limit| !limit.is_own && limit.atoms.len() <= LIMIT_ATOMS_MAX) {
        for conjunction in &mut ways {
            if !conjunction.tests.iter().any(|test| test.implies(limit)) {
                conjunction.tests.push(SlotTest::of_limit(limit));
            }
        }
    }
    ways
}

impl Conjunction {
    fn of_tests(tests: &[ValueIn], has_others: bool) -> Conjunction {
        Conjunction { tests: tests.iter().map(SlotTest::of_one_of).collect(), has_others }
    }

    fn tidy(&mut self) {
        self.tests.sort_by(|one, other| {
            (one.slot, one.atoms.len(), &one.atoms, one.absent).cmp(&(
                other.slot,
                other.atoms.len(),
                &other.atoms,
                other.absent,
            ))
        });
        self.tests.dedup();
    }
}

impl SlotTest {
    fn of_one_of(test: &ValueIn) -> SlotTest {
        let absent = if test.is_error_if_absent { WhenAbsent::Unsure } else { WhenAbsent::Fails };
        SlotTest { slot: test.slot, atoms: Arc::clone(&test.atoms), absent }
    }

    fn of_limit(limit: &NecessaryTest) -> SlotTest {
        let absent = if limit.is_absent_allowed { WhenAbsent::Holds } else { WhenAbsent::Fails };
        SlotTest { slot: limit.slot, atoms: Arc::clone(&limit.atoms), absent }
    }

    /// Whether the limit is kept wherever this test is not False.
    fn implies(&self, limit: &NecessaryTest) -> bool {
        self.slot == limit.slot
            && (limit.is_absent_allowed || self.absent == WhenAbsent::Fails)
            && self.atoms.iter().all(|atom| limit.atoms.binary_search(atom).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TestConjunction;

    fn test(slot: u32, atoms: &[u32]) -> ValueIn {
        let atoms = atoms.iter().map(|atom| Atom(*atom)).collect();
        ValueIn { slot: SlotId(slot), atoms, is_error_if_absent: false }
    }

    fn limit(slot: u32, atoms: &[u32], is_own: bool) -> NecessaryTest {
        let atoms = atoms.iter().map(|atom| Atom(*atom)).collect();
        NecessaryTest { slot: SlotId(slot), atoms, is_absent_allowed: false, is_own }
    }

    fn clauses() -> Vec<TargetClause> {
        let ways =
            [0, 1].map(|slot| TestConjunction { tests: [test(slot, &[slot])].into(), has_others: false });
        vec![TargetClause::OneOf(test(2, &[7, 8])), TargetClause::Alternatives(ways.into())]
    }

    /// One of the first, and twice one of the second.
    fn target(all: &[TargetClause]) -> TargetParts<'_> {
        TargetParts { numbers: &[0, 1, 1], all, has_others: false }
    }

    /// How many tests each conjunction has.
    fn sizes(formula: &TargetFormula) -> Vec<usize> {
        formula.ways.iter().map(|conjunction| conjunction.tests.len()).collect()
    }

    #[test]
    fn conjunctions_of_disjunctions_are_multiplied_out() {
        // (2=7|8) & (0=0 | 1=1) & (0=0 | 1=1); the same test twice is one.
        assert_eq!(sizes(&of(Some(target(&clauses())), true, &[], 4)), [2, 3, 3, 2]);
    }

    #[test]
    fn past_the_limit_only_what_must_hold_is_used() {
        let formula = of(Some(target(&clauses())), true, &[limit(2, &[7, 8], true)], 3);
        assert_eq!(sizes(&formula), [1]);
        assert!(formula.is_abridged && formula.ways.iter().all(|conjunction| conjunction.has_others));
    }

    #[test]
    fn limits_from_below_are_added_unless_the_target_is_tighter() {
        let limits = [limit(2, &[6, 7, 8], false), limit(5, &[9], false)];
        assert_eq!(sizes(&of(Some(target(&clauses())), true, &limits, 4)), [3, 4, 4, 3]);
    }
}

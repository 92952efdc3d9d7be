//! Targets as comparisons of numbers: what can be said about a target without evaluating it.
//!
//! A target is a conjunction of clauses, a clause a disjunction of alternatives, an alternative a conjunction of
//! tests (XACML 3.0, 7.7). A test is "slot holds atom"; one that is anything else, or whose answer would be an
//! error, or whose slot a source has yet to be asked for, is unknown. Truth with unknowns is Kleene's, as in the
//! evaluator: False wins in a conjunction, True in a disjunction, and what stays unknown is left to the evaluator,
//! which finds the error to report.

use durward_ir::evaluate::Known;
use durward_ir::program::{Atom, Expr, ExprId, Match, NodeId, Program, SlotId};
use durward_ir::question::{Number, Question};

use crate::Map;

/// How deep conjunctions may be nested in conjunctions, and disjunctions in disjunctions, to be looked into.
/// Lowering makes two levels; what is deeper counts as unknown.
const NESTING_MAX: usize = 8;

/// "The slot holds one of these values."
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OneOf {
    pub(crate) slot: SlotId,
    /// Sorted.
    pub(crate) atoms: Box<[Atom]>,
    /// Whether an absent value is an error rather than False.
    pub(crate) is_error_if_absent: bool,
}

/// One part of a target's conjunction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Clause {
    /// Compares a single slot.
    OneOf(OneOf),
    /// Any of these conjunctions.
    Alternatives(Box<[Alternative]>),
}

/// A conjunction of tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Alternative {
    /// Those that are comparisons.
    pub(crate) tests: Box<[OneOf]>,
    /// Whether there are tests that are not comparisons.
    pub(crate) has_others: bool,
}

/// A target in parts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Target {
    pub(crate) clauses: Vec<Clause>,
    /// Whether there are clauses nothing is known about.
    pub(crate) has_others: bool,
}

impl Target {
    /// Whether nothing at all can be said.
    fn is_opaque(&self) -> bool {
        self.clauses.is_empty() && self.has_others
    }

    /// The clauses, if that is all there is and each looks at one slot.
    pub(crate) fn as_one_ofs(&self) -> Option<impl Iterator<Item = &OneOf>> {
        let is_plain =
            !self.has_others && self.clauses.iter().all(|clause| matches!(clause, Clause::OneOf(_)));
        is_plain.then(|| {
            self.clauses.iter().filter_map(|clause| match clause {
                Clause::OneOf(one_of) => Some(one_of),
                Clause::Alternatives(_) => None,
            })
        })
    }

    /// Whether this is nothing but comparisons that are False where there is no value.
    pub(crate) fn never_fails(&self) -> bool {
        self.as_one_ofs().is_some_and(|mut tests| tests.all(|test| !test.is_error_if_absent))
    }

    fn known(&self, question: &Question<'_>) -> Known {
        let mut known = if self.has_others { Known::Unsure } else { Known::Match };
        for clause in &self.clauses {
            match clause.known(question) {
                Known::Match => {}
                Known::NoMatch => return Known::NoMatch,
                Known::Unsure => known = Known::Unsure,
            }
        }
        known
    }
}

impl Clause {
    #[inline]
    fn known(&self, question: &Question<'_>) -> Known {
        match self {
            Clause::OneOf(one_of) => one_of.known(question),
            Clause::Alternatives(alternatives) => {
                let mut known = Known::NoMatch;
                for alternative in alternatives {
                    match alternative.known(question) {
                        Known::Match => return Known::Match,
                        Known::NoMatch => {}
                        Known::Unsure => known = Known::Unsure,
                    }
                }
                known
            }
        }
    }
}

impl Alternative {
    fn known(&self, question: &Question<'_>) -> Known {
        let mut known = if self.has_others { Known::Unsure } else { Known::Match };
        for test in &self.tests {
            match test.known(question) {
                Known::Match => {}
                Known::NoMatch => return Known::NoMatch,
                Known::Unsure => known = Known::Unsure,
            }
        }
        known
    }
}

impl OneOf {
    #[inline]
    fn known(&self, question: &Question<'_>) -> Known {
        let holds = match question.peek(self.slot) {
            Number::ABSENT if self.is_error_if_absent => return Known::Unsure,
            Number::ABSENT | Number::OTHER | Number::OTHER_TEXT => false,
            Number::UNASKED => return Known::Unsure,
            Number::MANY => self.atoms.iter().any(|atom| question.holds(self.slot, *atom)),
            number => number.atom().is_some_and(|atom| self.names(atom)),
        };
        if holds { Known::Match } else { Known::NoMatch }
    }

    /// Whether the atom is one of these.
    #[inline]
    pub(crate) fn names(&self, atom: Atom) -> bool {
        names(&self.atoms, atom)
    }
}

/// Whether the atom is one of these; sorted.
#[inline]
pub(crate) fn names(atoms: &[Atom], atom: Atom) -> bool {
    match atoms {
        [only] => *only == atom,
        atoms => atoms.binary_search(&atom).is_ok(),
    }
}

/// The targets of a program, by element.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    /// For each element one more than the place of its target in `targets`; 0 where nothing can be said.
    of_node: Box<[u32]>,
    /// INVARIANT: entries of `of_node` are at most its length.
    targets: Box<[Target]>,
}

impl Targets {
    pub(crate) fn build(program: &Program) -> Targets {
        let mut targets = Vec::new();
        let mut places: Map<ExprId, u32> = Map::default();
        let of_node = program.nodes().map(|(_, node)| match node.target() {
            None => 0,
            Some(target) => *places.entry(target).or_insert_with(|| {
                let target = read(program, target);
                if target.is_opaque() {
                    return 0;
                }
                targets.push(target);
                targets.len() as u32
            }),
        });
        Targets { of_node: of_node.collect(), targets: targets.into() }
    }

    /// The target of an element, if it has one about which anything can be said.
    #[inline]
    pub(crate) fn get(&self, id: NodeId) -> Option<&Target> {
        let place = *self.of_node.get(id.0 as usize)? as usize;
        self.targets.get(place.wrapping_sub(1))
    }

    #[inline]
    pub(crate) fn known(&self, id: NodeId, question: &Question<'_>) -> Known {
        self.get(id).map_or(Known::Unsure, |target| target.known(question))
    }

    pub(crate) fn bytes(&self) -> usize {
        let one_of = |one_of: &OneOf| size_of_val(&*one_of.atoms) + size_of::<OneOf>();
        let clause = |clause: &Clause| match clause {
            Clause::OneOf(test) => one_of(test),
            Clause::Alternatives(alternatives) => {
                let tests = alternatives.iter().flat_map(|alternative| &alternative.tests);
                size_of_val(&**alternatives) + tests.map(one_of).sum::<usize>()
            }
        };
        let clauses: usize = self.targets.iter().flat_map(|target| &target.clauses).map(clause).sum();
        size_of_val(&*self.of_node) + size_of_val(&*self.targets) + clauses
    }
}

/// Takes a target apart.
pub(crate) fn read(program: &Program, target: ExprId) -> Target {
    let mut parts = Vec::new();
    flatten(program, target, Junction::All, NESTING_MAX, &mut parts);
    let mut target = Target::default();
    for part in parts {
        match read_clause(program, part) {
            Some(clause) => target.clauses.push(clause),
            None => target.has_others = true,
        }
    }
    target
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Junction {
    All,
    Any,
}

/// The parts of a conjunction (or disjunction), those of its parts that are conjunctions included.
fn flatten(program: &Program, id: ExprId, junction: Junction, levels_left: usize, parts: &mut Vec<ExprId>) {
    match (program.expr(id), junction) {
        (Expr::All(inner), Junction::All) | (Expr::Any(inner), Junction::Any) if levels_left > 0 => {
            inner.iter().for_each(|part| flatten(program, *part, junction, levels_left - 1, parts));
        }
        _ => parts.push(id),
    }
}

/// `None` where nothing can be said.
fn read_clause(program: &Program, id: ExprId) -> Option<Clause> {
    let mut parts = Vec::new();
    flatten(program, id, Junction::Any, NESTING_MAX, &mut parts);
    let alternatives: Vec<Alternative> =
        parts.into_iter().map(|part| read_alternative(program, part)).collect();
    if let Some(one_of) = as_one_of(&alternatives) {
        return Some(Clause::OneOf(one_of));
    }
    // An alternative without a comparison is never known to be False, so the clause neither; it may still be True.
    let is_opaque =
        alternatives.iter().all(|alternative| alternative.tests.is_empty() && alternative.has_others);
    (!is_opaque || alternatives.is_empty()).then(|| Clause::Alternatives(alternatives.into()))
}

fn read_alternative(program: &Program, id: ExprId) -> Alternative {
    let mut parts = Vec::new();
    flatten(program, id, Junction::All, NESTING_MAX, &mut parts);
    let tests: Vec<OneOf> = parts.iter().filter_map(|part| read_test(program, *part)).collect();
    Alternative { has_others: tests.len() < parts.len(), tests: tests.into() }
}

fn read_test(program: &Program, id: ExprId) -> Option<OneOf> {
    if let Expr::IsOneOf(slot, atoms) = program.expr(id) {
        return Some(OneOf { slot: *slot, atoms: atoms.clone(), is_error_if_absent: false });
    }
    let Expr::Match(Match { atom: Some(atom), bag, .. }) = program.expr(id) else { return None };
    let Expr::Attribute { slot, must_be_present } = program.expr(*bag) else { return None };
    Some(OneOf { slot: *slot, atoms: Box::new([*atom]), is_error_if_absent: *must_be_present })
}

/// Alternatives that are one test each of the same slot, as one test.
fn as_one_of(alternatives: &[Alternative]) -> Option<OneOf> {
    let tests = alternatives.iter().map(|alternative| match &*alternative.tests {
        [only] if !alternative.has_others => Some(only),
        _ => None,
    });
    let tests: Vec<&OneOf> = tests.collect::<Option<_>>()?;
    let slot = tests.first()?.slot;
    if tests.iter().any(|test| test.slot != slot) {
        return None;
    }
    let mut atoms: Vec<Atom> = tests.iter().flat_map(|test| test.atoms.iter().copied()).collect();
    atoms.sort_unstable();
    atoms.dedup();
    let is_error_if_absent = tests.iter().any(|test| test.is_error_if_absent);
    Some(OneOf { slot, atoms: atoms.into(), is_error_if_absent })
}

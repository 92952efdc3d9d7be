//! Targets as comparisons of numbers: what can be said about a target without evaluating it.
//!
//! A target is a conjunction of clauses, a clause a disjunction of alternatives, an alternative a conjunction of
//! tests (XACML 3.0, 7.7). A test is "slot holds atom"; one that is anything else, or whose answer would be an
//! error, or whose slot a source has yet to be asked for, is unknown. Truth with unknowns is Kleene's, as in the
//! evaluator: False wins in a conjunction, True in a disjunction, and what stays unknown is left to the evaluator,
//! which finds the error to report.

use std::sync::Arc;

use durward_ir::evaluate::TargetMatch;
use durward_ir::function::Lazy;
use durward_ir::program::{Atom, Expr, ExprId, Match, Node, NodeId, Program, RangeTest, SlotId};
use durward_ir::question::{Number, Question};

use crate::BuildMap;

/// How deep conjunctions may be nested in conjunctions, and disjunctions in disjunctions, to be looked into.
/// Lowering makes two levels; what is deeper counts as unknown.
const NESTING_MAX: usize = 8;

/// "The slot holds one of these values."
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ValueIn {
    pub(crate) slot: SlotId,
    /// Sorted.
    pub(crate) atoms: Arc<[Atom]>,
    /// Whether an absent value is an error rather than False.
    pub(crate) is_error_if_absent: bool,
}

/// One part of a target's conjunction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TargetClause {
    /// Compares a single slot.
    OneOf(ValueIn),
    /// Any of these conjunctions.
    Alternatives(Box<[TestConjunction]>),
}

/// A conjunction of tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TestConjunction {
    /// Those that are comparisons.
    pub(crate) tests: Box<[ValueIn]>,
    /// Whether there are tests that are not comparisons.
    pub(crate) has_others: bool,
}

/// A target in parts: its clauses among those of all targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetParts<'t> {
    pub(crate) all: &'t [TargetClause],
    /// The places of its own.
    pub(crate) numbers: &'t [u32],
    /// Whether there are clauses nothing is known about.
    pub(crate) has_others: bool,
}

impl<'t> TargetParts<'t> {
    /// What is known of its conjunction.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "numbers of clauses are only made by `Reading::clause`")]
    pub(crate) fn clauses(self) -> impl ExactSizeIterator<Item = &'t TargetClause> {
        self.numbers.iter().map(move |number| &self.all[*number as usize])
    }

    /// The clauses, if that is all there is and each looks at one slot.
    pub(crate) fn as_one_ofs(self) -> Option<impl Iterator<Item = &'t ValueIn>> {
        let is_plain =
            !self.has_others && self.clauses().all(|clause| matches!(clause, TargetClause::OneOf(_)));
        is_plain.then(|| {
            self.clauses().filter_map(|clause| match clause {
                TargetClause::OneOf(one_of) => Some(one_of),
                TargetClause::Alternatives(_) => None,
            })
        })
    }

    /// Whether this is nothing but comparisons that are False where there is no value.
    pub(crate) fn never_fails(self) -> bool {
        !self.has_others && self.clauses().all(TargetClause::never_fails)
    }

    fn known(self, question: &Question<'_>) -> TargetMatch {
        let mut known = if self.has_others { TargetMatch::Unsure } else { TargetMatch::Match };
        for clause in self.clauses() {
            match clause.known(question) {
                TargetMatch::Match => {}
                TargetMatch::NoMatch => return TargetMatch::NoMatch,
                TargetMatch::Unsure => known = TargetMatch::Unsure,
            }
        }
        known
    }
}

impl TargetClause {
    fn never_fails(&self) -> bool {
        match self {
            TargetClause::OneOf(test) => !test.is_error_if_absent,
            TargetClause::Alternatives(alternatives) => alternatives.iter().all(|alternative| {
                !alternative.has_others && alternative.tests.iter().all(|test| !test.is_error_if_absent)
            }),
        }
    }

    #[inline]
    fn known(&self, question: &Question<'_>) -> TargetMatch {
        match self {
            TargetClause::OneOf(one_of) => one_of.known(question),
            TargetClause::Alternatives(alternatives) => {
                let mut known = TargetMatch::NoMatch;
                for alternative in alternatives {
                    match alternative.known(question) {
                        TargetMatch::Match => return TargetMatch::Match,
                        TargetMatch::NoMatch => {}
                        TargetMatch::Unsure => known = TargetMatch::Unsure,
                    }
                }
                known
            }
        }
    }
}

impl TestConjunction {
    fn known(&self, question: &Question<'_>) -> TargetMatch {
        let mut known = if self.has_others { TargetMatch::Unsure } else { TargetMatch::Match };
        for test in &self.tests {
            match test.known(question) {
                TargetMatch::Match => {}
                TargetMatch::NoMatch => return TargetMatch::NoMatch,
                TargetMatch::Unsure => known = TargetMatch::Unsure,
            }
        }
        known
    }
}

impl ValueIn {
    #[inline]
    fn known(&self, question: &Question<'_>) -> TargetMatch {
        let holds = match question.peek(self.slot) {
            Number::ABSENT if self.is_error_if_absent => return TargetMatch::Unsure,
            Number::ABSENT | Number::OTHER | Number::OTHER_TEXT => false,
            Number::UNASKED => return TargetMatch::Unsure,
            Number::MANY => self.atoms.iter().any(|atom| question.holds(self.slot, *atom)),
            number => number.atom().is_some_and(|atom| self.names(atom)),
        };
        if holds { TargetMatch::Match } else { TargetMatch::NoMatch }
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

/// The targets of a program, by element. Policies that differ in one comparison share the others.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    /// For each element one more than the place of its target in `targets`; 0 where nothing can be said.
    of_node: Box<[u32]>,
    /// INVARIANT: entries of `of_node` are at most its length.
    targets: Box<[ClauseRange]>,
    /// The places of the targets' clauses, target by target.
    numbers: Box<[u32]>,
    clauses: Box<[TargetClause]>,
}

/// The range of a target's clauses.
#[derive(Clone, Copy, Debug)]
struct ClauseRange {
    /// The first of its numbers.
    first: u32,
    /// Twice how many there are, plus one if there are clauses nothing is known about.
    count: u32,
}

impl Targets {
    pub(crate) fn build(program: &Program) -> Targets {
        Targets::of(program, program.nodes().map(|(_, node)| node.target()))
    }

    /// Those of [`Program::later_nodes`] only; the first of these has the number 0.
    pub(crate) fn of_later(program: &Program) -> Targets {
        Targets::of(program, program.later_nodes().map(|(_, node)| node.target()))
    }

    /// The conditions of rules, taken for targets; nothing where no policy compares by order or with prefixes. What else
    /// can be told apart is in targets.
    pub(crate) fn of_conditions(program: &Program) -> Targets {
        if !program.has_ranges() {
            return Targets::default();
        }
        let condition = |node: &Node| match node {
            Node::Rule(rule) => rule.condition,
            Node::Set(_) => None,
        };
        Targets::of(program, program.nodes().map(|(_, node)| condition(node)))
    }

    fn of(program: &Program, expressions: impl Iterator<Item = Option<ExprId>>) -> Targets {
        let mut reading = TargetReader::of(program);
        let of_node = expressions.map(|target| target.map_or(0, |target| reading.target(target)));
        let of_node = of_node.collect();
        reading.finish(of_node)
    }

    /// The target of an element, if it has one about which anything can be said.
    #[inline]
    pub(crate) fn get(&self, id: NodeId) -> Option<TargetParts<'_>> {
        let place = *self.of_node.get(id.0 as usize)? as usize;
        let held = self.targets.get(place.wrapping_sub(1))?;
        let (first, count) = (held.first as usize, (held.count >> 1) as usize);
        let numbers = self.numbers.get(first..first + count)?;
        Some(TargetParts { all: &self.clauses, numbers, has_others: held.count & 1 == 1 })
    }

    #[inline]
    pub(crate) fn known(&self, id: NodeId, question: &Question<'_>) -> TargetMatch {
        self.get(id).map_or(TargetMatch::Unsure, |target| target.known(question))
    }

    pub(crate) fn bytes(&self) -> usize {
        let one_of = |one_of: &ValueIn| size_of_val(&*one_of.atoms) + size_of::<ValueIn>();
        let clause = |clause: &TargetClause| match clause {
            TargetClause::OneOf(test) => size_of_val(&*test.atoms),
            TargetClause::Alternatives(alternatives) => {
                let tests = alternatives.iter().flat_map(|alternative| &alternative.tests);
                size_of_val(&**alternatives) + tests.map(one_of).sum::<usize>()
            }
        };
        size_of_val(&*self.of_node)
            + size_of_val(&*self.targets)
            + size_of_val(&*self.numbers)
            + size_of_val(&*self.clauses)
            + self.clauses.iter().map(clause).sum::<usize>()
    }
}

/// Takes targets apart, each of their parts once.
struct TargetReader<'p> {
    program: &'p Program,
    places: BuildMap<ExprId, u32>,
    targets: Vec<ClauseRange>,
    numbers: Vec<u32>,
    /// `None` where nothing can be said.
    known: BuildMap<ExprId, Option<u32>>,
    /// Those that are two others at once.
    both: BuildMap<(u32, u32), Option<u32>>,
    clauses: Vec<TargetClause>,
    parts: Vec<ExprId>,
}

impl<'p> TargetReader<'p> {
    fn of(program: &'p Program) -> TargetReader<'p> {
        TargetReader {
            program,
            places: BuildMap::default(),
            targets: Vec::new(),
            numbers: Vec::new(),
            known: BuildMap::default(),
            both: BuildMap::default(),
            clauses: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// One more than the place of a target; 0 where nothing can be said.
    fn target(&mut self, target: ExprId) -> u32 {
        if let Some(place) = self.places.get(&target) {
            return *place;
        }
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        flatten(self.program, target, LogicalOperator::All, NESTING_MAX, &mut parts);
        let first = self.numbers.len();
        let mut has_others = false;
        for part in &parts {
            match self.clause(*part) {
                Some(number) => self.push(first, number),
                None => has_others = true,
            }
        }
        self.parts = parts;
        let count = self.numbers.len() - first;
        let place = if count == 0 && has_others {
            0
        } else {
            self.targets
                .push(ClauseRange { first: first as u32, count: 2 * count as u32 + u32::from(has_others) });
            self.targets.len() as u32
        };
        self.places.insert(target, place);
        place
    }

    /// Adds a clause to a target that begins there; to one about the same value if there is one.
    fn push(&mut self, first: usize, number: u32) {
        for at in first..self.numbers.len() {
            let Some(other) = self.numbers.get(at).copied() else { break };
            if let Some(both) = self.both(other, number) {
                self.numbers.iter_mut().skip(at).take(1).for_each(|number| *number = both);
                return;
            }
        }
        self.numbers.push(number);
    }

    /// Two comparisons of the same value as one.
    fn both(&mut self, one: u32, other: u32) -> Option<u32> {
        let (Some(TargetClause::OneOf(first)), Some(TargetClause::OneOf(second))) =
            (self.clauses.get(one as usize), self.clauses.get(other as usize))
        else {
            return None;
        };
        let both = both(self.program, first, second)?;
        *self.both.entry((one, other)).or_insert_with(|| {
            self.clauses.push(TargetClause::OneOf(both));
            Some(self.clauses.len() as u32 - 1)
        })
    }

    fn clause(&mut self, part: ExprId) -> Option<u32> {
        if let Some(known) = self.known.get(&part) {
            return *known;
        }
        let number = read_clause(self.program, part).map(|clause| {
            self.clauses.push(clause);
            self.clauses.len() as u32 - 1
        });
        self.known.insert(part, number);
        number
    }

    fn finish(self, of_node: Box<[u32]>) -> Targets {
        Targets {
            of_node,
            targets: self.targets.into(),
            numbers: self.numbers.into(),
            clauses: self.clauses.into(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LogicalOperator {
    All,
    Any,
}

/// The parts of a conjunction (or disjunction), those of its parts that are conjunctions included.
fn flatten(
    program: &Program,
    id: ExprId,
    junction: LogicalOperator,
    levels_left: usize,
    parts: &mut Vec<ExprId>,
) {
    match (program.expr(id), junction) {
        (Expr::All(inner) | Expr::Lazy(Lazy::And, inner), LogicalOperator::All)
        | (Expr::Any(inner) | Expr::Lazy(Lazy::Or, inner), LogicalOperator::Any)
            if levels_left > 0 =>
        {
            inner.iter().for_each(|part| flatten(program, *part, junction, levels_left - 1, parts));
        }
        _ => parts.push(id),
    }
}

/// `None` where nothing can be said.
fn read_clause(program: &Program, id: ExprId) -> Option<TargetClause> {
    let mut parts = Vec::new();
    flatten(program, id, LogicalOperator::Any, NESTING_MAX, &mut parts);
    let alternatives: Vec<TestConjunction> =
        parts.into_iter().map(|part| read_alternative(program, part)).collect();
    if let Some(one_of) = as_one_of(&alternatives) {
        return Some(TargetClause::OneOf(one_of));
    }
    // An alternative without a comparison is never known to be False, so the clause neither; it may still be True.
    let is_opaque =
        alternatives.iter().all(|alternative| alternative.tests.is_empty() && alternative.has_others);
    (!is_opaque || alternatives.is_empty()).then(|| TargetClause::Alternatives(alternatives.into()))
}

fn read_alternative(program: &Program, id: ExprId) -> TestConjunction {
    let mut parts = Vec::new();
    flatten(program, id, LogicalOperator::All, NESTING_MAX, &mut parts);
    let mut tests: Vec<ValueIn> = Vec::with_capacity(parts.len());
    let mut has_others = false;
    for part in &parts {
        let Some((test, is_all)) = read_test(program, *part) else {
            has_others = true;
            continue;
        };
        has_others |= !is_all;
        match tests.iter_mut().find_map(|other| both(program, other, &test).map(|both| (other, both))) {
            Some((other, both)) => *other = both,
            None => tests.push(test),
        }
    }
    TestConjunction { tests: tests.into(), has_others }
}

/// What an expression compares a slot with, and whether that is all it says.
fn read_test(program: &Program, id: ExprId) -> Option<(ValueIn, bool)> {
    if let Expr::IsOneOf(slot, atoms) = program.expr(id) {
        let test = ValueIn { slot: *slot, atoms: (&**atoms).into(), is_error_if_absent: false };
        return Some((test, true));
    }
    if let Some(range) = program.range(id) {
        let RangeTest { slot, is_exact, is_error_if_absent, .. } = *range;
        return Some((ValueIn { slot, atoms: range.atoms(&program.slots), is_error_if_absent }, is_exact));
    }
    let Expr::Match(matching) = program.expr(id) else { return None };
    let Match { atom: Some(atom), bag, .. } = &**matching else { return None };
    let Expr::Attribute { slot, must_be_present } = program.expr(*bag) else { return None };
    let test = ValueIn { slot: *slot, atoms: [*atom].into(), is_error_if_absent: *must_be_present };
    Some((test, true))
}

/// Two comparisons as one, where both are about the same value: that is so of pieces, of which an attribute has one.
fn both(program: &Program, one: &ValueIn, other: &ValueIn) -> Option<ValueIn> {
    if one.slot != other.slot
        || one.is_error_if_absent != other.is_error_if_absent
        || !program.slots.is_single(one.slot)
    {
        return None;
    }
    let atoms: Arc<[Atom]> = one.atoms.iter().copied().filter(|atom| other.names(*atom)).collect();
    (!atoms.is_empty()).then(|| ValueIn { atoms, ..one.clone() })
}

/// Alternatives that are one test each of the same slot, as one test.
fn as_one_of(alternatives: &[TestConjunction]) -> Option<ValueIn> {
    let tests = alternatives.iter().map(|alternative| match &*alternative.tests {
        [only] if !alternative.has_others => Some(only),
        _ => None,
    });
    let tests: Vec<&ValueIn> = tests.collect::<Option<_>>()?;
    let slot = tests.first()?.slot;
    if tests.iter().any(|test| test.slot != slot) {
        return None;
    }
    let mut atoms: Vec<Atom> = tests.iter().flat_map(|test| test.atoms.iter().copied()).collect();
    atoms.sort_unstable();
    atoms.dedup();
    let is_error_if_absent = tests.iter().any(|test| test.is_error_if_absent);
    Some(ValueIn { slot, atoms: atoms.into(), is_error_if_absent })
}

//! Formulas over tests of columns, each held once.
//!
//! A test is true or false of every row; NULL makes it false. A formula is a constant, a test or its negation, or all or any
//! of other formulas. Each stands beside its negation, so that negating costs nothing. Formulas grow as graphs; as trees,
//! which filters are, they may be much larger, so each knows its weight as a tree and its depth.

use std::collections::HashMap;

use smol_str::SmolStr;

use crate::budget::{Budget, text_steps};
use crate::columns::{ColumnId, Scalar};
use crate::filter::TextTest;

/// The number of a formula.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct F(u32);

impl F {
    /// False of every row.
    pub(crate) const FALSE: F = F(0);
    /// True of every row.
    pub(crate) const TRUE: F = F(1);

    /// The constant.
    pub(crate) fn constant(truth: bool) -> F {
        if truth { F::TRUE } else { F::FALSE }
    }

    /// The opposite: the two stand beside each other.
    pub(crate) fn negated(self) -> F {
        F(self.0 ^ 1)
    }

    fn at(self) -> usize {
        self.0 as usize
    }
}

/// What is asked of the columns of one row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Test {
    /// It is not NULL.
    Present(ColumnId),
    /// It holds this.
    Equal(ColumnId, Scalar),
    /// It holds less.
    Less(ColumnId, Scalar),
    /// It holds less, or this.
    LessOrEqual(ColumnId, Scalar),
    /// Its text begins with this, ends with it, or has it somewhere.
    Text(ColumnId, TextTest, SmolStr),
    /// Two columns hold the same.
    Same(ColumnId, ColumnId),
    /// The first holds less than the second.
    Smaller(ColumnId, ColumnId),
    /// One of its values is this.
    Holds(ColumnId, Scalar),
    /// It has a value.
    Filled(ColumnId),
}

impl Test {
    /// The only column that it asks, if it is one that holds one value.
    fn column(&self) -> Option<ColumnId> {
        match self {
            Test::Present(id)
            | Test::Equal(id, _)
            | Test::Less(id, _)
            | Test::LessOrEqual(id, _)
            | Test::Text(id, ..)
            | Test::Holds(id, _)
            | Test::Filled(id) => Some(*id),
            Test::Same(..) | Test::Smaller(..) => None,
        }
    }

    /// How many steps reading what it compares with takes.
    fn steps(&self) -> u64 {
        match self {
            Test::Equal(_, value)
            | Test::Less(_, value)
            | Test::LessOrEqual(_, value)
            | Test::Holds(_, value) => value.as_text().map_or(0, text_steps),
            Test::Text(_, _, part) => text_steps(part),
            Test::Present(_) | Test::Same(..) | Test::Smaller(..) | Test::Filled(_) => 0,
        }
    }

    /// Whether it is true where the column holds this one value.
    fn of_value(&self, value: &Scalar) -> Option<bool> {
        match self {
            Test::Present(_) => Some(true),
            Test::Equal(_, other) => Some(value.order(other).is_some_and(std::cmp::Ordering::is_eq)),
            Test::Less(_, other) => Some(value.order(other).is_some_and(std::cmp::Ordering::is_lt)),
            Test::LessOrEqual(_, other) => Some(value.order(other).is_some_and(std::cmp::Ordering::is_le)),
            Test::Text(_, test, part) => Some(value.as_text().is_some_and(|text| test.holds(text, part))),
            Test::Same(..) | Test::Smaller(..) | Test::Holds(..) | Test::Filled(_) => None,
        }
    }
}

/// What a formula is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    Constant(bool),
    /// The test with this number, or its negation.
    Literal(u32, bool),
    All(Box<[F]>),
    Any(Box<[F]>),
}

/// Beyond so many pairs of parts, what follows from one another is no longer looked for.
const PAIRS_MAX: usize = 20_000;

/// How often what was made simpler is looked at once more.
const ROUNDS_MAX: usize = 4;

/// So many pairs of literals are compared in one step.
const PAIRS_PER_STEP: usize = 4;

/// What a formula costs beside its parts, which are counted one by one.
const FORMULA_STEPS: u64 = 8;

/// What looking for a test or a formula costs beside its parts.
const LOOK_STEPS: u64 = 2;

/// All formulas of one plan. Once the budget is spent, every new one is false: nobody may look at it.
#[derive(Debug)]
pub(crate) struct Formulas {
    pub(crate) budget: Budget,
    nodes: Vec<Node>,
    /// By formula: as a tree.
    weights: Vec<u64>,
    depths: Vec<u32>,
    known: HashMap<Node, F>,
    tests: Vec<Test>,
    test_numbers: HashMap<Test, u32>,
}

impl Formulas {
    pub(crate) fn new() -> Formulas {
        let mut formulas = Formulas {
            budget: Budget::new(),
            nodes: Vec::new(),
            weights: Vec::new(),
            depths: Vec::new(),
            known: HashMap::new(),
            tests: Vec::new(),
            test_numbers: HashMap::new(),
        };
        formulas.pair(Node::Constant(false), Node::Constant(true), 1, 1);
        formulas
    }

    fn pair(&mut self, node: Node, negation: Node, weight: u64, depth: u32) -> F {
        let f = F(self.nodes.len() as u32);
        self.known.insert(node.clone(), f);
        self.known.insert(negation.clone(), f.negated());
        self.nodes.extend([node, negation]);
        self.weights.extend([weight; 2]);
        self.depths.extend([depth; 2]);
        f
    }

    /// What a formula is.
    pub(crate) fn node(&self, f: F) -> &Node {
        self.nodes.get(f.at()).unwrap_or(&Node::Constant(false))
    }

    /// The test with this number.
    pub(crate) fn test_of(&self, number: u32) -> Option<&Test> {
        self.tests.get(number as usize)
    }

    /// How many parts the formula has as a tree.
    pub(crate) fn weight(&self, f: F) -> u64 {
        self.weights.get(f.at()).copied().unwrap_or(u64::MAX)
    }

    /// How deep it is.
    pub(crate) fn depth(&self, f: F) -> u32 {
        self.depths.get(f.at()).copied().unwrap_or(u32::MAX)
    }

    /// That a test holds.
    pub(crate) fn test(&mut self, test: Test) -> F {
        if !self.budget.spend(LOOK_STEPS + test.steps()) {
            return F::FALSE;
        }
        let number = match self.test_numbers.get(&test) {
            Some(number) => *number,
            None => {
                let number = self.tests.len() as u32;
                self.tests.push(test.clone());
                self.test_numbers.insert(test, number);
                number
            }
        };
        match self.known.get(&Node::Literal(number, true)) {
            Some(f) => *f,
            None => {
                self.budget.spend(FORMULA_STEPS);
                self.pair(Node::Literal(number, true), Node::Literal(number, false), 1, 1)
            }
        }
    }

    /// That all of these hold.
    pub(crate) fn all(&mut self, parts: impl IntoIterator<Item = F>) -> F {
        self.junction(parts.into_iter().collect(), true)
    }

    /// That any of these holds.
    pub(crate) fn any(&mut self, parts: impl IntoIterator<Item = F>) -> F {
        // Any of some is not all of their negations.
        self.junction(parts.into_iter().map(F::negated).collect(), true).negated()
    }

    fn junction(&mut self, mut parts: Vec<F>, is_outer: bool) -> F {
        parts.retain(|part| *part != F::TRUE);
        if let [only] = parts.as_slice() {
            return if self.budget.spend(LOOK_STEPS) { *only } else { F::FALSE };
        }
        let settled = self.longest(&parts);
        let mut parts = match self.flat(parts) {
            Some(parts) => parts,
            None => return F::FALSE,
        };
        for _ in 0..ROUNDS_MAX {
            match self.reduced(&parts, &settled, is_outer) {
                Reduced::Never => return F::FALSE,
                Reduced::Same => break,
                Reduced::Parts(reduced) => match self.flat(reduced) {
                    Some(reduced) => parts = reduced,
                    None => return F::FALSE,
                },
            }
        }
        match parts.as_slice() {
            [] => F::TRUE,
            [only] => *only,
            _ => self.all_of(parts),
        }
    }

    fn all_of(&mut self, parts: Vec<F>) -> F {
        let node = Node::All(parts.into());
        if let Some(known) = self.known.get(&node) {
            return *known;
        }
        let Node::All(parts) = &node else { return F::FALSE };
        if !self.budget.spend(FORMULA_STEPS + parts.len() as u64) {
            return F::FALSE;
        }
        let negation = Node::Any(parts.iter().map(|part| part.negated()).collect());
        let weight = parts.iter().fold(1_u64, |sum, part| sum.saturating_add(self.weight(*part)));
        let depth = parts.iter().map(|part| self.depth(*part)).max().unwrap_or_default() + 1;
        self.pair(node, negation, weight, depth)
    }

    /// The parts of a conjunction, sorted, each once, none of them a conjunction; `None` where it never holds.
    fn flat(&self, parts: Vec<F>) -> Option<Vec<F>> {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match self.node(part) {
                Node::Constant(true) => {}
                Node::Constant(false) => return None,
                Node::All(inner) if self.budget.spend_each(inner.len()) => flat.extend_from_slice(inner),
                Node::All(_) => return None,
                Node::Literal(..) | Node::Any(_) => flat.push(part),
            }
        }
        if !self.budget.spend(LOOK_STEPS + flat.len() as u64) {
            return None;
        }
        flat.sort_unstable();
        flat.dedup();
        // A formula and its negation stand beside each other.
        let contradicts = flat.windows(2).any(|pair| matches!(pair, [a, b] if *b == a.negated()));
        (!contradicts).then_some(flat)
    }

    /// The parts of the longest conjunction among these, which were compared with each other when it was made.
    fn longest(&self, parts: &[F]) -> Box<[F]> {
        let inner = parts.iter().filter_map(|part| match self.node(*part) {
            Node::All(inner) => Some(inner),
            Node::Constant(_) | Node::Literal(..) | Node::Any(_) => None,
        });
        inner.max_by_key(|inner| inner.len()).cloned().unwrap_or_default()
    }

    /// The parts of a conjunction without those that follow from others. Those of `settled` do not follow from each other.
    fn reduced(&mut self, parts: &[F], settled: &[F], is_outer: bool) -> Reduced {
        let literals: Vec<F> =
            parts.iter().copied().filter(|part| matches!(self.node(*part), Node::Literal(..))).collect();
        let is_new = |part: &F| settled.binary_search(part).is_err();
        let new: Vec<F> = literals.iter().copied().filter(is_new).collect();
        let pairs = new.len().saturating_mul(parts.len());
        if pairs > PAIRS_MAX {
            return Reduced::Same;
        }
        let looks_under = is_outer && literals.len().saturating_mul(parts.len()) <= PAIRS_MAX;
        if !self.budget.spend_each(parts.len() + pairs / PAIRS_PER_STEP) {
            return Reduced::Never;
        }
        let mut kept = Vec::with_capacity(parts.len());
        let mut is_changed = false;
        for part in parts {
            match self.node(*part) {
                Node::Literal(..) => {
                    let others = if is_new(part) { &literals } else { &new };
                    match self.beside(*part, others) {
                        Beside::Impossible => return Reduced::Never,
                        Beside::Implied => is_changed = true,
                        Beside::Needed => kept.push(*part),
                    }
                }
                Node::Any(inner) if looks_under && inner.len() * parts.len() <= PAIRS_MAX => {
                    let inner = inner.clone();
                    match self.under(&inner, parts, &literals) {
                        Some(rest) if rest.len() == inner.len() => kept.push(*part),
                        Some(rest) => {
                            is_changed = true;
                            let negations = rest.into_iter().map(F::negated).collect();
                            let part = self.junction(negations, false).negated();
                            if part == F::FALSE {
                                return Reduced::Never;
                            }
                            kept.push(part);
                        }
                        None => is_changed = true,
                    }
                }
                Node::Any(_) | Node::All(_) | Node::Constant(_) => kept.push(*part),
            }
        }
        if is_changed { Reduced::Parts(kept) } else { Reduced::Same }
    }

    /// What a literal says where these others hold.
    fn beside(&self, part: F, others: &[F]) -> Beside {
        let mut others = others.iter().copied().filter(|other| *other != part);
        if others.clone().any(|other| self.follows(other, part.negated())) {
            return Beside::Impossible;
        }
        // Of two that follow from each other the first stays.
        let is_implied =
            others.any(|other| self.follows(other, part) && (other < part || !self.follows(part, other)));
        if is_implied { Beside::Implied } else { Beside::Needed }
    }

    /// The alternatives that are left where all of `parts` hold; `None` where one of them then does.
    fn under(&self, alternatives: &[F], parts: &[F], literals: &[F]) -> Option<Vec<F>> {
        let holds = |f: F| {
            !self.budget.spend_each(1 + literals.len() / PAIRS_PER_STEP)
                || parts.binary_search(&f).is_ok()
                || literals.iter().any(|literal| self.follows(*literal, f))
        };
        let mut rest = Vec::with_capacity(alternatives.len());
        for alternative in alternatives {
            if holds(*alternative) {
                return None;
            }
            // All of some, one of which cannot hold.
            let is_broken = match self.node(*alternative) {
                Node::All(inner) => inner.iter().any(|inner| holds(inner.negated())),
                Node::Literal(..) | Node::Any(_) | Node::Constant(_) => false,
            };
            let fails = is_broken || holds(alternative.negated());
            if !fails {
                rest.push(*alternative);
            }
        }
        Some(rest)
    }

    /// Whether the second literal certainly holds where the first does.
    fn follows(&self, first: F, second: F) -> bool {
        if first == second {
            return true;
        }
        let (Node::Literal(a, is_a), Node::Literal(b, is_b)) = (self.node(first), self.node(second)) else {
            return false;
        };
        let (Some(a), Some(b)) = (self.test_of(*a), self.test_of(*b)) else { return false };
        match (a, *is_a) {
            // NULL: every other test is false.
            (Test::Present(id), false) => !is_b && asks(b, *id),
            (Test::Present(_), true) => false,
            (Test::Equal(id, value), true) if b.column() == Some(*id) => b.of_value(value) == Some(*is_b),
            (Test::Filled(id), false) => !is_b && matches!(b, Test::Holds(other, _) if other == id),
            (Test::Holds(id, _), true) if matches!(b, Test::Filled(other) if other == id) => *is_b,
            (_, true) => *is_b && matches!(b, Test::Present(id) if asks(a, *id)),
            (_, false) => false,
        }
    }
}

enum Beside {
    Impossible,
    Implied,
    Needed,
}

enum Reduced {
    Never,
    Same,
    Parts(Vec<F>),
}

/// Whether a test looks at this column.
fn asks(test: &Test, id: ColumnId) -> bool {
    match test {
        Test::Same(a, b) | Test::Smaller(a, b) => *a == id || *b == id,
        Test::Present(_)
        | Test::Equal(..)
        | Test::Less(..)
        | Test::LessOrEqual(..)
        | Test::Text(..)
        | Test::Holds(..)
        | Test::Filled(_) => test.column() == Some(id),
    }
}

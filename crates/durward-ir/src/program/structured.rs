//! Expressions over values of JSON, as SAPL has them: operators, steps, templates, filters, calls.
//!
//! Parts of the subscription are slots ([`super::Expr::Part`]), conjunctions and disjunctions those of XACML.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smol_str::SmolStr;

use super::{Atom, ExprId, SlotId};
use crate::fault::Evaluated;
use crate::library::LibraryFunction;
use crate::question::FinderOptions;
use crate::structure::{PathStep, Slice};
use crate::value::{Key, Value};

/// An expression over values of JSON.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Structured {
    /// The value a template, condition or filter is at; undefined outside of those.
    Here,
    /// Its index or key; undefined outside.
    Location,
    /// An array of the elements that are not undefined.
    Array(Box<[ExprId]>),
    /// An object of the entries that are not undefined; of several equal keys the last counts.
    Object(Box<[(SmolStr, ExprId)]>),
    /// An operator before its operand.
    Unary(UnaryOperator, ExprId),
    /// An operator between its operands.
    Binary(BinaryOperator, ExprId, ExprId),
    /// Whether a regular expression known when the policy was read matches the whole text.
    Matches(Compiled, ExprId),
    /// Operators that chain from left to right: the first operand, then operators with theirs.
    Chain(ExprId, Box<[(BinaryOperator, ExprId)]>),
    /// Steps from a value to a part of it; at least one.
    Steps(ExprId, Box<[Step]>),
    /// The value of a constant object under a key that is a part of the subscription: `[(expression)]`.
    Lookup(Box<Lookup>),
    /// A template applied to every element of an array or object, or once to anything else.
    Template {
        /// What it is applied to.
        base: ExprId,
        /// The template.
        template: ExprId,
    },
    /// A function of a library.
    Call(Library, Box<[ExprId]>),
    /// A filter applied to every element of an array or object, or once to anything else. What becomes undefined is
    /// left out.
    Each {
        /// What it is applied to.
        base: ExprId,
        /// What stands for the element then.
        filter: ExprId,
    },
    /// A filter applied to what a path reaches; the rest stays as it is.
    Edit {
        /// What it is applied to.
        base: ExprId,
        /// The path.
        path: EditPath,
        /// What stands for what the path reaches then; undefined leaves it out.
        filter: ExprId,
    },
    /// What an attribute finder says.
    Finder(Box<Finder>),
    /// What stands in for a function of this name in a test of policies: whoever asks the question answers it, too.
    StandIn(SmolStr, Box<[ExprId]>),
}

/// An operator before its operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOperator {
    /// `!`
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
}

/// An operator between two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOperator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `in`
    In,
    /// `any in`
    AnyIn,
    /// `all in`
    AllIn,
    /// `has`
    Has,
    /// `has any`
    HasAny,
    /// `has all`
    HasAll,
    /// `^`
    ExclusiveOr,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

impl BinaryOperator {
    /// Whether it gives a number or a text, rather than true or false.
    pub fn is_arithmetic(self) -> bool {
        matches!(
            self,
            BinaryOperator::Add
                | BinaryOperator::Subtract
                | BinaryOperator::Multiply
                | BinaryOperator::Divide
                | BinaryOperator::Remainder
        )
    }
}

/// A step from a value to a part of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// `.key`
    Key(Key),
    /// `.*`
    Wildcard,
    /// `[0]`, `[-1]`
    Index(i64),
    /// `[from:to:step]`
    Slice(Slice),
    /// `[(expression)]`: a key or an index.
    Computed(ExprId),
    /// `[?(condition)]`
    Condition(ExprId),
    /// `[0, 2]`
    Indices(Box<[i64]>),
    /// `["a", "b"]`
    Keys(Box<[Key]>),
    /// `..key`
    DeepKey(Key),
    /// `..*`
    DeepWildcard,
    /// `..[0]`
    DeepIndex(i64),
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// Where a filter is applied.
#[derive(Clone, Debug)]
pub struct EditPath {
    steps: Box<[Step]>,
    /// The same, as the filter takes it.
    walk: Box<[PathStep<ExprId>]>,
}

impl EditPath {
    /// The path of these steps.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> EditPath {
        let steps: Box<[Step]> = steps.into_iter().collect();
        EditPath { walk: steps.iter().map(walked).collect(), steps }
    }

    /// As a filter takes it.
    pub fn walk(&self) -> &[PathStep<ExprId>] {
        &self.walk
    }
}

impl PartialEq for EditPath {
    fn eq(&self, other: &EditPath) -> bool {
        self.steps == other.steps
    }
}

impl Eq for EditPath {}

impl Hash for EditPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.steps.hash(state);
    }
}

fn walked(step: &Step) -> PathStep<ExprId> {
    match step {
        Step::Key(key) => PathStep::Key(key.clone()),
        Step::Wildcard => PathStep::Wildcard,
        Step::Index(index) => PathStep::Index(*index),
        Step::Slice(slice) => PathStep::Slice(*slice),
        Step::Computed(expression) => PathStep::Expression(*expression),
        Step::Condition(condition) => PathStep::Condition(*condition),
        Step::Indices(indices) => PathStep::Indices(indices.to_vec()),
        Step::Keys(keys) => PathStep::Keys(keys.to_vec()),
        Step::DeepKey(key) => PathStep::DescendantsOf(key.clone()),
        Step::DeepWildcard => PathStep::Descendants,
        Step::DeepIndex(index) => PathStep::DescendantsAt(*index),
    }
}

/// Tells of a text whether it is of a certain form as a whole.
type Matcher = dyn Fn(&str) -> Evaluated<bool> + Send + Sync;

/// A regular expression known when the policy was read, of whatever dialect.
#[derive(Clone)]
pub struct Compiled {
    text: SmolStr,
    matcher: Arc<Matcher>,
}

impl Compiled {
    /// `matcher` tells whether the regular expression `text` matches a whole text.
    pub fn new(text: SmolStr, matcher: Arc<Matcher>) -> Compiled {
        Compiled { text, matcher }
    }

    /// The regular expression.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it matches the whole text.
    ///
    /// # Errors
    /// Finding out takes too long.
    pub fn is_match(&self, text: &str) -> Evaluated<bool> {
        (self.matcher)(text)
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Compiled").field(&self.text).finish()
    }
}

impl PartialEq for Compiled {
    fn eq(&self, other: &Compiled) -> bool {
        self.text == other.text
    }
}

impl Eq for Compiled {}

impl Hash for Compiled {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// A constant object with a place for every key, by the number of the atom that a part of the subscription holds.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The object.
    pub base: ExprId,
    /// The part.
    pub key: ExprId,
    /// Its slot.
    pub slot: SlotId,
    /// The atom that the first place is for.
    low: u32,
    /// What is not here is looked up in the object.
    values: Box<[Option<Value>]>,
}

impl Lookup {
    /// A place for each of these atoms; `None` where that would be mostly empty places.
    pub(super) fn new(base: ExprId, key: ExprId, slot: SlotId, atoms: &[(Atom, Value)]) -> Option<Lookup> {
        let low = atoms.iter().map(|(atom, _)| atom.0).min()?;
        let high = atoms.iter().map(|(atom, _)| atom.0).max()?;
        let span = (high - low) as usize + 1;
        if span > atoms.len() * SPREAD_MAX {
            return None;
        }
        let mut values = vec![None; span];
        for (atom, value) in atoms {
            if let Some(place) = values.get_mut((atom.0 - low) as usize) {
                *place = Some(value.clone());
            }
        }
        Some(Lookup { base, key, slot, low, values: values.into() })
    }

    /// The same, after the atoms were given other numbers.
    pub(super) fn renumber(&mut self, numbers: &[Atom]) {
        let old = (self.low..).zip(std::mem::take(&mut self.values));
        let new = old.filter_map(|(at, value)| Some((*numbers.get(at as usize)?, value?)));
        let new: Vec<(Atom, Value)> = new.collect();
        if let Some(lookup) = Lookup::new(self.base, self.key, self.slot, &new) {
            *self = lookup;
        }
    }

    /// The value for this atom, if it is one of the object's keys.
    #[inline]
    pub fn get(&self, atom: Atom) -> Option<&Value> {
        self.values.get(atom.0.wrapping_sub(self.low) as usize)?.as_ref()
    }
}

/// A table of places may be this many times longer than there are keys.
const SPREAD_MAX: usize = 4;

/// The places follow from the object and the part.
impl PartialEq for Lookup {
    fn eq(&self, other: &Lookup) -> bool {
        (self.base, self.key) == (other.base, other.key)
    }
}

impl Eq for Lookup {}

impl Hash for Lookup {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.base, self.key).hash(state);
    }
}

/// A function of a library; the same when it is the very same function.
#[derive(Clone, Copy, Debug)]
pub struct Library(pub &'static LibraryFunction);

impl PartialEq for Library {
    fn eq(&self, other: &Library) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Library {}

impl Hash for Library {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
        self.0.parameters.hash(state);
    }
}

/// A call of an attribute finder.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Finder {
    /// The finder and its attribute: `time.now`.
    pub name: SmolStr,
    /// What the attribute is about; `None` for one of the environment.
    pub entity: Option<ExprId>,
    /// The arguments, in order.
    pub arguments: Box<[ExprId]>,
    /// How it is to be asked.
    pub options: FinderOptions,
    /// Whether only its first value counts.
    pub head: bool,
}

impl Structured {
    /// Shows every expression that this one is made of: first those that see the same `@` and `#`, each with `true`,
    /// then those for which this one binds them, each with `false`.
    pub fn parts(&self, show: &mut dyn FnMut(ExprId, bool)) {
        match self {
            Structured::Here | Structured::Location => {}
            Structured::Lookup(lookup) => {
                show(lookup.base, true);
                show(lookup.key, true);
            }
            Structured::Array(elements) => elements.iter().for_each(|element| show(*element, true)),
            Structured::Object(entries) => entries.iter().for_each(|(_, value)| show(*value, true)),
            Structured::Unary(_, operand) | Structured::Matches(_, operand) => show(*operand, true),
            Structured::Binary(_, left, right) => {
                show(*left, true);
                show(*right, true);
            }
            Structured::Chain(first, rest) => {
                show(*first, true);
                rest.iter().for_each(|(_, operand)| show(*operand, true));
            }
            Structured::Steps(base, steps) => {
                show(*base, true);
                steps.iter().for_each(|step| step.parts(show));
            }
            Structured::Template { base, template } => {
                show(*base, true);
                show(*template, false);
            }
            Structured::Call(_, arguments) | Structured::StandIn(_, arguments) => {
                arguments.iter().for_each(|argument| show(*argument, true));
            }
            Structured::Each { base, filter } => {
                show(*base, true);
                show(*filter, false);
            }
            Structured::Edit { base, path, filter } => {
                show(*base, true);
                path.steps.iter().for_each(|step| step.parts(&mut |id, _| show(id, false)));
                show(*filter, false);
            }
            Structured::Finder(finder) => {
                finder.entity.iter().chain(&finder.arguments).for_each(|part| show(*part, true));
            }
        }
    }
}

impl Step {
    pub(super) fn parts(&self, show: &mut dyn FnMut(ExprId, bool)) {
        match self {
            Step::Computed(expression) => show(*expression, true),
            Step::Condition(condition) => show(*condition, false),
            Step::Key(_)
            | Step::Wildcard
            | Step::Index(_)
            | Step::Slice(_)
            | Step::Indices(_)
            | Step::Keys(_)
            | Step::DeepKey(_)
            | Step::DeepWildcard
            | Step::DeepIndex(_) => {}
        }
    }
}

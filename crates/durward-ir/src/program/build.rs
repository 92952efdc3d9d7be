//! Puts a program together: policy languages hand over elements and expressions, equal expressions become one.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use smol_str::SmolStr;

use super::fold::Folding;
use super::foregone::Foregone;
use super::ranges::Ranges;
use super::shape::Shapes;
use super::shared::Shared;
use super::table::Tables;
use super::{Atom, Dead, Expr, ExprId, Match, Node, NodeId, Program, Set, Slots, Structured, Written};
use crate::attribute::AttributeName;
use crate::combine::Effects;
use crate::function::Function;
use crate::function::pattern::{Pattern, PatternError};
use crate::value::{DataType, Operand, Value};

/// Maps used while building. Their keys come out of policies, so every process hashes differently.
pub(super) type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A program in the making.
#[derive(Debug, Default)]
pub struct Builder {
    pub(super) nodes: Vec<Node>,
    pub(super) exprs: Vec<Expr>,
    /// Digest of an expression to one with that digest. A clash only costs the sharing.
    known: Map<u64, ExprId>,
    /// Compiled regular expressions by their text.
    patterns: Map<SmolStr, Arc<Pattern>>,
    pub(super) slots: Slots,
    sources: Vec<SmolStr>,
    /// `None` where nobody will ask.
    written: Option<Vec<Written>>,
    dead: Vec<Dead>,
    /// Whether nothing is to be put into a faster form.
    pub(super) is_plain: bool,
    pub(super) folding: Folding,
}

impl Builder {
    /// An empty program.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// From now on keeps how policies were written, for explanations: some hundred bytes each.
    pub fn keep_written(&mut self) {
        self.written.get_or_insert_default();
    }

    /// From now on leaves everything as it is written: attributes are compared as values, nothing has a table, nothing is
    /// remembered. No answer depends on it: this is what the faster forms are held to. To be called first.
    pub fn stay_plain(&mut self) {
        self.is_plain = true;
    }

    /// Whether what can never have a say may be left out: nobody will ask what became of it.
    pub fn may_leave_out(&self) -> bool {
        !self.is_plain && self.written.is_none()
    }

    /// Notes what can never have a say.
    pub fn note_dead(&mut self, dead: Dead) {
        self.dead.push(dead);
    }

    /// Whether [`Builder::write`] does anything.
    pub fn keeps_written(&self) -> bool {
        self.written.is_some()
    }

    /// Notes how a document was written.
    pub fn write(&mut self, written: Written) {
        if let Some(all) = &mut self.written {
            all.push(written);
        }
    }

    /// Registers a document's name; the number goes into [`super::Place::source`].
    pub fn source(&mut self, name: &str) -> u32 {
        self.sources.push(SmolStr::new(name));
        self.sources.len() as u32 - 1
    }

    /// Adds an element. Children are added before their parents.
    pub fn node(&mut self, mut node: Node) -> NodeId {
        match &mut node {
            Node::Rule(rule) => rule.duties.shrink_to_fit(),
            Node::Set(set) => {
                set.duties.shrink_to_fit();
                set.children.shrink_to_fit();
            }
        }
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a set. Children are added before their parents.
    pub fn set(&mut self, set: Set) -> NodeId {
        self.node(Node::Set(Box::new(set)))
    }

    /// Adds an expression, or finds the equal one that is there already.
    pub fn expr(&mut self, expr: Expr) -> ExprId {
        let digest = digest(&expr);
        if let Some(known) = self.known.get(&digest)
            && self.exprs.get(known.0 as usize).is_some_and(|other| same(other, &expr))
        {
            return *known;
        }
        self.exprs.push(expr);
        let id = ExprId(self.exprs.len() as u32 - 1);
        self.known.insert(digest, id);
        id
    }

    /// The bag of an attribute.
    pub fn attribute(&mut self, name: &AttributeName, must_be_present: bool) -> ExprId {
        let slot = self.slots.slot(name);
        self.expr(Expr::Attribute { slot, must_be_present })
    }

    /// A regular expression that stands in a policy, compiled once.
    ///
    /// # Errors
    /// The text is none.
    pub fn pattern(&mut self, text: &str) -> Result<Arc<Pattern>, PatternError> {
        if let Some(known) = self.patterns.get(text) {
            return Ok(Arc::clone(known));
        }
        let compiled = Arc::new(Pattern::compile(text)?);
        self.patterns.insert(SmolStr::new(text), Arc::clone(&compiled));
        Ok(compiled)
    }

    /// A literal compared with every value of a bag. Where the function is the equality of the literal's type
    /// and the bag an attribute, the fact becomes an atom that indexes can work with.
    pub fn match_any(&mut self, function: &'static Function, literal: Value, bag: ExprId) -> ExprId {
        let is_equality = is_equality_of(function, literal.data_type());
        let atom = match self.exprs.get(bag.0 as usize) {
            Some(Expr::Attribute { slot, .. }) if is_equality && !self.is_plain => {
                self.slots.atom_for(*slot, &literal)
            }
            _ => None,
        };
        let pattern = match function.takes_pattern() {
            true => self.pattern(&literal.lexical()).ok(),
            false => None,
        };
        self.expr(Expr::Match(Box::new(Match { function, literal, bag, is_equality, atom, pattern })))
    }

    /// The effects that an element might have, if there is such an element.
    pub fn effects(&self, id: NodeId) -> Option<Effects> {
        self.nodes.get(id.0 as usize).map(|node| match node {
            Node::Rule(rule) => Effects::only(rule.effect),
            Node::Set(set) => set.effects,
        })
    }

    /// The expression with this number, if there is one.
    pub fn get(&self, id: ExprId) -> Option<&Expr> {
        self.exprs.get(id.0 as usize)
    }

    /// The finished program; `root` combines the root documents.
    pub fn finish(mut self, root: Set) -> Program {
        let root = self.set(root);
        let is_plain = self.is_plain;
        let shared = if is_plain { Shared::default() } else { Shared::of(&self) };
        let shapes = Shapes::of(&mut self);
        let ranges = if is_plain { Ranges::default() } else { Ranges::of(&mut self) };
        self.group_atoms();
        self.slots.seal();
        self.nodes.shrink_to_fit();
        self.exprs.shrink_to_fit();
        self.sources.shrink_to_fit();
        let mut program = Program {
            nodes: self.nodes,
            exprs: self.exprs,
            shared,
            ranges,
            tables: Tables::default(),
            foregone: None,
            root,
            entry: root,
            slots: self.slots,
            sources: self.sources,
            written: self.written.unwrap_or_default(),
            dead: self.dead,
        };
        if is_plain {
            return program;
        }
        program.entry = program.find_entry();
        program.foregone = Foregone::of(&program, &shapes);
        program.tables = Tables::of(&program, &shapes);
        program
    }

    fn group_atoms(&mut self) {
        let numbers = self.slots.group();
        let new = |atom: &Atom| numbers.get(atom.0 as usize).copied().unwrap_or(*atom);
        for expr in &mut self.exprs {
            if let Expr::IsOneOf(_, atoms) = expr {
                *atoms = atoms.iter().map(new).collect();
                atoms.sort_unstable();
            } else if let Expr::Match(matching) = expr {
                matching.atom = matching.atom.as_ref().map(new);
            } else if let Expr::Structured(Structured::Lookup(lookup)) = expr {
                lookup.renumber(&numbers);
            }
        }
    }
}

/// Whether this is T-equal for the data type T, so that it agrees with [`Value::equals`].
fn is_equality_of(function: &Function, data_type: DataType) -> bool {
    function.short_name().strip_suffix("-equal").is_some_and(|name| name == data_type.short_name())
}

pub(super) fn digest(expr: &Expr) -> u64 {
    let mut hasher = foldhash::fast::FixedState::with_seed(1).build_hasher();
    std::mem::discriminant(expr).hash(&mut hasher);
    match expr {
        Expr::Constant(Operand::One(value)) => hash_value(value, &mut hasher),
        Expr::Constant(Operand::Bag(values)) => {
            values.iter().for_each(|value| hash_value(value, &mut hasher))
        }
        Expr::Attribute { slot, must_be_present } => (slot, must_be_present).hash(&mut hasher),
        Expr::Selector(selector) => (&selector.path.path, &selector.path.category).hash(&mut hasher),
        Expr::Call(function, args) | Expr::Contextual(function, args) => {
            (function.id, args).hash(&mut hasher)
        }
        Expr::Lazy(lazy, args) => (std::mem::discriminant(lazy), args).hash(&mut hasher),
        Expr::HigherOrder(kind, function, args) => {
            (std::mem::discriminant(kind), function.id, args).hash(&mut hasher);
        }
        Expr::Matches(pattern, arg) => (std::ptr::from_ref(pattern.as_ref()), arg).hash(&mut hasher),
        Expr::All(args) | Expr::Any(args) => args.hash(&mut hasher),
        Expr::Match(matching) => {
            (matching.function.id, matching.bag).hash(&mut hasher);
            hash_value(&matching.literal, &mut hasher);
        }
        Expr::Failed(fault) => fault.message.hash(&mut hasher),
        Expr::Part(slot) => slot.hash(&mut hasher),
        Expr::IsOneOf(slot, atoms) => (slot, atoms).hash(&mut hasher),
        Expr::Structured(structured) => structured.hash(&mut hasher),
    }
    hasher.finish()
}

/// Of objects with more keys only some are hashed: configurations bring large ones, and their texts are as large.
const HASHED_KEYS_MAX: usize = 64;

fn hash_value(value: &Value, hasher: &mut impl Hasher) {
    if let Value::Object(object) = value
        && object.len() > HASHED_KEYS_MAX
    {
        return (object.len(), object.keys().next(), object.keys().next_back()).hash(hasher);
    }
    (value.data_type(), value.lexical()).hash(hasher);
}

/// Whether two expressions are interchangeable.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Constant(Operand::One(a)), Expr::Constant(Operand::One(b))) => same_value(a, b),
        (Expr::Constant(Operand::Bag(a)), Expr::Constant(Operand::Bag(b))) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_value(a, b))
        }
        (
            Expr::Attribute { slot: a, must_be_present: a_must },
            Expr::Attribute { slot: b, must_be_present: b_must },
        ) => (a, a_must) == (b, b_must),
        (Expr::Selector(a), Expr::Selector(b)) => a == b,
        (Expr::Call(f, a), Expr::Call(g, b)) | (Expr::Contextual(f, a), Expr::Contextual(g, b)) => {
            f.id == g.id && a == b
        }
        (Expr::Lazy(f, a), Expr::Lazy(g, b)) => f == g && a == b,
        (Expr::HigherOrder(k, f, a), Expr::HigherOrder(l, g, b)) => k == l && f.id == g.id && a == b,
        (Expr::Matches(p, a), Expr::Matches(q, b)) => std::ptr::eq(p.as_ref(), q.as_ref()) && a == b,
        (Expr::All(a), Expr::All(b)) | (Expr::Any(a), Expr::Any(b)) => a == b,
        (Expr::Match(a), Expr::Match(b)) => {
            a.function.id == b.function.id && a.bag == b.bag && same_value(&a.literal, &b.literal)
        }
        (Expr::Failed(a), Expr::Failed(b)) => a == b,
        (Expr::Part(a), Expr::Part(b)) => a == b,
        (Expr::IsOneOf(a, some), Expr::IsOneOf(b, others)) => (a, some) == (b, others),
        (Expr::Structured(a), Expr::Structured(b)) => a == b,
        _ => false,
    }
}

/// Same type and same text. XPath expressions carry namespaces their text does not show, and are never shared.
fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::XPathExpression(a), Value::XPathExpression(b)) => a == b,
        (Value::Opaque(a), Value::Opaque(b)) => a == b,
        (Value::Object(one), Value::Object(other)) if Arc::ptr_eq(one, other) => true,
        // Two large ones of the same keys have the same digest, and comparing them is cheaper than writing them.
        (Value::Object(_), Value::Object(_)) if !a.equals(b) => false,
        _ => a.data_type() == b.data_type() && a.lexical() == b.lexical(),
    }
}

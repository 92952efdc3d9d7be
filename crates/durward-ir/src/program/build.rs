//! Puts a program together: policy languages hand over elements and expressions, equal expressions become one.

use std::sync::Arc;

use smol_str::SmolStr;

use super::arena::Arena;
use super::digest::{digest, same};
use super::foregone::Foregone;
use super::map::Map;
use super::memo::{Folding, Memo};
use super::ranges::Ranges;
use super::shape::Shapes;
use super::shared::Shared;
use super::table::Tables;
use super::{Atom, Dead, Expr, ExprId, Match, Node, NodeId, Program, Set, Slots, Structured, Written};
use crate::attribute::AttributeName;
use crate::combine::{Algorithm, Effects};
use crate::function::Function;
use crate::function::pattern::{Pattern, PatternError};
use crate::value::{DataType, Value};

/// A program in the making.
#[derive(Debug, Default)]
pub struct Builder {
    pub(super) nodes: Arena<Node>,
    pub(super) exprs: Arena<Expr>,
    /// Compiled regular expressions by their text.
    patterns: Map<SmolStr, Arc<Pattern>>,
    pub(super) slots: Slots,
    sources: Arena<SmolStr>,
    /// `None` where nobody will ask.
    written: Option<Vec<Written>>,
    dead: Arena<Dead>,
    /// Whether nothing is to be put into a faster form.
    pub(super) is_plain: bool,
    pub(super) folding: Folding,
    /// What was known of the expressions of the program that this one extends.
    pub(super) before: Option<Arc<Folding>>,
    /// Whether the program remembers what is known of its expressions.
    is_extensible: bool,
    /// What is there already, in a program that extends another one.
    ground: Option<Ground>,
}

/// What a program has from the one that it extends, as it is.
#[derive(Debug)]
struct Ground {
    shared: Shared,
    ranges: Arc<Ranges>,
    tables: Tables,
    /// How many slots and atoms there were.
    vocabulary: (usize, usize),
}

impl Builder {
    /// An empty program.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// From now on keeps what is known of expressions, so that programs that extend this one share them, and need not
    /// compute again what was computed ahead: some fifty bytes for each expression.
    pub fn keep_extensible(&mut self) {
        self.is_extensible = true;
    }

    /// A program with all that is in this one but its root. [`Builder::finish`] then takes time for what was added and for
    /// the slots, and for nothing else: what was added has no tables, and what all documents together come to is not
    /// computed ahead.
    pub fn extending(program: &Program) -> Builder {
        let (before, folding) = match &program.memo {
            Some(Memo { before, later }) => (Some(Arc::clone(before)), later.clone()),
            None => (None, Folding::behind(program.exprs.len(), 0)),
        };
        let mut builder = Builder {
            nodes: program.nodes.clone(),
            exprs: program.exprs.clone(),
            slots: program.slots.clone(),
            sources: program.sources.clone(),
            dead: program.dead.clone(),
            folding,
            before,
            is_extensible: program.memo.is_some(),
            ground: Some(Ground {
                shared: program.shared.clone(),
                ranges: Arc::clone(&program.ranges),
                tables: program.tables.clone(),
                vocabulary: (program.slots.len(), program.slots.atom_count()),
            }),
            ..Builder::default()
        };
        // The root of a program that extends another one is its last element.
        builder.nodes.pop();
        builder
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

    /// Registers a document's name; the number goes into [`super::SourceLocation::source`].
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
                set.voters.may_abstain = self.may_abstain(set);
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
        if let Some(known) = self.recall(|folding| folding.exprs.get(&digest).copied())
            && self.exprs.get(known.0 as usize).is_some_and(|other| same(other, &expr))
        {
            return known;
        }
        self.exprs.push(expr);
        let id = ExprId(self.exprs.len() as u32 - 1);
        self.folding.exprs.insert(digest, id);
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

    /// Whether a child of a set of SAPL may apply and have nothing to say: a set does, and so does a policy of which only
    /// conditions over attribute finders do not hold.
    fn may_abstain(&self, set: &Set) -> bool {
        let may_abstain = |child: &NodeId| match self.nodes.get(child.0 as usize) {
            Some(Node::Rule(rule)) => rule.gate.is_some(),
            Some(Node::Set(_)) | None => true,
        };
        matches!(set.algorithm, Algorithm::Voting(_)) && set.children.iter().any(may_abstain)
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
        if let Some(ground) = self.ground.take() {
            return self.extended(root, ground);
        }
        let is_plain = self.is_plain;
        let shared = if is_plain { Shared::default() } else { Shared::of(&self) };
        let shapes = Shapes::of(&mut self);
        let ranges = if is_plain { Ranges::default() } else { Ranges::of(&mut self) };
        self.group_atoms();
        self.slots.seal();
        self.nodes.settle();
        self.exprs.settle();
        self.sources.settle();
        self.dead.settle();
        let mut program = self.program(root, shared, Arc::new(ranges), Tables::default());
        if is_plain {
            return program;
        }
        program.entry = program.find_entry();
        program.foregone = Foregone::of(&program, &shapes);
        program.tables = Tables::of(&program, &shapes);
        program
    }

    /// What was said of expressions that were there stays right: what no policy named that does now is in no table.
    fn extended(mut self, root: NodeId, ground: Ground) -> Program {
        // Otherwise, what was looked up ahead is what would be looked up now.
        if ground.vocabulary != (self.slots.len(), self.slots.atom_count()) {
            self.slots.seal_again();
        }
        let mut program = self.program(root, ground.shared, ground.ranges, ground.tables);
        program.entry = program.find_entry();
        program
    }

    fn program(self, root: NodeId, shared: Shared, ranges: Arc<Ranges>, tables: Tables) -> Program {
        let memo = self.is_extensible.then(|| match self.before {
            Some(before) => Memo { before, later: self.folding },
            None => Memo {
                later: Folding::behind(self.exprs.len(), self.folding.steps),
                before: Arc::new(self.folding),
            },
        });
        Program {
            memo,
            nodes: self.nodes,
            exprs: self.exprs,
            shared,
            ranges,
            tables,
            foregone: None,
            root,
            entry: root,
            slots: self.slots,
            sources: self.sources,
            written: self.written.unwrap_or_default(),
            dead: self.dead,
        }
    }

    fn group_atoms(&mut self) {
        let numbers = self.slots.group();
        let new = |atom: &Atom| numbers.get(atom.0 as usize).copied().unwrap_or(*atom);
        for expr in self.exprs.tail_mut() {
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

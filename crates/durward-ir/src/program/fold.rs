//! Computing ahead whatever does not depend on what is asked, and putting expressions into the form that indexes work
//! with.
//!
//! An expression is taken when all its parts are known. Where they are constants it is evaluated at once, and what was
//! evaluated once is not evaluated again, in whatever document it stands.

use std::cell::Cell;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::digest::digest;
use super::map::Map;
use super::memo::{Facts, Folding};
use super::{
    Atom, BinaryOperator, Builder, Expr, ExprId, Lookup, SlotId, Slots, Step, Structured, UnaryOperator,
};
use crate::evaluate::{Reckoner, STEPS_MAX};
use crate::fault::Fault;
use crate::path::Path;
use crate::question::{NoAttributes, NoContent, Question, UNENCODED};
use crate::value::{Operand, Value, take_walked};

/// What a conjunction or disjunction comes to.
#[derive(Debug)]
pub enum Junction {
    /// An expression.
    Known(ExprId),
    /// Those of its parts that make a difference, and what is known of it.
    Parts(Vec<ExprId>, Facts),
}

fn junction_of(parts: Box<[ExprId]>, decisive: bool) -> Expr {
    if decisive { Expr::Any(parts) } else { Expr::All(parts) }
}

/// How many steps all that is computed ahead may take together: some ten seconds. What goes beyond is an error.
const FOLDED_STEPS_MAX: u64 = 20 * STEPS_MAX;

/// Keys of an object that has a lookup table; a larger one has none.
const LOOKUP_KEYS_MAX: usize = 1 << 16;

impl Builder {
    /// What is known of an expression.
    pub fn facts(&self, id: ExprId) -> Facts {
        self.recall(|folding| folding.facts(id)).unwrap_or_default()
    }

    /// What is known here, or was of the program that this one extends.
    pub(super) fn recall<T>(&self, ask: impl Fn(&Folding) -> Option<T>) -> Option<T> {
        ask(&self.folding).or_else(|| ask(self.before.as_deref()?))
    }

    /// The expression that has this name, if one was given it ([`Builder::name`]).
    pub fn named(&self, name: &str) -> Option<ExprId> {
        self.recall(|folding| folding.named.get(name).copied())
    }

    /// Gives an expression a name, for those who come to need it again.
    pub fn name(&mut self, name: &SmolStr, id: ExprId) {
        self.folding.named.insert(name.clone(), id);
    }

    /// A value.
    pub fn constant(&mut self, value: Value) -> ExprId {
        let id = self.expr(Expr::Constant(Operand::one(value)));
        self.note(id, Facts { depth: 1, size: 1, ..Facts::default() });
        id
    }

    /// An error.
    pub fn failed(&mut self, fault: Box<Fault>) -> ExprId {
        let id = self.expr(Expr::Failed(fault));
        self.note(id, Facts { depth: 1, size: 1, ..Facts::default() });
        id
    }

    /// A part of the subscription.
    pub fn part(&mut self, path: &Path) -> ExprId {
        let slot = self.slots.path_slot(path);
        let id = self.expr(Expr::Part(slot));
        self.note(id, Facts { depends: true, depth: 1, size: 1, ..Facts::default() });
        id
    }

    /// The value, if the expression is a constant.
    pub fn value_of(&self, id: ExprId) -> Option<&Value> {
        let Expr::Constant(Operand::One(value)) = self.get(id)? else { return None };
        Some(value.as_ref())
    }

    /// The error, if the expression is known to fail.
    pub fn fault_of(&self, id: ExprId) -> Option<&Fault> {
        let Expr::Failed(fault) = self.get(id)? else { return None };
        Some(fault)
    }

    /// An expression over values of JSON, or what it comes to if that is known already.
    pub fn structured(&mut self, structured: Structured) -> ExprId {
        match self.simpler(&structured) {
            Some(simpler) => simpler,
            None => self.composite(structured),
        }
    }

    /// An expression that has no simpler form.
    fn composite(&mut self, structured: Structured) -> ExprId {
        let mut facts = Facts::default();
        let mut failed = None;
        structured.parts(&mut |id, is_same_scope| {
            // Conditions on the path of a filter fail where the path leads past them.
            let is_on_path =
                matches!(&structured, Structured::Edit { base, filter, .. } if id != *base && id != *filter);
            if failed.is_none() && !is_on_path && matches!(self.get(id), Some(Expr::Failed(_))) {
                failed = Some(id);
            }
            let part = self.facts(id);
            facts.depends |= part.depends;
            facts.streams |= part.streams;
            facts.is_relative |= part.is_relative && is_same_scope;
            facts.depth = facts.depth.max(part.depth);
            facts.size = facts.size.saturating_add(part.size);
        });
        // An error that is known now comes before all others, and needs nothing else.
        if let Some(failed) = failed {
            return failed;
        }
        facts.depth += 1;
        facts.size = facts.size.saturating_add(1);
        if let Structured::Edit { base, .. } = &structured {
            // As in the engine: a filter with paths that is not computed ahead counts as depending on what is asked.
            facts.depends |= self.facts(*base).is_relative;
        }
        if matches!(structured, Structured::Here | Structured::Location) {
            facts.is_relative = true;
        } else if matches!(structured, Structured::Finder(_)) {
            (facts.depends, facts.streams) = (true, true);
        } else if matches!(structured, Structured::StandIn(..)) {
            facts.depends = true;
        }
        self.finish_expr(Expr::Structured(structured), facts)
    }

    /// Whether all (or, with `decisive` true, any) of these hold, in Kleene's logic. Constants come first, finders last:
    /// which operand is looked at first decides only what the error is.
    pub fn junction(&mut self, parts: Vec<ExprId>, decisive: bool) -> ExprId {
        match self.gather(parts, decisive) {
            Junction::Known(id) => id,
            Junction::Parts(parts, facts) => self.finish_expr(junction_of(parts.into(), decisive), facts),
        }
    }

    /// The same, but not made an expression yet where it is made of parts and depends on what is asked.
    pub fn gather(&mut self, parts: Vec<ExprId>, decisive: bool) -> Junction {
        let mut rest = Vec::with_capacity(parts.len());
        let mut error = None;
        for part in parts {
            match self.value_of(part) {
                Some(Value::Boolean(truth)) if *truth == decisive => return Junction::Known(part),
                Some(Value::Boolean(_)) => {}
                Some(_) => error = error.or(Some(part)),
                None if self.fault_of(part).is_some() => error = error.or(Some(part)),
                None if self.is_never(part) && !decisive => return Junction::Known(part),
                None => rest.push(part),
            }
        }
        let mut rest = match self.merged(rest, decisive) {
            Ok(rest) => rest,
            Err(never) => return Junction::Known(never),
        };
        if decisive && rest.len() > 1 {
            let never = rest.first().copied();
            rest.retain(|part| !self.is_never(*part));
            // One is kept where there is nothing else: what was written depends on what is asked.
            if rest.is_empty() {
                rest.extend(never);
            }
        }
        rest.sort_by_key(|part| self.facts(*part).streams);
        let mut facts = Facts { depth: 1, size: 1, ..Facts::default() };
        for part in &rest {
            let part = self.facts(*part);
            facts.depends |= part.depends;
            facts.streams |= part.streams;
            facts.is_relative |= part.is_relative;
            facts.depth = facts.depth.max(part.depth + 1);
            facts.size = facts.size.saturating_add(part.size);
        }
        match (error, rest.as_slice()) {
            (None, []) => return Junction::Known(self.constant(Value::Boolean(!decisive))),
            (None, [only]) if self.is_boolean(*only) => return Junction::Known(*only),
            _ => {}
        }
        rest.splice(0..0, error);
        if facts.depends || facts.is_relative {
            return Junction::Parts(rest, facts);
        }
        Junction::Known(self.finish_expr(junction_of(rest.into(), decisive), facts))
    }

    /// Comparisons of one part with constants as one comparison; one that never holds where they cannot all hold.
    fn merged(&mut self, parts: Vec<ExprId>, decisive: bool) -> Result<Vec<ExprId>, ExprId> {
        if self.are_apart(&parts) {
            return Ok(parts);
        }
        let mut merged: Vec<ExprId> = Vec::with_capacity(parts.len());
        let mut places: Map<SlotId, usize> = Map::default();
        for part in parts {
            let Some(Expr::IsOneOf(slot, atoms)) = self.get(part) else {
                merged.push(part);
                continue;
            };
            let (slot, atoms) = (*slot, atoms.to_vec());
            let Some(known) = places.get(&slot).and_then(|at| merged.get_mut(*at)) else {
                places.insert(slot, merged.len());
                merged.push(part);
                continue;
            };
            let Some(Expr::IsOneOf(_, others)) = self.exprs.get(known.0 as usize) else { continue };
            let both = if decisive {
                [&atoms, &**others].concat()
            } else {
                others.iter().copied().filter(|atom| atoms.contains(atom)).collect()
            };
            let Some(place) = places.get(&slot).copied() else { continue };
            let both = self.one_of(slot, both);
            if !decisive && self.is_never(both) {
                return Err(both);
            }
            if let Some(known) = merged.get_mut(place) {
                *known = both;
            }
        }
        Ok(merged)
    }

    /// Whether no two of these compare the same part with constants.
    fn are_apart(&self, parts: &[ExprId]) -> bool {
        let compared = parts.iter().filter_map(|part| match self.get(*part) {
            Some(Expr::IsOneOf(slot, _)) => Some(*slot),
            _ => None,
        });
        let mut slots: SmallVec<[SlotId; 16]> = compared.collect();
        slots.sort_unstable();
        slots.is_sorted_by(|one, next| one < next)
    }

    /// Whether an expression is true, false or an error, and nothing else.
    fn is_boolean(&self, id: ExprId) -> bool {
        let Some(expr) = self.get(id) else { return false };
        if let Expr::Structured(Structured::Binary(operator, ..)) = expr {
            return !operator.is_arithmetic();
        }
        matches!(
            expr,
            Expr::All(_)
                | Expr::Any(_)
                | Expr::IsOneOf(..)
                | Expr::Structured(Structured::Unary(UnaryOperator::Not, _) | Structured::Matches(..))
        )
    }

    /// Adds an expression; computes it, where it depends on nothing.
    fn finish_expr(&mut self, expr: Expr, facts: Facts) -> ExprId {
        if facts.depends || facts.is_relative {
            let id = self.expr(expr);
            self.note(id, facts);
            return id;
        }
        let digest = digest(&expr);
        if let Some(result) = self.recall(|folding| folding.result(digest, &expr)) {
            return result;
        }
        let result = match self.compute(&expr) {
            Ok(value) => self.constant(value),
            Err(fault) => self.failed(fault),
        };
        self.folding.known.entry(digest).or_default().push((expr, result));
        result
    }

    /// The expression is put behind the others to be evaluated, and taken away again.
    fn compute(&mut self, expr: &Expr) -> Result<Value, Box<Fault>> {
        let copy = match expr {
            Expr::Structured(structured) => Expr::Structured(structured.clone()),
            Expr::All(parts) => Expr::All(parts.clone()),
            Expr::Any(parts) => Expr::Any(parts.clone()),
            Expr::Constant(_)
            | Expr::Attribute { .. }
            | Expr::Selector(_)
            | Expr::Call(..)
            | Expr::Lazy(..)
            | Expr::HigherOrder(..)
            | Expr::Contextual(..)
            | Expr::Matches(..)
            | Expr::Match(_)
            | Expr::Failed(_)
            | Expr::Part(_)
            | Expr::IsOneOf(..) => return Err(Fault::processing("this is not computed ahead")),
        };
        let id = ExprId(self.exprs.len() as u32);
        self.exprs.push(copy);
        let slots = Slots::default();
        let question = Question::new(&slots, &NoAttributes, &NoContent, &[], &UNENCODED);
        let steps = Cell::new(0);
        // What was walked over to read the policies is not counted.
        take_walked();
        let reckoner = Reckoner {
            exprs: self.exprs.all(),
            question: &question,
            steps: &steps,
            steps_max: STEPS_MAX.min(FOLDED_STEPS_MAX.saturating_sub(self.folding.steps)),
            remembering: None,
        };
        let result = reckoner.value(id, None).map(std::borrow::Cow::into_owned);
        self.folding.steps += steps.get();
        self.exprs.pop();
        result
    }

    fn note(&mut self, id: ExprId, facts: Facts) {
        let Some(at) = (id.0 as usize).checked_sub(self.folding.first) else { return };
        if self.folding.facts.len() <= at {
            self.folding.facts.resize(at + 1, Facts::default());
        }
        if let Some(noted) = self.folding.facts.get_mut(at) {
            *noted = facts;
        }
    }

    /// The same in a form that indexes work with, where there is one.
    fn simpler(&mut self, structured: &Structured) -> Option<ExprId> {
        if self.is_plain {
            return None;
        }
        if let Structured::Steps(base, steps) = structured {
            return self.shorter(*base, steps);
        }
        let Structured::Binary(operator, left, right) = structured else { return None };
        if *operator == BinaryOperator::Equal {
            let (slot, value) = self.part_and_value(*left, *right)?;
            return self.is_one_of(slot, &[value]);
        }
        if *operator == BinaryOperator::NotEqual {
            let (slot, value) = self.part_and_value(*left, *right)?;
            let equal = self.is_one_of(slot, &[value])?;
            return Some(self.structured(Structured::Unary(UnaryOperator::Not, equal)));
        }
        if *operator != BinaryOperator::In {
            return None;
        }
        let Some(Expr::Part(slot)) = self.get(*left) else { return None };
        let (slot, haystack) = (*slot, self.value_of(*right)?);
        let values: Vec<Value> = match (haystack.as_array(), haystack.as_object()) {
            (Some(values), _) => values.to_vec(),
            (None, Some(object)) => object.values().cloned().collect(),
            (None, None) => return None,
        };
        self.is_one_of(slot, &values)
    }

    /// Takes as many of the steps as can be taken now; `None` if that is none.
    fn shorter(&mut self, base: ExprId, steps: &[Step]) -> Option<ExprId> {
        let (first, rest) = steps.split_first()?;
        let taken = self.take(base, first)?;
        match rest {
            [] => Some(taken),
            rest => Some(self.structured(Structured::Steps(taken, rest.into()))),
        }
    }

    /// The value of a constant object under a key that is a part of the subscription, with a place for every key.
    fn lookup(&mut self, base: ExprId, key: ExprId) -> Option<ExprId> {
        let Some(Expr::Part(slot)) = self.get(key) else { return None };
        let (slot, object) = (*slot, self.value_of(base)?.as_object()?.clone());
        if object.len() > LOOKUP_KEYS_MAX {
            return None;
        }
        let known = (base, key);
        if let Some(lookup) = self.recall(|folding| folding.lookups.get(&known).copied()) {
            return lookup;
        }
        let atoms: Option<Vec<(Atom, Value)>> = object
            .iter()
            .map(|(key, value)| Some((self.slots.atom_for(slot, &Value::Text(key.clone()))?, value.clone())))
            .collect();
        let lookup = Lookup::new(base, key, slot, &atoms?);
        let id = lookup.map(|lookup| self.composite(Structured::Lookup(Box::new(lookup))));
        self.folding.lookups.insert(known, id);
        id
    }

    /// One step; `None` where it cannot be taken now, or would be by computing all of them ahead.
    fn take(&mut self, base: ExprId, step: &Step) -> Option<ExprId> {
        match (self.get(base)?, step) {
            (Expr::Part(slot), Step::Key(key)) => {
                let path = self.slots.path(*slot)?;
                let keys: Vec<_> = path.keys().iter().cloned().chain([key.as_str().into()]).collect();
                let longer = Path::new(path.element(), keys);
                Some(self.part(&longer))
            }
            (Expr::Constant(_), step) => {
                let mut is_known = true;
                step.parts(&mut |id, is_same_scope| {
                    let part = self.facts(id);
                    is_known &= !(part.depends || part.is_relative && is_same_scope);
                });
                if is_known {
                    return Some(self.composite(Structured::Steps(base, [step.clone()].into())));
                }
                let Step::Computed(key) = step else { return None };
                self.lookup(base, *key)
            }
            _ => None,
        }
    }

    /// A part of the subscription and a constant, in whatever order.
    fn part_and_value(&self, one: ExprId, other: ExprId) -> Option<(SlotId, Value)> {
        match (self.get(one)?, self.get(other)?) {
            (Expr::Part(slot), Expr::Constant(Operand::One(value)))
            | (Expr::Constant(Operand::One(value)), Expr::Part(slot)) => {
                Some((*slot, value.as_ref().clone()))
            }
            _ => None,
        }
    }

    /// `None` where a value cannot be an atom.
    fn is_one_of(&mut self, slot: SlotId, values: &[Value]) -> Option<ExprId> {
        if !values.iter().all(Value::is_internable) {
            return None;
        }
        let atoms: Vec<Atom> =
            values.iter().map(|value| self.slots.atom_for(slot, value)).collect::<Option<_>>()?;
        Some(self.one_of(slot, atoms))
    }

    /// Of no atoms, it never holds, but is no constant: what is a constant votes before what depends on what is asked, and
    /// that is to be told from what was written.
    fn one_of(&mut self, slot: SlotId, mut atoms: Vec<Atom>) -> ExprId {
        atoms.sort_unstable();
        atoms.dedup();
        let id = self.expr(Expr::IsOneOf(slot, atoms.into()));
        self.note(id, Facts { depends: true, depth: 1, size: 1, ..Facts::default() });
        id
    }

    /// Whether an expression compares a part of the subscription with what it cannot be, though it is no constant.
    pub fn is_never(&self, id: ExprId) -> bool {
        matches!(self.get(id), Some(Expr::IsOneOf(_, atoms)) if atoms.is_empty())
    }
}

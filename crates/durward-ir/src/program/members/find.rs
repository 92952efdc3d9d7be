//! Finds the members in the constant objects that conditions look them up in.

use std::collections::HashMap;

use smol_str::SmolStr;

use super::{Members, Pool};
use crate::program::{Atom, BinaryOperator, Expr, ExprId, Lookup, Program, Structured};
use crate::value::{Operand, Value};

/// Finds the members of conditions.
pub(in crate::program) struct Finder<'p> {
    program: &'p Program,
    /// By lookup, the places of the atoms whose values have a key; `None` where not all atoms have objects.
    known: HashMap<ExprId, Option<ByKey<'p>>>,
}

type ByKey<'p> = HashMap<&'p SmolStr, Vec<u32>, foldhash::fast::FixedState>;

impl<'p> Finder<'p> {
    pub(in crate::program) fn new(program: &'p Program) -> Finder<'p> {
        Finder { program, known: HashMap::new() }
    }

    /// The members, if the condition is of that form.
    pub(in crate::program) fn find(&mut self, condition: ExprId, pool: &mut Pool) -> Option<Members> {
        let Expr::Structured(Structured::Binary(BinaryOperator::Has, base, key)) =
            self.program.expr(condition)
        else {
            return None;
        };
        let Expr::Structured(Structured::Lookup(lookup)) = self.program.expr(*base) else { return None };
        let Expr::Constant(Operand::One(key)) = self.program.expr(*key) else { return None };
        let Value::Text(key) = key.as_ref() else { return None };
        let by_key = self.known.entry(*base).or_insert_with(|| by_key(self.program, lookup)).as_ref()?;
        let members = by_key.get(key).map(Vec::as_slice).unwrap_or_default();
        pool.add(lookup.slot, self.program.slots.atoms_of(lookup.slot), members)
    }
}

fn by_key<'p>(program: &'p Program, lookup: &'p Lookup) -> Option<ByKey<'p>> {
    let (first, count) = program.slots.atoms_of(lookup.slot);
    let mut by_key = ByKey::default();
    for place in 0..count {
        let object = lookup.get(Atom(first + place))?.as_object()?;
        object.keys().for_each(|key| by_key.entry(key).or_default().push(place));
    }
    (count > 0).then_some(by_key)
}

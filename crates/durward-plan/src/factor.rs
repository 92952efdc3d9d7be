//! Alternatives that differ in one value, put together: of `a = 1 AND c` or `a = 2 AND c` it makes `a IN (1, 2) AND c`.
//! Policies that are alike leave hundreds of such alternatives, and a database that reads a list finds rows by one index
//! where it would compute each alternative of each row.

use std::collections::HashMap;

use crate::columns::{ColumnId, Scalar};
use crate::formula::{F, Formulas, Node, Test};

/// Alternatives with more parts are not put together: each part is looked at beside all others.
const ALTERNATIVE_PARTS_MAX: usize = 100;

/// Alternatives put together.
pub(crate) struct Factored {
    /// What they differ in.
    pub(crate) column: ColumnId,
    /// The value of each; at least two, each once.
    pub(crate) values: Vec<Scalar>,
    /// What holds in all of them.
    pub(crate) common: Vec<F>,
}

/// An alternative that says what a column holds, without that.
struct Alternative<'f> {
    /// Its place among all.
    at: usize,
    value: &'f Scalar,
    common: Vec<F>,
}

/// Those alternatives that can be put together, and the rest.
pub(crate) fn factored(formulas: &Formulas, alternatives: &[F]) -> (Vec<Factored>, Vec<F>) {
    let mut by_column: HashMap<ColumnId, Vec<Alternative<'_>>> = HashMap::new();
    for (at, alternative) in alternatives.iter().enumerate() {
        let Node::All(parts) = formulas.node(*alternative) else { continue };
        if parts.len() > ALTERNATIVE_PARTS_MAX {
            continue;
        }
        for (place, part) in parts.iter().enumerate() {
            if let Some((column, value)) = equal(formulas, *part) {
                let others = parts.iter().enumerate().filter(|(other, _)| *other != place);
                let common = others.map(|(_, part)| *part).collect();
                by_column.entry(column).or_default().push(Alternative { at, value, common });
            }
        }
    }
    let mut columns: Vec<(ColumnId, Vec<Alternative<'_>>)> = by_column.into_iter().collect();
    // The column that the most are told apart by comes first; the order is the same in every run.
    columns.sort_by_key(|(column, all)| (std::cmp::Reverse(all.len()), *column));
    let mut is_taken = vec![false; alternatives.len()];
    let mut found = Vec::new();
    for (column, all) in columns {
        found.extend(groups(column, all, &mut is_taken));
    }
    let rest = alternatives.iter().zip(is_taken).filter(|(_, is_taken)| !is_taken);
    (found, rest.map(|(alternative, _)| *alternative).collect())
}

/// Groups of what no column before has taken.
fn groups(column: ColumnId, all: Vec<Alternative<'_>>, is_taken: &mut [bool]) -> Vec<Factored> {
    let mut numbers: HashMap<Vec<F>, usize> = HashMap::new();
    let mut groups: Vec<(Vec<F>, Vec<Alternative<'_>>)> = Vec::new();
    for mut alternative in all {
        if is_taken.get(alternative.at).copied().unwrap_or(true) {
            continue;
        }
        let common = std::mem::take(&mut alternative.common);
        let number = *numbers.entry(common.clone()).or_insert(groups.len());
        match groups.get_mut(number) {
            Some((_, members)) => members.push(alternative),
            None => groups.push((common, vec![alternative])),
        }
    }
    let mut found = Vec::new();
    for (common, members) in groups {
        if members.len() < 2 {
            continue;
        }
        for member in &members {
            if let Some(taken) = is_taken.get_mut(member.at) {
                *taken = true;
            }
        }
        let values = members.iter().map(|member| member.value.clone()).collect();
        found.push(Factored { column, values, common });
    }
    found
}

/// The column and the value, where a formula says what a column holds. Of booleans there are only two.
fn equal(formulas: &Formulas, f: F) -> Option<(ColumnId, &Scalar)> {
    let Node::Literal(number, true) = formulas.node(f) else { return None };
    match formulas.test_of(*number)? {
        Test::Equal(_, Scalar::Boolean(_)) => None,
        Test::Equal(column, value) => Some((*column, value)),
        Test::Present(_)
        | Test::Less(..)
        | Test::LessOrEqual(..)
        | Test::Text(..)
        | Test::Same(..)
        | Test::Smaller(..)
        | Test::Holds(..)
        | Test::Filled(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ColumnId = ColumnId(0);
    const B: ColumnId = ColumnId(1);

    fn number(number: i64) -> Scalar {
        Scalar::Integer(number)
    }

    #[test]
    fn alternatives_that_differ_in_one_value_are_one() {
        let mut formulas = Formulas::new();
        let both = |formulas: &mut Formulas, a: i64, bound: i64| {
            let parts = [Test::Equal(A, number(a)), Test::LessOrEqual(B, number(bound))];
            let parts = parts.map(|test| formulas.test(test));
            formulas.all(parts)
        };
        let pairs = [(1, 7), (2, 8), (3, 7), (4, 9), (5, 8)];
        let mut alternatives = pairs.map(|(a, bound)| both(&mut formulas, a, bound)).to_vec();
        let alone = formulas.test(Test::Equal(B, number(0)));
        alternatives.push(alone);
        let (found, rest) = factored(&formulas, &alternatives);
        let shown: Vec<_> =
            found.iter().map(|one| (one.column, one.values.clone(), one.common.len())).collect();
        assert_eq!(shown, [(A, vec![number(1), number(3)], 1), (A, vec![number(2), number(5)], 1)]);
        assert_eq!(rest, [alternatives[3], alone]);
    }

    #[test]
    fn each_alternative_is_put_into_one_list_only() {
        let mut formulas = Formulas::new();
        let both = |formulas: &mut Formulas, a: i64, b: i64| {
            let parts = [Test::Equal(A, number(a)), Test::Equal(B, number(b))];
            let parts = parts.map(|test| formulas.test(test));
            formulas.all(parts)
        };
        let alternatives: Vec<F> =
            [(1, 1), (1, 2), (2, 1), (3, 4)].map(|(a, b)| both(&mut formulas, a, b)).to_vec();
        let (found, rest) = factored(&formulas, &alternatives);
        let count: usize = found.iter().map(|one| one.values.len()).sum();
        assert_eq!(count + rest.len(), 4);
        assert_eq!((found.len(), rest), (1, vec![alternatives[1], alternatives[3]]));
    }
}

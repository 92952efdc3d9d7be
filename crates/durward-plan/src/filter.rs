//! A filter: what a formula is to databases.

use smol_str::SmolStr;

use crate::columns::{Cell, ColumnId, Row, Scalar};

/// How a value stands to another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// It is the same.
    Equal,
    /// It is another one.
    NotEqual,
    /// It is less.
    Less,
    /// It is less, or the same.
    LessOrEqual,
    /// It is greater.
    Greater,
    /// It is greater, or the same.
    GreaterOrEqual,
}

impl Order {
    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Order::Equal => order.is_eq(),
            Order::NotEqual => order.is_ne(),
            Order::Less => order.is_lt(),
            Order::LessOrEqual => order.is_le(),
            Order::Greater => order.is_gt(),
            Order::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// Where in a text a part of it is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextTest {
    /// At the beginning.
    Begins,
    /// At the end.
    Ends,
    /// Anywhere.
    Contains,
}

impl TextTest {
    /// Whether the part is there.
    pub fn holds(self, text: &str, part: &str) -> bool {
        match self {
            TextTest::Begins => text.starts_with(part),
            TextTest::Ends => text.ends_with(part),
            TextTest::Contains => text.contains(part),
        }
    }
}

/// A filter over rows. True or false of every row: what compares a column is false where that is NULL, whichever way it
/// compares.
#[derive(Clone, PartialEq, Debug)]
pub enum Filter {
    /// Every row, or none.
    Constant(bool),
    /// All of these; at least two.
    All(Vec<Filter>),
    /// Any of these; at least two.
    Any(Vec<Filter>),
    /// The column is NULL, or is not.
    Null {
        /// The column.
        column: ColumnId,
        /// Whether it is.
        is_null: bool,
    },
    /// The column compared with a value.
    Compare {
        /// The column.
        column: ColumnId,
        /// How it stands to the value.
        order: Order,
        /// The value.
        value: Scalar,
    },
    /// The column holds one of some values, or none of them.
    In {
        /// The column.
        column: ColumnId,
        /// The values; at least two.
        values: Vec<Scalar>,
        /// Whether it holds one.
        is_in: bool,
    },
    /// The text of the column has a part, or has it not.
    Text {
        /// The column.
        column: ColumnId,
        /// Where the part is looked for.
        test: TextTest,
        /// The part; not empty.
        part: SmolStr,
        /// Whether it is there.
        is_there: bool,
    },
    /// Two columns compared; false where either is NULL.
    Columns {
        /// The first.
        first: ColumnId,
        /// How it stands to the second.
        order: Order,
        /// The second.
        second: ColumnId,
    },
    /// One of the values of a column of many is this, or none is.
    Holds {
        /// The column.
        column: ColumnId,
        /// The value.
        value: Scalar,
        /// Whether one is.
        is_held: bool,
    },
    /// A column of many has any value, or has none though it is not NULL.
    Filled {
        /// The column.
        column: ColumnId,
        /// Whether it has any.
        is_filled: bool,
    },
}

impl Filter {
    /// Whether the row is in the filter.
    pub fn matches(&self, row: &Row) -> bool {
        let one = |id: &ColumnId| match row.get(*id) {
            Cell::One(scalar) => Some(scalar),
            Cell::Null | Cell::Many(_) => None,
        };
        let many = |id: &ColumnId| match row.get(*id) {
            Cell::Many(scalars) => Some(scalars),
            Cell::Null | Cell::One(_) => None,
        };
        match self {
            Filter::Constant(truth) => *truth,
            Filter::All(parts) => parts.iter().all(|part| part.matches(row)),
            Filter::Any(parts) => parts.iter().any(|part| part.matches(row)),
            Filter::Null { column, is_null } => matches!(row.get(*column), Cell::Null) == *is_null,
            Filter::Compare { column, order, value } => {
                one(column).and_then(|held| held.order(value)).is_some_and(|found| order.holds(found))
            }
            Filter::In { column, values, is_in } => {
                one(column).is_some_and(|held| values.contains(held) == *is_in)
            }
            Filter::Text { column, test, part, is_there } => {
                one(column).and_then(Scalar::as_text).is_some_and(|text| test.holds(text, part) == *is_there)
            }
            Filter::Columns { first, order, second } => match (one(first), one(second)) {
                (Some(a), Some(b)) => a.order(b).is_some_and(|found| order.holds(found)),
                _ => false,
            },
            Filter::Holds { column, value, is_held } => {
                many(column).is_some_and(|held| held.contains(value) == *is_held)
            }
            Filter::Filled { column, is_filled } => {
                many(column).is_some_and(|held| held.is_empty() != *is_filled)
            }
        }
    }

    /// The filter with every part that is not `kept`, and is not made of others, replaced by a constant: with less in it where
    /// that is false, with more where it is true. Nothing in a filter is negated.
    #[must_use]
    pub fn keeping(&self, kept: &mut dyn FnMut(&Filter) -> bool, otherwise: bool) -> Filter {
        let (parts, is_all) = match self {
            Filter::All(parts) => (parts, true),
            Filter::Any(parts) => (parts, false),
            Filter::Constant(_) => return self.clone(),
            Filter::Null { .. }
            | Filter::Compare { .. }
            | Filter::In { .. }
            | Filter::Text { .. }
            | Filter::Columns { .. }
            | Filter::Holds { .. }
            | Filter::Filled { .. } => {
                return if kept(self) { self.clone() } else { Filter::Constant(otherwise) };
            }
        };
        let mut left = Vec::with_capacity(parts.len());
        for part in parts {
            let part = part.keeping(kept, otherwise);
            match part.constant() {
                Some(truth) if truth == is_all => {}
                Some(truth) => return Filter::Constant(truth),
                None => left.push(part),
            }
        }
        match left.len() {
            0 => Filter::Constant(is_all),
            1 => left.swap_remove(0),
            _ if is_all => Filter::All(left),
            _ => Filter::Any(left),
        }
    }

    /// How often the filter compares, at most.
    pub fn weight(&self) -> usize {
        match self {
            Filter::Constant(_) => 0,
            Filter::All(parts) | Filter::Any(parts) => parts.iter().map(Filter::weight).sum(),
            Filter::In { values, .. } => values.len(),
            Filter::Null { .. }
            | Filter::Compare { .. }
            | Filter::Text { .. }
            | Filter::Columns { .. }
            | Filter::Holds { .. }
            | Filter::Filled { .. } => 1,
        }
    }

    /// The truth, if it is the same of every row whatever that holds.
    pub fn constant(&self) -> Option<bool> {
        if let Filter::Constant(truth) = self { Some(*truth) } else { None }
    }

    /// Shows every column that the filter looks at; some more than once.
    pub fn columns(&self, show: &mut dyn FnMut(ColumnId)) {
        match self {
            Filter::Constant(_) => {}
            Filter::All(parts) | Filter::Any(parts) => parts.iter().for_each(|part| part.columns(show)),
            Filter::Null { column, .. }
            | Filter::Compare { column, .. }
            | Filter::In { column, .. }
            | Filter::Text { column, .. }
            | Filter::Holds { column, .. }
            | Filter::Filled { column, .. } => show(*column),
            Filter::Columns { first, second, .. } => {
                show(*first);
                show(*second);
            }
        }
    }
}

//! Conditions of UCAST, as JSON.

use serde_json::{Value as Json, json};

use super::{DialectError, column, compares_bytes, path_of, plain, plain_all};
use crate::columns::{ColumnId, Columns};
use crate::filter::{Filter, Order};

impl Filter {
    /// The filter as a condition of UCAST. That a field is not null is `exists`, of which `@ucast/sql` makes `IS NOT NULL`: of
    /// `ne` and null it makes `<> NULL`, which is true of nothing. Interpreters that look at objects must be given none with
    /// null in them.
    ///
    /// # Errors
    /// Texts of a column are not compared byte by byte, a part of a text is looked for, a number may be rounded, or it is a
    /// column of many.
    pub fn to_ucast(&self, columns: &Columns) -> Result<Json, DialectError> {
        let field = |id: &ColumnId| Ok::<String, DialectError>(path_of(column(columns, *id)?));
        let many =
            |parts: &[Filter]| parts.iter().map(|part| part.to_ucast(columns)).collect::<Result<Vec<_>, _>>();
        compares_bytes(self, columns)?;
        Ok(match self {
            Filter::Constant(_) => return Err(DialectError::new("UCAST has no constants")),
            Filter::All(parts) => compound("and", many(parts)?),
            Filter::Any(parts) => compound("or", many(parts)?),
            Filter::Null { column, is_null: true } => exists(&field(column)?, false),
            Filter::Null { column, is_null: false } => exists(&field(column)?, true),
            Filter::Compare { column, order: Order::NotEqual, value } => {
                let field = field(column)?;
                compound("and", vec![exists(&field, true), condition(&field, "ne", plain(value)?)])
            }
            Filter::Compare { column, order, value } => {
                condition(&field(column)?, word(*order), plain(value)?)
            }
            Filter::In { column, values, is_in } => {
                let field = field(column)?;
                let values = plain_all(values)?.into();
                match is_in {
                    true => condition(&field, "in", values),
                    false => compound("and", vec![exists(&field, true), condition(&field, "nin", values)]),
                }
            }
            // Interpreters make `LIKE` of it, which minds neither upper and lower case nor its own signs everywhere.
            Filter::Text { .. } => {
                return Err(DialectError::new("UCAST looks for parts of texts in ways of its own"));
            }
            Filter::Columns { first, order, second } => {
                let (first, second) = (field(first)?, field(second)?);
                let compared = condition(&first, word(*order), json!({"field": second}));
                compound("and", vec![exists(&first, true), exists(&second, true), compared])
            }
            Filter::Holds { .. } | Filter::Filled { .. } => {
                return Err(DialectError::new("UCAST has no conditions on columns of many"));
            }
        })
    }
}

fn condition(field: &str, operator: &str, value: Json) -> Json {
    json!({"type": "field", "operator": operator, "field": field, "value": value})
}

fn compound(operator: &str, value: Vec<Json>) -> Json {
    json!({"type": "compound", "operator": operator, "value": value})
}

fn exists(field: &str, exists: bool) -> Json {
    condition(field, "exists", exists.into())
}

fn word(order: Order) -> &'static str {
    match order {
        Order::Equal => "eq",
        Order::NotEqual => "ne",
        Order::Less => "lt",
        Order::LessOrEqual => "lte",
        Order::Greater => "gt",
        Order::GreaterOrEqual => "gte",
    }
}

//! Plans as Cerbos answers them, for its adapters.

use serde_json::{Value as Json, json};

use super::{DialectError, column, compares_bytes, path_of, plain, plain_all};
use crate::columns::{ColumnId, Columns};
use crate::filter::{Filter, Order};

impl Filter {
    /// The filter as the `filter` of a plan of Cerbos: `kind` and, where it is conditional, `condition`. Attributes are named
    /// `request.resource.attr.` and the path of the column.
    ///
    /// # Errors
    /// Texts of a column are not compared byte by byte, a part of a text is looked for, or a number may be rounded.
    pub fn to_cerbos(&self, columns: &Columns) -> Result<Json, DialectError> {
        Ok(match self.constant() {
            Some(true) => json!({"kind": "KIND_ALWAYS_ALLOWED"}),
            Some(false) => json!({"kind": "KIND_ALWAYS_DENIED"}),
            None => json!({"kind": "KIND_CONDITIONAL", "condition": expression(self, columns)?}),
        })
    }
}

fn expression(filter: &Filter, columns: &Columns) -> Result<Json, DialectError> {
    let variable = |id: &ColumnId| {
        let path = path_of(column(columns, *id)?);
        Ok::<Json, DialectError>(json!({"variable": format!("request.resource.attr.{path}")}))
    };
    let present =
        |id: &ColumnId| Ok::<Json, DialectError>(operation("ne", vec![variable(id)?, value(&Json::Null)]));
    let many =
        |parts: &[Filter]| parts.iter().map(|part| expression(part, columns)).collect::<Result<Vec<_>, _>>();
    compares_bytes(filter, columns)?;
    Ok(match filter {
        Filter::Constant(truth) => value(&(*truth).into()),
        Filter::All(parts) => operation("and", many(parts)?),
        Filter::Any(parts) => operation("or", many(parts)?),
        Filter::Null { column, is_null } => {
            let word = if *is_null { "eq" } else { "ne" };
            operation(word, vec![variable(column)?, value(&Json::Null)])
        }
        Filter::Compare { column, order, value: other } => {
            let compared = operation(word(*order), vec![variable(column)?, value(&plain(other)?)]);
            match order {
                Order::NotEqual => operation("and", vec![present(column)?, compared]),
                Order::Equal | Order::Less | Order::LessOrEqual | Order::Greater | Order::GreaterOrEqual => {
                    compared
                }
            }
        }
        Filter::In { column, values, is_in } => {
            let values = plain_all(values)?;
            let found = operation("in", vec![variable(column)?, value(&values.into())]);
            match is_in {
                true => found,
                false => operation("and", vec![present(column)?, operation("not", vec![found])]),
            }
        }
        // Adapters make `LIKE` of it, which ignores upper and lower case in some databases.
        Filter::Text { .. } => {
            return Err(DialectError::new("adapters of Cerbos look for parts of texts as the database does"));
        }
        Filter::Columns { first, order, second } => {
            let compared = operation(word(*order), vec![variable(first)?, variable(second)?]);
            operation("and", vec![present(first)?, present(second)?, compared])
        }
        Filter::Holds { column, value: held, is_held } => {
            let found = operation("in", vec![value(&plain(held)?), variable(column)?]);
            match is_held {
                true => found,
                false => operation("and", vec![present(column)?, operation("not", vec![found])]),
            }
        }
        Filter::Filled { column, is_filled } => {
            let size = operation("size", vec![variable(column)?]);
            let word = if *is_filled { "gt" } else { "eq" };
            operation("and", vec![present(column)?, operation(word, vec![size, value(&0.into())])])
        }
    })
}

fn operation(operator: &str, operands: Vec<Json>) -> Json {
    json!({"expression": {"operator": operator, "operands": operands}})
}

fn value(value: &Json) -> Json {
    json!({"value": value})
}

fn word(order: Order) -> &'static str {
    match order {
        Order::Equal => "eq",
        Order::NotEqual => "ne",
        Order::Less => "lt",
        Order::LessOrEqual => "le",
        Order::Greater => "gt",
        Order::GreaterOrEqual => "ge",
    }
}

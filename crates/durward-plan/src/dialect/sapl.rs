//! The obligation by which SAPL's enforcement points rewrite queries: `sql:queryRewriting`.

use serde_json::{Value as Json, json};

use super::{DialectError, column, compares_bytes, plain, plain_all};
use crate::columns::{ColumnId, Columns};
use crate::filter::{Filter, Order};

impl Filter {
    /// The filter as an obligation of SAPL. All of its criteria are to hold.
    ///
    /// # Errors
    /// It looks for a part of a text (`like` may not mind upper and lower case), compares two columns, or a column of many;
    /// or texts of a column are not compared byte by byte, or a number may be rounded.
    pub fn to_sapl(&self, columns: &Columns) -> Result<Json, DialectError> {
        let criteria = if let Filter::All(parts) = self {
            parts.iter().map(|part| criterion(part, columns)).collect::<Result<Vec<_>, _>>()?
        } else {
            vec![criterion(self, columns)?]
        };
        Ok(json!({"type": "sql:queryRewriting", "criteria": criteria}))
    }
}

fn criterion(filter: &Filter, columns: &Columns) -> Result<Json, DialectError> {
    let name = |id: &ColumnId| Ok::<String, DialectError>(column(columns, *id)?.shown());
    let many =
        |parts: &[Filter]| parts.iter().map(|part| criterion(part, columns)).collect::<Result<Vec<_>, _>>();
    let unable = |what: &str| Err(DialectError::new(format!("criteria of SAPL have no words for {what}")));
    compares_bytes(filter, columns)?;
    Ok(match filter {
        Filter::Constant(_) => return unable("what is true or false of every row"),
        Filter::All(parts) => json!({"and": many(parts)?}),
        Filter::Any(parts) => json!({"or": many(parts)?}),
        Filter::Null { column, is_null } => {
            json!({"column": name(column)?, "op": if *is_null { "isNull" } else { "isNotNull" }})
        }
        // A comparison with NULL selects nothing, and there is no negation.
        Filter::Compare { column, order, value } => {
            json!({"column": name(column)?, "op": word(*order), "value": plain(value)?})
        }
        Filter::In { column, values, is_in: true } => {
            let values = plain_all(values)?;
            json!({"column": name(column)?, "op": "in", "value": values})
        }
        Filter::In { column, values, is_in: false } => {
            let name = name(column)?;
            let each = |value: Json| json!({"column": name, "op": "!=", "value": value});
            json!({"and": plain_all(values)?.into_iter().map(each).collect::<Vec<_>>()})
        }
        Filter::Text { .. } => return unable("a part of a text"),
        Filter::Columns { .. } => return unable("two columns that are compared"),
        Filter::Holds { .. } | Filter::Filled { .. } => return unable("columns of many"),
    })
}

fn word(order: Order) -> &'static str {
    match order {
        Order::Equal => "=",
        Order::NotEqual => "!=",
        Order::Less => "<",
        Order::LessOrEqual => "<=",
        Order::Greater => ">",
        Order::GreaterOrEqual => ">=",
    }
}

//! Queries of MongoDB, in extended JSON: what is false of null and of fields that are not there stays false.

use serde_json::{Value as Json, json};

use super::{DialectError, column, compares_bytes, path_of};
use crate::columns::{ColumnId, Columns, Scalar};
use crate::filter::{Filter, Order, TextTest};

/// JSON's readers hold whole numbers below exactly.
const EXACT_MAX: u64 = 1 << 53;

impl Filter {
    /// The filter as a query of MongoDB.
    ///
    /// # Errors
    /// Texts of a column are not compared byte by byte.
    pub fn to_mongo(&self, columns: &Columns) -> Result<Json, DialectError> {
        let field = |id: &ColumnId| Ok::<String, DialectError>(path_of(column(columns, *id)?));
        let many =
            |parts: &[Filter]| parts.iter().map(|part| part.to_mongo(columns)).collect::<Result<Vec<_>, _>>();
        compares_bytes(self, columns)?;
        Ok(match self {
            // An empty query is everything.
            Filter::Constant(true) => json!({}),
            Filter::Constant(false) => json!({"$nor": [{}]}),
            Filter::All(parts) => json!({"$and": many(parts)?}),
            Filter::Any(parts) => json!({"$or": many(parts)?}),
            Filter::Null { column, is_null: true } => json!({field(column)?: null}),
            Filter::Null { column, is_null: false } => json!({field(column)?: {"$ne": null}}),
            Filter::Compare { column, order: Order::NotEqual, value } => {
                json!({field(column)?: {"$nin": [null, extended(value)]}})
            }
            Filter::Compare { column, order, value } => {
                json!({field(column)?: {word(*order): extended(value)}})
            }
            Filter::In { column, values, is_in } => {
                let values = values.iter().map(extended);
                // Null is none of the values, and not to be found by that.
                let others: Vec<Json> = if *is_in { Vec::new() } else { vec![Json::Null] };
                let all: Vec<Json> = others.into_iter().chain(values).collect();
                let word = if *is_in { "$in" } else { "$nin" };
                json!({field(column)?: {word: all}})
            }
            Filter::Text { column, test, part, is_there } => {
                let pattern = json!({"$regex": pattern(*test, part)});
                match is_there {
                    true => json!({field(column)?: pattern}),
                    false => {
                        json!({"$and": [{field(column)?: {"$ne": null}}, {field(column)?: {"$not": pattern}}]})
                    }
                }
            }
            Filter::Columns { first, order, second } => {
                json!({"$and": [
                    {field(first)?: {"$ne": null}},
                    {field(second)?: {"$ne": null}},
                    {"$expr": {word(*order): [format!("${}", field(first)?), format!("${}", field(second)?)]}}
                ]})
            }
            Filter::Holds { column, value, is_held: true } => {
                json!({field(column)?: {"$elemMatch": {"$eq": extended(value)}}})
            }
            Filter::Holds { column, value, is_held: false } => json!({"$and": [
                {field(column)?: {"$ne": null}}, {field(column)?: {"$not": {"$elemMatch": {"$eq": extended(value)}}}}
            ]}),
            Filter::Filled { column, is_filled: true } => {
                json!({format!("{}.0", field(column)?): {"$exists": true}})
            }
            Filter::Filled { column, is_filled: false } => json!({field(column)?: {"$size": 0}}),
        })
    }
}

fn word(order: Order) -> &'static str {
    match order {
        Order::Equal => "$eq",
        Order::NotEqual => "$ne",
        Order::Less => "$lt",
        Order::LessOrEqual => "$lte",
        Order::Greater => "$gt",
        Order::GreaterOrEqual => "$gte",
    }
}

fn extended(value: &Scalar) -> Json {
    match value {
        Scalar::Integer(integer) if integer.unsigned_abs() > EXACT_MAX => {
            json!({"$numberLong": integer.to_string()})
        }
        Scalar::Decimal(decimal) => json!({"$numberDecimal": decimal.to_plain()}),
        Scalar::Text(_) | Scalar::Boolean(_) | Scalar::Integer(_) | Scalar::Double(_) => value.to_json(),
    }
}

/// A regular expression that means the part itself. `$` would also match before a newline at the end.
fn pattern(test: TextTest, part: &str) -> String {
    let mut quoted = String::with_capacity(part.len() + 12);
    if test == TextTest::Begins {
        quoted.push('^');
    }
    for character in part.chars() {
        if character.is_ascii_punctuation() {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    if test == TextTest::Ends {
        quoted.push_str("(?![\\s\\S])");
    }
    quoted
}

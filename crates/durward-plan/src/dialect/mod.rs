//! A filter in the words of databases and libraries.

mod cerbos;
mod mongo;
mod row_security;
mod sapl;
mod sql;
mod ucast;

use std::fmt;

use crate::columns::Scalar;
use crate::filter::Filter;
use crate::{Columns, Plan};
pub use row_security::{RowSecurityError, create_policy, enable_row_security};
pub use sql::{Database, SqlFilter};

/// In whose words a filter is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// A condition of SQL, for one database.
    Sql(Database),
    /// A query of MongoDB.
    Mongo,
    /// Conditions of UCAST.
    Ucast,
    /// A plan of Cerbos.
    Cerbos,
    /// The obligation by which SAPL's enforcement points rewrite queries.
    Sapl,
}

impl Dialect {
    /// All of them by their names.
    pub const ALL: [(&'static str, Dialect); 7] = [
        ("sqlite", Dialect::Sql(Database::Sqlite)),
        ("postgres", Dialect::Sql(Database::Postgres)),
        ("mariadb", Dialect::Sql(Database::Mariadb)),
        ("mongo", Dialect::Mongo),
        ("ucast", Dialect::Ucast),
        ("cerbos", Dialect::Cerbos),
        ("sapl", Dialect::Sapl),
    ];

    /// The dialect with this name.
    pub fn named(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|(other, _)| *other == name).map(|(_, dialect)| dialect)
    }
}

/// A filter that cannot be said so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DialectError {
    /// Why.
    pub message: String,
}

impl DialectError {
    fn new(message: impl Into<String>) -> DialectError {
        DialectError { message: message.into() }
    }
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DialectError {}

/// A filter as it was written.
#[derive(Clone, PartialEq, Debug)]
pub struct WrittenFilter {
    /// The filter: a text, or a value of JSON.
    pub filter: serde_json::Value,
    /// What is bound to its places, in order.
    pub parameters: Vec<Scalar>,
}

impl Filter {
    /// The filter in the words of a dialect.
    ///
    /// # Errors
    /// The dialect has no words for it.
    pub fn write(&self, columns: &Columns, dialect: Dialect) -> Result<WrittenFilter, DialectError> {
        let filter = match dialect {
            Dialect::Sql(database) => {
                let SqlFilter { text, parameters } = self.to_sql(columns, database)?;
                return Ok(WrittenFilter { filter: text.into(), parameters });
            }
            Dialect::Mongo => self.to_mongo(columns)?,
            Dialect::Ucast => self.to_ucast(columns)?,
            Dialect::Cerbos => self.to_cerbos(columns)?,
            Dialect::Sapl => self.to_sapl(columns)?,
        };
        Ok(WrittenFilter { filter, parameters: Vec::new() })
    }
}

fn column(columns: &Columns, id: crate::ColumnId) -> Result<&crate::Column, DialectError> {
    columns.get(id).ok_or_else(|| DialectError::new("there is no such column"))
}

/// The name of a field: the path by which policies read it.
fn path_of(column: &crate::Column) -> String {
    column.path.join(".")
}

/// From here on, doubles do not tell whole numbers apart.
const WHOLE_END: u64 = 1 << 53;

/// A value in JSON for libraries that bind numbers as they read them, often as doubles. Databases then compare as doubles: what
/// a column holds is rounded as well, so it is not enough that the value is one.
fn plain(value: &Scalar) -> Result<serde_json::Value, DialectError> {
    sql::check_read_exactly(value)?;
    let is_told_apart = match value {
        Scalar::Text(_) | Scalar::Boolean(_) | Scalar::Double(_) => true,
        Scalar::Integer(integer) => integer.unsigned_abs() < WHOLE_END,
        Scalar::Decimal(_) => false,
    };
    if is_told_apart {
        return Ok(value.to_json());
    }
    Err(DialectError::new(format!(
        "the number `{}` and those of its column may be rounded on their way",
        value.value().lexical()
    )))
}

fn plain_all(values: &[Scalar]) -> Result<Vec<serde_json::Value>, DialectError> {
    values.iter().map(plain).collect()
}

/// Looks whether what the filter compares by itself is compared byte by byte: these dialects cannot ask for it.
fn compares_bytes(filter: &Filter, columns: &Columns) -> Result<(), DialectError> {
    let mut compared = Vec::new();
    match filter {
        Filter::Compare { column, .. }
        | Filter::In { column, .. }
        | Filter::Text { column, .. }
        | Filter::Holds { column, .. } => compared.push(*column),
        Filter::Columns { first, second, .. } => compared.extend([*first, *second]),
        Filter::Constant(_)
        | Filter::All(_)
        | Filter::Any(_)
        | Filter::Null { .. }
        | Filter::Filled { .. } => {}
    }
    for id in compared {
        let column = column(columns, id)?;
        if column.kind == crate::ColumnType::Text && column.collation == crate::Collation::Other {
            let name = column.shown();
            return Err(DialectError::new(format!(
                "texts of the column `{name}` may be compared otherwise than byte by byte: say `collation = \"binary\"` if \
                 they are not"
            )));
        }
    }
    Ok(())
}

/// A plan says up to so many reasons why it is not exact.
const REASONS_MAX: usize = 100;

impl Plan {
    /// The plan as far as a dialect has words for it: what it has none for is in no row of the filter and in every row of the
    /// superset.
    #[must_use]
    pub fn within(&self, columns: &Columns, dialect: Dialect) -> Plan {
        let mut reasons = self.reasons.clone();
        let mut unsaid = |part: &Filter| match part.write(columns, dialect) {
            Ok(_) => true,
            Err(error) => {
                if reasons.len() < REASONS_MAX && !reasons.contains(&error.message) {
                    reasons.push(error.message);
                }
                false
            }
        };
        let filter = self.filter.keeping(&mut unsaid, false);
        let superset = self.superset.as_ref().unwrap_or(&self.filter).keeping(&mut unsaid, true);
        let exact = self.exact && filter == self.filter;
        let kind = crate::Kind::of(&filter);
        let superset = (!exact).then_some(superset);
        Plan { kind, exact, filter, superset, reasons, ..self.clone() }
    }

    /// The plan as JSON: `kind`, `exact`, `filter`, `parameters`, and `obligations` where there are any. The filter is there
    /// only where the kind is `filter`; of Cerbos always.
    ///
    /// # Errors
    /// The dialect has no words for the filter; see [`Plan::within`].
    pub fn to_json(&self, columns: &Columns, dialect: Dialect) -> Result<serde_json::Value, DialectError> {
        let mut json = serde_json::Map::new();
        json.insert("kind".into(), self.kind.as_str().into());
        json.insert("exact".into(), self.exact.into());
        if self.kind == crate::Kind::Filter || dialect == Dialect::Cerbos {
            let written = self.filter.write(columns, dialect)?;
            json.insert("filter".into(), written.filter);
            let parameters = written.parameters.iter().map(Scalar::to_json).collect();
            json.insert("parameters".into(), serde_json::Value::Array(parameters));
        }
        if let Some(superset) = &self.superset {
            // Rows that are to be decided one by one: those of this filter that are not in the other one.
            let mut more = serde_json::Map::new();
            let kind = crate::Kind::of(superset);
            more.insert("kind".into(), kind.as_str().into());
            if kind == crate::Kind::Filter {
                let written = superset.write(columns, dialect)?;
                more.insert("filter".into(), written.filter);
                let parameters = written.parameters.iter().map(Scalar::to_json).collect();
                more.insert("parameters".into(), serde_json::Value::Array(parameters));
            }
            json.insert("superset".into(), more.into());
            json.insert("reasons".into(), self.reasons.clone().into());
        }
        for (name, duties) in [("obligations", &self.duties.obligations), ("advice", &self.duties.advice)] {
            if !duties.is_empty() {
                json.insert(name.into(), duties.iter().map(duty).collect());
            }
        }
        Ok(json.into())
    }
}

/// An obligation or advice, as decisions of SAPL show it.
fn duty(duty: &durward_ir::combine::Duty) -> serde_json::Value {
    let text = |value: &durward_ir::Value| serde_json::from_str(&value.to_json()).unwrap_or_default();
    match duty {
        durward_ir::combine::Duty::Plain(value) => text(value),
        durward_ir::combine::Duty::Named(named) => {
            let attributes: Vec<serde_json::Value> = named
                .assignments
                .iter()
                .map(|assignment| {
                    serde_json::json!({
                        "id": assignment.id.as_str(),
                        "value": assignment.value.lexical(),
                    })
                })
                .collect();
            serde_json::json!({"id": named.id.as_str(), "attributes": attributes})
        }
    }
}

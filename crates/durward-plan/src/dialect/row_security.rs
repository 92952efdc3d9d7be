//! Policies of PostgreSQL's row-level security. They take no parameters: values are written as literals.

use std::fmt;

use super::DialectError;
use super::sql::{Database, quoted};
use crate::columns::Columns;
use crate::plan::Plan;

/// A plan that cannot be a policy of row-level security.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowSecurityError {
    /// Something goes along with the decision, which a database does not do.
    Obligations,
    /// The database has no words for the filter.
    Dialect(DialectError),
}

impl fmt::Display for RowSecurityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowSecurityError::Obligations => {
                f.write_str("the decision has obligations, which row-level security does not fulfil")
            }
            RowSecurityError::Dialect(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RowSecurityError {}

/// The statement that makes policies of a table count. Until then, every role that may read the table reads all of it.
pub fn enable_row_security(table: &[&str]) -> String {
    format!("ALTER TABLE {} ENABLE ROW LEVEL SECURITY;", quoted_table(table))
}

/// The statement that lets a role of PostgreSQL select the rows of a plan, and no others where nothing else lets it and
/// [`enable_row_security`] was said of the table.
///
/// # Errors
/// See [`RowSecurityError`].
pub fn create_policy(
    plan: &Plan,
    columns: &Columns,
    name: &str,
    table: &[&str],
    role: &str,
) -> Result<String, RowSecurityError> {
    if !plan.duties.obligations.is_empty() {
        return Err(RowSecurityError::Obligations);
    }
    let condition =
        plan.filter.to_sql_with_literals(columns, Database::Postgres).map_err(RowSecurityError::Dialect)?;
    Ok(format!(
        "CREATE POLICY {} ON {} FOR SELECT TO {} USING ({condition});",
        quoted(name, '"'),
        quoted_table(table),
        quoted(role, '"'),
    ))
}

fn quoted_table(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name, '"')).collect();
    names.join(".")
}

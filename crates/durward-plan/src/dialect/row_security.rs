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

/// The statement that lets a role of PostgreSQL select the rows of a plan, and no others where nothing else lets it.
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
    let table: Vec<String> = table.iter().map(|part| quoted(part, '"')).collect();
    Ok(format!(
        "CREATE POLICY {} ON {} FOR SELECT TO {} USING ({condition});",
        quoted(name, '"'),
        table.join("."),
        quoted(role, '"'),
    ))
}

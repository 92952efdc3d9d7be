//! Plans and their rows as lines of JSON, for the scripts in `plans/`: what each dialect makes of a plan, and which rows that
//! means.

use durward_pdp::plan::dialect::{Database, Dialect, create_policy};
use durward_pdp::plan::{Cell, Columns, Kind, Plan, Row, Scalar};
use serde_json::{Value as Json, json};

/// The table, its policy and the role that scripts know.
const POLICY: (&str, &[&str], &str) = ("readers", &["t"], "durward_reader");

/// A plan and its rows as JSON, with what each dialect makes of it and which rows that means.
///
/// # Errors
/// A dialect has no words for what it said that it has.
pub fn plan_line(name: &str, plan: &Plan, columns: &Columns, rows: &[Row]) -> Result<Json, String> {
    let cell = |cell: &Cell| match cell {
        Cell::Null => Json::Null,
        Cell::One(scalar) => scalar.to_json(),
        Cell::Many(scalars) => scalars.iter().map(Scalar::to_json).collect(),
    };
    let cells: Vec<Json> = rows.iter().map(|row| row.0.iter().map(cell).collect()).collect();
    let mut line = json!({"name": name, "columns": columns.all(), "rows": cells});
    for (dialect_name, dialect) in Dialect::ALL {
        let within = plan.within(columns, dialect);
        let expected: Vec<bool> = rows.iter().map(|row| within.matches(row)).collect();
        let written = within.to_json(columns, dialect);
        let written = written.map_err(|error| format!("{name}: {dialect_name}: {error}\n{within:#?}"))?;
        let mut said = json!({"expect": expected, "plan": written});
        if let Some(superset) = &within.superset {
            said["may"] = rows.iter().map(|row| superset.matches(row)).collect();
        }
        if dialect == Dialect::Sql(Database::Postgres) {
            let (policy, table, role) = POLICY;
            said["policy"] = create_policy(&within, columns, policy, table, role).ok().into();
        }
        line[dialect_name] = said;
    }
    Ok(line)
}

/// Whether a plan has something to ask a database.
pub fn is_filter(plan: &Plan) -> bool {
    plan.kind == Kind::Filter || plan.superset.is_some()
}

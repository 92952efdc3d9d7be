//! Plans and their rows as lines of JSON, for the scripts in `plans/`: what each dialect makes of a plan, and which rows that
//! means.

use std::fmt;

use durward_pdp::plan::dialect::{Database, Dialect, DialectError, create_policy};
use durward_pdp::plan::{Cell, Columns, Kind, Plan, Row, Scalar};
use serde_json::{Map, Value as Json, json};

/// The table, its policy and the role that scripts know.
const POLICY: (&str, &[&str], &str) = ("readers", &["t"], "durward_reader");

/// A dialect had no words for what it said that it has.
#[derive(Debug)]
pub struct PlanLineError {
    /// The case, or nothing for a random plan.
    pub name: String,
    /// What `durward plan --dialect` calls it.
    pub dialect: &'static str,
    /// The plan within the dialect.
    pub within: Box<Plan>,
    /// What the dialect said.
    pub source: DialectError,
}

impl fmt::Display for PlanLineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PlanLineError { name, dialect, within, source } = self;
        write!(f, "{name}: {dialect}: {source}\n{within:#?}")
    }
}

impl std::error::Error for PlanLineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A plan and its rows as JSON, with what each dialect makes of it and which rows that means.
///
/// # Errors
/// A dialect has no words for what it said that it has.
pub fn plan_line(name: &str, plan: &Plan, columns: &Columns, rows: &[Row]) -> Result<Json, PlanLineError> {
    let cell = |cell: &Cell| match cell {
        Cell::Null => Json::Null,
        Cell::One(scalar) => scalar.to_json(),
        Cell::Many(scalars) => scalars.iter().map(Scalar::to_json).collect(),
    };
    let cells: Vec<Json> = rows.iter().map(|row| row.0.iter().map(cell).collect()).collect();
    let mut line = Map::new();
    line.insert("name".into(), name.into());
    line.insert("columns".into(), json!(columns.all()));
    line.insert("rows".into(), cells.into());
    for (dialect_name, dialect) in Dialect::ALL {
        let within = plan.within(columns, dialect);
        let mut said = Map::new();
        said.insert("expect".into(), rows.iter().map(|row| within.matches(row)).collect());
        if let Some(superset) = &within.superset {
            said.insert("may".into(), rows.iter().map(|row| superset.matches(row)).collect());
        }
        if dialect == Dialect::Sql(Database::Postgres) {
            let (policy, table, role) = POLICY;
            said.insert("policy".into(), create_policy(&within, columns, policy, table, role).ok().into());
        }
        match within.to_json(columns, dialect) {
            Ok(written) => said.insert("plan".into(), written),
            Err(source) => {
                return Err(PlanLineError {
                    name: name.into(),
                    dialect: dialect_name,
                    within: Box::new(within),
                    source,
                });
            }
        };
        line.insert(dialect_name.into(), said.into());
    }
    Ok(line.into())
}

/// Whether a plan has something to ask a database.
pub fn is_filter(plan: &Plan) -> bool {
    plan.kind == Kind::Filter || plan.superset.is_some()
}

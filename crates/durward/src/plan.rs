//! `durward plan`: which rows of a table are permitted, as a filter for the database.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use durward_pdp::Value;
use durward_pdp::ir::value::ObjectBuilder;
use durward_pdp::plan::dialect::{Dialect, create_policy, enable_row_security};
use durward_pdp::plan::{Columns, Kind, Plan, Scalar};
use durward_pdp::sapl::Subscription;

use crate::decide::subscription::SubscriptionArguments;
use crate::failure::{CommandError, CommandResult, SUCCESS};
use crate::policies::PolicyArguments;
use crate::to_stdout;

const EXAMPLES: &str = "\
Examples:
  durward plan --policies policies/ -s '{\"id\":\"ada\"}' -a '\"read\"' --resource-type record --columns records.toml --json
  durward plan --policies policies/ -s '\"ada\"' -a '\"read\"' --columns records.toml --dialect sqlite
  durward plan --policies policies/ -s '\"ada\"' -a '\"read\"' --columns records.toml --rls records --role ada

The answer of --json is {\"kind\": \"all|none|filter\", \"exact\": .., \"filter\": .., \"parameters\": [..]}. Every row that the
filter selects is permitted. `exact` says that no other row is; if it is false, rows of `superset` that the filter does not
select are to be decided one by one, and `reasons` says what a filter cannot express. `obligations` hold for every row
of the filter.

A file of columns names them, and says how policies read them:
  unlisted = \"unknown\"        # or absent: attributes without a column are not there

  [[column]]
  name = \"owner\"              # the column; path = \"..\" if policies call it otherwise
  type = \"text\"               # text, boolean, integer, decimal, double
  nulls = \"absent\"            # never, absent (NULL is undefined), null (NULL is null)
  collation = \"binary\"        # or other: texts are compared byte by byte all the same
  many = false                # true: an array of JSON

Exit codes: 0 planned, 2 bad input.";

/// Plan which rows are permitted: a filter for a database
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(mut_arg("subject", |subject| subject.required(true)))]
#[command(mut_arg("action", |action| action.required(true)))]
#[command(mut_arg("resource", |resource| resource.help("What is known of all rows, as a JSON object")))]
pub(crate) struct Arguments {
    #[command(flatten)]
    policies: PolicyArguments,
    #[command(flatten)]
    subscription: SubscriptionArguments,
    /// The type of all rows: the attribute `type` of the resource
    #[arg(long, value_name = "NAME")]
    resource_type: Option<String>,
    /// The columns, and how policies read them
    #[arg(long, value_name = "FILE.toml")]
    columns: PathBuf,
    /// The dialect of the filter: sqlite, postgres, mariadb, mongo, ucast, cerbos or sapl
    #[arg(long, value_name = "NAME", default_value = "postgres", value_parser = dialect)]
    dialect: Dialect,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
    /// Print ALTER TABLE and CREATE POLICY for this table of PostgreSQL, for row-level security
    #[arg(long, value_name = "TABLE", requires = "role", conflicts_with = "json")]
    rls: Option<String>,
    /// The role of the database that the policy is for
    #[arg(long, value_name = "ROLE", requires = "rls")]
    role: Option<String>,
}

fn dialect(name: &str) -> Result<Dialect, String> {
    let names = || Dialect::ALL.map(|(name, _)| name).join(", ");
    Dialect::named(name).ok_or_else(|| format!("there are {}", names()))
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let columns = read_columns(&arguments.columns)?;
    let texts = arguments.policies.read()?;
    let pdp = arguments.policies.prepare().policies(texts).build();
    let pdp = pdp.map_err(|errors| CommandError::policies(&errors))?;
    let [subject, action, resource, environment] = arguments.subscription.parts()?;
    let resource = with_type(resource, arguments.resource_type.as_deref())?;
    let subscription = Subscription::new(subject, action, resource, environment);
    let plan = pdp.plan(&subscription, &columns).map_err(|error| CommandError::new(error.to_string()))?;
    let plan = plan.within(&columns, arguments.dialect);
    let text = match (&arguments.rls, &arguments.role) {
        (Some(table), Some(role)) => row_security(&plan, &columns, table, role)?,
        _ if arguments.json => format!("{}\n", as_json(&plan, &columns, arguments.dialect)?),
        _ => in_words(&plan, &columns, arguments.dialect)?,
    };
    to_stdout(&text)?;
    Ok(ExitCode::from(SUCCESS))
}

fn read_columns(path: &Path) -> Result<Columns, CommandError> {
    let text = std::fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let columns: Columns = toml::from_str(&text)
        .map_err(|error| CommandError::new(error.to_string().trim_end().to_owned()).at(path))?;
    columns.checked().map_err(|error| CommandError::new(error.to_string()).at(path))
}

/// What is known of all rows, with their type.
fn with_type(resource: Value, name: Option<&str>) -> Result<Value, CommandError> {
    if resource.as_object().is_none() && !resource.is_undefined() {
        return Err(CommandError::new("--resource is no object")
            .hint("say what is known of all rows, such as --resource '{\"type\":\"record\"}'"));
    }
    let Some(name) = name else { return Ok(resource) };
    let mut object = ObjectBuilder::new();
    for (key, value) in resource.as_object().iter().flat_map(|object| object.iter()) {
        object.insert(key.clone(), value.clone());
    }
    object.insert("type", Value::text(name));
    Ok(Value::Object(object.finish().into()))
}

fn as_json(plan: &Plan, columns: &Columns, dialect: Dialect) -> Result<serde_json::Value, CommandError> {
    plan.to_json(columns, dialect).map_err(|error| CommandError::new(error.to_string()))
}

fn row_security(plan: &Plan, columns: &Columns, table: &str, role: &str) -> Result<String, CommandError> {
    let parts: Vec<&str> = table.split('.').collect();
    let name = format!("durward {}", parts.last().copied().unwrap_or(table));
    let policy = create_policy(plan, columns, &name, &parts, role);
    let with_table = |policy: String| format!("{}\n{policy}\n", enable_row_security(&parts));
    policy.map(with_table).map_err(|error| CommandError::new(error.to_string()))
}

fn in_words(plan: &Plan, columns: &Columns, dialect: Dialect) -> Result<String, CommandError> {
    let mut text = String::from(match (plan.kind, plan.exact) {
        (Kind::All, true) => "all rows are permitted\n",
        (Kind::All, false) => "all rows are permitted, and the plan is not exact\n",
        (Kind::None, true) => "no row is permitted\n",
        (Kind::None, false) => "no row can be said to be permitted, and some may be: the plan is not exact\n",
        (Kind::Filter, true) => "the rows of this filter are permitted, and no others\n",
        (Kind::Filter, false) => {
            "the rows of this filter are permitted, and maybe others: the plan is not exact\n"
        }
    });
    if plan.kind == Kind::Filter {
        let written =
            plan.filter.write(columns, dialect).map_err(|error| CommandError::new(error.to_string()))?;
        match written.filter.as_str() {
            Some(condition) => text.push_str(condition),
            None => text.push_str(&written.filter.to_string()),
        }
        text.push('\n');
        for (at, value) in written.parameters.iter().map(Scalar::to_json).enumerate() {
            text.push_str(&format!("parameter {}: {value}\n", at + 1));
        }
    }
    for reason in &plan.reasons {
        text.push_str(&format!("not exact because {reason}\n"));
    }
    if !plan.duties.obligations.is_empty() {
        text.push_str("with obligations: --json shows them\n");
    }
    Ok(text)
}

//! Casbin. Argument: the folder with `model.conf`, `policy.csv` and `requests.jsonl`.
//!
//! `Enforcer::enforce` alone is measured, with values converted before. `CachedEnforcer` is not used: it remembers
//! decisions, and every question is asked again and again here.

#[path = "../common/harness.rs"]
mod harness;

use casbin::function_map::OperatorFunction;
use casbin::rhai::{Dynamic, ImmutableString};
use casbin::{CoreApi, DefaultModel, DefaultRoleManager, Enforcer, FileAdapter};
use harness::{Engine, Failure};
use parking_lot::RwLock;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// How deep roles may lie in each other: by default ten, which is too little for folders.
const ROLE_DEPTH_MAX: usize = 100;

struct Casbin {
    enforcer: Enforcer,
}

impl Engine for Casbin {
    type Request = Vec<Dynamic>;

    /// A line is an array of strings and integers, one for each name in the model's `request_definition`.
    fn parse(&self, line: &str) -> Result<Vec<Dynamic>, Failure> {
        let values: Vec<serde_json::Value> = serde_json::from_str(line)?;
        values.into_iter().map(value).collect()
    }

    fn decide(&self, request: &Vec<Dynamic>) -> Result<&'static str, Failure> {
        Ok(if self.enforcer.enforce(request.clone())? { "Permit" } else { "Deny" })
    }
}

fn value(value: serde_json::Value) -> Result<Dynamic, Failure> {
    match value {
        serde_json::Value::String(text) => Ok(text.into()),
        serde_json::Value::Number(number) => Ok(i32::try_from(number.as_i64().ok_or("no integer")?)?.into()),
        other => Err(format!("`{other}` is neither a string nor an integer").into()),
    }
}

/// `read` is one of `read/write`: a line for each policy instead of one for each policy and action.
fn is_one_of(action: Dynamic, actions: Dynamic) -> Dynamic {
    let (action, actions) = (action.cast::<ImmutableString>(), actions.cast::<ImmutableString>());
    actions.split('/').any(|one| one == action.as_str()).into()
}

async fn enforcer(folder: &Path) -> Result<Enforcer, Failure> {
    let model = DefaultModel::from_file(folder.join("model.conf")).await?;
    // Policies are loaded once the role manager is there.
    let mut enforcer = Enforcer::new_raw(model, FileAdapter::new(folder.join("policy.csv"))).await?;
    enforcer.set_role_manager(Arc::new(RwLock::new(DefaultRoleManager::new(ROLE_DEPTH_MAX))))?;
    enforcer.add_function("isOneOf", OperatorFunction::Arg2(is_one_of));
    enforcer.load_policy().await?;
    Ok(enforcer)
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).ok_or("the argument is a folder")?;
    let folder = Path::new(&folder);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let casbin = Casbin { enforcer: runtime.block_on(enforcer(folder))? };
    harness::run(&casbin, &fs::read_to_string(folder.join("requests.jsonl"))?)
}

//! PATCH (RFC 7644, 3.5.2): the operations of a body, in the forms of the standard, of Okta and of Entra ID.

use serde_json::{Map, Value};

use super::edits::{self, Edit, Op, Unknown};
use super::error::ScimError;
use super::filter::Path;

/// How many operations a request may have.
const OPERATIONS_MAX: usize = 1000;

/// One operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) op: Op,
    /// Nothing where the value is an object that has the attributes.
    pub(super) path: Option<Path>,
    pub(super) value: Option<Value>,
}

/// The operations of a body.
pub(super) fn operations(body: &Map<String, Value>) -> Result<Vec<Operation>, ScimError> {
    let wrong = |why: &str| ScimError::bad("invalidSyntax", why);
    let operations = body.get("operations").and_then(Value::as_array);
    let operations = operations.ok_or_else(|| wrong("`Operations` must be an array"))?;
    if operations.len() > OPERATIONS_MAX {
        return Err(ScimError::bad("tooMany", format!("there are more than {OPERATIONS_MAX} operations")));
    }
    operations.iter().map(operation).collect()
}

fn operation(operation: &Value) -> Result<Operation, ScimError> {
    let wrong = |why: &str| ScimError::bad("invalidSyntax", why);
    let members = operation.as_object().ok_or_else(|| wrong("an operation must be an object"))?;
    // Entra ID writes `Add`, `Replace` and `Remove`.
    let op = match members.get("op").and_then(Value::as_str).map(str::to_ascii_lowercase).as_deref() {
        Some("add") => Op::Add,
        Some("replace") => Op::Replace,
        Some("remove") => Op::Remove,
        Some(_) | None => return Err(wrong("`op` must be `add`, `replace` or `remove`")),
    };
    let path = match members.get("path") {
        None | Some(Value::Null) => None,
        Some(Value::String(path)) => Some(Path::read(path)?),
        Some(_) => return Err(ScimError::bad("invalidPath", "`path` must be a string")),
    };
    let value = members.get("value").cloned();
    match (op, &path, &value) {
        (Op::Remove, None, _) => Err(ScimError::bad("noTarget", "a `remove` needs a `path`")),
        (Op::Add | Op::Replace, _, None) => Err(wrong("`value` is missing")),
        (Op::Add | Op::Replace, None, Some(value)) if !value.is_object() => {
            Err(wrong("without a `path`, `value` must be an object"))
        }
        _ => Ok(Operation { op, path, value }),
    }
}

/// The edits of a user that operations ask for.
pub(super) fn edits(operations: &[Operation]) -> Result<Vec<Edit>, ScimError> {
    let mut all = Vec::new();
    for Operation { op, path, value } in operations {
        all.extend(match (path, value) {
            (Some(path), value) => edits::of_path(*op, path, value.as_ref(), Unknown::Refused)?,
            (None, Some(Value::Object(members))) => edits::of_object(*op, members)?,
            (None, _) => Vec::new(),
        });
    }
    Ok(all)
}

//! What lies beside policies: secrets for attribute finders, and the names of extensions.
//!
//! Secrets are in no message, no log and no decision: whatever is wrong with their file is told without its text.

use std::fmt;
use std::sync::Arc;

use durward_ir::json;
use durward_ir::value::{Object, Value};
use durward_sapl::Problem;
use durward_xacml_policies::policy::PolicyError;

use crate::PolicyText;

/// The object of a `secrets.json`.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<Object>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// # Errors
    /// No JSON, or no object.
    pub(crate) fn read(text: &PolicyText) -> Result<Secrets, PolicyError> {
        let Value::Object(object) = read(text)? else {
            return Err(wrong(text, 1, 1, "secrets are an object, and this is something else"));
        };
        Ok(Secrets(object))
    }

    /// The object, for attribute finders and nobody else.
    pub(crate) fn reveal(&self) -> Value {
        Value::Object(Arc::clone(&self.0))
    }
}

/// Whoever makes policies can demand that whoever uses them knows certain extensions. None are known here.
///
/// # Errors
/// An extension is demanded, or the file is no array of names.
pub(crate) fn check_extensions(text: &PolicyText) -> Result<(), PolicyError> {
    let value = read(text)?;
    let Some(names) = value.as_array() else { return Err(wrong(text, 1, 1, "this is no array of names")) };
    match names.first() {
        None => Ok(()),
        Some(name) => {
            let message = format!("the extension `{}` must be known, and durward knows none", name.lexical());
            Err(wrong(text, 1, 1, &message))
        }
    }
}

fn read(text: &PolicyText) -> Result<Value, PolicyError> {
    // Not why: a reason may quote the text.
    let no_json = |error: json::JsonError| {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        wrong(text, number(error.line), number(error.column), "this is no JSON")
    };
    json::read(&text.text).map_err(no_json)
}

fn wrong(text: &PolicyText, line: u32, column: u32, message: &str) -> PolicyError {
    let Problem { source, message, .. } = Problem::of(&text.name, message.to_owned());
    PolicyError { source, line, column, message, help: None }
}

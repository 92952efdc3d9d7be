//! Variables and attributes on the command line: an object of JSON, or a file that holds one.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use durward_pdp::ir::json;
use durward_pdp::ir::structure::kind_of;
use durward_pdp::ir::value::{Object, Value};
use durward_pdp::sapl::Configuration;

use crate::failure::CommandError;

/// The variables of `--variables`. They are read as those of a `pdp.json` are, numbers as doubles.
pub(super) fn variables(given: Option<&str>) -> Result<Arc<Object>, CommandError> {
    let Some(given) = given else { return Ok(Arc::default()) };
    let (name, text) = text_of("--variables", given)?;
    if Path::new(&name).file_name() == Some(OsStr::new("pdp.json")) {
        let read = Configuration::read(&name, &text);
        let read = read.map_err(|problems| CommandError::all(&problems))?;
        return Ok(Arc::clone(read.variables()));
    }
    object(&name, json::read_configuration(&text))
}

/// The attributes of `--attributes`.
pub(super) fn attributes(given: Option<&str>) -> Result<Arc<Object>, CommandError> {
    let Some(given) = given else { return Ok(Arc::default()) };
    let (name, text) = text_of("--attributes", given)?;
    object(&name, json::read(&text))
}

/// How messages call the text, and the text.
fn text_of(flag: &str, given: &str) -> Result<(String, String), CommandError> {
    if given.trim_start().starts_with('{') {
        return Ok((flag.to_owned(), given.to_owned()));
    }
    let path = Path::new(given);
    let text = fs::read_to_string(path).map_err(|error| {
        let hint = format!("{flag} takes a file, or a JSON object: {flag} '{{\"name\": 1}}'");
        CommandError::unreadable(path, &error).hint(hint)
    })?;
    Ok((given.to_owned(), text))
}

fn object(name: &str, read: Result<Value, json::JsonError>) -> Result<Arc<Object>, CommandError> {
    match read {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => {
            let message = format!("{name}: names and values are an object, not {}", kind_of(&other));
            Err(CommandError::new(message))
        }
        Err(error) => Err(CommandError::new(format!("{name} is no JSON: {error}"))),
    }
}

//! `:doc`: what functions and libraries do, from the tables that the evaluator itself uses.

use std::collections::BTreeSet;

use durward_pdp::ir::near::nearest;
use durward_pdp::library;
use durward_pdp::stream::finders;

use crate::failure::CommandError;

/// The text about a function or a library; without a name, all libraries.
pub(super) fn of(name: &str) -> Result<String, CommandError> {
    let name = name.trim_matches(['<', '>', '|']).trim_end_matches("()");
    if name.is_empty() {
        let libraries: Vec<&str> = libraries().into_iter().collect();
        return Ok(format!("{}\n`:doc LIBRARY` lists its functions", libraries.join(" ")));
    }
    let of_name = library::named(name).iter().copied();
    let of_library = library::all().filter(|function| library_of(function.name) == name);
    let texts: Vec<String> =
        of_name.chain(of_library).map(|function| format!("{function}\n  {}", function.doc)).collect();
    let is_attribute = finders::attributes().iter().any(|attribute| attribute.name == name);
    match (texts.is_empty(), is_attribute) {
        (false, _) => Ok(texts.join("\n")),
        (true, true) => Ok(format!("`<{name}>` is an attribute; docs/sapl-attributes.md describes it")),
        (true, false) => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> CommandError {
    let names = library::all().map(|function| function.name).chain(libraries());
    let hint = match nearest(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`:doc` lists the libraries".to_owned(),
    };
    CommandError::new(format!("there is no function and no library `{name}`")).hint(hint)
}

fn libraries() -> BTreeSet<&'static str> {
    library::all().map(|function| library_of(function.name)).collect()
}

fn library_of(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

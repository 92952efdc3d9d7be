//! Names that must be unique: reports are about names.

use std::collections::HashSet;

use crate::syntax::diagnostic::quote;
use crate::syntax::parser::Parser;
use crate::syntax::tree::Text;

use super::tree::TestFile;

/// Reports every name that is taken already.
pub(super) fn check(file: &TestFile, parser: &mut Parser<'_>) {
    check_names(file.requirements.iter().map(|one| &one.name), "requirement", "file", parser);
    for requirement in &file.requirements {
        check_names(requirement.scenarios.iter().map(|one| &one.name), "scenario", "requirement", parser);
    }
}

fn check_names<'t>(names: impl Iterator<Item = &'t Text>, what: &str, of: &str, parser: &mut Parser<'_>) {
    let mut known = HashSet::new();
    for name in names {
        if !known.insert(&name.text) {
            let message = format!("another {what} of this {of} is called {}", quote(&name.text));
            parser.error(name.span, message, Some("give it another name".to_owned()));
        }
    }
}

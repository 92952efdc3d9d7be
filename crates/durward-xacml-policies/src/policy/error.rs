//! What is wrong with a policy document, said to its author.

use std::fmt;

use durward_ir::near::nearest;
use durward_xacml::wording::quote;
use smol_str::SmolStr;

use crate::tree::XmlLocation;

/// Most problems that are listed for one document: more than an author reads at once, and a bound on the memory that
/// a broken (or hostile) document can take.
const PROBLEMS_MAX: usize = 100;

/// One problem of a policy document. Shown as
/// ``policies/a.xml:12:5: unknown element `Rul` in `Policy`; did you mean `Rule`?``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The name the caller gave the document.
    pub source: SmolStr,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// A way out, where one is known.
    pub help: Option<String>,
}

impl PolicyError {
    /// A problem at a place of one document.
    pub fn at(source: SmolStr, place: XmlLocation, message: String, help: Option<String>) -> PolicyError {
        PolicyError { source, line: place.line, column: place.column, message, help }
    }

    /// A problem of all documents together, which has no place: `source` is empty, line and column are 0.
    pub fn of_all(message: String, help: Option<String>) -> PolicyError {
        PolicyError { source: SmolStr::default(), line: 0, column: 0, message, help }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.source.is_empty() {
            write!(f, "{}:{}:{}: ", self.source, self.line, self.column)?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PolicyError {}

/// The problems of one document, as they are found.
pub(super) struct Problems {
    source: SmolStr,
    found: Vec<PolicyError>,
}

impl Problems {
    pub(super) fn new(source: &str) -> Problems {
        Problems { source: source.into(), found: Vec::new() }
    }

    pub(super) fn report(&mut self, place: XmlLocation, message: String, help: Option<String>) {
        if !self.is_full() {
            self.report_last(place, message, help);
        }
    }

    /// Reports the problem that ends the reading; for it there is always room.
    pub(super) fn report_last(&mut self, place: XmlLocation, message: String, help: Option<String>) {
        self.found.push(PolicyError::at(self.source.clone(), place, message, help));
    }

    /// Whether there is no room for more: reading on tells the author nothing.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= PROBLEMS_MAX
    }

    pub(super) fn source(&self) -> &SmolStr {
        &self.source
    }

    /// The problems in the order of the document.
    pub(super) fn into_sorted(mut self) -> Vec<PolicyError> {
        self.found.sort_by_key(|problem| (problem.line, problem.column));
        self.found
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// "`a`, `b` or `c`".
pub(super) fn list(names: &[&str]) -> String {
    let mut text = String::new();
    for (index, name) in names.iter().enumerate() {
        text.push_str(match index {
            0 => "",
            last if last + 1 == names.len() => " or ",
            _ => ", ",
        });
        text.push_str(&quote(name));
    }
    text
}

/// "did you mean ...?", if one of the names is near enough to be meant.
pub(super) fn suggestion<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(word, names).map(|name| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_in_backticks() {
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}

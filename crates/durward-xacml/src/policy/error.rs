//! What is wrong with a policy document, said to its author.

use std::fmt;

use smol_str::SmolStr;

use crate::tree::Place;

/// Most problems listed for one document: more than an author reads at once, and a bound on what a broken
/// (or hostile) document can make us keep.
const PROBLEMS_MAX: usize = 100;

/// Longest piece of the document quoted in a message, in characters.
const QUOTE_LENGTH_MAX: usize = 60;

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
    pub fn at(source: SmolStr, place: Place, message: String, help: Option<String>) -> PolicyError {
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

    pub(super) fn report(&mut self, place: Place, message: String, help: Option<String>) {
        if !self.is_full() {
            self.report_last(place, message, help);
        }
    }

    /// Reports the problem that ends the reading; for it there is always room.
    pub(super) fn report_last(&mut self, place: Place, message: String, help: Option<String>) {
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

/// A piece of the document in backticks, shortened and on one line.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from("`");
    let mut characters = text.chars();
    quoted.extend(characters.by_ref().take(QUOTE_LENGTH_MAX).map(|c| if c.is_control() { ' ' } else { c }));
    if characters.next().is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted
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
    let near_enough = 1 + word.len() / 4;
    let near =
        names.into_iter().map(|name| (distance(word, name), name)).filter(|(far, _)| *far <= near_enough);
    near.min_by_key(|(far, _)| *far).map(|(_, name)| format!("did you mean `{name}`?"))
}

/// The number of letters to insert, remove or change, letter case not counted. Names longer than any of the
/// schema are simply far.
fn distance(word: &str, name: &str) -> usize {
    if word.len() > QUOTE_LENGTH_MAX {
        return usize::MAX;
    }
    let name: Vec<u8> = name.bytes().map(|byte| byte.to_ascii_lowercase()).collect();
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (index, byte) in word.bytes().map(|byte| byte.to_ascii_lowercase()).enumerate() {
        let mut diagonal = index;
        let mut left = index + 1;
        for (above, other) in row.iter_mut().skip(1).zip(&name) {
            let changed = diagonal + usize::from(byte != *other);
            diagonal = *above;
            left = changed.min(left + 1).min(diagonal + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_insertions_removals_and_changes() {
        for (word, name, far) in
            [("Rule", "Rule", 0), ("rule", "Rule", 0), ("Rul", "Rule", 1), ("Ruule", "Rule", 1)]
        {
            assert_eq!(distance(word, name), far, "{word} {name}");
        }
        assert_eq!(distance("", "Rule"), 4);
        assert_eq!(distance("Rule", ""), 4);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn only_a_near_name_is_suggested() {
        let names = ["Rule", "Target", "AttributeDesignator"];
        assert_eq!(suggestion("Targte", names).as_deref(), Some("did you mean `Target`?"));
        assert_eq!(
            suggestion("AttributeDesignater", names).as_deref(),
            Some("did you mean `AttributeDesignator`?")
        );
        assert_eq!(suggestion("Elephant", names), None);
        assert_eq!(suggestion(&"R".repeat(1000), names), None);
    }

    #[test]
    fn quotes_are_short_and_on_one_line() {
        assert_eq!(quote("a\nb"), "`a b`");
        assert_eq!(quote(&"x".repeat(100)).chars().count(), 63);
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}

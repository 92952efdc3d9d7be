//! What is wrong with a scenario, in the author's words and with the line.

use std::fmt;

/// Why a scenario cannot be run as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The line, from 1; `None` where the whole is meant.
    pub line: Option<usize>,
    /// The key or the step, as the author wrote it; empty where the whole is meant.
    pub key: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl ScenarioError {
    /// An error at a key or step.
    pub fn at(key: impl Into<String>, problem: impl Into<String>) -> ScenarioError {
        ScenarioError { line: None, key: key.into(), problem: problem.into() }
    }

    /// Says in which line it is.
    #[must_use]
    pub fn in_line(self, line: usize) -> ScenarioError {
        ScenarioError { line: Some(line), ..self }
    }

    /// What the reader of TOML says, with the nearest of the names that are allowed.
    pub(super) fn of_toml(text: &str, error: &toml::de::Error) -> ScenarioError {
        let line = error.span().map(|span| line_at(text, span.start));
        let message = error.message();
        let (key, problem) = match unknown(message) {
            Some((word, allowed)) => (word.to_owned(), unknown_problem(word, &allowed)),
            None => (String::new(), in_words(message)),
        };
        ScenarioError { line, key, problem }
    }
}

/// The reader names what it expected by types of Rust.
fn in_words(message: &str) -> String {
    let text = message.replace('\n', "; ");
    let Some((before, expected)) = text.rsplit_once("expected ") else { return text };
    match expected {
        "u64" | "u32" | "u16" | "usize" => format!("{before}expected a whole number from 0 on"),
        "f64" => format!("{before}expected a number"),
        _ => text,
    }
}

/// The line, from 1, of a place in a text.
pub(super) fn line_at(text: &str, place: usize) -> usize {
    text.bytes().take(place).filter(|byte| *byte == b'\n').count() + 1
}

/// The word that is unknown, and those that are allowed, of a message such as "unknown field `usres`, expected one of `users`, `think`".
fn unknown(message: &str) -> Option<(&str, Vec<&str>)> {
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let mut words = message.split('`').skip(1).step_by(2);
    let word = words.next()?;
    is_unknown.then(|| (word, words.collect()))
}

/// What to say of a word that is none of these.
pub(super) fn unknown_problem(word: &str, allowed: &[&str]) -> String {
    match nearest(word, allowed.iter().copied()) {
        Some(near) => format!("is unknown; did you mean `{near}`?"),
        None => format!("is unknown; there are: {}", allowed.join(", ")),
    }
}

/// The name that a word was meant to be: a third of its letters may be wrong.
pub(super) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // The lab knows nothing of policies, and so not the distance that `durward-ir` has for their authors; this one is in the binary for flags.
    let far = |name: &'n str| (strsim::damerau_levenshtein(word, name), name);
    names.map(far).filter(|(far, _)| *far <= word.len().div_ceil(3)).min().map(|(_, name)| name)
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if self.key.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "`{}` {}", self.key, self.problem)
        }
    }
}

impl std::error::Error for ScenarioError {}

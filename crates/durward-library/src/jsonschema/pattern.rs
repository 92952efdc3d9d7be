//! Regular expressions of `pattern` and `patternProperties`.

use std::fmt;

use durward_ir::fault::{Evaluated, Fault};
use smol_str::SmolStr;

/// How often a search may go back before it is given up: some hundred milliseconds, whatever the pattern.
const BACKTRACKS_MAX: usize = 1_000_000;

/// A compiled pattern, which matches when it is found anywhere in a text.
#[derive(Clone)]
pub(super) struct Pattern {
    text: SmolStr,
    regex: Box<fancy_regex::Regex>,
}

impl Pattern {
    pub(super) fn compile(text: &str) -> Evaluated<Pattern> {
        let regex = fancy_regex::RegexBuilder::new(text).backtrack_limit(BACKTRACKS_MAX).build();
        let regex = regex
            .map_err(|error| Fault::processing(format!("`{text}` is no regular expression: {error}")))?;
        Ok(Pattern { text: text.into(), regex: Box::new(regex) })
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is found in the text.
    ///
    /// # Errors
    /// The search goes back too often.
    pub(super) fn is_found(&self, text: &str) -> Evaluated<bool> {
        self.regex.is_match(text).map_err(|_| {
            Fault::processing(format!("matching `{}` takes longer than its time budget", self.text))
        })
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

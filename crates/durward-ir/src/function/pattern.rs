//! Regular expressions (placeholder until the dialect is translated).

/// A compiled regular expression.
#[derive(Debug, Clone)]
pub struct Pattern(regex::Regex);

impl Pattern {
    /// Compiles.
    ///
    /// # Errors
    /// Not a pattern.
    pub fn compile(pattern: &str) -> Result<Pattern, String> {
        regex::Regex::new(pattern).map(Pattern).map_err(|error| error.to_string())
    }
    /// Whether it occurs in the text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

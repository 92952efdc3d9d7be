//! Regular expressions of `pattern` and `patternProperties`: those of Java, as SAPL's validator has them.

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::structure::regex::Regex;

/// A compiled pattern, which matches when it is found anywhere in a text.
#[derive(Clone, Debug)]
pub(super) struct SchemaPattern(Regex);

impl SchemaPattern {
    pub(super) fn compile(text: &str) -> Evaluated<SchemaPattern> {
        Regex::compile(text).map(SchemaPattern).map_err(|error| Fault::processing(error.to_string()))
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether it is found in the text.
    ///
    /// # Errors
    /// The search goes back too often.
    pub(super) fn is_found(&self, text: &str) -> Evaluated<bool> {
        self.0.is_found(text)
    }
}

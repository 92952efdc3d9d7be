//! Laying a text out for people: the same words in the same order, every comment kept, blanks and line ends chosen
//! anew.
//!
//! The tree says where lines may end, the words and comments of the text are what is written between: nothing can get
//! lost. A comment stays at the end of its line, or on lines of its own, as its author put it. Blank lines between
//! statements are kept, one of several.

mod document;
mod expression;
mod layout;
mod writer;

use super::diagnostic::{Diagnostic, Severity};
use super::parser::parse;
use writer::Writer;

/// A document, laid out: four blanks a level, lines of at most 100 characters where the words allow it, a line feed
/// at the end. Formatting again changes nothing, and the tree is the same but for places.
///
/// ```
/// use durward_sapl::syntax::format;
///
/// let text = "policy \"a\" permit subject.role==\"doctor\";// doctors only\n obligation {\"log\":true}";
/// assert_eq!(
///     format(text).as_deref(),
///     Ok("policy \"a\"\npermit\n    subject.role == \"doctor\"; // doctors only\nobligation\n    { \"log\": true }\n")
/// );
/// ```
///
/// # Errors
/// What is wrong with the text, where anything is: its words could mean something else than its author thinks.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let mut parsed = parse(text);
    if parsed.has_errors() {
        parsed.diagnostics.retain(|diagnostic| diagnostic.severity == Severity::Error);
        return Err(parsed.diagnostics);
    }
    let mut writer = Writer::new(text);
    writer.document(&parsed.tree);
    Ok(layout::lay_out(writer.finish()))
}

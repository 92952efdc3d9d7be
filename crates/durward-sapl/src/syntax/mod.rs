//! The language as text: from characters to a tree with places, and back.
//!
//! [`parse`] gives a [`tree`] and [`Diagnostic`]s for any text, [`Names`] says which functions and attributes the
//! names in a tree mean, [`print`] and [`format`] give text again.

mod diagnostic;
mod entry;
mod escape;
mod format;
mod lexer;
mod limits;
mod names;
#[expect(clippy::wildcard_enum_match_arm, reason = "what the grammar does not name is refused")]
mod parser;
mod print;
pub mod sapltest;
mod span;
mod token;
pub mod tree;
mod walk;

pub(crate) use diagnostic::quote;
pub use diagnostic::{Diagnostic, Severity};
pub use entry::{is_blank, is_open, starts_document};
pub use format::format;
pub use limits::{
    DIAGNOSTICS_MAX, DOCUMENT_BYTES_MAX, EXPRESSION_DEPTH_MAX, NUMBER_CHARACTERS_MAX, NUMBER_SCALE_MAX,
};
pub use names::Names;
pub use parser::{Parsed, parse, parse_expression, parse_variable};
pub use print::{print, print_expression};
pub use span::{LineColumn, LineIndex, Span};
pub use token::KEYWORDS;

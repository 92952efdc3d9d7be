//! Reports: for a terminal, as pages, for other tools. Each is a function from the results to a text.

mod html;
mod junit;
mod sonar;
mod text;

use durward_pdp::ir::direction::bears_on_direction;
pub use html::{ReportPage, pages};
pub use junit::{JunitCase, JunitOutcome, JunitProblem, JunitSuite, junit, junit_suites};
pub use sonar::sonar;
pub use text::{coverage, scenarios};

/// A text within markup: whatever could begin a tag, an entity or end an attribute is written as an entity, and characters
/// that no page may hold are left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            hidden if hidden.is_control() || bears_on_direction(hidden) => {
                out.push(char::REPLACEMENT_CHARACTER)
            }
            '\u{FFFE}' | '\u{FFFF}' => out.push(char::REPLACEMENT_CHARACTER),
            shown => out.push(shown),
        }
    }
    out
}

//! Reports: for a terminal, as pages, for other tools. Each is a function from what came to a text.

mod html;
mod sonar;
mod text;

pub use html::{Page, pages};
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
            hidden if hidden.is_control() || turns_direction(hidden) => out.push(char::REPLACEMENT_CHARACTER),
            '\u{FFFE}' | '\u{FFFF}' => out.push(char::REPLACEMENT_CHARACTER),
            shown => out.push(shown),
        }
    }
    out
}

/// Whether a character would make a text read differently from what it says.
pub(crate) fn turns_direction(character: char) -> bool {
    matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

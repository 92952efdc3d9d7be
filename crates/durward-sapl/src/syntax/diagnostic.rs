//! What is wrong with a text, said to its author.

use std::fmt::Write;

use durward_ir::direction::bears_on_direction;

use super::limits::DIAGNOSTICS_MAX;
use super::{LineIndex, Span};

/// Longest piece of a text quoted in a message, in characters.
const QUOTE_LENGTH_MAX: usize = 40;

/// Most characters of a source line shown below a message.
const LINE_LENGTH_SHOWN: usize = 120;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// The document is refused.
    Error,
    /// The document is taken, but hardly means what its author meant.
    Warning,
}

/// One thing to say about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What it is about.
    pub span: Span,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: lower case, without full stop.
    pub message: String,
    /// A way out, where one is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(span: Span, message: impl Into<String>, help: Option<String>) -> Diagnostic {
        Diagnostic { span, severity: Severity::Error, message: message.into(), help }
    }

    /// A warning at a place.
    pub fn warning(span: Span, message: impl Into<String>, help: Option<String>) -> Diagnostic {
        Diagnostic { span, severity: Severity::Warning, message: message.into(), help }
    }

    /// The diagnostic for a terminal: place, message, the line of the text with the piece in question marked, and
    /// the way out.
    ///
    /// `name` is what the reader calls the text, `text` and `lines` are the text itself and its lines. Characters
    /// that steer a terminal or turn the direction of writing are shown as a blank or as a replacement character.
    ///
    /// ```
    /// use durward_sapl::syntax::{LineIndex, parse};
    ///
    /// let text = "policy \"a\"\npermit\n    resource.policy == 1;";
    /// let problem = &parse(text).diagnostics[0];
    /// assert_eq!(
    ///     problem.render("a.sapl", text, &LineIndex::new(text)),
    ///     "a.sapl:3:14: error: `policy` is a keyword and cannot be a key after `.`
    ///   |
    /// 3 |     resource.policy == 1;
    ///   |              ^^^^^^
    /// help: write .`policy` with backticks, or [\"policy\"]
    /// "
    /// );
    /// ```
    pub fn render(&self, name: &str, text: &str, lines: &LineIndex) -> String {
        let place = lines.place(text, self.span.start);
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut out = format!("{name}:{}:{}: {severity}: {}\n", place.line, place.column, self.message);
        let number = place.line.to_string();
        let (line, marks) = excerpt(self.span, text, lines);
        let margin = " ".repeat(number.len());
        // Writing to a `String` cannot fail.
        let _ = write!(out, "{margin} |\n{number} | {line}\n{margin} | {marks}\n");
        if let Some(help) = &self.help {
            let _ = writeln!(out, "help: {help}");
        }
        out
    }
}

/// The line a span starts on, cut to a bearable length around its start, and the marks below it.
fn excerpt(span: Span, text: &str, lines: &LineIndex) -> (String, String) {
    let whole = lines.line_of(span.start);
    let line = whole.text(text).trim_end_matches(['\r', '\n']);
    let before = text.get(whole.start as usize..span.start as usize).unwrap_or_default().chars().count();
    let marked = span.text(text).lines().next().unwrap_or_default().chars().count().max(1);
    let skipped = before.saturating_sub(LINE_LENGTH_SHOWN / 2);
    let mut shown: String = line.chars().skip(skipped).take(LINE_LENGTH_SHOWN).map(harmless).collect();
    if skipped > 0 {
        shown.insert_str(0, "... ");
    }
    let indent = before - skipped + if skipped > 0 { 4 } else { 0 };
    let marks = " ".repeat(indent) + &"^".repeat(marked.min(LINE_LENGTH_SHOWN / 2));
    (shown.trim_end().to_owned(), marks)
}

/// The character, or what is shown for one that would do something to the reader's screen.
fn harmless(character: char) -> char {
    if character.is_control() {
        ' '
    } else if bears_on_direction(character) {
        char::REPLACEMENT_CHARACTER
    } else {
        character
    }
}

/// The diagnostics of one text, as they are found.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<Diagnostic>,
}

impl Problems {
    /// Reports an error, if there is room.
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        if !self.is_full() {
            self.found.push(Diagnostic::error(span, message, help));
        }
    }

    /// Reports a warning, if there is room: half of it is kept for errors.
    pub(super) fn warning(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        if self.found.len() < DIAGNOSTICS_MAX / 2 {
            self.found.push(Diagnostic::warning(span, message, help));
        }
    }

    /// Whether reading on tells the author nothing.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= DIAGNOSTICS_MAX
    }

    /// The diagnostics in the order of the text.
    pub(super) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|problem| problem.span.start);
        self.found
    }
}

/// A piece of a text in backticks, shortened and on one line.
pub(crate) fn quote(text: &str) -> String {
    let mut characters = text.chars();
    let mut quoted = String::from("`");
    quoted.extend(characters.by_ref().take(QUOTE_LENGTH_MAX).map(harmless));
    quoted.push_str(if characters.next().is_some() { "…`" } else { "`" });
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(span: Span, text: &str) -> String {
        Diagnostic::error(span, "no", None).render("x", text, &LineIndex::new(text))
    }

    #[test]
    fn columns_count_characters_and_marks_stand_below_them() {
        assert_eq!(
            rendered(Span::new(6, 8), "\n\"ü\" ab"),
            "x:2:5: error: no\n  |\n2 | \"ü\" ab\n  |     ^^\n"
        );
    }

    #[test]
    fn the_end_of_a_text_is_a_place() {
        assert_eq!(rendered(Span::new(2, 2), "ab"), "x:1:3: error: no\n  |\n1 | ab\n  |   ^\n");
        assert_eq!(rendered(Span::new(3, 3), "ab\n"), "x:2:1: error: no\n  |\n2 | \n  | ^\n");
        assert_eq!(rendered(Span::new(0, 0), ""), "x:1:1: error: no\n  |\n1 | \n  | ^\n");
    }

    #[test]
    fn a_span_of_several_lines_is_marked_on_its_first() {
        assert_eq!(rendered(Span::new(1, 5), "abc\r\nd"), "x:1:2: error: no\n  |\n1 | abc\n  |  ^^\n");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}!{}", "a".repeat(1000), "b".repeat(1000));
        let shown = rendered(Span::new(1000, 1001), &text);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[2].len(), "1 | ... ".len() + LINE_LENGTH_SHOWN);
        assert_eq!(lines[2].find('!'), lines[3].find('^'));
    }

    #[test]
    fn nothing_in_a_text_reaches_the_terminal_as_a_command() {
        let shown = rendered(Span::new(0, 1), "\u{1b}[31m\u{202E}x");
        assert!(!shown.contains(['\u{1b}', '\u{202E}']), "{shown:?}");
        assert_eq!(quote("a\u{7}\u{2066}\nb"), "`a \u{FFFD} b`");
    }
}

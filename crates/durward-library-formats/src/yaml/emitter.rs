//! Writes what documents are made of, and breaks long texts as the emitter of the Java engine does. What decides it is
//! how the emitter counts, so columns and places are in UTF-16 code units here.

use super::read::is_printable;
use durward_functions::jvm;

/// The column behind which long texts go on in the next line.
const WIDTH: usize = 80;
/// How many columns what is nested moves to the right.
const STEP: usize = 2;

/// A document that is being written.
pub(super) struct YamlEmitter {
    out: String,
    column: usize,
    /// How far the current collection or scalar is to the right; `None` around the whole.
    indent: Option<usize>,
    /// Whether the last character is white space.
    whitespace: bool,
    /// Whether there are only white space and indicators in the line.
    indention: bool,
}

impl YamlEmitter {
    pub(super) const fn new() -> YamlEmitter {
        YamlEmitter { out: String::new(), column: 0, indent: None, whitespace: true, indention: true }
    }

    /// What was written.
    pub(super) fn text(&self) -> &str {
        &self.out
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Whether there are only white space and indicators in the line.
    pub(super) const fn is_line_open(&self) -> bool {
        self.indention
    }

    /// Writes what is further to the right; collections begin at the left.
    pub(super) fn nested<T>(&mut self, start: usize, write: impl FnOnce(&mut YamlEmitter) -> T) -> T {
        let outer = self.indent;
        self.indent = Some(outer.map_or(start, |indent| indent + STEP));
        let written = write(self);
        self.indent = outer;
        written
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += jvm::length(text);
    }

    /// An indicator, behind a space unless there is one.
    pub(super) fn indicator(&mut self, indicator: &str) {
        if !self.whitespace {
            self.push(" ");
        }
        self.push(indicator);
        self.whitespace = false;
        self.indention = false;
    }

    /// An indicator behind which a collection can begin in the same line.
    pub(super) fn opening(&mut self, indicator: &str) {
        let indention = self.indention;
        self.indicator(indicator);
        self.indention = indention;
    }

    /// The colon behind a key.
    pub(super) fn colon(&mut self) {
        self.push(":");
        self.whitespace = false;
        self.indention = false;
    }

    /// Goes to the place where the current collection is, in a new line unless this one is empty up to there.
    pub(super) fn indent(&mut self) {
        let indent = self.indent.unwrap_or_default();
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.out.push('\n');
            self.column = 0;
            self.whitespace = true;
            self.indention = true;
        }
        if self.column < indent {
            self.whitespace = true;
            self.out.extend(std::iter::repeat_n(' ', indent - self.column));
            self.column = indent;
        }
    }

    fn continue_line(&mut self) {
        self.indent();
        self.whitespace = false;
        self.indention = false;
    }

    /// A text between double quotes.
    pub(super) fn double_quoted(&mut self, text: &str, breaks: bool) {
        self.indicator("\"");
        let length = jvm::length(text);
        // What is before `start` was written; `at` counts UTF-16 code units, `pending` those behind `start`.
        let (mut start, mut at, mut pending) = (0, 0, 0);
        for (offset, character) in text.char_indices() {
            let is_plain = matches!(character, ' '..='~') && !matches!(character, '"' | '\\');
            if !is_plain {
                self.push(text.get(start..offset).unwrap_or_default());
                self.push_escaped(character);
                start = offset + character.len_utf8();
                pending = 0;
            }
            at += character.len_utf16() - 1;
            let may_break = breaks && at > 0 && at + 1 < length && (character == ' ' || pending == 0);
            // Behind what was escaped one more fits.
            if may_break && self.column + pending > WIDTH + usize::from(!is_plain) {
                self.push(text.get(start..offset).unwrap_or_default());
                self.push("\\");
                start = start.max(offset);
                self.continue_line();
                if text.get(start..).is_some_and(|rest| rest.starts_with(' ')) {
                    self.push("\\");
                }
                pending = 0;
            }
            at += 1;
            pending += usize::from(is_plain);
        }
        self.push(text.get(start..).unwrap_or_default());
        self.push("\"");
        self.whitespace = false;
        self.indention = false;
    }

    fn push_escaped(&mut self, character: char) {
        let escape = match character {
            '\0' => "\\0",
            '\u{7}' => "\\a",
            '\u{8}' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\u{b}' => "\\v",
            '\u{c}' => "\\f",
            '\r' => "\\r",
            '\u{1b}' => "\\e",
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{85}' => "\\N",
            '\u{a0}' => "\\_",
            printable if is_printable(printable) => {
                return self.push(printable.encode_utf8(&mut [0; 4]));
            }
            other => {
                let code = u32::from(other);
                return match code {
                    0..=0xff => self.push(&format!("\\x{code:02x}")),
                    0x100..=0xffff => self.push(&format!("\\u{code:04x}")),
                    _ => self.push(&format!("\\U{code:08x}")),
                };
            }
        };
        self.push(escape);
    }

    /// A text between single quotes; it has no line ends.
    pub(super) fn single_quoted(&mut self, text: &str, breaks: bool) {
        self.indicator("'");
        self.words(&text.replace('\'', "''"), breaks);
        self.push("'");
        self.whitespace = false;
        self.indention = false;
    }

    /// A text without quotes; it has no line ends.
    pub(super) fn plain(&mut self, text: &str, breaks: bool) {
        if text.is_empty() {
            return;
        }
        if !self.whitespace {
            self.push(" ");
        }
        self.whitespace = false;
        self.indention = false;
        self.words(text, breaks);
    }

    /// Words and spaces. A single space behind the last column becomes the end of the line.
    fn words(&mut self, text: &str, breaks: bool) {
        let mut rest = text;
        while !rest.is_empty() {
            let word = rest.find(' ').unwrap_or(rest.len());
            let (head, behind) = rest.split_at_checked(word).unwrap_or((rest, ""));
            self.push(head);
            let next = behind.trim_start_matches(' ');
            let spaces = behind.len() - next.len();
            let is_inside = !(next.is_empty() || word == 0 && rest.len() == text.len());
            if spaces == 1 && self.column > WIDTH && breaks && is_inside {
                self.continue_line();
            } else {
                self.push(behind.get(..spaces).unwrap_or_default());
            }
            rest = next;
        }
    }
}

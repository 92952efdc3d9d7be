//! The characters of a regular expression, one after the other.

use super::flags::{Flags, Lines};

/// A character of the expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) character: char,
    /// Whether it stands between `\Q` and `\E`, and so means itself.
    pub(super) quoted: bool,
}

/// Goes through an expression. Where the flag `x` is set, white space and comments are passed over.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    pub(super) fn new(pattern: &str) -> Reader {
        Reader { tokens: unquote(pattern), at: 0 }
    }

    /// How many characters were passed.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back to where [`Reader::position`] was.
    pub(super) fn back_to(&mut self, position: usize) {
        self.at = position;
    }

    /// The next character as it stands, whatever the flags.
    pub(super) fn raw(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    /// The next character, passing over what counts for nothing.
    pub(super) fn peek(&mut self, flags: Flags) -> Option<Token> {
        if flags.comments {
            self.skip_comments(flags);
        }
        self.raw()
    }

    /// Takes the next character as it stands.
    pub(super) fn next_raw(&mut self) -> Option<char> {
        let token = self.raw()?;
        self.at += 1;
        Some(token.character)
    }

    /// Takes the next character, which was peeked at.
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Whether an unquoted character comes next, which is then taken.
    pub(super) fn take(&mut self, character: char, flags: Flags) -> bool {
        let found = self.peek(flags) == Some(Token { character, quoted: false });
        if found {
            self.at += 1;
        }
        found
    }

    /// As [`Reader::take`], whatever the flags.
    pub(super) fn take_raw(&mut self, character: char) -> bool {
        let found = self.raw() == Some(Token { character, quoted: false });
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes this text, if it comes next.
    pub(super) fn take_text(&mut self, text: &str) -> bool {
        let start = self.at;
        let found = text.chars().all(|character| self.take_raw(character));
        if !found {
            self.at = start;
        }
        found
    }

    fn skip_comments(&mut self, flags: Flags) {
        let ends_line = |c: char| match flags.ends() {
            Lines::Unix => c == '\n',
            Lines::All => matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}'),
        };
        while let Some(token) = self.raw().filter(|token| !token.quoted) {
            match token.character {
                ' ' | '\t'..='\r' => self.at += 1,
                '#' => while self.next_raw().is_some_and(|character| !ends_line(character)) {},
                _ => return,
            }
        }
    }
}

/// The characters without `\Q` and `\E`.
fn unquote(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        let behind = rest.as_str();
        if character == '\\' && behind.starts_with('Q') {
            let quoted = behind.get(1..).unwrap_or_default();
            let (text, after) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            tokens.extend(text.chars().map(|character| Token { character, quoted: true }));
            rest = after.chars();
            continue;
        }
        tokens.push(Token { character, quoted: false });
        if character == '\\' {
            tokens.extend(rest.next().map(|character| Token { character, quoted: false }));
        }
    }
    tokens
}

//! Classes of characters: `[a-z&&[^x]]`.

use super::parse::{Escaped, Parser};
use super::reader::Token;
use super::set::{self, Set};
use super::syntax::Node;
use super::wrong::Wrong;

const UNCLOSED: &str = "a `]` is missing";

impl Parser {
    /// What follows a `[`, to its `]`.
    pub(super) fn class(&mut self) -> Result<Set, Wrong> {
        let negative = self.reader.take('^', self.flags);
        let set = self.class_body()?;
        if !self.reader.take(']', self.flags) {
            return Err(self.wrong(UNCLOSED));
        }
        Ok(if negative { set::negated(set) } else { set })
    }

    /// Characters, ranges and classes, up to the `]`, which is left. One that comes first is a character.
    fn class_body(&mut self) -> Result<Set, Wrong> {
        let mut set: Option<Set> = None;
        loop {
            let token = self.reader.peek(self.flags).ok_or_else(|| self.wrong(UNCLOSED))?;
            if !token.quoted && token.character == ']' && set.is_some() {
                return Ok(set.unwrap_or_else(Set::empty));
            }
            if self.take_both_ampersands() {
                set = self.intersected(set)?;
                continue;
            }
            let more = if token == (Token { character: '[', quoted: false }) {
                self.reader.advance();
                self.deeper(Parser::class)?
            } else {
                self.range()?
            };
            set = Some(match set {
                Some(set) => set::union(set, &more),
                None => more,
            });
        }
    }

    fn take_both_ampersands(&mut self) -> bool {
        let start = self.reader.position();
        if self.reader.take('&', self.flags) && self.reader.take('&', self.flags) {
            return true;
        }
        self.reader.back_to(start);
        false
    }

    /// What follows `&&`: it binds everything to the `]`, more `&&` included.
    fn intersected(&mut self, left: Option<Set>) -> Result<Option<Set>, Wrong> {
        let mut right: Option<Set> = None;
        loop {
            let token = self.reader.peek(self.flags).ok_or_else(|| self.wrong(UNCLOSED))?;
            let more = match token {
                Token { character: ']' | '&', quoted: false } => break,
                Token { character: '[', quoted: false } => {
                    self.reader.advance();
                    self.deeper(Parser::class)?
                }
                _ => self.deeper(Parser::class_body)?,
            };
            right = Some(match right {
                Some(right) => set::union(right, &more),
                None => more,
            });
        }
        match (left, right) {
            (Some(left), Some(right)) => Ok(Some(set::intersection(left, &right))),
            (Some(set), None) | (None, Some(set)) => Ok(Some(set)),
            (None, None) => Err(self.wrong("there is nothing on either side of `&&`")),
        }
    }

    /// A character, an escape, or `a-z`.
    fn range(&mut self) -> Result<Set, Wrong> {
        let first = match self.class_atom()? {
            Escaped::Char(character) => character,
            Escaped::Node(Node::Set(set)) => return Ok(set),
            Escaped::Node(_) => return Err(self.wrong("this does not stand in a class")),
        };
        let start = self.reader.position();
        if self.reader.take('-', self.flags) {
            let end = self.reader.peek(self.flags);
            let ends_range = |token: Token| token.quoted || !matches!(token.character, '[' | ']');
            if end.is_some_and(ends_range) {
                return match self.class_atom()? {
                    Escaped::Char(last) if last >= first => Ok(set::range(first, last, self.flags)),
                    Escaped::Char(_) => Err(self.wrong("the range ends before it begins")),
                    Escaped::Node(_) => Err(self.wrong("a range ends with a character")),
                };
            }
            self.reader.back_to(start);
        }
        Ok(set::range(first, first, self.flags))
    }

    fn class_atom(&mut self) -> Result<Escaped, Wrong> {
        let token = self.reader.peek(self.flags).ok_or_else(|| self.wrong(UNCLOSED))?;
        self.reader.advance();
        if token == (Token { character: '\\', quoted: false }) {
            return self.escape(true);
        }
        Ok(Escaped::Char(token.character))
    }
}

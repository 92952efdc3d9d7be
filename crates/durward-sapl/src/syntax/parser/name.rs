//! Names, and keywords where names should stand.

use super::{Parser, Part};
use crate::syntax::escape::unescape;
use crate::syntax::token::{TokenKind as K, is_reserved};
use crate::syntax::tree::{FunctionName, Name, Text};

/// What a name stands for, for the words of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::syntax) enum NameUse {
    /// After a dot.
    Key,
    /// After two dots.
    KeyBelow,
    /// Before a colon.
    ObjectKey,
    /// A value in an expression.
    Value,
    /// After `var`.
    Variable,
    /// A part of a function's name.
    Function,
    /// A part of an attribute's name.
    Attribute,
    /// After `import`.
    Import,
    /// After `as`.
    Alias,
}

impl NameUse {
    /// What should stand there.
    fn expected(self) -> &'static str {
        match self {
            NameUse::Key => "a key, `*` or an attribute after `.`",
            NameUse::KeyBelow => "a key, `*` or `[` after `..`",
            NameUse::ObjectKey => "a key",
            NameUse::Value => "an expression",
            NameUse::Variable => "the variable's name after `var`",
            NameUse::Function => "the name of a function",
            NameUse::Attribute => "the name of an attribute",
            NameUse::Import => "a library and a function after `import`, like `filter.blacken`",
            NameUse::Alias => "a name after `as`",
        }
    }

    /// What a keyword cannot be.
    fn role(self) -> &'static str {
        match self {
            NameUse::Key => "a key after `.`",
            NameUse::KeyBelow => "a key after `..`",
            NameUse::ObjectKey => "a key",
            NameUse::Value => "a value",
            NameUse::Variable | NameUse::Alias => "a name",
            NameUse::Function | NameUse::Attribute | NameUse::Import => "part of a name",
        }
    }

    /// How to write the keyword all the same.
    fn help(self, word: &str) -> String {
        match self {
            NameUse::Key => format!("write .`{word}` with backticks, or [\"{word}\"]"),
            NameUse::KeyBelow => format!("write ..`{word}` with backticks, or ..[\"{word}\"]"),
            NameUse::ObjectKey => format!("write \"{word}\""),
            NameUse::Value
            | NameUse::Variable
            | NameUse::Function
            | NameUse::Attribute
            | NameUse::Import
            | NameUse::Alias => format!("write `{word}` with backticks if you mean a name"),
        }
    }
}

impl Parser<'_> {
    /// Whether a name stands that many words further.
    pub(super) fn ahead_is_name(&self, count: usize) -> bool {
        let token = self.ahead(count);
        match token.kind {
            K::Quoted => true,
            K::Word => !is_reserved(self.text(token.span)),
            _ => false,
        }
    }

    /// Reads a name. A keyword in its place is reported and taken for the name it was meant to be.
    pub(in crate::syntax) fn name(&mut self, used: NameUse) -> Part<Name> {
        if self.ahead_is_name(0) {
            return Ok(self.take_name());
        }
        if self.starts_old_name() {
            return Ok(self.old_name(used));
        }
        let token = self.next();
        let word = self.text(token.span);
        if token.kind != K::Word || self.starts_root() || (self.starts_statement() && self.starts_line()) {
            return self.expected(used.expected());
        }
        self.error(
            token.span,
            format!("`{word}` is a keyword and cannot be {}", used.role()),
            Some(used.help(word)),
        );
        Ok(self.take_name())
    }

    /// Reports `^name` of SAPL 3, and takes it for the name.
    fn old_name(&mut self, used: NameUse) -> Name {
        let sign = self.take().span;
        let name = self.take_name();
        let word = name.text.as_str();
        let help = if is_reserved(word) { used.help(word) } else { "remove the `^`".to_owned() };
        self.error(sign.to(name.span), "SAPL 4 writes no `^` before names", Some(help));
        name
    }

    /// The next word as a name.
    pub(in crate::syntax) fn take_name(&mut self) -> Name {
        let token = self.take();
        Name { span: token.span, text: self.text(token.span).trim_matches('`').into() }
    }

    /// Reads a text in quotation marks.
    pub(in crate::syntax) fn quoted_text(&mut self, what: &str) -> Part<Text> {
        if !self.is(K::Text) {
            return self.expected(what);
        }
        let span = self.take().span;
        Ok(Text { span, text: unescape(self.text(span)) })
    }

    /// Reads `library.function`, with as many segments as there are.
    pub(in crate::syntax) fn function_name(&mut self, used: NameUse) -> Part<FunctionName> {
        let first = self.name(used)?;
        let mut span = first.span;
        let mut segments = vec![first];
        while self.take_if(K::Dot).is_some() {
            let next = self.name(used)?;
            span = span.to(next.span);
            segments.push(next);
        }
        Ok(FunctionName { span, segments })
    }

    /// Whether the names joined by dots that start here have arguments.
    pub(super) fn starts_call(&self) -> bool {
        let mut count = 1;
        while self.ahead(count).kind == K::Dot && matches!(self.ahead(count + 1).kind, K::Word | K::Quoted) {
            count += 2;
        }
        self.ahead(count).kind == K::OpenParenthesis
    }
}

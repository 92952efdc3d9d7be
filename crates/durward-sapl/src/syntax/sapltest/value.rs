//! Values in tests, and words that are written with dashes.

use crate::syntax::Span;
use crate::syntax::escape::unescape;
use crate::syntax::parser::{Parser, Part, Reported};
use crate::syntax::token::TokenKind as K;
use crate::syntax::tree::{Entry, Expr, ExprKind, UnaryOperator};

use super::tree::Outcome;

impl Parser<'_> {
    /// A value: literals only.
    pub(super) fn test_value(&mut self) -> Part<Expr> {
        self.nested(|parser| {
            let token = parser.next();
            match token.kind {
                K::OpenBrace => parser.test_object(),
                K::OpenBracket => parser.test_array(),
                K::Minus | K::Plus => parser.signed_number(),
                _ => parser.plain_value(),
            }
        })
    }

    fn plain_value(&mut self) -> Part<Expr> {
        let token = self.next();
        let kind = match (token.kind, self.text(token.span)) {
            (K::Number, number) => ExprKind::Number(number.into()),
            (K::Text, text) => ExprKind::Text(unescape(text)),
            (K::Word, "true") => ExprKind::Boolean(true),
            (K::Word, "false") => ExprKind::Boolean(false),
            (K::Word, "null") => ExprKind::Null,
            (K::Word, "undefined") => ExprKind::Undefined,
            _ => {
                return self
                    .expected("a value: `{`, `[`, a text, a number, `true`, `false`, `null` or `undefined`");
            }
        };
        self.take();
        Ok(Expr::new(token.span, kind))
    }

    /// Whether a value starts here.
    pub(super) fn starts_value(&self) -> bool {
        let token = self.next();
        match token.kind {
            K::OpenBrace | K::OpenBracket | K::Number | K::Text => true,
            K::Minus | K::Plus => {
                self.ahead(1).kind == K::Number && self.ahead(1).span.start == token.span.end
            }
            K::Word => matches!(self.text(token.span), "true" | "false" | "null" | "undefined"),
            _ => false,
        }
    }

    /// A number, the sign of which stands directly before it: a dash with a blank behind it starts a list's item.
    fn signed_number(&mut self) -> Part<Expr> {
        if !self.starts_value() {
            return self.expected("a value");
        }
        let sign = self.take();
        let operator = if sign.kind == K::Minus { UnaryOperator::Minus } else { UnaryOperator::Plus };
        let operand = Box::new(self.plain_value()?);
        let span = sign.span.to(operand.span);
        Ok(Expr::new(span, ExprKind::Unary { operator, operator_span: sign.span, operand }))
    }

    /// `{ "key": value, ... }`
    pub(super) fn test_object(&mut self) -> Part<Expr> {
        if !self.is(K::OpenBrace) {
            return self.expected("an object: `{`");
        }
        let open = self.take().span;
        let (entries, close) = self.items(open, K::CloseBrace, |parser| {
            let key = parser.quoted_text("a key in quotation marks")?;
            parser.expect(K::Colon, "`:` after the key")?;
            let value = parser.test_value()?;
            let span = key.span.to(value.span);
            Ok(Entry { span, key: key.text, key_span: key.span, value })
        })?;
        Ok(Expr::new(open.to(close), ExprKind::Object(entries)))
    }

    fn test_array(&mut self) -> Part<Expr> {
        let open = self.take().span;
        let (items, close) = self.items(open, K::CloseBracket, Self::test_value)?;
        Ok(Expr::new(open.to(close), ExprKind::Array(items)))
    }

    /// Values with commas between them; at least one.
    pub(super) fn test_values(&mut self) -> Part<Vec<Expr>> {
        self.several(Self::test_value)
    }

    /// Items with commas between them; at least one.
    pub(super) fn several<T>(&mut self, mut item: impl FnMut(&mut Self) -> Part<T>) -> Part<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take_if(K::Comma).is_some() {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// A value, or `error`, perhaps with its message.
    pub(super) fn outcome(&mut self) -> Part<Outcome> {
        if self.take_word("error").is_none() {
            return self.test_value().map(Outcome::Value);
        }
        if self.take_if(K::OpenParenthesis).is_none() {
            return Ok(Outcome::Error(None));
        }
        let message = self.quoted_text("the message in quotation marks")?;
        self.expect(K::CloseParenthesis, "`)` after the message")?;
        Ok(Outcome::Error(Some(message)))
    }

    /// A whole number that is not negative.
    pub(super) fn count(&mut self, what: &str) -> Part<u32> {
        if !self.is(K::Number) {
            return self.expected(what);
        }
        let span = self.take().span;
        match self.text(span).parse() {
            Ok(count) => Ok(count),
            Err(_) => {
                let help = "write a whole number from 0 to 4294967295";
                self.error(span, "this is no count", Some(help.to_owned()));
                Err(Reported)
            }
        }
    }

    /// Whether a word stands here that is written with dashes, as in `not-applicable`.
    pub(super) fn is_dashed(&self, word: &str) -> bool {
        word.split_inclusive('-').enumerate().all(|(index, piece)| {
            let token = self.ahead(index * 2);
            let dash = self.ahead(index * 2 + 1);
            let text = Span::new(
                token.span.start,
                if piece.ends_with('-') { dash.span.end } else { token.span.end },
            );
            let next = self.ahead(index * 2 + 2);
            self.text(text) == piece && (!piece.ends_with('-') || next.span.start == dash.span.end)
        })
    }

    /// Reads a word that is written with dashes, if it stands here.
    pub(super) fn take_dashed(&mut self, word: &str) -> bool {
        let found = self.is_dashed(word);
        if found {
            for _ in 0..word.split('-').count() * 2 - 1 {
                self.take();
            }
        }
        found
    }
}

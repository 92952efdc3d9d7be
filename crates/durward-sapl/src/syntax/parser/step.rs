//! Steps into a value, and filters.

use super::{NameUse, Parser, Part, Reported};
use crate::syntax::Span;
use crate::syntax::escape::unescape;
use crate::syntax::token::TokenKind as K;
use crate::syntax::tree::{Filter, FilterCall, FilterStatement, Step, StepKind};

impl Parser<'_> {
    /// `step`, and the height of what it holds. `attributes` says whether those of the value may stand here.
    pub(super) fn step(&mut self, attributes: bool) -> Part<(Step, u16)> {
        let start = self.take();
        let (kind, height) = match start.kind {
            K::Dot => self.dot_step(attributes)?,
            K::Descent => (self.descent_step()?, 0),
            _ => self.bracket_step(start.span)?,
        };
        Ok((Step { span: start.span.to(self.last()), kind }, height))
    }

    /// What stands after `.`.
    fn dot_step(&mut self, attributes: bool) -> Part<(StepKind, u16)> {
        let token = self.next();
        match token.kind {
            K::Star => {
                self.take();
                Ok((StepKind::Wildcard, 0))
            }
            K::Text => Ok((StepKind::Key(self.key()), 0)),
            K::Less | K::Head => {
                if !attributes {
                    let message = "what a filter changes cannot be reached through an attribute";
                    let help = "put the attribute's value into a variable and filter that";
                    self.error(token.span, message, Some(help.to_owned()));
                    return Err(Reported);
                }
                let (call, height) = self.attribute()?;
                Ok((StepKind::Attribute(call), height))
            }
            K::Number => {
                let help = format!("write [{}] for an index, [\"{0}\"] for a key", self.text(token.span));
                self.expected_help("a key after `.`", Some(help))
            }
            _ => Ok((StepKind::Key(self.name(NameUse::Key)?.text), 0)),
        }
    }

    /// The text that stands here, as a key.
    fn key(&mut self) -> smol_str::SmolStr {
        let span = self.take().span;
        unescape(self.text(span))
    }

    /// What stands after `..`.
    fn descent_step(&mut self) -> Part<StepKind> {
        if self.take_if(K::Star).is_some() {
            return Ok(StepKind::RecursiveWildcard);
        }
        let Some(open) = self.take_if(K::OpenBracket) else {
            return Ok(StepKind::RecursiveKey(self.name(NameUse::KeyBelow)?.text));
        };
        let kind = match self.next().kind {
            K::Star => {
                self.take();
                StepKind::RecursiveWildcard
            }
            K::Text => StepKind::RecursiveKey(self.key()),
            K::Minus | K::Number => StepKind::RecursiveIndex(self.index()?),
            _ => return self.expected("a key in quotation marks, an index or `*` after `..[`"),
        };
        self.close_bracket(open).map(|()| kind)
    }

    fn close_bracket(&mut self, open: Span) -> Part<()> {
        match self.take_if(K::CloseBracket) {
            Some(_) => Ok(()),
            None => self.unclosed(open, ""),
        }
    }

    /// What stands after `[`, with the closing bracket.
    fn bracket_step(&mut self, open: Span) -> Part<(StepKind, u16)> {
        let step = match self.next().kind {
            K::Star => {
                self.take();
                (StepKind::Wildcard, 0)
            }
            K::Text => (self.key_or_keys()?, 0),
            K::Quoted => (StepKind::Key(self.name(NameUse::Key)?.text), 0),
            K::Minus | K::Number | K::Colon | K::Subtemplate => (self.index_or_slice()?, 0),
            K::OpenParenthesis => {
                let (expr, height) = self.in_parentheses()?;
                (StepKind::Expression(expr), height)
            }
            K::Question => {
                self.take();
                if !self.is(K::OpenParenthesis) {
                    return self.expected_help("`(` after `?`", Some("write [?(condition)]".to_owned()));
                }
                let (expr, height) = self.in_parentheses()?;
                (StepKind::Condition(expr), height)
            }
            _ => return self.no_step(),
        };
        self.close_bracket(open).map(|()| step)
    }

    fn in_parentheses(&mut self) -> Part<(Box<crate::syntax::tree::Expr>, u16)> {
        let open = self.take().span;
        let node = self.expression()?;
        match self.take_if(K::CloseParenthesis) {
            Some(_) => Ok((node.expr, node.height)),
            None => self.unclosed(open, ""),
        }
    }

    fn no_step<T>(&mut self) -> Part<T> {
        let token = self.next();
        let help = match token.kind {
            K::Word => {
                let word = self.text(token.span);
                Some(format!("write [({word}...)] for the value of an expression, [\"{word}\"] for the key"))
            }
            K::CloseBracket => Some("write [*] for all elements".to_owned()),
            _ => Some("write [(...)] for the value of an expression".to_owned()),
        };
        self.expected_help("a key in quotation marks, an index, a slice, `*`, `(` or `?(` after `[`", help)
    }

    /// `"a"`, or `"a", "b"`.
    fn key_or_keys(&mut self) -> Part<StepKind> {
        let first = self.key();
        if !self.is(K::Comma) {
            return Ok(StepKind::Key(first));
        }
        let mut keys = vec![first];
        while self.take_if(K::Comma).is_some() {
            if !self.is(K::Text) {
                return self.expected("another key in quotation marks after `,`");
            }
            keys.push(self.key());
        }
        Ok(StepKind::KeyUnion(keys))
    }

    /// `1`, `1, 2`, `1:2:3`, `::3`.
    fn index_or_slice(&mut self) -> Part<StepKind> {
        let first = self.index_if_any()?;
        if self.take_if(K::Subtemplate).is_some() {
            return Ok(StepKind::Slice { from: first, to: None, step: self.index_if_any()? });
        }
        if self.take_if(K::Colon).is_some() {
            let to = self.index_if_any()?;
            let step = if self.take_if(K::Colon).is_some() { Some(self.index()?) } else { None };
            return Ok(StepKind::Slice { from: first, to, step });
        }
        let Some(first) = first else { return self.expected("an index") };
        if !self.is(K::Comma) {
            return Ok(StepKind::Index(first));
        }
        let mut indices = vec![first];
        while self.take_if(K::Comma).is_some() {
            indices.push(self.index()?);
        }
        Ok(StepKind::IndexUnion(indices))
    }

    fn index_if_any(&mut self) -> Part<Option<i32>> {
        if self.is(K::Minus) || self.is(K::Number) { self.index().map(Some) } else { Ok(None) }
    }

    /// `sint`: a whole number of 32 bits, perhaps with a `-`.
    fn index(&mut self) -> Part<i32> {
        let minus = self.take_if(K::Minus);
        if !self.is(K::Number) {
            return self.expected("a whole number");
        }
        let span = self.take().span;
        let span = minus.map_or(span, |minus| minus.to(span));
        let digits = self.text(self.last());
        let value = digits.parse::<i64>().ok().map(|value| if minus.is_some() { -value } else { value });
        match value.map(i32::try_from) {
            Some(Ok(index)) => Ok(index),
            Some(Err(_)) | None => {
                let message = format!("{} is no index", super::quote(self.text(span)));
                let help = "indices are whole numbers from -2147483648 to 2147483647";
                self.error(span, message, Some(help.to_owned()));
                Err(Reported)
            }
        }
    }

    /// `filter`, and the height of what it holds.
    pub(super) fn filter(&mut self) -> Part<(Filter, u16)> {
        let Some(open) = self.take_if(K::OpenBrace) else {
            let (call, height) = self.filter_call()?;
            return Ok((Filter::Simple(call), height));
        };
        let mut height = 0;
        if self.is(K::CloseBrace) {
            return self.expected_help("a filter after `{`", Some("write { @.key : function }".to_owned()));
        }
        let (statements, _) = self.items(open, K::CloseBrace, |parser| {
            let (statement, below) = parser.filter_statement()?;
            height = below.max(height);
            Ok(statement)
        })?;
        Ok((Filter::Extended(statements), height))
    }

    /// `each function(arguments)`
    fn filter_call(&mut self) -> Part<(FilterCall, u16)> {
        let start = self.next().span;
        let each = self.take_word("each").is_some();
        let name = self.function_name(NameUse::Function)?;
        let (arguments, height) = self.arguments()?;
        Ok((FilterCall { span: start.to(self.last()), each, name, arguments }, height))
    }

    /// `each @.path : function(arguments)`
    fn filter_statement(&mut self) -> Part<(FilterStatement, u16)> {
        let start = self.next().span;
        let each = self.take_word("each").is_some();
        let help = "a filter is written { @.key : function }";
        if self.take_if(K::At).is_none() {
            return self.expected_help("`@`", Some(help.to_owned()));
        }
        let (target, height) = self.steps(false)?;
        if self.take_if(K::Colon).is_none() {
            return self.expected_help("`:` after the path", Some(help.to_owned()));
        }
        if self.is_word("each") {
            let message = "`each` stands before the path";
            self.error(self.next().span, message, Some("write { each @.key : function }".to_owned()));
            self.take();
        }
        let (mut call, below) = self.filter_call()?;
        call.each = each;
        let span = start.to(call.span);
        Ok((FilterStatement { span, target, call }, height.max(below)))
    }
}

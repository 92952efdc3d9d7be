//! What operators stand between: literals, names, calls, attributes of the environment.

use super::{NameUse, Node, Parser, Part};
use crate::syntax::Span;
use crate::syntax::escape::unescape;
use crate::syntax::token::TokenKind as K;
use crate::syntax::tree::{AttributeCall, Entry, Expr, ExprKind, FunctionCall, Step};

impl Parser<'_> {
    /// `basic`: a value and the steps after it.
    pub(super) fn basic(&mut self) -> Part<Node> {
        let base = self.primary()?;
        match self.next().kind {
            K::Dot | K::Descent | K::OpenBracket => self.stepped(base),
            _ => Ok(base),
        }
    }

    fn stepped(&mut self, base: Node) -> Part<Node> {
        let (mut steps, height) = self.steps(true)?;
        let span = base.outer.to(self.last());
        let mut below = height.max(base.height);
        let (base, steps) = match *base.expr {
            // `(a.b).c` is the same as `a.b.c`: it grows no deeper.
            Expr { kind: ExprKind::Steps { base: first_base, steps: mut first }, .. } => {
                below = height.max(base.height - 1);
                first.append(&mut steps);
                (first_base, first)
            }
            expr => (Box::new(expr), steps),
        };
        self.node(span, ExprKind::Steps { base, steps }, below)
    }

    fn primary(&mut self) -> Part<Node> {
        let token = self.next();
        match token.kind {
            K::OpenParenthesis => self.parenthesized(),
            K::OpenBracket => self.array(),
            K::OpenBrace => self.object(),
            K::Less | K::Head => self.environment_attribute(),
            K::Word | K::Quoted if self.starts_call() => self.call(),
            _ => self.single_word(),
        }
    }

    /// An expression of one word.
    fn single_word(&mut self) -> Part<Node> {
        let token = self.next();
        let kind = match token.kind {
            K::Number => ExprKind::Number(self.text(token.span).into()),
            K::Text => ExprKind::Text(unescape(self.text(token.span))),
            K::At => ExprKind::RelativeValue,
            K::Hash => ExprKind::RelativeLocation,
            K::Word => match self.text(token.span) {
                "true" => ExprKind::Boolean(true),
                "false" => ExprKind::Boolean(false),
                "null" => ExprKind::Null,
                "undefined" => ExprKind::Undefined,
                _ => return self.identifier(),
            },
            K::Quoted => return self.identifier(),
            K::ExclusiveOr if self.starts_old_name() => return self.identifier(),
            _ => return self.no_expression(),
        };
        self.take();
        self.node(token.span, kind, 0)
    }

    fn identifier(&mut self) -> Part<Node> {
        let name = self.name(NameUse::Value)?;
        self.node(name.span, ExprKind::Identifier(name.text), 0)
    }

    fn call(&mut self) -> Part<Node> {
        let name = self.function_name(NameUse::Function)?;
        let (arguments, height) = self.arguments()?;
        let span = name.span.to(self.last());
        self.node(span, ExprKind::Call(FunctionCall { name, arguments }), height)
    }

    fn environment_attribute(&mut self) -> Part<Node> {
        let (call, height) = self.attribute()?;
        self.node(call.span, ExprKind::Attribute(call), height)
    }

    fn no_expression(&mut self) -> Part<Node> {
        let help = match self.next().kind {
            K::Dot if self.ahead(1).kind == K::Number => {
                Some(format!("write `0.{}`", self.text(self.ahead(1).span)))
            }
            K::Filter => Some("the value to filter stands before `|-`".to_owned()),
            _ => None,
        };
        self.expected_help("an expression", help)
    }

    /// `( expr )`: the expression, with the place of the parentheses around it.
    fn parenthesized(&mut self) -> Part<Node> {
        let open = self.take().span;
        let mut node = self.expression()?;
        match self.take_if(K::CloseParenthesis) {
            Some(close) => {
                node.outer = open.to(close);
                Ok(node)
            }
            None => self.unclosed(open, ""),
        }
    }

    fn array(&mut self) -> Part<Node> {
        let open = self.take().span;
        let (items, height, close) = self.expressions(open, K::CloseBracket)?;
        self.node(open.to(close), ExprKind::Array(items), height)
    }

    fn object(&mut self) -> Part<Node> {
        let open = self.take().span;
        let mut height = 0;
        let (entries, close) = self.items(open, K::CloseBrace, |parser| {
            let (entry, below) = parser.entry()?;
            height = below.max(height);
            Ok(entry)
        })?;
        self.node(open.to(close), ExprKind::Object(entries), height)
    }

    fn entry(&mut self) -> Part<(Entry, u16)> {
        let (key, key_span) = if self.is(K::Text) {
            let text = self.quoted_text("a key")?;
            (text.text, text.span)
        } else {
            let name = self.name(NameUse::ObjectKey)?;
            (name.text, name.span)
        };
        self.expect(K::Colon, "`:` after the key")?;
        let value = self.expression()?;
        let span = key_span.to(value.outer);
        Ok((Entry { span, key, key_span, value: *value.expr }, value.height))
    }

    /// Expressions up to a closing bracket, the greatest height of them, and where the bracket stands.
    fn expressions(&mut self, open: Span, close: K) -> Part<(Vec<Expr>, u16, Span)> {
        let mut height = 0;
        let (expressions, end) = self.items(open, close, |parser| {
            let node = parser.expression()?;
            height = node.height.max(height);
            Ok(*node.expr)
        })?;
        Ok((expressions, height, end))
    }

    /// `args`, if they stand here: the arguments, and the greatest height of them.
    pub(super) fn arguments(&mut self) -> Part<(Vec<Expr>, u16)> {
        let Some(open) = self.take_if(K::OpenParenthesis) else { return Ok((Vec::new(), 0)) };
        let (arguments, height, _) = self.expressions(open, K::CloseParenthesis)?;
        Ok((arguments, height))
    }

    /// `envAttr`: the attribute, and the greatest height of what it holds.
    pub(super) fn attribute(&mut self) -> Part<(Box<AttributeCall>, u16)> {
        let open = self.take();
        let name = self.function_name(NameUse::Attribute)?;
        let (arguments, mut height) = self.arguments()?;
        let mut options = None;
        if let Some(bracket) = self.take_if(K::OpenBracket) {
            let node = self.expression()?;
            height = height.max(node.height);
            options = Some(*node.expr);
            if self.take_if(K::CloseBracket).is_none() {
                return self.unclosed(bracket, "");
            }
        }
        let Some(close) = self.take_if(K::Greater) else {
            return self.unclosed(open.span, "");
        };
        let head = open.kind == K::Head;
        Ok((Box::new(AttributeCall { span: open.span.to(close), head, name, arguments, options }), height))
    }

    /// Steps as long as there are any, and the greatest height of what they hold.
    pub(super) fn steps(&mut self, attributes: bool) -> Part<(Vec<Step>, u16)> {
        let mut steps = Vec::new();
        let mut height = 0;
        while matches!(self.next().kind, K::Dot | K::Descent | K::OpenBracket) {
            let (step, below) = self.step(attributes)?;
            height = below.max(height);
            steps.push(step);
        }
        Ok((steps, height))
    }
}

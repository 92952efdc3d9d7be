//! From words to a tree: recursive descent, one file for each part of the grammar.
//!
//! A part that cannot be read reports one problem and gives up ([`Reported`]); its statement becomes
//! [`ExprKind::Error`] and reading goes on behind the next `;`, or at the next word that can only start a statement.
//! Every loop takes a word or ends, so the time is linear.

mod basic;
mod document;
mod expression;
mod name;
mod policy;
mod recover;
mod step;

pub(super) use name::NameUse;

use super::diagnostic::{Diagnostic, Problems, quote};
use super::lexer::tokens;
use super::limits::EXPRESSION_DEPTH_MAX;
use super::token::{Token, TokenKind};
use super::tree::{Document, Expr, ExprKind, Variable};
use super::{LineIndex, Severity, Span};

/// What a text says, as far as it says anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed<T> {
    /// The tree. With errors among the diagnostics, it is only good for looking at.
    pub tree: T,
    /// What is wrong, in the order of the text; at most [`super::DIAGNOSTICS_MAX`].
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Parsed<T> {
    /// Whether the text is refused.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Reads a document. Never fails: what is wrong stands in the diagnostics, and any error there refuses the document.
///
/// The names of functions are not looked at: [`super::Names`] does that.
///
/// ```
/// use durward_sapl::syntax::{parse, tree::Root};
///
/// let parsed = parse("policy \"readers\" permit action == \"read\";");
/// assert!(!parsed.has_errors());
/// let Some(Root::Policy(policy)) = parsed.tree.root else { panic!() };
/// assert_eq!((policy.name.text.as_str(), policy.body.len()), ("readers", 1));
/// ```
pub fn parse(text: &str) -> Parsed<Document> {
    let mut parser = Parser::new(text);
    let tree = parser.document();
    Parsed { tree, diagnostics: parser.problems.into_sorted() }
}

/// Reads a text that holds one expression and nothing else, like [`parse`].
pub fn parse_expression(text: &str) -> Parsed<Expr> {
    let mut parser = Parser::new(text);
    let tree = parser.whole_expression();
    Parsed { tree, diagnostics: parser.problems.into_sorted() }
}

/// Reads a text that holds one `var name = value;` and nothing else, like [`parse`]; `None` only in a text with errors.
pub fn parse_variable(text: &str) -> Parsed<Option<Variable>> {
    let mut parser = Parser::new(text);
    let tree = parser.whole_variable();
    Parsed { tree, diagnostics: parser.problems.into_sorted() }
}

/// The problem has been reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reported;

/// What a part of the grammar gives.
pub(super) type Part<T> = Result<T, Reported>;

/// An expression while it is read. Boxed, so that the stack holds as many of them as may be open.
pub(super) struct Node {
    pub(super) expr: Box<Expr>,
    /// Where it is written, with parentheses around it.
    pub(super) outer: Span,
    /// How deep the tree is, itself included.
    pub(super) height: u16,
}

/// The words of a text, and how far they are read.
pub(super) struct Parser<'s> {
    source: &'s str,
    /// INVARIANT: the last one is [`TokenKind::End`], and there is no other such.
    tokens: Vec<Token>,
    position: usize,
    /// How many parts are open that may hold one another.
    depth: u16,
    problems: Problems,
}

impl<'s> Parser<'s> {
    pub(super) fn new(source: &'s str) -> Parser<'s> {
        let mut problems = Problems::default();
        let tokens = tokens(source, &mut problems);
        Parser { source, tokens, position: 0, depth: 0, problems }
    }

    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.problems.into_sorted()
    }

    /// The word to be read next.
    pub(super) fn next(&self) -> Token {
        self.ahead(0)
    }

    /// The word that many words further.
    pub(super) fn ahead(&self, count: usize) -> Token {
        let token = self.tokens.get(self.position.saturating_add(count)).or(self.tokens.last());
        token.copied().unwrap_or(Token { kind: TokenKind::End, span: Span::default() })
    }

    /// Where the word read last stands.
    pub(super) fn last(&self) -> Span {
        let token = self.position.checked_sub(1).and_then(|position| self.tokens.get(position));
        token.map_or(Span::default(), |token| token.span)
    }

    /// Reads a word. The end stays where it is.
    pub(super) fn take(&mut self) -> Token {
        let token = self.next();
        if token.kind != TokenKind::End {
            self.position += 1;
        }
        token
    }

    pub(super) fn is(&self, kind: TokenKind) -> bool {
        self.next().kind == kind
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.ahead_is_word(0, word)
    }

    pub(super) fn ahead_is_word(&self, count: usize, word: &str) -> bool {
        let token = self.ahead(count);
        token.kind == TokenKind::Word && self.text(token.span) == word
    }

    /// Reads a word if it is that one.
    pub(super) fn take_if(&mut self, kind: TokenKind) -> Option<Span> {
        self.is(kind).then(|| self.take().span)
    }

    /// Reads a keyword if it is that one.
    pub(super) fn take_word(&mut self, word: &str) -> Option<Span> {
        self.is_word(word).then(|| self.take().span)
    }

    /// Reads a keyword that must stand here.
    pub(super) fn expect_word(&mut self, word: &str, after: &str) -> Part<Span> {
        match self.take_word(word) {
            Some(span) => Ok(span),
            None => self.expected(&format!("`{word}` after {after}")),
        }
    }

    /// Reads a sign that must stand here; `what` is how it is called.
    pub(super) fn expect(&mut self, kind: TokenKind, what: &str) -> Part<Span> {
        match self.take_if(kind) {
            Some(span) => Ok(span),
            None => self.expected(what),
        }
    }

    pub(super) fn text(&self, span: Span) -> &'s str {
        span.text(self.source)
    }

    pub(super) fn error(&mut self, span: Span, message: impl Into<String>, help: Option<String>) {
        self.problems.error(span, message, help);
    }

    /// Reports that something else should stand here.
    pub(super) fn expected<T>(&mut self, what: &str) -> Part<T> {
        self.expected_help(what, None)
    }

    /// Reports that something else should stand here, with a way out. What is no word has been reported already.
    pub(super) fn expected_help<T>(&mut self, what: &str, help: Option<String>) -> Part<T> {
        let token = self.next();
        if token.kind != TokenKind::Invalid {
            let found = self.described(token);
            // At the end of a line, the line itself is the better place to look at than some line below.
            let missing = token.kind == TokenKind::End || self.starts_line();
            let span = if missing && self.position > 0 { self.last().after() } else { token.span };
            self.error(span, format!("expected {what}, found {found}"), help);
        }
        Err(Reported)
    }

    /// A word as it is called in a message.
    pub(super) fn described(&self, token: Token) -> String {
        match token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            _ => quote(self.text(token.span)),
        }
    }

    /// Whether the next word is the first of its line.
    pub(super) fn starts_line(&self) -> bool {
        let between = Span::new(self.last().end, self.next().span.start);
        self.text(between).contains('\n')
    }

    /// The line of a place, for a message.
    pub(super) fn line(&self, span: Span) -> u32 {
        LineIndex::new(self.source).place(self.source, span.start).line
    }

    /// Reads a part that may hold parts like itself, unless too many are open.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Part<T>) -> Part<T> {
        if self.depth >= EXPRESSION_DEPTH_MAX {
            return self.too_deep(self.next().span);
        }
        self.depth += 1;
        let part = read(self);
        self.depth -= 1;
        part
    }

    fn too_deep<T>(&mut self, span: Span) -> Part<T> {
        let message = format!("the expression nests more than {EXPRESSION_DEPTH_MAX} deep");
        let help = "give parts of it names with `var`";
        self.error(span, message, Some(help.to_owned()));
        Err(Reported)
    }

    /// An expression above others, the deepest of which has the given height.
    pub(super) fn node(&mut self, span: Span, kind: ExprKind, below: u16) -> Part<Node> {
        if below >= EXPRESSION_DEPTH_MAX {
            return self.too_deep(span);
        }
        Ok(Node { expr: Box::new(Expr::new(span, kind)), outer: span, height: below + 1 })
    }

    /// Reads items up to a closing bracket, with a comma between each two.
    ///
    /// `open` is the bracket that was read before. Gives the items and where the closing bracket stands.
    pub(super) fn items<T>(
        &mut self,
        open: Span,
        close: TokenKind,
        mut item: impl FnMut(&mut Self) -> Part<T>,
    ) -> Part<(Vec<T>, Span)> {
        let mut items = Vec::new();
        if let Some(end) = self.take_if(close) {
            return Ok((items, end));
        }
        loop {
            items.push(item(self)?);
            let comma = self.take_if(TokenKind::Comma);
            if let Some(end) = self.take_if(close) {
                if let Some(comma) = comma {
                    let help = Some("remove it".to_owned());
                    self.error(comma, "a comma stands after the last item", help);
                }
                return Ok((items, end));
            }
            if comma.is_none() {
                return self.unclosed(open, "`,` or ");
            }
        }
    }

    /// Reports that a bracket should be closed here.
    pub(super) fn unclosed<T>(&mut self, open: Span, or: &str) -> Part<T> {
        if self.problems.is_full() {
            return Err(Reported);
        }
        let open_text = self.text(open);
        let close = match open_text.trim_start_matches(['.', '?']) {
            "(" => ")",
            "[" => "]",
            "{" => "}",
            _ => ">",
        };
        let help = format!("the `{open_text}` in line {} is not closed", self.line(open));
        let help = self.operator_hint().unwrap_or(help);
        self.expected_help(&format!("{or}`{close}`"), Some(help))
    }
}

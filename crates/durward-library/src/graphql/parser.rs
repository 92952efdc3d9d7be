//! From GraphQL text to trees: one parser for queries and for schemas, as graphql-java has it.
//!
//! Written here because no kept crate fits: `graphql-parser` stops at 50 levels and `async-graphql-parser` at 64, while
//! policies ask for depths of 100, and `apollo-compiler` costs more to compile than everything else in this crate.

mod system;

use super::ast::{
    Argument, Directive, Document, Field, Fragment, Literal, Operation, OperationKind, Selection, TypeRef,
    Variable,
};
use super::lexer::{Kind, Lexer, Token, content, place};

/// What a document may cost. Those for queries are graphql-java's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// UTF-16 code units.
    pub(super) length: usize,
    pub(super) tokens: usize,
    /// White space, each character.
    pub(super) blanks: usize,
}

impl Limits {
    pub(super) const QUERY: Limits = Limits { length: 1 << 20, tokens: 15_000, blanks: 200_000 };
    /// graphql-java does not limit schemas; this is more than twice what SAPL takes for validation.
    pub(super) const SCHEMA: Limits = Limits { length: 1 << 20, tokens: 500_000, blanks: 1 << 20 };
}

/// How deep rules of the grammar may be within each other, as graphql-java counts: three for each level of fields.
const DEPTH_MAX: usize = 500;

/// Why a text is no document.
#[derive(Debug)]
pub(super) struct SyntaxError {
    /// What graphql-java says.
    pub(super) message: String,
    /// The token that is wrong, unless it could not be read.
    token: Option<String>,
    /// Its line and column, from 1.
    place: (usize, usize),
}

/// What graphql-java says of a token that cannot stand where it does.
const OFFENDING: &str = "Invalid syntax with offending token";

/// What graphql-java says of a token behind a definition that begins none.
const EXTRA_TOKENS: &str = "Invalid syntax encountered. There are extra tokens in the text that have not been consumed. \
                            Offending token";

/// How many lines graphql-java shows before and behind the one that is wrong.
const PREVIEW_LINES: usize = 3;

impl SyntaxError {
    /// A text that cannot be read at all, at this place.
    pub(super) fn new(message: String, place: (usize, usize)) -> SyntaxError {
        SyntaxError { message, token: None, place }
    }

    pub(super) fn too_many(limit: usize, what: &str) -> SyntaxError {
        let limit = crate::jsonschema::formatted_count(limit);
        let message = format!(
            "More than {limit} '{what}' tokens have been presented. To prevent Denial Of Service attacks, parsing has \
             been cancelled."
        );
        SyntaxError::new(message, (1, 1))
    }

    /// The whole error as `InvalidSyntaxError.toString` shows it, which messages about schemas hold.
    pub(super) fn in_full(&self, source: &str) -> String {
        let (line, column) = self.place;
        format!(
            "InvalidSyntaxError{{ message={} ,offendingToken={} ,locations=[SourceLocation{{line={line}, column={column}}}] \
             ,sourcePreview={}}}",
            self.message,
            self.token.as_deref().unwrap_or("null"),
            preview(source, line)
        )
    }
}

/// The lines around one, each with a line end.
fn preview(source: &str, line: usize) -> String {
    let shown = line.saturating_sub(PREVIEW_LINES + 1)..line + PREVIEW_LINES;
    let lines = source.split_inclusive(['\n', '\r']).filter(|part| *part != "\n" || !source.contains("\r\n"));
    let lines = lines.map(|part| part.trim_end_matches(['\n', '\r']));
    let mut out = String::new();
    for (_, text) in lines.enumerate().filter(|(at, _)| shown.contains(at)) {
        out.push_str(text);
        out.push('\n');
    }
    out
}

/// Reads a document.
pub(super) fn parse(source: &str, limits: Limits) -> Result<Document<'_>, SyntaxError> {
    if crate::jvm::length(source) > limits.length {
        let limit = crate::jsonschema::formatted_count(limits.length);
        let message = format!(
            "More than {limit} characters have been presented. To prevent Denial Of Service attacks, parsing has been \
             cancelled."
        );
        return Err(SyntaxError::new(message, (1, 1)));
    }
    let mut lexer = Lexer::new(source, limits);
    let token = lexer.next()?;
    Parser { source, lexer, token, depth: 1, fields: 0 }.document()
}

struct Parser<'t> {
    source: &'t str,
    lexer: Lexer<'t>,
    /// The next token.
    token: Token<'t>,
    depth: usize,
    fields: u32,
}

type Parsed<T> = Result<T, SyntaxError>;

impl<'t> Parser<'t> {
    fn document(mut self) -> Parsed<Document<'t>> {
        let mut document = Document::default();
        loop {
            self.definition(&mut document)?;
            if self.token.kind == Kind::End {
                return Ok(document);
            }
            if !self.begins_definition() {
                return self.wrong_at(self.token, EXTRA_TOKENS);
            }
        }
    }

    fn advance(&mut self) -> Parsed<Token<'t>> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn wrong<T>(&self) -> Parsed<T> {
        self.wrong_at(self.token, OFFENDING)
    }

    fn wrong_at<T>(&self, token: Token<'t>, reason: &str) -> Parsed<T> {
        let (line, column) = place(self.source, token.at);
        let token = if token.kind == Kind::End { "<EOF>" } else { token.text };
        Err(SyntaxError {
            message: format!("{reason} '{token}' at line {line} column {column}"),
            token: Some(token.to_owned()),
            place: (line, column),
        })
    }

    fn is_mark(&self, mark: &str) -> bool {
        self.token.kind == Kind::Mark && self.token.text == mark
    }

    fn is_word(&self, word: &str) -> bool {
        self.token.kind == Kind::Name && self.token.text == word
    }

    /// Takes a mark if it comes next.
    fn take(&mut self, mark: &str) -> Parsed<bool> {
        if !self.is_mark(mark) {
            return Ok(false);
        }
        self.advance().map(|_| true)
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.take(mark)? { Ok(()) } else { self.wrong() }
    }

    fn take_word(&mut self, word: &str) -> Parsed<bool> {
        if !self.is_word(word) {
            return Ok(false);
        }
        self.advance().map(|_| true)
    }

    fn name(&mut self) -> Parsed<&'t str> {
        if self.token.kind == Kind::Name { self.advance().map(|token| token.text) } else { self.wrong() }
    }

    /// One or more of something between two marks.
    fn several<T>(
        &mut self,
        open: &str,
        close: &str,
        mut one: impl FnMut(&mut Parser<'t>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.expect(open)?;
        let mut all = vec![one(self)?];
        while !self.take(close)? {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// As [`Parser::several`], or nothing at all.
    fn optional<T>(
        &mut self,
        open: &str,
        close: &str,
        one: impl FnMut(&mut Parser<'t>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        if self.is_mark(open) { self.several(open, close, one) } else { Ok(Vec::new()) }
    }

    /// Goes so many rules deeper.
    fn deeper<T>(&mut self, rules: usize, inner: impl FnOnce(&mut Parser<'t>) -> Parsed<T>) -> Parsed<T> {
        self.depth += rules;
        if self.depth > DEPTH_MAX {
            let message = format!(
                "More than {DEPTH_MAX} deep 'grammar' rules have been entered. To prevent Denial Of Service attacks, \
                 parsing has been cancelled."
            );
            return Err(SyntaxError::new(message, place(self.source, self.token.at)));
        }
        let result = inner(self);
        self.depth -= rules;
        result
    }

    fn begins_definition(&self) -> bool {
        const WORDS: [&str; 13] = [
            "query",
            "mutation",
            "subscription",
            "fragment",
            "schema",
            "scalar",
            "type",
            "interface",
            "union",
            "enum",
            "input",
            "directive",
            "extend",
        ];
        match self.token.kind {
            Kind::Name => WORDS.contains(&self.token.text),
            Kind::Mark => self.token.text == "{",
            Kind::Text => true,
            Kind::Int | Kind::Float | Kind::End => false,
        }
    }

    fn definition(&mut self, document: &mut Document<'t>) -> Parsed<()> {
        if self.is_mark("{") {
            let selections = self.deeper(3, Parser::selections)?;
            document.operations.push(Operation {
                kind: OperationKind::Query,
                name: None,
                variables: Vec::new(),
                directives: Vec::new(),
                selections,
            });
            return Ok(());
        }
        if let Some(kind) = OperationKind::ALL.into_iter().find(|kind| self.is_word(kind.as_str())) {
            self.advance()?;
            document.operations.push(self.operation(kind)?);
        } else if self.take_word("fragment")? {
            document.fragments.push(self.fragment()?);
        } else {
            let definition = self.system_definition()?;
            document.system.push(definition);
        }
        Ok(())
    }

    fn operation(&mut self, kind: OperationKind) -> Parsed<Operation<'t>> {
        let name = if self.token.kind == Kind::Name { Some(self.name()?) } else { None };
        let variables = self.optional("(", ")", Parser::variable)?;
        let directives = self.directives()?;
        let selections = self.deeper(3, Parser::selections)?;
        Ok(Operation { kind, name, variables, directives, selections })
    }

    fn variable(&mut self) -> Parsed<Variable<'t>> {
        self.expect("$")?;
        let name = self.name()?;
        self.expect(":")?;
        let of = self.type_ref()?;
        let default = if self.take("=")? { Some(self.constant()?) } else { None };
        Ok(Variable { name, of, default, directives: self.directives()? })
    }

    fn fragment(&mut self) -> Parsed<Fragment<'t>> {
        let name = self.fragment_name()?;
        let Some(condition) = self.condition()? else { return self.wrong() };
        let directives = self.directives()?;
        let selections = self.deeper(3, Parser::selections)?;
        Ok(Fragment { name, condition, directives, selections })
    }

    fn fragment_name(&mut self) -> Parsed<&'t str> {
        if self.is_word("on") { self.wrong() } else { self.name() }
    }

    fn condition(&mut self) -> Parsed<Option<&'t str>> {
        if self.take_word("on")? { self.name().map(Some) } else { Ok(None) }
    }

    fn selections(&mut self) -> Parsed<Vec<Selection<'t>>> {
        self.several("{", "}", Parser::selection)
    }

    fn selection(&mut self) -> Parsed<Selection<'t>> {
        let first = self.token;
        if !self.take("...")? {
            return self.field().map(Selection::Field);
        }
        // graphql-java reads on before it decides, and blames where it started.
        if self.token.kind != Kind::Name && !self.is_mark("@") && !self.is_mark("{") {
            return self.wrong_at(first, OFFENDING);
        }
        if self.token.kind == Kind::Name && !self.is_word("on") {
            let name = self.name()?;
            return Ok(Selection::Spread { name, directives: self.directives()? });
        }
        let condition = self.condition()?;
        let directives = self.directives()?;
        let selections = self.deeper(3, Parser::selections)?;
        Ok(Selection::Inline { condition, directives, selections })
    }

    fn field(&mut self) -> Parsed<Field<'t>> {
        let id = self.fields;
        self.fields += 1;
        let first = self.name()?;
        let (alias, name) = if self.take(":")? { (Some(first), self.name()?) } else { (None, first) };
        let arguments = self.arguments()?;
        let directives = self.directives()?;
        let selections = if self.is_mark("{") { self.deeper(3, Parser::selections)? } else { Vec::new() };
        Ok(Field { id, alias, name, arguments, directives, selections })
    }

    fn arguments(&mut self) -> Parsed<Vec<Argument<'t>>> {
        self.optional("(", ")", |parser| {
            let name = parser.name()?;
            parser.expect(":")?;
            let value = parser.deeper(4, |parser| parser.literal(Constants::AndVariables))?;
            Ok(Argument { name, value })
        })
    }

    fn directives(&mut self) -> Parsed<Vec<Directive<'t>>> {
        let mut directives = Vec::new();
        while self.take("@")? {
            let name = self.name()?;
            directives.push(Directive { name, arguments: self.arguments()? });
        }
        Ok(directives)
    }

    fn type_ref(&mut self) -> Parsed<TypeRef<'t>> {
        let inner = if self.take("[")? {
            let inner = self.deeper(2, Parser::type_ref)?;
            self.expect("]")?;
            TypeRef::List(Box::new(inner))
        } else {
            TypeRef::Named(self.name()?)
        };
        Ok(if self.take("!")? { TypeRef::NonNull(Box::new(inner)) } else { inner })
    }

    fn constant(&mut self) -> Parsed<Literal<'t>> {
        self.deeper(4, |parser| parser.literal(Constants::Only))
    }

    fn literal(&mut self, allowed: Constants) -> Parsed<Literal<'t>> {
        match self.token.kind {
            Kind::Int => Ok(Literal::Int(self.advance()?.text)),
            Kind::Float => Ok(Literal::Float(self.advance()?.text)),
            Kind::Text => {
                let Some(text) = content(self.token.text) else { return self.wrong() };
                self.advance()?;
                Ok(Literal::Text(text))
            }
            Kind::Name => Ok(match self.advance()?.text {
                "true" => Literal::Boolean(true),
                "false" => Literal::Boolean(false),
                "null" => Literal::Null,
                name => Literal::Enum(name),
            }),
            Kind::Mark => self.compound(allowed),
            Kind::End => self.wrong(),
        }
    }

    /// A variable, a list or an object.
    fn compound(&mut self, allowed: Constants) -> Parsed<Literal<'t>> {
        if allowed == Constants::AndVariables && self.take("$")? {
            return self.name().map(Literal::Variable);
        }
        if self.take("[")? {
            let mut values = Vec::new();
            while !self.take("]")? {
                values.push(self.deeper(2, |parser| parser.literal(allowed))?);
            }
            return Ok(Literal::List(values));
        }
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.take("}")? {
            let name = self.name()?;
            self.expect(":")?;
            fields.push((name, self.deeper(3, |parser| parser.literal(allowed))?));
        }
        Ok(Literal::Object(fields))
    }
}

/// What may stand in a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Constants {
    Only,
    AndVariables,
}

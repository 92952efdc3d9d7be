//! From GraphQL text to trees: one parser for queries and for schemas, as graphql-java has it.
//!
//! Written here because no kept crate fits: `graphql-parser` stops at 50 levels and `async-graphql-parser` at 64, while
//! policies ask for depths of 100, and `apollo-compiler` costs more to compile than everything else in this crate.

mod system;

use super::ast::{
    Directive, Fragment, GraphqlArgument, GraphqlDocument, GraphqlField, GraphqlLiteral, GraphqlOperation,
    GraphqlVariable, OperationKind, Selection, TypeRef,
};
use super::lexer::{GraphqlLexer, GraphqlToken, GraphqlTokenKind, content, place};

/// What a document may cost. Those for queries are graphql-java's.
#[derive(Clone, Copy, Debug)]
pub(super) struct GraphqlLimits {
    /// UTF-16 code units.
    pub(super) length: usize,
    pub(super) tokens: usize,
    /// White space, each character.
    pub(super) blanks: usize,
}

impl GraphqlLimits {
    pub(super) const QUERY: GraphqlLimits =
        GraphqlLimits { length: 1 << 20, tokens: 15_000, blanks: 200_000 };
    /// graphql-java does not limit schemas; this is more than twice what SAPL takes for validation.
    pub(super) const SCHEMA: GraphqlLimits =
        GraphqlLimits { length: 1 << 20, tokens: 500_000, blanks: 1 << 20 };
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
pub(super) fn parse(source: &str, limits: GraphqlLimits) -> Result<GraphqlDocument<'_>, SyntaxError> {
    if durward_functions::jvm::length(source) > limits.length {
        let limit = crate::jsonschema::formatted_count(limits.length);
        let message = format!(
            "More than {limit} characters have been presented. To prevent Denial Of Service attacks, parsing has been \
             cancelled."
        );
        return Err(SyntaxError::new(message, (1, 1)));
    }
    let mut lexer = GraphqlLexer::new(source, limits);
    let token = lexer.next()?;
    GraphqlParser { source, lexer, token, depth: 1, fields: 0 }.document()
}

struct GraphqlParser<'t> {
    source: &'t str,
    lexer: GraphqlLexer<'t>,
    /// The next token.
    token: GraphqlToken<'t>,
    depth: usize,
    fields: u32,
}

type GraphqlResult<T> = Result<T, SyntaxError>;

impl<'t> GraphqlParser<'t> {
    fn document(mut self) -> GraphqlResult<GraphqlDocument<'t>> {
        let mut document = GraphqlDocument::default();
        loop {
            self.definition(&mut document)?;
            if self.token.kind == GraphqlTokenKind::End {
                return Ok(document);
            }
            if !self.begins_definition() {
                return self.wrong_at(self.token, EXTRA_TOKENS);
            }
        }
    }

    fn advance(&mut self) -> GraphqlResult<GraphqlToken<'t>> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn wrong<T>(&self) -> GraphqlResult<T> {
        self.wrong_at(self.token, OFFENDING)
    }

    fn wrong_at<T>(&self, token: GraphqlToken<'t>, reason: &str) -> GraphqlResult<T> {
        let (line, column) = place(self.source, token.at);
        let token = if token.kind == GraphqlTokenKind::End { "<EOF>" } else { token.text };
        Err(SyntaxError {
            message: format!("{reason} '{token}' at line {line} column {column}"),
            token: Some(token.to_owned()),
            place: (line, column),
        })
    }

    fn is_mark(&self, mark: &str) -> bool {
        self.token.kind == GraphqlTokenKind::Mark && self.token.text == mark
    }

    fn is_word(&self, word: &str) -> bool {
        self.token.kind == GraphqlTokenKind::Name && self.token.text == word
    }

    /// Takes a mark if it comes next.
    fn take(&mut self, mark: &str) -> GraphqlResult<bool> {
        if !self.is_mark(mark) {
            return Ok(false);
        }
        self.advance().map(|_| true)
    }

    fn expect(&mut self, mark: &str) -> GraphqlResult<()> {
        if self.take(mark)? { Ok(()) } else { self.wrong() }
    }

    fn take_word(&mut self, word: &str) -> GraphqlResult<bool> {
        if !self.is_word(word) {
            return Ok(false);
        }
        self.advance().map(|_| true)
    }

    fn name(&mut self) -> GraphqlResult<&'t str> {
        if self.token.kind == GraphqlTokenKind::Name {
            self.advance().map(|token| token.text)
        } else {
            self.wrong()
        }
    }

    /// One or more of something between two marks.
    fn several<T>(
        &mut self,
        open: &str,
        close: &str,
        mut one: impl FnMut(&mut GraphqlParser<'t>) -> GraphqlResult<T>,
    ) -> GraphqlResult<Vec<T>> {
        self.expect(open)?;
        let mut all = vec![one(self)?];
        while !self.take(close)? {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// As [`GraphqlParser::several`], or nothing at all.
    fn optional<T>(
        &mut self,
        open: &str,
        close: &str,
        one: impl FnMut(&mut GraphqlParser<'t>) -> GraphqlResult<T>,
    ) -> GraphqlResult<Vec<T>> {
        if self.is_mark(open) { self.several(open, close, one) } else { Ok(Vec::new()) }
    }

    /// Goes so many rules deeper.
    fn deeper<T>(
        &mut self,
        rules: usize,
        inner: impl FnOnce(&mut GraphqlParser<'t>) -> GraphqlResult<T>,
    ) -> GraphqlResult<T> {
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
            GraphqlTokenKind::Name => WORDS.contains(&self.token.text),
            GraphqlTokenKind::Mark => self.token.text == "{",
            GraphqlTokenKind::Text => true,
            GraphqlTokenKind::Int | GraphqlTokenKind::Float | GraphqlTokenKind::End => false,
        }
    }

    fn definition(&mut self, document: &mut GraphqlDocument<'t>) -> GraphqlResult<()> {
        if self.is_mark("{") {
            let selections = self.deeper(3, GraphqlParser::selections)?;
            document.operations.push(GraphqlOperation {
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

    fn operation(&mut self, kind: OperationKind) -> GraphqlResult<GraphqlOperation<'t>> {
        let name = if self.token.kind == GraphqlTokenKind::Name { Some(self.name()?) } else { None };
        let variables = self.optional("(", ")", GraphqlParser::variable)?;
        let directives = self.directives()?;
        let selections = self.deeper(3, GraphqlParser::selections)?;
        Ok(GraphqlOperation { kind, name, variables, directives, selections })
    }

    fn variable(&mut self) -> GraphqlResult<GraphqlVariable<'t>> {
        self.expect("$")?;
        let name = self.name()?;
        self.expect(":")?;
        let of = self.type_ref()?;
        let default = if self.take("=")? { Some(self.constant()?) } else { None };
        Ok(GraphqlVariable { name, of, default, directives: self.directives()? })
    }

    fn fragment(&mut self) -> GraphqlResult<Fragment<'t>> {
        let name = self.fragment_name()?;
        let Some(condition) = self.condition()? else { return self.wrong() };
        let directives = self.directives()?;
        let selections = self.deeper(3, GraphqlParser::selections)?;
        Ok(Fragment { name, condition, directives, selections })
    }

    fn fragment_name(&mut self) -> GraphqlResult<&'t str> {
        if self.is_word("on") { self.wrong() } else { self.name() }
    }

    fn condition(&mut self) -> GraphqlResult<Option<&'t str>> {
        if self.take_word("on")? { self.name().map(Some) } else { Ok(None) }
    }

    fn selections(&mut self) -> GraphqlResult<Vec<Selection<'t>>> {
        self.several("{", "}", GraphqlParser::selection)
    }

    fn selection(&mut self) -> GraphqlResult<Selection<'t>> {
        let first = self.token;
        if !self.take("...")? {
            return self.field().map(Selection::Field);
        }
        // graphql-java reads on before it decides, and blames where it started.
        if self.token.kind != GraphqlTokenKind::Name && !self.is_mark("@") && !self.is_mark("{") {
            return self.wrong_at(first, OFFENDING);
        }
        if self.token.kind == GraphqlTokenKind::Name && !self.is_word("on") {
            let name = self.name()?;
            return Ok(Selection::Spread { name, directives: self.directives()? });
        }
        let condition = self.condition()?;
        let directives = self.directives()?;
        let selections = self.deeper(3, GraphqlParser::selections)?;
        Ok(Selection::Inline { condition, directives, selections })
    }

    fn field(&mut self) -> GraphqlResult<GraphqlField<'t>> {
        let id = self.fields;
        self.fields += 1;
        let first = self.name()?;
        let (alias, name) = if self.take(":")? { (Some(first), self.name()?) } else { (None, first) };
        let arguments = self.arguments()?;
        let directives = self.directives()?;
        let selections =
            if self.is_mark("{") { self.deeper(3, GraphqlParser::selections)? } else { Vec::new() };
        Ok(GraphqlField { id, alias, name, arguments, directives, selections })
    }

    fn arguments(&mut self) -> GraphqlResult<Vec<GraphqlArgument<'t>>> {
        self.optional("(", ")", |parser| {
            let name = parser.name()?;
            parser.expect(":")?;
            let value = parser.deeper(4, |parser| parser.literal(ValueContext::AndVariables))?;
            Ok(GraphqlArgument { name, value })
        })
    }

    fn directives(&mut self) -> GraphqlResult<Vec<Directive<'t>>> {
        let mut directives = Vec::new();
        while self.take("@")? {
            let name = self.name()?;
            directives.push(Directive { name, arguments: self.arguments()? });
        }
        Ok(directives)
    }

    fn type_ref(&mut self) -> GraphqlResult<TypeRef<'t>> {
        let inner = if self.take("[")? {
            let inner = self.deeper(2, GraphqlParser::type_ref)?;
            self.expect("]")?;
            TypeRef::List(Box::new(inner))
        } else {
            TypeRef::Named(self.name()?)
        };
        Ok(if self.take("!")? { TypeRef::NonNull(Box::new(inner)) } else { inner })
    }

    fn constant(&mut self) -> GraphqlResult<GraphqlLiteral<'t>> {
        self.deeper(4, |parser| parser.literal(ValueContext::Only))
    }

    fn literal(&mut self, allowed: ValueContext) -> GraphqlResult<GraphqlLiteral<'t>> {
        match self.token.kind {
            GraphqlTokenKind::Int => Ok(GraphqlLiteral::Int(self.advance()?.text)),
            GraphqlTokenKind::Float => Ok(GraphqlLiteral::Float(self.advance()?.text)),
            GraphqlTokenKind::Text => {
                let Some(text) = content(self.token.text) else { return self.wrong() };
                self.advance()?;
                Ok(GraphqlLiteral::Text(text))
            }
            GraphqlTokenKind::Name => Ok(match self.advance()?.text {
                "true" => GraphqlLiteral::Boolean(true),
                "false" => GraphqlLiteral::Boolean(false),
                "null" => GraphqlLiteral::Null,
                name => GraphqlLiteral::Enum(name),
            }),
            GraphqlTokenKind::Mark => self.compound(allowed),
            GraphqlTokenKind::End => self.wrong(),
        }
    }

    /// A variable, a list or an object.
    fn compound(&mut self, allowed: ValueContext) -> GraphqlResult<GraphqlLiteral<'t>> {
        if allowed == ValueContext::AndVariables && self.take("$")? {
            return self.name().map(GraphqlLiteral::Variable);
        }
        if self.take("[")? {
            let mut values = Vec::new();
            while !self.take("]")? {
                values.push(self.deeper(2, |parser| parser.literal(allowed))?);
            }
            return Ok(GraphqlLiteral::List(values));
        }
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.take("}")? {
            let name = self.name()?;
            self.expect(":")?;
            fields.push((name, self.deeper(3, |parser| parser.literal(allowed))?));
        }
        Ok(GraphqlLiteral::Object(fields))
    }
}

/// What may stand in a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueContext {
    Only,
    AndVariables,
}

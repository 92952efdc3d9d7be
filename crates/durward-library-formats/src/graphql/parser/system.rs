//! Definitions of schemas (specification, section 3).

use super::{GraphqlParser, GraphqlResult};
use crate::graphql::ast::{
    EnumValue, FieldDefinition, InputValue, OperationKind, SystemDefinition, SystemKind,
};
use crate::graphql::lexer::GraphqlTokenKind;

impl<'t> GraphqlParser<'t> {
    pub(super) fn system_definition(&mut self) -> GraphqlResult<SystemDefinition<'t>> {
        let first = self.token;
        let is_described = self.description()?;
        const WORDS: [&str; 8] =
            ["schema", "scalar", "type", "interface", "union", "enum", "input", "directive"];
        if is_described && !WORDS.iter().any(|word| self.is_word(word)) {
            // graphql-java reads on before it decides, and blames where it started.
            return self.wrong_at(first, super::OFFENDING);
        }
        let is_extension = !is_described && self.take_word("extend")?;
        if self.token.kind != GraphqlTokenKind::Name {
            return self.wrong();
        }
        let word = self.token.text;
        if !matches!(word, "schema" | "scalar" | "type" | "interface" | "union" | "enum" | "input")
            && (word != "directive" || is_extension)
        {
            return self.wrong();
        }
        self.advance()?;
        if word == "directive" {
            return self.directive_definition();
        }
        let name = if word == "schema" { "" } else { self.name()? };
        let interfaces = if matches!(word, "type" | "interface") { self.interfaces()? } else { Vec::new() };
        let directives = self.directives()?;
        let kind = match word {
            "schema" => SystemKind::Schema(self.operation_types(is_extension)?),
            "scalar" => SystemKind::Scalar,
            "type" => SystemKind::Object { interfaces, fields: self.field_definitions()? },
            "interface" => SystemKind::Interface { interfaces, fields: self.field_definitions()? },
            "union" => self.members().map(|()| SystemKind::Union)?,
            "enum" => SystemKind::Enum(self.optional("{", "}", GraphqlParser::enum_value)?),
            _ => SystemKind::Input(self.optional("{", "}", GraphqlParser::input_value)?),
        };
        Ok(SystemDefinition { is_extension, name, directives, kind })
    }

    fn description(&mut self) -> GraphqlResult<bool> {
        if self.token.kind != GraphqlTokenKind::Text {
            return Ok(false);
        }
        self.advance().map(|_| true)
    }

    fn operation_types(&mut self, is_extension: bool) -> GraphqlResult<Vec<(OperationKind, &'t str)>> {
        let one = |parser: &mut GraphqlParser<'t>| {
            parser.description()?;
            let Some(kind) = OperationKind::ALL.into_iter().find(|kind| parser.is_word(kind.as_str())) else {
                return parser.wrong();
            };
            parser.advance()?;
            parser.expect(":")?;
            Ok((kind, parser.name()?))
        };
        if is_extension { self.optional("{", "}", one) } else { self.several("{", "}", one) }
    }

    /// `implements & A & B`, the first `&` optional.
    fn interfaces(&mut self) -> GraphqlResult<Vec<&'t str>> {
        if !self.take_word("implements")? {
            return Ok(Vec::new());
        }
        self.take("&")?;
        let mut names = vec![self.name()?];
        // Before 2018 names stood beside each other.
        while self.take("&")? || self.token.kind == GraphqlTokenKind::Name {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// Braces may be empty, as in graphql-java.
    fn field_definitions(&mut self) -> GraphqlResult<Vec<FieldDefinition<'t>>> {
        let mut fields = Vec::new();
        if self.take("{")? {
            while !self.take("}")? {
                fields.push(self.field_definition()?);
            }
        }
        Ok(fields)
    }

    fn field_definition(&mut self) -> GraphqlResult<FieldDefinition<'t>> {
        self.description()?;
        let name = self.name()?;
        let arguments = self.optional("(", ")", GraphqlParser::input_value)?;
        self.expect(":")?;
        let of = self.type_ref()?;
        Ok(FieldDefinition { name, arguments, of, directives: self.directives()? })
    }

    fn input_value(&mut self) -> GraphqlResult<InputValue<'t>> {
        self.description()?;
        let name = self.name()?;
        self.expect(":")?;
        let of = self.type_ref()?;
        let default = if self.take("=")? { Some(self.constant()?) } else { None };
        Ok(InputValue { name, of, default, directives: self.directives()? })
    }

    fn enum_value(&mut self) -> GraphqlResult<EnumValue<'t>> {
        self.description()?;
        if matches!(self.token.text, "true" | "false" | "null") {
            return self.wrong();
        }
        Ok(EnumValue { name: self.name()?, directives: self.directives()? })
    }

    /// The members of a union, of which nothing is wanted.
    fn members(&mut self) -> GraphqlResult<()> {
        if self.take("=")? {
            self.take("|")?;
            self.name()?;
            while self.take("|")? {
                self.name()?;
            }
        }
        Ok(())
    }

    fn directive_definition(&mut self) -> GraphqlResult<SystemDefinition<'t>> {
        self.expect("@")?;
        let name = self.name()?;
        let arguments = self.optional("(", ")", GraphqlParser::input_value)?;
        let is_repeatable = self.take_word("repeatable")?;
        if !self.take_word("on")? {
            return self.wrong();
        }
        self.take("|")?;
        let mut locations = vec![self.name()?];
        while self.take("|")? {
            locations.push(self.name()?);
        }
        let kind = SystemKind::Directive { arguments, is_repeatable, locations };
        Ok(SystemDefinition { is_extension: false, name, directives: Vec::new(), kind })
    }
}

//! Matchers: what a value must be.

use crate::syntax::parser::{NameUse, Parser, Part};
use crate::syntax::token::TokenKind as K;
use crate::syntax::tree::{FunctionName, Text};

use super::tree::{
    AttributeReference, DutyMatcher, FunctionReference, Matcher, MemberMatcher, NodeMatcher, TextMatcher,
};

/// The keywords of documents that are none in tests: the grammar of tests takes them for names.
const NAMES_HERE: [&str; 12] =
    ["import", "as", "set", "policy", "var", "schema", "enforced", "transform", "has", "all", "each", "for"];

impl Parser<'_> {
    /// `any`, a value, or `matching ...`.
    pub(super) fn matcher(&mut self) -> Part<Matcher> {
        if self.take_word("any").is_some() {
            return Ok(Matcher::Any);
        }
        if self.take_word("matching").is_some() {
            return self.node_matcher().map(Matcher::Matching);
        }
        if self.starts_value() {
            return self.test_value().map(Matcher::Value);
        }
        let hint = self.keyword_hint(&["any", "matching"]);
        self.expected_help("`any`, a value or `matching`", hint)
    }

    /// Matchers in parentheses, if there are any.
    fn parameters(&mut self) -> Part<Option<Vec<Matcher>>> {
        let Some(open) = self.take_if(K::OpenParenthesis) else { return Ok(None) };
        let (matchers, _) = self.items(open, K::CloseParenthesis, Self::matcher)?;
        Ok(Some(matchers))
    }

    /// `library.name`, where keywords of documents alone are names.
    fn test_function_name(&mut self, used: NameUse) -> Part<FunctionName> {
        let start = self.next().span;
        let mut segments = Vec::new();
        loop {
            let token = self.next();
            let is_name_here = token.kind == K::Word && NAMES_HERE.contains(&self.text(token.span));
            segments.push(if is_name_here { self.take_name() } else { self.name(used)? });
            if self.take_if(K::Dot).is_none() {
                return Ok(FunctionName { span: self.since(start), segments });
            }
        }
    }

    /// `library.name(matcher, ...)`
    pub(super) fn function_reference(&mut self) -> Part<FunctionReference> {
        let name = self.test_function_name(NameUse::Function)?;
        Ok(FunctionReference { name, parameters: self.parameters()? })
    }

    /// `entity.<library.name(matcher, ...)>`
    pub(super) fn attribute_reference(&mut self) -> Part<AttributeReference> {
        let start = self.next().span;
        let mut entity = None;
        if !self.is(K::Less) {
            entity = Some(self.matcher()?);
            self.expect(K::Dot, "`.` between the entity and `<`")?;
        }
        let open = self.expect(K::Less, "`<` before the name of an attribute")?;
        let name = self.test_function_name(NameUse::Attribute)?;
        let parameters = self.parameters()?;
        match self.take_if(K::Greater) {
            Some(close) => Ok(AttributeReference { span: start.to(close), entity, name, parameters }),
            None => self.unclosed(open, ""),
        }
    }

    /// What stands after `matching`.
    pub(super) fn node_matcher(&mut self) -> Part<NodeMatcher> {
        self.nested(|parser| {
            let token = parser.next();
            let word = if token.kind == K::Word { parser.text(token.span) } else { "" };
            if !matches!(word, "null" | "text" | "number" | "boolean" | "array" | "object") {
                let hint = parser.keyword_hint(&["null", "text", "number", "boolean", "array", "object"]);
                return parser
                    .expected_help("`null`, `text`, `number`, `boolean`, `array` or `object`", hint);
            }
            parser.take();
            match word {
                "null" => Ok(NodeMatcher::Null),
                "text" => parser.text_matcher().map(NodeMatcher::Text),
                "number" => parser.number_matcher().map(NodeMatcher::Number),
                "boolean" => Ok(NodeMatcher::Boolean(parser.boolean())),
                "array" => parser.array_matcher().map(NodeMatcher::Array),
                _ => parser.object_matcher().map(NodeMatcher::Object),
            }
        })
    }

    fn number_matcher(&mut self) -> Part<Option<smol_str::SmolStr>> {
        let token = self.next();
        let signed = matches!(token.kind, K::Minus | K::Plus) && self.starts_value();
        if !signed && token.kind != K::Number {
            return Ok(None);
        }
        let span = self.test_value()?.span;
        Ok(Some(self.text(span).into()))
    }

    /// `true` or `false`, if one stands here.
    pub(super) fn boolean(&mut self) -> Option<bool> {
        if self.take_word("true").is_some() { Some(true) } else { self.take_word("false").map(|_| false) }
    }

    fn array_matcher(&mut self) -> Part<Option<Vec<NodeMatcher>>> {
        if self.take_word("where").is_none() {
            return Ok(None);
        }
        let open = self.expect(K::OpenBracket, "`[` after `where`")?;
        let (elements, _) = self.items(open, K::CloseBracket, Self::node_matcher)?;
        Ok(Some(elements))
    }

    fn object_matcher(&mut self) -> Part<Option<Vec<MemberMatcher>>> {
        if self.take_word("where").is_none() {
            return Ok(None);
        }
        let open = self.expect(K::OpenBrace, "`{` after `where`")?;
        let mut members = vec![self.member_matcher()?];
        while self.take_word("and").is_some() {
            members.push(self.member_matcher()?);
        }
        match self.take_if(K::CloseBrace) {
            Some(_) => Ok(Some(members)),
            None => self.unclosed(open, "`and` or "),
        }
    }

    fn member_matcher(&mut self) -> Part<MemberMatcher> {
        let key = self.quoted_text("a key in quotation marks")?;
        self.expect_word("is", "the key")?;
        Ok(MemberMatcher { key, value: self.node_matcher()? })
    }

    /// What may stand after `text`.
    fn text_matcher(&mut self) -> Part<Option<TextMatcher>> {
        let token = self.next();
        if token.kind == K::Text {
            return self.quoted_text("a text").map(TextMatcher::Is).map(Some);
        }
        if token.kind != K::Word {
            return Ok(None);
        }
        if self.take_dashed("null-or-empty") {
            return Ok(Some(TextMatcher::NullOrEmpty));
        }
        if self.take_dashed("null-or-blank") {
            return Ok(Some(TextMatcher::NullOrBlank));
        }
        let read = match self.text(token.span) {
            "null" => |_: &mut Self| Ok(TextMatcher::Null),
            "blank" => |_: &mut Self| Ok(TextMatcher::Blank),
            "empty" => |_: &mut Self| Ok(TextMatcher::Empty),
            "equal" => Self::equal_matcher,
            "starting" => Self::starting_matcher,
            "ending" => Self::ending_matcher,
            "containing" => Self::containing_matcher,
            "with" if self.ahead_is_word(1, "regex") || self.ahead_is_word(1, "length") => Self::with_matcher,
            _ => return Ok(None),
        };
        self.take();
        read(self).map(Some)
    }

    fn equal_matcher(&mut self) -> Part<TextMatcher> {
        self.expect_word("to", "`equal`")?;
        let text = self.quoted_text("a text after `equal to`")?;
        if self.take_dashed("case-insensitive") {
            return Ok(TextMatcher::EqualIgnoringCase(text));
        }
        if self.take_word("with").is_none() {
            return self.expected("`with compressed whitespace` or `case-insensitive`");
        }
        self.expect_word("compressed", "`with`")?;
        self.expect_word("whitespace", "`compressed`")?;
        Ok(TextMatcher::EqualCompressed(text))
    }

    /// `"text" case-insensitive`
    fn text_and_case(&mut self) -> Part<(Text, bool)> {
        let text = self.quoted_text("a text in quotation marks")?;
        Ok((text, self.take_dashed("case-insensitive")))
    }

    fn starting_matcher(&mut self) -> Part<TextMatcher> {
        self.expect_word("with", "`starting`")?;
        let (text, ignoring_case) = self.text_and_case()?;
        Ok(TextMatcher::Starting { text, ignoring_case })
    }

    fn ending_matcher(&mut self) -> Part<TextMatcher> {
        self.expect_word("with", "`ending`")?;
        let (text, ignoring_case) = self.text_and_case()?;
        Ok(TextMatcher::Ending { text, ignoring_case })
    }

    fn containing_matcher(&mut self) -> Part<TextMatcher> {
        if self.take_word("stream").is_none() {
            let (text, ignoring_case) = self.text_and_case()?;
            return Ok(TextMatcher::Containing { text, ignoring_case });
        }
        let texts = self.several(|parser| parser.quoted_text("a text in quotation marks"))?;
        self.expect_word("in", "the texts")?;
        self.expect_word("order", "`in`")?;
        Ok(TextMatcher::InOrder(texts))
    }

    fn with_matcher(&mut self) -> Part<TextMatcher> {
        if self.take_word("regex").is_some() {
            return self.quoted_text("a pattern in quotation marks").map(TextMatcher::Regex);
        }
        self.expect_word("length", "`with`")?;
        self.count("the length").map(TextMatcher::Length)
    }

    /// What may stand after `with obligation` and the like; `keys` says whether `containing key` may.
    pub(super) fn duty_matcher(&mut self, keys: bool) -> Part<Option<DutyMatcher>> {
        if self.take_word("equals").is_some() {
            return self.test_value().map(DutyMatcher::Equals).map(Some);
        }
        if self.take_word("matching").is_some() {
            return self.node_matcher().map(DutyMatcher::Matching).map(Some);
        }
        if !keys || self.take_word("containing").is_none() {
            return Ok(None);
        }
        self.expect_word("key", "`containing`")?;
        let key = self.quoted_text("a key in quotation marks")?;
        let value = if self.is_word("with") && self.ahead_is_word(1, "value") {
            self.take();
            self.take();
            self.expect_word("matching", "`with value`")?;
            Some(self.node_matcher()?)
        } else {
            None
        };
        Ok(Some(DutyMatcher::Containing { key, value }))
    }
}

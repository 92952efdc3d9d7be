//! Requirements and scenarios: what is given, the question, what is verified.

use crate::syntax::Span;
use crate::syntax::parser::{Parser, Part, Reported};
use crate::syntax::token::TokenKind as K;
use crate::syntax::tree::Expr;

use super::tree::{
    AttributeMock, Emission, FunctionMock, Given, GivenKind, Requirement, Scenario, Subscription, TestFile,
    Then, Verification, VerificationTarget,
};

/// The words that start an item of a `given`, for suggestions.
const GIVEN: [&str; 12] = [
    "document",
    "documents",
    "variables",
    "secrets",
    "configuration",
    "function",
    "attribute",
    "first",
    "priority",
    "unanimous",
    "unique",
    "pdp",
];

impl Parser<'_> {
    /// A whole file.
    pub(super) fn test_file(&mut self) -> TestFile {
        let mut requirements = Vec::new();
        while !self.is(K::End) {
            if self.is_word("requirement") {
                requirements.extend(self.requirement());
            } else {
                let hint = self.keyword_hint(&["requirement"]);
                let _ = self.expected_help::<()>("`requirement`", hint);
                self.take();
                self.skip_to(Self::starts_requirement);
            }
        }
        if requirements.is_empty() && self.last() == Span::default() {
            let _ = self.expected::<()>("`requirement`");
        }
        TestFile { span: Span::new(0, self.next().span.end), requirements }
    }

    fn starts_requirement(&self) -> bool {
        self.is_word("requirement") && self.ahead(1).kind == K::Text
    }

    fn starts_scenario(&self) -> bool {
        self.is_word("scenario") && self.ahead(1).kind == K::Text
    }

    /// `requirement "name" { given ... scenario ... }`; `None` if it has no name.
    fn requirement(&mut self) -> Option<Requirement> {
        let start = self.take().span;
        let Ok(name) = self.quoted_text("the requirement's name in quotation marks") else {
            self.skip_to(Self::starts_requirement);
            return None;
        };
        let mut requirement = Requirement { span: start, name, given: Vec::new(), scenarios: Vec::new() };
        if self.requirement_body(&mut requirement).is_err() {
            self.skip_to(Self::starts_requirement);
        }
        requirement.span = self.since(start);
        Some(requirement)
    }

    fn requirement_body(&mut self, requirement: &mut Requirement) -> Part<()> {
        let open = self.expect(K::OpenBrace, "`{` after the requirement's name")?;
        requirement.given = self.given(Self::starts_scenario)?;
        loop {
            if self.is_word("scenario") {
                match self.scenario() {
                    Ok(scenario) => requirement.scenarios.push(scenario),
                    Err(Reported) => {
                        self.skip_to(|parser| parser.starts_scenario() || parser.starts_requirement());
                        if !self.starts_scenario() {
                            return Ok(());
                        }
                    }
                }
            } else if requirement.scenarios.is_empty() {
                let hint = self.keyword_hint(&["scenario", "given"]);
                return self.expected_help("`scenario`", hint);
            } else if self.take_if(K::CloseBrace).is_some() {
                return Ok(());
            } else {
                return self.unclosed(open, "`scenario` or ");
            }
        }
    }

    /// `scenario "name" ...;`
    fn scenario(&mut self) -> Part<Scenario> {
        let start = self.take().span;
        let name = self.quoted_text("the scenario's name in quotation marks")?;
        let given = self.given(|parser| parser.is_word("when"))?;
        let subscription = self.subscription()?;
        let expectation = self.expectation()?;
        let mut then = Vec::new();
        while self.is_word("then") {
            then.push(self.then()?);
        }
        let verify = self.verify()?;
        let span = self.since(start);
        self.expect(K::Semicolon, "`;` after the scenario")?;
        Ok(Scenario { span, name, given, subscription, expectation, then, verify })
    }

    /// `given - ... - ...`, if it stands here. An item that cannot be read does not hide the others, nor what a
    /// condition says comes next.
    fn given(&mut self, next: impl Fn(&Self) -> bool) -> Part<Vec<Given>> {
        let mut items = Vec::new();
        if self.take_word("given").is_none() {
            return Ok(items);
        }
        if !self.is(K::Minus) {
            return self.expected("`-` before each thing that is given");
        }
        while self.take_if(K::Minus).is_some() {
            let start = self.next().span;
            match self.given_kind() {
                Ok(kind) => items.push(Given { span: self.since(start), kind }),
                Err(Reported) => self.skip_to(|parser| {
                    parser.starts_given()
                        || next(parser)
                        || parser.starts_scenario()
                        || parser.starts_requirement()
                }),
            }
        }
        Ok(items)
    }

    /// Whether an item of a `given` starts here, with its dash.
    fn starts_given(&self) -> bool {
        self.is(K::Minus) && GIVEN.iter().any(|word| self.ahead_is_word(1, word))
    }

    fn given_kind(&mut self) -> Part<GivenKind> {
        if self.take_dashed("pdp-configuration") {
            return self.quoted_text("a path in quotation marks").map(GivenKind::PdpConfiguration);
        }
        if self.take_dashed("low-latency-mode") {
            return match self.boolean() {
                Some(on) => Ok(GivenKind::LowLatencyMode(on)),
                None => self.expected("`true` or `false` after `low-latency-mode`"),
            };
        }
        let token = self.next();
        let word = if token.kind == K::Word { self.text(token.span) } else { "" };
        if matches!(word, "first" | "priority" | "unanimous" | "unique") {
            return self.algorithm().map(GivenKind::Algorithm);
        }
        if !GIVEN.contains(&word) {
            let hint = self.algorithm_hint().or_else(|| self.keyword_hint(&GIVEN));
            return self.expected_help(
                "what is given: `document`, `function`, `attribute`, an algorithm, ...",
                hint,
            );
        }
        self.take();
        self.given_after(word)
    }

    fn given_after(&mut self, word: &str) -> Part<GivenKind> {
        match word {
            "document" => self.quoted_text("a document's name in quotation marks").map(GivenKind::Document),
            "documents" => {
                let names = self.several(|parser| parser.quoted_text("a document's name in quotation marks"));
                names.map(GivenKind::Documents)
            }
            "variables" => self.test_object().map(GivenKind::Variables),
            "secrets" => self.test_object().map(GivenKind::Secrets),
            "configuration" => self.quoted_text("a path in quotation marks").map(GivenKind::Configuration),
            "function" => self.function_mock().map(GivenKind::Function),
            "attribute" => self.attribute_mock().map(GivenKind::Attribute),
            _ => self.expected("`-configuration` after `pdp`"),
        }
    }

    fn function_mock(&mut self) -> Part<FunctionMock> {
        let call = self.function_reference()?;
        self.expect_word("maps", "the function")?;
        self.expect_word("to", "`maps`")?;
        Ok(FunctionMock { call, result: self.outcome()? })
    }

    fn attribute_mock(&mut self) -> Part<AttributeMock> {
        let id = self.quoted_text("a name for the attribute in quotation marks")?;
        let attribute = self.attribute_reference()?;
        let emits = match self.take_word("emits") {
            Some(_) => Some(self.outcome()?),
            None => None,
        };
        Ok(AttributeMock { id, attribute, emits })
    }

    /// `when subject ... attempts action ... on resource ... in environment ... with secrets ...`
    fn subscription(&mut self) -> Part<Subscription> {
        if !self.is_word("when") {
            let hint = self.keyword_hint(&["when", "given"]);
            return self.expected_help("`when`", hint);
        }
        let start = self.take().span;
        let subject = self.element("subject")?;
        self.expect_word("attempts", "the subject")?;
        let action = self.element("action")?;
        self.expect_word("on", "the action")?;
        let resource = self.element("resource")?;
        let environment = match self.take_word("in") {
            Some(_) => {
                self.take_word("environment");
                Some(self.test_object()?)
            }
            None => None,
        };
        let secrets = if self.take_with("secrets") { Some(self.test_object()?) } else { None };
        Ok(Subscription { span: self.since(start), subject, action, resource, environment, secrets })
    }

    /// A part of the subscription, perhaps with its name before it.
    fn element(&mut self, name: &str) -> Part<Expr> {
        self.take_word(name);
        self.test_value()
    }

    /// `then - attribute "mock" emits value ... expect ...`
    fn then(&mut self) -> Part<Then> {
        let start = self.take().span;
        if !self.is(K::Minus) {
            return self.expected("`-` before each thing that happens");
        }
        let mut emissions = Vec::new();
        while self.take_if(K::Minus).is_some() {
            self.expect_word("attribute", "`-`")?;
            let id = self.quoted_text("the attribute's name in quotation marks")?;
            self.expect_word("emits", "the attribute's name")?;
            emissions.push(Emission { id, value: self.outcome()? });
        }
        let expectation = self.expectation()?;
        Ok(Then { span: self.since(start), emissions, expectation })
    }

    /// `verify - ... is called once ...`, if it stands here.
    fn verify(&mut self) -> Part<Vec<Verification>> {
        let mut verifications = Vec::new();
        if self.take_word("verify").is_none() {
            return Ok(verifications);
        }
        if !self.is(K::Minus) {
            return self.expected("`-` before each thing that is verified");
        }
        while self.take_if(K::Minus).is_some() {
            let start = self.next().span;
            let target = if self.take_word("function").is_some() {
                VerificationTarget::Function(self.function_reference()?)
            } else {
                self.expect_word("attribute", "`-` (or `function`)")?;
                VerificationTarget::Attribute(self.attribute_reference()?)
            };
            let times = self.calls()?;
            verifications.push(Verification { span: self.since(start), target, times });
        }
        Ok(verifications)
    }

    /// `is called once`, `is called 3 times`, `is never called`
    fn calls(&mut self) -> Part<u32> {
        self.expect_word("is", "what is verified")?;
        if self.take_word("never").is_some() {
            self.expect_word("called", "`never`")?;
            return Ok(0);
        }
        self.expect_word("called", "`is` (or `never called`)")?;
        self.times()
    }
}

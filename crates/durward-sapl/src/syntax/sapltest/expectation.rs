//! `expect`: decisions, whole or in part, one or many.

use crate::syntax::Span;
use crate::syntax::parser::{Parser, Part};
use crate::syntax::token::TokenKind as K;

use super::tree::{DecisionMatcher, DecisionName, Expectation, ExpectedDecision, ExpectedKind, ExpectedStep};

/// The words for decisions, for suggestions.
const DECISIONS: [&str; 5] = ["permit", "deny", "suspend", "indeterminate", "not"];

impl Parser<'_> {
    /// `expect ...`
    pub(super) fn expectation(&mut self) -> Part<Expectation> {
        if !self.is_word("expect") {
            let hint = self.keyword_hint(&["expect", "in", "with"]);
            return self.expected_help("`expect`", hint);
        }
        let start = self.take().span;
        let mut steps = Vec::new();
        if self.is(K::Minus) {
            while self.take_if(K::Minus).is_some() {
                steps.push(self.expected_step(true)?);
            }
        } else {
            steps.push(self.expected_step(false)?);
        }
        Ok(Expectation { span: start.to(self.last()), steps })
    }

    /// One decision; `counted` says whether it may be expected more than once.
    fn expected_step(&mut self, counted: bool) -> Part<ExpectedStep> {
        let start = self.next().span;
        let kind = if self.take_word("decision").is_some() {
            ExpectedKind::Matching(self.several(Self::decision_matcher)?)
        } else {
            self.decision_or_count(counted)?
        };
        Ok(ExpectedStep { span: start.to(self.last()), kind })
    }

    fn decision_or_count(&mut self, counted: bool) -> Part<ExpectedKind> {
        let decision = self.decision_name("`decision` or ")?;
        if counted && (self.is_word("once") || self.is(K::Number)) {
            let times = self.times()?;
            return Ok(ExpectedKind::Times { decision, times });
        }
        let obligations = if self.take_with("obligations") { self.test_values()? } else { Vec::new() };
        let resource = if self.take_with("resource") { Some(self.test_value()?) } else { None };
        let advice = if self.take_with("advice") { self.test_values()? } else { Vec::new() };
        Ok(ExpectedKind::Decision(ExpectedDecision { decision, obligations, resource, advice }))
    }

    /// `with` and a word, if both stand here.
    pub(super) fn take_with(&mut self, word: &str) -> bool {
        let found = self.is_word("with") && self.ahead_is_word(1, word);
        if found {
            self.take();
            self.take();
        }
        found
    }

    /// `once`, `3 times`
    pub(super) fn times(&mut self) -> Part<u32> {
        if self.take_word("once").is_some() {
            return Ok(1);
        }
        let times = self.count("`once` or a number")?;
        self.expect_word("times", "the number")?;
        Ok(times)
    }

    fn decision_name(&mut self, or: &str) -> Part<DecisionName> {
        if self.take_dashed("not-applicable") {
            return Ok(DecisionName::NotApplicable);
        }
        let token = self.next();
        let word = if token.kind == K::Word { self.text(token.span) } else { "" };
        let decision = match word {
            "permit" => DecisionName::Permit,
            "deny" => DecisionName::Deny,
            "suspend" => DecisionName::Suspend,
            "indeterminate" => DecisionName::Indeterminate,
            _ => {
                let hint = self.keyword_hint(&DECISIONS);
                let what = format!("{or}`permit`, `deny`, `suspend`, `indeterminate` or `not-applicable`");
                return self.expected_help(&what, hint);
            }
        };
        self.take();
        Ok(decision)
    }

    fn decision_matcher(&mut self) -> Part<DecisionMatcher> {
        if self.take_word("any").is_some() {
            return Ok(DecisionMatcher::Any);
        }
        if self.take_word("is").is_some() {
            return self.decision_name("").map(DecisionMatcher::Is);
        }
        if self.take_with("obligation") {
            return self.duty_matcher(true).map(DecisionMatcher::Obligation);
        }
        if self.take_with("advice") {
            return self.duty_matcher(true).map(DecisionMatcher::Advice);
        }
        if self.take_with("resource") {
            return self.duty_matcher(false).map(DecisionMatcher::Resource);
        }
        if self.take_word("with").is_some() {
            let hint = self.keyword_hint(&["obligation", "advice", "resource"]);
            return self.expected_help("`obligation`, `advice` or `resource` after `with`", hint);
        }
        self.expected("`any`, `is` or `with` after `decision`")
    }

    /// Where a part that ends with the last word began.
    pub(super) fn since(&self, start: Span) -> Span {
        start.to(self.last())
    }
}

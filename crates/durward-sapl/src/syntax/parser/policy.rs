//! Policies: their statements, obligations, advice and transformation.

use super::{NameUse, Node, Parser, Part, Reported};
use crate::syntax::token::TokenKind as K;
use crate::syntax::tree::{Effect, Expr, ExprKind, Policy, Statement, Variable};
use crate::syntax::{Span, tree};

/// The parts of a policy after its body, in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Tail {
    Obligation,
    Advice,
    Transform,
}

impl Tail {
    fn of(word: &str) -> Option<Tail> {
        match word {
            "obligation" => Some(Tail::Obligation),
            "advice" => Some(Tail::Advice),
            "transform" => Some(Tail::Transform),
            _ => None,
        }
    }

    fn called(self) -> &'static str {
        match self {
            Tail::Obligation => "an obligation",
            Tail::Advice => "advice",
            Tail::Transform => "a transformation",
        }
    }
}

impl Parser<'_> {
    /// `policy "name" permit ...`; `None` if it has no name or no effect.
    pub(super) fn policy(&mut self) -> Option<Policy> {
        let start = self.take().span;
        let head = self.policy_head();
        let Ok((name, effect)) = head else {
            self.skip_to(Self::starts_root);
            return None;
        };
        let mut policy = Policy {
            span: start,
            name,
            effect,
            body: Vec::new(),
            obligations: Vec::new(),
            advice: Vec::new(),
            transform: None,
        };
        self.body(&mut policy.body);
        self.tail(&mut policy);
        policy.span = start.to(self.last());
        Some(policy)
    }

    fn policy_head(&mut self) -> Part<(tree::Text, Effect)> {
        let name = self.quoted_text("the policy's name in quotation marks")?;
        let effect = if self.take_word("permit").is_some() {
            Effect::Permit
        } else if self.take_word("deny").is_some() {
            Effect::Deny
        } else if self.take_word("suspend").is_some() {
            Effect::Suspend
        } else {
            let hint = self.keyword_hint(&["permit", "deny", "suspend"]);
            return self.expected_help("`permit`, `deny` or `suspend` after the policy's name", hint);
        };
        Ok((name, effect))
    }

    fn body(&mut self, body: &mut Vec<Statement>) {
        loop {
            if self.is_word("var") {
                body.extend(self.variable_statement().map(Statement::Variable));
            } else if self.is(K::End) || self.starts_statement() || self.starts_schema() {
                return;
            } else if self.starts_old_body() {
                let span = self.take().span;
                let help = "remove it: conditions follow the effect at once, each with its `;`";
                self.error(span, "SAPL 4 has no `where`", Some(help.to_owned()));
            } else {
                body.push(Statement::Condition(self.condition()));
            }
        }
    }

    /// A condition and its `;`.
    fn condition(&mut self) -> Expr {
        let start = self.next().span.before();
        if let Some(semicolon) = self.take_if(K::Semicolon) {
            self.error(semicolon, "a condition should stand before `;`", Some("remove it".to_owned()));
            return Expr::new(start, ExprKind::Error);
        }
        let expr = match self.expression() {
            Ok(node) => self.semicolon("the condition").map(|()| *node.expr),
            Err(Reported) => Err(Reported),
        };
        expr.unwrap_or_else(|Reported| {
            self.skip_statement();
            Expr::new(start, ExprKind::Error)
        })
    }

    /// The `;` after a statement. Where another statement follows, it is reported and taken as written.
    fn semicolon(&mut self, after: &str) -> Part<()> {
        if self.take_if(K::Semicolon).is_some() {
            return Ok(());
        }
        let hint = self.operator_hint();
        let reported = self.expected_help(&format!("`;` after {after}"), hint);
        if self.starts_statement() || self.is(K::End) { Ok(()) } else { reported }
    }

    /// `var name = value schema ...;`. One without a name is reported and left out.
    pub(super) fn variable_statement(&mut self) -> Option<Variable> {
        let variable = self.variable().and_then(|variable| self.semicolon("the variable").map(|()| variable));
        if variable.is_err() {
            self.skip_statement();
        }
        variable.ok()
    }

    /// A whole text that is one variable.
    pub(super) fn whole_variable(&mut self) -> Option<Variable> {
        if !self.is_word("var") {
            return self.expected("`var`").ok();
        }
        let variable = self.variable_statement()?;
        if !self.is(K::End) {
            let _ = self.expected::<()>("the end of the variable");
        }
        Some(variable)
    }

    fn variable(&mut self) -> Part<Variable> {
        let start = self.take().span;
        let name = self.variable_name()?;
        self.expect(K::Assign, "`=` after the variable's name")?;
        let value = self.expression()?;
        let mut span = start.to(value.outer);
        let mut schemas = Vec::new();
        if self.take_word("schema").is_some() {
            loop {
                let schema = self.expression()?;
                span = span.to(schema.outer);
                schemas.push(*schema.expr);
                if self.take_if(K::Comma).is_none() {
                    break;
                }
            }
        }
        Ok(Variable { span, name, value: *value.expr, schemas })
    }

    fn variable_name(&mut self) -> Part<tree::Name> {
        let token = self.next();
        let word = self.text(token.span);
        if matches!(word, "subject" | "action" | "resource" | "environment") {
            let message = format!("`{word}` is part of every subscription and cannot be a variable");
            self.error(token.span, message, Some("choose another name".to_owned()));
        }
        self.name(NameUse::Variable)
    }

    /// Obligations, advice and transformation, in this order; another order is reported.
    fn tail(&mut self, policy: &mut Policy) {
        let mut last: Option<(Tail, Span)> = None;
        while let Some(part) = self.next_tail() {
            let start = self.take().span;
            self.check_order(part, start, last);
            last = Some((part, start));
            let expr = match self.expression() {
                Ok(Node { expr, .. }) => *expr,
                Err(Reported) => {
                    self.skip_statement();
                    Expr::new(start.after(), ExprKind::Error)
                }
            };
            match part {
                Tail::Obligation => policy.obligations.push(expr),
                Tail::Advice => policy.advice.push(expr),
                Tail::Transform => policy.transform = Some(expr),
            }
            self.after_tail(part);
        }
    }

    fn next_tail(&self) -> Option<Tail> {
        let token = self.next();
        if token.kind == K::Word { Tail::of(self.text(token.span)) } else { None }
    }

    fn check_order(&mut self, part: Tail, start: Span, last: Option<(Tail, Span)>) {
        match last {
            Some((Tail::Transform, _)) if part == Tail::Transform => {
                let help = Some("make one expression of both".to_owned());
                self.error(start, "a policy has one transformation", help);
            }
            Some((before, _)) if part < before => {
                let message = format!("{} stands after {}", part.called(), before.called());
                let help = "the order is: obligations, advice, transformation";
                self.error(start, message, Some(help.to_owned()));
            }
            Some(_) | None => {}
        }
    }

    /// What follows must be another such part, or the end of the policy.
    fn after_tail(&mut self, part: Tail) {
        self.refuse_semicolon(part.called());
        if self.is(K::End) || self.starts_root() || self.next_tail().is_some() {
            return;
        }
        if self.is_word("policy") || self.is_word("set") {
            // Its missing name is the problem to report.
            return;
        }
        let hint =
            self.operator_hint().unwrap_or_else(|| "conditions and variables stand before it".to_owned());
        let what = format!("the end of the policy after {}", part.called());
        let _ = self.expected_help::<()>(&what, Some(hint));
        self.skip_to(|parser| parser.starts_root() || parser.next_tail().is_some());
    }
}

//! Documents, statement by statement.

use super::super::tree::{Document, Import, Policy, PolicySet, Root, SchemaStatement, Statement, Variable};
use super::super::{Span, token::TokenKind as K};
use super::layout::Gap;
use super::writer::Writer;

impl Writer<'_> {
    pub(super) fn document(&mut self, document: &Document) {
        for import in &document.imports {
            self.line();
            self.import(import);
        }
        for (index, schema) in document.schemas.iter().enumerate() {
            if index == 0 {
                self.statement(Gap::EmptyLine)
            } else {
                self.line()
            }
            self.schema(schema);
        }
        self.statement(Gap::EmptyLine);
        match &document.root {
            Some(Root::Policy(policy)) => self.policy(policy),
            Some(Root::Set(set)) => self.set(set),
            None => {}
        }
        self.line();
    }

    /// `import library.function as alias`
    fn import(&mut self, import: &Import) {
        self.word();
        self.gap(Gap::Blank);
        self.words_to(import.function.span);
        if import.alias.is_some() {
            self.gap(Gap::Blank);
            self.word();
            self.gap(Gap::Blank);
            self.word();
        }
    }

    /// Words without blanks between them, up to the end of a place.
    pub(super) fn words_to(&mut self, last: Span) {
        while self.next().kind != K::End && self.next().span.end <= last.end {
            self.word();
        }
    }

    /// `subject enforced schema ...`
    fn schema(&mut self, schema: &SchemaStatement) {
        self.word();
        self.gap(Gap::Blank);
        if schema.enforced {
            self.word();
            self.gap(Gap::Blank);
        }
        self.word();
        self.gap(Gap::Blank);
        self.expression(&schema.schema);
    }

    fn set(&mut self, set: &PolicySet) {
        self.word();
        self.gap(Gap::Blank);
        self.word();
        self.gap(Gap::Line);
        self.algorithm(set);
        if let Some(target) = &set.target {
            self.gap(Gap::Line);
            self.word();
            self.gap(Gap::Blank);
            self.further_in();
            self.expression(target);
            self.further_out();
        }
        for variable in &set.variables {
            self.line();
            self.variable(variable);
        }
        for policy in &set.policies {
            self.statement(Gap::EmptyLine);
            self.policy(policy);
        }
    }

    /// The words of an algorithm, with its `,` and `.` if it has them.
    fn algorithm(&mut self, set: &PolicySet) {
        self.word();
        while self.next().span.end <= set.algorithm.span.end && !self.is(K::End) {
            if !self.is(K::Comma) {
                self.gap(Gap::Blank);
            }
            self.word();
        }
        if self.is(K::Dot) {
            self.word();
        }
    }

    /// `policy "name"`, its effect on a line of its own, its statements further in.
    fn policy(&mut self, policy: &Policy) {
        self.word();
        self.gap(Gap::Blank);
        self.word();
        self.gap(Gap::Line);
        self.word();
        self.further_in();
        for (index, statement) in policy.body.iter().enumerate() {
            if index == 0 {
                self.statement(Gap::Line)
            } else {
                self.line()
            }
            match statement {
                Statement::Variable(variable) => self.variable(variable),
                Statement::Condition(condition) => {
                    self.expression(condition);
                    self.word();
                }
            }
        }
        self.further_out();
        for expr in policy.obligations.iter().chain(&policy.advice).chain(&policy.transform) {
            self.line();
            self.word();
            self.further_in();
            self.statement(Gap::Line);
            self.expression(expr);
            self.further_out();
        }
    }

    /// `var name = value schema ...;`
    fn variable(&mut self, variable: &Variable) {
        self.word();
        self.gap(Gap::Blank);
        self.word();
        self.gap(Gap::Blank);
        self.word();
        self.gap(Gap::Blank);
        self.expression(&variable.value);
        for schema in &variable.schemas {
            // Before the first one stands `schema`, before the others a comma.
            if self.is(K::Comma) {
                self.word();
            } else {
                self.gap(Gap::Blank);
                self.word();
            }
            self.gap(Gap::Blank);
            self.expression(schema);
        }
        self.word();
    }
}

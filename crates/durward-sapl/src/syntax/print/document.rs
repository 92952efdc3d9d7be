//! Documents as text.

use super::super::tree::{
    Algorithm, DefaultDecision, Document, Effect, Element, ErrorHandling, Import, Mode, Policy, PolicySet,
    Root, SchemaStatement, Statement, Variable,
};
use super::Printer;

/// What stands before the statements of a policy.
const INDENT: &str = "    ";

impl Printer {
    pub(super) fn document(&mut self, document: &Document) {
        for import in &document.imports {
            self.import(import);
        }
        for schema in &document.schemas {
            self.schema(schema);
        }
        match &document.root {
            Some(Root::Policy(policy)) => self.policy(policy),
            Some(Root::Set(set)) => self.set(set),
            None => {}
        }
    }

    fn import(&mut self, import: &Import) {
        self.push("import ");
        self.separated(import.library.iter().chain([&import.function]), ".", |printer, name| {
            printer.name(&name.text)
        });
        if let Some(alias) = &import.alias {
            self.push(" as ");
            self.name(&alias.text);
        }
        self.push("\n");
    }

    fn schema(&mut self, schema: &SchemaStatement) {
        self.push(match schema.element {
            Element::Subject => "subject",
            Element::Action => "action",
            Element::Resource => "resource",
            Element::Environment => "environment",
        });
        self.push(if schema.enforced { " enforced schema " } else { " schema " });
        self.expression(&schema.schema);
        self.push("\n");
    }

    fn set(&mut self, set: &PolicySet) {
        self.push("set ");
        self.text(&set.name.text);
        self.push("\n");
        self.algorithm(&set.algorithm);
        if let Some(target) = &set.target {
            self.push("\nfor ");
            self.expression(target);
        }
        self.push("\n");
        for variable in &set.variables {
            self.variable(variable);
        }
        for policy in &set.policies {
            self.policy(policy);
        }
    }

    fn algorithm(&mut self, algorithm: &Algorithm) {
        self.push(match algorithm.mode {
            Mode::First => "first",
            Mode::PriorityDeny => "priority deny",
            Mode::PriorityPermit => "priority permit",
            Mode::PrioritySuspend => "priority suspend",
            Mode::Unanimous => "unanimous",
            Mode::UnanimousStrict => "unanimous strict",
            Mode::Unique => "unique",
        });
        self.push(match algorithm.default {
            DefaultDecision::Deny => " or deny",
            DefaultDecision::Abstain => " or abstain",
            DefaultDecision::Permit => " or permit",
            DefaultDecision::Suspend => " or suspend",
        });
        self.push(match algorithm.errors {
            Some(ErrorHandling::Abstain) => " errors abstain",
            Some(ErrorHandling::Propagate) => " errors propagate",
            None => "",
        });
    }

    fn policy(&mut self, policy: &Policy) {
        self.push("policy ");
        self.text(&policy.name.text);
        self.push(match policy.effect {
            Effect::Permit => "\npermit\n",
            Effect::Deny => "\ndeny\n",
            Effect::Suspend => "\nsuspend\n",
        });
        for statement in &policy.body {
            self.push(INDENT);
            match statement {
                Statement::Variable(variable) => self.variable(variable),
                Statement::Condition(condition) => {
                    self.expression(condition);
                    self.push(";\n");
                }
            }
        }
        let obligations = policy.obligations.iter().map(|one| ("obligation\n", one));
        let advice = policy.advice.iter().map(|one| ("advice\n", one));
        let transform = policy.transform.iter().map(|one| ("transform\n", one));
        for (keyword, expr) in obligations.chain(advice).chain(transform) {
            self.push(keyword);
            self.push(INDENT);
            self.expression(expr);
            self.push("\n");
        }
    }

    fn variable(&mut self, variable: &Variable) {
        self.push("var ");
        self.name(&variable.name.text);
        self.push(" = ");
        self.expression(&variable.value);
        if !variable.schemas.is_empty() {
            self.push(" schema ");
            self.separated(&variable.schemas, ", ", Self::expression);
        }
        self.push(";\n");
    }
}

//! Checking documents beyond what they need to be put in force: names that mean nothing, calls that always fail,
//! comparisons that say the same whatever is asked.
//!
//! SAPL takes an unknown name for `undefined`, and a call of a function that there is not for an error when it is
//! evaluated. So does durward; the check tells the author, and changes no decision. A warning is only given where it is
//! certain that the text does not say what was meant, a hint where the text is right and surprises.
//!
//! A document is walked once: what it takes is linear in its length.

mod attributes;
mod calls;
mod expression;
mod habits;
mod kinds;
mod names;
mod operators;
mod report;
mod schema;
mod scope;
mod usage;

use std::collections::HashSet;

use durward_ir::Value;
use durward_ir::finding::Finding;
use durward_ir::path::Element;

use foldhash::fast::RandomState;

use crate::configuration::Configuration;
use crate::document::Document;
use crate::syntax::tree::{
    self, Expr, ExprKind, Policy, PolicySet, Root, SchemaStatement, Statement, Variable,
};
pub use attributes::{Attribute, Attributes, Others};
use kinds::Kinds;
use report::Report;
pub use schema::Schemas;
use scope::Scope;
use usage::{Path, Usage};

/// What the check is told besides the documents.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The attributes that something has values for.
    pub attributes: Attributes,
    /// What subscriptions look like. Where a document has a schema of its own for a part, that counts.
    pub schemas: Schemas,
}

/// Checks a document that was read without errors, as one of those with this configuration. The findings are in the order
/// of its text.
///
/// ```
/// use durward_sapl::check::{Settings, check};
/// use durward_sapl::{Configuration, Document};
///
/// let text = "policy \"members\" permit subject.status != blocked;";
/// let document = Document::read("members.sapl", text.as_bytes()).unwrap();
/// let findings = check(&document, &Configuration::default(), &Settings::default());
/// assert_eq!(
///     findings[0].to_string(),
///     "members.sapl:1:43: warning: there is no variable `blocked`, so it is undefined [unknown-variable]"
/// );
/// assert_eq!(findings[0].help.as_deref(), Some("for the text, write \"blocked\""));
/// ```
pub fn check(document: &Document, configuration: &Configuration, settings: &Settings) -> Vec<Finding> {
    check_noting(document, configuration, settings, None).0
}

/// The same of all documents of a configuration, with hints about keys that are like those other documents use.
pub fn check_all(documents: &[Document], configuration: &Configuration, settings: &Settings) -> Vec<Finding> {
    let mut usage = Usage::default();
    let mut findings = Vec::new();
    for (number, document) in documents.iter().enumerate() {
        let (found, paths) = check_noting(document, configuration, settings, Some(Vec::new()));
        findings.extend(found);
        usage.add(number, paths.unwrap_or_default());
    }
    findings.extend(usage.hints(documents));
    findings
}

/// The findings of a document and, where they are wanted, the paths that it takes.
fn check_noting(
    document: &Document,
    configuration: &Configuration,
    settings: &Settings,
    paths: Option<Vec<Path>>,
) -> (Vec<Finding>, Option<Vec<Path>>) {
    let own = own_schemas(&document.tree.schemas, configuration, &settings.schemas);
    let mut check = Check {
        document,
        configuration,
        settings,
        schemas: own.as_ref().unwrap_or(&settings.schemas),
        report: Report::default(),
        scope: Scope::default(),
        used_imports: HashSet::default(),
        policy: None,
        loops: 0,
        may_be_relative: true,
        paths,
    };
    check.document();
    (check.report.finish(document), check.paths)
}

/// The state of checking one document.
struct Check<'t> {
    document: &'t Document,
    configuration: &'t Configuration,
    settings: &'t Settings,
    schemas: &'t Schemas,
    report: Report,
    scope: Scope<'t>,
    /// The imported names that were met.
    used_imports: HashSet<&'t str, RandomState>,
    /// The policy that is being read.
    policy: Option<&'t Policy>,
    /// How many of `::`, `[?(...)]` and filters are around.
    loops: usize,
    /// Whether `@` may mean something for whoever uses what is read: the value of a variable may be used in a loop.
    may_be_relative: bool,
    /// The paths that are taken through parts of the subscription, where somebody wants to know.
    paths: Option<Vec<Path>>,
}

impl<'t> Check<'t> {
    fn document(&mut self) {
        let document = self.document;
        for import in &document.tree.imports {
            self.import(import);
        }
        for schema in &document.tree.schemas {
            self.expression(&schema.schema);
        }
        match &document.tree.root {
            Some(Root::Policy(policy)) => {
                self.policy(policy);
                habits::policy(self, policy, self.is_gated());
            }
            Some(Root::Set(set)) => self.set(set),
            None => {}
        }
        self.scope.report_unused(&mut self.report);
        self.report_unused_imports();
    }

    fn is_gated(&self) -> bool {
        self.document.tree.schemas.iter().any(|schema| schema.enforced)
    }

    fn set(&mut self, set: &'t PolicySet) {
        if let Some(target) = &set.target {
            self.condition(target);
        }
        set.variables.iter().for_each(|variable| self.variable(variable));
        let is_gated = set.target.is_some() || self.is_gated();
        for policy in &set.policies {
            self.policy(policy);
            habits::policy(self, policy, is_gated);
        }
    }

    fn policy(&mut self, policy: &'t Policy) {
        self.scope.enter_policy();
        self.policy = Some(policy);
        for statement in &policy.body {
            match statement {
                Statement::Variable(variable) => self.variable(variable),
                Statement::Condition(condition) => self.condition(condition),
            }
        }
        for duty in policy.obligations.iter().chain(&policy.advice).chain(&policy.transform) {
            self.expression(duty);
        }
    }

    fn variable(&mut self, variable: &'t Variable) {
        let name = &variable.name;
        if self.configuration.variable(&name.text).is_some() {
            let message = format!("the variable `{}` hides the one of `pdp.json`", name.text);
            let help = "give it another name, unless that is wanted".to_owned();
            self.report.hint("shadowed-variable", name.span, message, help);
        }
        self.scope.begin(variable);
        self.may_be_relative = true;
        let kinds = self.expression(&variable.value);
        self.visit(&variable.schemas);
        self.scope.define(kinds);
    }

    /// What must hold for a policy or a set to apply.
    fn condition(&mut self, condition: &'t Expr) {
        let before = self.report.total();
        self.may_be_relative = false;
        let kinds = self.expression(condition);
        self.may_be_relative = true;
        self.want(Kinds::BOOLEAN, kinds, condition, &["a condition"]);
        if self.report.total() == before && habits::is_constant(condition) {
            let message = "this is the same whatever is asked".to_owned();
            let help = "compare something of the subscription, or remove it".to_owned();
            self.report.hint("constant-condition", condition.span, message, help);
        }
    }
}

/// The schemas of the settings with those of a document in their places; `None` where it has none.
fn own_schemas(
    statements: &[SchemaStatement],
    configuration: &Configuration,
    settings: &Schemas,
) -> Option<Schemas> {
    if statements.is_empty() {
        return None;
    }
    let mut schemas = settings.clone();
    for statement in statements {
        schemas.clear(element(statement.element));
    }
    for statement in statements {
        // What a schema that is computed says is not known here.
        let value = literal(&statement.schema, configuration).unwrap_or(Value::Boolean(true));
        schemas.add(element(statement.element), value);
    }
    Some(schemas)
}

fn element(element: tree::Element) -> Element {
    match element {
        tree::Element::Subject => Element::Subject,
        tree::Element::Action => Element::Action,
        tree::Element::Resource => Element::Resource,
        tree::Element::Environment => Element::Environment,
    }
}

/// The value of an expression that is written out, or that is a variable of the configuration.
fn literal(expression: &Expr, configuration: &Configuration) -> Option<Value> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "whatever else an expression is, it is computed")]
    match &expression.kind {
        ExprKind::Null => Some(Value::Null),
        ExprKind::Boolean(value) => Some(Value::Boolean(*value)),
        ExprKind::Number(digits) => durward_ir::datatype::Decimal::parse(digits).ok().map(Value::Number),
        ExprKind::Text(text) => Some(Value::Text(text.clone())),
        ExprKind::Array(elements) => {
            let values: Option<Vec<Value>> =
                elements.iter().map(|element| literal(element, configuration)).collect();
            values.map(Value::array)
        }
        ExprKind::Object(entries) => {
            let entry =
                |entry: &tree::Entry| Some((entry.key.clone(), literal(&entry.value, configuration)?));
            let entries: Option<Vec<_>> = entries.iter().map(entry).collect();
            entries.map(Value::object)
        }
        ExprKind::Identifier(name) => configuration.variable(name).cloned(),
        _ => None,
    }
}

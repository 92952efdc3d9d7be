//! Documents: imports, schemas, sets and their algorithms.

use super::{NameUse, Parser, Part, Reported};
use crate::syntax::token::TokenKind as K;
use crate::syntax::tree::{
    Algorithm, DefaultDecision, Document, Element, ErrorHandling, Expr, ExprKind, Import, Mode, PolicySet,
    Root, SchemaStatement,
};
use crate::syntax::{Span, tree};

/// The words of combining algorithms, for suggestions.
const MODES: [&str; 4] = ["first", "priority", "unanimous", "unique"];

impl Parser<'_> {
    /// `document`: imports, schemas, a policy or a set, and no more.
    pub(super) fn document(&mut self) -> Document {
        let end = u32::try_from(self.source.len()).unwrap_or(u32::MAX);
        let mut document =
            Document { span: Span::new(0, end), imports: Vec::new(), schemas: Vec::new(), root: None };
        self.head(&mut document);
        document.root = if self.is_word("set") {
            self.policy_set().map(Root::Set)
        } else if self.is_word("policy") {
            self.policy().map(Root::Policy)
        } else {
            None
        };
        self.end_of_document(&document);
        document
    }

    /// Everything before the policy or the set.
    fn head(&mut self, document: &mut Document) {
        loop {
            if self.is_word("import") {
                self.check_import_order(document);
                match self.import() {
                    Ok(import) => document.imports.push(import),
                    Err(Reported) => self.skip_head(),
                }
            } else if self.starts_schema() {
                document.schemas.extend(self.schema_statement());
            } else if self.is_word("policy") || self.is_word("set") {
                return;
            } else {
                let words = ["policy", "set", "import"];
                let hint = self.schema_hint().or_else(|| self.keyword_hint(&words));
                let _ = self.expected_help::<()>("`policy`, `set`, `import` or a schema", hint);
                self.take();
                self.skip_head();
                if self.is(K::End) {
                    return;
                }
            }
        }
    }

    /// Skips up to what can stand before or at the start of a policy or a set.
    fn skip_head(&mut self) {
        self.skip_to(|parser| parser.starts_root() || parser.starts_schema() || parser.is_word("import"));
    }

    fn schema_hint(&self) -> Option<String> {
        let schema = self.ahead_is_word(1, "schema") || self.ahead_is_word(1, "enforced");
        schema.then(|| "a schema is for `subject`, `action`, `resource` or `environment`".to_owned())
    }

    fn check_import_order(&mut self, document: &Document) {
        if !document.schemas.is_empty() {
            self.error(
                self.next().span,
                "an import stands after a schema",
                Some("move it to the top".to_owned()),
            );
        }
    }

    fn end_of_document(&mut self, document: &Document) {
        if document.root.is_none() || self.is(K::End) {
            return;
        }
        if self.starts_root() {
            let help =
                "put policies that belong together into a `set`, and all others into documents of their own";
            self.error(self.next().span, "a document holds one policy or one set", Some(help.to_owned()));
        } else {
            let hint = self.operator_hint();
            let _ = self.expected_help::<()>("the end of the document", hint);
        }
    }

    /// `import library.function as alias`.
    fn import(&mut self) -> Part<Import> {
        let start = self.take().span;
        let mut library = vec![self.name(NameUse::Import)?];
        if !self.is(K::Dot) {
            let help = if self.is_word("as") {
                "a library has no other name in SAPL 4; each function can have one: `import filter.blacken as blacken`"
            } else {
                "one function or attribute is imported at a time: `import filter.blacken`"
            };
            return self.expected_help("`.` after the library", Some(help.to_owned()));
        }
        while self.take_if(K::Dot).is_some() {
            if self.is(K::Star) {
                let help = "a whole library cannot be imported; name each function: `import filter.blacken`";
                return self.expected_help("the name of a function", Some(help.to_owned()));
            }
            library.push(self.name(NameUse::Import)?);
        }
        let Some(function) = library.pop() else { return Err(Reported) };
        let alias = match self.take_word("as") {
            Some(_) => Some(self.name(NameUse::Alias)?),
            None => None,
        };
        self.refuse_semicolon("an import");
        Ok(Import { span: start.to(self.last_of(function.span, alias.as_ref())), library, function, alias })
    }

    fn last_of(&self, function: Span, alias: Option<&tree::Name>) -> Span {
        alias.map_or(function, |alias| alias.span)
    }

    /// Reports a `;` where none belongs, and skips it.
    pub(super) fn refuse_semicolon(&mut self, after: &str) {
        while let Some(span) = self.take_if(K::Semicolon) {
            self.error(span, format!("no `;` stands after {after}"), Some("remove it".to_owned()));
        }
    }

    /// `subject enforced schema {...}`.
    fn schema_statement(&mut self) -> Option<SchemaStatement> {
        let start = self.take().span;
        let element = match self.text(start) {
            "subject" => Element::Subject,
            "action" => Element::Action,
            "resource" => Element::Resource,
            _ => Element::Environment,
        };
        let enforced = self.take_word("enforced").is_some();
        let schema = self.expect_word("schema", "`enforced`").and_then(|_| self.expression());
        let schema = match schema {
            Ok(schema) => schema,
            Err(Reported) => {
                self.skip_head();
                return None;
            }
        };
        self.refuse_semicolon("a schema");
        Some(SchemaStatement { span: start.to(schema.outer), element, enforced, schema: *schema.expr })
    }

    /// `set "name" algorithm for target var ...; policy ...`; `None` if it has no name.
    fn policy_set(&mut self) -> Option<PolicySet> {
        let start = self.take().span;
        let name = self.quoted_text("the set's name in quotation marks").ok()?;
        let algorithm = self.algorithm().unwrap_or_else(|Reported| {
            self.skip_to(|parser| {
                parser.starts_root()
                    || parser.is_word("var")
                    || parser.is_word("for")
                    || parser.is(K::Semicolon)
            });
            Algorithm { span: name.span, mode: Mode::First, default: DefaultDecision::Deny, errors: None }
        });
        let target = self.take_word("for").map(|_| self.target());
        let mut variables = Vec::new();
        while self.is_word("var") {
            variables.extend(self.variable_statement());
        }
        let policies = self.policies();
        let span = start.to(self.last());
        Some(PolicySet { span, name, algorithm, target, variables, policies })
    }

    /// The expression after `for`.
    fn target(&mut self) -> Expr {
        let start = self.next().span.before();
        let target = match self.expression() {
            Ok(target) => *target.expr,
            Err(Reported) => {
                self.skip_to(|parser| {
                    parser.starts_root() || parser.is_word("var") || parser.is(K::Semicolon)
                });
                Expr::new(start, ExprKind::Error)
            }
        };
        self.refuse_semicolon("a target");
        target
    }

    /// The policies of a set: one at least.
    fn policies(&mut self) -> Vec<tree::Policy> {
        let mut policies = Vec::new();
        if !self.is_word("policy") {
            let hint = self.operator_hint().or_else(|| self.keyword_hint(&["policy", "var", "for"]));
            let _ = self.expected_help::<()>("the set's first `policy`", hint);
            self.skip_to(Self::starts_root);
        }
        while self.is_word("policy") {
            policies.extend(self.policy());
        }
        policies
    }

    /// `priority deny or abstain, errors propagate.`
    pub(in crate::syntax) fn algorithm(&mut self) -> Part<Algorithm> {
        let start = self.next().span;
        let mode = self.mode()?;
        self.expect_word("or", "the algorithm")?;
        let default = self.default_decision()?;
        let comma = self.take_if(K::Comma);
        let errors = match self.take_word("errors") {
            Some(_) => Some(self.error_handling()?),
            None if comma.is_some() => return self.expected("`errors` after `,`"),
            None => None,
        };
        let span = start.to(self.last());
        self.take_if(K::Dot);
        Ok(Algorithm { span, mode, default, errors })
    }

    fn mode(&mut self) -> Part<Mode> {
        if let Some(hint) = self.algorithm_hint() {
            return self.expected_help("an algorithm", Some(hint));
        }
        if self.take_word("first").is_some() {
            Ok(Mode::First)
        } else if self.take_word("unique").is_some() {
            Ok(Mode::Unique)
        } else if self.take_word("unanimous").is_some() {
            Ok(if self.take_word("strict").is_some() { Mode::UnanimousStrict } else { Mode::Unanimous })
        } else if self.take_word("priority").is_some() {
            self.priority()
        } else {
            let hint = self.keyword_hint(&MODES);
            self.expected_help("an algorithm: `first`, `priority`, `unanimous` or `unique`", hint)
        }
    }

    fn priority(&mut self) -> Part<Mode> {
        if self.take_word("deny").is_some() {
            Ok(Mode::PriorityDeny)
        } else if self.take_word("permit").is_some() {
            Ok(Mode::PriorityPermit)
        } else if self.take_word("suspend").is_some() {
            Ok(Mode::PrioritySuspend)
        } else {
            let hint = self.keyword_hint(&["deny", "permit", "suspend"]);
            self.expected_help("`deny`, `permit` or `suspend` after `priority`", hint)
        }
    }

    fn default_decision(&mut self) -> Part<DefaultDecision> {
        if self.take_word("deny").is_some() {
            Ok(DefaultDecision::Deny)
        } else if self.take_word("abstain").is_some() {
            Ok(DefaultDecision::Abstain)
        } else if self.take_word("permit").is_some() {
            Ok(DefaultDecision::Permit)
        } else if self.take_word("suspend").is_some() {
            Ok(DefaultDecision::Suspend)
        } else {
            let hint = self.keyword_hint(&["deny", "abstain", "permit", "suspend"]);
            self.expected_help("`deny`, `abstain`, `permit` or `suspend` after `or`", hint)
        }
    }

    fn error_handling(&mut self) -> Part<ErrorHandling> {
        if self.take_word("abstain").is_some() {
            Ok(ErrorHandling::Abstain)
        } else if self.take_word("propagate").is_some() {
            Ok(ErrorHandling::Propagate)
        } else {
            let hint = self.keyword_hint(&["abstain", "propagate"]);
            self.expected_help("`abstain` or `propagate` after `errors`", hint)
        }
    }
}

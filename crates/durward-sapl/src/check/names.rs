//! Names of variables, of keys and of imports, and what was meant by those that mean nothing.

use durward_ir::near::nearest;
use durward_ir::path::Element;
use smol_str::SmolStr;

use super::Check;
use super::kinds::Kinds;
use crate::syntax::tree::{Expr, Import, Statement, Step};
use crate::syntax::{Span, quote};

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// By itself, where a text could stand.
    Value,
    /// Before steps to parts of it.
    Base,
}

/// Words of other languages, and what SAPL has for them.
const WORDS: [(&str, &str); 12] = [
    ("True", "true"),
    ("TRUE", "true"),
    ("False", "false"),
    ("FALSE", "false"),
    ("Null", "null"),
    ("NULL", "null"),
    ("None", "null"),
    ("nil", "null"),
    ("user", "subject"),
    ("principal", "subject"),
    ("context", "environment"),
    ("env", "environment"),
];

/// Keys of a schema that a message lists at most.
const KEYS_SHOWN_MAX: usize = 8;

impl<'t> Check<'t> {
    /// A part of the subscription, a variable, or a name that means nothing.
    pub(super) fn identifier(
        &mut self,
        expression: &'t Expr,
        name: &'t SmolStr,
        position: Position,
    ) -> Kinds {
        if Element::ALL.iter().any(|element| element.as_str() == name) {
            let kinds = (position == Position::Value).then(|| self.property(expression)).flatten();
            return kinds.map_or(Kinds::ANY, |property| property.kinds);
        }
        if let Some(kinds) = self.scope.use_of(name) {
            return kinds;
        }
        if let Some(value) = self.configuration.variable(name) {
            return Kinds::of(value);
        }
        self.unknown_variable(expression.span, name, position);
        Kinds::ANY
    }

    fn unknown_variable(&mut self, span: Span, name: &str, position: Position) {
        let message = format!("there is no variable {}, so it is undefined", quote(name));
        let help = self.meant_by(name, position).or_else(|| {
            (position == Position::Value).then(|| format!("for the text, write \"{}\"", unquoted(name)))
        });
        self.report.warn("unknown-variable", span, message, help);
    }

    fn meant_by(&self, name: &str, position: Position) -> Option<String> {
        if !self.report.may_suggest() {
            return None;
        }
        if let Some(line) = self.defined_later(name) {
            return Some(format!("it is defined in line {line}: move that before this"));
        }
        let did_you_mean = |name: &str| Some(format!("did you mean {}?", quote(name)));
        if let Some((_, word)) = WORDS.iter().find(|(other, _)| *other == name) {
            return did_you_mean(word);
        }
        let mut names = self.scope.names();
        names.extend(self.configuration.variables().keys().map(SmolStr::as_str));
        names.extend(Element::ALL.iter().map(|element| element.as_str()));
        if position == Position::Value {
            names.extend(["true", "false", "null", "undefined"]);
        }
        nearest(name, names).and_then(did_you_mean)
    }

    /// The line of a definition that comes after its use.
    fn defined_later(&self, name: &str) -> Option<u32> {
        self.policy?.body.iter().find_map(|statement| match statement {
            Statement::Variable(variable) if variable.name.text == name => {
                Some(self.document.place(variable.name.span).0)
            }
            Statement::Variable(_) | Statement::Condition(_) => None,
        })
    }

    /// A step of a path to what no schema has.
    pub(super) fn unknown_key(
        &mut self,
        element: Element,
        keys: &[&SmolStr],
        step: usize,
        there: &[&str],
        steps: &[Step],
    ) {
        let (Some(key), Some(place)) = (keys.get(step), steps.get(step)) else { return };
        let before: String =
            keys.iter().take(step).fold(element.as_str().to_owned(), |path, key| format!("{path}.{key}"));
        let message = format!("the schema of {} has no {}, so it is undefined", quote(&before), quote(key));
        let near = nearest(key, there.iter().copied()).map(|near| format!("did you mean {}?", quote(near)));
        let help = near.or_else(|| {
            let shown: Vec<String> = there.iter().take(KEYS_SHOWN_MAX).map(|key| quote(key)).collect();
            let more = if there.len() > KEYS_SHOWN_MAX { ", ..." } else { "" };
            (!shown.is_empty()).then(|| format!("there are {}{more}", shown.join(", ")))
        });
        self.report.warn("unknown-key", place.span, message, help);
    }

    /// An import of what there is not.
    pub(super) fn import(&mut self, import: &Import) {
        let short = &import.alias.as_ref().unwrap_or(&import.function).text;
        let Some(full) = self.document.names.imported(short) else { return };
        if self.is_known(full) {
            return;
        }
        let message = format!("there is no function or attribute {}", quote(full));
        let help = self.near_function(full).or_else(|| self.near_attribute(full));
        self.report.warn("unknown-import", import.span, message, help);
    }

    /// Whether this is the name of a function, or of an attribute that may have a source.
    fn is_known(&self, full: &str) -> bool {
        let may_be_there = || {
            let library = full.split('.').next().unwrap_or_default();
            self.settings.attributes.others() != super::Others::None
                && !self.settings.attributes.has_library(library)
                && durward_library::named(library_of(full)).is_empty()
        };
        !durward_library::named(full).is_empty()
            || !self.settings.attributes.named(full).is_empty()
            || (may_be_there() && self.near_function(full).is_none())
    }

    pub(super) fn report_unused_imports(&mut self) {
        let document = self.document;
        for import in &document.tree.imports {
            let short = import.alias.as_ref().unwrap_or(&import.function);
            if !self.used_imports.contains(short.text.as_str()) {
                let message = format!("{} is imported and not used", quote(&short.text));
                self.report.warn("unused-import", import.span, message, "remove it".to_owned());
            }
        }
    }

    /// "did you mean ...?": a function with a similar name, or with this name in another library.
    pub(super) fn near_function(&self, full: &str) -> Option<String> {
        if !self.report.may_suggest() {
            return None;
        }
        let name = full.rsplit('.').next().unwrap_or_default();
        let all = || durward_library::all().map(|function| function.name);
        let alike =
            all().filter(|known| known.rsplit('.').next().is_some_and(|it| it.eq_ignore_ascii_case(name)));
        let meant = nearest(full, all()).or_else(|| alike.min_by_key(|known| known.len()));
        meant.map(|meant| format!("did you mean {}?", quote(meant)))
    }

    pub(super) fn near_attribute(&self, full: &str) -> Option<String> {
        if !self.report.may_suggest() {
            return None;
        }
        let near = nearest(full, self.settings.attributes.names())?;
        Some(format!("did you mean `<{near}>`?"))
    }
}

fn library_of(full: &str) -> &str {
    full.split('.').next().unwrap_or_default()
}

/// A name as a text shows it, cut where it is very long.
fn unquoted(name: &str) -> String {
    quote(name).trim_matches('`').to_owned()
}

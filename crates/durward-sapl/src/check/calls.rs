//! Calls of functions, of filters and of attributes: whether there is such a thing, and what it takes.

use std::borrow::Cow;

use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::near::nearest;

use super::Check;
use super::attributes::{Attribute, Others};
use super::kinds::Kinds;
use crate::syntax::quote;
use crate::syntax::tree::{AttributeCall, Expr, ExprKind, FilterCall, FunctionCall, FunctionName};

/// What may stand in the options of an attribute.
const OPTIONS: [&str; 5] = ["initialTimeOutMs", "pollIntervalMs", "backoffMs", "retries", "fresh"];

/// The engine has finders of this name; here they are written as settings.
const TRACCAR: &str =
    "`traccar` is not built in: name its services in `[sources.attributes]` (docs/sapl-attributes.md)";

impl<'t> Check<'t> {
    pub(super) fn call(&mut self, call: &'t FunctionCall) -> Kinds {
        let function = self.function(&call.name, call.arguments.len(), false);
        self.arguments(function, 0, &call.arguments);
        Kinds::ANY
    }

    /// A filter is a function whose first argument is what is filtered.
    pub(super) fn filter_call(&mut self, base: Kinds, call: &'t FilterCall) {
        let function = self.function(&call.name, call.arguments.len() + 1, true);
        if let Some(function) = function
            && let Some(parameter) = parameter(function, 0)
            && !base.meets(Kinds::taken_by(parameter))
        {
            let message = format!(
                "`{}` filters {}, not {base}: this is an error",
                function.name,
                Kinds::taken_by(parameter)
            );
            self.report.warn("wrong-type", call.span, message, None);
        }
        self.arguments(function, 1, &call.arguments);
    }

    /// The function of this name that takes so many arguments; a finding where there is none.
    fn function(
        &mut self,
        name: &'t FunctionName,
        count: usize,
        is_filter: bool,
    ) -> Option<&'static LibraryFunction> {
        let full = self.full_name(name)?;
        let overloads = durward_library::named(&full);
        let found = overloads.iter().find(|function| function.takes_count(count));
        if found.is_some() {
            return found.copied();
        }
        if overloads.is_empty() {
            // What is imported and not there is told where it is imported.
            if name.segments.len() > 1 {
                self.unknown_function(name, &full);
            }
            return None;
        }
        let (count, besides) = match is_filter {
            true => (count - 1, " beside what is filtered"),
            false => (count, ""),
        };
        let message = format!("`{full}` does not take {}{besides}", arguments(count));
        let signatures: Vec<String> = overloads.iter().map(|function| format!("`{function}`")).collect();
        self.report.warn("wrong-arity", name.span, message, format!("write {}", signatures.join(" or ")));
        None
    }

    fn unknown_function(&mut self, name: &FunctionName, full: &str) {
        let message = format!("there is no function {}: calling it is an error", quote(full));
        let help = match self.settings.attributes.named(full).first() {
            Some(attribute) => Some(format!("it is an attribute: write {}", shown(attribute))),
            None => self.near_function(full),
        };
        self.report.warn("unknown-function", name.span, message, help);
    }

    /// The full name of what is called. Notes that an import was used.
    fn full_name(&mut self, name: &'t FunctionName) -> Option<Cow<'t, str>> {
        match name.segments.as_slice() {
            [one] => {
                self.used_imports.insert(&one.text);
                self.document.names.imported(&one.text).map(Cow::Borrowed)
            }
            // Usually the name is what is written: without blanks, and without backticks.
            [library, function] => match self.document.piece(name.span) {
                piece if piece.len() == library.text.len() + 1 + function.text.len() => Some(piece.into()),
                _ => Some(format!("{}.{}", library.text, function.text).into()),
            },
            _ => None,
        }
    }

    /// Arguments of a function, of which `before` stand elsewhere.
    fn arguments(
        &mut self,
        function: Option<&'static LibraryFunction>,
        before: usize,
        arguments: &'t [Expr],
    ) {
        for (at, argument) in arguments.iter().enumerate() {
            let kinds = self.expression(argument);
            let Some(function) = function else { continue };
            let Some(parameter) = parameter(function, before + at) else { continue };
            let wanted = Kinds::taken_by(parameter);
            if !kinds.meets(wanted) {
                let message =
                    format!("`{}` takes {wanted} here, not {kinds}: this is an error", function.name);
                self.report.warn("wrong-type", argument.span, message, format!("write `{function}`"));
            }
        }
    }

    /// An attribute of a value, or of the environment.
    pub(super) fn attribute(&mut self, call: &'t AttributeCall, of_value: bool) -> Kinds {
        if let Some(full) = self.full_name(&call.name) {
            self.source_of(call, &full, of_value);
        }
        self.visit(&call.arguments);
        if let Some(options) = &call.options {
            self.options(options);
            self.expression(options);
        }
        Kinds::ANY
    }

    /// A finding where nothing has values for an attribute.
    fn source_of(&mut self, call: &AttributeCall, full: &str, of_value: bool) {
        let settings = self.settings;
        let named = settings.attributes.named(full);
        let count = call.arguments.len();
        if named.iter().any(|it| it.of_value == of_value && it.arguments.contains(&count)) {
            return;
        }
        if named.is_empty() {
            if call.name.segments.len() > 1 {
                self.unknown_attribute(call, full);
            }
            return;
        }
        let forms: Vec<String> = named.iter().map(shown).collect();
        let help = format!("write {}", forms.join(" or "));
        if named.iter().all(|it| it.of_value != of_value) {
            let (is, asked) = match of_value {
                true => ("the environment", "of a value"),
                false => ("a value", "of the environment"),
            };
            let message = format!("`{full}` is an attribute of {is}; asked {asked} it is undefined");
            self.report.warn("unknown-attribute", call.span, message, help);
        } else {
            let message = format!("`{full}` does not take {}: it is undefined", arguments(count));
            self.report.warn("wrong-arity", call.span, message, help);
        }
    }

    fn unknown_attribute(&mut self, call: &AttributeCall, full: &str) {
        let attributes = &self.settings.attributes;
        let near = self.near_attribute(full).or_else(|| {
            let functions = durward_library::named(full);
            functions.first().map(|function| format!("it is a function: write `{function}`"))
        });
        let library = full.split('.').next().unwrap_or_default();
        let is_certain = match attributes.others() {
            Others::Any => return,
            Others::None => true,
            Others::Unknown => near.is_some() || attributes.has_library(library),
        };
        let message = format!("nothing has values for the attribute {}, so it is undefined", quote(full));
        match (is_certain, near) {
            (true, near) => {
                let help = near.or_else(|| (library == "traccar").then(|| TRACCAR.to_owned()));
                self.report.warn("unknown-attribute", call.span, message, help);
            }
            (false, _) => {
                let message = format!("the attribute {} is none that durward has by itself", quote(full));
                let help = "it is undefined unless the server's settings name a source for it: give them with `--config`";
                self.report.hint("unknown-attribute", call.span, message, help.to_owned());
            }
        }
    }

    /// Options that mean nothing.
    fn options(&mut self, options: &'t Expr) {
        let ExprKind::Object(entries) = &options.kind else { return };
        for entry in entries.iter().filter(|entry| !OPTIONS.contains(&entry.key.as_str())) {
            let message = format!("{} is no option of attributes, and means nothing", quote(&entry.key));
            let help = match nearest(&entry.key, OPTIONS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are `{}`", OPTIONS.join("`, `")),
            };
            self.report.warn("unknown-option", entry.key_span, message, help);
        }
    }
}

fn parameter(function: &LibraryFunction, at: usize) -> Option<Parameter> {
    function.parameters.get(at).copied().or(function.rest)
}

/// How an attribute is written.
fn shown(attribute: &Attribute) -> String {
    let value = if attribute.of_value { "value." } else { "" };
    let (least, most) = (*attribute.arguments.start(), *attribute.arguments.end());
    let count = match (least, most) {
        (0, 0) => String::new(),
        (least, most) if least == most => format!(" with {}", arguments(least)),
        (least, most) => format!(" with {least} to {}", arguments(most)),
    };
    format!("`{value}<{}>`{count}", attribute.name)
}

fn arguments(count: usize) -> String {
    format!("{count} argument{}", if count == 1 { "" } else { "s" })
}

//! Calls: functions of libraries, filters, attribute finders.

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::program::{EditPath, ExprId, Finder, Library, Structured};
use durward_ir::value::Value;
use smol_str::SmolStr;

use super::{Lowering, options};
use crate::syntax::Span;
use crate::syntax::tree::{AttributeCall, Filter, FilterCall, FilterStatement, FunctionCall, FunctionName};

/// Stands for a function that there is not: it fails whatever it is given. The first argument is its name.
static UNKNOWN: LibraryFunction = LibraryFunction {
    name: "an unknown function",
    parameters: &[Parameter::Text],
    rest: Some(Parameter::Any),
    run: unknown,
    doc: "Fails: there is no such function.",
};

fn unknown(arguments: &[Value]) -> Evaluated<Value> {
    let name = arguments.first().and_then(Value::as_text).unwrap_or_default();
    Err(no_function(name, arguments.len() - 1))
}

/// Why a function that there is not cannot be called.
pub fn no_function(name: &str, arguments: usize) -> Box<Fault> {
    Fault::processing(match durward_library::is_known(name) {
        true => format!("there is no function `{name}` of {arguments} arguments"),
        false => format!("there is no function `{name}`"),
    })
}

impl<'t> Lowering<'t, '_, '_> {
    pub(super) fn call(&mut self, call: &'t FunctionCall) -> ExprId {
        let arguments = self.all(&call.arguments);
        self.function(&call.name, arguments)
    }

    /// A function of these arguments. One that there is not is an error when it is called, not before.
    fn function(&mut self, name: &FunctionName, mut arguments: Vec<ExprId>) -> ExprId {
        let Some(full) = self.full_name(name) else {
            return self.fails("this name could not be resolved");
        };
        if self.rehearsal.as_ref().is_some_and(|rehearsal| rehearsal.stand_ins.contains(&full)) {
            return self.builder.structured(Structured::StandIn(full, arguments.into()));
        }
        if let Some(feature) = durward_library::left_out_function(&full) {
            self.left_out(name.span, format!("the function `{full}`"), feature);
        }
        let function = durward_library::find(&full, arguments.len()).unwrap_or(&UNKNOWN);
        if std::ptr::eq(function, &UNKNOWN) {
            arguments.insert(0, self.builder.constant(Value::Text(full)));
        }
        let result = self.builder.structured(Structured::Call(Library(function), arguments.clone().into()));
        self.as_written(result, &arguments)
    }

    /// A number that is known already, and equal to an argument, has the digits of the argument: `math.ceil(1e308)` is
    /// `1E+308`. To the engine equal constants of all documents are one, the first; here that holds for arguments and
    /// their result only, since documents do not depend on one another.
    fn as_written(&self, result: ExprId, arguments: &[ExprId]) -> ExprId {
        let number = |id: ExprId| self.builder.value_of(id).filter(|value| matches!(value, Value::Number(_)));
        let Some(value) = number(result) else { return result };
        let is_equal = |id: &ExprId| number(*id).is_some_and(|argument| argument.equals(value));
        arguments.iter().copied().find(is_equal).unwrap_or(result)
    }

    /// The full name. Names of functions and attributes consist of letters and digits, and begin with a letter.
    fn full_name(&mut self, name: &FunctionName) -> Option<SmolStr> {
        let full = self.document.names.full(name)?;
        let is_valid = |segment: &str| {
            segment.starts_with(|first: char| first.is_ascii_alphabetic())
                && segment.chars().all(|character| character.is_ascii_alphanumeric())
        };
        if !full.split('.').all(is_valid) {
            let message = format!("`{full}` is no name of a function or an attribute");
            let help = match durward_library::is_known(&full) {
                true => {
                    "it is in the library, and SAPL's engine refuses a call of it too: such names consist of letters and digits only"
                }
                false => "such names consist of letters and digits only",
            };
            self.problem(name.span, message, Some(help));
        }
        Some(full)
    }

    pub(super) fn filter(&mut self, base: ExprId, filter: &'t Filter) -> ExprId {
        match filter {
            Filter::Simple(call) => self.filtered(base, call),
            Filter::Extended(statements) => {
                statements.iter().fold(base, |base, statement| self.edited(base, statement))
            }
        }
    }

    /// `base |- function(...)` is the function of the base and the arguments; with `each` of every element.
    fn filtered(&mut self, base: ExprId, call: &'t FilterCall) -> ExprId {
        if !call.each {
            let mut arguments = vec![base];
            arguments.extend(self.all(&call.arguments));
            return self.function(&call.name, arguments);
        }
        if self.builder.value_of(base).is_some_and(Value::is_undefined) {
            return base;
        }
        let filter = self.of_here(call);
        self.builder.structured(Structured::Each { base, filter })
    }

    /// The function of `@` and the arguments.
    fn of_here(&mut self, call: &'t FilterCall) -> ExprId {
        let mut arguments = vec![self.builder.structured(Structured::Here)];
        arguments.extend(self.all(&call.arguments));
        if arguments.iter().any(|argument| self.builder.facts(*argument).streams) {
            return self.fails("a filter cannot ask for attributes `<...>`");
        }
        self.function(&call.name, arguments)
    }

    /// With paths; `@` alone is the whole base, so that `@` and `#` in the arguments are what they are outside.
    fn edited(&mut self, base: ExprId, statement: &'t FilterStatement) -> ExprId {
        if statement.target.is_empty() {
            return self.filtered(base, &statement.call);
        }
        let mut path = Vec::with_capacity(statement.target.len());
        for step in &statement.target {
            match self.step(step) {
                Ok(step) => path.push(step),
                Err(failed) => return failed,
            }
        }
        let mut filter = self.of_here(&statement.call);
        if statement.call.each {
            let base = self.builder.structured(Structured::Here);
            filter = self.builder.structured(Structured::Each { base, filter });
        }
        self.builder.structured(Structured::Edit { base, path: EditPath::new(path), filter })
    }

    /// What an attribute finder says about the entity, or about the environment.
    pub(super) fn finder(&mut self, call: &'t AttributeCall, entity: Option<ExprId>) -> ExprId {
        let arguments = self.all(&call.arguments);
        let Some(name) = self.full_name(&call.name) else {
            return self.fails("this name could not be resolved");
        };
        if let Some(feature) = durward_library::left_out_attribute(&name) {
            self.left_out(call.name.span, format!("the attribute `<{name}>`"), feature);
        }
        let options = options::of(self, call);
        self.builder.structured(Structured::Finder(Box::new(Finder {
            name,
            entity,
            arguments: arguments.into(),
            options,
            head: call.head,
        })))
    }

    /// Unlike a function that there is nowhere, one that other builds have is refused ahead: policies that decide in one
    /// build must not fail in another one only when they are asked.
    fn left_out(&mut self, span: Span, what: String, feature: &str) {
        let help = format!("build `durward-pdp` with the feature `library-{feature}`");
        self.problem(span, format!("this build is without {what}"), Some(&help));
    }

    pub(super) fn refuse(&mut self, span: Span, message: impl Into<String>, help: Option<&str>) {
        self.problem(span, message.into(), help);
    }
}

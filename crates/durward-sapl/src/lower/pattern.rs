//! `=~`: whether a text is of the form that a regular expression describes, as a whole.

use std::sync::Arc;

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::program::{Compiled, ExprId, Library, Structured};
use durward_ir::structure::kind_of;
use durward_ir::structure::regex::{self, Regex};
use durward_ir::value::Value;

use super::Lowering;
use crate::syntax::tree::Comparison;

/// `=~` with a regular expression that is not known when the policy is read.
static MATCHES: LibraryFunction = LibraryFunction {
    name: "=~",
    parameters: &[Parameter::Any, Parameter::Any],
    rest: None,
    run,
    doc: "Whether a text is of the form that a regular expression describes; false for anything but texts.",
};

fn run(arguments: &[Value]) -> Evaluated<Value> {
    let [value, pattern] = arguments else {
        return Err(Fault::processing("`=~` needs two operands"));
    };
    regex::matches(value, pattern).map(Value::Boolean)
}

fn no_text(pattern: &Value) -> Box<Fault> {
    Fault::processing(format!("a regular expression must be a text, not {}", kind_of(pattern)))
}

/// Lowers `left =~ right`.
pub(super) fn matches<'t>(
    lowering: &mut Lowering<'t, '_, '_>,
    comparison: &'t Comparison,
    left: ExprId,
    right: ExprId,
) -> ExprId {
    let Some(pattern) = lowering.builder.value_of(right).cloned() else {
        let arguments = [left, right].into();
        return lowering.builder.structured(Structured::Call(Library(&MATCHES), arguments));
    };
    if lowering.builder.fault_of(left).is_some() {
        return left;
    }
    let Some(text) = pattern.as_text() else { return lowering.builder.failed(no_text(&pattern)) };
    match compile(text) {
        Ok(compiled) => lowering.builder.structured(Structured::Matches(compiled, left)),
        Err(fault) => {
            lowering.refuse(comparison.right.span, fault.message.clone(), None);
            lowering.builder.failed(fault)
        }
    }
}

fn compile(text: &str) -> Evaluated<Compiled> {
    let regex = Regex::compile(text).map_err(|error| Fault::processing(error.to_string()))?;
    Ok(Compiled::new(text.into(), Arc::new(move |text: &str| regex.matches(text))))
}

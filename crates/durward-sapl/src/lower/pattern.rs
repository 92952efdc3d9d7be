//! `=~`: whether a text is of the form that a regular expression describes, as a whole.

use std::sync::Arc;

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::program::{Compiled, ExprId, Library, Structured};
use durward_ir::structure::kind_of;
use durward_ir::value::Value;

use super::Lowering;
use crate::syntax::tree::Comparison;

/// How often a search may go back before it is given up: some hundred milliseconds, whatever the pattern.
const BACKTRACKS_MAX: usize = 1_000_000;

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
    let Some(pattern) = pattern.as_text() else { return Err(no_text(pattern)) };
    let Some(text) = value.as_text() else { return Ok(Value::Boolean(false)) };
    compile(pattern)?.is_match(text).map(Value::Boolean)
}

fn no_text(pattern: &Value) -> Box<Fault> {
    Fault::processing(format!("a regular expression must be a text, not {}", kind_of(pattern)))
}

/// Lowers `left =~ right`.
pub(super) fn matches<'t>(
    lowering: &mut Lowering<'t, '_>,
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
    let whole = format!(r"\A(?:{text})\z");
    let regex = fancy_regex::RegexBuilder::new(&whole).backtrack_limit(BACKTRACKS_MAX).build();
    let regex =
        regex.map_err(|error| Fault::processing(format!("`{text}` is no regular expression: {error}")))?;
    let pattern = smol_str::SmolStr::new(text);
    let name = pattern.clone();
    let matcher = move |text: &str| {
        regex.is_match(text).map_err(|_| Fault::processing(format!("matching `{name}` takes too long")))
    };
    Ok(Compiled::new(pattern, Arc::new(matcher)))
}

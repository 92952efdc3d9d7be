//! The library `filter`: what filters do to values, in `value |- filter.blacken` and the like.
//!
//! `blacken` counts UTF-16 code units; where it would disclose half of a character, it fails.

use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Any;
use durward_ir::value::Value;

use crate::jvm;
use crate::limits::check_text_length;
use crate::table::{row, row_of_any_number, unchecked};

/// How often the replacement stands at most, as SAPL has it.
const BLACKEN_LENGTH_MAX: usize = 10_000;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row_of_any_number("filter.blacken", Any, blacken,
        "The text (first argument) with its characters replaced, but for so many at the start (second) and at the end \
         (third), by a text (fourth, `X`), which stands once for each or as often as said (fifth); an error for other \
         arguments and beyond 10,000 times."),
    row("filter.replace", &[Any, Any], replace, "The second value."),
    row("filter.remove", &[Any], remove, "`undefined`, which filters take as: remove it."),
];

fn replace(arguments: &[Value]) -> Evaluated<Value> {
    let [_, replacement] = arguments else { return unchecked() };
    Ok(replacement.clone())
}

fn remove(_: &[Value]) -> Evaluated<Value> {
    Ok(Value::Undefined)
}

fn blacken(arguments: &[Value]) -> Evaluated<Value> {
    if arguments.len() > 5 {
        return Err(Fault::processing(format!(
            "`blacken` takes 1 to 5 arguments, {} given",
            arguments.len()
        )));
    }
    let Some(Value::Text(original)) = arguments.first() else {
        return Err(Fault::processing("only a text can be blackened"));
    };
    let replacement = match arguments.get(3) {
        None => "X",
        Some(Value::Text(replacement)) => replacement,
        Some(_) => return Err(Fault::processing("the replacement must be a text")),
    };
    let right = count(arguments.get(2), "disclosed at the end")?.unwrap_or(0);
    let left = count(arguments.get(1), "disclosed at the start")?.unwrap_or(0);
    let times = count(arguments.get(4), "that replace")?;
    cover(original, left, right, replacement, times)
}

/// `BigDecimal.intValue` takes any number: a fraction is dropped.
fn count(argument: Option<&Value>, what: &str) -> Evaluated<Option<usize>> {
    let Some(argument) = argument else { return Ok(None) };
    if let Value::Number(number) = argument
        && let Ok(count) = usize::try_from(jvm::int(number))
    {
        return Ok(Some(count));
    }
    Err(Fault::processing(format!("the number of characters {what} must be a number of 0 or more")))
}

fn cover(
    original: &str,
    left: usize,
    right: usize,
    replacement: &str,
    times: Option<usize>,
) -> Evaluated<Value> {
    let length = jvm::length(original);
    if left + right >= length {
        return Ok(Value::Text(original.into()));
    }
    let covered = length - left - right;
    let times = times.unwrap_or(covered);
    if times > BLACKEN_LENGTH_MAX {
        return Err(Fault::processing(format!(
            "more than {BLACKEN_LENGTH_MAX} characters would be blackened"
        )));
    }
    check_text_length(left + right + jvm::length(replacement) * times)?;
    let start = jvm::cut(original, 0, left)?;
    let end = jvm::cut(original, left + covered, length)?;
    Ok(Value::Text(format!("{start}{}{end}", replacement.repeat(times)).into()))
}

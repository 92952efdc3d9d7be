//! The library `filter`: what filters do to values, in `value |- filter.blacken` and the like.
//!
//! `blacken` counts UTF-16 code units; where it would disclose half of a character, it fails.

use durward_functions::jvm;
use durward_functions::limits::check_text_length;
use durward_functions::table::{row, row_of_any_number, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Any;
use durward_ir::value::Value;

/// How often the replacement stands at most, as SAPL has it.
const BLACKEN_LENGTH_MAX: usize = 10_000;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row_of_any_number("filter.blacken", Any, blacken,
        "The text (first argument) with its characters replaced by another text (fourth, `X`), except for the given \
         numbers of characters at the start (second) and at the end (third). The fifth says how often that text is \
         written; by default once for each character. An error for other arguments, for numbers with a fraction, and \
         beyond 10,000 times."),
    row("filter.replace", &[Any, Any], replace, "The second value."),
    row("filter.remove", &[Any], remove,
        "`undefined`: a filter then removes the value."),
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

/// Whole numbers of 0 and above are taken, and then the low 32 bits of them (`BigDecimal.intValue`).
fn count(argument: Option<&Value>, what: &str) -> Evaluated<Option<i32>> {
    let Some(argument) = argument else { return Ok(None) };
    if let Value::Number(number) = argument
        && number.signum() >= 0
        && number.is_integer()
    {
        return Ok(Some(jvm::int(number)));
    }
    Err(Fault::processing(format!("the number of characters {what} must be a whole number of 0 or more")))
}

/// Computes with 32 bits that overflow, as the engine does: who discloses 2^31 characters and more gets an error, or
/// what the engine makes of it.
fn cover(original: &str, left: i32, right: i32, replacement: &str, times: Option<i32>) -> Evaluated<Value> {
    let length = i32::try_from(jvm::length(original)).unwrap_or(i32::MAX);
    if left.wrapping_add(right) >= length {
        return Ok(Value::Text(original.into()));
    }
    let covered = length.wrapping_sub(left).wrapping_sub(right);
    let times = usize::try_from(times.unwrap_or(covered))
        .ok()
        .filter(|times| *times <= BLACKEN_LENGTH_MAX)
        .ok_or_else(|| {
        Fault::processing(format!("0 to {BLACKEN_LENGTH_MAX} characters can be blackened"))
    })?;
    check_text_length(jvm::length(replacement).saturating_mul(times))?;
    let start = part(original, 0, left.max(0))?;
    let end = if right > 0 { part(original, length.wrapping_sub(right), length)? } else { "" };
    Ok(Value::Text(format!("{start}{}{end}", replacement.repeat(times)).into()))
}

fn part(original: &str, start: i32, end: i32) -> Evaluated<&str> {
    match (usize::try_from(start), usize::try_from(end)) {
        (Ok(start), Ok(end)) if start <= end => jvm::cut(original, start, end),
        _ => Err(Fault::processing("more is disclosed than the text has")),
    }
}

//! The library `string`: texts, as `java.lang.String` has them.
//!
//! Lengths and places count UTF-16 code units. Where that would give half of a character, which no text can hold, the
//! function fails.

use durward_functions::jvm::{self, whole};
use durward_functions::limits::{append, check_text_length};
use durward_functions::table::{row, row_of_any_number, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::{Array, Number, Text};
use durward_ir::value::Value;

/// How often `repeat` repeats at most, as SAPL has it.
const REPEAT_MAX: i32 = 10_000;

/// The longest text that padding makes, as SAPL has it.
const PADDED_LENGTH_MAX: usize = 10_000;

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("string.toLowerCase", &[Text], |a| map(a, str::to_lowercase),
        "The text in lower case, independent of the language."),
    row("string.toUpperCase", &[Text], |a| map(a, str::to_uppercase),
        "The text in upper case, independent of the language."),
    row("string.equalsIgnoreCase", &[Text, Text], |a| test(a, jvm::equals_ignore_case),
        "Whether both texts are equal apart from upper and lower case."),
    row("string.trim", &[Text], |a| map(a, |text| jvm::trim(text).to_owned()),
        "The text without blanks and control characters at both ends."),
    row("string.trimStart", &[Text], |a| map(a, |text| jvm::strip_start(text).to_owned()),
        "The text without white space at its start."),
    row("string.trimEnd", &[Text], |a| map(a, |text| jvm::strip_end(text).to_owned()),
        "The text without white space at its end."),
    row("string.isBlank", &[Text], |a| of(a, |text| Value::Boolean(jvm::is_blank(text))),
        "Whether the text is empty or white space alone."),
    row("string.contains", &[Text, Text], |a| test(a, |text, part| text.contains(part)),
        "Whether the second text is part of the first."),
    row("string.startsWith", &[Text, Text], |a| test(a, |text, part| text.starts_with(part)),
        "Whether the first text starts with the second."),
    row("string.endsWith", &[Text, Text], |a| test(a, |text, part| text.ends_with(part)),
        "Whether the first text ends with the second."),
    row("string.length", &[Text], |a| of(a, |text| place(jvm::length(text))),
        "The length of the text in UTF-16 code units."),
    row("string.isEmpty", &[Text], |a| of(a, |text| Value::Boolean(text.is_empty())), "Whether the text is empty."),
    row("string.substring", &[Text, Number], substring,
        "The text from a position on, counted from 0; an error for positions outside the text or inside a \
         character."),
    row("string.substringRange", &[Text, Number, Number], substring_range,
        "The text from one position to before another; an error for positions outside the text or inside a \
         character."),
    row("string.indexOf", &[Text, Text], |a| find(a, |text, part| text.find(part)),
        "The position of the first occurrence of the second text in the first, or -1."),
    row("string.lastIndexOf", &[Text, Text], |a| find(a, |text, part| text.rfind(part)),
        "The position of the last occurrence of the second text in the first, or -1."),
    row("string.join", &[Array, Text], join,
        "The texts of an array, with a delimiter between them; an error when an element is no text."),
    row_of_any_number("string.concat", Text, concat, "The texts one after the other."),
    row("string.replace", &[Text, Text, Text], replace,
        "The text with every occurrence of the second replaced by the third; an error when the second is empty."),
    row("string.replaceFirst", &[Text, Text, Text], replace_first,
        "The text with the first occurrence of the second replaced by the third; an error when the second is empty."),
    row("string.leftPad", &[Text, Number, Text], |a| pad(a, TrimSide::Left),
        "The text, filled with a character on the left to this length; an error unless the filling is one \
         character."),
    row("string.rightPad", &[Text, Number, Text], |a| pad(a, TrimSide::Right),
        "The text, filled with a character on the right to this length; an error unless the filling is one \
         character."),
    row("string.repeat", &[Text, Number], repeat,
        "The text repeated so many times; an error below 0 and above 10,000 times."),
    row("string.reverse", &[Text], |a| map(a, |text| text.chars().rev().collect()), "The text backwards."),
];

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// A length or place as a number.
fn place(units: usize) -> Value {
    whole(i64::try_from(units).unwrap_or(i64::MAX))
}

fn of(arguments: &[Value], value: impl Fn(&str) -> Value) -> Evaluated<Value> {
    match arguments {
        [Value::Text(text)] => Ok(value(text)),
        _ => unchecked(),
    }
}

fn map(arguments: &[Value], change: impl Fn(&str) -> String) -> Evaluated<Value> {
    of(arguments, |before| Value::Text(change(before).into()))
}

fn test(arguments: &[Value], holds: impl Fn(&str, &str) -> bool) -> Evaluated<Value> {
    match arguments {
        [Value::Text(a), Value::Text(b)] => Ok(Value::Boolean(holds(a, b))),
        _ => unchecked(),
    }
}

fn find(arguments: &[Value], find: impl Fn(&str, &str) -> Option<usize>) -> Evaluated<Value> {
    let [Value::Text(text), Value::Text(part)] = arguments else { return unchecked() };
    Ok(match find(text, part).and_then(|at| text.get(..at)) {
        Some(before) => place(jvm::length(before)),
        None => whole(-1),
    })
}

fn substring(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(whole), Value::Number(start)] = arguments else { return unchecked() };
    part(whole, jvm::exact_int(start)?, None)
}

fn substring_range(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(whole), Value::Number(start), Value::Number(end)] = arguments else {
        return unchecked();
    };
    part(whole, jvm::exact_int(start)?, Some(jvm::exact_int(end)?))
}

fn part(whole: &str, start: i32, end: Option<i32>) -> Evaluated<Value> {
    let length = jvm::length(whole);
    let within = |at: i32, least: usize| usize::try_from(at).ok().filter(|at| (least..=length).contains(at));
    let start = within(start, 0).ok_or_else(|| {
        Fault::processing(format!("the start {start} is outside the text of length {length}"))
    })?;
    let end = match end {
        None => length,
        Some(end) => within(end, start).ok_or_else(|| {
            Fault::processing(format!(
                "the end {end} is not between the start {start} and the length {length}"
            ))
        })?,
    };
    jvm::cut(whole, start, end).map(text)
}

/// A delimiter goes before every text but those that come while there is nothing yet, as in the Java engine: joining
/// `["", "a"]` gives `a`.
fn join(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Array(elements), Value::Text(delimiter)] = arguments else { return unchecked() };
    let (mut joined, mut length) = (String::new(), 0);
    for element in elements.iter() {
        let Value::Text(next) = element else {
            return Err(Fault::processing("all elements of the array must be texts"));
        };
        if !joined.is_empty() {
            append(&mut joined, &mut length, delimiter)?;
        }
        append(&mut joined, &mut length, next)?;
    }
    Ok(Value::Text(joined.into()))
}

fn concat(arguments: &[Value]) -> Evaluated<Value> {
    let (mut joined, mut length) = (String::new(), 0);
    for argument in arguments {
        let Value::Text(next) = argument else { return unchecked() };
        append(&mut joined, &mut length, next)?;
    }
    Ok(Value::Text(joined.into()))
}

fn check_target(target: &str) -> Evaluated<()> {
    if target.is_empty() {
        return Err(Fault::processing("the text to replace is empty"));
    }
    Ok(())
}

fn replace(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(whole), Value::Text(target), Value::Text(replacement)] = arguments else {
        return unchecked();
    };
    check_target(target)?;
    let (mut replaced, mut length) = (String::new(), 0);
    for (count, part) in whole.split(target.as_str()).enumerate() {
        if count > 0 {
            append(&mut replaced, &mut length, replacement)?;
        }
        append(&mut replaced, &mut length, part)?;
    }
    Ok(Value::Text(replaced.into()))
}

fn replace_first(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(whole), Value::Text(target), Value::Text(replacement)] = arguments else {
        return unchecked();
    };
    check_target(target)?;
    let Some((before, after)) = whole.split_once(target.as_str()) else { return Ok(text(whole)) };
    let (mut replaced, mut length) = (String::new(), 0);
    for part in [before, replacement, after] {
        append(&mut replaced, &mut length, part)?;
    }
    Ok(Value::Text(replaced.into()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TrimSide {
    Left,
    Right,
}

fn pad(arguments: &[Value], side: TrimSide) -> Evaluated<Value> {
    let [Value::Text(whole), Value::Number(wanted), Value::Text(padding)] = arguments else {
        return unchecked();
    };
    let wanted = jvm::exact_int(wanted)?;
    if jvm::length(padding) != 1 {
        return Err(Fault::processing("the padding must be exactly one character"));
    }
    let (wanted, length) = (usize::try_from(wanted).unwrap_or_default(), jvm::length(whole));
    if length >= wanted {
        return Ok(text(whole));
    }
    if wanted > PADDED_LENGTH_MAX {
        return Err(Fault::processing(format!("cannot pad a text to a length above {PADDED_LENGTH_MAX}")));
    }
    let padding = padding.repeat(wanted - length);
    Ok(Value::Text(match side {
        TrimSide::Left => (padding + whole).into(),
        TrimSide::Right => (whole.to_string() + &padding).into(),
    }))
}

fn repeat(arguments: &[Value]) -> Evaluated<Value> {
    let [Value::Text(once), Value::Number(count)] = arguments else { return unchecked() };
    let count = jvm::exact_int(count)?;
    let Some(times) = usize::try_from(count).ok().filter(|_| count <= REPEAT_MAX) else {
        return Err(Fault::processing(format!("cannot repeat a text {count} times, only 0 to {REPEAT_MAX}")));
    };
    check_text_length(jvm::length(once).saturating_mul(times))?;
    Ok(Value::Text(once.repeat(times).into()))
}

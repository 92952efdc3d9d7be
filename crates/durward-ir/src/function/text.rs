//! Texts: normalisation (XACML 3.0, A.3.3), joining, searching and cutting (A.3.9).

use std::borrow::Cow;

use crate::datatype::{Integer, trim};
use crate::fault::{Evaluated, Fault};
use crate::function::{BOOLEAN, Function, INTEGER, TEXT, URI, id, row, row_from, take};
use crate::value::{DataType, Operand, Value};

/// The longest text a function may make, in bytes. Above any sensible request, far below what nested
/// concatenation could otherwise reach.
pub const TEXT_LENGTH_MAX: usize = 1 << 20;

pub(super) static TABLE: &[Function] = &[
    row(id!("1.0", "string-normalize-space"), &[TEXT], TEXT, normalize_space),
    row(id!("1.0", "string-normalize-to-lower-case"), &[TEXT], TEXT, normalize_to_lower_case),
    row_from(id!("2.0", "string-concatenate"), 2, &[TEXT], TEXT, concatenate),
    row_from(id!("2.0", "uri-string-concatenate"), 1, &[URI, TEXT], URI, uri_concatenate),
    row(id!("3.0", "string-starts-with"), &[TEXT, TEXT], BOOLEAN, starts_with),
    row(id!("3.0", "anyURI-starts-with"), &[TEXT, URI], BOOLEAN, starts_with),
    row(id!("3.0", "string-ends-with"), &[TEXT, TEXT], BOOLEAN, ends_with),
    row(id!("3.0", "anyURI-ends-with"), &[TEXT, URI], BOOLEAN, ends_with),
    row(id!("3.0", "string-contains"), &[TEXT, TEXT], BOOLEAN, contains),
    row(id!("3.0", "anyURI-contains"), &[TEXT, URI], BOOLEAN, contains),
    row(id!("3.0", "string-substring"), &[TEXT, INTEGER, INTEGER], TEXT, substring),
    row(id!("3.0", "anyURI-substring"), &[URI, INTEGER, INTEGER], TEXT, uri_substring),
];

fn text(text: &str) -> Operand<'static> {
    Operand::one(Value::text(text))
}

/// Removes white space at both ends; what stands inside is left alone.
fn normalize_space(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    Ok(text(trim(operand.as_text()?)))
}

/// Every character's lower case as Unicode maps it, whatever the language (`fn:lower-case`).
pub(super) fn lower_case(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.to_lowercase())
}

fn normalize_to_lower_case(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [operand] = take(operands)?;
    Ok(text(&lower_case(operand.as_text()?)))
}

fn append(joined: &mut String, next: &str) -> Evaluated<()> {
    if joined.len() + next.len() > TEXT_LENGTH_MAX {
        return Err(Fault::processing(format!("the joined text is longer than {TEXT_LENGTH_MAX} bytes")));
    }
    joined.push_str(next);
    Ok(())
}

fn concatenate(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let mut joined = String::new();
    for operand in operands {
        append(&mut joined, operand.as_text()?)?;
    }
    Ok(text(&joined))
}

/// Deprecated (XACML 3.0, A.4): a URI and texts joined; the result must be a URI.
fn uri_concatenate(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let mut joined = String::new();
    for operand in operands {
        append(&mut joined, held(operand)?)?;
    }
    let uri =
        Value::parse(DataType::AnyUri, &joined).map_err(|error| Fault::processing(error.to_string()))?;
    Ok(Operand::one(uri))
}

/// The text of a `string`, or of an `anyURI` as `string-from-anyURI` gives it.
fn held<'s>(operand: &'s Operand<'_>) -> Evaluated<&'s str> {
    if let Value::AnyUri(uri) = operand.as_one()? { Ok(uri) } else { operand.as_text() }
}

// In the next three, what is looked for comes first and where to look second: the opposite of most languages.

fn starts_with(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [part, whole] = take(operands)?;
    Ok(Operand::boolean(held(whole)?.starts_with(held(part)?)))
}

fn ends_with(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [part, whole] = take(operands)?;
    Ok(Operand::boolean(held(whole)?.ends_with(held(part)?)))
}

fn contains(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let [part, whole] = take(operands)?;
    Ok(Operand::boolean(held(whole)?.contains(held(part)?)))
}

/// The part from one position up to, not including, another. Positions count characters from zero; an end of -1
/// is the end of the text. Positions outside the text, or in the wrong order, are an error.
fn cut<'s>(operands: &'s [Operand<'_>]) -> Evaluated<&'s str> {
    let [whole, begin, end] = take(operands)?;
    let (whole, begin, end) = (held(whole)?, begin.as_integer()?, end.as_integer()?);
    let part = byte_position(whole, begin).and_then(|first| {
        let past = if *end == END_OF_TEXT { whole.len() } else { byte_position(whole, end)? };
        whole.get(first..past)
    });
    part.ok_or_else(|| {
        Fault::processing(format!("the positions `{begin}` to `{end}` are not within the text"))
    })
}

const END_OF_TEXT: Integer = Integer::Small(-1);

/// Where the character of this position begins; one past the last character is a position too.
fn byte_position(whole: &str, position: &Integer) -> Option<usize> {
    let position = usize::try_from(position.to_i64()?).ok()?;
    let mut beginnings = whole.char_indices().map(|(byte, _)| byte).chain([whole.len()]);
    beginnings.nth(position)
}

fn substring(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    cut(operands).map(text)
}

/// As [`substring`] but the part must be a URI itself.
fn uri_substring(operands: &[Operand<'_>]) -> Evaluated<Operand<'static>> {
    let part = cut(operands)?;
    match Value::parse(DataType::AnyUri, part) {
        Ok(_) => Ok(text(part)),
        Err(error) => Err(Fault::processing(error.to_string())),
    }
}

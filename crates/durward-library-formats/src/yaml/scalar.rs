//! What scalars are.

use durward_functions::document::{NUMBER_LENGTH_MAX, of_decimal, of_double};
use durward_functions::jvm;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use num_bigint::BigInt;
use saphyr_parser::Tag;

type YamlScalarResult = Result<Value, &'static str>;

const YAML_TAGS: &str = "tag:yaml.org,2002:";

const NOT_FINITE: &str = "a number is not finite";
const TOO_LONG: &str = "a number is too long";

fn text(text: &str) -> YamlScalarResult {
    Ok(Value::Text(text.into()))
}

/// The value of a scalar.
///
/// # Errors
/// It is binary data, or a number that is none or is too large.
pub(super) fn value(scalar: &str, is_plain: bool, tag: Option<&Tag>) -> YamlScalarResult {
    if scalar.is_empty() {
        return text("");
    }
    let Some(tag) = tag else {
        return if is_plain { untagged(scalar) } else { text(scalar) };
    };
    let tag = format!("{}{}", tag.handle, tag.suffix);
    let name = tag.strip_prefix(YAML_TAGS).unwrap_or(&tag);
    match name.split(',').next().unwrap_or_default() {
        "null" => Ok(Value::Null),
        "bool" if scalar.eq_ignore_ascii_case("true") => Ok(Value::Boolean(true)),
        "bool" if scalar.eq_ignore_ascii_case("false") => Ok(Value::Boolean(false)),
        "binary" => Err("there is binary data"),
        "int" => tagged_int(scalar),
        "float" => tagged_float(scalar),
        _ => text(scalar),
    }
}

fn untagged(scalar: &str) -> YamlScalarResult {
    match scalar {
        "true" => return Ok(Value::Boolean(true)),
        "false" => return Ok(Value::Boolean(false)),
        "null" => return Ok(Value::Null),
        ".inf" | "-.inf" | ".nan" => return Err(NOT_FINITE),
        _ => {}
    }
    let Some(behind) = behind_whole(scalar) else { return text(scalar) };
    if behind.is_empty() {
        return of_decimal(scalar);
    }
    let behind = behind.strip_prefix('.').map_or(behind, without_digits);
    let is_float = behind.is_empty()
        || behind
            .strip_prefix(['e', 'E'])
            .map(|behind| behind.strip_prefix(['+', '-']).unwrap_or(behind))
            .is_some_and(|digits| !digits.is_empty() && without_digits(digits).is_empty());
    if is_float { float(scalar) } else { text(scalar) }
}

fn without_digits(text: &str) -> &str {
    text.trim_start_matches(|character: char| character.is_ascii_digit())
}

/// What is behind a whole number of JSON.
fn behind_whole(scalar: &str) -> Option<&str> {
    let unsigned = scalar.strip_prefix('-').unwrap_or(scalar);
    if let Some(behind) = unsigned.strip_prefix('0') {
        return Some(behind);
    }
    let behind = without_digits(unsigned);
    (behind.len() < unsigned.len()).then_some(behind)
}

/// A number as the double that is next to it.
fn float(text: &str) -> YamlScalarResult {
    if text.len() > NUMBER_LENGTH_MAX {
        return Err(TOO_LONG);
    }
    let double: f64 = text.parse().map_err(|_| "a number is none")?;
    of_double(double)
}

/// A scalar that is said to be a whole number: of YAML 1.1, where `0b`, `0` and `0x` begin other bases.
fn tagged_int(scalar: &str) -> YamlScalarResult {
    const NO_DIGITS: &str = "a number has no or wrong digits";
    let unsigned = scalar.strip_prefix(['+', '-']).unwrap_or(scalar);
    let (radix, digits) = match unsigned.strip_prefix('0') {
        None | Some("") => (10, unsigned),
        Some(behind) => match behind.chars().next() {
            Some('b' | 'B') => (2, behind.get(1..).unwrap_or_default()),
            Some('x' | 'X') => (16, behind.get(1..).unwrap_or_default()),
            Some('0'..='9' | '_') => (8, behind),
            _ => return text(scalar),
        },
    };
    let digits = digits.replace('_', "");
    let is_digits = digits.chars().all(|character| character.is_digit(radix));
    if radix == 10 && !is_digits {
        return text(scalar);
    }
    if !is_digits || digits.is_empty() {
        return Err(NO_DIGITS);
    }
    if digits.len() > NUMBER_LENGTH_MAX {
        return Err(TOO_LONG);
    }
    let number = BigInt::parse_bytes(digits.as_bytes(), radix).ok_or(NO_DIGITS)?;
    let number = if scalar.starts_with('-') { -number } else { number };
    Ok(jvm::number(Decimal::new(number, 0)))
}

/// A scalar that is said to be a number, as `Double.parseDouble` reads it.
fn tagged_float(scalar: &str) -> YamlScalarResult {
    let digits = scalar.replace('_', "");
    let trimmed = jvm::trim(&digits);
    let trimmed = trimmed.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(trimmed);
    // Rust would read `inf` and `nan`, which are refused in any case.
    float(trimmed)
}

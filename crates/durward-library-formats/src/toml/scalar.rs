//! What stands for a value without quotes: numbers, booleans, dates and times, as Jackson reads them.

use durward_functions::document::{NUMBER_LENGTH_MAX, of_decimal};
use durward_functions::jvm;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use num_bigint::BigInt;

type ScalarReason = &'static str;

/// The value of a text.
pub(super) fn read(text: &str) -> Result<Value, ScalarReason> {
    match text {
        "true" => return Ok(Value::Boolean(true)),
        "false" => return Ok(Value::Boolean(false)),
        "inf" | "+inf" | "-inf" | "nan" | "+nan" | "-nan" => return Err("a number must be finite"),
        _ => {}
    }
    if let Some(number) = prefixed(text) {
        return number;
    }
    if is_date_or_time(text) {
        return Ok(Value::Text(text.replacen(' ', "T", 1).into()));
    }
    number(text)
}

/// Digits, with single underscores between them.
fn digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.split('_').all(|group| is_plain(group, radix))
}

fn is_plain(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix))
}

fn prefixed(text: &str) -> Option<Result<Value, ScalarReason>> {
    let (number, radix) = match text.get(..2)? {
        "0x" => (text.get(2..)?, 16),
        "0o" => (text.get(2..)?, 8),
        "0b" => (text.get(2..)?, 2),
        _ => return None,
    };
    Some(whole(number, radix))
}

fn whole(number: &str, radix: u32) -> Result<Value, ScalarReason> {
    if !digits(number, radix) {
        return Err("this is no number");
    }
    if number.len() > NUMBER_LENGTH_MAX {
        return Err("a number is too long");
    }
    let plain = number.replace('_', "");
    let whole = BigInt::parse_bytes(plain.as_bytes(), radix).ok_or("this is no number")?;
    Ok(jvm::number(Decimal::from(whole)))
}

/// A decimal number, whole or not.
fn number(text: &str) -> Result<Value, ScalarReason> {
    const NONE: ScalarReason = "this is no value";
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (main, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((main, exponent)) => (main, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match main.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (main, None),
    };
    let exponent = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    let parts = [Some(whole), fraction, exponent];
    if parts.iter().flatten().any(|part| !digits(part, 10)) {
        return Err(NONE);
    }
    if whole.len() > 1 && whole.starts_with('0') {
        return Err("a number must not begin with 0");
    }
    of_decimal(&text.replace('_', ""))
}

/// A date, a time, or both with an offset or without. Neither has to be in the calendar or on the clock.
fn is_date_or_time(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(10).filter(|(date, _)| is_form(date, "dddd-dd-dd")) else {
        return is_time(text);
    };
    if rest.is_empty() {
        return date.len() == text.len();
    }
    let Some(time) = rest.strip_prefix(['T', 't', ' ']) else { return false };
    let offset = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (time, offset) = time.split_at_checked(offset).unwrap_or((time, ""));
    is_time(time) && (matches!(offset, "" | "Z") || is_form(offset, "+dd:dd") || is_form(offset, "-dd:dd"))
}

fn is_time(text: &str) -> bool {
    let (time, fraction) = match text.split_once('.') {
        Some((time, fraction)) => (time, Some(fraction)),
        None => (text, None),
    };
    is_form(time, "dd:dd:dd") && fraction.is_none_or(|fraction| is_plain(fraction, 10))
}

/// Whether a text has digits where the form has `d`, and the same characters elsewhere.
fn is_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(found, wanted)| match wanted {
            b'd' => found.is_ascii_digit(),
            other => found == other,
        })
}

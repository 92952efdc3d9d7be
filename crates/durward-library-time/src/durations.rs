//! Functions between durations in milliseconds and ISO 8601.

use std::fmt::Write;

use durward_functions::argument::{number, text};
use durward_functions::jvm;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};

use super::instant::BILLION;
use super::shown;

/// The days of a year, on the average.
const YEAR_DAYS: f64 = 365.2425;
/// The days of a twelfth of a year.
const MONTH_DAYS: f64 = 30.436_875;
const DAY_MS: i64 = 86_400_000;

/// Milliseconds as one of the engine's kinds of duration: those with a year, or a month and no time, are periods of
/// dates, and all others are times of exact length. A period with a time is neither.
pub(super) fn duration_from_iso(arguments: &[Value]) -> Evaluated<Value> {
    let written = text(arguments, 0)?;
    if jvm::is_blank(written) {
        return Err(Fault::processing("ISO duration parameter cannot be blank."));
    }
    let has_period = written.contains('Y') || (written.contains('M') && !written.contains('T'));
    let millis = if has_period { period_ms(written) } else { time_ms(written) };
    let millis =
        millis.ok_or_else(|| Fault::processing(format!("Invalid ISO duration: {}.", shown(arguments, 0))))?;
    Ok(Value::Number(Decimal::from(millis)))
}

/// Reads signed numbers, each with a letter behind it.
struct DurationParts<'a> {
    rest: &'a str,
    negative: bool,
}

impl<'a> DurationParts<'a> {
    /// Behind the sign and the `P`.
    fn of(text: &'a str) -> Option<DurationParts<'a>> {
        let (negative, rest) = sign(text);
        let rest = rest.strip_prefix(['P', 'p'])?;
        Some(DurationParts { rest, negative })
    }

    /// The number before this letter, if it is next.
    fn number(&mut self, letter: char) -> Option<Option<i64>> {
        let (negative, digits) = sign(self.rest);
        let count = digits.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, behind) = digits.split_at_checked(count)?;
        let Some(rest) = behind.strip_prefix([letter, letter.to_ascii_lowercase()]) else {
            return Some(None);
        };
        if digits.is_empty() {
            return None;
        }
        self.rest = rest;
        let number: i64 = digits.parse().ok()?;
        Some(Some(if negative == self.negative { number } else { -number }))
    }
}

/// Whether a text starts with a minus sign, and what is behind the sign.
fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// `Period.parse`, with years and months of average length. Its numbers are `int`s.
fn period_ms(text: &str) -> Option<i64> {
    let mut parts = DurationParts::of(text)?;
    let mut read = |letter| parts.number(letter);
    let (years, months, weeks, days) = (read('Y')?, read('M')?, read('W')?, read('D')?);
    if !parts.rest.is_empty() || [years, months, weeks, days].iter().all(Option::is_none) {
        return None;
    }
    let int = |number: i64| i32::try_from(number).ok().map(i64::from);
    let days = int(int(days.unwrap_or(0))? + int(int(weeks.unwrap_or(0))?.checked_mul(7)?)?)?;
    let (years, months) = (int(years.unwrap_or(0))?, int(months.unwrap_or(0))?);
    Some(product_ms(years, YEAR_DAYS) + product_ms(months, MONTH_DAYS) + days * DAY_MS)
}

/// `(long) (count * days * 24 * 60 * 60 * 1000)`, rounded in doubles where Java rounds: a year is a millisecond short.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "Java's own arithmetic")]
const fn product_ms(count: i64, days: f64) -> i64 {
    (count as f64 * days * 24.0 * 60.0 * 60.0 * 1000.0) as i64
}

/// `Duration.parse(..).toMillis()`.
fn time_ms(text: &str) -> Option<i64> {
    let mut parts = DurationParts::of(text)?;
    let days = parts.number('D')?;
    let (mut hours, mut minutes, mut seconds) = (None, None, None);
    if let Some(rest) = parts.rest.strip_prefix(['T', 't']) {
        parts.rest = rest;
        (hours, minutes) = (parts.number('H')?, parts.number('M')?);
        seconds = seconds_of(&mut parts)?;
        if hours.is_none() && minutes.is_none() && seconds.is_none() {
            return None;
        }
    }
    if !parts.rest.is_empty() || (days.is_none() && hours.is_none() && minutes.is_none() && seconds.is_none())
    {
        return None;
    }
    // Each of them must be a `long` in seconds, and so must their sum.
    let part = |count: Option<i64>, unit_s: i64| count.unwrap_or(0).checked_mul(unit_s);
    let (second, nano) = seconds.unwrap_or((0, 0));
    let mut total = part(days, 86_400)?;
    for further in [part(hours, 3600)?, part(minutes, 60)?, second] {
        total = total.checked_add(further)?;
    }
    // The fraction of a millisecond is cut off towards zero.
    let nanos = i128::from(total) * i128::from(BILLION) + i128::from(nano);
    i64::try_from(nanos / 1_000_000).ok()
}

/// Seconds with up to nine digits behind a point or comma. `Some(None)` when there are none.
fn seconds_of(parts: &mut DurationParts<'_>) -> Option<Option<(i64, i64)>> {
    if parts.rest.is_empty() {
        return Some(None);
    }
    let (negative, digits) = sign(parts.rest);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, behind) = digits.split_at_checked(count)?;
    if digits.is_empty() {
        return None;
    }
    let whole: i64 = digits.parse().ok()?;
    let (fraction, behind) = match behind.strip_prefix(['.', ',']) {
        Some(behind) => behind.split_at_checked(behind.bytes().take_while(u8::is_ascii_digit).count())?,
        None => ("", behind),
    };
    parts.rest = behind.strip_prefix(['S', 's'])?;
    if fraction.len() > 9 {
        return None;
    }
    let nano: i64 = format!("{fraction:0<9}").parse().ok()?;
    Some(Some(if negative == parts.negative { (whole, nano) } else { (-whole, -nano) }))
}

fn millis(arguments: &[Value]) -> Evaluated<i64> {
    let millis = number(arguments, 0)?;
    millis
        .to_i64()
        .ok_or_else(|| Fault::processing(format!("Invalid duration milliseconds: {}.", shown(arguments, 0))))
}

/// `Duration.toString`: hours, minutes and seconds, each with its sign.
pub(super) fn duration_to_iso_compact(arguments: &[Value]) -> Evaluated<Value> {
    let millis = millis(arguments)?;
    if millis == 0 {
        return Ok(Value::Text("PT0S".into()));
    }
    let (seconds, fraction) = (millis / 1000, millis % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    let mut out = String::from("PT");
    // Writing to a string cannot fail.
    if hours != 0 {
        let _ = write!(out, "{hours}H");
    }
    if minutes != 0 {
        let _ = write!(out, "{minutes}M");
    }
    if seconds != 0 || fraction != 0 {
        let sign = if millis < 0 { "-" } else { "" };
        let _ = write!(out, "{sign}{}", seconds.unsigned_abs());
        if fraction != 0 {
            let digits = format!("{:03}", fraction.unsigned_abs());
            let _ = write!(out, ".{}", digits.trim_end_matches('0'));
        }
        out.push('S');
    }
    Ok(Value::Text(out.into()))
}

/// Years and months of average length, days, hours, minutes and seconds; what is not above zero is left out, and so
/// are fractions of a second.
pub(super) fn duration_to_iso_verbose(arguments: &[Value]) -> Evaluated<Value> {
    let millis = millis(arguments)?;
    let (year_ms, month_ms) = (const { product_ms(1, YEAR_DAYS) }, const { product_ms(1, MONTH_DAYS) });
    let (years, rest) = (millis / year_ms, millis % year_ms);
    let (months, rest) = (rest / month_ms, rest % month_ms);
    // `Duration.ofMillis` rounds down to seconds before its parts are taken.
    let seconds = rest.div_euclid(1000);
    let dates = [(years, 'Y'), (months, 'M'), (seconds / 86_400, 'D')];
    let times = [(seconds / 3600 % 24, 'H'), (seconds / 60 % 60, 'M'), (seconds % 60, 'S')];
    let mut out = String::from("P");
    push_positive(&mut out, &dates);
    if times.iter().any(|(count, _)| *count > 0) {
        out.push('T');
        push_positive(&mut out, &times);
    }
    if out.len() == 1 {
        out.push_str("T0S");
    }
    Ok(Value::Text(out.into()))
}

fn push_positive(out: &mut String, parts: &[(i64, char)]) {
    for (count, letter) in parts.iter().filter(|(count, _)| *count > 0) {
        // Writing to a string cannot fail.
        let _ = write!(out, "{count}{letter}");
    }
}

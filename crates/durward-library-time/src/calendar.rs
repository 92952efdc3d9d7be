//! Functions that read the parts of a date and time, and that find the bounds of its day, week, month and year.

use durward_functions::argument::text;
use durward_functions::jvm;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::datatype::calendar::{Civil, civil_of, days_in_month, days_of, is_leap};
use durward_ir::fault::{Evaluated, Fault};

use super::instant::{Instant, LocalDateTime, LocalTime, WrittenDate, is_date, last_of_day, midnight};
use super::{scan, shown, timestamp, wrong_timestamp};

/// The date and time of the first argument, as written, with its offset.
fn written(arguments: &[Value]) -> Evaluated<(LocalDateTime, Option<i32>)> {
    scan::date_time(text(arguments, 0)?)
        .ok_or_else(|| Fault::processing(format!("Invalid ISO datetime: {}.", shown(arguments, 0))))
}

fn number(value: i64) -> Evaluated<Value> {
    Ok(Value::Number(Decimal::from(value)))
}

/// 0 for Monday.
const fn weekday(day: i64) -> i64 {
    // 1970-01-01 was a Thursday.
    (day + 3).rem_euclid(7)
}

/// Days since the first of January, from 0.
fn day_in_year(day: i64) -> i64 {
    day - days_of(Civil { year: civil_of(day).year, month: 1, day: 1 })
}

/// The week of ISO 8601: it begins on Monday and belongs to the year of its Thursday.
pub(super) fn week_of_year(arguments: &[Value]) -> Evaluated<Value> {
    let (LocalDateTime { day, .. }, _) = written(arguments)?;
    let thursday = day - weekday(day) + 3;
    number(day_in_year(thursday) / 7 + 1)
}

pub(super) fn day_of_year(arguments: &[Value]) -> Evaluated<Value> {
    number(day_in_year(written(arguments)?.0.day) + 1)
}

pub(super) fn day_of_week(arguments: &[Value]) -> Evaluated<Value> {
    let name = match weekday(written(arguments)?.0.day) {
        0 => "MONDAY",
        1 => "TUESDAY",
        2 => "WEDNESDAY",
        3 => "THURSDAY",
        4 => "FRIDAY",
        5 => "SATURDAY",
        _ => "SUNDAY",
    };
    Ok(Value::Text(name.into()))
}

pub(super) fn date_of(arguments: &[Value]) -> Evaluated<Value> {
    let day = written(arguments)?.0.day;
    Ok(Value::Text(WrittenDate(day).to_string().into()))
}

pub(super) fn time_of(arguments: &[Value]) -> Evaluated<Value> {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = written(arguments)?.0.time.whole().write_seconds(&mut out);
    Ok(Value::Text(out.into()))
}

pub(super) fn hour_of(arguments: &[Value]) -> Evaluated<Value> {
    number(written(arguments)?.0.time.hour())
}

pub(super) fn minute_of(arguments: &[Value]) -> Evaluated<Value> {
    number(written(arguments)?.0.time.minute())
}

pub(super) fn second_of(arguments: &[Value]) -> Evaluated<Value> {
    number(written(arguments)?.0.time.second())
}

pub(super) fn offset_date_time(arguments: &[Value]) -> Evaluated<Value> {
    let instant = match written(arguments)? {
        (local, Some(offset_s)) => local.instant(offset_s),
        (_, None) => None,
    };
    let wrong = || Fault::processing(format!("Invalid ISO datetime: {}.", shown(arguments, 0)));
    Ok(Value::Text(instant.ok_or_else(wrong)?.to_string().into()))
}

/// True for a text that other functions of the library take for an instant.
pub(super) fn valid_utc(arguments: &[Value]) -> Evaluated<Value> {
    let valid = match arguments.first() {
        Some(Value::Text(text)) => Instant::read(text).is_some(),
        _ => false,
    };
    Ok(Value::Boolean(valid))
}

/// True for an instant with a large `T` and with `Z` or an offset in hours and minutes.
pub(super) fn valid_rfc3339(arguments: &[Value]) -> Evaluated<Value> {
    let valid = match arguments.first() {
        Some(Value::Text(text)) => {
            !jvm::is_blank(text)
                && scan::instant(text).is_some()
                && text.contains('T')
                && (text.ends_with('Z') || ends_with_offset(text))
        }
        _ => false,
    };
    Ok(Value::Boolean(valid))
}

/// Whether a text ends in `+HH:mm` or `-HH:mm`.
fn ends_with_offset(text: &str) -> bool {
    let Some(start) = text.len().checked_sub(6) else { return false };
    match text.as_bytes().get(start..) {
        Some([b'+' | b'-', a, b, b':', c, d]) => [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}

/// The instant that `find` makes of the day of the first argument at UTC, if both days are dates of Java.
fn bound(arguments: &[Value], find: fn(i64) -> i64, at: fn(i64) -> Option<Instant>) -> Evaluated<Value> {
    let day = timestamp(arguments)?.day().map(find).filter(|day| is_date(civil_of(*day).year));
    let instant = day.and_then(at).ok_or_else(|| wrong_timestamp(arguments))?;
    Ok(Value::Text(instant.to_string().into()))
}

const fn same(day: i64) -> i64 {
    day
}

const fn monday(day: i64) -> i64 {
    day - weekday(day)
}

const fn sunday(day: i64) -> i64 {
    day - weekday(day) + 6
}

fn first_of_month(day: i64) -> i64 {
    day + 1 - i64::from(civil_of(day).day)
}

fn last_of_month(day: i64) -> i64 {
    let Civil { year, month, .. } = civil_of(day);
    first_of_month(day) + i64::from(days_in_month(year, month)) - 1
}

fn first_of_year(day: i64) -> i64 {
    day - day_in_year(day)
}

fn last_of_year(day: i64) -> i64 {
    first_of_year(day) + if is_leap(civil_of(day).year) { 365 } else { 364 }
}

pub(super) fn start_of_day(arguments: &[Value]) -> Evaluated<Value> {
    bound(arguments, same, midnight)
}

pub(super) fn end_of_day(arguments: &[Value]) -> Evaluated<Value> {
    bound(arguments, same, last_of_day)
}

pub(super) fn start_of_week(arguments: &[Value]) -> Evaluated<Value> {
    bound(arguments, monday, midnight)
}

pub(super) fn end_of_week(arguments: &[Value]) -> Evaluated<Value> {
    bound(arguments, sunday, last_of_day)
}

pub(super) fn start_of_month(arguments: &[Value]) -> Evaluated<Value> {
    bound(arguments, first_of_month, midnight)
}

pub(super) fn end_of_month(arguments: &[Value]) -> Evaluated<Value> {
    bound(arguments, last_of_month, last_of_day)
}

pub(super) fn start_of_year(arguments: &[Value]) -> Evaluated<Value> {
    bound(arguments, first_of_year, midnight)
}

pub(super) fn end_of_year(arguments: &[Value]) -> Evaluated<Value> {
    bound(arguments, last_of_year, last_of_day)
}

pub(super) fn truncate_to_hour(arguments: &[Value]) -> Evaluated<Value> {
    let instant = timestamp(arguments)?;
    let hour = Instant { second: instant.second - instant.second.rem_euclid(3600), nano: 0 };
    Ok(Value::Text(hour.to_string().into()))
}

pub(super) fn time_am_pm(arguments: &[Value]) -> Evaluated<Value> {
    let time: Option<LocalTime> = scan::am_pm(text(arguments, 0)?);
    let time = time.ok_or_else(|| {
        let shown = shown(arguments, 0);
        Fault::processing(format!("Invalid AM/PM time (expected hh:mm:ss AM/PM): {shown}."))
    })?;
    Ok(Value::Text(time.to_string().into()))
}

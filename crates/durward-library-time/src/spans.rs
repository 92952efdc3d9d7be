//! Functions that compare instants, add to them and measure between them.

use durward_functions::argument::{number, text};
use durward_functions::jvm;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::datatype::calendar::{Civil, civil_of, days_in_month};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::value::Debugged;

use super::instant::{BILLION, DAY_S, Instant, LocalDateTime, day_of};
use super::{instant_at, shown};

fn comparison(arguments: &[Value], holds: fn(Instant, Instant) -> bool) -> Evaluated<Value> {
    let (a, b) = (instant_at(arguments, 0)?, instant_at(arguments, 1)?);
    let wrong = || {
        let (a, b) = (shown(arguments, 0), shown(arguments, 1));
        Fault::processing(format!("Invalid timestamp(s) in comparison: {a}, {b}."))
    };
    Ok(Value::Boolean(holds(a.ok_or_else(wrong)?, b.ok_or_else(wrong)?)))
}

pub(super) fn before(arguments: &[Value]) -> Evaluated<Value> {
    comparison(arguments, |a, b| a < b)
}

pub(super) fn after(arguments: &[Value]) -> Evaluated<Value> {
    comparison(arguments, |a, b| a > b)
}

pub(super) fn between(arguments: &[Value]) -> Evaluated<Value> {
    let times = (instant_at(arguments, 0)?, instant_at(arguments, 1)?, instant_at(arguments, 2)?);
    let (Some(time), Some(start), Some(end)) = times else {
        let (time, start, end) = (shown(arguments, 0), shown(arguments, 1), shown(arguments, 2));
        let message = format!("Invalid timestamp(s) in range check: {time} in [{start}, {end}].");
        return Err(Fault::processing(message));
    };
    // Both ends belong to the interval, even when it ends before it starts.
    Ok(Value::Boolean(time == start || time == end || (start < time && time < end)))
}

pub(super) fn time_between(arguments: &[Value]) -> Evaluated<Value> {
    let unit = jvm::trim(text(arguments, 2)?).to_uppercase();
    let (from, to) = (instant_at(arguments, 0)?, instant_at(arguments, 1)?);
    let span = from.zip(to).and_then(|(from, to)| span(from, to, &unit));
    let span = span.ok_or_else(|| {
        let (from, to, unit) = (shown(arguments, 0), shown(arguments, 1), shown(arguments, 2));
        Fault::processing(format!("Invalid timestamps or chrono unit: {from}, {to}, {unit}."))
    });
    span.map(|span| Value::Number(Decimal::from(span)))
}

/// How many whole units lie between, as `ChronoUnit.between` counts them: up to days in the time that passes, from
/// weeks on in dates at UTC.
fn span(from: Instant, to: Instant, unit: &str) -> Option<i64> {
    let nanos = i128::from(to.second - from.second) * i128::from(BILLION) + i128::from(to.nano - from.nano);
    let day_nanos = i128::from(DAY_S) * i128::from(BILLION);
    let units = match unit {
        "NANOS" => nanos,
        "MICROS" => nanos / 1000,
        "MILLIS" => nanos / 1_000_000,
        "SECONDS" => nanos / i128::from(BILLION),
        "MINUTES" => nanos / (day_nanos / 1440),
        "HOURS" => nanos / (day_nanos / 24),
        "HALF_DAYS" => nanos / (day_nanos / 2),
        "DAYS" => nanos / day_nanos,
        "WEEKS" => i128::from((to.day()? - from.day()?) / 7),
        "MONTHS" => i128::from(months(from, to)?),
        "YEARS" => i128::from(months(from, to)? / 12),
        "DECADES" => i128::from(months(from, to)? / 120),
        "CENTURIES" => i128::from(months(from, to)? / 1200),
        "MILLENNIA" => i128::from(months(from, to)? / 12_000),
        "ERAS" => i128::from(era(to)? - era(from)?),
        _ => return None,
    };
    i64::try_from(units).ok()
}

/// 1 from the year 1 on, 0 before.
fn era(instant: Instant) -> Option<i64> {
    Some(i64::from(civil_of(instant.day()?).year >= 1))
}

/// Whole months from one date to another.
fn months(from: Instant, to: Instant) -> Option<i64> {
    let (from, to) = (civil_of(from.day()?), civil_of(to.day()?));
    let months = (to.year - from.year) * 12 + i64::from(to.month) - i64::from(from.month);
    Some(match months {
        1.. if to.day < from.day => months - 1,
        ..=-1 if to.day > from.day => months + 1,
        _ => months,
    })
}

/// Complete years and months from a birth to a day, as `Period.between` counts them.
pub(super) fn age_in_months(arguments: &[Value]) -> Evaluated<Value> {
    let dates = (instant_at(arguments, 0)?, instant_at(arguments, 1)?);
    let months = dates.0.zip(dates.1).and_then(|(birth, now)| months(birth, now));
    let months = months.ok_or_else(|| {
        let (birth, now) = (shown(arguments, 0), shown(arguments, 1));
        Fault::processing(format!("Invalid date(s): {birth}, {now}."))
    });
    months.map(|months| Value::Number(Decimal::from(months)))
}

pub(super) fn age_in_years(arguments: &[Value]) -> Evaluated<Value> {
    let Value::Number(months) = age_in_months(arguments)? else { return Ok(Value::Undefined) };
    Ok(Value::Number(Decimal::from(months.to_i64().unwrap_or_default() / 12)))
}

/// Adds the number, a whole one of 64 bits, of some unit to the instant.
fn shifted(arguments: &[Value], shift: fn(Instant, i64) -> Option<Instant>) -> Evaluated<Value> {
    let amount = number(arguments, 1)?;
    let start = instant_at(arguments, 0)?;
    let moved = start.zip(amount.to_i64()).and_then(|(instant, amount)| shift(instant, amount));
    let moved = moved.ok_or_else(|| {
        let start = shown(arguments, 0);
        Fault::processing(format!("Temporal arithmetic failed for {start} with amount {amount}."))
    })?;
    Ok(Value::Text(moved.to_string().into()))
}

pub(super) fn plus_days(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, days| instant.plus(days.checked_mul(DAY_S)?, 0))
}

pub(super) fn minus_days(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, days| instant.plus(days.checked_neg()?.checked_mul(DAY_S)?, 0))
}

pub(super) fn plus_seconds(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, seconds| instant.plus(seconds, 0))
}

pub(super) fn minus_seconds(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, seconds| instant.plus(seconds.checked_neg()?, 0))
}

pub(super) fn plus_millis(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, millis| instant.plus(millis / 1000, millis % 1000 * 1_000_000))
}

pub(super) fn minus_millis(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, millis| instant.plus(-(millis / 1000), -(millis % 1000 * 1_000_000)))
}

pub(super) fn plus_nanos(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, nanos| instant.plus(nanos / BILLION, nanos % BILLION))
}

pub(super) fn minus_nanos(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, nanos| instant.plus(-(nanos / BILLION), -(nanos % BILLION)))
}

pub(super) fn plus_months(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, plus_civil_months)
}

pub(super) fn minus_months(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, months| plus_civil_months(instant, months.checked_neg()?))
}

pub(super) fn plus_years(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, years| plus_civil_months(instant, years.checked_mul(12)?))
}

pub(super) fn minus_years(arguments: &[Value]) -> Evaluated<Value> {
    shifted(arguments, |instant, years| plus_civil_months(instant, years.checked_mul(-12)?))
}

/// The same time of day that many months later; a day that the month lacks becomes its last.
fn plus_civil_months(instant: Instant, months: i64) -> Option<Instant> {
    let local = LocalDateTime::at(instant, 0)?;
    let Civil { year, month, day } = civil_of(local.day);
    let count = year.checked_mul(12)?.checked_add(i64::from(month) - 1)?.checked_add(months)?;
    let (year, month) = (count.div_euclid(12), u32::try_from(count.rem_euclid(12)).ok()? + 1);
    // Years that no date has must not be computed with.
    if year.unsigned_abs() > super::instant::YEAR_MAX.unsigned_abs() {
        return None;
    }
    let day = day_of(Civil { year, month, day: day.min(days_in_month(year, month)) })?;
    LocalDateTime { day, ..local }.instant(0)
}

pub(super) fn epoch_second(arguments: &[Value]) -> Evaluated<Value> {
    let instant = super::timestamp(arguments)?;
    Ok(Value::Number(Decimal::from(instant.second)))
}

pub(super) fn epoch_milli(arguments: &[Value]) -> Evaluated<Value> {
    let instant = super::timestamp(arguments)?;
    let millis =
        instant.second.checked_mul(1000).and_then(|millis| millis.checked_add(instant.nano / 1_000_000));
    let millis = millis.ok_or_else(|| super::wrong_timestamp(arguments))?;
    Ok(Value::Number(Decimal::from(millis)))
}

pub(super) fn of_epoch_second(arguments: &[Value]) -> Evaluated<Value> {
    let seconds = number(arguments, 0)?;
    let instant = seconds
        .to_i64()
        .and_then(|seconds| Instant::of(seconds, 0))
        .ok_or_else(|| Fault::processing(format!("Invalid epoch seconds: {seconds}.")))?;
    Ok(Value::Text(instant.to_string().into()))
}

pub(super) fn of_epoch_milli(arguments: &[Value]) -> Evaluated<Value> {
    let instant = number(arguments, 0)?
        .to_i64()
        .and_then(|millis| Instant::of(millis.div_euclid(1000), millis.rem_euclid(1000) * 1_000_000))
        .ok_or_else(|| Fault::processing(format!("Invalid epoch milliseconds: {}.", shown(arguments, 0))))?;
    Ok(Value::Text(instant.to_string().into()))
}

/// How a fault shows an argument.
pub(super) fn show(value: &Value) -> String {
    Debugged(value).to_string()
}

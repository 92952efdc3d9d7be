//! Functions between the clocks of time zones and UTC.

use durward_functions::argument::text;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};

use super::instant::{AtOffset, Instant, LocalDateTime};
use super::zone::ZoneRules;
use super::{instant_at, scan, shown};

fn written(instant: Option<Instant>, wrong: impl FnOnce() -> String) -> Evaluated<Value> {
    let instant = instant.ok_or_else(|| Fault::processing(wrong()))?;
    Ok(Value::Text(instant.to_string().into()))
}

pub(super) fn local_iso(arguments: &[Value]) -> Evaluated<Value> {
    let instant = scan::local_date_time(text(arguments, 0)?).and_then(|local| local.instant(0));
    written(instant, || format!("Invalid local datetime: {}.", shown(arguments, 0)))
}

pub(super) fn local_din(arguments: &[Value]) -> Evaluated<Value> {
    let instant = scan::din(text(arguments, 0)?).and_then(|local| local.instant(0));
    written(instant, || {
        format!("Invalid DIN datetime (expected dd.MM.yyyy HH:mm:ss): {}.", shown(arguments, 0))
    })
}

pub(super) fn date_time_at_offset(arguments: &[Value]) -> Evaluated<Value> {
    let local = scan::local_date_time(text(arguments, 0)?);
    let offset = scan::offset_id(text(arguments, 1)?);
    let instant = local.zip(offset).and_then(|(local, offset)| local.instant(offset));
    // Java brings it to UTC as a date and time first, which must be one.
    let instant = instant.filter(|instant| instant.day().is_some());
    written(instant, || wrong_offset(arguments))
}

pub(super) fn date_time_at_zone(arguments: &[Value]) -> Evaluated<Value> {
    let local = scan::local_date_time(text(arguments, 0)?);
    let zone = ZoneRules::named(text(arguments, 1)?);
    let instant = local.zip(zone).and_then(|(local, zone)| zone.instant(local));
    let instant = instant.filter(|instant| instant.day().is_some());
    written(instant, || {
        let (time, zone) = (shown(arguments, 0), shown(arguments, 1));
        format!("Invalid timezone {zone} for datetime {time}.")
    })
}

fn wrong_offset(arguments: &[Value]) -> String {
    let (time, offset) = (shown(arguments, 0), shown(arguments, 1));
    format!("Invalid offset {offset} for datetime {time}.")
}

pub(super) fn offset_time(arguments: &[Value]) -> Evaluated<Value> {
    let time = scan::offset_time(text(arguments, 0)?)
        .ok_or_else(|| Fault::processing(format!("Invalid time: {}.", shown(arguments, 0))))?;
    Ok(Value::Text(time.0.shifted(-time.1).to_string().into()))
}

pub(super) fn time_at_offset(arguments: &[Value]) -> Evaluated<Value> {
    let time = scan::local_time(text(arguments, 0)?);
    let offset = scan::offset_id(text(arguments, 1)?);
    let Some((time, offset_s)) = time.zip(offset) else {
        let (time, offset) = (shown(arguments, 0), shown(arguments, 1));
        return Err(Fault::processing(format!("Invalid offset {offset} for time {time}.")));
    };
    Ok(Value::Text(time.shifted(-offset_s).to_string().into()))
}

pub(super) fn time_in_zone(arguments: &[Value]) -> Evaluated<Value> {
    let time = scan::local_time(text(arguments, 0)?);
    let day = scan::date(text(arguments, 1)?);
    let local = time.zip(day).map(|(time, day)| LocalDateTime { day, time });
    let zone = ZoneRules::named(text(arguments, 2)?);
    let instant = local.zip(zone).and_then(|(local, zone)| zone.instant(local));
    let Some(at_utc) = instant.and_then(|instant| LocalDateTime::at(instant, 0)) else {
        let (time, day, zone) = (shown(arguments, 0), shown(arguments, 1), shown(arguments, 2));
        return Err(Fault::processing(format!("Invalid timezone {zone} for time {time} on date {day}.")));
    };
    Ok(Value::Text(at_utc.time.to_string().into()))
}

pub(super) fn to_zone(arguments: &[Value]) -> Evaluated<Value> {
    let instant = instant_at(arguments, 0)?;
    let zone = ZoneRules::named(text(arguments, 1)?);
    let shown_there = instant.zip(zone).and_then(|(instant, zone)| {
        let offset_s = zone.offset_at(instant);
        Some(AtOffset(LocalDateTime::at(instant, offset_s)?, offset_s))
    });
    let shown_there = shown_there.ok_or_else(|| {
        let (time, zone) = (shown(arguments, 0), shown(arguments, 1));
        Fault::processing(format!("Invalid timezone {zone} for datetime {time}."))
    })?;
    Ok(Value::Text(shown_there.to_string().into()))
}

pub(super) fn to_offset(arguments: &[Value]) -> Evaluated<Value> {
    let instant = instant_at(arguments, 0)?;
    let offset = scan::offset_id(text(arguments, 1)?);
    let shown_there = instant
        .zip(offset)
        .and_then(|(instant, offset_s)| Some(AtOffset(LocalDateTime::at(instant, offset_s)?, offset_s)));
    let shown_there = shown_there.ok_or_else(|| Fault::processing(wrong_offset(arguments)))?;
    Ok(Value::Text(shown_there.to_string().into()))
}

/// The product must be a whole number of 64 bits, not the amount.
fn millis_of(arguments: &[Value], unit_ms: i64) -> Evaluated<Value> {
    let amount = durward_functions::argument::number(arguments, 0)?;
    let millis = Decimal::new(amount.unscaled() * unit_ms, amount.scale()).to_i64();
    let millis = millis
        .ok_or_else(|| Fault::processing(format!("Duration calculation overflowed for amount: {amount}.")))?;
    Ok(Value::Number(Decimal::from(millis)))
}

pub(super) fn duration_of_seconds(arguments: &[Value]) -> Evaluated<Value> {
    millis_of(arguments, 1000)
}

pub(super) fn duration_of_minutes(arguments: &[Value]) -> Evaluated<Value> {
    millis_of(arguments, 60_000)
}

pub(super) fn duration_of_hours(arguments: &[Value]) -> Evaluated<Value> {
    millis_of(arguments, 3_600_000)
}

pub(super) fn duration_of_days(arguments: &[Value]) -> Evaluated<Value> {
    millis_of(arguments, 86_400_000)
}

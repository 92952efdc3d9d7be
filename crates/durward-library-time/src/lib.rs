//! The library `time`: instants, dates, times, time zones and durations, as `java.time` has them.
//!
//! A time is a text: an instant (`2021-11-08T13:00:00Z`) or a date, which stands for its midnight at UTC. Durations are
//! milliseconds. Where no zone is named (`localIso`, `localDin`, a blank name, `timeBetween` from weeks on) it is UTC.

#![cfg_attr(test, allow(clippy::useless_vec, reason = "tests write arguments with one macro, few and many"))]
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "functions look for one or two kinds of value among two dozen; to them all others are alike, and none is a decision"
)]

mod calendar;
mod durations;
mod instant;
mod scan;
mod spans;
mod system_v;
#[cfg(test)]
mod tests;
mod zone;
mod zones;

use durward_functions::argument;
use durward_functions::table::row;
use durward_ir::Value;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};

use instant::Instant;

/// The instant of an argument; `None` when its text is not one.
fn instant_at(arguments: &[Value], at: usize) -> Evaluated<Option<Instant>> {
    Ok(Instant::read(argument::text(arguments, at)?))
}

/// The instant of the first argument.
fn timestamp(arguments: &[Value]) -> Evaluated<Instant> {
    instant_at(arguments, 0)?.ok_or_else(|| wrong_timestamp(arguments))
}

fn wrong_timestamp(arguments: &[Value]) -> Box<Fault> {
    Fault::processing(format!("Invalid timestamp: {}.", shown(arguments, 0)))
}

/// An argument as faults show it.
fn shown(arguments: &[Value], at: usize) -> String {
    arguments.get(at).map_or_else(String::new, spans::show)
}

/// Milliseconds since the epoch of an instant (`2021-11-08T13:00:00Z`), as `Date.from(Instant.parse(..))` has them, saturating; `None`
/// when the text is none.
pub fn millis_of_instant(text: &str) -> Option<i64> {
    let instant = scan::instant(text)?;
    Some(instant.second.saturating_mul(1000).saturating_add(instant.nano / 1_000_000))
}

/// A second since the epoch as `Instant.toString` writes it; an empty text for one beyond the billion years that Java has.
pub fn text_of_second(second: i64) -> String {
    Instant::of(second, 0).map_or_else(String::new, |instant| instant.to_string())
}

const TEXT: &[Parameter] = &[Parameter::Text];
const TWO_TEXTS: &[Parameter] = &[Parameter::Text, Parameter::Text];
const THREE_TEXTS: &[Parameter] = &[Parameter::Text, Parameter::Text, Parameter::Text];
const NUMBER: &[Parameter] = &[Parameter::Number];
const TEXT_AND_NUMBER: &[Parameter] = &[Parameter::Text, Parameter::Number];
const ANY: &[Parameter] = &[Parameter::Any];

/// The functions of the library `time`, overloads one by one.
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("time.after", TWO_TEXTS, spans::after, "Whether the first time is after the second."),
    row("time.ageInMonths", TWO_TEXTS, spans::age_in_months, "Whole months from a date of birth to a date."),
    row("time.ageInYears", TWO_TEXTS, spans::age_in_years, "Whole years from a date of birth to a date."),
    row("time.before", TWO_TEXTS, spans::before, "Whether the first time is before the second."),
    row(
        "time.between",
        THREE_TEXTS,
        spans::between,
        "Whether the first time lies between the second and the third, or is one of them.",
    ),
    row("time.dateOf", TEXT, calendar::date_of, "The date of a date and time, as written."),
    row(
        "time.dateTimeAtOffset",
        TWO_TEXTS,
        zones::date_time_at_offset,
        "The instant at which clocks of this offset (`+05:00`) show this date and time.",
    ),
    row(
        "time.dateTimeAtZone",
        TWO_TEXTS,
        zones::date_time_at_zone,
        "The instant at which clocks of this zone show this date and time; UTC for a blank name.",
    ),
    row("time.dayOfWeek", TEXT, calendar::day_of_week, "The weekday of a date and time: `MONDAY`."),
    row("time.dayOfYear", TEXT, calendar::day_of_year, "The day of the year of a date and time, from 1."),
    row(
        "time.durationFromISO",
        TEXT,
        durations::duration_from_iso,
        "The milliseconds of an ISO 8601 duration of exact units, or of years, months and days of average length.",
    ),
    row(
        "time.durationOfDays",
        NUMBER,
        zones::duration_of_days,
        "The milliseconds of so many days; an error unless they are whole.",
    ),
    row(
        "time.durationOfHours",
        NUMBER,
        zones::duration_of_hours,
        "The milliseconds of so many hours; an error unless they are whole.",
    ),
    row(
        "time.durationOfMinutes",
        NUMBER,
        zones::duration_of_minutes,
        "The milliseconds of so many minutes; an error unless they are whole.",
    ),
    row(
        "time.durationOfSeconds",
        NUMBER,
        zones::duration_of_seconds,
        "The milliseconds of so many seconds; an error unless they are whole.",
    ),
    row(
        "time.durationToISOCompact",
        NUMBER,
        durations::duration_to_iso_compact,
        "Milliseconds as an ISO 8601 duration of hours, minutes and seconds.",
    ),
    row(
        "time.durationToISOVerbose",
        NUMBER,
        durations::duration_to_iso_verbose,
        "Milliseconds as an ISO 8601 duration with years and months of average length.",
    ),
    row("time.endOfDay", TEXT, calendar::end_of_day, "The last instant of the day at UTC."),
    row("time.endOfMonth", TEXT, calendar::end_of_month, "The last instant of the month at UTC."),
    row("time.endOfWeek", TEXT, calendar::end_of_week, "The last instant of the week, a Sunday, at UTC."),
    row("time.endOfYear", TEXT, calendar::end_of_year, "The last instant of the year at UTC."),
    row("time.epochMilli", TEXT, spans::epoch_milli, "Milliseconds from 1970-01-01T00:00:00Z to a time."),
    row("time.epochSecond", TEXT, spans::epoch_second, "Seconds from 1970-01-01T00:00:00Z to a time."),
    row("time.hourOf", TEXT, calendar::hour_of, "The hour of a date and time, as written."),
    row(
        "time.localDin",
        TEXT,
        zones::local_din,
        "The instant of a date and time of DIN 1355 (`08.11.2021 13:00:00`) at UTC.",
    ),
    row("time.localIso", TEXT, zones::local_iso, "The instant of a date and time without a zone at UTC."),
    row("time.minusDays", TEXT_AND_NUMBER, spans::minus_days, "The time so many days earlier."),
    row("time.minusMillis", TEXT_AND_NUMBER, spans::minus_millis, "The time so many milliseconds earlier."),
    row("time.minusMonths", TEXT_AND_NUMBER, spans::minus_months, "The time so many months earlier."),
    row("time.minusNanos", TEXT_AND_NUMBER, spans::minus_nanos, "The time so many nanoseconds earlier."),
    row("time.minusSeconds", TEXT_AND_NUMBER, spans::minus_seconds, "The time so many seconds earlier."),
    row("time.minusYears", TEXT_AND_NUMBER, spans::minus_years, "The time so many years earlier."),
    row("time.minuteOf", TEXT, calendar::minute_of, "The minute of a date and time, as written."),
    row(
        "time.ofEpochMilli",
        NUMBER,
        spans::of_epoch_milli,
        "The time so many milliseconds after 1970 began.",
    ),
    row("time.ofEpochSecond", NUMBER, spans::of_epoch_second, "The time so many seconds after 1970 began."),
    row(
        "time.offsetDateTime",
        TEXT,
        calendar::offset_date_time,
        "The instant of a date and time with an offset; an error without one.",
    ),
    row("time.offsetTime", TEXT, zones::offset_time, "The time at UTC of a time of day with an offset."),
    row("time.plusDays", TEXT_AND_NUMBER, spans::plus_days, "The time so many days later."),
    row("time.plusMillis", TEXT_AND_NUMBER, spans::plus_millis, "The time so many milliseconds later."),
    row("time.plusMonths", TEXT_AND_NUMBER, spans::plus_months, "The time so many months later."),
    row("time.plusNanos", TEXT_AND_NUMBER, spans::plus_nanos, "The time so many nanoseconds later."),
    row("time.plusSeconds", TEXT_AND_NUMBER, spans::plus_seconds, "The time so many seconds later."),
    row("time.plusYears", TEXT_AND_NUMBER, spans::plus_years, "The time so many years later."),
    row("time.secondOf", TEXT, calendar::second_of, "The second of a date and time, as written."),
    row("time.startOfDay", TEXT, calendar::start_of_day, "The first instant of the day at UTC."),
    row("time.startOfMonth", TEXT, calendar::start_of_month, "The first instant of the month at UTC."),
    row(
        "time.startOfWeek",
        TEXT,
        calendar::start_of_week,
        "The first instant of the week, a Monday, at UTC.",
    ),
    row("time.startOfYear", TEXT, calendar::start_of_year, "The first instant of the year at UTC."),
    row("time.timeAMPM", TEXT, calendar::time_am_pm, "The time of day of a text like `08:12:35 PM`."),
    row(
        "time.timeAtOffset",
        TWO_TEXTS,
        zones::time_at_offset,
        "The time of day at UTC when clocks of this offset show this time.",
    ),
    row(
        "time.timeBetween",
        THREE_TEXTS,
        spans::time_between,
        "How many whole units (third, `NANOS` to `MILLENNIA`) lie between two times.",
    ),
    row(
        "time.timeInZone",
        THREE_TEXTS,
        zones::time_in_zone,
        "The time of day at UTC when clocks of a zone (third) show this time (first) on this date (second).",
    ),
    row(
        "time.timeOf",
        TEXT,
        calendar::time_of,
        "The time of day of a date and time, as written, to the second.",
    ),
    row("time.toOffset", TWO_TEXTS, zones::to_offset, "What clocks of this offset show at a time."),
    row("time.toZone", TWO_TEXTS, zones::to_zone, "What clocks of this zone show at a time."),
    row("time.truncateToDay", TEXT, calendar::start_of_day, "The first instant of the day at UTC."),
    row("time.truncateToHour", TEXT, calendar::truncate_to_hour, "The first instant of the hour at UTC."),
    row("time.truncateToMonth", TEXT, calendar::start_of_month, "The first instant of the month at UTC."),
    row(
        "time.truncateToWeek",
        TEXT,
        calendar::start_of_week,
        "The first instant of the week, a Monday, at UTC.",
    ),
    row("time.truncateToYear", TEXT, calendar::start_of_year, "The first instant of the year at UTC."),
    row(
        "time.validRFC3339",
        ANY,
        calendar::valid_rfc3339,
        "Whether a value is the text of a date and time with `Z` or an offset.",
    ),
    row("time.validUTC", ANY, calendar::valid_utc, "Whether a value is the text of an instant or a date."),
    row(
        "time.weekOfYear",
        TEXT,
        calendar::week_of_year,
        "The week of ISO 8601 of a date and time, from 1 to 53.",
    ),
];

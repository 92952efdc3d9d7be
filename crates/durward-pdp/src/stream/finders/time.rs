//! `time`: the attributes of the clock.
//!
//! Each says exactly when it changes next, so that nothing is polled but `time.now`, which is a poll by its meaning.
//! SAPL's engine compares with `after` when a stream begins and flips it when the moment comes: a stream that begins in
//! exactly that millisecond shows both values there. Here the moment itself counts as reached, always.

mod arguments;
mod calendar;

use durward_ir::fault::Evaluated;
use durward_ir::{Fault, Value};
use durward_sapl::check::Attribute;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use smol_str::SmolStr;

use super::or_error;
use crate::stream::finder::{Reading, TimedFinder};
use crate::stream::invocation::{Context, Invocation};
use arguments::{days, days_between, instant, local_time, milliseconds, months, months_between, text, zone};
use calendar::{Daily, daily, of_day, of_month};

/// How often `time.now` changes unless the policy says otherwise, in milliseconds.
const NOW_MS: i64 = 1_000;

/// The attributes of the library `time`.
#[derive(Clone, Debug)]
pub struct TimeFinder {
    /// What local times mean without a zone.
    zone: TimeZone,
    /// What `time.systemTimeZone` says.
    system_zone: SmolStr,
}

impl Default for TimeFinder {
    /// Local times are UTC, and the system's zone is called `UTC`.
    fn default() -> TimeFinder {
        TimeFinder { zone: TimeZone::UTC, system_zone: "UTC".into() }
    }
}

/// The attributes, and the numbers of arguments that they take.
const ATTRIBUTES: [(&str, [usize; 2]); 13] = [
    ("now", [0, 1]),
    ("systemTimeZone", [0, 0]),
    ("nowIsAfter", [1, 1]),
    ("nowIsBefore", [1, 1]),
    ("nowIsBetween", [2, 2]),
    ("localTimeIsAfter", [1, 2]),
    ("localTimeIsBefore", [1, 2]),
    ("localTimeIsBetween", [2, 3]),
    ("weekdayIn", [1, 2]),
    ("dayOfWeekBetween", [2, 3]),
    ("monthIn", [1, 2]),
    ("monthBetween", [2, 3]),
    ("toggle", [2, 2]),
];

/// For whoever checks policies.
pub(super) fn attributes() -> Vec<Attribute> {
    let attribute = |(name, [least, most]): (&str, [usize; 2])| Attribute {
        name: format!("time.{name}").into(),
        of_value: false,
        arguments: least..=most,
    };
    ATTRIBUTES.into_iter().map(attribute).collect()
}

impl TimeFinder {
    /// Local times without a zone are those of `zone`, such as `Europe/Berlin` or `+02:00`. SAPL's engine takes UTC.
    ///
    /// # Errors
    /// There is no such zone.
    pub fn in_zone(name: &str) -> Evaluated<TimeFinder> {
        Ok(TimeFinder { zone: zone(name)?, ..TimeFinder::default() })
    }

    /// `time.systemTimeZone` is this name.
    #[must_use]
    pub fn system_zone(self, name: &str) -> TimeFinder {
        TimeFinder { system_zone: name.into(), ..self }
    }

    fn try_read(&self, invocation: &Invocation, opened_ms: i64, now_ms: i64) -> Evaluated<Reading> {
        let name = invocation.name.strip_prefix("time.").unwrap_or_default();
        Ok(match (name, &*invocation.arguments) {
            ("now", []) => now(NOW_MS, opened_ms, now_ms),
            ("now", [interval]) => now(milliseconds(interval)?, opened_ms, now_ms),
            ("systemTimeZone", []) => Reading::lasting(Ok(Value::Text(self.system_zone.clone()))),
            ("nowIsAfter", [time]) => between(instant(time)?, i64::MAX, now_ms),
            ("nowIsBefore", [time]) => not(between(instant(time)?, i64::MAX, now_ms)),
            ("nowIsBetween", [start, end]) => between(instant(start)?, instant(end)?, now_ms),
            ("localTimeIsAfter", [time, zone @ ..]) => {
                daily(&Daily::after(local_time(time)?), &self.zone_of(zone)?, now_ms)
            }
            ("localTimeIsBefore", [time, zone @ ..]) => {
                not(daily(&Daily::after(local_time(time)?), &self.zone_of(zone)?, now_ms))
            }
            ("localTimeIsBetween", [start, end, zone @ ..]) => {
                let times = Daily::between(local_time(start)?, local_time(end)?);
                daily(&times, &self.zone_of(zone)?, now_ms)
            }
            ("weekdayIn", [names, zone @ ..]) => of_day(days(names)?, &self.zone_of(zone)?, now_ms),
            ("dayOfWeekBetween", [first, last, zone @ ..]) => {
                of_day(days_between(first, last)?, &self.zone_of(zone)?, now_ms)
            }
            ("monthIn", [names, zone @ ..]) => of_month(months(names)?, &self.zone_of(zone)?, now_ms),
            ("monthBetween", [first, last, zone @ ..]) => {
                of_month(months_between(first, last)?, &self.zone_of(zone)?, now_ms)
            }
            ("toggle", [on, off]) => toggle(milliseconds(on)?, milliseconds(off)?, opened_ms, now_ms),
            (_, arguments) => {
                let message = format!("`time.{name}` does not take {} arguments", arguments.len());
                return Err(Fault::processing(message));
            }
        })
    }

    fn zone_of(&self, argument: &[Value]) -> Evaluated<TimeZone> {
        match argument.first() {
            Some(name) => zone(text(name)?),
            None => Ok(self.zone.clone()),
        }
    }
}

impl TimedFinder for TimeFinder {
    fn serves(&self, invocation: &Invocation) -> bool {
        let Some(name) = invocation.name.strip_prefix("time.") else { return false };
        let attribute = ATTRIBUTES.iter().find(|(known, _)| *known == name);
        let count = invocation.arguments.len();
        invocation.entity.is_none()
            && attribute.is_some_and(|(_, [least, most])| (*least..=*most).contains(&count))
    }

    fn read(&self, invocation: &Invocation, _: &Context, opened_ms: i64, now_ms: i64) -> Reading {
        or_error(self.try_read(invocation, opened_ms, now_ms))
    }
}

/// The time in UTC, again after each interval.
fn now(interval_ms: i64, opened_ms: i64, now_ms: i64) -> Reading {
    let past = now_ms.saturating_sub(opened_ms).rem_euclid(interval_ms);
    let text = Timestamp::from_millisecond(now_ms).map(|now| Value::Text(now.to_string().into()));
    Reading {
        value: text.map_err(|error| Fault::processing(format!("the clock is off: {error}"))),
        next_ms: now_ms.checked_add(interval_ms - past),
    }
}

/// Whether the time lies between two moments, the first of them included.
fn between(start_ms: i64, end_ms: i64, now_ms: i64) -> Reading {
    let bounds = if start_ms < end_ms { [start_ms, end_ms] } else { [now_ms; 2] };
    let next_ms = bounds.into_iter().find(|bound| now_ms < *bound && *bound < i64::MAX);
    Reading { value: Ok(Value::Boolean((start_ms..end_ms).contains(&now_ms))), next_ms }
}

/// True and false in turn.
fn toggle(on_ms: i64, off_ms: i64, opened_ms: i64, now_ms: i64) -> Reading {
    let period = i128::from(on_ms) + i128::from(off_ms);
    let past = (i128::from(now_ms) - i128::from(opened_ms)).rem_euclid(period);
    let is_on = past < i128::from(on_ms);
    let left = if is_on { i128::from(on_ms) - past } else { period - past };
    Reading {
        value: Ok(Value::Boolean(is_on)),
        next_ms: i64::try_from(left).ok().and_then(|left| now_ms.checked_add(left)),
    }
}

fn not(reading: Reading) -> Reading {
    let value = reading.value.map(|value| Value::Boolean(!matches!(value, Value::Boolean(true))));
    Reading { value, ..reading }
}

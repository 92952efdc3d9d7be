//! Times of day, days and months in a time zone, and when they change.

use durward_ir::Value;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use super::arguments::Set;
use crate::stream::finder::Reading;

/// When to look again if the calendar ends, in milliseconds.
const LATER_MS: i64 = 3_600_000;

/// A stretch of every day, or the rest of it.
pub(super) struct Daily {
    start: Time,
    /// Not included; `None` is midnight.
    end: Option<Time>,
    /// Whether it is what lies outside.
    is_outside: bool,
}

impl Daily {
    /// From this time to midnight. From the last nanosecond of the day it is never, as in SAPL's engine.
    pub(super) fn after(start: Time) -> Daily {
        let end = (start == Time::MAX).then_some(start);
        Daily { start, end, is_outside: false }
    }

    /// From one time to another, over midnight if the first is the later; never, if they are equal. From the last
    /// nanosecond to midnight is always, as in SAPL's engine.
    pub(super) fn between(start: Time, end: Time) -> Daily {
        if (start, end) == (Time::MAX, Time::MIN) {
            return Daily { start: end, end: None, is_outside: false };
        }
        let is_outside = start > end;
        let (first, last) = if is_outside { (end, start) } else { (start, end) };
        Daily { start: first, end: (first == last || last != Time::MAX).then_some(last), is_outside }
    }

    fn holds(&self, time: Time) -> bool {
        let is_inside = self.start <= time && self.end.is_none_or(|end| time < end);
        is_inside != self.is_outside
    }
}

/// Whether the local time is within a stretch of the day. Clocks that are put forward or back may end it, so the
/// moment of that counts as one to look at.
pub(super) fn daily(daily: &Daily, zone: &TimeZone, now_ms: i64) -> Reading {
    read(zone, now_ms, |now| {
        let today = now.date();
        let tomorrow = today.saturating_add(1.day());
        let times = [Some(daily.start), daily.end, Some(Time::MIN)];
        let times = times.into_iter().flatten();
        let bounds = times.flat_map(|time| [today, tomorrow].map(|date| moment(date, time, zone)));
        let shift = zone.following(now.timestamp()).next().map(|shift| shift.timestamp());
        let next = bounds.flatten().chain(shift).filter(|bound| *bound > now.timestamp()).min();
        (daily.holds(now.time()), next)
    })
}

/// Whether the day of the week is one of these.
pub(super) fn of_day(days: Set, zone: &TimeZone, now_ms: i64) -> Reading {
    read(zone, now_ms, |now| {
        let today = now.date();
        let is_in = |date: Date| days >> date.weekday().to_monday_zero_offset() & 1 == 1;
        let later = (1..=7).map(|step| today.saturating_add(step.days()));
        (is_in(today), change(later, is_in(today), is_in, zone))
    })
}

/// Whether the month is one of these.
pub(super) fn of_month(months: Set, zone: &TimeZone, now_ms: i64) -> Reading {
    read(zone, now_ms, |now| {
        let first = now.date().first_of_month();
        let is_in = |date: Date| months >> (date.month() - 1) & 1 == 1;
        let later = (1..=12).map(|step| first.saturating_add(step.months()));
        (is_in(first), change(later, is_in(first), is_in, zone))
    })
}

/// The beginning of the first date for which the answer is another.
fn change(
    dates: impl Iterator<Item = Date>,
    is_now: bool,
    is_in: impl Fn(Date) -> bool,
    zone: &TimeZone,
) -> Option<Timestamp> {
    let mut others = dates.filter(|date| is_in(*date) != is_now);
    others.next().and_then(|date| moment(date, Time::MIN, zone))
}

/// A local time as a moment. One that clocks skip is as much later as they skip; one that comes twice is the first.
fn moment(date: Date, time: Time, zone: &TimeZone) -> Option<Timestamp> {
    date.to_datetime(time).to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp())
}

/// The answer for now, and when to look again: never, where it is the same for ever.
fn read(zone: &TimeZone, now_ms: i64, answer: impl Fn(&Zoned) -> (bool, Option<Timestamp>)) -> Reading {
    let Ok(now) = Timestamp::from_millisecond(now_ms) else {
        return Reading::lasting(Err(durward_ir::Fault::processing("the clock is off")));
    };
    let (is_so, next) = answer(&now.to_zoned(zone.clone()));
    // Rounded up: a moment counts as reached in the millisecond after it.
    let next = next.map(|next| next.as_millisecond() + i64::from(next.subsec_nanosecond() % 1_000_000 != 0));
    let next_ms = next.map(|next| if next > now_ms { next } else { now_ms.saturating_add(LATER_MS) });
    Reading { value: Ok(Value::Boolean(is_so)), next_ms }
}

//! `xs:time`, `xs:date` and `xs:dateTime`: points in time, with or without a time zone.
//!
//! Values keep the clock as written and its zone; comparison is by instant. Where a zone is missing,
//! [`IMPLICIT_ZONE`] stands in (XACML 3.0, A.3.8), so that every two values of a type can be compared.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::datatype::calendar::{Civil, civil_of, days_in_month, days_of};
use crate::datatype::duration::{DayTimeDuration, YearMonthDuration};
use crate::datatype::lexical::{Reader, number, write_fraction};
use crate::datatype::{Reason, calendar};

/// The furthest year, on either side. XML Schema asks for four digits; nine leave room for any arithmetic in
/// 64 bits.
pub const YEAR_MAX: i64 = 999_999_999;

/// The same limit on years counted astronomically, where 0 is the year before 1.
const YEARS: std::ops::RangeInclusive<i64> = 1 - YEAR_MAX..=YEAR_MAX;

/// The zone of values written without one. Always UTC: a decision must not depend on where the server stands.
pub const IMPLICIT_ZONE: Zone = Zone { minutes_east: 0 };

const NANOSECONDS: u64 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;
const DAY_NANOSECONDS: u64 = 86_400 * NANOSECONDS;
/// XML Schema part 2, 3.2.7.3: zones reach from -14:00 to +14:00.
const ZONE_MINUTES_MAX: i16 = 14 * 60;

/// A distance from UTC in whole minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    minutes_east: i16,
}

impl Zone {
    /// The zone so many minutes east of UTC, if it is within 14 hours.
    pub fn east(minutes: i16) -> Option<Zone> {
        (-ZONE_MINUTES_MAX..=ZONE_MINUTES_MAX).contains(&minutes).then_some(Zone { minutes_east: minutes })
    }

    fn seconds_east(self) -> i64 {
        i64::from(self.minutes_east) * 60
    }

    /// Reads `Z`, `+hh:mm`, `-hh:mm` or nothing, to the end of the text.
    fn parse(mut reader: Reader<'_>) -> Result<Option<Zone>, Reason> {
        const BROKEN: Reason = "a time zone is `Z` or such as `+02:00`, at most 14 hours";
        if reader.is_at_end() {
            return Ok(None);
        }
        let zone = Zone::parse_some(&mut reader).filter(|_| reader.is_at_end());
        zone.map(Some).ok_or(BROKEN)
    }

    fn parse_some(reader: &mut Reader<'_>) -> Option<Zone> {
        if reader.take(b'Z') {
            return Some(IMPLICIT_ZONE);
        }
        let sign = match (reader.take(b'+'), reader.take(b'-')) {
            (true, false) => 1,
            (false, true) => -1,
            (true, true) | (false, false) => return None,
        };
        let hours = reader.two()?;
        let minutes = reader.take(b':').then(|| reader.two())?.filter(|minutes| *minutes < 60)?;
        Zone::east(sign * i16::try_from(hours * 60 + minutes).ok()?)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.minutes_east == 0 {
            return f.write_str("Z");
        }
        let sign = if self.minutes_east < 0 { '-' } else { '+' };
        let minutes = self.minutes_east.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

fn seconds_east(zone: Option<Zone>) -> i64 {
    zone.unwrap_or(IMPLICIT_ZONE).seconds_east()
}

/// `xs:time`, with or without a time zone.
///
/// Compared as XPath's `op:time-equal` does, on one reference day: `08:00:00+09:00` is the evening before
/// `17:00:00-06:00` in UTC, hence not equal to it.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Since midnight on the clock of `zone`. INVARIANT: less than a day.
    nanoseconds: u64,
    zone: Option<Zone>,
}

impl Time {
    pub(crate) fn parse(text: &str) -> Result<Time, Reason> {
        let mut reader = Reader::new(text);
        let nanoseconds = parse_clock(&mut reader)?;
        // 24:00:00 is midnight (XML Schema part 2, 3.2.8).
        Ok(Time { nanoseconds: nanoseconds % DAY_NANOSECONDS, zone: Zone::parse(reader)? })
    }

    fn instant(&self) -> i128 {
        i128::from(self.nanoseconds) - i128::from(seconds_east(self.zone)) * i128::from(NANOSECONDS)
    }

    /// The same time of day on the clock of UTC, in nanoseconds since midnight, given the zone to assume.
    fn in_utc(&self, assumed: Zone) -> i128 {
        let east = i128::from(self.zone.unwrap_or(assumed).seconds_east()) * i128::from(NANOSECONDS);
        (i128::from(self.nanoseconds) - east).rem_euclid(i128::from(DAY_NANOSECONDS))
    }

    /// Whether this time lies between `low` and `high`, both included, where `high` is the first time of that
    /// name at or after `low`: a range may pass midnight. A bound without a zone takes this time's zone
    /// (XACML 3.0, A.3.8, `time-in-range`).
    pub fn is_in_range(&self, low: &Time, high: &Time) -> bool {
        let assumed = self.zone.unwrap_or(IMPLICIT_ZONE);
        let day = i128::from(DAY_NANOSECONDS);
        let low_utc = low.in_utc(assumed);
        let since_low = (self.in_utc(assumed) - low_utc).rem_euclid(day);
        let length = (high.in_utc(assumed) - low_utc).rem_euclid(day);
        since_low <= length
    }

    /// In UTC when it has a zone: the canonical form of XML Schema 1.0.
    pub fn canonical(&self) -> Time {
        let Some(zone) = self.zone else { return *self };
        let nanoseconds = u64::try_from(self.in_utc(zone)).unwrap_or_default();
        Time { nanoseconds, zone: Some(IMPLICIT_ZONE) }
    }
}

/// `xs:date`, with or without a time zone; compared by the instant its first second begins.
#[derive(Clone, Copy, Debug)]
pub struct Date {
    /// Since 1970-01-01. INVARIANT: within [`YEAR_MAX`].
    days: i64,
    zone: Option<Zone>,
}

impl Date {
    pub(crate) fn parse(text: &str) -> Result<Date, Reason> {
        let mut reader = Reader::new(text);
        let days = parse_day(&mut reader)?;
        Ok(Date { days, zone: Zone::parse(reader)? })
    }

    fn instant(&self) -> i64 {
        self.days * DAY_SECONDS - seconds_east(self.zone)
    }

    /// This date and so many months, the day cut to the length of the month reached (XML Schema part 2,
    /// appendix E); `None` beyond [`YEAR_MAX`].
    pub fn add_months(&self, duration: YearMonthDuration) -> Option<Date> {
        Some(Date { days: add_months(self.days, duration)?, zone: self.zone })
    }

    /// The canonical form of XML Schema 1.0 (part 2, 3.2.9.2): the date on which the middle of this day falls in
    /// UTC, with the zone that keeps the instant (from -11:59 to +12:00).
    pub fn canonical(&self) -> Date {
        let Some(zone) = self.zone else { return *self };
        let begins = self.days * DAY_SECONDS - zone.seconds_east();
        let days = (begins + DAY_SECONDS / 2).div_euclid(DAY_SECONDS);
        let minutes_east = i16::try_from((days * DAY_SECONDS - begins) / 60).unwrap_or_default();
        Date { days, zone: Some(Zone { minutes_east }) }
    }
}

/// `xs:dateTime`, with or without a time zone; compared by instant.
#[derive(Clone, Copy, Debug)]
pub struct DateTime {
    /// Since 1970-01-01T00:00:00 on the clock of `zone`. INVARIANT: within [`YEAR_MAX`].
    seconds: i64,
    nanoseconds: u32,
    zone: Option<Zone>,
}

impl DateTime {
    pub(crate) fn parse(text: &str) -> Result<DateTime, Reason> {
        let mut reader = Reader::new(text);
        let days = parse_day(&mut reader)?;
        if !reader.take(b'T') {
            return Err("a `T` must separate date and time");
        }
        let clock = parse_clock(&mut reader)?;
        let (seconds, nanoseconds) = split(clock);
        let seconds = within_years(days * DAY_SECONDS + seconds).ok_or("the year is too far away")?;
        Ok(DateTime { seconds, nanoseconds, zone: Zone::parse(reader)? })
    }

    /// The instant so many seconds after 1970-01-01T00:00:00Z, on the clock of `zone`; `None` beyond
    /// [`YEAR_MAX`] or with a billion nanoseconds and more.
    pub fn from_unix(seconds: i64, nanoseconds: u32, zone: Zone) -> Option<DateTime> {
        let seconds = within_years(seconds.checked_add(zone.seconds_east())?)?;
        (u64::from(nanoseconds) < NANOSECONDS).then_some(DateTime { seconds, nanoseconds, zone: Some(zone) })
    }

    /// The date part, in the same zone.
    pub fn date(&self) -> Date {
        Date { days: self.seconds.div_euclid(DAY_SECONDS), zone: self.zone }
    }

    /// The time part, in the same zone.
    pub fn time(&self) -> Time {
        let seconds = u64::try_from(self.seconds.rem_euclid(DAY_SECONDS)).unwrap_or_default();
        Time { nanoseconds: seconds * NANOSECONDS + u64::from(self.nanoseconds), zone: self.zone }
    }

    fn instant(&self) -> (i64, u32) {
        (self.seconds - seconds_east(self.zone), self.nanoseconds)
    }

    /// This instant and so much time; `None` beyond [`YEAR_MAX`].
    pub fn add(&self, duration: DayTimeDuration) -> Option<DateTime> {
        let nanoseconds = i64::from(self.nanoseconds) + i64::from(duration.subsecond_nanoseconds());
        let billion = NANOSECONDS.cast_signed();
        let carried = self.seconds.checked_add(duration.whole_seconds())?;
        let seconds = within_years(carried.checked_add(nanoseconds.div_euclid(billion))?)?;
        let nanoseconds = u32::try_from(nanoseconds.rem_euclid(billion)).ok()?;
        Some(DateTime { seconds, nanoseconds, zone: self.zone })
    }

    /// This instant and so many months, as [`Date::add_months`].
    pub fn add_months(&self, duration: YearMonthDuration) -> Option<DateTime> {
        let days = add_months(self.seconds.div_euclid(DAY_SECONDS), duration)?;
        let seconds = days * DAY_SECONDS + self.seconds.rem_euclid(DAY_SECONDS);
        Some(DateTime { seconds, ..*self })
    }

    /// In UTC when it has a zone: the canonical form of XML Schema 1.0.
    pub fn canonical(&self) -> DateTime {
        let Some(zone) = self.zone else { return *self };
        DateTime { seconds: self.seconds - zone.seconds_east(), zone: Some(IMPLICIT_ZONE), ..*self }
    }
}

fn split(clock: u64) -> (i64, u32) {
    let seconds = i64::try_from(clock / NANOSECONDS).unwrap_or_default();
    let nanoseconds = u32::try_from(clock % NANOSECONDS).unwrap_or_default();
    (seconds, nanoseconds)
}

fn within_years(seconds: i64) -> Option<i64> {
    let year = civil_of(seconds.div_euclid(DAY_SECONDS)).year;
    YEARS.contains(&year).then_some(seconds)
}

fn add_months(days: i64, duration: YearMonthDuration) -> Option<i64> {
    let from = civil_of(days);
    let months = from.year.checked_mul(12)?.checked_add(i64::from(from.month) - 1)?;
    let months = months.checked_add(duration.months())?;
    let year = months.div_euclid(12);
    if !YEARS.contains(&year) {
        return None;
    }
    let month = u32::try_from(months.rem_euclid(12)).ok()? + 1;
    let day = from.day.min(days_in_month(year, month));
    Some(days_of(Civil { year, month, day }))
}

/// Reads `-?yyyy+-mm-dd` as days since 1970-01-01.
fn parse_day(reader: &mut Reader<'_>) -> Result<i64, Reason> {
    const BROKEN: Reason = "a date is written such as `2024-02-29`";
    let before_common_era = reader.take(b'-');
    let digits = reader.digits();
    if digits.len() < 4 || (digits.len() > 4 && digits.first() == Some(&b'0')) {
        return Err(BROKEN);
    }
    let year = number(digits).filter(|year| *year <= YEAR_MAX).ok_or("the year is too far away")?;
    if year == 0 {
        return Err("there is no year 0000"); // XML Schema 1.0 part 2, 3.2.7.1
    }
    let year = if before_common_era { 1 - year } else { year };
    let month = reader.take(b'-').then(|| reader.two()).flatten().ok_or(BROKEN)?;
    let day = reader.take(b'-').then(|| reader.two()).flatten().ok_or(BROKEN)?;
    if !(1..=12).contains(&month) {
        return Err("there is no such month");
    }
    if !(1..=days_in_month(year, month)).contains(&day) {
        return Err("there is no such day");
    }
    Ok(days_of(Civil { year, month, day }))
}

/// Reads `hh:mm:ss(.s+)?` as nanoseconds since midnight; 24:00:00 is allowed and is a whole day.
fn parse_clock(reader: &mut Reader<'_>) -> Result<u64, Reason> {
    const BROKEN: Reason = "a time is written such as `23:59:59.5`";
    let hour = reader.two().ok_or(BROKEN)?;
    let minute = reader.take(b':').then(|| reader.two()).flatten().ok_or(BROKEN)?;
    let second = reader.take(b':').then(|| reader.two()).flatten().ok_or(BROKEN)?;
    let nanosecond = if reader.take(b'.') { reader.nanoseconds()? } else { 0 };
    let seconds = u64::from(hour * 3600 + minute * 60 + second);
    let nanoseconds = seconds * NANOSECONDS + u64::from(nanosecond);
    let is_clock = hour < 24 && minute < 60 && second < 60;
    if is_clock || (hour == 24 && nanoseconds == DAY_NANOSECONDS) {
        Ok(nanoseconds)
    } else {
        Err("there is no such time of day")
    }
}

/// Two values of a type are equal, ordered and hashed by their instants.
macro_rules! by_instant {
    ($($kind:ty),*) => { $(
        impl PartialEq for $kind {
            fn eq(&self, other: &Self) -> bool {
                self.instant() == other.instant()
            }
        }

        impl Eq for $kind {}

        impl PartialOrd for $kind {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $kind {
            fn cmp(&self, other: &Self) -> Ordering {
                self.instant().cmp(&other.instant())
            }
        }

        impl Hash for $kind {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.instant().hash(state);
            }
        }
    )* };
}

by_instant!(Time, Date, DateTime);

fn write_zone(f: &mut fmt::Formatter<'_>, zone: Option<Zone>) -> fmt::Result {
    zone.map_or(Ok(()), |zone| fmt::Display::fmt(&zone, f))
}

fn write_day(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let calendar::Civil { year, month, day } = civil_of(days);
    let (sign, year) = if year <= 0 { ("-", 1 - year) } else { ("", year) };
    write!(f, "{sign}{year:04}-{month:02}-{day:02}")
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanoseconds) = split(self.nanoseconds);
        write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        write_fraction(f, nanoseconds)?;
        write_zone(f, self.zone)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_day(f, self.days)?;
        write_zone(f, self.zone)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_day(f, self.seconds.div_euclid(DAY_SECONDS))?;
        f.write_str("T")?;
        self.time().fmt(f)
    }
}

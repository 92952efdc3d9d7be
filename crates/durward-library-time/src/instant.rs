//! Instants of `java.time`: a second and a billionth of it, over a billion years to either side.

use std::fmt::{self, Display, Write};

use durward_functions::jvm;
use durward_ir::datatype::calendar::{Civil, civil_of, days_of};

use super::scan;

pub(super) const DAY_S: i64 = 86_400;
pub(super) const BILLION: i64 = 1_000_000_000;

/// A moment. INVARIANT: `nano` is below a billion and `second` within [`SECOND_MIN`] and [`SECOND_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Instant {
    pub(super) second: i64,
    pub(super) nano: i64,
}

/// -1000000000-01-01T00:00:00Z, `Instant.MIN`.
const SECOND_MIN: i64 = -31_557_014_167_219_200;
/// The last second of the year +1000000000, that of `Instant.MAX`.
const SECOND_MAX: i64 = 31_556_889_864_403_199;

/// The years of `LocalDate` are this far from 0.
pub(super) const YEAR_MAX: i64 = 999_999_999;

impl Instant {
    /// The instant so many seconds and billionths after the epoch, if Java has it.
    pub(super) fn of(second: i64, nano: i64) -> Option<Instant> {
        let second = second.checked_add(nano.div_euclid(BILLION))?;
        let known = (SECOND_MIN..=SECOND_MAX).contains(&second);
        known.then_some(Instant { second, nano: nano.rem_euclid(BILLION) })
    }

    /// Reads an instant, or a date for its midnight at UTC, as every function of the library does.
    pub(super) fn read(text: &str) -> Option<Instant> {
        if jvm::is_blank(text) {
            return None;
        }
        scan::instant(text).or_else(|| {
            let day = scan::date(text)?;
            Instant::of(day * DAY_S, 0)
        })
    }

    /// Later by so many seconds and billionths.
    pub(super) fn plus(self, seconds: i64, nanos: i64) -> Option<Instant> {
        Instant::of(self.second.checked_add(seconds)?, self.nano.checked_add(nanos)?)
    }

    /// The day at UTC since the epoch, if `LocalDate` has it.
    pub(super) fn day(self) -> Option<i64> {
        let day = self.second.div_euclid(DAY_S);
        is_date(civil_of(day).year).then_some(day)
    }
}

/// Whether `LocalDate` has this year.
pub(super) const fn is_date(year: i64) -> bool {
    -YEAR_MAX <= year && year <= YEAR_MAX
}

/// A date and a time of no zone: days since the epoch and billionths of a second since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalDateTime {
    pub(super) day: i64,
    pub(super) time: LocalTime,
}

impl LocalDateTime {
    /// What a clock so many seconds ahead of UTC shows, if `LocalDateTime` has it.
    pub(super) fn at(instant: Instant, offset_s: i32) -> Option<LocalDateTime> {
        let second = instant.second + i64::from(offset_s);
        let day = second.div_euclid(DAY_S);
        let time = LocalTime { nanos: second.rem_euclid(DAY_S) * BILLION + instant.nano };
        is_date(civil_of(day).year).then_some(LocalDateTime { day, time })
    }

    /// The instant at which a clock so many seconds ahead of UTC shows this.
    pub(super) fn instant(self, offset_s: i32) -> Option<Instant> {
        Instant::of(self.day * DAY_S + self.time.second_of_day() - i64::from(offset_s), self.time.nano())
    }
}

/// A time of day. INVARIANT: less than a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LocalTime {
    pub(super) nanos: i64,
}

impl LocalTime {
    pub(super) const fn second_of_day(self) -> i64 {
        self.nanos / BILLION
    }

    pub(super) const fn hour(self) -> i64 {
        self.second_of_day() / 3600
    }

    pub(super) const fn minute(self) -> i64 {
        self.second_of_day() / 60 % 60
    }

    pub(super) const fn second(self) -> i64 {
        self.second_of_day() % 60
    }

    pub(super) const fn nano(self) -> i64 {
        self.nanos % BILLION
    }

    /// The time a clock so many seconds further ahead shows.
    pub(super) const fn shifted(self, seconds: i32) -> LocalTime {
        LocalTime { nanos: (self.nanos + seconds as i64 * BILLION).rem_euclid(DAY_S * BILLION) }
    }

    /// Without the fraction of its second.
    pub(super) const fn whole(self) -> LocalTime {
        LocalTime { nanos: self.nanos - self.nanos % BILLION }
    }
}

/// The instant at which a day begins at UTC.
pub(super) fn midnight(day: i64) -> Option<Instant> {
    Instant::of(day * DAY_S, 0)
}

/// The last instant of a day at UTC.
pub(super) fn last_of_day(day: i64) -> Option<Instant> {
    Instant::of(day * DAY_S + DAY_S - 1, BILLION - 1)
}

/// The days since the epoch of a date that must be in the calendar and in `LocalDate`.
pub(super) fn day_of(civil: Civil) -> Option<i64> {
    let days = days_of(civil);
    (is_date(civil.year) && civil_of(days) == civil).then_some(days)
}

/// A date as `LocalDate.toString` writes it.
pub(super) struct WrittenDate(pub(super) i64);

impl Display for WrittenDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day } = civil_of(self.0);
        let sign = match year {
            10_000.. => "+",
            0..10_000 => "",
            _ => "-",
        };
        write!(f, "{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
    }
}

impl Display for Instant {
    /// As `Instant.toString`: the fraction in groups of three digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = LocalTime { nanos: self.second.rem_euclid(DAY_S) * BILLION + self.nano };
        write!(f, "{}T", WrittenDate(self.second.div_euclid(DAY_S)))?;
        time.write_seconds(f)?;
        write_groups(self.nano, f)?;
        f.write_char('Z')
    }
}

impl Display for LocalTime {
    /// As `LocalTime.toString`: without its seconds when there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos % (60 * BILLION) == 0 {
            return write!(f, "{:02}:{:02}", self.hour(), self.minute());
        }
        self.write_seconds(f)?;
        write_groups(self.nano(), f)
    }
}

impl LocalTime {
    /// `HH:mm:ss`.
    pub(super) fn write_seconds(self, f: &mut impl Write) -> fmt::Result {
        write!(f, "{:02}:{:02}:{:02}", self.hour(), self.minute(), self.second())
    }
}

/// The fraction of a second with 3, 6 or 9 digits, or without any.
fn write_groups(nano: i64, f: &mut impl Write) -> fmt::Result {
    match nano {
        0 => Ok(()),
        _ if nano % 1_000_000 == 0 => write!(f, ".{:03}", nano / 1_000_000),
        _ if nano % 1000 == 0 => write!(f, ".{:06}", nano / 1000),
        _ => write!(f, ".{nano:09}"),
    }
}

/// A date and a time with the offset of their clock, as `DateTimeFormatter.ISO_OFFSET_DATE_TIME` writes them.
pub(super) struct AtOffset(pub(super) LocalDateTime, pub(super) i32);

impl Display for AtOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AtOffset(LocalDateTime { day, time }, offset_s) = self;
        write!(f, "{}T", WrittenDate(*day))?;
        time.write_seconds(f)?;
        if time.nano() > 0 {
            let digits = format!("{:09}", time.nano());
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        write_offset(*offset_s, f)
    }
}

/// An offset as `ZoneOffset.getId` has it.
fn write_offset(offset_s: i32, f: &mut impl Write) -> fmt::Result {
    if offset_s == 0 {
        return f.write_char('Z');
    }
    let sign = if offset_s < 0 { '-' } else { '+' };
    let seconds = offset_s.unsigned_abs();
    write!(f, "{sign}{:02}:{:02}", seconds / 3600, seconds / 60 % 60)?;
    match seconds % 60 {
        0 => Ok(()),
        rest => write!(f, ":{rest:02}"),
    }
}

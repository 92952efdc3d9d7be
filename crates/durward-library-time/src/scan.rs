//! The texts that the formatters of `java.time` take: ISO 8601 with Java's liberties, letter for letter.
//!
//! Everything gives `None` where Java throws. Text that is left over makes a text wrong.

use durward_ir::datatype::calendar::{Civil, days_in_month, days_of};

use super::instant::{BILLION, DAY_S, Instant, LocalDateTime, LocalTime, YEAR_MAX, day_of};
use super::zone;

/// What is left to read.
pub(super) struct TimeScanner<'a> {
    rest: &'a str,
}

/// The largest offset from UTC that Java has: 18 hours.
const OFFSET_S_MAX: i32 = 18 * 3600;

impl<'a> TimeScanner<'a> {
    pub(super) const fn new(text: &'a str) -> TimeScanner<'a> {
        TimeScanner { rest: text }
    }

    /// Takes this character, whatever its case.
    fn take(&mut self, wanted: char) -> Option<()> {
        let mut characters = self.rest.chars();
        let found = characters.next()?;
        found.eq_ignore_ascii_case(&wanted).then(|| self.rest = characters.as_str())
    }

    /// Takes as many digits as there are up to a number of them.
    fn digits(&mut self, least: usize, most: usize) -> Option<&'a str> {
        let count = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at_checked(count)?;
        (count >= least).then(|| {
            self.rest = rest;
            digits
        })
    }

    /// Takes a number of two digits.
    fn pair(&mut self, least: i64, most: i64) -> Option<i64> {
        let value = self.digits(2, 2)?.parse().ok()?;
        (least..=most).contains(&value).then_some(value)
    }

    /// Takes a year as `appendValue(YEAR, 4, digits_max, EXCEEDS_PAD)` does: of four digits without a plus sign, of
    /// more with one.
    fn year(&mut self, digits_max: usize) -> Option<i64> {
        let positive = self.take('+').is_some();
        let negative = !positive && self.take('-').is_some();
        let digits = self.digits(4, digits_max)?;
        let year: i64 = digits.parse().ok()?;
        if negative {
            return (year > 0).then_some(-year);
        }
        (positive == (digits.len() > 4)).then_some(year)
    }

    /// `yyyy-MM-dd`; the day need not be in the calendar.
    fn civil(&mut self) -> Option<Civil> {
        let year = self.year(10)?;
        self.take('-')?;
        let month = u32::try_from(self.pair(1, 12)?).ok()?;
        self.take('-')?;
        let day = u32::try_from(self.pair(1, 31)?).ok()?;
        Some(Civil { year, month, day })
    }

    /// The digits after the point of a second, as billionths.
    fn fraction(&mut self) -> Option<i64> {
        if self.take('.').is_none() {
            return Some(0);
        }
        let digits = self.digits(0, 9)?;
        format!("{digits:0<9}").parse().ok()
    }

    /// `HH:mm`, `HH:mm:ss` or `HH:mm:ss.SSS` (`ISO_LOCAL_TIME`).
    fn local_time(&mut self) -> Option<LocalTime> {
        let hour = self.pair(0, 23)?;
        self.take(':')?;
        let minute = self.pair(0, 59)?;
        let (mut second, mut nano) = (0, 0);
        if self.take(':').is_some() {
            second = self.pair(0, 59)?;
            nano = self.fraction()?;
        }
        Some(LocalTime { nanos: (hour * 3600 + minute * 60 + second) * BILLION + nano })
    }

    /// `yyyy-MM-ddTHH:mm:ss` (`ISO_LOCAL_DATE_TIME`).
    fn local(&mut self) -> Option<LocalDateTime> {
        let day = day_of(self.civil()?)?;
        self.take('T')?;
        Some(LocalDateTime { day, time: self.local_time()? })
    }

    /// `Z`, `+HH:mm` or `+HH:mm:ss`, in seconds (`appendOffsetId`).
    fn offset(&mut self) -> Option<i32> {
        if self.take('Z').is_some() {
            return Some(0);
        }
        let negative = self.take('-').is_some();
        if !negative {
            self.take('+')?;
        }
        let hours = self.pair(0, 23)?;
        self.take(':')?;
        let minutes = self.pair(0, 59)?;
        let seconds = if self.rest.starts_with(':') {
            self.take(':')?;
            self.pair(0, 59)?
        } else {
            0
        };
        let offset_s = i32::try_from(hours * 3600 + minutes * 60 + seconds).ok()?;
        (offset_s <= OFFSET_S_MAX).then_some(if negative { -offset_s } else { offset_s })
    }

    /// What was read, if nothing is left.
    fn all<T>(&self, read: T) -> Option<T> {
        self.rest.is_empty().then_some(read)
    }
}

/// `Instant.parse`: a date and a time to the second with an offset. It knows midnight as 24:00:00 and takes a leap
/// second for the one before it.
pub(super) fn instant(text: &str) -> Option<Instant> {
    let mut scan = TimeScanner::new(text);
    let civil = scan.civil()?;
    scan.take('T')?;
    let hour = scan.pair(0, 24)?;
    scan.take(':')?;
    let minute = scan.pair(0, 59)?;
    scan.take(':')?;
    let second = scan.pair(0, 60)?;
    let nano = scan.fraction()?;
    let offset_s = scan.offset()?;
    scan.all(())?;
    let second = match (hour, minute, second) {
        (24, 0, 0) if nano == 0 => 0,
        (24, _, _) => return None,
        (23, 59, 60) => 59,
        (_, _, 60) => return None,
        _ => second,
    };
    if civil.day > days_in_month(civil.year, civil.month) {
        return None;
    }
    let day = days_of(civil);
    let second_of_day = hour * 3600 + minute * 60 + second;
    Instant::of(day * DAY_S + second_of_day - i64::from(offset_s), nano)
}

/// `LocalDate.parse`: days since the epoch.
pub(super) fn date(text: &str) -> Option<i64> {
    let mut scan = TimeScanner::new(text);
    let civil = scan.civil()?;
    scan.all(day_of(civil)?)
}

/// A date and a time with the offset after them, if there is one (`ISO_DATE_TIME`). A zone in brackets must be known
/// and says nothing further.
pub(super) fn date_time(text: &str) -> Option<(LocalDateTime, Option<i32>)> {
    let mut scan = TimeScanner::new(text);
    let local = scan.local()?;
    if scan.rest.is_empty() {
        return Some((local, None));
    }
    let offset_s = scan.offset()?;
    if scan.take('[').is_some() {
        let (name, rest) = scan.rest.split_once(']')?;
        zone::ZoneRules::of(name)?;
        scan.rest = rest;
    }
    scan.all((local, Some(offset_s)))
}

/// A date and a time without an offset (`ISO_LOCAL_DATE_TIME`).
pub(super) fn local_date_time(text: &str) -> Option<LocalDateTime> {
    let mut scan = TimeScanner::new(text);
    let local = scan.local()?;
    scan.all(local)
}

/// A time without an offset (`ISO_LOCAL_TIME`).
pub(super) fn local_time(text: &str) -> Option<LocalTime> {
    let mut scan = TimeScanner::new(text);
    let time = scan.local_time()?;
    scan.all(time)
}

/// A time with an offset (`ISO_TIME`), in seconds.
pub(super) fn offset_time(text: &str) -> Option<(LocalTime, i32)> {
    let mut scan = TimeScanner::new(text);
    let time = scan.local_time()?;
    let offset_s = scan.offset()?;
    scan.all((time, offset_s))
}

/// `dd.MM.yyyy HH:mm:ss`. Days that a month lacks are its last, and 24:00:00 is the next midnight.
pub(super) fn din(text: &str) -> Option<LocalDateTime> {
    let mut scan = TimeScanner::new(text);
    let day = u32::try_from(scan.pair(1, 31)?).ok()?;
    scan.take('.')?;
    let month = u32::try_from(scan.pair(1, 12)?).ok()?;
    scan.take('.')?;
    let year = scan.year(19)?;
    scan.take(' ')?;
    let hour = scan.pair(0, 24)?;
    scan.take(':')?;
    let minute = scan.pair(0, 59)?;
    scan.take(':')?;
    let second = scan.pair(0, 59)?;
    scan.all(())?;
    if !(1..=YEAR_MAX).contains(&year) {
        return None;
    }
    let day = day_of(Civil { year, month, day: day.min(days_in_month(year, month)) })?;
    let next = i64::from(hour == 24);
    if next == 1 && (minute, second) != (0, 0) {
        return None;
    }
    let time = LocalTime { nanos: (hour % 24 * 3600 + minute * 60 + second) * BILLION };
    Some(LocalDateTime { day: day + next, time })
}

/// `hh:mm:ss AM`, in any case. Java takes 00 for 12.
pub(super) fn am_pm(text: &str) -> Option<LocalTime> {
    let mut scan = TimeScanner::new(text);
    let hour = scan.pair(0, 12)?;
    scan.take(':')?;
    let minute = scan.pair(0, 59)?;
    scan.take(':')?;
    let second = scan.pair(0, 59)?;
    scan.take(' ')?;
    let noon = scan.take('P').is_some();
    if !noon {
        scan.take('A')?;
    }
    scan.take('M')?;
    let hour = hour % 12 + if noon { 12 } else { 0 };
    scan.all(LocalTime { nanos: (hour * 3600 + minute * 60 + second) * BILLION })
}

/// `ZoneOffset.of`, in seconds.
pub(super) fn offset_id(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let mut scan = TimeScanner::new(text);
    let negative = scan.take('-').is_some();
    if !negative {
        scan.take('+')?;
    }
    let colon = |scan: &mut TimeScanner<'_>| scan.take(':');
    let none = |_: &mut TimeScanner<'_>| Some(());
    let (hours, minutes, seconds) = match scan.rest.len() {
        1 => (scan.digits(1, 1)?.parse().ok()?, 0, 0),
        2 => (scan.pair(0, 18)?, 0, 0),
        4 => parts(&mut scan, none, 2)?,
        5 => parts(&mut scan, colon, 2)?,
        6 => parts(&mut scan, none, 3)?,
        8 => parts(&mut scan, colon, 3)?,
        _ => return None,
    };
    let offset_s = i32::try_from(hours * 3600 + minutes * 60 + seconds).ok()?;
    (offset_s <= OFFSET_S_MAX).then_some(if negative { -offset_s } else { offset_s })
}

fn parts(
    scan: &mut TimeScanner<'_>,
    between: fn(&mut TimeScanner<'_>) -> Option<()>,
    count: usize,
) -> Option<(i64, i64, i64)> {
    let hours = scan.pair(0, 18)?;
    between(scan)?;
    let minutes = scan.pair(0, 59)?;
    let mut seconds = 0;
    if count == 3 {
        between(scan)?;
        seconds = scan.pair(0, 59)?;
    }
    Some((hours, minutes, seconds))
}

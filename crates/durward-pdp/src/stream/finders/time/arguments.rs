//! The arguments of `time` attributes.

use durward_ir::datatype::Decimal;
use durward_ir::fault::Evaluated;
use durward_ir::{Fault, Value};
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::{Offset, TimeZone};

/// The names of the days, from Monday.
const DAYS: [&str; 7] = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];

/// The names of the months.
const MONTHS: [&str; 12] = [
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];

/// The furthest that a zone may be from UTC, in seconds: 18 hours, as in Java.
const ZONE_OFFSET_S_MAX: i32 = 18 * 3_600;

/// A set of days or months: bit 0 is Monday or January.
pub(super) type Set = u16;

fn unfit(value: &Value, wanted: &str) -> Box<Fault> {
    let found = value.data_type();
    Fault::processing(format!("an argument that should be of type {wanted} is of type {found}"))
}

pub(super) fn text(value: &Value) -> Evaluated<&str> {
    if let Value::Text(text) = value { Ok(text) } else { Err(unfit(value, "text")) }
}

fn number(value: &Value) -> Evaluated<&Decimal> {
    if let Value::Number(number) = value { Ok(number) } else { Err(unfit(value, "number")) }
}

fn array(value: &Value) -> Evaluated<&[Value]> {
    if let Value::Array(values) = value { Ok(values) } else { Err(unfit(value, "array")) }
}

/// A number without what is behind its point.
fn whole(number: &Decimal) -> i64 {
    number.to_i64().unwrap_or(number.to_f64() as i64)
}

/// A time span in milliseconds, above 0.
pub(super) fn milliseconds(value: &Value) -> Evaluated<i64> {
    match whole(number(value)?) {
        0 => Err(Fault::processing("a time span of 0 ms would never end to change; write more than 0")),
        negative if negative < 0 => Err(Fault::processing(format!(
            "a time span cannot be negative, and {negative} ms is; write more than 0"
        ))),
        span => Ok(span),
    }
}

/// A moment such as `2026-03-01T12:00:00Z`, in milliseconds since 1970, rounded up.
pub(super) fn instant(value: &Value) -> Evaluated<i64> {
    let text = text(value)?;
    // The library reads more forms than Java's `Instant`: only `T` between date and time, seconds, a zone's offset.
    let (date, time) = text.split_once(['T', 't']).unwrap_or_default();
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_digit() || "+-:.,Zz".contains(c));
    let has_seconds = time.get(..8).is_some_and(|clock| clock.matches(':').count() == 2);
    let moment = text.parse::<Timestamp>().ok().filter(|_| is_plain(date) && is_plain(time) && has_seconds);
    let moment = moment.ok_or_else(|| {
        Fault::processing(format!("`{text}` is no moment; write one as `2026-03-01T12:00:00Z`"))
    })?;
    let milliseconds = moment.as_nanosecond().div_euclid(1_000_000)
        + i128::from(moment.as_nanosecond().rem_euclid(1_000_000) != 0);
    i64::try_from(milliseconds).map_err(|_| Fault::processing(format!("`{text}` is out of range")))
}

/// A time of day: `HH:mm`, `HH:mm:ss`, or that with up to nine digits of fractions.
pub(super) fn local_time(value: &Value) -> Evaluated<Time> {
    let text = text(value)?;
    read_time(text).ok_or_else(|| {
        Fault::processing(format!("`{text}` is no time of day; write one as `17:00` or `17:00:30`"))
    })
}

fn read_time(text: &str) -> Option<Time> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if clock.len() != 8 && clock.len() != text.len() || !(1..=9).contains(&fraction.len()) {
        return None;
    }
    let mut parts = clock.split(':').map(|part| digits(part).filter(|_| part.len() == 2));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let nanosecond = i32::try_from(digits(&format!("{fraction:0<9}"))?).ok()?;
    let small = |part: u32| i8::try_from(part).ok();
    let time = Time::new(small(hour)?, small(minute)?, small(second)?, nanosecond).ok()?;
    parts.next().is_none().then_some(time)
}

fn digits(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A time zone by the name that the IANA gave it, or by its distance from UTC, as Java's `ZoneId.of`.
pub(super) fn zone(name: &str) -> Evaluated<TimeZone> {
    let offset = ["UTC", "GMT", "UT"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let found = match offset {
        "" | "Z" => Some(TimeZone::UTC).filter(|_| !name.is_empty()),
        _ if offset.starts_with(['+', '-']) => read_offset(offset).map(TimeZone::fixed),
        _ => TimeZone::get(name).ok().filter(|zone| zone.iana_name() == Some(name)),
    };
    found.ok_or_else(|| {
        Fault::processing(format!("there is no time zone `{name}`; write one as `Europe/Berlin` or `+02:00`"))
    })
}

/// `+h`, `+hh`, `+hh:mm`, `+hhmm`, `+hh:mm:ss` or `+hhmmss`.
fn read_offset(text: &str) -> Option<Offset> {
    let (sign, rest) = text.split_at_checked(1)?;
    let plain: String = match rest.len() {
        1 => format!("0{rest}0000"),
        5 if rest.get(2..3) == Some(":") => format!("{}00", rest.replace(':', "")),
        8 if rest.get(2..3) == Some(":") && rest.get(5..6) == Some(":") => rest.replace(':', ""),
        2 | 4 | 6 => format!("{rest:0<6}"),
        _ => return None,
    };
    let part = |at: usize| digits(plain.get(at..at + 2)?).and_then(|part| i32::try_from(part).ok());
    let (hours, minutes, seconds) = (part(0)?, part(2)?, part(4)?);
    let distance = hours * 3_600 + minutes * 60 + seconds;
    if plain.len() != 6 || minutes > 59 || seconds > 59 || distance > ZONE_OFFSET_S_MAX {
        return None;
    }
    Offset::from_seconds(if sign == "-" { -distance } else { distance }).ok()
}

/// An array of the names of days.
pub(super) fn days(names: &Value) -> Evaluated<Set> {
    let names = array(names)?;
    if names.is_empty() {
        return Err(Fault::processing("the array of days is empty"));
    }
    names.iter().try_fold(0, |set, name| Ok(set | (1 << day(name)?)))
}

/// The days from one to another, over Sunday if need be.
pub(super) fn days_between(first: &Value, last: &Value) -> Evaluated<Set> {
    Ok(round(day(first)?, day(last)?, 7))
}

fn day(name: &Value) -> Evaluated<usize> {
    let name = text(name)?;
    let found = DAYS.iter().position(|day| day.eq_ignore_ascii_case(name));
    found.ok_or_else(|| Fault::processing(format!("`{name}` is no day of the week; write one as `MONDAY`")))
}

/// An array of the names or numbers of months.
pub(super) fn months(names: &Value) -> Evaluated<Set> {
    let names = array(names)?;
    if names.is_empty() {
        return Err(Fault::processing("the array of months is empty"));
    }
    names.iter().try_fold(0, |set, name| Ok(set | (1 << month(name)?)))
}

/// The months from one number to another, over December if need be.
pub(super) fn months_between(first: &Value, last: &Value) -> Evaluated<Set> {
    Ok(round(month_number(number(first)?)?, month_number(number(last)?)?, 12))
}

fn month(name: &Value) -> Evaluated<usize> {
    if let Value::Number(number) = name {
        return month_number(number);
    }
    let name = text(name)?;
    let found = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        Fault::processing(format!("`{name}` is no month; write one as `JANUARY` or a number from 1 to 12"))
    })
}

fn month_number(number: &Decimal) -> Evaluated<usize> {
    let found = usize::try_from(whole(number)).ok().filter(|number| (1..=12).contains(number));
    let wrong = || Fault::processing(format!("`{number}` is no month; write 1 to 12"));
    found.map(|number| number - 1).ok_or_else(wrong)
}

/// The places from one to another on a circle.
fn round(first: usize, last: usize, count: usize) -> Set {
    let span = (last + count - first) % count;
    (0..=span).fold(0, |set, step| set | (1 << ((first + step) % count)))
}

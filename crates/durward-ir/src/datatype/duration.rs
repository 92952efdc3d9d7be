//! `xs:dayTimeDuration` and `xs:yearMonthDuration`: lengths of time.

use std::fmt;

use crate::datatype::Reason;
use crate::datatype::lexical::{Reader, number, write_fraction};

const TOO_LONG: Reason = "the duration is too long";

/// `xs:dayTimeDuration`: a length in seconds, of either sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DayTimeDuration {
    seconds: i64,
    /// INVARIANT: less than a second, and of the sign of `seconds` or either when that is zero.
    nanoseconds: i32,
}

impl DayTimeDuration {
    /// Reads `-?P(nD)?(T(nH)?(nM)?(n(.n)?S)?)?` with at least one part, and one after `T` (XPath Datamodel,
    /// section 3.3.2.4). Parts may exceed their unit: `PT36H` is `P1DT12H`.
    pub(crate) fn parse(text: &str) -> Result<DayTimeDuration, Reason> {
        let mut reader = Reader::new(text);
        let negative = parse_head(&mut reader)?;
        let mut seconds = 0;
        let mut nanoseconds = 0;
        let mut units = [(b'D', 86_400), (b'H', 3600), (b'M', 60), (b'S', 1)].as_slice();
        let mut after_time_mark = false;
        let mut parts_since_mark = 0;
        while !reader.is_at_end() {
            if !after_time_mark && reader.take(b'T') {
                after_time_mark = true;
                parts_since_mark = 0;
                continue;
            }
            let digits = reader.digits();
            let fraction = if reader.take(b'.') { Some(reader.nanoseconds()?) } else { None };
            let unit = reader.peek().ok_or("")?;
            let at = units.iter().position(|(letter, _)| *letter == unit).ok_or("")?;
            let (_, length) = units.get(at).copied().ok_or("")?;
            let misplaced = after_time_mark == (unit == b'D') || (fraction.is_some() && unit != b'S');
            if digits.is_empty() || misplaced || !reader.take(unit) {
                return Err("");
            }
            units = units.get(at + 1..).unwrap_or_default();
            parts_since_mark += 1;
            nanoseconds = fraction.unwrap_or_default();
            seconds = add_part(seconds, digits, length).ok_or(TOO_LONG)?;
        }
        if parts_since_mark == 0 {
            return Err("at least one part must follow `P`, and one must follow `T`");
        }
        Ok(DayTimeDuration::signed(negative, seconds, nanoseconds))
    }

    fn signed(negative: bool, seconds: i64, nanoseconds: u32) -> DayTimeDuration {
        let nanoseconds = nanoseconds.cast_signed(); // less than a second fits
        if negative {
            DayTimeDuration { seconds: -seconds, nanoseconds: -nanoseconds }
        } else {
            DayTimeDuration { seconds, nanoseconds }
        }
    }

    /// The length without its fraction of a second, cut towards zero.
    pub fn whole_seconds(self) -> i64 {
        self.seconds
    }

    /// The fraction of a second that [`DayTimeDuration::whole_seconds`] leaves out, with its sign.
    pub fn subsecond_nanoseconds(self) -> i32 {
        self.nanoseconds
    }

    /// The same length the other way; `None` for the one length that has no opposite in 64 bits.
    pub fn negate(self) -> Option<DayTimeDuration> {
        Some(DayTimeDuration { seconds: self.seconds.checked_neg()?, nanoseconds: -self.nanoseconds })
    }
}

/// `xs:yearMonthDuration`: a number of months, of either sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct YearMonthDuration {
    months: i64,
}

impl YearMonthDuration {
    /// Reads `-?P(nY)?(nM)?` with at least one part.
    pub(crate) fn parse(text: &str) -> Result<YearMonthDuration, Reason> {
        let mut reader = Reader::new(text);
        let negative = parse_head(&mut reader)?;
        let mut months = 0;
        let mut parts = 0;
        for (letter, length) in [(b'Y', 12), (b'M', 1)] {
            let mut ahead = reader;
            let digits = ahead.digits();
            if !digits.is_empty() && ahead.take(letter) {
                months = add_part(months, digits, length).ok_or(TOO_LONG)?;
                parts += 1;
                reader = ahead;
            }
        }
        match parts > 0 && reader.is_at_end() {
            true => Ok(YearMonthDuration { months: if negative { -months } else { months } }),
            false => Err(""),
        }
    }

    /// The length in months.
    pub fn months(self) -> i64 {
        self.months
    }

    /// The same length the other way; `None` for the one length that has no opposite in 64 bits.
    pub fn negate(self) -> Option<YearMonthDuration> {
        Some(YearMonthDuration { months: self.months.checked_neg()? })
    }
}

/// Reads `-?P`; the answer is whether the sign was there.
fn parse_head(reader: &mut Reader<'_>) -> Result<bool, Reason> {
    let negative = reader.take(b'-');
    if reader.take(b'P') { Ok(negative) } else { Err("a duration begins with `P` or `-P`") }
}

fn add_part(sum: i64, digits: &[u8], length: i64) -> Option<i64> {
    sum.checked_add(number(digits)?.checked_mul(length)?)
}

/// The canonical form of XPath and XQuery Functions and Operators, section 10.2: parts within their units, none
/// that is zero, `PT0S` for nothing.
impl fmt::Display for DayTimeDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds.unsigned_abs();
        let nanoseconds = self.nanoseconds.unsigned_abs();
        if seconds == 0 && nanoseconds == 0 {
            return f.write_str("PT0S");
        }
        f.write_str(if self.seconds < 0 || self.nanoseconds < 0 { "-P" } else { "P" })?;
        if seconds >= 86_400 {
            write!(f, "{}D", seconds / 86_400)?;
        }
        if !seconds.is_multiple_of(86_400) || nanoseconds > 0 {
            f.write_str("T")?;
        }
        for (count, letter) in [(seconds / 3600 % 24, 'H'), (seconds / 60 % 60, 'M')] {
            if count > 0 {
                write!(f, "{count}{letter}")?;
            }
        }
        if !seconds.is_multiple_of(60) || nanoseconds > 0 {
            write!(f, "{}", seconds % 60)?;
            write_fraction(f, nanoseconds)?;
            f.write_str("S")?;
        }
        Ok(())
    }
}

/// The canonical form: months below twelve, no part that is zero, `P0M` for nothing.
impl fmt::Display for YearMonthDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let months = self.months.unsigned_abs();
        if months == 0 {
            return f.write_str("P0M");
        }
        f.write_str(if self.months < 0 { "-P" } else { "P" })?;
        for (count, letter) in [(months / 12, 'Y'), (months % 12, 'M')] {
            if count > 0 {
                write!(f, "{count}{letter}")?;
            }
        }
        Ok(())
    }
}

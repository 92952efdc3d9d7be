//! The proleptic Gregorian calendar as numbers: days to year-month-day and back.
//!
//! Years are counted astronomically (0 is 1 BCE) so that arithmetic needs no exception; XML Schema 1.0, which
//! has no year 0000, is honoured where text is read and written.

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year, counted astronomically: 0 is 1 BCE.
    pub year: i64,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
}

const DAYS_PER_ERA: i64 = 146_097;
const YEARS_PER_ERA: i64 = 400;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// Days since 1970-01-01. Years are counted from March, so that the leap day is a year's last; the calendar
/// repeats every 400 years (an era).
pub fn days_of(civil: Civil) -> i64 {
    let year = if civil.month <= 2 { civil.year - 1 } else { civil.year };
    let era = year.div_euclid(YEARS_PER_ERA);
    let year_of_era = year.rem_euclid(YEARS_PER_ERA);
    let month_from_march = i64::from((civil.month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(civil.day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - EPOCH_DAYS
}

/// The inverse of [`days_of`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "months and days are 1..=31")]
pub fn civil_of(days: i64) -> Civil {
    let shifted = days + EPOCH_DAYS;
    let era = shifted.div_euclid(DAYS_PER_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * YEARS_PER_ERA + i64::from(month <= 2);
    Civil { year, month: month as u32, day: day as u32 }
}

/// The number of days of a month.
pub fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Whether a year has 366 days.
pub const fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

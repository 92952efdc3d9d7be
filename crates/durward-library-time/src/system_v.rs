//! The zones `SystemV/EST5EDT` and the like, which Java has kept and the database of zones has not: summer time from 1900
//! on, from the last Sunday of April to that of October but for the two years of the oil crisis.

use durward_ir::datatype::calendar::{Civil, civil_of, days_in_month, days_of};

use super::instant::{DAY_S, Instant, LocalDateTime};

const HOUR_S: i64 = 3600;

/// The first year with summer time.
const FIRST_YEAR: i64 = 1900;

/// Names behind `SystemV/`, how many hours behind UTC their clocks are in winter, and whether they have summer time.
const NAMES: &[(&str, i32, bool)] = &[
    ("AST4", 4, false),
    ("AST4ADT", 4, true),
    ("CST6", 6, false),
    ("CST6CDT", 6, true),
    ("EST5", 5, false),
    ("EST5EDT", 5, true),
    ("HST10", 10, false),
    ("MST7", 7, false),
    ("MST7MDT", 7, true),
    ("PST8", 8, false),
    ("PST8PDT", 8, true),
    ("YST9", 9, false),
    ("YST9YDT", 9, true),
];

/// A zone of this family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SystemVZone {
    standard_s: i32,
    has_summer: bool,
}

impl SystemVZone {
    /// The zone of a whole name.
    pub(super) fn of(name: &str) -> Option<SystemVZone> {
        let name = name.strip_prefix("SystemV/")?;
        let (_, hours, has_summer) = NAMES.iter().find(|(known, _, _)| *known == name)?;
        Some(SystemVZone { standard_s: -hours * 3600, has_summer: *has_summer })
    }

    /// How many seconds its clocks are ahead of UTC at an instant.
    pub(super) fn offset_at(self, instant: Instant) -> i32 {
        let second = instant.second + i64::from(self.standard_s);
        let (first, last) = summer(civil_of(second.div_euclid(DAY_S)).year);
        // Summer ends at two on its own clocks, which is one in winter.
        self.offset((first * DAY_S + 2 * HOUR_S..last * DAY_S + HOUR_S).contains(&second))
    }

    /// The same when its clocks show this: what they skip is winter, what they show twice is summer.
    pub(super) fn offset_of(self, local: LocalDateTime) -> i32 {
        let second = local.day * DAY_S + local.time.second_of_day();
        let (first, last) = summer(civil_of(local.day).year);
        self.offset((first * DAY_S + 3 * HOUR_S..last * DAY_S + 2 * HOUR_S).contains(&second))
    }

    const fn offset(self, is_summer: bool) -> i32 {
        if self.has_summer && is_summer { self.standard_s + 3600 } else { self.standard_s }
    }
}

/// The days on which summer begins and ends in a year; one before the other where there is none.
fn summer(year: i64) -> (i64, i64) {
    match year {
        ..FIRST_YEAR => (0, -1),
        1974 => (days_of(Civil { year, month: 1, day: 6 }), last_sunday(year, 11)),
        1975 => (days_of(Civil { year, month: 2, day: 23 }), last_sunday(year, 10)),
        _ => (last_sunday(year, 4), last_sunday(year, 10)),
    }
}

fn last_sunday(year: i64, month: u32) -> i64 {
    let last = days_of(Civil { year, month, day: days_in_month(year, month) });
    // 1970-01-01 was a Thursday.
    last - (last + 4).rem_euclid(7)
}

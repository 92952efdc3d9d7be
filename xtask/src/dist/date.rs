//! Seconds since 1970 as dates, in UTC: the programs named `date` differ between systems.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// As RFC 3339 has it: `2026-01-31T14:00:00Z`.
pub(crate) fn rfc_3339(time: u64) -> String {
    let (year, month, day) = civil(time / DAY_S);
    format!("{year:04}-{:02}-{day:02}T{}Z", month + 1, clock(time))
}

/// As mails and changelogs of Debian have it: `Sat, 31 Jan 2026 14:00:00 +0000`.
pub(crate) fn rfc_2822(time: u64) -> String {
    let (year, month, day) = civil(time / DAY_S);
    let name = |names: &[&'static str], at: u64| {
        usize::try_from(at).ok().and_then(|at| names.get(at)).copied().unwrap_or_default()
    };
    let weekday = name(&DAYS, time / DAY_S % 7);
    format!("{weekday}, {day:02} {} {year:04} {} +0000", name(&MONTHS, month), clock(time))
}

const DAY_S: u64 = 86_400;

fn clock(time: u64) -> String {
    let second = time % DAY_S;
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// Year, month from 0 on, and day of a day since 1970.
fn civil(mut day: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let mut year = 1970;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 0;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let known = [
            (0, "1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 +0000"),
            (951_782_400, "2000-02-29T00:00:00Z", "Tue, 29 Feb 2000 00:00:00 +0000"),
            (1_769_868_001, "2026-01-31T14:00:01Z", "Sat, 31 Jan 2026 14:00:01 +0000"),
            (1_798_761_599, "2026-12-31T23:59:59Z", "Thu, 31 Dec 2026 23:59:59 +0000"),
            (4_107_542_400, "2100-03-01T00:00:00Z", "Mon, 01 Mar 2100 00:00:00 +0000"),
        ];
        for (time, date, mail) in known {
            assert_eq!((rfc_3339(time).as_str(), rfc_2822(time).as_str()), (date, mail));
        }
    }
}

//! Time zones by their names. The rules of the IANA database are compiled into the binary, so that a policy means the
//! same on every machine.

use durward_functions::jvm;
use durward_ir::datatype::calendar::civil_of;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use super::instant::{DAY_S, Instant, LocalDateTime};
use super::scan;
use super::system_v::SystemVZone;

/// A fixed offset from UTC in seconds, or the rules of a region.
#[derive(Clone, Debug)]
pub(super) enum ZoneRules {
    /// So many seconds ahead of UTC.
    Offset(i32),
    /// A region such as `Europe/Berlin`.
    Region(TimeZone),
    /// Rules that only Java has.
    SystemV(SystemVZone),
}

/// The names of three letters that `ZoneId.SHORT_IDS` has.
const SHORT: &[(&str, &str)] = &[
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("EST", "America/Panama"),
    ("HST", "Pacific/Honolulu"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("MST", "America/Phoenix"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

/// Names that Java reads as those of other zones.
const LINKS: &[(&str, &str)] = &[
    ("CST6CDT", "America/Chicago"),
    ("EST5EDT", "America/New_York"),
    ("MST7MDT", "America/Denver"),
    ("PST8PDT", "America/Los_Angeles"),
];

/// Names of the database that Java does not have.
const UNKNOWN: &[&str] = &["EST", "Factory", "HST", "MST", "ROC"];

/// Rules repeat with the calendar, so a year far from now is looked up as one of these 400.
const REPEATED_FROM_YEAR: i64 = 9000;
/// Before this year nothing changes.
const FIRST_YEAR: i64 = -9000;
const ERA_YEARS: i64 = 400;
const ERA_DAYS: i64 = 146_097;

impl ZoneRules {
    /// The zone of a name as policies write it: with blanks around it, of three letters, or as `ZoneId.of` takes it. No
    /// name is UTC: a policy decision point of Java takes its machine's zone, which would make decisions depend on it.
    pub(super) fn named(text: &str) -> Option<ZoneRules> {
        let name = jvm::trim(text);
        if jvm::is_blank(name) {
            return Some(ZoneRules::Offset(0));
        }
        match SHORT.iter().find(|(short, _)| *short == name) {
            Some((_, long)) => ZoneRules::of(long),
            None => ZoneRules::of(name),
        }
    }

    /// `ZoneId.of`: an offset, one behind `UTC`, `GMT` or `UT`, or a region, with the case of its letters.
    pub(super) fn of(name: &str) -> Option<ZoneRules> {
        if name.len() <= 1 || name.starts_with(['+', '-']) {
            return scan::offset_id(name).map(ZoneRules::Offset);
        }
        for prefix in ["UTC", "GMT", "UT"] {
            match name.strip_prefix(prefix) {
                Some("") => return Some(ZoneRules::Offset(0)),
                Some(offset) if offset.starts_with(['+', '-']) => {
                    return scan::offset_id(offset).map(ZoneRules::Offset);
                }
                Some(_) | None => {}
            }
        }
        if let Some(zone) = SystemVZone::of(name) {
            return Some(ZoneRules::SystemV(zone));
        }
        if UNKNOWN.contains(&name) {
            return None;
        }
        let name = LINKS.iter().find(|(link, _)| *link == name).map_or(name, |(_, target)| target);
        let region = TimeZoneDatabase::bundled().get(name).ok()?;
        // Java's names are in exact letters.
        (region.iana_name() == Some(name)).then_some(ZoneRules::Region(region))
    }

    /// How many seconds the zone is ahead of UTC at an instant.
    pub(super) fn offset_at(&self, instant: Instant) -> i32 {
        match self {
            ZoneRules::Offset(offset_s) => *offset_s,
            ZoneRules::SystemV(zone) => zone.offset_at(instant),
            ZoneRules::Region(region) => {
                let day = near(instant.second.div_euclid(DAY_S));
                let second = day * DAY_S + instant.second.rem_euclid(DAY_S);
                let known = Timestamp::from_second(second).map(|at| region.to_offset(at).seconds());
                known.unwrap_or(0)
            }
        }
    }

    /// The instant at which the zone's clocks show this. What they skip is as far after the gap as it was in it; of what
    /// they show twice the first time counts.
    pub(super) fn instant(&self, local: LocalDateTime) -> Option<Instant> {
        local.instant(self.offset_of(local)?)
    }

    fn offset_of(&self, local: LocalDateTime) -> Option<i32> {
        let region = match self {
            ZoneRules::Offset(offset_s) => return Some(*offset_s),
            ZoneRules::SystemV(zone) => return Some(zone.offset_of(local)),
            ZoneRules::Region(region) => region,
        };
        let civil = civil_of(near(local.day));
        let time = local.time;
        let at = DateTime::new(
            i16::try_from(civil.year).ok()?,
            i8::try_from(civil.month).ok()?,
            i8::try_from(civil.day).ok()?,
            i8::try_from(time.hour()).ok()?,
            i8::try_from(time.minute()).ok()?,
            i8::try_from(time.second()).ok()?,
            i32::try_from(time.nano()).ok()?,
        );
        let offset = match region.to_ambiguous_timestamp(at.ok()?).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
        };
        Some(offset.seconds())
    }
}

/// A day whose rules are the same, within the years that the database is asked about.
fn near(day: i64) -> i64 {
    let civil = civil_of(day);
    if civil.year >= REPEATED_FROM_YEAR {
        day - (civil.year - REPEATED_FROM_YEAR) / ERA_YEARS * ERA_DAYS
    } else if civil.year < FIRST_YEAR {
        day + (FIRST_YEAR - civil.year + ERA_YEARS) / ERA_YEARS * ERA_DAYS
    } else {
        day
    }
}

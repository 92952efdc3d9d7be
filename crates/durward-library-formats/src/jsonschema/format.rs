//! `format`, which is a condition up to Draft 7. Later drafts take it for a note.
//!
//! Dates, times, addresses and pointers are those of the Java engine's validator. Of mail addresses, host names in Unicode and
//! URIs only the form is looked at: the engine knows all top-level domains.

use std::net::Ipv6Addr;

use durward_ir::fault::Evaluated;

use super::pattern::SchemaPattern;

/// A format with the words its violations have.
#[derive(Clone, Debug)]
pub(super) struct FormatChecker {
    pub(super) name: &'static str,
    pub(super) words: &'static str,
    check: FormatFn,
}

#[derive(Clone, Debug)]
enum FormatFn {
    Pattern(SchemaPattern),
    Of(fn(&str) -> bool),
}

/// Formats that are regular expressions, and what is said of a text that does not match.
const PATTERNS: [(&str, &str, &str); 19] = [
    (
        "hostname",
        " must be a valid RFC 1123 host name",
        r"^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9\-]{0,61}[a-zA-Z0-9]))*\z",
    ),
    (
        "ipv4",
        " must be a valid RFC 2673 IP address",
        r"^((\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\.){3}(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\z",
    ),
    ("json-pointer", " must be a valid RFC 6901 JSON Pointer", r"^(/([^/#~]|~(?=[01]))*)*\z"),
    (
        "relative-json-pointer",
        " must be a valid IETF Relative JSON Pointer",
        r"^(0|([1-9]\d*))(#|(/([^/#~]|~(?=[01]))*)*)\z",
    ),
    ("uuid", " must be a valid RFC 4122 UUID", r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\z"),
    (
        "duration",
        " must be a valid ISO 8601 duration",
        r"^P(?!\z)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?\z",
    ),
    (
        "email",
        " must be a valid RFC 5321 Mailbox",
        r"^[^\s@<>()\[\],;:\\]+@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}\z",
    ),
    ("idn-email", " must be a valid RFC 6531 Mailbox", r"^[^\s@]+@[^\s@]+\z"),
    (
        "idn-hostname",
        " must be a valid RFC 5890 internationalized hostname",
        r"^[\p{L}\p{N}]([\p{L}\p{N}\p{M}.-]*[\p{L}\p{N}\p{M}])?\z",
    ),
    (
        "uri",
        " must be a valid RFC 3986 URI",
        r#"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`\x00-\x1F\x7F-\x{10FFFF}]+\z"#,
    ),
    (
        "uri-reference",
        " must be a valid RFC 3986 URI-reference",
        r#"^[^\s<>"{}|\\^`\x00-\x1F\x7F-\x{10FFFF}]*\z"#,
    ),
    ("iri", " must be a valid RFC 3987 IRI", r#"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`\x00-\x1F]+\z"#),
    ("iri-reference", " must be a valid RFC 3987 IRI-reference", r#"^[^\s<>"{}|\\^`\x00-\x1F]*\z"#),
    ("alpha", "", r"^[a-zA-Z]+\z"),
    ("alphanumeric", "", r"^[a-zA-Z0-9]+\z"),
    ("ip-address", "", r"^((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)\z"),
    ("phone", "", r"^\+([0-9] ?){6,14}[0-9]\z"),
    ("style", "", r"^\s*(.+?):\s*([^;]+);?\z"),
    ("utc-millisec", "", r"^[0-9]+(\.?[0-9]+)?\z"),
];

/// A format, what is said of texts that are not of it, and whether a text is.
type NamedFormat = (&'static str, &'static str, fn(&str) -> bool);

/// The others.
const CHECKS: [NamedFormat; 4] = [
    ("date", " must be a valid RFC 3339 full-date", is_date),
    ("time", " must be a valid RFC 3339 time", is_time),
    ("date-time", " must be a valid RFC 3339 date-time", is_date_time),
    ("ipv6", " must be a valid RFC 4291 IP address", |text| text.parse::<Ipv6Addr>().is_ok()),
];

/// The format with this name; `None` of one that is not known, which says nothing.
pub(super) fn named(name: &str) -> Evaluated<Option<FormatChecker>> {
    if let Some((name, words, check)) = CHECKS.into_iter().find(|(known, ..)| *known == name) {
        return Ok(Some(FormatChecker { name, words, check: FormatFn::Of(check) }));
    }
    let Some((name, words, regex)) = PATTERNS.into_iter().find(|(known, ..)| *known == name) else {
        return Ok(None);
    };
    let check = FormatFn::Pattern(SchemaPattern::compile(regex)?);
    Ok(Some(FormatChecker { name, words, check }))
}

impl FormatChecker {
    /// Whether a text has it.
    ///
    /// # Errors
    /// A search goes back too often.
    pub(super) fn matches(&self, text: &str) -> Evaluated<bool> {
        match &self.check {
            FormatFn::Pattern(pattern) => pattern.is_found(text),
            FormatFn::Of(check) => Ok(check(text)),
        }
    }
}

/// A number of exactly so many digits, and what stands behind it.
fn digits(text: &str, count: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, rest))
}

fn date(text: &str) -> Option<&str> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(is_leap),
        _ => return None,
    };
    (1..=days).contains(&day).then_some(rest)
}

/// A time with its offset; a leap second only where it is one.
fn time(text: &str) -> Option<&str> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (second, mut rest) = digits(rest.strip_prefix(':')?, 2)?;
    if let Some(fraction) = rest.strip_prefix('.') {
        let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
        rest = fraction.get(end..).filter(|_| (1..=9).contains(&end))?;
    }
    let (offset, rest) = offset(rest)?;
    let utc = (i64::from(hour * 60 + minute) - offset).rem_euclid(24 * 60);
    let is_usual = hour <= 23 && minute <= 59 && second <= 59;
    (is_usual || hour <= 23 && minute <= 59 && second == 60 && utc == 24 * 60 - 1).then_some(rest)
}

/// In minutes.
fn offset(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some((0, rest));
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, rest) = digits(text.strip_prefix(['+', '-'])?, 2)?;
    let (minutes, rest) = digits(rest.strip_prefix(':')?, 2)?;
    (hours <= 23 && minutes <= 59).then_some((sign * i64::from(hours * 60 + minutes), rest))
}

fn is_date(text: &str) -> bool {
    date(text) == Some("")
}

fn is_time(text: &str) -> bool {
    time(text) == Some("")
}

fn is_date_time(text: &str) -> bool {
    let rest = date(text).and_then(|rest| rest.strip_prefix(['T', 't', ' ']));
    rest.and_then(time) == Some("")
}

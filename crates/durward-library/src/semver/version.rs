//! Semantic versions as semver4j, the library of the Java engine, reads and orders them.

use std::cmp::Ordering;
use std::fmt;

use durward_functions::jvm;

/// The longest text that is read as a version or a range. Comparing pre-releases takes time quadratic in it.
pub(super) const LENGTH_MAX: usize = 4096;

/// A version. Its numbers are Java's `int`s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SemverVersion {
    pub(super) major: i32,
    pub(super) minor: i32,
    pub(super) patch: i32,
    pub(super) pre_release: Vec<String>,
    pub(super) build: Vec<String>,
}

/// What stands for an identifier that a shorter pre-release lacks; an identifier may be this word, too.
const MISSING: &str = "undef";

impl SemverVersion {
    /// Reads a version, with blanks around it and a `v` before it if there are.
    ///
    /// # Errors
    /// The message semver4j has for it.
    pub(super) fn read(text: &str) -> Result<SemverVersion, String> {
        let text = jvm::trim(text);
        if text.len() > LENGTH_MAX {
            return Err(format!("Version is longer than {LENGTH_MAX} characters."));
        }
        SemverVersion::strict(text.strip_prefix('v').unwrap_or(text))
            .ok_or_else(|| format!("Version [{text}] is not valid semver."))?
            .into_version()
    }

    fn strict(text: &str) -> Option<VersionParts<'_>> {
        let (text, build) = match text.split_once('+') {
            Some((text, build)) => (text, Some(build)),
            None => (text, None),
        };
        let (main, pre_release) = match text.split_once('-') {
            Some((main, pre_release)) => (main, Some(pre_release)),
            None => (text, None),
        };
        let mut numbers = main.split('.');
        let parts = VersionParts {
            numbers: [numbers.next()?, numbers.next()?, numbers.next()?],
            pre_release: identifiers(pre_release, is_pre_release)?,
            build: identifiers(build, is_build)?,
        };
        (numbers.next().is_none() && parts.numbers.iter().copied().all(is_numeric)).then_some(parts)
    }

    /// Whether it has a major number above zero and no pre-release.
    pub(super) fn is_stable(&self) -> bool {
        self.major > 0 && self.pre_release.is_empty()
    }

    /// Below zero, zero or above zero as this version is before, beside or after the other; `None` where Java fails, as
    /// a number is beyond 64 bits.
    pub(super) fn compare(&self, other: &SemverVersion) -> Option<i64> {
        let main = (self.major, self.minor, self.patch).cmp(&(other.major, other.minor, other.patch));
        match (main, self.pre_release.is_empty(), other.pre_release.is_empty()) {
            (Ordering::Equal, false, false) => compare_pre_releases(&self.pre_release, &other.pre_release),
            (Ordering::Equal, none, no_other) => Some(sign(none.cmp(&no_other))),
            (main, ..) => Some(sign(main)),
        }
    }
}

impl fmt::Display for SemverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre_release.is_empty() {
            write!(f, "-{}", self.pre_release.join("."))?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build.join("."))?;
        }
        Ok(())
    }
}

struct VersionParts<'a> {
    numbers: [&'a str; 3],
    pre_release: Vec<String>,
    build: Vec<String>,
}

impl VersionParts<'_> {
    fn into_version(self) -> Result<SemverVersion, String> {
        let number = |text: &str| text.parse().map_err(|_| format!("Value [{text}] is too big."));
        let [major, minor, patch] = self.numbers;
        Ok(SemverVersion {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            pre_release: self.pre_release,
            build: self.build,
        })
    }
}

/// The identifiers between dots; none where there is no text.
fn identifiers(text: Option<&str>, is_one: fn(&str) -> bool) -> Option<Vec<String>> {
    let Some(text) = text else { return Some(Vec::new()) };
    text.split('.').map(|identifier| is_one(identifier).then(|| identifier.to_owned())).collect()
}

/// A number without zeros before it.
pub(super) fn is_numeric(text: &str) -> bool {
    is_digits(text) && (text.len() == 1 || !text.starts_with('0'))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn is_build(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

pub(super) fn is_pre_release(text: &str) -> bool {
    is_build(text) && (!is_digits(text) || is_numeric(text))
}

const fn sign(order: Ordering) -> i64 {
    match order {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }
}

fn compare_pre_releases(these: &[String], others: &[String]) -> Option<i64> {
    let at = |list: &[String], at: usize| list.get(at).map_or(MISSING, String::as_str).to_owned();
    for place in 0..these.len().max(others.len()) {
        let (a, b) = (at(these, place), at(others, place));
        match (a.as_str(), b.as_str()) {
            (MISSING, MISSING) => return Some(0),
            (_, MISSING) => return Some(1),
            (MISSING, _) => return Some(-1),
            (a, b) if a == b => {}
            (a, b) => return compare_identifiers(a, b),
        }
    }
    Some(0)
}

/// Numbers are compared as such, and so are numbers behind equal letters; everything else as texts.
fn compare_identifiers(a: &str, b: &str) -> Option<i64> {
    let (mut a, mut b) = (a, b);
    loop {
        if is_digits(a) && is_digits(b) {
            let (a, b): (i64, i64) = (a.parse().ok()?, b.parse().ok()?);
            return Some(sign(a.cmp(&b)));
        }
        let has_digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
        if !has_digit(a) || !has_digit(b) {
            return Some(sign(a.cmp(b)));
        }
        let (tokens, others) = (digits_start(a), digits_start(b));
        if tokens.len() != others.len() {
            return difference(tokens.len(), others.len());
        }
        let ([first, second, ..], [other_first, other_second, ..]) = (tokens.as_slice(), others.as_slice())
        else {
            return Some(sign(a.cmp(b)));
        };
        if first != other_first {
            return Some(sign(a.cmp(b)));
        }
        let ((digits, parts), (other_digits, other_parts)) = (digits_end(second), digits_end(other_second));
        let (number, other): (i64, i64) = (digits.parse().ok()?, other_digits.parse().ok()?);
        if number != other {
            return Some(sign(number.cmp(&other)));
        }
        if parts != other_parts {
            return difference(parts, other_parts);
        }
        // One character behind where these digits are found first, not behind all of them.
        a = a.get(a.find(digits)? + 1..)?;
        b = b.get(b.find(other_digits)? + 1..)?;
    }
}

fn difference(a: usize, b: usize) -> Option<i64> {
    Some(i64::try_from(a).ok()? - i64::try_from(b).ok()?)
}

/// The text cut before each digit that has something else before it.
fn digits_start(text: &str) -> Vec<&str> {
    cut(text, |before, after| !before.is_ascii_digit() && after.is_ascii_digit())
}

/// The leading digits, and into how many parts the text is cut behind digits.
fn digits_end(text: &str) -> (&str, usize) {
    let parts = cut(text, |before, after| before.is_ascii_digit() && !after.is_ascii_digit());
    (parts.first().copied().unwrap_or(text), parts.len())
}

fn cut(text: &str, between: fn(u8, u8) -> bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, pair) in text.as_bytes().windows(2).enumerate() {
        if let [before, after] = pair
            && between(*before, *after)
        {
            parts.extend(text.get(start..=at));
            start = at + 1;
        }
    }
    parts.extend(text.get(start..));
    parts
}

/// The version a text is about: the first number in it with up to two further ones behind points.
pub(super) fn coerce(text: &str) -> Option<SemverVersion> {
    if let Ok(version) = SemverVersion::read(text) {
        return Some(version);
    }
    let mut rest = text;
    loop {
        rest = rest.get(rest.find(|character: char| character.is_ascii_digit())?..)?;
        let (first, behind) = leading_number(rest);
        let Some(major) = first else {
            rest = behind;
            continue;
        };
        let mut numbers = [major, "0", "0"];
        let mut behind = behind;
        for number in numbers.iter_mut().skip(1) {
            let Some((Some(next), further)) = behind.strip_prefix('.').map(leading_number) else { break };
            (*number, behind) = (next, further);
        }
        return SemverVersion::read(&numbers.join(".")).ok();
    }
}

/// The number a text starts with, without zeros before it, if it has 1 to 16 digits; and what is behind it.
fn leading_number(text: &str) -> (Option<&str>, &str) {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, behind) = text.split_at_checked(count).unwrap_or((text, ""));
    let significant = digits.trim_start_matches('0');
    let number = match significant.len() {
        0 if digits.is_empty() => None,
        0 => Some("0"),
        1..=16 => Some(significant),
        _ => None,
    };
    (number, behind)
}

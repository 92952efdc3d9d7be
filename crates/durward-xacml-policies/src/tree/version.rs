//! Versions of policies, and the patterns by which references choose among them (XACML 3.0, sections 5.12, 5.13).

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Most numbers in one version or pattern: real ones have two to four; the bound keeps comparing cheap.
const VERSION_NUMBERS_MAX: usize = 32;

/// The version of a policy or policy set: numbers separated by dots, compared number by number, so that
/// `1.10` is newer than `1.9`, and `1.0` is newer than `1` (it has more numbers).
///
/// ```
/// use durward_xacml_policies::tree::Version;
/// let (old, new): (Version, Version) = ("1.9".parse().unwrap(), "1.10".parse().unwrap());
/// assert!(old < new);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(Box<[u64]>);

/// A pattern for versions: `*` stands for any one number, `+` (only at the end) for one or more numbers.
///
/// ```
/// use durward_xacml_policies::tree::{Version, VersionPattern};
/// let version: Version = "1.2.3".parse().unwrap();
/// for pattern in ["1.2.3", "1.*.3", "1.2.*", "1.+"] {
///     assert!(pattern.parse::<VersionPattern>().unwrap().matches(&version));
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct VersionPattern(Box<[PatternPart]>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum PatternPart {
    Number(u64),
    AnyNumber,
    AnyNumbers,
}

/// Why a text is no version, or no version pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionError {
    /// Not of the form the schema asks for.
    Form,
    /// A number above 2^64 - 1, or more than 32 numbers.
    TooLarge,
}

impl Version {
    /// 1.0: the version of a policy for which none is given, where that is allowed (XACML 2.0).
    pub fn one_zero() -> Version {
        Version(Box::new([1, 0]))
    }
}

impl VersionPattern {
    /// Whether the pattern covers this version.
    pub fn matches(&self, version: &Version) -> bool {
        self.compare(version) == Ordering::Equal
    }

    /// Whether this pattern, written as `EarliestVersion`, accepts the version: it matches or is newer.
    pub fn accepts_as_earliest(&self, version: &Version) -> bool {
        self.compare(version) != Ordering::Less
    }

    /// Whether this pattern, written as `LatestVersion`, accepts the version: it matches or is older.
    pub fn accepts_as_latest(&self, version: &Version) -> bool {
        self.compare(version) != Ordering::Greater
    }

    /// Where the version stands relative to the pattern: older (`Less`), covered (`Equal`) or newer (`Greater`).
    fn compare(&self, version: &Version) -> Ordering {
        let mut numbers = version.0.iter();
        for part in &self.0 {
            let Some(number) = numbers.next() else { return Ordering::Less };
            match part {
                PatternPart::Number(wanted) if number == wanted => {}
                PatternPart::Number(wanted) => return number.cmp(wanted),
                PatternPart::AnyNumber => {}
                PatternPart::AnyNumbers => return Ordering::Equal,
            }
        }
        if numbers.next().is_some() { Ordering::Greater } else { Ordering::Equal }
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Version, VersionError> {
        Ok(Version(split(text)?.map(number).collect::<Result<_, _>>()?))
    }
}

impl FromStr for VersionPattern {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<VersionPattern, VersionError> {
        let parts = split(text)?.map(|part| match part {
            "*" => Ok(PatternPart::AnyNumber),
            "+" => Ok(PatternPart::AnyNumbers),
            digits => number(digits).map(PatternPart::Number),
        });
        let parts = parts.collect::<Result<Box<[_]>, _>>()?;
        let plus_is_last = parts.iter().rev().skip(1).all(|part| *part != PatternPart::AnyNumbers);
        if plus_is_last { Ok(VersionPattern(parts)) } else { Err(VersionError::Form) }
    }
}

fn split(text: &str) -> Result<impl Iterator<Item = &str>, VersionError> {
    let dots = text.bytes().filter(|byte| *byte == b'.').count();
    if dots < VERSION_NUMBERS_MAX { Ok(text.split('.')) } else { Err(VersionError::TooLarge) }
}

fn number(digits: &str) -> Result<u64, VersionError> {
    // `parse` alone would take a leading plus sign.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(VersionError::Form);
    }
    digits.parse().map_err(|_| VersionError::TooLarge)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            write!(f, "{dot}{number}")?;
        }
        Ok(())
    }
}

impl fmt::Display for VersionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "." })?;
            match part {
                PatternPart::Number(number) => write!(f, "{number}")?,
                PatternPart::AnyNumber => f.write_str("*")?,
                PatternPart::AnyNumbers => f.write_str("+")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({self})")
    }
}

impl fmt::Debug for VersionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VersionPattern({self})")
    }
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            VersionError::Form => "not numbers separated by dots",
            VersionError::TooLarge => "too large a version: at most 32 numbers, each below 2^64",
        })
    }
}

impl std::error::Error for VersionError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn pattern(text: &str) -> VersionPattern {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_ordered_by_number_and_not_by_text() {
        let ordered = ["0", "0.1", "1", "1.0", "1.0.0", "1.2", "1.9", "1.10", "2", "10"];
        for (index, older) in ordered.iter().enumerate() {
            for newer in ordered.iter().skip(index + 1) {
                assert!(version(older) < version(newer), "{older} < {newer}");
            }
        }
        assert_eq!(version("01.002"), version("1.2"));
    }

    #[test]
    fn only_the_forms_of_the_schema_are_read() {
        for bad in ["", ".", "1.", ".1", "1..2", "a", "1.a", "-1", "+1", " 1", "1 ", "*", "1.*"] {
            assert_eq!(bad.parse::<Version>(), Err(VersionError::Form), "{bad}");
        }
        for bad in ["", ".", "1.", "+.1", "1.+.2", "**", "1.**", "1.+2"] {
            assert_eq!(bad.parse::<VersionPattern>(), Err(VersionError::Form), "{bad}");
        }
        assert_eq!("99999999999999999999".parse::<Version>(), Err(VersionError::TooLarge));
        assert_eq!("1.".repeat(40).parse::<Version>(), Err(VersionError::TooLarge));
    }

    #[test]
    fn a_star_is_one_number_and_a_plus_is_one_or_more() {
        for (text, yes, no) in [
            ("1.2", vec!["1.2"], vec!["1", "1.3", "1.2.0"]),
            ("1.*", vec!["1.0", "1.7"], vec!["1", "2.0", "1.0.0"]),
            ("1.*.3", vec!["1.2.3"], vec!["1.2", "1.2.4"]),
            ("1.+", vec!["1.0", "1.2.3"], vec!["1", "2.0"]),
            ("+", vec!["1", "1.2.3"], vec![]),
        ] {
            assert!(yes.iter().all(|one| pattern(text).matches(&version(one))), "{text} {yes:?}");
            assert!(!no.iter().any(|one| pattern(text).matches(&version(one))), "{text} {no:?}");
        }
    }

    #[test]
    fn earliest_and_latest_are_inclusive_bounds() {
        for (text, older, covered, newer) in
            [("1.5", "1.4.9", "1.5", "1.5.1"), ("1.*", "0.9", "1.3", "1.3.1"), ("2.+", "1.9", "2.0.7", "3.0")]
        {
            let bound = pattern(text);
            let asked = [older, covered, newer].map(version);
            assert_eq!(
                asked.each_ref().map(|one| bound.accepts_as_earliest(one)),
                [false, true, true],
                "{text}"
            );
            assert_eq!(
                asked.each_ref().map(|one| bound.accepts_as_latest(one)),
                [true, true, false],
                "{text}"
            );
        }
    }
}

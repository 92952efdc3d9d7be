//! The library `semver`: semantic versions, their order, and npm's ranges of them.
//!
//! Versions and ranges are those of semver4j 6, which the Java engine uses, with its peculiarities: pre-releases with
//! digits behind equal letters are compared by those numbers, a version before 1.0.0 counts as a pre-release, and what
//! is not understood in a range is passed over.

mod range;
#[cfg(test)]
mod tests;
mod version;

use durward_functions::argument::{array, text};
use durward_functions::jvm;
use durward_functions::table::row;
use durward_ir::Value;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};

use range::SemverRange;
use version::SemverVersion;

/// The start of a fault's message; semver4j's own message and a point follow.
const IN_COMPARISON: &str = "Invalid version in comparison";
const VERSION: &str = "Invalid version";

fn fault(start: &str, message: &str) -> Box<Fault> {
    Fault::processing(format!("{start}: {message}."))
}

fn version(arguments: &[Value], at: usize, start: &str) -> Evaluated<SemverVersion> {
    SemverVersion::read(text(arguments, at)?).map_err(|message| fault(start, &message))
}

fn compared(a: &SemverVersion, b: &SemverVersion, start: &str) -> Evaluated<i64> {
    a.compare(b).ok_or_else(|| fault(start, "A number in a pre-release is too big."))
}

fn parse(arguments: &[Value]) -> Evaluated<Value> {
    let version = version(arguments, 0, "Invalid semantic version")?;
    let texts = |list: &[String]| Value::array(list.iter().map(|text| Value::Text(text.as_str().into())));
    Ok(Value::object([
        ("version", Value::Text(version.to_string().into())),
        ("major", jvm::whole(version.major)),
        ("minor", jvm::whole(version.minor)),
        ("patch", jvm::whole(version.patch)),
        ("isStable", Value::Boolean(version.is_stable())),
        ("isPreRelease", Value::Boolean(!version.is_stable())),
        ("preRelease", texts(&version.pre_release)),
        ("buildMetadata", texts(&version.build)),
    ]))
}

fn is_valid(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(SemverVersion::read(text(arguments, 0)?).is_ok()))
}

fn order(arguments: &[Value]) -> Evaluated<i64> {
    let (a, b) = (version(arguments, 0, IN_COMPARISON)?, version(arguments, 1, IN_COMPARISON)?);
    compared(&a, &b, IN_COMPARISON)
}

fn compare(arguments: &[Value]) -> Evaluated<Value> {
    Ok(jvm::whole(order(arguments)?))
}

fn equals(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(order(arguments)? == 0))
}

fn is_lower(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(order(arguments)? < 0))
}

fn is_higher(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(order(arguments)? > 0))
}

fn is_lower_or_equal(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(order(arguments)? <= 0))
}

fn is_higher_or_equal(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(order(arguments)? >= 0))
}

fn is_between(arguments: &[Value]) -> Evaluated<Value> {
    let read = |at| version(arguments, at, IN_COMPARISON);
    let (version, least, most) = (read(0)?, read(1)?, read(2)?);
    let within =
        compared(&version, &least, IN_COMPARISON)? >= 0 && compared(&version, &most, IN_COMPARISON)? <= 0;
    Ok(Value::Boolean(within))
}

/// Compares as many of the three numbers.
fn same_numbers(arguments: &[Value], count: usize) -> Evaluated<Value> {
    let (a, b) = (version(arguments, 0, IN_COMPARISON)?, version(arguments, 1, IN_COMPARISON)?);
    let pairs = [(a.major, b.major), (a.minor, b.minor), (a.patch, b.patch)];
    Ok(Value::Boolean(pairs.iter().take(count).all(|(a, b)| a == b)))
}

fn have_same_major(arguments: &[Value]) -> Evaluated<Value> {
    same_numbers(arguments, 1)
}

fn have_same_minor(arguments: &[Value]) -> Evaluated<Value> {
    same_numbers(arguments, 2)
}

fn have_same_patch(arguments: &[Value]) -> Evaluated<Value> {
    same_numbers(arguments, 3)
}

fn is_compatible_with(arguments: &[Value]) -> Evaluated<Value> {
    let _ = version(arguments, 0, IN_COMPARISON)?;
    let count = if version(arguments, 1, IN_COMPARISON)?.major == 0 { 2 } else { 1 };
    same_numbers(arguments, count)
}

fn is_pre_release(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(!version(arguments, 0, VERSION)?.is_stable()))
}

fn is_stable(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Boolean(version(arguments, 0, VERSION)?.is_stable()))
}

fn get_major(arguments: &[Value]) -> Evaluated<Value> {
    Ok(jvm::whole(version(arguments, 0, VERSION)?.major))
}

fn get_minor(arguments: &[Value]) -> Evaluated<Value> {
    Ok(jvm::whole(version(arguments, 0, VERSION)?.minor))
}

fn get_patch(arguments: &[Value]) -> Evaluated<Value> {
    Ok(jvm::whole(version(arguments, 0, VERSION)?.patch))
}

fn satisfies(arguments: &[Value]) -> Evaluated<Value> {
    const START: &str = "Invalid version or range";
    let version = version(arguments, 0, START)?;
    let range = SemverRange::read(text(arguments, 1)?).map_err(|message| fault(START, &message))?;
    let holds = range.holds(&version).map_err(|message| fault(START, &message))?;
    Ok(Value::Boolean(holds))
}

/// The first of the versions in the range that no other is better than; what is no text is passed over.
fn best(arguments: &[Value], is_better: fn(i64) -> bool) -> Evaluated<Value> {
    const START: &str = "Invalid versions or range";
    let fail = |message: String| fault(START, &message);
    let mut range = None;
    let mut best: Option<SemverVersion> = None;
    for value in array(arguments, 0)? {
        let Value::Text(candidate) = value else { continue };
        let candidate = SemverVersion::read(candidate).map_err(fail)?;
        let range = match &range {
            Some(range) => range,
            None => range.insert(SemverRange::read(text(arguments, 1)?).map_err(fail)?),
        };
        if !range.holds(&candidate).map_err(fail)? {
            continue;
        }
        let better = match &best {
            Some(best) => is_better(compared(&candidate, best, START)?),
            None => true,
        };
        if better {
            best = Some(candidate);
        }
    }
    Ok(best.map_or(Value::Null, |version| Value::Text(version.to_string().into())))
}

fn max_satisfying(arguments: &[Value]) -> Evaluated<Value> {
    best(arguments, |order| order > 0)
}

fn min_satisfying(arguments: &[Value]) -> Evaluated<Value> {
    best(arguments, |order| order < 0)
}

fn coerce(arguments: &[Value]) -> Evaluated<Value> {
    let text = text(arguments, 0)?;
    if text.is_empty() {
        return Err(Fault::processing("Cannot coerce empty string."));
    }
    let version =
        version::coerce(text).ok_or_else(|| Fault::processing("Cannot coerce to valid semantic version."))?;
    Ok(Value::Text(version.to_string().into()))
}

fn diff(arguments: &[Value]) -> Evaluated<Value> {
    let (a, b) = (version(arguments, 0, VERSION)?, version(arguments, 1, VERSION)?);
    let kind = if compared(&a, &b, VERSION)? == 0 {
        "none"
    } else if a.major != b.major {
        "major"
    } else if a.minor != b.minor {
        "minor"
    } else if a.patch != b.patch {
        "patch"
    } else if a.pre_release != b.pre_release {
        "prerelease"
    } else {
        "none"
    };
    Ok(Value::Text(kind.into()))
}

const TEXT: &[Parameter] = &[Parameter::Text];
const TWO_TEXTS: &[Parameter] = &[Parameter::Text, Parameter::Text];
const THREE_TEXTS: &[Parameter] = &[Parameter::Text, Parameter::Text, Parameter::Text];
const ARRAY_AND_TEXT: &[Parameter] = &[Parameter::Array, Parameter::Text];

pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row(
        "semver.coerce",
        TEXT,
        coerce,
        "The version a text is about: `v1.2` is `1.2.0`; an error if it has no number.",
    ),
    row(
        "semver.compare",
        TWO_TEXTS,
        compare,
        "A negative number, zero or a positive number, as the first version is lower, equal or higher.",
    ),
    row(
        "semver.diff",
        TWO_TEXTS,
        diff,
        "What changed between versions: `major`, `minor`, `patch`, `prerelease` or `none`.",
    ),
    row("semver.equals", TWO_TEXTS, equals, "Whether two versions are equal, apart from their build."),
    row("semver.getMajor", TEXT, get_major, "The first number of a version."),
    row("semver.getMinor", TEXT, get_minor, "The second number of a version."),
    row("semver.getPatch", TEXT, get_patch, "The third number of a version."),
    row(
        "semver.haveSameMajor",
        TWO_TEXTS,
        have_same_major,
        "Whether the first numbers of two versions are equal.",
    ),
    row(
        "semver.haveSameMinor",
        TWO_TEXTS,
        have_same_minor,
        "Whether the first two numbers of two versions are equal.",
    ),
    row(
        "semver.haveSamePatch",
        TWO_TEXTS,
        have_same_patch,
        "Whether all three numbers of two versions are equal.",
    ),
    row(
        "semver.isAtLeast",
        TWO_TEXTS,
        is_higher_or_equal,
        "Whether the first version is not before the second.",
    ),
    row(
        "semver.isAtMost",
        TWO_TEXTS,
        is_lower_or_equal,
        "Whether the first version is not after the second.",
    ),
    row(
        "semver.isBetween",
        THREE_TEXTS,
        is_between,
        "Whether a version is not before the second and not after the third.",
    ),
    row(
        "semver.isCompatibleWith",
        TWO_TEXTS,
        is_compatible_with,
        "Whether versions have the same major number, and before 1.0.0 the same minor one.",
    ),
    row("semver.isHigher", TWO_TEXTS, is_higher, "Whether the first version is after the second."),
    row(
        "semver.isHigherOrEqual",
        TWO_TEXTS,
        is_higher_or_equal,
        "Whether the first version is not before the second.",
    ),
    row("semver.isLower", TWO_TEXTS, is_lower, "Whether the first version is before the second."),
    row(
        "semver.isLowerOrEqual",
        TWO_TEXTS,
        is_lower_or_equal,
        "Whether the first version is not after the second.",
    ),
    row(
        "semver.isPreRelease",
        TEXT,
        is_pre_release,
        "Whether a version is before 1.0.0 or has a pre-release.",
    ),
    row("semver.isStable", TEXT, is_stable, "Whether a version is at least 1.0.0 and has no pre-release."),
    row("semver.isValid", TEXT, is_valid, "Whether a text is a semantic version."),
    row(
        "semver.maxSatisfying",
        ARRAY_AND_TEXT,
        max_satisfying,
        "The last of the versions that are in a range, or null.",
    ),
    row(
        "semver.minSatisfying",
        ARRAY_AND_TEXT,
        min_satisfying,
        "The first of the versions that are in a range, or null.",
    ),
    row("semver.parse", TEXT, parse, "The parts of a version as an object."),
    row(
        "semver.satisfies",
        TWO_TEXTS,
        satisfies,
        "Whether a version is in a range of npm's or Ivy's notation.",
    ),
];

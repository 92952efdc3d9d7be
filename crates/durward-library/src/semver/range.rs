//! Ranges of versions: npm's (`>=1.2 <2 || ~3.1 || 4.x || 1.0 - 2.0`) and Ivy's (`[1.0,2.0[`), step by step as semver4j
//! brings them into comparisons.
//!
//! Every step turns text into text. Whatever is no comparison in the end is passed over in silence: a range without any
//! holds for no version.

use super::version::{LENGTH_MAX, SemverVersion, is_build, is_numeric, is_pre_release};
use durward_functions::jvm;

/// Comparisons, all of which must hold, of which one group must hold.
pub(super) struct SemverRange(Vec<Vec<(RangeOperator, SemverVersion)>>);

#[derive(Clone, Copy, Debug)]
enum RangeOperator {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl SemverRange {
    /// # Errors
    /// The message semver4j has for a number that is too large.
    pub(super) fn read(text: &str) -> Result<SemverRange, String> {
        if text.len() > LENGTH_MAX {
            return Err(format!("Range is longer than {LENGTH_MAX} characters."));
        }
        let mut sections: Vec<&str> = jvm::trim(text).split("||").collect();
        // Java's `split` leaves out empty texts at the end, but for a text that is empty itself.
        while sections.len() > 1 && sections.last().is_some_and(|section| section.is_empty()) {
            sections.pop();
        }
        if sections == [""] && !jvm::trim(text).is_empty() {
            sections.clear();
        }
        let mut groups = Vec::new();
        for section in sections {
            let section = join_operators(section);
            let group = comparisons(&as_comparisons(jvm::trim(&section))?)?;
            if !group.is_empty() {
                groups.push(group);
            }
        }
        Ok(SemverRange(groups))
    }

    /// Whether a version is in the range. Pre-releases are only in ranges that name one of the same three numbers.
    ///
    /// # Errors
    /// Pre-releases cannot be compared, as a number in them is beyond 64 bits.
    pub(super) fn holds(&self, version: &SemverVersion) -> Result<bool, String> {
        for group in &self.0 {
            if group_holds(group, version).ok_or("A number in a pre-release is too big.")? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn group_holds(group: &[(RangeOperator, SemverVersion)], version: &SemverVersion) -> Option<bool> {
    for (operator, bound) in group {
        let order = version.compare(bound)?;
        let holds = match operator {
            RangeOperator::Equal => order == 0,
            RangeOperator::Less => order < 0,
            RangeOperator::LessOrEqual => order <= 0,
            RangeOperator::Greater => order > 0,
            RangeOperator::GreaterOrEqual => order >= 0,
        };
        if !holds {
            return Some(false);
        }
    }
    let numbers = |version: &SemverVersion| (version.major, version.minor, version.patch);
    let is_named =
        |bound: &SemverVersion| !bound.pre_release.is_empty() && numbers(bound) == numbers(version);
    Some(version.pre_release.is_empty() || group.iter().any(|(_, bound)| is_named(bound)))
}

/// White space of Java's `\s`.
const fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

/// Without the white space behind operators.
fn join_operators(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut behind_operator = false;
    for character in text.chars() {
        if behind_operator && is_space(character) {
            continue;
        }
        behind_operator = matches!(character, '<' | '>' | '=');
        out.push(character);
    }
    out
}

/// What the first of semver4j's processors that knows the notation makes of it.
fn as_comparisons(text: &str) -> Result<String, String> {
    if matches!(text, "" | "*" | "latest" | "latest.integration") {
        return Ok(">=0.0.0".into());
    }
    let steps = [ivy, hyphen, caret, tilde, x_ranges];
    for step in steps {
        if let Some(made) = step(text)? {
            return Ok(made);
        }
    }
    Ok(text.into())
}

/// What a step makes of a text; `None` when it does not know the notation.
type StepResult = Result<Option<String>, String>;

/// A number, or what stands for any: `x`, `X`, `*`, `+`, or nothing.
type RangeNumber = Option<i32>;

/// How semver4j writes a number that stands for any.
const ANY: i32 = -1;

fn int(text: &str) -> Result<i32, String> {
    text.parse().map_err(|_| format!("Value [{text}] is too big."))
}

/// A version with parts left out.
struct PartialVersion<'a> {
    major: RangeNumber,
    minor: RangeNumber,
    patch: RangeNumber,
    pre_release: Option<&'a str>,
}

/// Takes a partial version from the start of a text, and gives what is behind it.
fn partial(text: &str) -> Result<Option<(PartialVersion<'_>, &str)>, String> {
    let mut rest = text.trim_start_matches(|character| matches!(character, 'v' | '=') || is_space(character));
    let mut numbers = [None, None, None];
    let mut known = 0;
    for (at, number) in numbers.iter_mut().enumerate() {
        let from = match (at, rest.strip_prefix('.')) {
            (0, _) => rest,
            (_, Some(from)) => from,
            (_, None) => break,
        };
        let Some((token, behind)) = number_token(from) else { return Ok(None) };
        *number =
            if token.starts_with(|first: char| first.is_ascii_digit()) { Some(int(token)?) } else { None };
        (rest, known) = (behind, at + 1);
    }
    let mut pre_release = None;
    if known == 3 {
        let (found, behind) = identifiers(rest, '-', is_pre_release);
        (pre_release, rest) = (found, behind);
        (_, rest) = identifiers(rest, '+', is_build);
    }
    let [major, minor, patch] = numbers;
    Ok(Some((PartialVersion { major, minor, patch, pre_release }, rest)))
}

/// A number without zeros before it, or a letter or sign for any.
fn number_token(text: &str) -> Option<(&str, &str)> {
    let count = match text.bytes().next()? {
        b'x' | b'X' | b'*' | b'+' | b'0' => 1,
        b'1'..=b'9' => text.bytes().take_while(u8::is_ascii_digit).count(),
        _ => return None,
    };
    text.split_at_checked(count)
}

/// Takes dot separated identifiers behind a sign, if there are.
fn identifiers(text: &str, sign: char, is_one: fn(&str) -> bool) -> (Option<&str>, &str) {
    let Some(from) = text.strip_prefix(sign) else { return (None, text) };
    let end =
        from.find(|character: char| !character.is_ascii_alphanumeric() && !matches!(character, '-' | '.'));
    let (found, behind) = from.split_at_checked(end.unwrap_or(from.len())).unwrap_or((from, ""));
    if found.split('.').all(is_one) { (Some(found), behind) } else { (None, text) }
}

/// The whole text as a partial version.
fn only_partial(text: &str) -> Result<Option<PartialVersion<'_>>, String> {
    Ok(partial(text)?.and_then(|(found, rest)| rest.is_empty().then_some(found)))
}

/// The bound above is that of the first number that is not 0. Where a number is any, semver4j computes with -1: `^0` has
/// no bound above, and `^0.0` holds for nothing.
fn caret(text: &str) -> StepResult {
    let Some(from) = text.strip_prefix('^') else { return Ok(None) };
    let Some(version) = only_partial(from)? else { return Ok(None) };
    let any = |number: RangeNumber| number.unwrap_or(ANY);
    let (major, minor, patch) = (any(version.major), any(version.minor), any(version.patch));
    let lower = match (version.minor, version.patch) {
        (None, _) => format!("{major}.0.0"),
        (Some(minor), None) => format!("{major}.{minor}.0"),
        (Some(minor), Some(patch)) => format!("{major}.{minor}.{patch}{}", dashed(version.pre_release)),
    };
    let upper = match (major, minor) {
        (1.., _) => format!("{}.0.0", major.wrapping_add(1)),
        (_, 1..) => format!("{major}.{}.0", minor.wrapping_add(1)),
        _ => format!("{major}.{minor}.{}", patch.wrapping_add(1)),
    };
    Ok(Some(format!(">={lower} <{upper}")))
}

fn dashed(pre_release: Option<&str>) -> String {
    pre_release.map_or_else(String::new, |pre_release| format!("-{pre_release}"))
}

fn tilde(text: &str) -> StepResult {
    let Some(from) = text.strip_prefix('~') else { return Ok(None) };
    let Some(version) = only_partial(from.strip_prefix('>').unwrap_or(from))? else { return Ok(None) };
    let major = version.major.unwrap_or(ANY);
    Ok(Some(match (version.minor, version.patch) {
        (None, _) => format!(">={major}.0.0 <{}.0.0", major.wrapping_add(1)),
        (Some(minor), patch) => {
            let pre_release = patch.and(version.pre_release);
            let (patch, next) = (patch.unwrap_or(0), minor.wrapping_add(1));
            format!(">={major}.{minor}.{patch}{} <{major}.{next}.0", dashed(pre_release))
        }
    }))
}

/// `1.2.3 - 2.3`: from the first version up to all that begin as the second.
fn hyphen(text: &str) -> StepResult {
    let text = text.trim_matches(is_space);
    let Some((from, rest)) = partial(text)? else { return Ok(None) };
    let from_text = text.get(..text.len() - rest.len()).unwrap_or(text);
    let separated = |rest: &str| -> Option<String> {
        let to = rest.trim_start_matches(is_space).strip_prefix('-')?;
        (rest.starts_with(is_space) && to.starts_with(is_space))
            .then(|| to.trim_start_matches(is_space).into())
    };
    let Some(to) = separated(rest) else { return Ok(None) };
    let Some(to) = only_partial(&to)? else { return Ok(None) };
    let major = from.major.unwrap_or(ANY);
    let lower = match (from.minor, from.patch) {
        (None, _) => format!("{major}.0.0"),
        (Some(minor), None) => format!("{major}.{minor}.0"),
        (Some(_), Some(_)) => from_text.into(),
    };
    let major = to.major.unwrap_or(ANY);
    let upper = match (to.minor, to.patch) {
        (None, _) => format!("<{}.0.0", major.wrapping_add(1)),
        (Some(minor), None) => format!("<{major}.{}.0", minor.wrapping_add(1)),
        (Some(minor), Some(patch)) => match to.pre_release {
            Some(pre_release) => format!("<={major}.{minor}.{patch}-{pre_release}"),
            None => format!("<{major}.{minor}.{}", patch.wrapping_add(1)),
        },
    };
    Ok(Some(format!(">={lower} {upper}")))
}

/// Ivy's intervals, closed and half open: `[1.0,2.0]`, `]1.0,)`, `(,2.0[`.
fn ivy(text: &str) -> StepResult {
    let Some(open) = text.chars().next().filter(|open| matches!(open, '[' | ']' | '(')) else {
        return Ok(None);
    };
    let Some(close) = text.chars().next_back().filter(|close| matches!(close, '[' | ']' | ')')) else {
        return Ok(None);
    };
    let Some((from, to)) = text.get(1..text.len() - 1).and_then(|inner| inner.split_once(',')) else {
        return Ok(None);
    };
    let (Some(from), Some(to)) = (ivy_digits(from), ivy_digits(to)) else { return Ok(None) };
    let (from, to) = (ivy_version(from)?, ivy_version(to)?);
    Ok(Some(match (open, close) {
        ('[', ']') => format!(">={from} <={to}"),
        ('[', '[') => format!(">={from} <{to}"),
        (']', ']') => format!(">{from} <={to}"),
        (']', '[') => format!(">{from} <{to}"),
        ('[', ')') => format!(">={from}"),
        (']', ')') => format!(">{from}"),
        ('(', ']') => format!("<={to}"),
        ('(', '[') => format!("<{to}"),
        _ => text.into(),
    }))
}

/// Up to three numbers, with or without points between them.
fn ivy_digits(text: &str) -> Option<[&str; 3]> {
    let mut rest = text;
    let mut numbers = [""; 3];
    for (at, number) in numbers.iter_mut().enumerate() {
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, behind) = rest.split_at_checked(count)?;
        *number = digits;
        rest = if at < 2 { behind.strip_prefix('.').unwrap_or(behind) } else { behind };
    }
    rest.is_empty().then_some(numbers)
}

/// A missing first number is any, the others are 0.
fn ivy_version([major, minor, patch]: [&str; 3]) -> Result<String, String> {
    let number = |digits: &str, missing: i32| if digits.is_empty() { Ok(missing) } else { int(digits) };
    Ok(format!("{}.{}.{}", number(major, ANY)?, number(minor, 0)?, number(patch, 0)?))
}

/// Versions with parts left out or any, with an operator before them or none.
fn x_ranges(text: &str) -> StepResult {
    let mut made = Vec::new();
    for part in text.split(is_space).filter(|part| !part.is_empty()) {
        let (sign, from) = operator(part);
        if let Some(version) = only_partial(from)? {
            made.push(x_range(part, sign, &version));
        }
    }
    Ok((!made.is_empty()).then(|| made.join(" ")))
}

/// The operator a text starts with, and what is behind it.
fn operator(text: &str) -> (&str, &str) {
    let sign = text.bytes().next().filter(|first| matches!(first, b'<' | b'>')).map_or(0, |_| 1);
    let count = sign + usize::from(text.as_bytes().get(sign) == Some(&b'='));
    text.split_at_checked(count).unwrap_or(("", text))
}

fn x_range(whole: &str, sign: &str, version: &PartialVersion<'_>) -> String {
    let major = version.major.unwrap_or(ANY);
    let next_major = major.wrapping_add(1);
    match (sign, version.minor, version.patch) {
        // Unlike the others, these are kept even where the minor number is any.
        ("" | "=", None, None) => format!(">={major}.0.0 <{next_major}.0.0"),
        ("" | "=", Some(minor), None) => {
            format!(">={major}.{minor}.0 <{major}.{}.0", minor.wrapping_add(1))
        }
        (">", None, None) => format!(">={next_major}.0.0"),
        (">", Some(minor), None) => format!(">={major}.{}.0", minor.wrapping_add(1)),
        ("<=", None, None) => format!("<{next_major}.0.0"),
        ("<=", Some(minor), None) => format!("<{major}.{}.0", minor.wrapping_add(1)),
        (sign, minor, None) => format!("{sign}{major}.{}.0", minor.unwrap_or(0)),
        (_, None, Some(_)) => format!(">={major}.0.0 <{next_major}.0.0"),
        (_, Some(_), Some(_)) => whole.into(),
    }
}

fn comparisons(text: &str) -> Result<Vec<(RangeOperator, SemverVersion)>, String> {
    let mut found = Vec::new();
    for part in text.split(is_space) {
        let (sign, from) = operator(part);
        let operator = match sign {
            "<" => RangeOperator::Less,
            "<=" => RangeOperator::LessOrEqual,
            ">" => RangeOperator::Greater,
            ">=" => RangeOperator::GreaterOrEqual,
            _ => RangeOperator::Equal,
        };
        if is_version(from) {
            found.push((operator, SemverVersion::read(from)?));
        }
    }
    Ok(found)
}

/// Whether a text has the form of a version, its numbers of any size.
fn is_version(text: &str) -> bool {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut rest = text;
    for at in 0..3 {
        let from = if at == 0 { rest } else { rest.strip_prefix('.').unwrap_or("") };
        let count = from.bytes().take_while(u8::is_ascii_digit).count();
        let Some((digits, behind)) = from.split_at_checked(count) else { return false };
        if !is_numeric(digits) {
            return false;
        }
        rest = behind;
    }
    let (_, rest) = identifiers(rest, '-', is_pre_release);
    let (_, rest) = identifiers(rest, '+', is_build);
    rest.is_empty()
}

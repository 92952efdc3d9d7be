//! The library `patterns`: globs, and Java's regular expressions.
//!
//! Regular expressions are those of `durward_ir::structure::regex`, which says what it refuses of Java's. Most need time
//! linear in the text, whatever they are; the others are tried a bounded number of ways. Who looks for matches one after the
//! other for more than a second is stopped, as in SAPL.
//! The expressions that SAPL calls dangerous are refused as there.

mod glob;
mod replace;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use durward_functions::argument::{array, number, text};
use durward_functions::jvm;
use durward_functions::limits::TEXT_LENGTH_MAX;
use durward_functions::table::row;
use durward_ir::Value;
use durward_ir::datatype::Decimal;
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::{LibraryFunction, Parameter};
use durward_ir::structure::regex::{Regex, RegexMatch, compiled};
use regex::RegexSet;

use replace::Replacement;

/// The longest pattern, in UTF-16 code units, as in SAPL.
const PATTERN_LENGTH_MAX: usize = 1000;
/// The longest text to match, in UTF-16 code units, as in SAPL.
const INPUT_LENGTH_MAX: usize = 100_000;
/// The most matches and parts that are given, as in SAPL.
const MATCHES_MAX: usize = 10_000;
/// How often one call looks for a further match: each look is bounded by itself, in steps. The engine bounds them by one
/// second of time, which is no property of the question.
const FINDS_MAX: usize = 100_000;
/// The most alternatives of a regular expression, as in SAPL.
const ALTERNATIVES_MAX: usize = 100;

fn is_longer(text: &str, units: usize) -> bool {
    text.len() > units && jvm::length(text) > units
}

fn check_lengths(pattern: &str, input: &str) -> Evaluated<()> {
    if is_longer(pattern, PATTERN_LENGTH_MAX) {
        return Err(Fault::processing(format!("Pattern too long (max {PATTERN_LENGTH_MAX} characters).")));
    }
    if is_longer(input, INPUT_LENGTH_MAX) {
        return Err(Fault::processing(format!("Input too long (max {INPUT_LENGTH_MAX} characters).")));
    }
    Ok(())
}

fn matches_glob(pattern: &str, input: &str, delimiters: Option<&[&str]>) -> Evaluated<Value> {
    let expression = glob::to_regex(pattern, delimiters).map_err(Fault::processing)?;
    let regex = compiled(&expression)
        .map_err(|fault| Fault::processing(format!("Invalid glob pattern: {}", fault.message)))?;
    let matched = regex
        .matches(input)
        .map_err(|fault| Fault::processing(format!("Pattern matching failed: {}", fault.message)))?;
    Ok(Value::Boolean(matched))
}

fn match_glob(arguments: &[Value]) -> Evaluated<Value> {
    let (pattern, input) = (text(arguments, 0)?, text(arguments, 1)?);
    check_lengths(pattern, input)?;
    let mut delimiters = Vec::new();
    for value in array(arguments, 2)? {
        let Value::Text(delimiter) = value else {
            return Err(Fault::processing("All delimiters must be text values."));
        };
        delimiters.push(delimiter.as_str());
    }
    if delimiters.is_empty() {
        delimiters.push(".");
    }
    // Empty texts delimit nothing.
    delimiters.retain(|delimiter| !delimiter.is_empty());
    matches_glob(pattern, input, (!delimiters.is_empty()).then_some(delimiters.as_slice()))
}

fn match_glob_without_delimiters(arguments: &[Value]) -> Evaluated<Value> {
    let (pattern, input) = (text(arguments, 0)?, text(arguments, 1)?);
    check_lengths(pattern, input)?;
    matches_glob(pattern, input, None)
}

fn escape_glob(arguments: &[Value]) -> Evaluated<Value> {
    Ok(Value::Text(glob::escape(text(arguments, 0)?).into()))
}

fn is_valid_regex(arguments: &[Value]) -> Evaluated<Value> {
    let pattern = text(arguments, 0)?;
    Ok(Value::Boolean(!is_longer(pattern, PATTERN_LENGTH_MAX) && Regex::compile(pattern).is_ok()))
}

/// Quantified groups that end in a quantifier or have alternatives, wildcards in and behind a group, and two bounded
/// quantifiers.
const DANGEROUS: &[&str] = &[
    r"\([^)]*[*+]\)[*+]",
    r"\([^)]*\|[^)]*\)[*+]",
    r"\([^)]*\*[^)]*\)[^)]*\*",
    r"\{[0-9]+,[0-9]*\}[^{]*\{[0-9]+,[0-9]*\}",
];

/// Whether SAPL refuses an expression because it might take long.
fn is_dangerous(pattern: &str) -> Evaluated<bool> {
    static SET: LazyLock<Result<RegexSet, regex::Error>> = LazyLock::new(|| RegexSet::new(DANGEROUS));
    let set = SET.as_ref().map_err(|error| Fault::processing(error.to_string()))?;
    let alternatives = pattern.trim_end_matches('|').split('|').count();
    Ok(alternatives > ALTERNATIVES_MAX
        || pattern.contains(".*.*")
        || pattern.contains(".+.+")
        || set.is_match(pattern))
}

fn safe_regex(pattern: &str) -> Evaluated<Regex> {
    let refused = || Fault::processing("Invalid or dangerous regex pattern.");
    if is_dangerous(pattern)? {
        return Err(refused());
    }
    compiled(pattern).map_err(|_| refused())
}

/// The matches of an expression one after the other, as `Matcher.find` gives them.
struct Matches<'a> {
    regex: Regex,
    text: &'a str,
    /// Where to look next; `None` behind the end.
    next: Option<usize>,
    finds_left: usize,
}

impl<'a> Matches<'a> {
    fn new(regex: Regex, text: &'a str) -> Matches<'a> {
        Matches { regex, text, next: Some(0), finds_left: FINDS_MAX }
    }

    fn next(&mut self) -> Evaluated<Option<RegexMatch>> {
        let Some(start) = self.next else { return Ok(None) };
        let Some(finds_left) = self.finds_left.checked_sub(1) else {
            return Err(Fault::processing("looking for the regular expression takes too long on this text"));
        };
        self.finds_left = finds_left;
        let found = self.regex.find_at(self.text, start)?;
        self.next = found.as_ref().and_then(|found| {
            let (start, end) = found.span();
            if end > start {
                return Some(end);
            }
            let behind = self.text.get(end..)?.chars().next()?;
            Some(end + behind.len_utf8())
        });
        Ok(found)
    }
}

/// The part of the text at a place, or null.
fn part(text: &str, span: Option<(usize, usize)>) -> Value {
    match span.and_then(|(start, end)| text.get(start..end)) {
        Some(part) => Value::Text(part.into()),
        None => Value::Null,
    }
}

/// What `make` makes of each of the first matches.
fn found(
    arguments: &[Value],
    limit: usize,
    make: fn(&str, &RegexMatch, &Regex) -> Value,
) -> Evaluated<Value> {
    let (pattern, input) = (text(arguments, 0)?, text(arguments, 1)?);
    check_lengths(pattern, input)?;
    let mut matches = Matches::new(safe_regex(pattern)?, input);
    let mut made = Vec::new();
    while made.len() < limit {
        let next = matches.next();
        let next =
            next.map_err(|fault| Fault::processing(format!("Pattern matching failed: {}", fault.message)))?;
        let Some(next) = next else { break };
        made.push(make(input, &next, &matches.regex));
    }
    Ok(Value::array(made))
}

fn whole(input: &str, found: &RegexMatch, _: &Regex) -> Value {
    part(input, Some(found.span()))
}

fn groups(input: &str, found: &RegexMatch, regex: &Regex) -> Value {
    Value::array((0..=regex.group_count()).map(|group| part(input, found.group(group))))
}

/// A limit without its fraction, and at most [`MATCHES_MAX`].
fn limit(arguments: &[Value]) -> Evaluated<usize> {
    let limit = number(arguments, 2)?;
    if limit.signum() < 0 {
        return Err(Fault::processing("Limit must be non-negative."));
    }
    let most = Decimal::from(i64::try_from(MATCHES_MAX).unwrap_or(i64::MAX));
    let limit = if *limit < most { jvm::wrapping_long(limit) } else { jvm::wrapping_long(&most) };
    Ok(usize::try_from(limit).unwrap_or(MATCHES_MAX))
}

fn find_matches(arguments: &[Value]) -> Evaluated<Value> {
    found(arguments, MATCHES_MAX, whole)
}

fn find_matches_limited(arguments: &[Value]) -> Evaluated<Value> {
    found(arguments, limit(arguments)?, whole)
}

fn find_all_submatch(arguments: &[Value]) -> Evaluated<Value> {
    found(arguments, MATCHES_MAX, groups)
}

fn find_all_submatch_limited(arguments: &[Value]) -> Evaluated<Value> {
    found(arguments, limit(arguments)?, groups)
}

fn replace_all(arguments: &[Value]) -> Evaluated<Value> {
    let (input, pattern) = (text(arguments, 0)?, text(arguments, 1)?);
    check_lengths(pattern, input)?;
    let regex = safe_regex(pattern)?;
    let failed = |message: &str| Fault::processing(format!("Replacement failed: {message}"));
    let mut matches = Matches::new(regex.clone(), input);
    let mut replacement = None;
    let mut out = String::new();
    let mut done = 0;
    while let Some(found) = matches.next().map_err(|fault| failed(&fault.message))? {
        // Java reads the replacement at the first match: without one it may be anything.
        let replacement = match &replacement {
            Some(replacement) => replacement,
            None => {
                let read =
                    Replacement::read(text(arguments, 2)?, &regex).map_err(|message| failed(&message))?;
                replacement.insert(read)
            }
        };
        let (start, end) = found.span();
        out.push_str(input.get(done..start).unwrap_or_default());
        replacement.write(input, &found, &mut out);
        done = end;
        check_output(&out, TEXT_LENGTH_MAX * 3)?;
    }
    out.push_str(input.get(done..).unwrap_or_default());
    check_output(&out, TEXT_LENGTH_MAX)?;
    Ok(Value::Text(out.into()))
}

/// Looks at the length of a text that is made once it has more bytes than so many.
fn check_output(out: &str, bytes: usize) -> Evaluated<()> {
    if out.len() > bytes && jvm::length(out) > TEXT_LENGTH_MAX {
        return Err(Fault::processing(format!("Output too long (max {TEXT_LENGTH_MAX} characters).")));
    }
    Ok(())
}

fn split(arguments: &[Value]) -> Evaluated<Value> {
    let (pattern, input) = (text(arguments, 0)?, text(arguments, 1)?);
    check_lengths(pattern, input)?;
    let mut matches = Matches::new(safe_regex(pattern)?, input);
    let mut parts = Vec::new();
    let mut start = 0;
    while parts.len() < MATCHES_MAX - 1 {
        let next = matches.next();
        let next = next.map_err(|fault| Fault::processing(format!("Split failed: {}", fault.message)))?;
        let Some(next) = next else { break };
        let (from, to) = next.span();
        // Nothing is cut off the start by an empty match.
        if to > 0 {
            parts.push(part(input, Some((start, from))));
            start = to;
        }
    }
    parts.push(part(input, Some((start, input.len()))));
    Ok(Value::array(parts))
}

fn match_template(arguments: &[Value]) -> Evaluated<Value> {
    let (template, input) = (text(arguments, 0)?, text(arguments, 1)?);
    let (start, end) = (text(arguments, 2)?, text(arguments, 3)?);
    if start.is_empty() || end.is_empty() {
        return Err(Fault::processing("Delimiters cannot be empty."));
    }
    if is_longer(template, PATTERN_LENGTH_MAX) || is_longer(input, INPUT_LENGTH_MAX) {
        return Err(Fault::processing("Template or value exceeds maximum length."));
    }
    let expression = template_regex(template, start, end)
        .ok_or_else(|| Fault::processing("Invalid template format: mismatched or nested delimiters."))?;
    if is_dangerous(&expression)? {
        return Err(Fault::processing("Template contains dangerous regex patterns."));
    }
    let regex = compiled(&expression)
        .map_err(|fault| Fault::processing(format!("Invalid regex in template: {}", fault.message)))?;
    let matched = regex
        .matches(input)
        .map_err(|fault| Fault::processing(format!("Pattern matching failed: {}", fault.message)))?;
    Ok(Value::Boolean(matched))
}

/// The expression of a template: its literal parts without their backslashes, the others in parentheses. `None` for a
/// part that does not end.
fn template_regex(template: &str, start: &str, end: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((literal, behind)) = rest.split_once(start) {
        push_literal(literal, &mut out);
        let (expression, behind) = behind.split_once(end)?;
        out.push('(');
        out.push_str(expression);
        out.push(')');
        rest = behind;
    }
    push_literal(rest, &mut out);
    Some(out)
}

fn push_literal(literal: &str, out: &mut String) {
    let mut plain = String::with_capacity(literal.len());
    let mut characters = literal.chars();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.next() } else { None };
        plain.push(escaped.unwrap_or(character));
    }
    glob::push_escaped(&plain, out);
}

const TWO_TEXTS: &[Parameter] = &[Parameter::Text, Parameter::Text];
const THREE_TEXTS: &[Parameter] = &[Parameter::Text, Parameter::Text, Parameter::Text];
const TEXTS_AND_NUMBER: &[Parameter] = &[Parameter::Text, Parameter::Text, Parameter::Number];

pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row(
        "patterns.escapeGlob",
        &[Parameter::Text],
        escape_glob,
        "The text with a backslash before each character that has a meaning in a glob.",
    ),
    row(
        "patterns.findAllSubmatch",
        TWO_TEXTS,
        find_all_submatch,
        "The matches of an expression (first) in a text (second), each with its groups, up to 10,000.",
    ),
    row(
        "patterns.findAllSubmatchLimited",
        TEXTS_AND_NUMBER,
        find_all_submatch_limited,
        "As `findAllSubmatch`, up to so many matches (third).",
    ),
    row(
        "patterns.findMatches",
        TWO_TEXTS,
        find_matches,
        "The matches of an expression (first) in a text (second), up to 10,000.",
    ),
    row(
        "patterns.findMatchesLimited",
        TEXTS_AND_NUMBER,
        find_matches_limited,
        "As `findMatches`, up to so many matches (third).",
    ),
    row(
        "patterns.isValidRegex",
        &[Parameter::Text],
        is_valid_regex,
        "Whether a text is a regular expression of at most 1000 characters.",
    ),
    row(
        "patterns.matchGlob",
        &[Parameter::Text, Parameter::Text, Parameter::Array],
        match_glob,
        "Whether a glob (first) matches a text (second); `*` and `?` do not match the delimiters (third; `.` if \
         empty).",
    ),
    row(
        "patterns.matchGlobWithoutDelimiters",
        TWO_TEXTS,
        match_glob_without_delimiters,
        "Whether a glob (first) matches a text (second).",
    ),
    row(
        "patterns.matchTemplate",
        &[Parameter::Text, Parameter::Text, Parameter::Text, Parameter::Text],
        match_template,
        "Whether a template (first) matches a text (second); its expressions stand between two delimiters (third, \
         fourth).",
    ),
    row(
        "patterns.replaceAll",
        THREE_TEXTS,
        replace_all,
        "A text (first) with the matches of an expression (second) replaced (third); `$1` is a group.",
    ),
    row(
        "patterns.split",
        TWO_TEXTS,
        split,
        "The parts of a text (second) between the matches of an expression (first).",
    ),
];

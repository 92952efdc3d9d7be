//! Replacements, as `java.util.regex.Matcher.appendReplacement` reads them.

use durward_ir::structure::regex::{Regex, RegexMatch};

/// A part of a replacement.
enum ReplacementPart {
    Text(String),
    Group(usize),
}

/// A replacement that was read: texts, and groups of what is replaced.
pub(super) struct Replacement(Vec<ReplacementPart>);

impl Replacement {
    /// Reads `$1`, `${name}` and backslashes.
    ///
    /// # Errors
    /// The message Java has.
    pub(super) fn read(text: &str, regex: &Regex) -> Result<Replacement, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' => plain.push(characters.next().ok_or("character to be escaped is missing")?),
                '$' => {
                    parts.push(ReplacementPart::Text(std::mem::take(&mut plain)));
                    let (group, behind) = group(characters.as_str(), regex)?;
                    parts.push(ReplacementPart::Group(group));
                    characters = behind.chars();
                }
                other => plain.push(other),
            }
        }
        parts.push(ReplacementPart::Text(plain));
        Ok(Replacement(parts))
    }

    /// Appends the replacement of a match in a text.
    pub(super) fn write(&self, text: &str, found: &RegexMatch, out: &mut String) {
        for part in &self.0 {
            match part {
                ReplacementPart::Text(text) => out.push_str(text),
                ReplacementPart::Group(group) => {
                    let span = found.group(*group);
                    out.push_str(span.and_then(|(start, end)| text.get(start..end)).unwrap_or_default());
                }
            }
        }
    }
}

/// The group a dollar sign refers to, and what is behind it. Of digits as many count as make the number of a group.
fn group<'a>(text: &'a str, regex: &Regex) -> Result<(usize, &'a str), String> {
    if let Some(named) = text.strip_prefix('{') {
        let end = named.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(named.len());
        let (name, behind) = named.split_at_checked(end).unwrap_or((named, ""));
        if name.is_empty() {
            return Err("named capturing group is missing trailing '}'".into());
        }
        let Some(behind) = behind.strip_prefix('}') else {
            return Err("named capturing group is missing trailing '}'".into());
        };
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(format!("capturing group name {{{name}}} starts with digit character"));
        }
        let group = regex.group_of(name).ok_or_else(|| format!("No group with name {{{name}}}"))?;
        return Ok((group, behind));
    }
    let digit = |text: &str| text.chars().next().and_then(|first| first.to_digit(10));
    if text.is_empty() {
        return Err("Illegal group reference: group index is missing".into());
    }
    let mut group =
        digit(text).and_then(|digit| usize::try_from(digit).ok()).ok_or("Illegal group reference")?;
    if group > regex.group_count() {
        return Err(format!("No group {group}"));
    }
    let mut rest = text.get(1..).unwrap_or_default();
    while let Some(next) = digit(rest).and_then(|digit| usize::try_from(digit).ok()) {
        let longer = group * 10 + next;
        if longer > regex.group_count() {
            break;
        }
        group = longer;
        rest = rest.get(1..).unwrap_or_default();
    }
    Ok((group, rest))
}

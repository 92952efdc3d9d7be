//! Globs, brought into regular expressions as SAPL does it.
//!
//! The way there is part of the meaning: what stands between brackets becomes a class of Java's regular expressions, with
//! its intersections (`[a-z&&[^x]]`) and its errors, and a `*` does not match line ends.

use durward_functions::jvm;

/// How deep alternatives may nest, as in SAPL.
const DEPTH_MAX: usize = 50;
/// How many alternatives beside each other a glob may have, as in SAPL.
const GROUPS_MAX: usize = 30;

/// Characters that mean something in a regular expression.
const METACHARACTERS: &str = ".^$*+?()[]{}\\|";

/// The regular expression of a glob. Without delimiters, wildcards stand for any characters.
///
/// # Errors
/// What SAPL says of a glob with open brackets or too many braces.
pub(super) fn to_regex(glob: &str, delimiters: Option<&[&str]>) -> Result<String, String> {
    let mut out = String::from("^");
    convert(glob, delimiters, 0, &mut out)?;
    out.push('$');
    Ok(out)
}

fn convert(glob: &str, delimiters: Option<&[&str]>, depth: usize, out: &mut String) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("Glob pattern too deeply nested (max {DEPTH_MAX} levels)."));
    }
    if count_groups(glob) > GROUPS_MAX {
        return Err(format!("Too many alternative groups (max {GROUPS_MAX} groups)."));
    }
    let mut rest = glob;
    while let Some(character) = rest.chars().next() {
        let behind = rest.get(character.len_utf8()..).unwrap_or_default();
        let place = || jvm::length(glob) - jvm::length(rest);
        rest = match character {
            '\\' => escaped(behind, out),
            '*' => wildcard(behind, delimiters, out),
            '?' => {
                push_any(delimiters, out);
                behind
            }
            '[' => {
                let (class, behind) = closed(behind, ']', None)
                    .ok_or_else(|| format!("Unclosed character class starting at position {}.", place()))?;
                push_class(class, out);
                behind
            }
            '{' => {
                let (inner, behind) = closed(behind, '}', Some('{'))
                    .ok_or_else(|| format!("Unclosed alternative group starting at position {}.", place()))?;
                out.push_str("(?:");
                for (at, alternative) in alternatives(inner).into_iter().enumerate() {
                    out.push_str(if at > 0 { "|" } else { "" });
                    convert(alternative, delimiters, depth + 1, out)?;
                }
                out.push(')');
                behind
            }
            literal => {
                push_literal(literal, out);
                behind
            }
        };
    }
    Ok(())
}

fn push_literal(character: char, out: &mut String) {
    if METACHARACTERS.contains(character) {
        out.push('\\');
    }
    out.push(character);
}

/// What a backslash stands before; at the end it stands for itself.
fn escaped<'a>(behind: &'a str, out: &mut String) -> &'a str {
    let mut characters = behind.chars();
    push_literal(characters.next().unwrap_or('\\'), out);
    characters.as_str()
}

fn wildcard<'a>(behind: &'a str, delimiters: Option<&[&str]>, out: &mut String) -> &'a str {
    if let Some(behind) = behind.strip_prefix('*') {
        out.push_str(".*");
        return behind;
    }
    push_any(delimiters, out);
    out.push('*');
    behind
}

/// One character that is in no delimiter.
fn push_any(delimiters: Option<&[&str]>, out: &mut String) {
    let Some(delimiters) = delimiters else {
        out.push('.');
        return;
    };
    out.push_str("[^");
    for character in delimiters.iter().flat_map(|delimiter| delimiter.chars()) {
        if "\\]^-[".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out.push(']');
}

/// What is between brackets, as a class.
fn push_class(class: &str, out: &mut String) {
    out.push('[');
    let inner = match class.strip_prefix('!') {
        Some(inner) => {
            out.push('^');
            inner
        }
        None => class,
    };
    let mut characters = inner.chars();
    let mut is_first = inner.len() == class.len();
    while let Some(character) = characters.next() {
        let is_last = characters.as_str().is_empty();
        let (character, special) = match (character, is_last) {
            ('\\', false) => {
                let escaped = characters.next().unwrap_or('\\');
                (escaped, "\\]^[".contains(escaped))
            }
            // A dash is a range only between others.
            ('-', _) => ('-', is_first || is_last),
            (other, _) => (other, "\\]^[".contains(other)),
        };
        is_first = false;
        if special {
            out.push('\\');
        }
        out.push(character);
    }
    out.push(']');
}

/// What is before the closing character, and what is behind it. Escaped characters do not close, and neither do those that
/// close what was opened inside.
fn closed(text: &str, close: char, open: Option<char>) -> Option<(&str, &str)> {
    let mut depth = 1;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == close {
            depth -= 1;
            if depth == 0 {
                return Some((text.get(..at)?, characters.as_str()));
            }
        } else if Some(character) == open {
            depth += 1;
        }
    }
    None
}

/// What is between the commas that are in no braces.
fn alternatives(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut depth) = (0, 0_i32);
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    found.extend(text.get(start..));
    found
}

/// How many braces open that are in no others.
fn count_groups(glob: &str) -> usize {
    let (mut count, mut depth) = (0, 0_i32);
    let mut characters = glob.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '[' => {
                if let Some((_, behind)) = closed(characters.as_str(), ']', None) {
                    characters = behind.chars();
                }
            }
            '{' => {
                count += usize::from(depth == 0);
                depth += 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    count
}

/// A text with a backslash before everything that means something in a glob.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if "*?[]{}\\-!".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// A text with a backslash before everything that means something in a regular expression.
pub(super) fn push_escaped(text: &str, out: &mut String) {
    for character in text.chars() {
        push_literal(character, out);
    }
}

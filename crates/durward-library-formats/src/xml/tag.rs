//! Names, attributes, references and characters of XML 1.0 and 1.1.

use std::borrow::Cow;

/// The most attributes an element may have, as in the library of the Java engine.
const ATTRIBUTES_MAX: usize = 1000;

/// What is wrong, in a few words.
pub(super) type XmlReason = Cow<'static, str>;

/// The version of XML a document says it is. As in the library of the Java engine, it only decides which control
/// characters can be referred to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum XmlVersion {
    Old,
    New,
}

/// An attribute, as written.
pub(super) struct XmlAttribute<'a> {
    pub(super) prefix: &'a str,
    pub(super) local: &'a str,
    raw: &'a str,
}

impl XmlAttribute<'_> {
    /// The value: its references resolved, its white space made spaces.
    ///
    /// # Errors
    /// There is an unknown reference.
    pub(super) fn value(&self, version: XmlVersion) -> Result<String, XmlReason> {
        let mut value = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some(character) = rest.chars().next() {
            rest = rest.get(character.len_utf8()..).unwrap_or_default();
            match character {
                '&' => {
                    let (name, behind) = rest.split_once(';').ok_or("a reference does not end")?;
                    value.push(reference(name, version)?);
                    rest = behind;
                }
                // The end of a line written as two characters is one.
                '\r' if rest.starts_with('\n') => {}
                '\t' | '\n' | '\r' => value.push(' '),
                other => value.push(other),
            }
        }
        Ok(value)
    }
}

/// What stands behind the name in a tag, as attributes.
///
/// # Errors
/// They are not well-formed, or too many.
pub(super) fn attributes(tag: &str) -> Result<Vec<XmlAttribute<'_>>, XmlReason> {
    let mut found = Vec::new();
    let mut rest = tag;
    loop {
        let start = skip_space(rest);
        if start.is_empty() {
            return Ok(found);
        }
        if start.len() == rest.len() {
            return Err("there must be white space before an attribute".into());
        }
        if found.len() == ATTRIBUTES_MAX {
            return Err(format!("there are more than {ATTRIBUTES_MAX} attributes").into());
        }
        let (name, raw, behind) = attribute(start)?;
        let (prefix, local) = split_name(name).ok_or_else(|| no_name(name))?;
        found.push(XmlAttribute { prefix, local, raw });
        rest = behind;
    }
}

/// The name of the attribute at the start of a text, what stands between its quotes, and what is behind it.
pub(super) fn attribute(text: &str) -> Result<(&str, &str, &str), XmlReason> {
    let is_end = |character: char| matches!(character, '=' | ' ' | '\t' | '\n' | '\r' | '"' | '\'' | '<');
    let (name, behind) = text.split_at_checked(text.find(is_end).unwrap_or(text.len())).unwrap_or((text, ""));
    let quoted = skip_space(behind).strip_prefix('=').map(skip_space);
    let quoted = quoted.ok_or_else(|| format!("`=` is missing behind `{name}`"))?;
    let quote = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\''));
    let quote = quote.ok_or_else(|| format!("the value of `{name}` must stand between quotes"))?;
    let inner = quoted.get(1..).unwrap_or_default();
    let (raw, behind) = inner.split_once(quote).ok_or("a quote does not end")?;
    if raw.contains('<') {
        return Err(format!("`<` in the value of `{name}` must be written `&lt;`").into());
    }
    Ok((name, raw, behind))
}

pub(super) fn skip_space(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// White space of XML.
pub(super) const fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// What is no name.
pub(super) fn no_name(name: &str) -> XmlReason {
    let start: String = name.chars().take(50).collect();
    format!("`{start}` is not a name").into()
}

/// Prefix and local part of a name; `None` for what is no name.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    match name.split_once(':') {
        None => is_name(name).then_some(("", name)),
        Some((prefix, local)) => (is_name(prefix) && is_name(local)).then_some((prefix, local)),
    }
}

/// Whether this is a name without a colon (XML 1.0, fifth edition, section 2.3).
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(starts_name) && characters.all(continues_name)
}

const fn starts_name(character: char) -> bool {
    matches!(character,
        'A'..='Z' | '_' | 'a'..='z'
        | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

const fn continues_name(character: char) -> bool {
    starts_name(character)
        || matches!(character,
            '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// The character meant by what stands between `&` and `;`: one of five names, or a number.
///
/// # Errors
/// It is another name, or the number of what may not stand in documents.
pub(super) fn reference(name: &str, version: XmlVersion) -> Result<char, XmlReason> {
    let character = match name {
        "amp" => return Ok('&'),
        "lt" => return Ok('<'),
        "gt" => return Ok('>'),
        "quot" => return Ok('"'),
        "apos" => return Ok('\''),
        _ => name.strip_prefix('#').and_then(numbered).filter(|&character| match character {
            '\0' | '\u{fffe}' | '\u{ffff}' => false,
            '\t' | '\n' | '\r' => true,
            other => other >= ' ' || version == XmlVersion::New,
        }),
    };
    character.ok_or_else(|| {
        let start: String = name.chars().take(50).collect();
        format!("the reference `&{start};` is not known").into()
    })
}

fn numbered(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // Rust would take a sign.
    if !digits.starts_with(|first: char| first.is_digit(radix)) {
        return None;
    }
    u32::from_str_radix(digits.trim_start_matches('0'), radix).ok().and_then(char::from_u32)
}

/// Whether a character may not stand in a document as it is.
pub(super) const fn is_forbidden(character: char) -> bool {
    character < ' ' && !matches!(character, '\t' | '\n' | '\r')
}

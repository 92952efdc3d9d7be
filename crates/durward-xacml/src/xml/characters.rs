//! Characters and references of XML 1.0.

use std::borrow::Cow;

/// The offset of the first character that XML 1.0 allows nowhere, not even as a reference (section 2.2).
pub(crate) fn first_forbidden(text: &str) -> Option<usize> {
    // One pass without branches over the usual text; the exact search only where it finds something.
    let suspicious = text.bytes().fold(false, |found, byte| {
        found | ((byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r')) | (byte == 0xef)
    });
    if !suspicious {
        return None;
    }
    text.char_indices().find(|(_, character)| !is_allowed(*character)).map(|(offset, _)| offset)
}

/// Whether a character may stand in an XML text.
fn is_allowed(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        other => other >= ' ',
    }
}

/// The character meant by what stands between `&` and `;`: a number or one of the five predefined names.
pub(crate) fn reference(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => numbered(name.strip_prefix('#')?),
    }
}

fn numbered(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // `from_str_radix` takes a sign, XML does not.
    if !digits.starts_with(|first: char| first.is_digit(radix)) {
        return None;
    }
    u32::from_str_radix(digits, radix).ok().and_then(char::from_u32).filter(|found| is_allowed(*found))
}

/// The value of an XML attribute as written between its quotes: references resolved, white space characters made
/// spaces (XML 1.0, section 3.3.3). The error is the offset of what is wrong.
pub(crate) fn attribute_value(raw: &str) -> Result<Cow<'_, str>, usize> {
    let needs_work = |byte: u8| matches!(byte, b'&' | b'\t' | b'\n' | b'\r');
    let Some(first) = raw.bytes().position(needs_work) else { return Ok(Cow::Borrowed(raw)) };
    let (plain, rest) = raw.split_at(first);
    let mut value = String::with_capacity(raw.len());
    value.push_str(plain);
    let mut characters = rest.char_indices();
    while let Some((offset, character)) = characters.next() {
        match character {
            '&' => {
                let after = characters.as_str();
                let end = after.find(';').ok_or(first + offset)?;
                let (name, _) = after.split_at(end);
                value.push(reference(name).ok_or(first + offset)?);
                characters.by_ref().find(|(_, character)| *character == ';');
            }
            // A line end written as two characters is one (section 2.11).
            '\r' if characters.as_str().starts_with('\n') => {}
            '\t' | '\n' | '\r' => value.push(' '),
            other => value.push(other),
        }
    }
    Ok(Cow::Owned(value))
}

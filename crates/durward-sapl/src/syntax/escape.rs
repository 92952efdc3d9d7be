//! Escapes in texts: read and written.

use durward_ir::direction::turns_direction;
use smol_str::{SmolStr, SmolStrBuilder};

/// A piece of a text that is no escape though it starts like one.
pub(super) struct BadEscape {
    /// Where it starts, from the start of the text.
    pub(super) start: usize,
    pub(super) length: usize,
    pub(super) message: String,
}

/// What is wrong with the escapes of a text as written, with its quotation marks.
pub(super) fn problems(text: &str) -> impl Iterator<Item = BadEscape> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(offset..)?;
            let start = offset + rest.find('\\')?;
            let (read, length) = read_escape(text.get(start..)?);
            offset = start + length;
            if let Err(message) = read {
                return Some(BadEscape { start, length, message });
            }
        }
    })
}

/// What a text as written says: without its quotation marks, escapes resolved. Escapes there are not are left out.
pub(super) fn unescape(text: &str) -> SmolStr {
    let inner = text.strip_prefix('"').unwrap_or(text);
    let mut rest = inner.strip_suffix('"').unwrap_or(inner);
    let Some(first) = rest.find('\\') else { return rest.into() };
    let mut said = SmolStrBuilder::new();
    let mut next = Some(first);
    while let Some(start) = next {
        said.push_str(rest.get(..start).unwrap_or_default());
        rest = rest.get(start..).unwrap_or_default();
        let (read, length) = read_escape(rest);
        if let Ok(character) = read {
            said.push(character);
        }
        rest = rest.get(length..).unwrap_or_default();
        next = rest.find('\\');
    }
    said.push_str(rest);
    said.finish()
}

/// The escape a text starts with, and its length, which is at least 1 and on a character boundary.
fn read_escape(text: &str) -> (Result<char, String>, usize) {
    let Some(letter) = text.chars().nth(1) else { return (Err("`\\` stands before nothing".to_owned()), 1) };
    let character = match letter {
        '"' | '\\' | '/' => letter,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return read_unicode(text),
        _ => {
            let shown = if letter.is_control() { "\\".to_owned() } else { format!("\\{letter}") };
            return (Err(format!("`{shown}` is no escape")), 1 + letter.len_utf8());
        }
    };
    (Ok(character), 2)
}

/// `\uXXXX`, or two of them that make one character together.
fn read_unicode(text: &str) -> (Result<char, String>, usize) {
    let Some(first) = unit(text) else {
        return (Err("`\\u` needs four hexadecimal digits".to_owned()), 2);
    };
    if let Some(character) = char::from_u32(u32::from(first)) {
        return (Ok(character), 6);
    }
    let second = text.get(6..).filter(|rest| rest.starts_with("\\u")).and_then(unit);
    let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    match pair {
        Some(character) => (Ok(character), 12),
        None => (Err(format!("`\\u{first:04x}` is half of a character")), 6),
    }
}

/// The four digits after `\u`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.get(2..6).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok()
}

/// Writes a text with its quotation marks, on one line, so that reading it gives the same.
pub(super) fn escape(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character.is_control() || turns_direction(character) => {
                out.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        for (written, said) in [
            (r#""""#, ""),
            (r#""abc""#, "abc"),
            (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""a\u00e4b\u20AC""#, "aäb€"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\u0000""#, "\0"),
            ("\"a\nb\"", "a\nb"),
        ] {
            assert_eq!(unescape(written), said, "{written}");
            assert_eq!(problems(written).count(), 0, "{written}");
        }
    }

    #[test]
    fn what_is_escaped_is_unescaped_to_the_same() {
        let all: String = ('\0'..='\u{3000}').chain(['😀', '\u{10FFFF}', '\u{FEFF}']).collect();
        let mut written = String::new();
        escape(&all, &mut written);
        assert_eq!(unescape(&written), all);
        assert!(!written.contains(['\n', '\u{202E}', '\u{2066}', '\u{1b}']));
    }

    #[test]
    fn bad_escapes_are_placed() {
        let found: Vec<(usize, usize)> =
            problems(r#""a\qb\u12\ud800""#).map(|bad| (bad.start, bad.length)).collect();
        assert_eq!(found, [(2, 2), (5, 2), (9, 6)]);
    }
}

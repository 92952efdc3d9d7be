//! Texts: lengths, places and order in UTF-16 code units, white space and letters as `java.lang.Character` knows them.

use std::borrow::Cow;
use std::cmp::Ordering;

use durward_ir::fault::{Evaluated, Fault};

/// How many UTF-16 code units the text has.
#[inline]
pub fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The part between two places, counted in UTF-16 code units; both are within the text, and in order.
///
/// # Errors
/// A place lies inside a character (half of one is no text), or beyond the text.
pub fn cut(text: &str, start: usize, end: usize) -> Evaluated<&str> {
    let part = if text.is_ascii() {
        text.get(start..end)
    } else {
        offset(text, start).zip(offset(text, end)).and_then(|(start, end)| text.get(start..end))
    };
    part.ok_or_else(|| Fault::processing("the text would be cut in the middle of a character"))
}

/// Where this many UTF-16 code units end, in bytes.
fn offset(text: &str, units: usize) -> Option<usize> {
    let mut passed = 0;
    for (at, character) in text.char_indices() {
        if passed >= units {
            return (passed == units).then_some(at);
        }
        passed += character.len_utf16();
    }
    (passed == units).then_some(text.len())
}

/// The order of `String.compareTo`. It is that of the code points but for those beyond 16 bits, which come before
/// `U+E000`.
#[inline]
pub fn compare(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}

/// `Character.isWhitespace`: separators but for those that do not break, and control characters that are space.
const fn is_whitespace(character: char) -> bool {
    matches!(
        character,
        '\t'..='\r'
            | '\u{1c}'..='\u{1f}'
            | ' '
            | '\u{1680}'
            | '\u{2000}'..='\u{2006}'
            | '\u{2008}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{205f}'
            | '\u{3000}'
    )
}

/// `String.strip`: without white space at both ends.
#[inline]
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_whitespace)
}

/// `String.stripLeading`: without white space at the start.
#[inline]
pub fn strip_start(text: &str) -> &str {
    text.trim_start_matches(is_whitespace)
}

/// `String.stripTrailing`: without white space at the end.
#[inline]
pub fn strip_end(text: &str) -> &str {
    text.trim_end_matches(is_whitespace)
}

/// `String.trim`: without anything up to `U+0020` at both ends.
#[inline]
pub fn trim(text: &str) -> &str {
    text.trim_matches(|character| character <= ' ')
}

/// `String.isBlank`: empty or white space alone.
#[inline]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_whitespace)
}

/// `String.equalsIgnoreCase`: character by character, equal as they are, in upper case, or in lower case of that.
pub fn equals_ignore_case(a: &str, b: &str) -> bool {
    let (mut left, mut right) = (a.chars(), b.chars());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b || same_letter(a, b) => {}
            (Some(_) | None, Some(_) | None) => return false,
        }
    }
}

fn same_letter(a: char, b: char) -> bool {
    let (a, b) = (upper(a), upper(b));
    a == b || lower(a) == lower(b)
}

/// `Character.toUpperCase`: the letter alone, where the full mapping has several (`ß` stays, `ᾳ` becomes `ᾼ`).
fn upper(character: char) -> char {
    let mut mapped = character.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        (Some(_) | None, Some(_) | None) => match character {
            '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
                above(character, 8)
            }
            '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => above(character, 9),
            _ => character,
        },
    }
}

fn above(character: char, distance: u32) -> char {
    char::from_u32(u32::from(character) + distance).unwrap_or(character)
}

/// `Character.toLowerCase`: `İ` becomes `i`.
fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

/// The zeros of the decimal digits up to `U+FFFF` that `Character.isDigit` knows beside those of ASCII.
const ZEROS: [char; 36] = [
    '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}',
    '\u{c66}', '\u{ce6}', '\u{d66}', '\u{de6}', '\u{e50}', '\u{ed0}', '\u{f20}', '\u{1040}', '\u{1090}',
    '\u{17e0}', '\u{1810}', '\u{1946}', '\u{19d0}', '\u{1a80}', '\u{1a90}', '\u{1b50}', '\u{1bb0}',
    '\u{1c40}', '\u{1c50}', '\u{a620}', '\u{a8d0}', '\u{a900}', '\u{a9d0}', '\u{a9f0}', '\u{aa50}',
    '\u{abf0}', '\u{ff10}',
];

/// `Character.digit(character, 10)`: the value of a decimal digit of any script; `None` for any other character.
pub fn digit(character: char) -> Option<u32> {
    if character.is_ascii() {
        return character.to_digit(10);
    }
    let above = ZEROS.iter().filter_map(|zero| u32::from(character).checked_sub(u32::from(*zero)));
    above.min().filter(|value| *value < 10)
}

/// The text with ASCII in the place of all digits that `Character.digit` knows, and of letters of full width, which are
/// hexadecimal digits to it.
pub fn ascii_digits(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let ascii = |character: char| match character {
        '\u{ff21}'..='\u{ff26}' | '\u{ff41}'..='\u{ff46}' => {
            char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
        }
        _ => digit(character).and_then(|value| char::from_digit(value, 10)).unwrap_or(character),
    };
    Cow::Owned(text.chars().map(ascii).collect())
}

#[cfg(test)]
mod tests {
    use super::{ascii_digits, digit};

    #[test]
    fn digits_of_all_scripts_count() {
        assert_eq!(digit('٣'), Some(3));
        assert_eq!(digit('９'), Some(9));
        assert_eq!(digit('²'), None);
        assert_eq!(digit('Ⅷ'), None);
        assert_eq!(ascii_digits("०x１Ｆｆ²"), "0x1Ff²");
    }
}

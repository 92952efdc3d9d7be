//! `%XX`, as paths, queries and forms have it (RFC 3986, 2.1; the URL standard, 5).

use std::fmt::Write;

/// What a `%` is without two digits behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// A mistake.
    Refused,
    /// Itself.
    Kept,
}

/// The bytes that are meant. `None` for a `%` that is refused.
pub fn decoded(text: &[u8], stray: Stray) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match (first, escaped(after), stray) {
            (b'%', Some((byte, after)), _) => {
                bytes.push(byte);
                rest = after;
            }
            (b'%', None, Stray::Refused) => return None,
            (byte, _, _) => bytes.push(*byte),
        }
    }
    Some(bytes)
}

/// Text of a form: `+` is a blank, `%XX` a byte. `None` for a wrong escape, or what is not UTF-8.
pub fn form_decoded(text: &[u8]) -> Option<String> {
    let blanks: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    String::from_utf8(decoded(&blanks, Stray::Refused)?).ok()
}

/// Appends a name or value of a query, encoded as forms are: a blank is a `+`.
pub fn form_encoded(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'*' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => escape(byte, out),
        }
    }
}

/// Appends one segment of a path, or one value of a query, with everything encoded that could end it.
pub fn segment_encoded(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            _ => escape(byte, out),
        }
    }
}

pub(crate) fn escape(byte: u8, out: &mut String) {
    // Writing to a text does not fail.
    let _ = write!(out, "%{byte:02X}");
}

/// The byte that two digits name, and what follows.
fn escaped(after: &[u8]) -> Option<(u8, &[u8])> {
    let [high, low, after @ ..] = after else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some((u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_it_is_written() {
        let mut out = String::new();
        form_encoded("h\u{e4}nschen klein&", &mut out);
        assert_eq!(out, "h%C3%A4nschen+klein%26");
        assert_eq!(form_decoded(out.as_bytes()).unwrap(), "h\u{e4}nschen klein&");
        assert_eq!((form_decoded(b"%ff"), form_decoded(b"%4")), (None, None));
        let mut out = String::new();
        segment_encoded("a/b c?", &mut out);
        assert_eq!(out, "a%2Fb%20c%3F");
    }

    #[test]
    fn two_digits_are_a_byte_and_fewer_are_refused_or_kept() {
        for stray in [Stray::Refused, Stray::Kept] {
            assert_eq!(decoded(b"a%20b%fF+", stray).unwrap(), b"a b\xff+");
        }
        for text in ["%", "a%4", "%zz", "%+1"] {
            assert_eq!(decoded(text.as_bytes(), Stray::Refused), None, "{text}");
            assert_eq!(decoded(text.as_bytes(), Stray::Kept).unwrap(), text.as_bytes());
        }
    }
}

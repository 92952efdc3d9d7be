//! `xs:anyURI`: what can be told from the text alone that it is no URI.

use crate::datatype::Reason;

/// Accepts what becomes a URI reference of RFC 2396 and 2732 once the characters URIs do not allow are escaped
/// (XML Schema part 2, section 3.2.17): so spaces and other scripts are fine, but a broken `%` escape, a second
/// `#` or an impossible scheme are not. No normalisation: URIs are compared code point by code point.
pub(crate) fn parse_uri(text: &str) -> Result<(), Reason> {
    let mut bytes = text.as_bytes();
    let mut fragments = 0_u8;
    let mut path_begun = false;
    let mut position = 0_usize;
    while let Some((first, rest)) = bytes.split_first() {
        match first {
            b'%' => check_escape(rest)?,
            b'#' => fragments = fragments.saturating_add(1),
            b':' if !path_begun => check_scheme(text.get(..position).unwrap_or_default())?,
            0..=31 | 127 => return Err("control characters must be escaped"),
            _ => {}
        }
        path_begun |= matches!(first, b'/' | b'?' | b'#' | b':');
        position += 1;
        bytes = rest;
    }
    if fragments > 1 { Err("it has more than one `#`") } else { Ok(()) }
}

fn check_escape(after: &[u8]) -> Result<(), Reason> {
    match after {
        [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => Ok(()),
        _ => Err("`%` must be followed by two hexadecimal digits"),
    }
}

fn check_scheme(scheme: &str) -> Result<(), Reason> {
    let mut bytes = scheme.bytes();
    let begins_well = bytes.next().is_some_and(|b| b.is_ascii_alphabetic());
    if begins_well && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')) {
        Ok(())
    } else {
        Err("what stands before the first `:` is not a scheme")
    }
}

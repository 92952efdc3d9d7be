//! `xs:anyURI`: what can be told from the text alone that it is no URI.

use crate::datatype::Reason;

/// Accepts what becomes a URI reference of RFC 2396 and 2732 once the characters URIs do not allow are escaped
/// (XML Schema part 2, section 3.2.17): so spaces and other scripts are fine, but a broken `%` escape, a second
/// `#` or an impossible scheme are not. No normalisation: URIs are compared code point by code point.
pub(crate) fn parse_uri(text: &str) -> Result<(), Reason> {
    // Every request has some: plain passes over the bytes are faster than one clever one.
    let bytes = text.as_bytes();
    if bytes.iter().fold(false, |found, b| found | b.is_ascii_control()) {
        return Err("control characters must be escaped");
    }
    if bytes.iter().filter(|b| **b == b'#').count() > 1 {
        return Err("it has more than one `#`");
    }
    check_escapes(text)?;
    match text.split_once([':', '/', '?', '#']) {
        Some((scheme, _)) if text.as_bytes().get(scheme.len()) == Some(&b':') => check_scheme(scheme),
        Some(_) | None => Ok(()),
    }
}

fn check_escapes(text: &str) -> Result<(), Reason> {
    text.split('%').skip(1).try_for_each(|after| check_escape(after.as_bytes()))
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

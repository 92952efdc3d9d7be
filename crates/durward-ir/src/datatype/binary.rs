//! `xs:hexBinary` and `xs:base64Binary`.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::datatype::Reason;
use crate::datatype::lexical::is_xml_space;

/// Reads pairs of hexadecimal digits of either case.
pub(crate) fn parse_hex(text: &str) -> Result<Arc<[u8]>, Reason> {
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    if !odd.is_empty() {
        return Err("the number of digits is odd");
    }
    pairs
        .iter()
        .map(|[high, low]| Some(hex_digit(*high)? << 4 | hex_digit(*low)?))
        .collect::<Option<_>>()
        .ok_or("")
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Writes upper-case digits, the canonical form.
pub(crate) fn write_hex(octets: &[u8], out: &mut String) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    for octet in octets {
        for half in [octet >> 4, octet & 15] {
            out.push(DIGITS.get(usize::from(half)).copied().unwrap_or_default());
        }
    }
}

/// Reads base 64 with its padding; white space may stand between the characters (XML Schema part 2, 3.2.16).
pub(crate) fn parse_base64(text: &str) -> Result<Arc<[u8]>, Reason> {
    let decoded = if text.contains(is_xml_space) {
        let dense: String = text.chars().filter(|c| !is_xml_space(*c)).collect();
        STANDARD.decode(dense)
    } else {
        STANDARD.decode(text)
    };
    decoded.map(Arc::from).map_err(|_| "")
}

/// Writes base 64 with padding and without white space, the canonical form.
pub(crate) fn write_base64(octets: &[u8], out: &mut String) {
    STANDARD.encode_string(octets, out);
}

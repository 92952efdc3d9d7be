//! Base64 and hexadecimal, as Java reads and writes them.

use base64::Engine;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::jvm::strip;

/// Base64 (RFC 4648, section 4), padded where it is written.
pub const BASE64: GeneralPurpose = engine(&STANDARD);

/// Base64 for URLs (RFC 4648, section 5), padded where it is written.
pub const BASE64_URL: GeneralPurpose = engine(&URL_SAFE);

/// As `java.util.Base64` reads: bits that are left over at the end are ignored.
const fn engine(alphabet: &Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

/// The octets of a text in [`BASE64`] or [`BASE64_URL`]; `None` when it is not written in it. Padding may be missing, but not in part.
pub fn read(text: &str, engine: &GeneralPurpose) -> Option<Vec<u8>> {
    if text.ends_with('=') { read_padded(text, engine) } else { engine.decode(text).ok() }
}

/// As [`read`]; but padding must be there, and something to be padded.
pub fn read_padded(text: &str, engine: &GeneralPurpose) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(4) { None } else { engine.decode(text).ok() }
}

/// The octets of a text in hexadecimal, as `java.util.HexFormat` reads, after the engine took white space and underscores away; `None`
/// when it has other characters or half an octet.
pub fn read_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = strip(text)
        .chars()
        .filter(|character| *character != '_')
        .map(|character| character.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Octets in lower-case hexadecimal.
pub fn hex(octets: &[u8]) -> String {
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

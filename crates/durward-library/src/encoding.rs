//! The library `encoding`: Base64 and hexadecimal of the UTF-8 of texts.
//!
//! Texts of more than 10,000,000 UTF-16 code units are refused, as SAPL does, before and after encoding.

use base64::Engine;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;

use crate::jvm::{length, strip};
use crate::limits::{TEXT_LENGTH_MAX, check_text_length};
use crate::table::{row, unchecked};

#[rustfmt::skip]
pub(crate) const FUNCTIONS: &[LibraryFunction] = &[
    row("encoding.base64Encode", &[Text], |a| encode(a, |text| BASE64.encode(text)), "The text in Base64, padded."),
    row("encoding.base64Decode", &[Text], |a| decode(a, |text| read(text, &BASE64)),
        "The text that is written in Base64, with or without padding; an error when it is not UTF-8."),
    row("encoding.base64DecodeStrict", &[Text], |a| decode(a, |text| read_padded(text, &BASE64)),
        "The text that is written in Base64 with padding; an error when it is not UTF-8."),
    row("encoding.isValidBase64", &[Text], |a| test(a, |text| read(text, &BASE64).is_some()),
        "Whether the text is Base64, with or without padding."),
    row("encoding.isValidBase64Strict", &[Text], |a| test(a, |text| read_padded(text, &BASE64).is_some()),
        "Whether the text is Base64 with padding, and not empty."),
    row("encoding.base64UrlEncode", &[Text], |a| encode(a, |text| BASE64_URL.encode(text)),
        "The text in Base64 for URLs, padded."),
    row("encoding.base64UrlDecode", &[Text], |a| decode(a, |text| read(text, &BASE64_URL)),
        "The text that is written in Base64 for URLs, with or without padding; an error when it is not UTF-8."),
    row("encoding.base64UrlDecodeStrict", &[Text], |a| decode(a, |text| read_padded(text, &BASE64_URL)),
        "The text that is written in Base64 for URLs with padding; an error when it is not UTF-8."),
    row("encoding.isValidBase64Url", &[Text], |a| test(a, |text| read(text, &BASE64_URL).is_some()),
        "Whether the text is Base64 for URLs, with or without padding."),
    row("encoding.isValidBase64UrlStrict", &[Text], |a| test(a, |text| read_padded(text, &BASE64_URL).is_some()),
        "Whether the text is Base64 for URLs with padding, and not empty."),
    row("encoding.hexEncode", &[Text], |a| encode(a, |text| hex(text.as_bytes())), "The text in lower-case hexadecimal."),
    row("encoding.hexDecode", &[Text], |a| decode(a, read_hex),
        "The text that is written in hexadecimal, with underscores anywhere; an error when it is not UTF-8."),
    row("encoding.isValidHex", &[Text], |a| test(a, |text| read_hex(text).is_some_and(|octets| !octets.is_empty())),
        "Whether the text is hexadecimal of whole octets, with underscores anywhere, and not empty."),
];

pub(crate) const BASE64: GeneralPurpose = engine(&STANDARD);
pub(crate) const BASE64_URL: GeneralPurpose = engine(&URL_SAFE);

/// As `java.util.Base64` reads: bits that are left over at the end are ignored.
const fn engine(alphabet: &Alphabet) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

/// Padding may be missing, but not in part.
pub(crate) fn read(text: &str, engine: &GeneralPurpose) -> Option<Vec<u8>> {
    if text.ends_with('=') { read_padded(text, engine) } else { engine.decode(text).ok() }
}

/// Padding must be there, and something to be padded.
pub(crate) fn read_padded(text: &str, engine: &GeneralPurpose) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(4) { None } else { engine.decode(text).ok() }
}

/// As `java.util.HexFormat` reads, after the engine took white space and underscores away.
pub(crate) fn read_hex(text: &str) -> Option<Vec<u8>> {
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
pub(crate) fn hex(octets: &[u8]) -> String {
    let digits = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn encode(arguments: &[Value], encode: impl Fn(&str) -> String) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    check_text_length(length(text))?;
    let encoded = encode(text);
    check_text_length(encoded.len())?;
    Ok(Value::Text(encoded.into()))
}

fn decode(arguments: &[Value], decode: impl Fn(&str) -> Option<Vec<u8>>) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    check_text_length(length(text))?;
    let octets = decode(text).ok_or_else(|| Fault::processing("the text is not encoded as it should be"))?;
    match String::from_utf8(octets) {
        Ok(text) => Ok(Value::Text(text.into())),
        Err(_) => Err(Fault::processing("what is encoded is not a text in UTF-8")),
    }
}

fn test(arguments: &[Value], holds: impl Fn(&str) -> bool) -> Evaluated<Value> {
    let [Value::Text(text)] = arguments else { return unchecked() };
    Ok(Value::Boolean(length(text) <= TEXT_LENGTH_MAX && holds(text)))
}

//! The library `encoding`: Base64 and hexadecimal of the UTF-8 of texts.
//!
//! Texts of more than 10,000,000 UTF-16 code units are refused, as SAPL does, before and after encoding.

use base64::Engine;
use durward_functions::encoding::{BASE64, BASE64_URL, hex, read, read_hex, read_padded};
use durward_functions::jvm::length;
use durward_functions::limits::{TEXT_LENGTH_MAX, check_text_length};
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;

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

//! Distinguished names as `X500Principal.getName` writes them: RFC 2253 with the choices of the JDK.

use std::fmt::Write;

use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::{Encode, Tag, Tagged};
use x509_cert::name::Name;

use durward_functions::encoding::hex;
use durward_functions::jvm;

/// Types that have a keyword; any other is written as its OID, with a value in hexadecimal.
const KEYWORDS: [(&str, &str); 9] = [
    (COMMON_NAME, "CN"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
];

const COMMON_NAME: &str = "2.5.4.3";

/// The name, its most special part first.
pub(super) fn text(name: &Name) -> String {
    let mut out = String::new();
    let relative_names: Vec<_> = name.iter_rdn().collect();
    for relative in relative_names.into_iter().rev() {
        if !out.is_empty() {
            out.push(',');
        }
        for (at, pair) in relative.iter().enumerate() {
            if at > 0 {
                out.push('+');
            }
            write_pair(pair, &mut out);
        }
    }
    out
}

/// The common name nearest to the root; of several at one place the one that is first in upper case. `None` also where
/// it is no text: Java gives an address in memory there.
pub(super) fn common_name(name: &Name) -> Option<String> {
    let is_common_name = |pair: &&AttributeTypeAndValue| pair.oid.to_string() == COMMON_NAME;
    let relative = name.iter_rdn().find(|relative| relative.iter().any(|pair| is_common_name(&pair)))?;
    let names = relative.iter().filter(is_common_name);
    let texts: Option<Vec<String>> =
        names.map(|pair| text_of(pair.value.tag(), pair.value.value())).collect();
    texts?.into_iter().min_by(|a, b| jvm::compare(&a.to_uppercase(), &b.to_uppercase()))
}

fn write_pair(pair: &AttributeTypeAndValue, out: &mut String) {
    let oid = pair.oid.to_string();
    let keyword = KEYWORDS.into_iter().find(|(known, _)| *known == oid).map(|(_, keyword)| keyword);
    let text = keyword.and_then(|_| text_of(pair.value.tag(), pair.value.value()));
    out.push_str(keyword.unwrap_or(&oid));
    match text {
        Some(text) => {
            out.push('=');
            write_escaped(&text, out);
        }
        None => {
            let encoded = pair.value.to_der().unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = write!(out, "=#{}", hex(&encoded));
        }
    }
}

/// The text of a value of a type that is one.
fn text_of(tag: Tag, octets: &[u8]) -> Option<String> {
    if matches!(tag, Tag::PrintableString | Tag::Ia5String | Tag::GeneralString | Tag::Utf8String) {
        return Some(String::from_utf8_lossy(octets).into_owned());
    }
    if tag == Tag::TeletexString {
        return Some(octets.iter().map(|octet| char::from(*octet)).collect());
    }
    let (units, _) = octets.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
    (tag == Tag::BmpString).then(|| String::from_utf16_lossy(&units.collect::<Vec<_>>()))
}

fn write_escaped(text: &str, out: &mut String) {
    let is_blank = |c: char| matches!(c, ' ' | '\r');
    let inner = text.trim_matches(is_blank);
    let lead = text.len() - text.trim_start_matches(is_blank).len();
    for (at, character) in text.char_indices() {
        let is_outside = at < lead || at >= lead + inner.len();
        if is_outside || matches!(character, ',' | '=' | '+' | '<' | '>' | '#' | ';' | '"' | '\\') {
            out.push('\\');
        }
        match character {
            '\0' => out.push_str("\\00"),
            other => out.push(other),
        }
    }
}

//! Keys, certificates and signatures, as the libraries `keys`, `signature`, `x509` and the module `jwt` share them.
//!
//! Keys are read and signatures are verified by `durward-jwt`, certificates are read by `x509-cert`. What is here is what Java makes of them:
//! which keys it accepts, and in which words it refuses. Nothing here signs or holds a private key.

mod certificate;
mod key;
mod name;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use certificate::{AlternativeName, ParsedCertificate};
pub(crate) use key::{JavaPublicKey, name as curve_name};
pub(crate) use verify::{ecdsa_der, ed25519, rsa};

use durward_functions::encoding;
use durward_functions::jvm::{self, trim};

/// Why something is not what it should be, to be put behind a colon.
pub(crate) type Reason = String;

/// The longest text that keys and certificates are read from, in UTF-16 code units, as SAPL has it.
const LENGTH_MAX: usize = 256 * 1024;

/// How PEM breaks lines (RFC 7468, section 2).
const PEM_LINE: usize = 64;

/// Octets in Base64, with or without padding.
pub(crate) fn read_base64(text: &str) -> Option<Vec<u8>> {
    encoding::read(text, &encoding::BASE64)
}

/// Octets in Base64 with padding; not of an empty text.
pub(crate) fn read_base64_padded(text: &str) -> Option<Vec<u8>> {
    encoding::read_padded(text, &encoding::BASE64)
}

/// Octets in Base64 for URLs, with or without padding.
pub(crate) fn read_base64_url(text: &str) -> Option<Vec<u8>> {
    encoding::read(text, &encoding::BASE64_URL)
}

/// The octets of a public key in PEM. Its label is not looked at, as in SAPL: the octets tell what it is.
pub(crate) fn key_octets(text: &str) -> Result<Vec<u8>, Reason> {
    pem_octets(text)
}

/// The octets of a certificate in PEM or in Base64 alone, which then may have no white space in it.
pub(crate) fn certificate_octets(text: &str) -> Result<Vec<u8>, Reason> {
    if text.contains("BEGIN CERTIFICATE") {
        return pem_octets(text);
    }
    check_length(text)?;
    read_base64(text).ok_or_else(|| "Invalid Base64 encoding in certificate".to_owned())
}

fn check_length(text: &str) -> Result<(), Reason> {
    if jvm::length(text) > LENGTH_MAX {
        return Err(format!("Cryptographic input exceeds the maximum length of {LENGTH_MAX} characters"));
    }
    Ok(())
}

/// The octets of the first object in PEM: text before it is skipped, lines with a colon are its headers, and what comes
/// behind it is not read.
fn pem_octets(text: &str) -> Result<Vec<u8>, Reason> {
    const BEGIN: &str = "-----BEGIN ";
    const DASHES: &str = "-----";
    check_length(text)?;
    let missing = || "No PEM content found".to_owned();
    let mut lines = lines(text).skip_while(|line| !line.starts_with(BEGIN));
    let first = lines.next().and_then(|line| line.strip_prefix(BEGIN)).ok_or_else(missing)?;
    let label = trim(first).strip_suffix(DASHES).filter(|label| !label.is_empty() && !label.contains('-'));
    let end = format!("-----END {}{DASHES}", label.ok_or_else(missing)?);
    let mut content = String::new();
    loop {
        let line = lines.next().ok_or_else(missing)?;
        if line.contains(':') {
            continue;
        }
        if line.starts_with(&end) {
            break;
        }
        content.push_str(trim(line));
    }
    content.retain(|character| !matches!(character, '\t' | ' '));
    let octets = if content.is_empty() { Some(Vec::new()) } else { read_base64_padded(&content) };
    octets.ok_or_else(|| "PEM decoding failed".to_owned())
}

/// Lines that end in `\n`, `\r` or both, as Java reads them.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let at = text.find(['\n', '\r']).unwrap_or(text.len());
        let (line, behind) = text.split_at_checked(at)?;
        let behind = behind.strip_prefix("\r\n").or_else(|| behind.get(1..)).unwrap_or_default();
        rest = Some(behind).filter(|text| !text.is_empty());
        Some(line)
    })
}

/// A public key in PEM, with a line end behind it.
pub(crate) fn key_pem(octets: &[u8]) -> String {
    use base64::Engine;
    let encoded = base64::engine::general_purpose::STANDARD.encode(octets);
    let mut pem = "-----BEGIN PUBLIC KEY-----".to_owned();
    for (at, character) in encoded.chars().enumerate() {
        if at % PEM_LINE == 0 {
            pem.push('\n');
        }
        pem.push(character);
    }
    pem.push_str("\n-----END PUBLIC KEY-----\n");
    pem
}

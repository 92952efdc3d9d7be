//! The library `x509`: what certificates say. Nothing here checks who signed them, or whether they were revoked.

use std::net::IpAddr;

use durward_functions::jvm::{equals_ignore_case, ipv6};
use durward_functions::table::{row, unchecked};
use durward_ir::fault::{Evaluated, Fault};
use durward_ir::library::LibraryFunction;
use durward_ir::library::Parameter::Text;
use durward_ir::value::Value;
use durward_library_time::{millis_of_instant, text_of_second};

use crate::crypto::{AlternativeName, ParsedCertificate};
use crate::digest::digest_by_name;

/// The functions of the library `x509`, overloads one by one.
#[rustfmt::skip]
pub const FUNCTIONS: &[LibraryFunction] = &[
    row("x509.parseCertificate", &[Text], |a| give(a, "Failed to parse certificate", |c, _| Ok(described(c))),
        "`{version, serialNumber, subject, issuer, notBefore, notAfter, signatureAlgorithm, publicKey}` of a \
         certificate in PEM or Base64."),
    row("x509.extractSubjectDn", &[Text], |a| give(a, "Failed to extract subject DN", |c, _| Ok(text(c.subject()))),
        "The distinguished name of the subject (RFC 2253)."),
    row("x509.extractIssuerDn", &[Text], |a| give(a, "Failed to extract issuer DN", |c, _| Ok(text(c.issuer()))),
        "The distinguished name of the issuer (RFC 2253)."),
    row("x509.extractCommonName", &[Text], |a| give(a, "Failed to extract common name", |c, _| common_name(c)),
        "The common name of the subject, of several the last in `extractSubjectDn`; an error when it has none."),
    row("x509.extractSerialNumber", &[Text],
        |a| give(a, "Failed to extract serial number", |c, _| Ok(text(c.serial_number()))),
        "The serial number as a text of decimal digits."),
    row("x509.extractNotBefore", &[Text],
        |a| give(a, "Failed to extract notBefore date", |c, _| Ok(text(text_of_second(c.not_before())))),
        "From when on the certificate is valid (ISO 8601)."),
    row("x509.extractNotAfter", &[Text],
        |a| give(a, "Failed to extract notAfter date", |c, _| Ok(text(text_of_second(c.not_after())))),
        "Until when the certificate is valid (ISO 8601)."),
    row("x509.extractFingerprint", &[Text, Text],
        |a| give(a, "Failed to extract fingerprint", |c, more| fingerprint(c, one(more)?).map(text)),
        "The digest of the certificate by this algorithm (`SHA-256`, ...), in hexadecimal."),
    row("x509.matchesFingerprint", &[Text, Text, Text],
        |a| give(a, "Failed to match fingerprint", matches_fingerprint),
        "Whether the certificate has this fingerprint (second) by this algorithm (third)."),
    row("x509.extractSubjectAltNames", &[Text],
        |a| give(a, "Failed to extract subject alternative names", |c, _| Ok(alternative_names(c))),
        "The alternative names of the subject, each as `{type, value}`."),
    row("x509.hasDnsName", &[Text, Text],
        |a| give(a, "Failed to check DNS name", |c, more| Ok(Value::Boolean(has_dns_name(c, one(more)?)))),
        "Whether an alternative DNS name of the certificate is this one; `*.` stands for one label before at least two."),
    row("x509.hasIpAddress", &[Text, Text],
        |a| give(a, "Failed to check IP address", |c, more| Ok(Value::Boolean(has_address(c, one(more)?)))),
        "Whether an alternative name of the certificate is this IP address, however it is written."),
    row("x509.isValidAt", &[Text, Text], |a| give(a, "Failed to check validity", |c, more| is_valid_at(c, one(more)?)),
        "Whether the certificate is valid at an instant (ISO 8601)."),
];

/// When a certificate is valid, both bounds included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateValidity {
    /// The first second, since 1970 in UTC.
    pub not_before_s: i64,
    /// The last second, since 1970 in UTC.
    pub not_after_s: i64,
}

/// When a certificate, in PEM or Base64, is valid: what sources of attributes need that watch one.
///
/// # Errors
/// The text is no certificate.
pub fn validity(certificate: &str) -> Evaluated<CertificateValidity> {
    let certificate = ParsedCertificate::read(certificate)
        .map_err(|reason| Fault::processing(format!("Failed to parse certificate: {reason}")))?;
    Ok(CertificateValidity { not_before_s: certificate.not_before(), not_after_s: certificate.not_after() })
}

/// The certificate in the first argument, and the others.
fn give(
    arguments: &[Value],
    failed: &str,
    give: impl Fn(&ParsedCertificate, &[Value]) -> Evaluated<Value>,
) -> Evaluated<Value> {
    let Some((Value::Text(certificate), more)) = arguments.split_first() else { return unchecked() };
    let certificate = ParsedCertificate::read(certificate)
        .map_err(|reason| Fault::processing(format!("{failed}: {reason}")))?;
    give(&certificate, more)
}

fn one(more: &[Value]) -> Evaluated<&str> {
    match more {
        [Value::Text(text)] => Ok(text),
        _ => unchecked().map(|_| ""),
    }
}

fn text(text: impl AsRef<str>) -> Value {
    Value::Text(text.as_ref().into())
}

fn described(certificate: &ParsedCertificate) -> Value {
    Value::object([
        ("version", Value::number(certificate.version())),
        ("serialNumber", text(certificate.serial_number())),
        ("subject", text(certificate.subject())),
        ("issuer", text(certificate.issuer())),
        ("notBefore", text(text_of_second(certificate.not_before()))),
        ("notAfter", text(text_of_second(certificate.not_after()))),
        ("signatureAlgorithm", text(certificate.signature_algorithm())),
        (
            "publicKey",
            Value::object([("algorithm", text(certificate.key_algorithm())), ("format", text("X.509"))]),
        ),
    ])
}

fn common_name(certificate: &ParsedCertificate) -> Evaluated<Value> {
    let name = certificate
        .common_name()
        .ok_or_else(|| Fault::processing("Certificate subject does not contain a Common Name."))?;
    Ok(text(name))
}

fn fingerprint(certificate: &ParsedCertificate, algorithm: &str) -> Evaluated<String> {
    let digest = digest_by_name(algorithm)
        .ok_or_else(|| Fault::processing(format!("Hash algorithm not supported: {algorithm}.")))?;
    Ok(digest(certificate.der()))
}

fn matches_fingerprint(certificate: &ParsedCertificate, more: &[Value]) -> Evaluated<Value> {
    let [Value::Text(expected), Value::Text(algorithm)] = more else { return unchecked() };
    Ok(Value::Boolean(equals_ignore_case(&fingerprint(certificate, algorithm)?, expected)))
}

fn alternative_names(certificate: &ParsedCertificate) -> Value {
    let names = certificate.alternative_names().iter();
    Value::array(
        names.map(|name| Value::object([("type", text(name.kind_name())), ("value", text(&name.text))])),
    )
}

fn has_dns_name(certificate: &ParsedCertificate, wanted: &str) -> bool {
    let names = certificate.alternative_names().iter();
    names
        .filter(|name| name.kind == AlternativeName::DNS_NAME)
        .any(|name| matches_dns_name(&name.text, wanted))
}

/// Without regard to case; `*.a.b` in the certificate is any label in front of `.a.b` (RFC 9525, section 6.3).
fn matches_dns_name(certified: &str, wanted: &str) -> bool {
    let (certified, wanted) = (certified.to_lowercase(), wanted.to_lowercase());
    if certified == wanted {
        return true;
    }
    let Some(base) = certified.strip_prefix("*.").filter(|base| !base.contains('*')) else { return false };
    // Empty labels at the end do not count: a whole domain such as `com` is not given away.
    let has_two_labels = base.trim_end_matches('.').contains('.');
    has_two_labels && wanted.split_once('.').is_some_and(|(_, rest)| rest == base)
}

fn has_address(certificate: &ParsedCertificate, wanted: &str) -> bool {
    let Some(wanted) = address(wanted) else { return false };
    let names = certificate.alternative_names().iter();
    names.filter(|name| name.kind == AlternativeName::ADDRESS).any(|name| address(&name.text) == Some(wanted))
}

/// The address that a text is to Java: four numbers without zeros in front, or what has a colon and is IPv6.
fn address(text: &str) -> Option<IpAddr> {
    if !text.contains(':') {
        return text.parse().ok().map(IpAddr::V4);
    }
    let bare = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => text,
    };
    ipv6(bare)
}

fn is_valid_at(certificate: &ParsedCertificate, instant: &str) -> Evaluated<Value> {
    let millis = millis_of_instant(instant).ok_or_else(|| {
        Fault::processing(format!("Invalid timestamp: Invalid ISO 8601 timestamp format: {instant}."))
    })?;
    let (first, last) = (certificate.not_before(), certificate.not_after());
    Ok(Value::Boolean(first.saturating_mul(1000) <= millis && millis <= last.saturating_mul(1000)))
}

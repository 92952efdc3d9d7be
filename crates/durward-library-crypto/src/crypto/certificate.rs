//! X.509 certificates.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use num_bigint::BigInt;
use x509_cert::certificate::{CertificateInner, Raw, Version};
use x509_cert::der::asn1::{Any, ObjectIdentifier};
use x509_cert::der::{Decode, Encode, Reader, SliceReader, Tag, Tagged};
use x509_cert::name::Name;
use x509_cert::spki::SubjectPublicKeyInfoRef;
use x509_cert::time::Time;

use super::key::JavaPublicKey;
use super::{Reason, certificate_octets, name};

/// The extension that lists alternative names (RFC 5280, section 4.2.1.6).
const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");

/// A certificate, as it was and as it was read.
pub(crate) struct ParsedCertificate {
    der: Vec<u8>,
    inner: CertificateInner<Raw>,
    key: Vec<u8>,
    key_algorithm: String,
    alternative_names: Vec<AlternativeName>,
}

/// One alternative name of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AlternativeName {
    /// The number of its kind: 2 is a DNS name, 7 an address.
    pub(crate) kind: u32,
    pub(crate) text: String,
}

impl AlternativeName {
    pub(crate) const DNS_NAME: u32 = 2;
    pub(crate) const ADDRESS: u32 = 7;

    /// The kind in the words of RFC 5280.
    pub(crate) const fn kind_name(&self) -> &'static str {
        match self.kind {
            0 => "otherName",
            1 => "rfc822Name",
            2 => "dNSName",
            3 => "x400Address",
            4 => "directoryName",
            5 => "ediPartyName",
            6 => "uniformResourceIdentifier",
            7 => "iPAddress",
            8 => "registeredID",
            _ => "unknown",
        }
    }
}

impl ParsedCertificate {
    /// Reads a certificate in PEM or Base64. What comes behind it is not looked at, and no signature is checked.
    pub(crate) fn read(text: &str) -> Result<ParsedCertificate, Reason> {
        let octets = certificate_octets(text)?;
        let unreadable = |error: x509_cert::der::Error| format!("not a certificate: {error}");
        let mut reader = SliceReader::new(&octets).map_err(unreadable)?;
        let der = reader.tlv_bytes().map_err(unreadable)?.to_vec();
        let inner = CertificateInner::<Raw>::from_der(&der).map_err(unreadable)?;
        let key = inner.tbs_certificate().subject_public_key_info().to_der().map_err(unreadable)?;
        let key_algorithm = key_algorithm(&key)?;
        let alternative_names = checked_names(&inner)?;
        Ok(ParsedCertificate { der, inner, key, key_algorithm, alternative_names })
    }

    /// The certificate in DER.
    pub(crate) fn der(&self) -> &[u8] {
        &self.der
    }

    /// 1 to 3.
    pub(crate) fn version(&self) -> i64 {
        match self.inner.tbs_certificate().version() {
            Version::V1 => 1,
            Version::V2 => 2,
            Version::V3 => 3,
        }
    }

    /// The serial number in decimal digits.
    pub(crate) fn serial_number(&self) -> String {
        BigInt::from_signed_bytes_be(self.inner.tbs_certificate().serial_number().as_bytes()).to_string()
    }

    /// The subject in RFC 2253.
    pub(crate) fn subject(&self) -> String {
        name::text(self.inner.tbs_certificate().subject())
    }

    /// The common name of the subject: of several the last one in RFC 2253, and of several in one part the first in the
    /// order of letters.
    pub(crate) fn common_name(&self) -> Option<String> {
        name::common_name(self.inner.tbs_certificate().subject())
    }

    /// The issuer in RFC 2253.
    pub(crate) fn issuer(&self) -> String {
        name::text(self.inner.tbs_certificate().issuer())
    }

    /// From when on it is valid, in seconds since the epoch.
    pub(crate) fn not_before(&self) -> i64 {
        seconds(self.inner.tbs_certificate().validity().not_before)
    }

    /// The last second in which it is valid, since the epoch.
    pub(crate) fn not_after(&self) -> i64 {
        seconds(self.inner.tbs_certificate().validity().not_after)
    }

    /// The signature's algorithm as Java calls it: a name, or the OID.
    pub(crate) fn signature_algorithm(&self) -> String {
        let oid = self.inner.signature_algorithm().oid.to_string();
        let known = SIGNATURES.into_iter().find(|(known, _)| *known == oid);
        known.map_or(oid, |(_, name)| name.to_owned())
    }

    /// The public key in DER.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The key's algorithm as Java calls it: a name, or the OID.
    pub(crate) fn key_algorithm(&self) -> &str {
        &self.key_algorithm
    }

    /// The alternative names of the subject, in their order; none where one of them cannot be read, as in Java.
    pub(crate) fn alternative_names(&self) -> &[AlternativeName] {
        &self.alternative_names
    }
}

/// The alternative names, of a certificate whose names are as Java's reader wants them.
fn checked_names(certificate: &CertificateInner<Raw>) -> Result<Vec<AlternativeName>, Reason> {
    let content = certificate.tbs_certificate();
    if certificate.signature_algorithm() != content.signature() {
        return Err("Signature algorithm mismatch".to_owned());
    }
    if content.issuer().is_empty() {
        return Err("Empty issuer DN not allowed in X509Certificates".to_owned());
    }
    let extensions = content.extensions();
    let mut found =
        extensions.into_iter().flatten().filter(|extension| extension.extn_id == ALTERNATIVE_NAMES);
    let extension = found.next();
    let is_critical = extension.is_some_and(|extension| extension.critical);
    let names = match extension.map(|extension| read_names(extension.extn_value.as_bytes())) {
        None => Vec::new(),
        Some(Ok(names)) => names,
        Some(Err(reason)) if is_critical => return Err(reason),
        Some(Err(_)) => Vec::new(),
    };
    if content.subject().is_empty() && (names.is_empty() || !is_critical) {
        return Err("a certificate without subject must have a critical alternative name".to_owned());
    }
    Ok(names)
}

fn read_names(octets: &[u8]) -> Result<Vec<AlternativeName>, Reason> {
    let names = Vec::<Any>::from_der(octets).map_err(|error| error.to_string())?;
    names.iter().map(alternative_name).collect()
}

/// Java refuses a certificate when it knows the kind of its key but not how to read it.
fn key_algorithm(key: &[u8]) -> Result<String, Reason> {
    let info = SubjectPublicKeyInfoRef::from_der(key).map_err(|error| error.to_string())?;
    if let Some(key) = JavaPublicKey::from_info(&info)? {
        return Ok(key.algorithm().to_owned());
    }
    let oid = info.algorithm.oid.to_string();
    let known = KEYS.into_iter().find(|(known, _)| *known == oid);
    Ok(known.map_or(oid, |(_, name)| name.to_owned()))
}

fn seconds(time: Time) -> i64 {
    i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX)
}

fn alternative_name(name: &Any) -> Result<AlternativeName, Reason> {
    let Tag::ContextSpecific { number, constructed } = name.tag() else {
        return Err("an alternative name is of no known kind".to_owned());
    };
    let (kind, octets) = (number.value(), name.value());
    if constructed != matches!(kind, 0 | 3 | 4 | 5) {
        return Err("an alternative name is not encoded as its kind must be".to_owned());
    }
    let text = match kind {
        0 | 5 => retagged(name, SEQUENCE)?,
        1 => mailbox(&ascii(octets))?,
        2 => ascii(octets),
        3 => retagged(name, IA5_STRING)?,
        4 => name::text(&Name::from_der(octets).map_err(|error| error.to_string())?),
        6 => uri(&ascii(octets))?,
        7 => address(octets).ok_or("an alternative name is no address")?,
        8 => ObjectIdentifier::from_bytes(octets).map_err(|error| error.to_string())?.to_string(),
        _ => return Err(format!("Unrecognized GeneralName tag, ({kind})")),
    };
    Ok(AlternativeName { kind, text })
}

const SEQUENCE: u8 = 0x30;
const IA5_STRING: u8 = 0x16;

/// The name in DER under another tag, in Base64.
fn retagged(name: &Any, tag: u8) -> Result<String, Reason> {
    use base64::Engine;
    let mut der = name.to_der().map_err(|error| error.to_string())?;
    if let Some(first) = der.first_mut() {
        *first = tag;
    }
    Ok(base64::engine::general_purpose::STANDARD.encode(der))
}

/// What is no ASCII becomes `U+FFFD`.
fn ascii(octets: &[u8]) -> String {
    let character =
        |octet: &u8| if octet.is_ascii() { char::from(*octet) } else { char::REPLACEMENT_CHARACTER };
    octets.iter().map(character).collect()
}

fn mailbox(text: &str) -> Result<String, Reason> {
    let domain = text.split_once('@').map_or(text, |(_, domain)| domain);
    if matches!(domain, "" | ".") {
        return Err("an alternative name is no mailbox".to_owned());
    }
    Ok(text.to_owned())
}

/// A URI with a scheme. Java reads the rest of it, too; what it stumbles over is rare in certificates.
fn uri(text: &str) -> Result<String, Reason> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let is_legal = |c: char| !c.is_ascii_control() && !" \"<>\\^`{|}".contains(c);
    match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) && !rest.is_empty() && rest.chars().all(is_legal) => {
            Ok(text.to_owned())
        }
        Some(_) | None => Err(format!("invalid URI name:{text}")),
    }
}

/// An address as `InetAddress.getHostAddress` writes it, eight groups for IPv6 and none left out; a network with its mask.
fn address(octets: &[u8]) -> Option<String> {
    match octets.len() {
        4 | 16 => host(octets),
        8 => {
            let (address, mask) = octets.split_at_checked(4)?;
            Some(format!("{}/{}", host(address)?, host(mask)?))
        }
        32 => {
            let (address, mask) = octets.split_at_checked(16)?;
            let mask = u128::from_be_bytes(mask.try_into().ok()?);
            let ones = mask.leading_ones();
            (mask.count_ones() == ones).then_some(format!("{}/{ones}", host(address)?))
        }
        _ => None,
    }
}

fn host(octets: &[u8]) -> Option<String> {
    if let Ok(octets) = <[u8; 4]>::try_from(octets) {
        return Some(Ipv4Addr::from(octets).to_string());
    }
    let address = Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?);
    if let IpAddr::V4(mapped) = IpAddr::V6(address).to_canonical() {
        return Some(mapped.to_string());
    }
    let groups: Vec<String> = address.segments().iter().map(|group| format!("{group:x}")).collect();
    Some(groups.join(":"))
}

/// Kinds of keys that only have a name here.
const KEYS: [(&str, &str); 6] = [
    ("1.2.840.113549.1.1.10", "RSASSA-PSS"),
    ("1.2.840.10040.4.1", "DSA"),
    ("1.2.840.113549.1.3.1", "DH"),
    ("1.2.840.10046.2.1", "DH"),
    ("1.3.101.110", "XDH"),
    ("1.3.101.111", "XDH"),
];

const SIGNATURES: [(&str, &str); 30] = [
    ("1.2.840.113549.1.1.2", "MD2withRSA"),
    ("1.2.840.113549.1.1.4", "MD5withRSA"),
    ("1.2.840.113549.1.1.5", "SHA1withRSA"),
    ("1.2.840.113549.1.1.10", "RSASSA-PSS"),
    ("1.2.840.113549.1.1.11", "SHA256withRSA"),
    ("1.2.840.113549.1.1.12", "SHA384withRSA"),
    ("1.2.840.113549.1.1.13", "SHA512withRSA"),
    ("1.2.840.113549.1.1.14", "SHA224withRSA"),
    ("1.2.840.113549.1.1.15", "SHA512/224withRSA"),
    ("1.2.840.113549.1.1.16", "SHA512/256withRSA"),
    ("1.2.840.10045.4.1", "SHA1withECDSA"),
    ("1.2.840.10045.4.3.1", "SHA224withECDSA"),
    ("1.2.840.10045.4.3.2", "SHA256withECDSA"),
    ("1.2.840.10045.4.3.3", "SHA384withECDSA"),
    ("1.2.840.10045.4.3.4", "SHA512withECDSA"),
    ("1.2.840.10040.4.3", "SHA1withDSA"),
    ("2.16.840.1.101.3.4.3.1", "SHA224withDSA"),
    ("2.16.840.1.101.3.4.3.2", "SHA256withDSA"),
    ("2.16.840.1.101.3.4.3.3", "SHA384withDSA"),
    ("2.16.840.1.101.3.4.3.4", "SHA512withDSA"),
    ("2.16.840.1.101.3.4.3.9", "SHA3-224withECDSA"),
    ("2.16.840.1.101.3.4.3.10", "SHA3-256withECDSA"),
    ("2.16.840.1.101.3.4.3.11", "SHA3-384withECDSA"),
    ("2.16.840.1.101.3.4.3.12", "SHA3-512withECDSA"),
    ("2.16.840.1.101.3.4.3.13", "SHA3-224withRSA"),
    ("2.16.840.1.101.3.4.3.14", "SHA3-256withRSA"),
    ("2.16.840.1.101.3.4.3.15", "SHA3-384withRSA"),
    ("2.16.840.1.101.3.4.3.16", "SHA3-512withRSA"),
    ("1.3.101.112", "Ed25519"),
    ("1.3.101.113", "Ed448"),
];

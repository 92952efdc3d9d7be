//! Certificates, as far as channels and sessions look at them. Whether one is trusted is for `pki` to say.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aws_lc_rs::digest;
use durward_identity::Moment;
use opcua_types::StatusCode;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Encode, Reader as _, SliceReader};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::{DirectoryString, GeneralName};
use x509_cert::name::Name;

use super::key::PublicKey;
use crate::error::Error;

/// Certificates of one chain, the application's included.
const CHAIN_LENGTH_MAX: usize = 8;

/// `commonName` (RFC 4519, 2.3).
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// A certificate with an RSA key.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    key: PublicKey,
    thumbprint: [u8; 20],
    thumbprint_sha256: [u8; 32],
    application_uris: Vec<String>,
    host_names: Vec<String>,
    subject: String,
    common_name: Option<String>,
    valid_from: Moment,
    valid_until: Moment,
}

impl Certificate {
    /// Reads one certificate in DER, with nothing behind it.
    ///
    /// # Errors
    /// `BadCertificateInvalid` when it is none, or its key is no RSA key; `BadCertificatePolicyCheckFailed` when the key is too short or
    /// too long.
    pub fn from_der(der: &[u8]) -> Result<Certificate, Error> {
        let inner = CertificateInner::<Raw>::from_der(der).map_err(invalid)?;
        let content = inner.tbs_certificate();
        let key = PublicKey::from_spki(content.subject_public_key_info().to_der().map_err(invalid)?)?;
        let names = content.get_extension::<SubjectAltName>().map_err(invalid)?;
        let names = names.map_or_else(Vec::new, |(_, names)| names.0);
        let moment = |time: x509_cert::time::Time| Moment::default().plus(time.to_unix_duration());
        Ok(Certificate {
            der: der.to_vec(),
            key,
            thumbprint: digest_of(&digest::SHA1_FOR_LEGACY_USE_ONLY, der),
            thumbprint_sha256: digest_of(&digest::SHA256, der),
            application_uris: names.iter().filter_map(uri).collect(),
            host_names: names.iter().filter_map(host_name).collect(),
            subject: content.subject().to_string(),
            common_name: common_name(content.subject()),
            valid_from: moment(content.validity().not_before),
            valid_until: moment(content.validity().not_after),
        })
    }

    /// The certificate in DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Its public key.
    pub fn key(&self) -> &PublicKey {
        &self.key
    }

    /// SHA-1 of the DER, by which OPC UA names certificates.
    pub fn thumbprint(&self) -> &[u8; 20] {
        &self.thumbprint
    }

    /// The SHA-1 thumbprint, in hexadecimal.
    pub fn thumbprint_hex(&self) -> String {
        self.thumbprint.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// SHA-256 of the DER, as in the claim `x5t#S256` (RFC 8705).
    pub fn thumbprint_sha256(&self) -> &[u8; 32] {
        &self.thumbprint_sha256
    }

    /// The application's URI: the URI among the subject's alternative names. There must be exactly one (Part 6, 6.2.2): with two, a certificate
    /// would be that of two applications.
    pub fn application_uri(&self) -> Option<&str> {
        match self.application_uris.as_slice() {
            [uri] => Some(uri),
            _ => None,
        }
    }

    /// Whether the certificate is that of the application with this URI. Compared byte by byte, as Part 6, 6.2.2 has it.
    pub fn is_of_application(&self, uri: &str) -> bool {
        !uri.is_empty() && self.application_uri() == Some(uri)
    }

    /// DNS names and addresses among the subject's alternative names.
    pub fn host_names(&self) -> &[String] {
        &self.host_names
    }

    /// The subject, as in RFC 4514.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The common name of the subject, where there is exactly one.
    pub fn common_name(&self) -> Option<&str> {
        self.common_name.as_deref()
    }

    /// From when on it is valid.
    pub fn valid_from(&self) -> Moment {
        self.valid_from
    }

    /// The last second in which it is valid.
    pub fn valid_until(&self) -> Moment {
        self.valid_until
    }
}

fn common_name(subject: &Name) -> Option<String> {
    let mut names = subject.iter().filter(|part| part.oid == COMMON_NAME);
    let only = names.next().filter(|_| names.next().is_none())?;
    let name = DirectoryString::try_from(&only.value).ok()?;
    Some(name.value().into_owned())
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate")
            .field("subject", &self.subject)
            .field("thumbprint", &self.thumbprint_hex())
            .finish_non_exhaustive()
    }
}

/// The certificates of a chain as a peer sends it: one behind the other, the application's own first.
///
/// # Errors
/// `BadCertificateInvalid` when there is none, too many, or bytes that are no certificate.
pub fn split_chain(chain: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let mut reader = SliceReader::new(chain).map_err(invalid)?;
    let mut certificates = Vec::new();
    while !reader.is_finished() {
        if certificates.len() == CHAIN_LENGTH_MAX {
            return Err(Error::new(StatusCode::BadCertificateInvalid, "the certificate chain is too long"));
        }
        certificates.push(reader.tlv_bytes().map_err(invalid)?);
    }
    if certificates.is_empty() {
        return Err(Error::new(StatusCode::BadCertificateInvalid, "there is no certificate"));
    }
    Ok(certificates)
}

fn invalid(error: x509_cert::der::Error) -> Error {
    Error::new(StatusCode::BadCertificateInvalid, format!("it is no certificate: {error}"))
}

fn digest_of<const N: usize>(algorithm: &'static digest::Algorithm, bytes: &[u8]) -> [u8; N] {
    let mut copied = [0; N];
    for (to, from) in copied.iter_mut().zip(digest::digest(algorithm, bytes).as_ref()) {
        *to = *from;
    }
    copied
}

fn uri(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(uri.to_string()),
        GeneralName::OtherName(_)
        | GeneralName::Rfc822Name(_)
        | GeneralName::DnsName(_)
        | GeneralName::DirectoryName(_)
        | GeneralName::EdiPartyName(_)
        | GeneralName::IpAddress(_)
        | GeneralName::RegisteredId(_) => None,
    }
}

fn host_name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.to_string()),
        GeneralName::IpAddress(octets) => {
            let octets = octets.as_bytes();
            let v4 = || <[u8; 4]>::try_from(octets).ok().map(|octets| IpAddr::V4(Ipv4Addr::from(octets)));
            let v6 = || <[u8; 16]>::try_from(octets).ok().map(|octets| IpAddr::V6(Ipv6Addr::from(octets)));
            v4().or_else(v6).map(|address| address.to_string())
        }
        GeneralName::OtherName(_)
        | GeneralName::Rfc822Name(_)
        | GeneralName::DirectoryName(_)
        | GeneralName::EdiPartyName(_)
        | GeneralName::UniformResourceIdentifier(_)
        | GeneralName::RegisteredId(_) => None,
    }
}

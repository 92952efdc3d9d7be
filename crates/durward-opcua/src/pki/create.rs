//! Makes certificates: self-signed ones of applications (Part 6, 6.2.2), and those of a small authority with its revocation list.

use std::net::IpAddr;
use std::time::Duration;

use aws_lc_rs::digest;
use durward_identity::Moment;
use opcua_types::StatusCode;
use x509_cert::der::{DateTime, Encode};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::time::Time;

use super::der::{bit_string, oid, sequence, tlv};
use super::inspect::Inspected;
use crate::crypto::{self, Certificate, KeyLength, OwnCertificate, PrivateKey, PublicKey, SecurityPolicy};
use crate::error::Error;

const COMMON_NAME: [u8; 3] = [0x55, 4, 3];
const ORGANIZATION: [u8; 3] = [0x55, 4, 10];
const SHA256_WITH_RSA: [u8; 9] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
const SUBJECT_KEY_IDENTIFIER: [u8; 3] = [0x55, 0x1d, 14];
const KEY_USAGE: [u8; 3] = [0x55, 0x1d, 15];
const ALTERNATIVE_NAMES: [u8; 3] = [0x55, 0x1d, 17];
const BASIC_CONSTRAINTS: [u8; 3] = [0x55, 0x1d, 19];
const CRL_NUMBER: [u8; 3] = [0x55, 0x1d, 20];
const AUTHORITY_KEY_IDENTIFIER: [u8; 3] = [0x55, 0x1d, 35];
const EXTENDED_KEY_USAGE: [u8; 3] = [0x55, 0x1d, 37];
const SERVER_AUTH: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 3, 1];
const CLIENT_AUTH: [u8; 8] = [0x2b, 6, 1, 5, 5, 7, 3, 2];

/// A certificate may begin to be valid so much before it is made: clocks of plants differ.
const VALID_BEFORE: Duration = Duration::from_secs(3_600);

/// The longest name, as X.520 bounds it.
const NAME_CHARS_MAX: usize = 64;

/// What goes into an application's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateDraft {
    /// The application's URI.
    pub application_uri: String,
    /// The subject's common name; at most 64 characters.
    pub common_name: String,
    /// The subject's organization; empty for none.
    pub organization: String,
    /// DNS names and addresses of the machine.
    pub hosts: Vec<String>,
    /// From when on it is valid; an hour earlier in fact.
    pub valid_from: Moment,
    /// How long it is valid.
    pub valid_for: Duration,
}

/// Who may do what with a key (RFC 5280, 4.2.1.3), as the first bits of a bit string, and how many of its bits are unused.
struct Role {
    usage: [u8; 2],
    is_authority: bool,
    /// How many authorities may stand below it; nothing: as many as there are.
    authorities_below: Option<u8>,
    /// RFC 5280, 4.2.1.12.
    purposes: &'static [[u8; 8]],
}

/// digitalSignature, nonRepudiation, keyEncipherment, dataEncipherment.
const APPLICATION: Role = Role {
    usage: [4, 0b1111_0000],
    is_authority: false,
    authorities_below: None,
    purposes: &[SERVER_AUTH, CLIENT_AUTH],
};
/// The same with keyCertSign: the certificate signs itself (Part 6, 6.2.2).
const SELF_SIGNED: Role = Role { usage: [2, 0b1111_0100], ..APPLICATION };
/// keyCertSign, cRLSign.
const AUTHORITY: Role =
    Role { usage: [1, 0b0000_0110], is_authority: true, authorities_below: None, purposes: &[] };

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::new(StatusCode::BadConfigurationError, format!("no certificate can be made: {reason}"))
}

/// A new key, and a certificate that it signs itself.
///
/// # Errors
/// `BadConfigurationError`: no URI, a name or host that a certificate cannot hold.
pub fn self_signed(draft: &CertificateDraft, length: KeyLength) -> Result<OwnCertificate, Error> {
    let key = PrivateKey::generate(length)?;
    let subject = draft.subject()?;
    let public = key.public()?;
    let der = certificate(draft, &subject, &public, &subject, &public, &key, &SELF_SIGNED)?;
    OwnCertificate::new(Certificate::from_der(&der)?, key)
}

/// A certificate authority: for plants that have none, and for tests.
pub struct Authority {
    own: OwnCertificate,
    subject: Vec<u8>,
}

impl Authority {
    /// A new one, with a certificate that it signs itself. The draft's URI and hosts do not matter.
    ///
    /// # Errors
    /// As of [`self_signed`].
    pub fn new(draft: &CertificateDraft, length: KeyLength) -> Result<Authority, Error> {
        let key = PrivateKey::generate(length)?;
        let subject = draft.subject()?;
        let public = key.public()?;
        let der = certificate(draft, &subject, &public, &subject, &public, &key, &AUTHORITY)?;
        Ok(Authority { own: OwnCertificate::new(Certificate::from_der(&der)?, key)?, subject })
    }

    /// Its certificate.
    pub fn certificate(&self) -> &Certificate {
        self.own.certificate()
    }

    /// A new key for an application, and a certificate that the authority signs.
    ///
    /// # Errors
    /// As of [`self_signed`].
    pub fn issue(&self, draft: &CertificateDraft, length: KeyLength) -> Result<OwnCertificate, Error> {
        let key = PrivateKey::generate(length)?;
        let subject = draft.subject()?;
        let issuer_key = self.own.key().public()?;
        let public = key.public()?;
        let der =
            certificate(draft, &subject, &public, &self.subject, &issuer_key, self.own.key(), &APPLICATION)?;
        OwnCertificate::new(Certificate::from_der(&der)?, key)
    }

    /// A new authority that this one signs.
    ///
    /// # Errors
    /// As of [`self_signed`].
    pub fn issue_authority(&self, draft: &CertificateDraft, length: KeyLength) -> Result<Authority, Error> {
        let key = PrivateKey::generate(length)?;
        let subject = draft.subject()?;
        let issuer_key = self.own.key().public()?;
        let public = key.public()?;
        let der =
            certificate(draft, &subject, &public, &self.subject, &issuer_key, self.own.key(), &AUTHORITY)?;
        Ok(Authority { own: OwnCertificate::new(Certificate::from_der(&der)?, key)?, subject })
    }

    /// A revocation list with these certificates, DER.
    ///
    /// # Errors
    /// A moment that DER cannot hold.
    pub fn revoke(&self, revoked: &[&Certificate], from: Moment, until: Moment) -> Result<Vec<u8>, Error> {
        let mut entries = Vec::new();
        for certificate in revoked {
            let serial = tlv(0x02, &Inspected::read(certificate.der())?.serial);
            entries.extend(sequence(&[&serial, &time(from)?]));
        }
        let entries = if entries.is_empty() { Vec::new() } else { tlv(0x30, &entries) };
        let number = extension(&CRL_NUMBER, false, &tlv(0x02, &[1]));
        let content = sequence(&[
            &tlv(0x02, &[1]),
            &algorithm(),
            &self.subject,
            &time(from)?,
            &time(until)?,
            &entries,
            &tlv(0xa0, &sequence(&[&number])),
        ]);
        signed(&content, self.own.key())
    }
}

impl CertificateDraft {
    fn subject(&self) -> Result<Vec<u8>, Error> {
        let mut attributes = Vec::new();
        for (kind, value) in [(&ORGANIZATION, &self.organization), (&COMMON_NAME, &self.common_name)] {
            if value.chars().count() > NAME_CHARS_MAX || value.chars().any(char::is_control) {
                return Err(invalid(format!(
                    "`{}` is too long for a name, or has control characters",
                    value.escape_debug()
                )));
            }
            if !value.is_empty() {
                let attribute = sequence(&[&oid(kind), &tlv(0x0c, value.as_bytes())]);
                attributes.extend(tlv(0x31, &attribute));
            }
        }
        if self.common_name.is_empty() {
            return Err(invalid("the common name is empty"));
        }
        Ok(tlv(0x30, &attributes))
    }

    fn alternative_names(&self) -> Result<Vec<u8>, Error> {
        let unfit = |text: &str| invalid(format!("`{}` cannot stand in a certificate", text.escape_debug()));
        let ia5 = |text: &str| {
            let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
            plain
                .then(|| x509_cert::der::asn1::Ia5String::new(text).ok())
                .flatten()
                .ok_or_else(|| unfit(text))
        };
        let mut names = vec![GeneralName::UniformResourceIdentifier(ia5(&self.application_uri)?)];
        for host in &self.hosts {
            names.push(match host.parse::<IpAddr>() {
                Ok(address) => GeneralName::from(address),
                Err(_) => GeneralName::DnsName(ia5(host)?),
            });
        }
        SubjectAltName(names).to_der().map_err(invalid)
    }
}

fn time(moment: Moment) -> Result<Vec<u8>, Error> {
    let whole = Duration::from_secs(moment.ms() / 1_000);
    let time = DateTime::from_unix_duration(whole).map(Time::from).map_err(invalid)?;
    time.to_der().map_err(invalid)
}

fn algorithm() -> Vec<u8> {
    sequence(&[&oid(&SHA256_WITH_RSA), &tlv(0x05, &[])])
}

fn extension(id: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let critical = if critical { tlv(0x01, &[0xff]) } else { Vec::new() };
    sequence(&[&oid(id), &critical, &tlv(0x04, value)])
}

fn key_identifier(key: &PublicKey) -> Vec<u8> {
    digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, key.spki()).as_ref().to_vec()
}

fn extensions(
    draft: &CertificateDraft,
    public: &PublicKey,
    issuer_key: &PublicKey,
    role: &Role,
) -> Result<Vec<u8>, Error> {
    let mut constraints = if role.is_authority { tlv(0x01, &[0xff]) } else { Vec::new() };
    constraints.extend(role.authorities_below.into_iter().flat_map(|count| tlv(0x02, &[count])));
    let mut all = vec![
        extension(&BASIC_CONSTRAINTS, true, &tlv(0x30, &constraints)),
        extension(&KEY_USAGE, true, &tlv(0x03, &role.usage)),
        extension(&SUBJECT_KEY_IDENTIFIER, false, &tlv(0x04, &key_identifier(public))),
        extension(&AUTHORITY_KEY_IDENTIFIER, false, &sequence(&[&tlv(0x80, &key_identifier(issuer_key))])),
    ];
    if !role.is_authority {
        let purposes: Vec<u8> = role.purposes.iter().flat_map(|purpose| oid(purpose)).collect();
        all.push(extension(&EXTENDED_KEY_USAGE, false, &tlv(0x30, &purposes)));
        all.push(extension(&ALTERNATIVE_NAMES, false, &draft.alternative_names()?));
    }
    Ok(tlv(0xa3, &tlv(0x30, &all.concat())))
}

fn certificate(
    draft: &CertificateDraft,
    subject: &[u8],
    public: &PublicKey,
    issuer: &[u8],
    issuer_key: &PublicKey,
    signer: &PrivateKey,
    role: &Role,
) -> Result<Vec<u8>, Error> {
    let mut serial = crypto::random_bytes::<16>()?;
    // Positive, and no leading zero byte.
    let [first, ..] = &mut serial;
    *first = (*first & 0x3f) | 0x40;
    let not_before = Moment::from_ms(draft.valid_from.ms().saturating_sub(VALID_BEFORE.as_millis() as u64));
    let validity = sequence(&[&time(not_before)?, &time(draft.valid_from.plus(draft.valid_for))?]);
    let content = sequence(&[
        &tlv(0xa0, &tlv(0x02, &[2])),
        &tlv(0x02, &serial),
        &algorithm(),
        issuer,
        &validity,
        subject,
        public.spki(),
        &extensions(draft, public, issuer_key, role)?,
    ]);
    signed(&content, signer)
}

/// A content with its RSA signature, PKCS#1 v1.5 with SHA-256: as that policy signs.
fn signed(content: &[u8], signer: &PrivateKey) -> Result<Vec<u8>, Error> {
    let signature = crypto::sign(SecurityPolicy::Basic256Sha256, signer, content)?;
    Ok(sequence(&[content, &algorithm(), &bit_string(&signature)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::PeerRole;
    use crate::pki::{TrustLists, validate};

    /// A certificate of a client does not make a server.
    #[test]
    fn servers_need_a_certificate_for_servers() {
        let now = Moment::from_s(1_780_000_000);
        let draft = CertificateDraft {
            application_uri: "urn:test:client".to_owned(),
            common_name: "client".to_owned(),
            organization: String::new(),
            hosts: Vec::new(),
            valid_from: now,
            valid_for: Duration::from_secs(86_400),
        };
        let key = PrivateKey::generate(KeyLength::Rsa2048).unwrap();
        let (subject, public) = (draft.subject().unwrap(), key.public().unwrap());
        let check = |purposes: &'static [[u8; 8]], peer: PeerRole| {
            let role = Role { purposes, ..SELF_SIGNED };
            let der = certificate(&draft, &subject, &public, &subject, &public, &key, &role).unwrap();
            let lists = TrustLists { trusted: vec![der.clone()], ..TrustLists::default() };
            validate(&[&der], &lists, peer, now).map_err(|error| error.status())
        };
        let refused = Err(StatusCode::BadCertificateUseNotAllowed);
        let code_signing: &'static [[u8; 8]] = &[[0x2b, 6, 1, 5, 5, 7, 3, 3]];
        assert_eq!(check(&[CLIENT_AUTH], PeerRole::Server), refused);
        assert_eq!(check(&[CLIENT_AUTH], PeerRole::Client), Ok(()));
        assert_eq!(check(&[SERVER_AUTH], PeerRole::Server), Ok(()));
        assert_eq!(check(&[SERVER_AUTH], PeerRole::Client), Ok(()));
        assert_eq!(check(code_signing, PeerRole::Server), refused);
        assert_eq!(check(code_signing, PeerRole::Client), refused);
    }

    #[test]
    fn an_authority_may_bound_how_many_stand_below_it() {
        let now = Moment::from_s(1_780_000_000);
        let draft = |name: &str| CertificateDraft {
            application_uri: format!("urn:test:{name}"),
            common_name: name.to_owned(),
            organization: String::new(),
            hosts: Vec::new(),
            valid_from: now,
            valid_for: Duration::from_secs(86_400),
        };
        let check = |authorities_below: Option<u8>| {
            let (key, of_root) = (PrivateKey::generate(KeyLength::Rsa2048).unwrap(), draft("root"));
            let (subject, public) = (of_root.subject().unwrap(), key.public().unwrap());
            let role = Role { authorities_below, ..AUTHORITY };
            let der = certificate(&of_root, &subject, &public, &subject, &public, &key, &role).unwrap();
            let own = OwnCertificate::new(Certificate::from_der(&der).unwrap(), key).unwrap();
            let root = Authority { own, subject };
            let between = root.issue_authority(&draft("between"), KeyLength::Rsa2048).unwrap();
            let device = between.issue(&draft("device"), KeyLength::Rsa2048).unwrap();
            let until = now.plus(Duration::from_secs(3_600));
            let lists = TrustLists {
                trusted: vec![der],
                issuers: vec![between.certificate().der().to_vec()],
                revocation_lists: vec![
                    root.revoke(&[], now, until).unwrap(),
                    between.revoke(&[], now, until).unwrap(),
                ],
            };
            validate(&[device.certificate().der()], &lists, PeerRole::Server, now)
                .map_err(|error| error.status())
        };
        assert_eq!(check(None), Ok(()));
        assert_eq!(check(Some(1)), Ok(()));
        assert_eq!(check(Some(0)), Err(StatusCode::BadCertificateIssuerUseNotAllowed));
    }
}

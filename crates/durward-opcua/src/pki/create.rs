//! Makes certificates: self-signed ones of applications (Part 6, 6.2.2), and those of a small authority with its revocation list.

use std::net::IpAddr;
use std::time::Duration;

use durward_identity::Moment;
use opcua_types::StatusCode;
use signature::Keypair;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::builder::profile::BuilderProfile;
use x509_cert::builder::{self, Builder, CertificateBuilder, CrlBuilder};
use x509_cert::certificate::TbsCertificate;
use x509_cert::crl::RevokedCert;
use x509_cert::der::asn1::{Any, BitString, Ia5String, ObjectIdentifier, Uint};
use x509_cert::der::{DateTime, Decode, Document, Encode, Tag};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, CrlNumber, ExtendedKeyUsage, KeyUsage, KeyUsages,
    SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::ext::{Extension, ToExtension};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{
    self, AlgorithmIdentifierOwned, DynSignatureAlgorithmIdentifier, EncodePublicKey,
    SubjectPublicKeyInfoOwned, SubjectPublicKeyInfoRef,
};
use x509_cert::time::{Time, Validity};

use super::inspect::{CLIENT_AUTH, Inspected, SERVER_AUTH};
use crate::crypto::{self, Certificate, KeyLength, OwnCertificate, PrivateKey, PublicKey, SecurityPolicy};
use crate::error::Error;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
const SHA256_WITH_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");

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

/// Who may do what with a key (RFC 5280, 4.2.1.3, 4.2.1.9 and 4.2.1.12).
#[derive(Clone, Copy)]
struct CertificateRole {
    usage: &'static [KeyUsages],
    is_authority: bool,
    /// How many authorities may stand below it; nothing: as many as there are.
    authorities_below: Option<u8>,
    purposes: &'static [ObjectIdentifier],
}

const APPLICATION: CertificateRole = CertificateRole {
    usage: &[
        KeyUsages::DigitalSignature,
        KeyUsages::NonRepudiation,
        KeyUsages::KeyEncipherment,
        KeyUsages::DataEncipherment,
    ],
    is_authority: false,
    authorities_below: None,
    purposes: &[SERVER_AUTH, CLIENT_AUTH],
};
/// The same with keyCertSign: the certificate signs itself (Part 6, 6.2.2).
const SELF_SIGNED: CertificateRole = CertificateRole {
    usage: &[
        KeyUsages::DigitalSignature,
        KeyUsages::NonRepudiation,
        KeyUsages::KeyEncipherment,
        KeyUsages::DataEncipherment,
        KeyUsages::KeyCertSign,
    ],
    ..APPLICATION
};
const AUTHORITY: CertificateRole = CertificateRole {
    usage: &[KeyUsages::KeyCertSign, KeyUsages::CRLSign],
    is_authority: true,
    authorities_below: None,
    purposes: &[],
};

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::new(StatusCode::BadConfigurationError, format!("no certificate can be made: {reason}"))
}

/// A new key, and a certificate that it signs itself.
///
/// # Errors
/// `BadConfigurationError`: no URI, a name or host that a certificate cannot hold.
pub fn self_signed(draft: &CertificateDraft, length: KeyLength) -> Result<OwnCertificate, Error> {
    let key = PrivateKey::generate(length)?;
    let (subject, public) = (draft.subject()?, key.public()?);
    let certificate = certificate(draft, &subject, &public, &CertificateSigner::new(&key)?, &SELF_SIGNED)?;
    OwnCertificate::new(certificate, key)
}

/// A certificate authority: for plants that have none, and for tests.
pub struct CertificateAuthority {
    own: OwnCertificate,
    subject: Name,
}

impl CertificateAuthority {
    /// A new one, with a certificate that it signs itself. The draft's URI and hosts do not matter.
    ///
    /// # Errors
    /// As of [`self_signed`].
    pub fn new(draft: &CertificateDraft, length: KeyLength) -> Result<CertificateAuthority, Error> {
        let key = PrivateKey::generate(length)?;
        let (subject, public) = (draft.subject()?, key.public()?);
        let certificate = certificate(draft, &subject, &public, &CertificateSigner::new(&key)?, &AUTHORITY)?;
        Ok(CertificateAuthority { own: OwnCertificate::new(certificate, key)?, subject })
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
        self.issue_as(draft, length, &APPLICATION)
    }

    /// A new authority that this one signs.
    ///
    /// # Errors
    /// As of [`self_signed`].
    pub fn issue_authority(
        &self,
        draft: &CertificateDraft,
        length: KeyLength,
    ) -> Result<CertificateAuthority, Error> {
        Ok(CertificateAuthority { own: self.issue_as(draft, length, &AUTHORITY)?, subject: draft.subject()? })
    }

    fn issue_as(
        &self,
        draft: &CertificateDraft,
        length: KeyLength,
        role: &CertificateRole,
    ) -> Result<OwnCertificate, Error> {
        let key = PrivateKey::generate(length)?;
        let signer = CertificateSigner::new(self.own.key())?;
        let certificate = certificate(draft, &self.subject, &key.public()?, &signer, role)?;
        OwnCertificate::new(certificate, key)
    }

    /// A revocation list with these certificates, DER. Its number is the second of `from`: a later list has a higher one (RFC 5280, 5.2.3).
    ///
    /// # Errors
    /// A moment that DER cannot hold.
    pub fn revoke(&self, revoked: &[&Certificate], from: Moment, until: Moment) -> Result<Vec<u8>, Error> {
        let entry = |certificate: &&Certificate| {
            let serial = Inspected::read(certificate.der())?.serial;
            Ok(RevokedCert {
                serial_number: SerialNumber::new(&serial).map_err(invalid)?,
                revocation_date: time(from)?,
                crl_entry_extensions: None,
            })
        };
        let entries = revoked.iter().map(entry).collect::<Result<Vec<RevokedCert>, Error>>()?;
        let number = (from.ms() / 1_000).to_be_bytes();
        let number = CrlNumber(Uint::new(&number).map_err(invalid)?);
        let own = x509_cert::Certificate::from_der(self.certificate().der()).map_err(invalid)?;
        let list = CrlBuilder::new_with_this_update(&own, number, time(from)?).map_err(invalid)?;
        let list = list.with_next_update(Some(time(until)?));
        // A list without entries has no empty sequence of them (RFC 5280, 5.1.2.6).
        let list = if entries.is_empty() { list } else { list.with_certificates(entries.into_iter()) };
        CertificateSigner::new(self.own.key())?.sign(list)?.to_der().map_err(invalid)
    }
}

impl CertificateDraft {
    fn subject(&self) -> Result<Name, Error> {
        let mut names = RdnSequence::default();
        for (oid, value) in [(ORGANIZATION, &self.organization), (COMMON_NAME, &self.common_name)] {
            if value.chars().count() > NAME_CHARS_MAX || value.chars().any(char::is_control) {
                return Err(invalid(format!(
                    "`{}` is too long for a name, or has control characters",
                    value.escape_debug()
                )));
            }
            if !value.is_empty() {
                let value = Any::new(Tag::Utf8String, value.as_bytes()).map_err(invalid)?;
                let name = vec![AttributeTypeAndValue { oid, value }];
                names.push(RelativeDistinguishedName::try_from(name).map_err(invalid)?);
            }
        }
        if self.common_name.is_empty() {
            return Err(invalid("the common name is empty"));
        }
        Ok(Name::hazmat_from_rdn_sequence(names))
    }

    fn alternative_names(&self) -> Result<SubjectAltName, Error> {
        let unfit = |text: &str| invalid(format!("`{}` cannot stand in a certificate", text.escape_debug()));
        let ia5 = |text: &str| {
            let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
            plain.then(|| Ia5String::new(text).ok()).flatten().ok_or_else(|| unfit(text))
        };
        let mut names = vec![GeneralName::UniformResourceIdentifier(ia5(&self.application_uri)?)];
        for host in &self.hosts {
            names.push(match host.parse::<IpAddr>() {
                Ok(address) => GeneralName::from(address),
                Err(_) => GeneralName::DnsName(ia5(host)?),
            });
        }
        Ok(SubjectAltName(names))
    }
}

fn time(moment: Moment) -> Result<Time, Error> {
    let whole = Duration::from_secs(moment.ms() / 1_000);
    DateTime::from_unix_duration(whole).map(Time::from).map_err(invalid)
}

/// A certificate, as its role has it.
struct CertificateProfile<'a> {
    role: &'a CertificateRole,
    subject: Name,
    issuer: &'a Name,
    /// None for an authority.
    names: Option<SubjectAltName>,
}

impl BuilderProfile for CertificateProfile<'_> {
    fn get_issuer(&self, _subject: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        key: SubjectPublicKeyInfoRef<'_>,
        issuer_key: SubjectPublicKeyInfoRef<'_>,
        content: &TbsCertificate,
    ) -> builder::Result<Vec<Extension>> {
        let CertificateRole { usage, is_authority, authorities_below, purposes } = *self.role;
        let constraints = BasicConstraints { ca: is_authority, path_len_constraint: authorities_below };
        let usage = KeyUsage(usage.iter().fold(Default::default(), |all, one| all | *one));
        let subject = content.subject();
        let mut all = vec![
            constraints.to_extension(subject, &[])?,
            usage.to_extension(subject, &[])?,
            SubjectKeyIdentifier::try_from(key)?.to_extension(subject, &[])?,
            AuthorityKeyIdentifier::try_from(issuer_key)?.to_extension(subject, &[])?,
        ];
        if !purposes.is_empty() {
            all.push(ExtendedKeyUsage(purposes.to_vec()).to_extension(subject, &[])?);
        }
        if let Some(names) = &self.names {
            all.push(names.to_extension(subject, &[])?);
        }
        Ok(all)
    }
}

fn certificate(
    draft: &CertificateDraft,
    issuer: &Name,
    public: &PublicKey,
    signer: &CertificateSigner<'_>,
    role: &CertificateRole,
) -> Result<Certificate, Error> {
    let mut serial = crypto::random_bytes::<16>()?;
    // Positive, and no leading zero byte.
    let [first, ..] = &mut serial;
    *first = (*first & 0x3f) | 0x40;
    let serial = SerialNumber::new(&serial).map_err(invalid)?;
    let not_before = Moment::from_ms(draft.valid_from.ms().saturating_sub(VALID_BEFORE.as_millis() as u64));
    let validity = Validity::new(time(not_before)?, time(draft.valid_from.plus(draft.valid_for))?);
    let public = SubjectPublicKeyInfoOwned::from_der(public.spki()).map_err(invalid)?;
    let names = if role.is_authority { None } else { Some(draft.alternative_names()?) };
    let profile = CertificateProfile { role, subject: draft.subject()?, issuer, names };
    let unsigned = CertificateBuilder::new(profile, serial, validity, public).map_err(invalid)?;
    Certificate::from_der(&signer.sign(unsigned)?.to_der().map_err(invalid)?)
}

/// Signs with RSA, PKCS#1 v1.5 with SHA-256: as that security policy signs. The builders want to know the key and the algorithm.
struct CertificateSigner<'a> {
    key: &'a PrivateKey,
    public: PublicKey,
    algorithm: AlgorithmIdentifierOwned,
    policy: SecurityPolicy,
}

impl<'a> CertificateSigner<'a> {
    fn new(key: &'a PrivateKey) -> Result<CertificateSigner<'a>, Error> {
        let algorithm = AlgorithmIdentifierOwned { oid: SHA256_WITH_RSA, parameters: Some(Any::null()) };
        Ok(CertificateSigner {
            key,
            public: key.public()?,
            algorithm,
            policy: SecurityPolicy::Basic256Sha256,
        })
    }

    fn sign<B: Builder>(&self, mut unsigned: B) -> Result<B::Output, Error> {
        let content = unsigned.finalize(self).map_err(invalid)?;
        let signature = crypto::sign(self.policy, self.key, &content)?;
        unsigned.assemble(BitString::from_bytes(&signature).map_err(invalid)?, self).map_err(invalid)
    }
}

impl Keypair for CertificateSigner<'_> {
    type VerifyingKey = PublicKey;

    fn verifying_key(&self) -> PublicKey {
        self.public.clone()
    }
}

impl EncodePublicKey for PublicKey {
    fn to_public_key_der(&self) -> spki::Result<Document> {
        Ok(Document::try_from(self.spki())?)
    }
}

impl DynSignatureAlgorithmIdentifier for CertificateSigner<'_> {
    fn signature_algorithm_identifier(&self) -> spki::Result<AlgorithmIdentifierOwned> {
        Ok(self.algorithm.clone())
    }
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
        let check = |purposes: &'static [ObjectIdentifier], peer: PeerRole| {
            let role = CertificateRole { purposes, ..SELF_SIGNED };
            let own = certificate(&draft, &subject, &public, &CertificateSigner::new(&key).unwrap(), &role)
                .unwrap();
            let der = own.der().to_vec();
            let lists = TrustLists { trusted: vec![der.clone()], ..TrustLists::default() };
            validate(&[&der], &lists, peer, now).map_err(|error| error.status())
        };
        let refused = Err(StatusCode::BadCertificateUseNotAllowed);
        const CODE_SIGNING: &[ObjectIdentifier] = &[ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.3")];
        assert_eq!(check(&[CLIENT_AUTH], PeerRole::Server), refused);
        assert_eq!(check(&[CLIENT_AUTH], PeerRole::Client), Ok(()));
        assert_eq!(check(&[SERVER_AUTH], PeerRole::Server), Ok(()));
        assert_eq!(check(&[SERVER_AUTH], PeerRole::Client), Ok(()));
        assert_eq!(check(CODE_SIGNING, PeerRole::Server), refused);
        assert_eq!(check(CODE_SIGNING, PeerRole::Client), refused);
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
            let role = CertificateRole { authorities_below, ..AUTHORITY };
            let root =
                certificate(&of_root, &subject, &public, &CertificateSigner::new(&key).unwrap(), &role)
                    .unwrap();
            let der = root.der().to_vec();
            let own = OwnCertificate::new(root, key).unwrap();
            let root = CertificateAuthority { own, subject };
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

    /// As OpenSSL writes it, and as some leave the NULL out.
    #[test]
    fn certificates_may_be_signed_with_rsa_pss() {
        let now = Moment::from_s(1_780_000_000);
        let draft = CertificateDraft {
            application_uri: "urn:test:pss".to_owned(),
            common_name: "pss".to_owned(),
            organization: String::new(),
            hosts: Vec::new(),
            valid_from: now,
            valid_for: Duration::from_secs(86_400),
        };
        let key = PrivateKey::generate(KeyLength::Rsa2048).unwrap();
        let (subject, public) = (draft.subject().unwrap(), key.public().unwrap());
        let check = |parameters: &str| {
            let parameters: Vec<u8> = (0..parameters.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&parameters[at..at + 2], 16).unwrap())
                .collect();
            let algorithm = AlgorithmIdentifierOwned {
                oid: ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10"),
                parameters: Some(Any::from_der(&parameters).unwrap()),
            };
            let policy = SecurityPolicy::Aes256Sha256RsaPss;
            let signer = CertificateSigner { algorithm, policy, ..CertificateSigner::new(&key).unwrap() };
            let own = certificate(&draft, &subject, &public, &signer, &SELF_SIGNED).unwrap();
            let lists = TrustLists { trusted: vec![own.der().to_vec()], ..TrustLists::default() };
            validate(&[own.der()], &lists, PeerRole::Server, now).map_err(|error| error.status())
        };
        let openssl = "3034a00f300d06096086480165030402010500a11c301a06092a864886f70d010108300d06096086480165030402010500a203020120";
        assert_eq!(check(openssl), Ok(()));
        let without_null = "3030a00d300b0609608648016503040201a11a301806092a864886f70d010108300b0609608648016503040201a203020120";
        assert_eq!(check(without_null), Ok(()));
        // Another hash or salt than the signature has; SHA-1, which parameters that are left out mean.
        assert_eq!(
            check(&openssl.replace("0402010500", "0402020500").replace("0120", "0130")),
            Err(StatusCode::BadSecurityChecksFailed)
        );
        assert_eq!(
            check(&openssl.replace("020120", "020114")),
            Err(StatusCode::BadCertificatePolicyCheckFailed)
        );
        assert_eq!(check("3000"), Err(StatusCode::BadCertificatePolicyCheckFailed));
    }
}

//! Whether a certificate is trusted (Part 4, 6.1.3): a pure function of lists and a moment.

use std::collections::{HashMap, HashSet};

use durward_identity::Moment;
use opcua_types::StatusCode;
use x509_cert::crl::CertificateList;
use x509_cert::der::{Decode, Encode};

use super::inspect::{Inspected, SignedBytes};
use crate::channel::PeerRole;
use crate::crypto::Certificate;
use crate::error::Error;

/// Certificates between an application and its root, both included.
const CHAIN_LENGTH_MAX: usize = 8;

/// What is trusted, and what helps to find out. All DER.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustLists {
    /// Trusted certificates, of applications and authorities.
    pub trusted: Vec<Vec<u8>>,
    /// Certificates of authorities that are not trusted by themselves.
    pub issuers: Vec<Vec<u8>>,
    /// Revocation lists of either.
    pub revocation_lists: Vec<Vec<u8>>,
}

fn fail(status: StatusCode, reason: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(status, reason)
}

/// Checks a chain as a peer in that role sent it, its own certificate first.
///
/// # Errors
/// `BadCertificateInvalid` (unreadable), `BadCertificatePolicyCheckFailed` (key or signature algorithm), `BadCertificateTimeInvalid`,
/// `BadCertificateIssuerTimeInvalid`, `BadCertificateUseNotAllowed`, `BadCertificateIssuerUseNotAllowed`,
/// `BadCertificateChainIncomplete`, `BadSecurityChecksFailed` (a signature), `BadCertificateRevocationUnknown`,
/// `BadCertificateIssuerRevocationUnknown`, `BadCertificateRevoked`, `BadCertificateIssuerRevoked`, `BadCertificateUntrusted`.
pub fn validate(chain: &[&[u8]], lists: &TrustLists, role: PeerRole, moment: Moment) -> Result<(), Error> {
    ParsedTrustLists::of(lists).validate(chain, role, moment)
}

/// Trust lists, taken apart: once, and not for each peer that shows a certificate.
#[derive(Default)]
pub(super) struct ParsedTrustLists {
    trusted: HashSet<Vec<u8>>,
    /// By their subjects.
    certificates: HashMap<Vec<u8>, Vec<Inspected>>,
    revocation_lists: Vec<RevocationList>,
}

impl ParsedTrustLists {
    /// What cannot be read is left out.
    pub(super) fn of(lists: &TrustLists) -> ParsedTrustLists {
        let mut known = ParsedTrustLists {
            trusted: lists.trusted.iter().cloned().collect(),
            revocation_lists: lists
                .revocation_lists
                .iter()
                .filter_map(|der| RevocationList::read(der))
                .collect(),
            ..ParsedTrustLists::default()
        };
        for certificate in
            lists.trusted.iter().chain(&lists.issuers).filter_map(|der| Inspected::read(der).ok())
        {
            known.certificates.entry(certificate.subject.clone()).or_default().push(certificate);
        }
        known
    }

    /// As [`validate`].
    pub(super) fn validate(&self, chain: &[&[u8]], role: PeerRole, moment: Moment) -> Result<(), Error> {
        let (leaf, sent) =
            chain.split_first().ok_or_else(|| fail(StatusCode::BadCertificateInvalid, "there is none"))?;
        let leaf = Inspected::read(leaf)?;
        // A certificate that signs itself has no issuers.
        let sent: &[&[u8]] = if leaf.is_self_issued() { &[] } else { sent };
        let sent: Vec<Inspected> = sent.iter().filter_map(|der| Inspected::read(der).ok()).collect();
        let path = self.build_path(&leaf, &sent)?;
        if !path.iter().any(|certificate| self.trusted.contains(certificate.certificate.der())) {
            return Err(fail(
                StatusCode::BadCertificateUntrusted,
                format!(
                    "the certificate `{}` ({}) is not trusted: move it from rejected/certs to trusted/certs to trust it",
                    leaf.certificate.subject(),
                    leaf.certificate.thumbprint_hex()
                ),
            ));
        }
        check_leaf(&leaf, role, moment)?;
        if path.iter().skip(1).any(|issuer| !is_valid(issuer, moment)) {
            return Err(fail(
                StatusCode::BadCertificateIssuerTimeInvalid,
                "an issuer's certificate has expired, or is not valid yet",
            ));
        }
        check_revocation(&path, &self.revocation_lists, moment)
    }

    /// From the application's certificate to a root that is known here, each signed by the next. A self-signed certificate is its own root,
    /// which it need not be known for: whether it is trusted is asked afterwards.
    fn build_path<'a>(
        &'a self,
        leaf: &'a Inspected,
        sent: &'a [Inspected],
    ) -> Result<Vec<&'a Inspected>, Error> {
        let mut path = vec![leaf];
        let mut last = leaf;
        while path.len() <= CHAIN_LENGTH_MAX {
            if last.is_self_issued() {
                last.signed.verify(&last.certificate)?;
                return Ok(path);
            }
            let sent = sent.iter().filter(|issuer| issuer.subject == last.issuer);
            let mut candidates =
                self.certificates.get(&last.issuer).into_iter().flatten().chain(sent).peekable();
            if candidates.peek().is_none() {
                break;
            }
            let issuer = candidates.find(|issuer| last.signed.verify(&issuer.certificate).is_ok());
            let issuer = issuer
                .ok_or_else(|| Error::security("a certificate's signature is not that of its issuer"))?;
            if !issuer.usage.signs_certificates {
                return Err(fail(
                    StatusCode::BadCertificateIssuerUseNotAllowed,
                    "an issuer's certificate is not that of an authority",
                ));
            }
            // The application itself is no authority (RFC 5280, 4.2.1.9).
            let below = path.len() - 1;
            if issuer.usage.authorities_below.is_some_and(|most| below > usize::from(most)) {
                return Err(fail(
                    StatusCode::BadCertificateIssuerUseNotAllowed,
                    "there are more authorities between an application and an issuer than its certificate allows",
                ));
            }
            path.push(issuer);
            last = issuer;
        }
        Err(fail(
            StatusCode::BadCertificateChainIncomplete,
            format!(
                "the issuer of `{}` is not known: put its certificate into issuers/certs or trusted/certs",
                last.certificate.subject()
            ),
        ))
    }

    /// The certificates that lead from one to its root, the nearest issuer first, as far as they are known; without the root.
    pub(super) fn issuers_of(&self, certificate: &Certificate) -> Vec<Certificate> {
        let Ok(leaf) = Inspected::read(certificate.der()) else { return Vec::new() };
        let (mut issuers, mut last) = (Vec::new(), &leaf);
        while !last.is_self_issued() && issuers.len() < CHAIN_LENGTH_MAX {
            let is_issuer = |known: &&Inspected| last.signed.verify(&known.certificate).is_ok();
            let issuer = self.certificates.get(&last.issuer).into_iter().flatten().find(is_issuer);
            let Some(issuer) = issuer.filter(|issuer| !issuer.is_self_issued()) else { break };
            issuers.push(issuer.certificate.clone());
            last = issuer;
        }
        issuers
    }
}

fn check_leaf(leaf: &Inspected, role: PeerRole, moment: Moment) -> Result<(), Error> {
    if !is_valid(leaf, moment) {
        return Err(fail(
            StatusCode::BadCertificateTimeInvalid,
            "the certificate has expired, or is not valid yet",
        ));
    }
    if role == PeerRole::User {
        let words = "the certificate's key usage is not that of a user: it must sign";
        let unfit = || fail(StatusCode::BadCertificateUseNotAllowed, words);
        return if leaf.usage.signs { Ok(()) } else { Err(unfit()) };
    }
    if !leaf.usage.serves_application {
        return Err(fail(
            StatusCode::BadCertificateUseNotAllowed,
            "the certificate's key usage is not that of an application: it must sign and encrypt",
        ));
    }
    let is_for_role = match role {
        PeerRole::Server => leaf.usage.is_for_servers,
        PeerRole::Client => leaf.usage.is_for_applications,
        PeerRole::User => true,
    };
    if !is_for_role {
        return Err(fail(
            StatusCode::BadCertificateUseNotAllowed,
            "the certificate's extended key usage is not that of its owner's role: a server needs serverAuth, a client clientAuth",
        ));
    }
    Ok(())
}

fn is_valid(certificate: &Inspected, moment: Moment) -> bool {
    let (from, until) = (certificate.certificate.valid_from(), certificate.certificate.valid_until());
    // Certificates count in seconds: the last second is valid to its end.
    from <= moment && moment.ms() / 1_000 <= until.ms() / 1_000
}

/// Every certificate that an authority signed must be on no list of that authority, and there must be one.
fn check_revocation(path: &[&Inspected], lists: &[RevocationList], moment: Moment) -> Result<(), Error> {
    for (index, pair) in path.windows(2).enumerate() {
        let [certificate, issuer] = pair else { continue };
        let is_leaf = index == 0;
        match is_revoked(certificate, issuer, lists, moment) {
            Some(false) => {}
            Some(true) if is_leaf => {
                return Err(fail(
                    StatusCode::BadCertificateRevoked,
                    "the certificate was revoked by its issuer",
                ));
            }
            Some(true) => {
                return Err(fail(
                    StatusCode::BadCertificateIssuerRevoked,
                    "an issuer's certificate was revoked",
                ));
            }
            None => {
                let status = if is_leaf {
                    StatusCode::BadCertificateRevocationUnknown
                } else {
                    StatusCode::BadCertificateIssuerRevocationUnknown
                };
                let subject = issuer.certificate.subject();
                return Err(fail(
                    status,
                    format!(
                        "there is no current revocation list of `{subject}`: put it into trusted/crl or issuers/crl"
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Whether a current list of the issuer names the certificate; `None` when there is no such list.
fn is_revoked(
    certificate: &Inspected,
    issuer: &Inspected,
    lists: &[RevocationList],
    moment: Moment,
) -> Option<bool> {
    let mut found = None;
    for list in lists.iter().filter(|list| list.counts_for(issuer, moment)) {
        let named = list.serials.contains(&certificate.serial);
        found = Some(found.unwrap_or(false) || named);
    }
    found
}

/// A revocation list.
struct RevocationList {
    issuer: Vec<u8>,
    signed: SignedBytes,
    this_update: Moment,
    next_update: Option<Moment>,
    serials: HashSet<Vec<u8>>,
}

impl RevocationList {
    /// Reads a list, DER; whose it is in truth is not looked at.
    fn read(der: &[u8]) -> Option<RevocationList> {
        let list = CertificateList::<x509_cert::certificate::Raw>::from_der(der).ok()?;
        let content = &list.tbs_cert_list;
        let at = |time: x509_cert::time::Time| Moment::default().plus(time.to_unix_duration());
        let revoked = content.revoked_certificates.iter().flatten();
        Some(RevocationList {
            issuer: content.issuer.to_der().ok()?,
            signed: SignedBytes::read(der, &list.signature_algorithm, list.signature.raw_bytes()).ok()?,
            this_update: at(content.this_update),
            next_update: content.next_update.map(at),
            serials: revoked.map(|entry| entry.serial_number.as_bytes().to_vec()).collect(),
        })
    }

    /// Whether it is the issuer's, signed by it, and current.
    fn counts_for(&self, issuer: &Inspected, moment: Moment) -> bool {
        let is_current = self.this_update <= moment && self.next_update.is_none_or(|next| moment <= next);
        is_current
            && self.issuer == issuer.subject
            && issuer.usage.signs_lists
            && self.signed.verify(&issuer.certificate).is_ok()
    }
}

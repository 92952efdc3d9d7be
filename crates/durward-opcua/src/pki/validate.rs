//! Whether a certificate is trusted (Part 4, 6.1.3): a pure function of lists and a moment.

use durward_identity::Moment;
use opcua_types::StatusCode;
use x509_cert::crl::CertificateList;
use x509_cert::der::{Decode, Encode};

use super::inspect::{Inspected, Signed};
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
    let (leaf, sent) =
        chain.split_first().ok_or_else(|| fail(StatusCode::BadCertificateInvalid, "there is none"))?;
    let leaf = Inspected::read(leaf)?;
    let is_trusted = |der: &[u8]| lists.trusted.iter().any(|trusted| trusted == der);
    let path = build_path(leaf, sent, lists)?;
    let trusted = path.iter().any(|certificate| is_trusted(certificate.certificate.der()));
    let Some((leaf, issuers)) = path.split_first() else { return Ok(()) };
    if !trusted {
        return Err(fail(
            StatusCode::BadCertificateUntrusted,
            format!(
                "the certificate `{}` ({}) is not trusted: move it from rejected/certs to trusted/certs to trust it",
                leaf.certificate.subject(),
                leaf.certificate.thumbprint_hex()
            ),
        ));
    }
    if !is_valid(leaf, moment) {
        return Err(fail(
            StatusCode::BadCertificateTimeInvalid,
            "the certificate has expired, or is not valid yet",
        ));
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
    };
    if !is_for_role {
        return Err(fail(
            StatusCode::BadCertificateUseNotAllowed,
            "the certificate's extended key usage is not that of its owner's role: a server needs serverAuth, a client clientAuth",
        ));
    }
    if issuers.iter().any(|issuer| !is_valid(issuer, moment)) {
        return Err(fail(
            StatusCode::BadCertificateIssuerTimeInvalid,
            "an issuer's certificate has expired, or is not valid yet",
        ));
    }
    check_revocation(&path, lists, moment)
}

fn is_valid(certificate: &Inspected, moment: Moment) -> bool {
    let (from, until) = (certificate.certificate.valid_from(), certificate.certificate.valid_until());
    // Certificates count in seconds: the last second is valid to its end.
    from <= moment && moment.ms() / 1_000 <= until.ms() / 1_000
}

/// From the application's certificate to a root that is known here, each signed by the next. A self-signed certificate is its own root,
/// which it need not be known for: whether it is trusted is asked afterwards.
fn build_path(leaf: Inspected, sent: &[&[u8]], lists: &TrustLists) -> Result<Vec<Inspected>, Error> {
    let known: Vec<Inspected> =
        lists.trusted.iter().chain(&lists.issuers).filter_map(|der| Inspected::read(der).ok()).collect();
    let sent: Vec<Inspected> = sent.iter().filter_map(|der| Inspected::read(der).ok()).collect();
    let mut path = vec![leaf];
    while path.len() <= CHAIN_LENGTH_MAX {
        let Some(last) = path.last() else { break };
        if last.is_self_issued() {
            last.signed.verify(&last.certificate)?;
            return Ok(path);
        }
        let mut candidates =
            known.iter().chain(&sent).filter(|issuer| issuer.subject == last.issuer).peekable();
        if candidates.peek().is_none() {
            break;
        }
        let issuer = candidates.find(|issuer| last.signed.verify(&issuer.certificate).is_ok());
        let issuer =
            issuer.ok_or_else(|| Error::security("a certificate's signature is not that of its issuer"))?;
        if !issuer.usage.signs_certificates {
            return Err(fail(
                StatusCode::BadCertificateIssuerUseNotAllowed,
                "an issuer's certificate is not that of an authority",
            ));
        }
        let issuer = Inspected::read(issuer.certificate.der())?;
        path.push(issuer);
    }
    let root = path.last().map_or("", |last| last.certificate.subject());
    Err(fail(
        StatusCode::BadCertificateChainIncomplete,
        format!(
            "the issuer of `{root}` is not known: put its certificate into issuers/certs or trusted/certs"
        ),
    ))
}

/// Every certificate that an authority signed must be on no list of that authority, and there must be one.
fn check_revocation(path: &[Inspected], lists: &TrustLists, moment: Moment) -> Result<(), Error> {
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
    lists: &TrustLists,
    moment: Moment,
) -> Option<bool> {
    let mut found = None;
    for der in &lists.revocation_lists {
        let Some(serials) = current_list(der, issuer, moment) else { continue };
        let named = serials.contains(&certificate.serial);
        found = Some(found.unwrap_or(false) || named);
    }
    found
}

/// The revoked serial numbers of a list, if it is the issuer's, signed by it, and current.
fn current_list(der: &[u8], issuer: &Inspected, moment: Moment) -> Option<Vec<Vec<u8>>> {
    let list = CertificateList::<x509_cert::certificate::Raw>::from_der(der).ok()?;
    let content = &list.tbs_cert_list;
    if content.issuer.to_der().ok()? != issuer.subject || !issuer.usage.signs_lists {
        return None;
    }
    let algorithm = list.signature_algorithm.oid.to_string();
    Signed::read(der, algorithm, list.signature.raw_bytes()).ok()?.verify(&issuer.certificate).ok()?;
    let at = |time: x509_cert::time::Time| Moment::default().plus(time.to_unix_duration());
    let begun = at(content.this_update) <= moment;
    let ended = content.next_update.is_some_and(|next| at(next) < moment);
    if !begun || ended {
        return None;
    }
    let revoked = content.revoked_certificates.iter().flatten();
    Some(revoked.map(|entry| entry.serial_number.as_bytes().to_vec()).collect())
}

/// The certificates that lead from one to its root, the nearest issuer first, as far as they are known; without the root.
pub(super) fn issuers_of(certificate: &Certificate, lists: &TrustLists) -> Vec<Certificate> {
    let Ok(mut last) = Inspected::read(certificate.der()) else { return Vec::new() };
    let all = || lists.trusted.iter().chain(&lists.issuers).filter_map(|der| Inspected::read(der).ok());
    let mut issuers = Vec::new();
    while !last.is_self_issued() && issuers.len() < CHAIN_LENGTH_MAX {
        let is_issuer = |known: &Inspected| {
            known.subject == last.issuer && last.signed.verify(&known.certificate).is_ok()
        };
        let Some(issuer) = all().find(is_issuer).filter(|issuer| !issuer.is_self_issued()) else { break };
        issuers.push(issuer.certificate.clone());
        last = issuer;
    }
    issuers
}

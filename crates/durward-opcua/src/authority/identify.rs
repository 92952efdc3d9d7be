//! Authenticates the user of a call.

use std::sync::Arc;

use durward_identity::Moment;
use opcua_types::{ByteString, SignatureData, StatusCode, UAString, UserTokenPolicy, UserTokenType};

use super::decide::TokenClientApplication;
use super::figures::{AuthorityAuditNote, RefusalReason};
use super::issue::TokenRequestRefused;
use super::service::AuthorizationServiceInner;
use super::subjects::{Credential, SubjectRefusal};
use super::{CallerUser, Identity, MethodCaller};
use crate::crypto::{self, Certificate, SecurityPolicy};
use crate::token::Thumbprint;

/// The type of issued tokens that are those of durward sessions.
pub const SESSION_TOKEN_TYPE: &str = "urn:durward:session";

/// The policies for identities in calls, by their ids.
const SESSION: &str = "session";
const USER_NAME: &str = "username";
const ISSUED: &str = "issued";
const CERTIFICATE: &str = "certificate_";

/// Bytes of the random data that a client brings for a certificate.
pub(super) const REQUESTOR_NONCE_BYTES_MIN: usize = 32;

/// What was agreed by `StartRequestToken`, and the proof.
pub(super) struct PossessionProof<'p> {
    pub(super) policy_id: &'p str,
    pub(super) service_data: &'p ByteString,
    pub(super) signature: &'p SignatureData,
}

/// How users can identify themselves in calls: as the session's user (or as nobody: the application counts), by a password or a durward
/// session's token in plain (the channel encrypts), by a certificate.
pub(super) fn policies() -> Vec<UserTokenPolicy> {
    let policy = |id: String, token_type, security: SecurityPolicy| UserTokenPolicy {
        policy_id: UAString::from(id),
        token_type,
        issued_token_type: UAString::null(),
        issuer_endpoint_url: UAString::null(),
        security_policy_uri: UAString::from(security.uri()),
    };
    let mut issued = policy(ISSUED.to_owned(), UserTokenType::IssuedToken, SecurityPolicy::None);
    issued.issued_token_type = UAString::from(SESSION_TOKEN_TYPE);
    let certificate = |security: SecurityPolicy| {
        policy(format!("{CERTIFICATE}{}", security.name()), UserTokenType::Certificate, security)
    };
    let plain = [
        policy(SESSION.to_owned(), UserTokenType::Anonymous, SecurityPolicy::None),
        policy(USER_NAME.to_owned(), UserTokenType::UserName, SecurityPolicy::None),
        issued,
    ];
    plain.into_iter().chain(SecurityPolicy::SECURE.map(certificate)).collect()
}

/// The security policy of a policy for certificates.
pub(super) fn certificate_policy(policy_id: &str) -> Option<SecurityPolicy> {
    let name = policy_id.strip_prefix(CERTIFICATE)?;
    SecurityPolicy::SECURE.into_iter().find(|policy| policy.name() == name)
}

fn invalid(words: &str) -> TokenRequestRefused {
    TokenRequestRefused::new(StatusCode::BadIdentityTokenInvalid, RefusalReason::Identity, words)
}

fn rejected(words: &str) -> TokenRequestRefused {
    TokenRequestRefused::new(StatusCode::BadIdentityTokenRejected, RefusalReason::Identity, words)
}

/// The application that calls.
pub(super) fn client_of(caller: &MethodCaller) -> Result<TokenClientApplication, TokenRequestRefused> {
    let insecure = || {
        TokenRequestRefused::new(
            StatusCode::BadSecurityModeInsufficient,
            RefusalReason::Identity,
            "the channel has no certificate",
        )
    };
    let der = caller.certificate.as_ref().ok_or_else(insecure)?;
    let certificate = Certificate::from_der(der).map_err(|error| invalid(error.reason()))?;
    Ok(TokenClientApplication {
        application_uri: Arc::clone(&caller.application_uri),
        certificate_subject: Arc::from(certificate.subject()),
        thumbprint: Thumbprint::of(der),
    })
}

impl AuthorizationServiceInner {
    /// Checks a credential; a failure is audited.
    pub(super) fn login(
        &self,
        application: &str,
        credential: &Credential<'_>,
        now: Moment,
    ) -> Result<CallerUser, SubjectRefusal> {
        let user = self.parts.subjects.login(application, credential, now);
        if user.is_err() {
            let credential = format!("{credential:?}");
            self.parts
                .audit
                .note(now, &AuthorityAuditNote::LoginRefused { application, credential: &credential });
        }
        user
    }

    /// The user whom a call is for. Without a secret or a proof of its own, an identity in the call is nobody's: then the session's user
    /// counts, or the application. A certificate needs the proof of `FinishRequestToken`.
    pub(super) fn identify(
        &self,
        caller: &MethodCaller,
        identity: &Identity,
        proof: Option<&PossessionProof<'_>>,
        now: Moment,
    ) -> Result<CallerUser, TokenRequestRefused> {
        let credential = match identity {
            Identity::Session => {
                check_policy(SESSION, SESSION, proof)?;
                return Ok(caller.user.clone());
            }
            Identity::Anonymous(token) => {
                // The identifier may be left out, as in ActivateSession.
                let id = token.policy_id.as_ref();
                check_policy(if id.is_empty() { SESSION } else { id }, SESSION, proof)?;
                return Ok(CallerUser::Anonymous);
            }
            Identity::Name(token) => {
                check_policy(token.policy_id.as_ref(), USER_NAME, proof)?;
                check_plain(&token.encryption_algorithm)?;
                Credential::Password { name: token.user_name.as_ref(), password: token.password.as_ref() }
            }
            Identity::Issued(token) => {
                check_policy(token.policy_id.as_ref(), ISSUED, proof)?;
                check_plain(&token.encryption_algorithm)?;
                Credential::Session(token.token_data.as_ref())
            }
            Identity::Certificate(token) => {
                let proof = proof.ok_or_else(|| {
                    rejected("a certificate without a proof of its key: use StartRequestToken and FinishRequestToken")
                })?;
                let certificate = Certificate::from_der(token.certificate_data.as_ref())
                    .map_err(|_| invalid("the user's certificate cannot be read"))?;
                self.check_proof(token.policy_id.as_ref(), &certificate, proof)?;
                return Ok(self.login(
                    &caller.application_uri,
                    &Credential::Certificate(&certificate),
                    now,
                )?);
            }
        };
        Ok(self.login(&caller.application_uri, &credential, now)?)
    }

    /// The signature of Part 4, 5.7.3.2, with the service's data in the place of the server's nonce (Part 12, 9.6.7).
    fn check_proof(
        &self,
        policy_id: &str,
        certificate: &Certificate,
        proof: &PossessionProof<'_>,
    ) -> Result<(), TokenRequestRefused> {
        let unsigned = || {
            TokenRequestRefused::new(
                StatusCode::BadUserSignatureInvalid,
                RefusalReason::Identity,
                "the user's certificate did not sign",
            )
        };
        let policy = certificate_policy(proof.policy_id).filter(|_| policy_id == proof.policy_id);
        let policy = policy.ok_or_else(|| invalid("the certificate is not of the policy that was agreed"))?;
        if proof.signature.algorithm.as_ref() != policy.signature_uri()
            || proof.service_data.as_ref().is_empty()
        {
            return Err(unsigned());
        }
        let signed = [self.settings.certificate.as_slice(), proof.service_data.as_ref()].concat();
        crypto::verify(policy, certificate.key(), &signed, proof.signature.signature.as_ref())
            .map_err(|_| unsigned())
    }
}

/// The identity must be of a policy for its kind, and of the one that was agreed.
fn check_policy(
    id: &str,
    needed: &str,
    proof: Option<&PossessionProof<'_>>,
) -> Result<(), TokenRequestRefused> {
    let agreed = proof.is_none_or(|proof| proof.policy_id == needed);
    if id == needed && agreed {
        Ok(())
    } else {
        Err(invalid("the identity is not of the policy that was agreed, or of none"))
    }
}

/// Part 12, 9.6.5: only plain secrets, on an encrypted channel; there is no nonce that an encrypted one could be bound to.
fn check_plain(algorithm: &UAString) -> Result<(), TokenRequestRefused> {
    let words = "the secret is encrypted, where its policy says plain: the channel encrypts it";
    if algorithm.as_ref().is_empty() { Ok(()) } else { Err(invalid(words)) }
}

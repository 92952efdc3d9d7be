//! User identity tokens as they come: which policy, which kind, what is encrypted, what is signed.

use std::sync::Arc;

use opcua_types::type_loader::ByteStringBody;
use opcua_types::{
    ActivateSessionRequest, AnonymousIdentityToken, BinaryDecodable, Context, IssuedIdentityToken, ObjectId,
    SignatureData, StatusCode, UserNameIdentityToken, X509IdentityToken,
};
use zeroize::Zeroizing;

use super::endpoint::{Endpoint, TokenPolicy, UserTokenKind};
use super::service::UserIdentity;
use crate::crypto::{self, Certificate, Nonce, OwnCertificate, SealedSecret};
use crate::error::Error;

/// The longest user name.
const USER_NAME_BYTES_MAX: usize = 1_024;

/// A token whose policy is known, before anything was decrypted or verified.
pub(super) struct SentToken {
    pub(super) policy: TokenPolicy,
    content: TokenContent,
}

enum TokenContent {
    Anonymous,
    UserName { name: String, password: SealedSecret },
    Certificate { certificate: Vec<u8>, signature: SignatureData },
    Issued { token_type: String, token: SealedSecret },
}

fn invalid(reason: &'static str) -> Error {
    Error::new(StatusCode::BadIdentityTokenInvalid, reason)
}

impl SentToken {
    /// Reads the token of a request and finds its policy among those of the endpoint: of that kind, with that identifier.
    ///
    /// # Errors
    /// `BadIdentityTokenInvalid`: unreadable, no such policy, or another kind than the policy says.
    pub(super) fn read(
        context: &Context<'_>,
        request: &ActivateSessionRequest,
        endpoint: &Endpoint,
    ) -> Result<SentToken, Error> {
        let Some(body) = request.user_identity_token.inner_as::<ByteStringBody>() else {
            if !request.user_identity_token.is_null() {
                return Err(invalid("the user identity token cannot be read"));
            }
            return SentToken::find(endpoint, "", TokenContent::Anonymous);
        };
        let raw = body.raw_body().value.as_deref().unwrap_or_default();
        let type_id = body.encoding_id();
        let known = (type_id.namespace == 0).then(|| type_id.as_u32()).flatten();
        let is = |id: ObjectId| known == Some(id as u32);
        if is(ObjectId::AnonymousIdentityToken_Encoding_DefaultBinary) {
            let token: AnonymousIdentityToken = decode(context, raw)?;
            return SentToken::find(endpoint, token.policy_id.as_ref(), TokenContent::Anonymous);
        }
        if is(ObjectId::UserNameIdentityToken_Encoding_DefaultBinary) {
            let token: UserNameIdentityToken = decode(context, raw)?;
            let name = token.user_name.as_ref().to_owned();
            if name.len() > USER_NAME_BYTES_MAX {
                return Err(invalid("the user name is too long"));
            }
            let password = sealed(token.password, token.encryption_algorithm.as_ref());
            return SentToken::find(
                endpoint,
                token.policy_id.as_ref(),
                TokenContent::UserName { name, password },
            );
        }
        if is(ObjectId::X509IdentityToken_Encoding_DefaultBinary) {
            let token: X509IdentityToken = decode(context, raw)?;
            let content = TokenContent::Certificate {
                certificate: token.certificate_data.value.unwrap_or_default(),
                signature: request.user_token_signature.clone(),
            };
            return SentToken::find(endpoint, token.policy_id.as_ref(), content);
        }
        if is(ObjectId::IssuedIdentityToken_Encoding_DefaultBinary) {
            let token: IssuedIdentityToken = decode(context, raw)?;
            let sealed = sealed(token.token_data, token.encryption_algorithm.as_ref());
            let content = TokenContent::Issued { token_type: String::new(), token: sealed };
            return SentToken::find(endpoint, token.policy_id.as_ref(), content);
        }
        Err(invalid("the user identity token is of no kind of the standard"))
    }

    fn find(endpoint: &Endpoint, id: &str, content: TokenContent) -> Result<SentToken, Error> {
        // A client without a user may leave the identifier, or the whole token, out (Part 4, 5.7.3.2).
        let unnamed = id.is_empty() && matches!(content, TokenContent::Anonymous);
        let fits = |policy: &&TokenPolicy| content.is_of(&policy.kind) && (policy.id == id || unnamed);
        let policy = endpoint.tokens.iter().find(fits).cloned();
        let policy = policy
            .ok_or_else(|| invalid("no user token policy of the endpoint has that identifier and kind"))?;
        let content = match (content, &policy.kind) {
            (TokenContent::Issued { token, .. }, UserTokenKind::Issued { token_type, .. }) => {
                TokenContent::Issued { token_type: token_type.clone(), token }
            }
            (content, _) => content,
        };
        Ok(SentToken { policy, content })
    }

    /// Decrypts and verifies, which costs RSA: on a worker.
    ///
    /// # Errors
    /// `BadIdentityTokenInvalid` for secrets that are not as the policy wants them, `BadUserSignatureInvalid` for a signature that the user's
    /// certificate did not make.
    pub(super) fn open(
        &self,
        own: &OwnCertificate,
        nonce: &Nonce,
        secret_bytes_max: usize,
    ) -> Result<UserIdentity, Error> {
        let open = |sealed: &SealedSecret| -> Result<Zeroizing<Vec<u8>>, Error> {
            crypto::decode_secret(self.policy.security, sealed, own, nonce, secret_bytes_max)
        };
        match &self.content {
            TokenContent::Anonymous => Ok(UserIdentity::Anonymous),
            TokenContent::UserName { name, password } => {
                Ok(UserIdentity::UserName { name: name.clone(), password: open(password)? })
            }
            TokenContent::Issued { token_type, token } => {
                Ok(UserIdentity::Issued { token_type: token_type.clone(), token: open(token)? })
            }
            TokenContent::Certificate { certificate, signature } => {
                let certificate = Certificate::from_der(certificate)
                    .map_err(|_| invalid("the user's certificate cannot be read"))?;
                let policy = self.policy.security.policy();
                verify_proof(signature, policy, &certificate, own, nonce).map_err(|_| {
                    Error::new(StatusCode::BadUserSignatureInvalid, "the user's certificate did not sign")
                })?;
                Ok(UserIdentity::Certificate(Arc::new(certificate)))
            }
        }
    }
}

impl TokenContent {
    fn is_of(&self, kind: &UserTokenKind) -> bool {
        match self {
            TokenContent::Anonymous => *kind == UserTokenKind::Anonymous,
            TokenContent::UserName { .. } => *kind == UserTokenKind::UserName,
            TokenContent::Certificate { .. } => *kind == UserTokenKind::Certificate,
            TokenContent::Issued { .. } => matches!(kind, UserTokenKind::Issued { .. }),
        }
    }
}

/// Verifies a proof of possession: a signature over the server's certificate and its last nonce (Part 4, 5.7.3).
///
/// # Errors
/// `BadSecurityChecksFailed`: another algorithm than the policy's, or not that signature.
pub(super) fn verify_proof(
    signature: &SignatureData,
    policy: crypto::SecurityPolicy,
    certificate: &Certificate,
    own: &OwnCertificate,
    nonce: &Nonce,
) -> Result<(), Error> {
    if signature.algorithm.as_ref() != policy.signature_uri() {
        return Err(Error::security("a signature is made with another algorithm than the policy's"));
    }
    let signature = signature.signature.value.as_deref().unwrap_or_default();
    let is_over =
        |own: &[u8]| crypto::verify(policy, certificate.key(), &[own, nonce.as_slice()].concat(), signature);
    // Clients before 1.04 sign the whole chain that they were shown.
    is_over(own.certificate().der()).or_else(|error| {
        let chain = own.chain();
        if chain.len() == own.certificate().der().len() { Err(error) } else { is_over(&chain) }
    })
}

fn sealed(data: opcua_types::ByteString, algorithm: &str) -> SealedSecret {
    SealedSecret { data: data.value.unwrap_or_default(), algorithm: algorithm.to_owned() }
}

/// Decodes a token that the context's loader has walked over.
fn decode<T: BinaryDecodable>(context: &Context<'_>, raw: &[u8]) -> Result<T, Error> {
    let mut stream = raw;
    let decoded =
        T::decode(&mut stream, context).map_err(|_| invalid("the user identity token cannot be read"))?;
    if !stream.is_empty() {
        return Err(invalid("the user identity token has bytes left over"));
    }
    Ok(decoded)
}

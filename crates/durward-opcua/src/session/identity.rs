//! How a client says who its user is.

use std::fmt;
use std::sync::Arc;

use durward_identity::Moment;
use opcua_types::{
    AnonymousIdentityToken, EndpointDescription, ExtensionObject, IssuedIdentityToken, SignatureData,
    StatusCode, UAString, UserNameIdentityToken, UserTokenPolicy, UserTokenType, X509IdentityToken,
};
use zeroize::Zeroizing;

use crate::crypto::{self, Certificate, OwnCertificate, SecretFormat, SecurityPolicy, TokenSecurity};
use crate::error::Error;

/// What a client activates a session with.
#[derive(Clone)]
pub enum ClientIdentity {
    /// No user.
    Anonymous,
    /// A name and a password.
    UserName {
        /// The name.
        name: String,
        /// The password.
        password: Zeroizing<String>,
    },
    /// A certificate of the user, and its key.
    Certificate(OwnCertificate),
    /// An issued token, of whatever type the endpoint's first policy for such tokens wants.
    Issued {
        /// The token: for a JWT its compact form.
        token: Zeroizing<Vec<u8>>,
    },
    /// A JWT of the authorization service that one policy of the endpoint names.
    Jwt {
        /// The token, in compact form.
        token: Zeroizing<Vec<u8>>,
        /// What that policy says of the service, as it stands there.
        issuer_endpoint_url: Arc<str>,
    },
}

/// The type of tokens that are JWTs (Part 6, 6.5.2).
pub const JWT_TOKEN_TYPE: &str = "http://opcfoundation.org/UA/UserToken#JWT";

/// Secrets do not show.
impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ClientIdentity::Anonymous => "Anonymous",
            ClientIdentity::UserName { .. } => "UserName",
            ClientIdentity::Certificate(_) => "Certificate",
            ClientIdentity::Issued { .. } => "Issued",
            ClientIdentity::Jwt { .. } => "Jwt",
        })
    }
}

/// What goes into ActivateSession.
pub(super) struct SealedIdentity {
    pub(super) token: ExtensionObject,
    pub(super) signature: SignatureData,
}

impl ClientIdentity {
    fn token_type(&self) -> UserTokenType {
        match self {
            ClientIdentity::Anonymous => UserTokenType::Anonymous,
            ClientIdentity::UserName { .. } => UserTokenType::UserName,
            ClientIdentity::Certificate(_) => UserTokenType::Certificate,
            ClientIdentity::Issued { .. } | ClientIdentity::Jwt { .. } => UserTokenType::IssuedToken,
        }
    }

    /// The endpoint's policy for this identity; of several the first whose security is supported here.
    ///
    /// # Errors
    /// `BadIdentityTokenRejected` when the endpoint accepts none of this kind.
    pub fn policy<'a>(
        &self,
        endpoint: &'a EndpointDescription,
    ) -> Result<(&'a UserTokenPolicy, TokenSecurity), Error> {
        let policies = endpoint.user_identity_tokens.iter().flatten();
        let of_kind = policies.filter(|policy| policy.token_type == self.token_type() && self.fits(policy));
        let mut supported = of_kind.filter_map(|policy| Some((policy, security(policy, endpoint).ok()?)));
        supported.next().ok_or_else(|| {
            Error::new(
                StatusCode::BadIdentityTokenRejected,
                format!("the endpoint accepts no token like {self:?}"),
            )
        })
    }

    fn fits(&self, policy: &UserTokenPolicy) -> bool {
        match self {
            ClientIdentity::Anonymous
            | ClientIdentity::UserName { .. }
            | ClientIdentity::Certificate(_)
            | ClientIdentity::Issued { .. } => true,
            ClientIdentity::Jwt { issuer_endpoint_url, .. } => {
                policy.issued_token_type.as_ref() == JWT_TOKEN_TYPE
                    && policy.issuer_endpoint_url.as_ref() == &**issuer_endpoint_url
            }
        }
    }

    /// The token as the endpoint's policy wants it; computes RSA.
    ///
    /// # Errors
    /// The endpoint accepts no such token, or would have a secret sent in plain over a channel that is not encrypted.
    pub(super) fn seal(
        &self,
        endpoint: &EndpointDescription,
        server: &Certificate,
        nonce: &[u8],
        format: SecretFormat,
        moment: Moment,
    ) -> Result<SealedIdentity, Error> {
        let (policy, security) = self.policy(endpoint)?;
        let policy_id = policy.policy_id.clone();
        let encrypted = endpoint.security_mode == opcua_types::MessageSecurityMode::SignAndEncrypt;
        let seal = |secret: &[u8]| {
            if security == TokenSecurity::Plain && !encrypted {
                return Err(Error::new(
                    StatusCode::BadSecurityModeInsufficient,
                    "the endpoint would have a secret sent in plain over a channel that is not encrypted",
                ));
            }
            crypto::encode_secret(security, format, secret, server, nonce, moment)
        };
        let unsigned = SignatureData::default();
        Ok(match self {
            ClientIdentity::Anonymous => {
                let token = AnonymousIdentityToken { policy_id };
                SealedIdentity { token: ExtensionObject::new(token), signature: unsigned }
            }
            ClientIdentity::UserName { name, password } => {
                let sealed = seal(password.as_bytes())?;
                let token = UserNameIdentityToken {
                    policy_id,
                    user_name: UAString::from(name.as_str()),
                    password: sealed.data.into(),
                    encryption_algorithm: algorithm(sealed.algorithm),
                };
                SealedIdentity { token: ExtensionObject::new(token), signature: unsigned }
            }
            ClientIdentity::Issued { token } | ClientIdentity::Jwt { token, .. } => {
                let sealed = seal(token)?;
                let token = IssuedIdentityToken {
                    policy_id,
                    token_data: sealed.data.into(),
                    encryption_algorithm: algorithm(sealed.algorithm),
                };
                SealedIdentity { token: ExtensionObject::new(token), signature: unsigned }
            }
            ClientIdentity::Certificate(own) => {
                let token = X509IdentityToken {
                    policy_id,
                    certificate_data: own.certificate().der().to_vec().into(),
                };
                let signature = prove(security.policy(), own, server.der(), nonce)?;
                SealedIdentity { token: ExtensionObject::new(token), signature }
            }
        })
    }
}

/// A proof that one has a certificate's key: a signature over the peer's certificate and its last nonce.
pub(super) fn prove(
    policy: SecurityPolicy,
    own: &OwnCertificate,
    peer_certificate: &[u8],
    nonce: &[u8],
) -> Result<SignatureData, Error> {
    let signature = crypto::sign(policy, own.key(), &[peer_certificate, nonce].concat())?;
    Ok(SignatureData { algorithm: UAString::from(policy.signature_uri()), signature: signature.into() })
}

fn algorithm(uri: String) -> UAString {
    if uri.is_empty() { UAString::null() } else { UAString::from(uri) }
}

fn security(policy: &UserTokenPolicy, endpoint: &EndpointDescription) -> Result<TokenSecurity, Error> {
    let uri = match policy.security_policy_uri.as_ref() {
        "" => endpoint.security_policy_uri.as_ref(),
        uri => uri,
    };
    SecurityPolicy::from_uri(uri).map(TokenSecurity::of)
}

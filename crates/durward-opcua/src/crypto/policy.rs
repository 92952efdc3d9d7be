//! Security policies and their parameters.

use std::fmt;

use opcua_types::StatusCode;

use crate::error::Error;

/// What all policy URIs begin with.
const PREFIX: &str = "http://opcfoundation.org/UA/SecurityPolicy#";

const RSA_SHA256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
const RSA_PSS_SHA256: &str = "http://opcfoundation.org/UA/security/rsa-pss-sha2-256";
const RSA_OAEP: &str = "http://www.w3.org/2001/04/xmlenc#rsa-oaep";
const RSA_OAEP_SHA256: &str = "http://opcfoundation.org/UA/security/rsa-oaep-sha2-256";

/// A security policy. The deprecated ones (`Basic128Rsa15`, `Basic256`) do not exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SecurityPolicy {
    /// No security: discovery only.
    None,
    /// RSA PKCS#1 v1.5 signatures with SHA-256, OAEP with SHA-1, AES-256-CBC, HMAC-SHA-256.
    Basic256Sha256,
    /// As `Basic256Sha256`, with AES-128-CBC.
    Aes128Sha256RsaOaep,
    /// RSA-PSS and OAEP with SHA-256, AES-256-CBC, HMAC-SHA-256.
    Aes256Sha256RsaPss,
}

impl SecurityPolicy {
    /// The policies that secure anything, weakest first.
    pub const SECURE: [SecurityPolicy; 3] = [
        SecurityPolicy::Basic256Sha256,
        SecurityPolicy::Aes128Sha256RsaOaep,
        SecurityPolicy::Aes256Sha256RsaPss,
    ];

    /// The policy of a URI.
    ///
    /// # Errors
    /// `BadSecurityPolicyRejected` when there is none, or it is a deprecated one.
    pub fn from_uri(uri: &str) -> Result<SecurityPolicy, Error> {
        let all = [SecurityPolicy::None].into_iter().chain(SecurityPolicy::SECURE);
        let named = uri.strip_prefix(PREFIX);
        all.into_iter().find(|policy| named == Some(policy.name())).ok_or_else(|| {
            Error::new(
                StatusCode::BadSecurityPolicyRejected,
                format!("the security policy `{}` is not supported", uri.escape_debug()),
            )
        })
    }

    /// The name, as in the URI.
    pub fn name(self) -> &'static str {
        match self {
            SecurityPolicy::None => "None",
            SecurityPolicy::Basic256Sha256 => "Basic256Sha256",
            SecurityPolicy::Aes128Sha256RsaOaep => "Aes128_Sha256_RsaOaep",
            SecurityPolicy::Aes256Sha256RsaPss => "Aes256_Sha256_RsaPss",
        }
    }

    /// The URI.
    pub fn uri(self) -> &'static str {
        match self {
            SecurityPolicy::None => "http://opcfoundation.org/UA/SecurityPolicy#None",
            SecurityPolicy::Basic256Sha256 => "http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256",
            SecurityPolicy::Aes128Sha256RsaOaep => {
                "http://opcfoundation.org/UA/SecurityPolicy#Aes128_Sha256_RsaOaep"
            }
            SecurityPolicy::Aes256Sha256RsaPss => {
                "http://opcfoundation.org/UA/SecurityPolicy#Aes256_Sha256_RsaPss"
            }
        }
    }

    /// Whether it secures anything.
    pub fn is_secure(self) -> bool {
        self != SecurityPolicy::None
    }

    /// The URI of the asymmetric signature algorithm; empty for `None`.
    pub fn signature_uri(self) -> &'static str {
        match self {
            SecurityPolicy::None => "",
            SecurityPolicy::Basic256Sha256 | SecurityPolicy::Aes128Sha256RsaOaep => RSA_SHA256,
            SecurityPolicy::Aes256Sha256RsaPss => RSA_PSS_SHA256,
        }
    }

    /// The URI of the asymmetric encryption algorithm; empty for `None`.
    pub fn encryption_uri(self) -> &'static str {
        match self {
            SecurityPolicy::None => "",
            SecurityPolicy::Basic256Sha256 | SecurityPolicy::Aes128Sha256RsaOaep => RSA_OAEP,
            SecurityPolicy::Aes256Sha256RsaPss => RSA_OAEP_SHA256,
        }
    }

    /// Bytes of the symmetric encryption key.
    pub fn encryption_key_bytes(self) -> usize {
        match self {
            SecurityPolicy::None => 0,
            SecurityPolicy::Aes128Sha256RsaOaep => 16,
            SecurityPolicy::Basic256Sha256 | SecurityPolicy::Aes256Sha256RsaPss => 32,
        }
    }

    /// Bytes of the symmetric signature key.
    pub fn signing_key_bytes(self) -> usize {
        if self.is_secure() { 32 } else { 0 }
    }

    /// Bytes of the nonces that make a channel's keys.
    pub fn channel_nonce_bytes(self) -> usize {
        if self.is_secure() { super::NONCE_BYTES } else { 0 }
    }

    /// Bits of the RSA keys that the policy allows; the three have the same.
    pub fn key_bits(self) -> std::ops::RangeInclusive<usize> {
        2_048..=4_096
    }

    /// How good it is among the others, for `securityLevel`: higher is better.
    pub fn level(self) -> u8 {
        match self {
            SecurityPolicy::None => 0,
            SecurityPolicy::Aes128Sha256RsaOaep => 1,
            SecurityPolicy::Basic256Sha256 => 2,
            SecurityPolicy::Aes256Sha256RsaPss => 3,
        }
    }
}

impl fmt::Display for SecurityPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

//! RSA keys, and an application's own certificate with its key.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opcua_types::StatusCode;
use zeroize::Zeroizing;

use super::certificate::Certificate;
use crate::error::Error;

/// Longest file of a key: ten times what RSA 4096 needs.
const KEY_FILE_BYTES_MAX: usize = 32 * 1024;

/// Lengths of RSA keys that are made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLength {
    /// 2048 bits.
    Rsa2048,
    /// 3072 bits.
    Rsa3072,
    /// 4096 bits.
    Rsa4096,
}

/// An RSA private key of 2048 to 4096 bits.
pub struct PrivateKey {
    pub(super) signing: KeyPair,
    pub(super) decrypting: OaepPrivateDecryptingKey,
}

impl PrivateKey {
    /// A new key.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn generate(length: KeyLength) -> Result<PrivateKey, Error> {
        let size = match length {
            KeyLength::Rsa2048 => KeySize::Rsa2048,
            KeyLength::Rsa3072 => KeySize::Rsa3072,
            KeyLength::Rsa4096 => KeySize::Rsa4096,
        };
        PrivateKey::of(KeyPair::generate(size).map_err(|_| unusable("no key can be made"))?)
    }

    /// Reads a key: DER or PEM, PKCS#8 or PKCS#1, not encrypted.
    ///
    /// # Errors
    /// Something else, or a key whose length is not 2048 to 4096 bits.
    pub fn read(bytes: &[u8]) -> Result<PrivateKey, Error> {
        if bytes.len() > KEY_FILE_BYTES_MAX {
            return Err(unusable("it is longer than a key"));
        }
        if bytes.windows(10).any(|window| window == b"-----BEGIN") {
            let text = std::str::from_utf8(bytes).map_err(|_| unusable("it is no PEM: not UTF-8"))?;
            return PrivateKey::from_der(&pem_body(text)?);
        }
        PrivateKey::from_der(bytes)
    }

    fn from_der(der: &[u8]) -> Result<PrivateKey, Error> {
        let pair = KeyPair::from_pkcs8(der)
            .or_else(|_| KeyPair::from_der(der))
            .map_err(|_| unusable("it is no RSA key in PKCS#8 or PKCS#1 that holds together"))?;
        PrivateKey::of(pair)
    }

    fn of(signing: KeyPair) -> Result<PrivateKey, Error> {
        let bits = signing.public_modulus_len() * 8;
        if !(2_048..=4_096).contains(&bits) {
            return Err(unusable(format!("it has {bits} bits; 2048 to 4096 are allowed")));
        }
        let der: Pkcs8V1Der<'_> = signing.as_der().map_err(|_| unusable("it cannot be encoded"))?;
        let decrypting = PrivateDecryptingKey::from_pkcs8(der.as_ref())
            .ok()
            .and_then(|key| OaepPrivateDecryptingKey::new(key).ok())
            .ok_or_else(|| unusable("it cannot decrypt"))?;
        Ok(PrivateKey { signing, decrypting })
    }

    /// The key in PKCS#8, DER.
    ///
    /// # Errors
    /// None that a key which was read can cause.
    pub fn to_pkcs8(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let der: Pkcs8V1Der<'_> = self.signing.as_der().map_err(|_| unusable("it cannot be encoded"))?;
        Ok(Zeroizing::new(der.as_ref().to_vec()))
    }

    /// The public half.
    ///
    /// # Errors
    /// None that a key which was read can cause.
    pub fn public(&self) -> Result<PublicKey, Error> {
        let der = self.signing.public_key().as_der().map_err(|_| unusable("it cannot be encoded"))?;
        let der: &[u8] = der.as_ref();
        PublicKey::from_spki(der.to_vec())
    }

    /// Bytes of the modulus, of a signature, and of an encrypted block.
    pub fn modulus_bytes(&self) -> usize {
        self.signing.public_modulus_len()
    }
}

/// A private key does not show.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey(RSA {})", self.modulus_bytes() * 8)
    }
}

fn unusable(reason: impl fmt::Display) -> Error {
    Error::new(StatusCode::BadConfigurationError, format!("the private key cannot be used: {reason}"))
}

fn pem_body(text: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    let labels = ["PRIVATE KEY", "RSA PRIVATE KEY"];
    let inside = labels.iter().find_map(|label| {
        let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
        Some(rest.split_once(&format!("-----END {label}-----"))?.0)
    });
    let inside = inside.ok_or_else(|| {
        unusable("its PEM is neither `PRIVATE KEY` nor `RSA PRIVATE KEY`; encrypted keys are not read")
    })?;
    let base64: Zeroizing<String> = Zeroizing::new(inside.split_whitespace().collect());
    STANDARD.decode(base64.as_bytes()).map(Zeroizing::new).map_err(|_| unusable("its PEM is no Base64"))
}

/// An RSA public key of 2048 to 4096 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    spki: Vec<u8>,
    modulus_bytes: usize,
}

impl PublicKey {
    /// Reads a `SubjectPublicKeyInfo`, DER.
    ///
    /// # Errors
    /// `BadCertificateInvalid` when it is no RSA key, or its length is not allowed.
    pub(crate) fn from_spki(spki: Vec<u8>) -> Result<PublicKey, Error> {
        let key = aws_lc_rs::rsa::PublicEncryptingKey::from_der(&spki).map_err(|_| {
            Error::new(
                StatusCode::BadCertificateInvalid,
                "the certificate's key is no RSA key of 2048 bits or more",
            )
        })?;
        let bits = key.key_size_bits();
        if !(2_048..=4_096).contains(&bits) {
            return Err(Error::new(
                StatusCode::BadCertificatePolicyCheckFailed,
                format!("the certificate's key has {bits} bits; 2048 to 4096 are allowed"),
            ));
        }
        Ok(PublicKey { modulus_bytes: key.key_size_bytes(), spki })
    }

    /// The `SubjectPublicKeyInfo`, DER.
    pub fn spki(&self) -> &[u8] {
        &self.spki
    }

    /// Bytes of the modulus, of a signature, and of an encrypted block.
    pub fn modulus_bytes(&self) -> usize {
        self.modulus_bytes
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey(RSA {})", self.modulus_bytes * 8)
    }
}

/// The certificate of an application, the key to it, and the certificates of those who issued it.
#[derive(Clone, Debug)]
pub struct OwnCertificate {
    certificate: Arc<Certificate>,
    issuers: Arc<[Certificate]>,
    key: Arc<PrivateKey>,
}

impl OwnCertificate {
    /// Joins both.
    ///
    /// # Errors
    /// The key is not the certificate's.
    pub fn new(certificate: Certificate, key: PrivateKey) -> Result<OwnCertificate, Error> {
        if key.public()?.spki() != certificate.key().spki() {
            return Err(unusable("it does not belong to the certificate"));
        }
        Ok(OwnCertificate { certificate: Arc::new(certificate), issuers: Arc::default(), key: Arc::new(key) })
    }

    /// The same with the certificates of its issuers, the nearest first, without the root: they are shown to peers, which may know the root only.
    #[must_use]
    pub fn with_issuers(self, issuers: Vec<Certificate>) -> OwnCertificate {
        OwnCertificate { issuers: issuers.into(), ..self }
    }

    /// Certificate and issuers, one behind the other, as peers are shown them (Part 6, 6.2.6).
    pub fn chain(&self) -> Vec<u8> {
        let issuers = self.issuers.iter().map(Certificate::der);
        std::iter::once(self.certificate.der()).chain(issuers).flatten().copied().collect()
    }

    /// The certificate.
    pub fn certificate(&self) -> &Arc<Certificate> {
        &self.certificate
    }

    /// The key.
    pub fn key(&self) -> &Arc<PrivateKey> {
        &self.key
    }
}

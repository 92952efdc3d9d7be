//! The keys that bundles are signed with: Ed25519, in the files that `openssl` and the engine's tools write.

use std::fmt;

use durward_jwt::{JwsAlgorithm, PublicKey};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::error::failed;
use crate::{BundleError, pem, random};

/// What stands before the 32 bytes of a private key: PKCS #8, version 1 (RFC 8410).
const PRIVATE_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// Verifies signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey {
    key: [u8; 32],
    /// The same as SubjectPublicKeyInfo.
    der: Vec<u8>,
}

impl VerifyingKey {
    /// Reads a public key: PEM, or the Base64 of it alone.
    ///
    /// # Errors
    /// Anything else than a public key of Ed25519.
    pub fn read(text: &str) -> Result<VerifyingKey, BundleError> {
        if text.contains("PRIVATE KEY") {
            return failed(
                "it is a private key; whoever verifies needs the public one, and should not have this",
            );
        }
        let bytes = pem::read(text, "PUBLIC KEY")?;
        match PublicKey::from_der(&bytes) {
            Ok(PublicKey::Ed25519(key)) => Ok(VerifyingKey { key, der: bytes }),
            Ok(PublicKey::Rsa(_) | PublicKey::Ec(_)) | Err(_) => failed("it is no public key of Ed25519"),
        }
    }

    /// The key as PEM.
    pub fn to_pem(&self) -> String {
        pem::write(&self.der, "PUBLIC KEY")
    }

    pub(crate) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), BundleError> {
        if PublicKey::Ed25519(self.key).verifies(JwsAlgorithm::EdDsa, message, signature) {
            return Ok(());
        }
        failed("the signature is wrong: another key, or something was changed")
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifyingKey")
    }
}

/// Signs.
pub struct SigningKey {
    seed: [u8; 32],
    pair: Ed25519KeyPair,
    verifying: VerifyingKey,
}

impl SigningKey {
    /// Makes a key.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn generate() -> Result<SigningKey, BundleError> {
        SigningKey::of(random::random_bytes()?)
    }

    /// Reads a private key: PKCS #8 as PEM, unencrypted.
    ///
    /// # Errors
    /// Anything else. The text is in no message.
    pub fn read(text: &str) -> Result<SigningKey, BundleError> {
        let bytes = pem::read(text, "PRIVATE KEY")?;
        let seed = bytes.strip_prefix(&PRIVATE_PREFIX).and_then(|seed| seed.try_into().ok());
        seed.map_or_else(|| failed("it is no private key of Ed25519 (PKCS #8)"), SigningKey::of)
    }

    fn of(seed: [u8; 32]) -> Result<SigningKey, BundleError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed);
        let wrong = || BundleError::new("it is no private key of Ed25519");
        let pair = pair.map_err(|_| wrong())?;
        let key = pair.public_key().as_ref().try_into().map_err(|_| wrong())?;
        let der = PublicKey::Ed25519(key).to_der().map_err(|_| wrong())?;
        Ok(SigningKey { seed, pair, verifying: VerifyingKey { key, der } })
    }

    /// The key as PEM. Whoever has it can sign: write it nowhere that others read.
    pub fn to_pem(&self) -> String {
        pem::write(&[PRIVATE_PREFIX.as_slice(), &self.seed].concat(), "PRIVATE KEY")
    }

    /// The key that verifies what this one signs.
    pub fn verifying_key(&self) -> VerifyingKey {
        self.verifying.clone()
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

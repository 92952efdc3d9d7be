//! RSA signatures and encryption in blocks, by security policy.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OAEP_SHA256_MGF1SHA256, OaepAlgorithm, OaepPublicEncryptingKey, PublicEncryptingKey,
};
use aws_lc_rs::signature::{
    self, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_SHA256, VerificationAlgorithm,
};
use opcua_types::StatusCode;
use zeroize::Zeroizing;

use super::key::{PrivateKey, PublicKey};
use super::policy::SecurityPolicy;
use crate::error::Error;

fn insecure() -> Error {
    Error::new(StatusCode::BadSecurityPolicyRejected, "the security policy None neither signs nor encrypts")
}

/// Signs the parts, one after the other.
///
/// # Errors
/// The policy is `None`, or the library refuses.
pub fn sign(policy: SecurityPolicy, key: &PrivateKey, data: &[u8]) -> Result<Vec<u8>, Error> {
    let encoding: &'static dyn signature::RsaEncoding = match policy {
        SecurityPolicy::None => return Err(insecure()),
        SecurityPolicy::Basic256Sha256 | SecurityPolicy::Aes128Sha256RsaOaep => &RSA_PKCS1_SHA256,
        SecurityPolicy::Aes256Sha256RsaPss => &RSA_PSS_SHA256,
    };
    let mut signature = vec![0; key.modulus_bytes()];
    key.signing
        .sign(encoding, &SystemRandom::new(), data, &mut signature)
        .map_err(|_| Error::new(StatusCode::BadInternalError, "a signature cannot be made"))?;
    Ok(signature)
}

/// Verifies a signature.
///
/// # Errors
/// `BadSecurityChecksFailed` when it is not that of the data and the key.
pub fn verify(policy: SecurityPolicy, key: &PublicKey, data: &[u8], signature: &[u8]) -> Result<(), Error> {
    let algorithm: &'static dyn VerificationAlgorithm = match policy {
        SecurityPolicy::None => return Err(insecure()),
        SecurityPolicy::Basic256Sha256 | SecurityPolicy::Aes128Sha256RsaOaep => &RSA_PKCS1_2048_8192_SHA256,
        SecurityPolicy::Aes256Sha256RsaPss => &RSA_PSS_2048_8192_SHA256,
    };
    ParsedPublicKey::new(algorithm, key.spki())
        .ok()
        .and_then(|parsed| parsed.verify_sig(data, signature).ok())
        .ok_or_else(|| Error::security("a signature is not that of the certificate"))
}

fn oaep(policy: SecurityPolicy) -> Result<(&'static OaepAlgorithm, usize), Error> {
    match policy {
        SecurityPolicy::None => Err(insecure()),
        SecurityPolicy::Basic256Sha256 | SecurityPolicy::Aes128Sha256RsaOaep => Ok((&OAEP_SHA1_MGF1SHA1, 42)),
        SecurityPolicy::Aes256Sha256RsaPss => Ok((&OAEP_SHA256_MGF1SHA256, 66)),
    }
}

/// How many bytes one encrypted block of a key with so many bytes holds.
///
/// # Errors
/// The policy is `None`.
pub fn plain_block_bytes(policy: SecurityPolicy, modulus_bytes: usize) -> Result<usize, Error> {
    Ok(modulus_bytes.saturating_sub(oaep(policy)?.1).max(1))
}

/// How many bytes so many bytes have when they are encrypted.
///
/// # Errors
/// The policy is `None`.
pub fn encrypted_length(policy: SecurityPolicy, modulus_bytes: usize, plain: usize) -> Result<usize, Error> {
    Ok(plain.div_ceil(plain_block_bytes(policy, modulus_bytes)?) * modulus_bytes)
}

/// Encrypts block after block.
///
/// # Errors
/// The policy is `None`, or the library refuses.
pub fn encrypt(policy: SecurityPolicy, key: &PublicKey, plain: &[u8]) -> Result<Vec<u8>, Error> {
    let failed =
        || Error::new(StatusCode::BadInternalError, "nothing can be encrypted with the certificate's key");
    let (algorithm, _) = oaep(policy)?;
    let encrypting = PublicEncryptingKey::from_der(key.spki())
        .ok()
        .and_then(|key| OaepPublicEncryptingKey::new(key).ok())
        .ok_or_else(failed)?;
    let mut encrypted = vec![0; encrypted_length(policy, key.modulus_bytes(), plain.len())?];
    let blocks = plain.chunks(plain_block_bytes(policy, key.modulus_bytes())?);
    for (block, out) in blocks.zip(encrypted.chunks_mut(key.modulus_bytes())) {
        encrypting.encrypt(algorithm, block, out, None).map_err(|_| failed())?;
    }
    Ok(encrypted)
}

/// Decrypts block after block. Each block costs one private operation of RSA: callers bound the length first.
///
/// # Errors
/// `BadSecurityChecksFailed`, whatever is wrong.
pub fn decrypt(
    policy: SecurityPolicy,
    key: &PrivateKey,
    encrypted: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = || Error::security("what was encrypted for this application cannot be decrypted");
    let (algorithm, _) = oaep(policy)?;
    let block_bytes = key.modulus_bytes();
    if encrypted.is_empty() || !encrypted.len().is_multiple_of(block_bytes) {
        return Err(failed());
    }
    let mut plain = Zeroizing::new(Vec::with_capacity(encrypted.len()));
    let mut out = Zeroizing::new(vec![0; block_bytes]);
    for block in encrypted.chunks_exact(block_bytes) {
        let decrypted = key.decrypting.decrypt(algorithm, block, &mut out, None).map_err(|_| failed())?;
        plain.extend_from_slice(decrypted);
    }
    Ok(plain)
}

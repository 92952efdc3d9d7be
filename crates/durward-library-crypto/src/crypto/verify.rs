//! Whether a signature was made with the private key of a public one: the words of Java around the verifier.

use durward_jwt::{EcKey, JwsAlgorithm, PublicKey, RsaKey, read_pair};

use super::Reason;

/// Whether this is an RSA signature of the message.
///
/// # Errors
/// The key is of a size that cannot be verified with, or the signature is not of its length.
pub(crate) fn rsa(
    algorithm: JwsAlgorithm,
    key: &RsaKey,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, Reason> {
    let (bits, length) = (key.bits(), key.modulus().len());
    if signature.len() != length {
        return Err(format!("Bad signature length: got {} but was expecting {length}", signature.len()));
    }
    let key = PublicKey::Rsa(key.clone());
    if !key.fits(algorithm) {
        return Err(format!("RSA keys of {bits} bits are not supported here"));
    }
    Ok(key.verifies(algorithm, message, signature))
}

/// Whether this is an Ed25519 signature of the message.
///
/// # Errors
/// The signature is not 64 octets long.
pub(crate) fn ed25519(key: &[u8; 32], message: &[u8], signature: &[u8]) -> Result<bool, Reason> {
    if signature.len() != 64 {
        return Err(format!("an Ed25519 signature is 64 octets long, not {}", signature.len()));
    }
    Ok(PublicKey::Ed25519(*key).verifies(JwsAlgorithm::EdDsa, message, signature))
}

/// Whether this is an ECDSA signature of the message, written in DER (RFC 3279, section 2.2.3).
///
/// # Errors
/// The signature is not DER, or the key is no point of its curve.
pub(crate) fn ecdsa_der(
    algorithm: JwsAlgorithm,
    key: &EcKey,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, Reason> {
    let (r, s) = read_pair(signature).ok_or("Invalid encoding for signature")?;
    if !key.is_on_curve() {
        return Err("the key is not on its curve".to_owned());
    }
    let mut fixed = Vec::new();
    for number in [r, s] {
        // A number that is too large is in no signature.
        let Some(zeros) = key.curve().octets().checked_sub(number.len()) else { return Ok(false) };
        fixed.resize(fixed.len() + zeros, 0);
        fixed.extend_from_slice(number);
    }
    Ok(PublicKey::Ec(key.clone()).verifies(algorithm, message, &fixed))
}

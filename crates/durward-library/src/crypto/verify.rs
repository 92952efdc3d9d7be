//! Whether a signature was made with the private key of a public one.

use num_bigint::BigUint;
use ring::signature::{
    ED25519, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use sha2::Digest as _;

use super::Reason;
use super::key::{JavaCurve, JavaPublicKey, read_pair};

/// What a message is reduced to before it is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignatureDigest {
    Sha256,
    Sha384,
    Sha512,
}

impl SignatureDigest {
    fn of(self, message: &[u8]) -> Vec<u8> {
        match self {
            SignatureDigest::Sha256 => sha2::Sha256::digest(message).to_vec(),
            SignatureDigest::Sha384 => sha2::Sha384::digest(message).to_vec(),
            SignatureDigest::Sha512 => sha2::Sha512::digest(message).to_vec(),
        }
    }
}

/// How an RSA signature fills up the digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RsaPadding {
    Pkcs1,
    Pss,
}

/// Whether this is an RSA signature of the message.
///
/// # Errors
/// The key is of a size that cannot be verified with, or the signature is not of its length.
pub(crate) fn rsa(
    padding: RsaPadding,
    digest: SignatureDigest,
    (modulus, exponent): (&BigUint, &BigUint),
    message: &[u8],
    signature: &[u8],
) -> Result<bool, Reason> {
    let length = usize::try_from(modulus.bits().div_ceil(8)).unwrap_or(usize::MAX);
    if signature.len() != length {
        return Err(format!("Bad signature length: got {} but was expecting {length}", signature.len()));
    }
    let parameters = rsa_parameters(padding, digest, modulus.bits())
        .ok_or_else(|| format!("RSA keys of {} bits are not supported here", modulus.bits()))?;
    let key = RsaPublicKeyComponents { n: modulus.to_bytes_be(), e: exponent.to_bytes_be() };
    Ok(key.verify(parameters, message, signature).is_ok())
}

/// What `ring` has for keys of a size.
fn rsa_parameters(padding: RsaPadding, digest: SignatureDigest, bits: u64) -> Option<&'static RsaParameters> {
    match (padding, digest, bits) {
        (RsaPadding::Pkcs1, SignatureDigest::Sha256, 2048..=8192) => Some(&RSA_PKCS1_2048_8192_SHA256),
        (RsaPadding::Pkcs1, SignatureDigest::Sha384, 2048..=8192) => Some(&RSA_PKCS1_2048_8192_SHA384),
        (RsaPadding::Pkcs1, SignatureDigest::Sha512, 2048..=8192) => Some(&RSA_PKCS1_2048_8192_SHA512),
        (RsaPadding::Pkcs1, SignatureDigest::Sha256, 1024..2048) => {
            Some(&RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY)
        }
        (RsaPadding::Pkcs1, SignatureDigest::Sha512, 1024..2048) => {
            Some(&RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY)
        }
        (RsaPadding::Pss, SignatureDigest::Sha256, 2048..=8192) => Some(&RSA_PSS_2048_8192_SHA256),
        (RsaPadding::Pss, SignatureDigest::Sha384, 2048..=8192) => Some(&RSA_PSS_2048_8192_SHA384),
        (RsaPadding::Pss, SignatureDigest::Sha512, 2048..=8192) => Some(&RSA_PSS_2048_8192_SHA512),
        (
            RsaPadding::Pkcs1 | RsaPadding::Pss,
            SignatureDigest::Sha256 | SignatureDigest::Sha384 | SignatureDigest::Sha512,
            _,
        ) => None,
    }
}

/// Whether this is an Ed25519 signature of the message.
///
/// # Errors
/// The signature is not 64 octets long.
pub(crate) fn ed25519(key: &[u8; 32], message: &[u8], signature: &[u8]) -> Result<bool, Reason> {
    if signature.len() != 64 {
        return Err(format!("an Ed25519 signature is 64 octets long, not {}", signature.len()));
    }
    Ok(UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok())
}

/// Whether this is an ECDSA signature of the message, written in DER (RFC 3279, section 2.2.3).
///
/// # Errors
/// The signature is not DER, or the key is no point of its curve.
pub(crate) fn ecdsa_der(
    digest: SignatureDigest,
    key: &JavaPublicKey,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, Reason> {
    let (r, s) = read_pair(signature).ok_or("Invalid encoding for signature")?;
    ecdsa(digest, key, message, r, s)
}

/// Whether this is an ECDSA signature of the message, written as both numbers in full length (RFC 7518, section 3.4).
///
/// # Errors
/// The key is no point of its curve.
pub(crate) fn ecdsa_fixed(
    digest: SignatureDigest,
    key: &JavaPublicKey,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, Reason> {
    let JavaPublicKey::Ec { curve, .. } = key else { return Ok(false) };
    match signature.split_at_checked(curve.octets()) {
        Some((r, s)) if r.len() == s.len() => ecdsa(digest, key, message, r, s),
        Some(_) | None => Ok(false),
    }
}

fn ecdsa(
    digest: SignatureDigest,
    key: &JavaPublicKey,
    message: &[u8],
    r: &[u8],
    s: &[u8],
) -> Result<bool, Reason> {
    let JavaPublicKey::Ec { curve, .. } = key else { return Err("the key is no EC key".to_owned()) };
    let (point, prehash) = (key.point(), digest.of(message));
    match curve {
        JavaCurve::P256 => p256_verify(&point, &prehash, r, s),
        JavaCurve::P384 => p384_verify(&point, &prehash, r, s),
        JavaCurve::P521 => p521_verify(&point, &prehash, r, s),
        JavaCurve::Other(_) => Err("the key is on a curve that nothing is verified on".to_owned()),
    }
}

macro_rules! verify_on {
    ($name:ident, $curve:ident, $octets:literal) => {
        fn $name(point: &[u8], prehash: &[u8], r: &[u8], s: &[u8]) -> Result<bool, Reason> {
            use $curve::ecdsa::signature::hazmat::PrehashVerifier;
            use $curve::ecdsa::{Signature, VerifyingKey};
            let key =
                VerifyingKey::from_sec1_bytes(point).map_err(|_| "the key is not on its curve".to_owned())?;
            let (Some(r), Some(s)) = (padded::<$octets>(r), padded::<$octets>(s)) else { return Ok(false) };
            // Numbers that are zero or as large as the order of the curve are in no signature.
            let Ok(signature) = Signature::from_scalars(r, s) else { return Ok(false) };
            Ok(key.verify_prehash(prehash, &signature).is_ok())
        }
    };
}

verify_on!(p256_verify, p256, 32);
verify_on!(p384_verify, p384, 48);
verify_on!(p521_verify, p521, 66);

/// The number with zeros in front; `None` when it is too large.
fn padded<const N: usize>(octets: &[u8]) -> Option<[u8; N]> {
    let mut out = [0; N];
    let start = N.checked_sub(octets.len())?;
    out.get_mut(start..)?.copy_from_slice(octets);
    Some(out)
}

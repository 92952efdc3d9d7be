//! Public keys as authenticators write them (RFC 9053, 7; RFC 8230, 4).

use durward_jwt::{Curve, EcKey, JwsAlgorithm, PublicKey, RsaKey, read_pair};

use super::PasskeyRefusal;
use super::cbor::Map;

/// The algorithms that are offered, best first, by their numbers in the registry of COSE.
pub(super) const OFFERED: [(i64, JwsAlgorithm); 3] =
    [(-7, JwsAlgorithm::Es256), (-8, JwsAlgorithm::EdDsa), (-257, JwsAlgorithm::Rs256)];

/// The names of parameters of a key.
mod parameter {
    pub(super) const KIND: i64 = 1;
    pub(super) const ALGORITHM: i64 = 3;
    pub(super) const CURVE: i64 = -1;
    pub(super) const X: i64 = -2;
    pub(super) const Y: i64 = -3;
    pub(super) const MODULUS: i64 = -1;
    pub(super) const EXPONENT: i64 = -2;
}

/// A key, and the one algorithm that it signs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CredentialKey {
    pub(super) key: PublicKey,
    pub(super) algorithm: JwsAlgorithm,
}

/// The key of a map, if it is of an algorithm that was offered, and fit for it.
pub(super) fn read(map: &Map) -> Result<CredentialKey, PasskeyRefusal> {
    let said = map.number(parameter::ALGORITHM);
    let offered = OFFERED.iter().find(|(number, _)| Some(*number) == said);
    let (_, algorithm) = offered.ok_or(PasskeyRefusal::Algorithm)?;
    let key = match (map.number(parameter::KIND), algorithm) {
        (Some(2), JwsAlgorithm::Es256) if map.number(parameter::CURVE) == Some(1) => of_p256(map),
        (Some(1), JwsAlgorithm::EdDsa) if map.number(parameter::CURVE) == Some(6) => {
            map.bytes(parameter::X).and_then(|x| x.try_into().ok()).map(PublicKey::Ed25519)
        }
        (Some(3), JwsAlgorithm::Rs256) => of_rsa(map),
        _ => None,
    };
    CredentialKey::new(key.ok_or(PasskeyRefusal::Algorithm)?, *algorithm)
}

/// A point is not compressed (5.8.5).
fn of_p256(map: &Map) -> Option<PublicKey> {
    let octets = Curve::P256.octets();
    let (x, y) = (map.bytes(parameter::X)?, map.bytes(parameter::Y)?);
    let is_full = x.len() == octets && y.len() == octets;
    EcKey::new(Curve::P256, x, y).ok().filter(|_| is_full).map(PublicKey::Ec)
}

fn of_rsa(map: &Map) -> Option<PublicKey> {
    let (modulus, exponent) = (map.bytes(parameter::MODULUS)?, map.bytes(parameter::EXPONENT)?);
    RsaKey::new(modulus, exponent).ok().map(PublicKey::Rsa)
}

impl CredentialKey {
    /// A key that may verify with its algorithm.
    pub(super) fn new(key: PublicKey, algorithm: JwsAlgorithm) -> Result<CredentialKey, PasskeyRefusal> {
        let is_offered = OFFERED.iter().any(|(_, offered)| *offered == algorithm);
        if is_offered && key.fits(algorithm) && key.check().is_ok() {
            Ok(CredentialKey { key, algorithm })
        } else {
            Err(PasskeyRefusal::Algorithm)
        }
    }

    /// Whether the signature is of this key, as authenticators write it (6.5.5).
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        if self.algorithm != JwsAlgorithm::Es256 {
            return self.key.verifies(self.algorithm, message, signature);
        }
        // ECDSA: DER, where tokens have both numbers in full length.
        fixed(signature).is_some_and(|signature| self.key.verifies(self.algorithm, message, &signature))
    }
}

fn fixed(signature: &[u8]) -> Option<Vec<u8>> {
    let (r, s) = read_pair(signature)?;
    let mut both = Vec::new();
    for number in [r, s] {
        let zeros = Curve::P256.octets().checked_sub(number.len())?;
        both.resize(both.len() + zeros, 0);
        both.extend(number);
    }
    Some(both)
}

//! Public keys in DER: `SubjectPublicKeyInfo` (RFC 5280, 4.1; RFC 3279, 2.3; RFC 8410).

use spki::der::asn1::{AnyRef, BitStringRef, UintRef};
use spki::der::{Decode, Encode};
use spki::{AlgorithmIdentifierRef, ObjectIdentifier, SubjectPublicKeyInfo, SubjectPublicKeyInfoRef};

use crate::key::{Curve, EcKey, KeyError, PublicKey, RsaKey};

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

impl Curve {
    const fn oid(self) -> ObjectIdentifier {
        match self {
            Curve::P256 => ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7"),
            Curve::P384 => ObjectIdentifier::new_unwrap("1.3.132.0.34"),
            Curve::P521 => ObjectIdentifier::new_unwrap("1.3.132.0.35"),
        }
    }

    /// The curve of an object identifier.
    pub fn of_oid(oid: ObjectIdentifier) -> Option<Curve> {
        Curve::ALL.into_iter().find(|curve| curve.oid() == oid)
    }
}

impl PublicKey {
    /// Reads a `SubjectPublicKeyInfo`. Keys of any size and points beside their curve are read: [`PublicKey::check`].
    ///
    /// # Errors
    /// [`KeyError::Der`] for anything but keys of RSA, of the three curves of NIST with an uncompressed point, and of Ed25519;
    /// [`KeyError::Rsa`].
    pub fn from_der(der: &[u8]) -> Result<PublicKey, KeyError> {
        let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| KeyError::Der)?;
        PublicKey::from_spki(&info)
    }

    /// The same of one that was read, as part of a certificate.
    ///
    /// # Errors
    /// As [`PublicKey::from_der`].
    pub fn from_spki(info: &SubjectPublicKeyInfoRef<'_>) -> Result<PublicKey, KeyError> {
        let octets = info.subject_public_key.as_bytes().ok_or(KeyError::Der)?;
        let parameters = info.algorithm.parameters;
        match info.algorithm.oid {
            RSA if parameters.is_none_or(|parameters| parameters.is_null()) => {
                let (modulus, exponent) = read_pair(octets).ok_or(KeyError::Der)?;
                RsaKey::new(modulus, exponent).map(PublicKey::Rsa)
            }
            EC => {
                let oid = parameters.and_then(|parameters| parameters.decode_as::<ObjectIdentifier>().ok());
                let curve = oid.and_then(Curve::of_oid).ok_or(KeyError::Der)?;
                EcKey::of_point(curve, octets).map(PublicKey::Ec).map_err(|_| KeyError::Der)
            }
            ED25519 if parameters.is_none() => {
                octets.try_into().map(PublicKey::Ed25519).map_err(|_| KeyError::Der)
            }
            _ => Err(KeyError::Der),
        }
    }

    /// The `SubjectPublicKeyInfo`.
    ///
    /// # Errors
    /// [`KeyError::Der`], where the key were longer than DER can say, which none is.
    pub fn to_der(&self) -> Result<Vec<u8>, KeyError> {
        let curve_oid;
        let (oid, parameters, octets) = match self {
            PublicKey::Rsa(key) => (RSA, Some(AnyRef::NULL), rsa_octets(key).map_err(|_| KeyError::Der)?),
            PublicKey::Ec(key) => {
                curve_oid = key.curve().oid();
                (EC, Some(AnyRef::from(&curve_oid)), key.point().to_vec())
            }
            PublicKey::Ed25519(octets) => (ED25519, None, octets.to_vec()),
        };
        let info = SubjectPublicKeyInfo {
            algorithm: AlgorithmIdentifierRef { oid, parameters },
            subject_public_key: BitStringRef::from_bytes(&octets).map_err(|_| KeyError::Der)?,
        };
        info.to_der().map_err(|_| KeyError::Der)
    }
}

fn rsa_octets(key: &RsaKey) -> spki::der::Result<Vec<u8>> {
    vec![UintRef::new(key.modulus())?, UintRef::new(key.exponent())?].to_der()
}

/// The two positive numbers of a sequence in DER, without zeros in front: a key of RSA (RFC 3279, 2.3.1), or a signature of ECDSA
/// (RFC 3279, 2.2.3).
pub fn read_pair(der: &[u8]) -> Option<(&[u8], &[u8])> {
    match Vec::<UintRef<'_>>::from_der(der).ok()?.as_slice() {
        [first, second] => Some((first.as_bytes(), second.as_bytes())),
        _ => None,
    }
}

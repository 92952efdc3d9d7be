//! Public keys: from and to DER, with the checks Java makes.

use num_bigint::BigUint;
use x509_cert::der::asn1::{AnyRef, BitStringRef, ObjectIdentifier, UintRef};
use x509_cert::der::{Decode, Encode};
use x509_cert::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfo, SubjectPublicKeyInfoRef};

use super::Reason;

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const ED448: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.113");

/// The smallest and largest RSA keys Java reads, in bits.
const RSA_BITS: std::ops::RangeInclusive<u64> = 512..=16_384;
/// Above so many bits the exponent may have [`RSA_EXPONENT_BITS_MAX`], as in Java: verifying must not take forever.
const RSA_SMALL_BITS_MAX: u64 = 3072;
const RSA_EXPONENT_BITS_MAX: u64 = 64;

/// A curve that Java knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JavaCurve {
    P256,
    P384,
    P521,
    /// Keys can be on it and have a size, and that is all.
    Other(OtherCurve),
}

/// A curve without a name in SAPL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherCurve {
    oid: &'static str,
    octets: usize,
    bits: u32,
}

impl JavaCurve {
    const ALL: [JavaCurve; 3] = [JavaCurve::P256, JavaCurve::P384, JavaCurve::P521];

    /// The curve of this object identifier.
    fn of_oid(oid: ObjectIdentifier) -> Option<JavaCurve> {
        if let Some(curve) = JavaCurve::ALL.into_iter().find(|curve| curve.oid() == Some(oid)) {
            return Some(curve);
        }
        let oid = oid.to_string();
        let other = OTHERS.iter().find(|(known, _, _)| *known == oid);
        other.map(|(oid, octets, bits)| JavaCurve::Other(OtherCurve { oid, octets: *octets, bits: *bits }))
    }

    fn oid(self) -> Option<ObjectIdentifier> {
        match self {
            JavaCurve::P256 => Some(ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7")),
            JavaCurve::P384 => Some(ObjectIdentifier::new_unwrap("1.3.132.0.34")),
            JavaCurve::P521 => Some(ObjectIdentifier::new_unwrap("1.3.132.0.35")),
            JavaCurve::Other(other) => ObjectIdentifier::new(other.oid).ok(),
        }
    }

    /// The name that Java and SAPL use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            JavaCurve::P256 => "secp256r1",
            JavaCurve::P384 => "secp384r1",
            JavaCurve::P521 => "secp521r1",
            JavaCurve::Other(_) => "unknown",
        }
    }

    /// The name in JSON Web Keys.
    pub(crate) const fn jwk_name(self) -> &'static str {
        match self {
            JavaCurve::P256 => "P-256",
            JavaCurve::P384 => "P-384",
            JavaCurve::P521 => "P-521",
            JavaCurve::Other(_) => "unknown",
        }
    }

    pub(crate) fn of_jwk(name: &str) -> Option<JavaCurve> {
        JavaCurve::ALL.into_iter().find(|curve| curve.jwk_name() == name)
    }

    /// The length of the order.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            JavaCurve::P256 => 256,
            JavaCurve::P384 => 384,
            JavaCurve::P521 => 521,
            JavaCurve::Other(other) => other.bits,
        }
    }

    /// How many octets a coordinate takes.
    pub(crate) const fn octets(self) -> usize {
        match self {
            JavaCurve::P256 => 32,
            JavaCurve::P384 => 48,
            JavaCurve::P521 => 66,
            JavaCurve::Other(other) => other.octets,
        }
    }
}

/// A public key of a kind that Java's `RSA`, `EC` and `EdDSA` key factories make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JavaPublicKey {
    Rsa {
        modulus: BigUint,
        exponent: BigUint,
    },
    /// A point, which nobody checked to be on the curve, as its two coordinates.
    Ec {
        curve: JavaCurve,
        x: Vec<u8>,
        y: Vec<u8>,
    },
    Ed25519([u8; 32]),
    /// It can be named but not used.
    Ed448,
}

impl JavaPublicKey {
    /// Reads a `SubjectPublicKeyInfo` (RFC 5280, section 4.1).
    pub(crate) fn from_der(der: &[u8]) -> Result<JavaPublicKey, Reason> {
        let unreadable = |_| unsupported();
        let info = SubjectPublicKeyInfoRef::from_der(der).map_err(unreadable)?;
        JavaPublicKey::from_info(&info)?.ok_or_else(unsupported)
    }

    /// `None` for another kind of key.
    pub(crate) fn from_info(info: &SubjectPublicKeyInfoRef<'_>) -> Result<Option<JavaPublicKey>, Reason> {
        let octets = info.subject_public_key.as_bytes().ok_or_else(unsupported)?;
        let parameters = info.algorithm.parameters;
        Ok(Some(match info.algorithm.oid {
            RSA if parameters.is_none_or(|parameters| parameters.is_null()) => read_rsa(octets)?,
            EC => read_ec(parameters, octets)?,
            ED25519 if parameters.is_none() => {
                JavaPublicKey::Ed25519(octets.try_into().map_err(|_| unsupported())?)
            }
            ED448 if parameters.is_none() && octets.len() == 57 => JavaPublicKey::Ed448,
            RSA | ED25519 | ED448 => return Err(unsupported()),
            _ => return Ok(None),
        }))
    }

    /// An RSA key, if it has a size that Java accepts.
    pub(crate) fn rsa(modulus: BigUint, exponent: BigUint) -> Result<JavaPublicKey, Reason> {
        if !RSA_BITS.contains(&modulus.bits()) {
            let (least, most) = (RSA_BITS.start(), RSA_BITS.end());
            return Err(format!("RSA keys must be {least} to {most} bits long"));
        }
        if exponent < BigUint::from(3_u32) || exponent >= modulus {
            return Err(
                "the exponent of an RSA key must be at least 3 and smaller than the modulus".to_owned()
            );
        }
        if modulus.bits() > RSA_SMALL_BITS_MAX && exponent.bits() > RSA_EXPONENT_BITS_MAX {
            return Err(
                "RSA exponents can be no longer than 64 bits if the modulus is longer than 3072".to_owned()
            );
        }
        Ok(JavaPublicKey::Rsa { modulus, exponent })
    }

    /// An elliptic curve key of these coordinates.
    pub(crate) fn ec(curve: JavaCurve, x: &[u8], y: &[u8]) -> Result<JavaPublicKey, Reason> {
        let fit = |octets: &[u8]| {
            let significant = octets.iter().position(|octet| *octet != 0).unwrap_or(octets.len());
            let octets = octets.get(significant..).unwrap_or_default();
            let zeros = curve
                .octets()
                .checked_sub(octets.len())
                .ok_or("Point coordinates do not match field size")?;
            Ok::<_, Reason>([vec![0; zeros].as_slice(), octets].concat())
        };
        Ok(JavaPublicKey::Ec { curve, x: fit(x)?, y: fit(y)? })
    }

    /// The name of the algorithm in Java.
    pub(crate) const fn algorithm(&self) -> &'static str {
        match self {
            JavaPublicKey::Rsa { .. } => "RSA",
            JavaPublicKey::Ec { .. } => "EC",
            JavaPublicKey::Ed25519(_) | JavaPublicKey::Ed448 => "EdDSA",
        }
    }

    /// The size in bits.
    pub(crate) fn bits(&self) -> i64 {
        match self {
            JavaPublicKey::Rsa { modulus, .. } => i64::try_from(modulus.bits()).unwrap_or(i64::MAX),
            JavaPublicKey::Ec { curve, .. } => curve.bits().into(),
            JavaPublicKey::Ed25519(_) => 256,
            JavaPublicKey::Ed448 => 448,
        }
    }

    /// The `SubjectPublicKeyInfo`.
    pub(crate) fn to_der(&self) -> Result<Vec<u8>, Reason> {
        let failed = |_| "the key cannot be encoded".to_owned();
        let curve_oid;
        let (oid, parameters, octets) = match self {
            JavaPublicKey::Rsa { modulus, exponent } => {
                (RSA, Some(AnyRef::NULL), encode_rsa(modulus, exponent).map_err(failed)?)
            }
            JavaPublicKey::Ec { curve, .. } => {
                curve_oid = curve.oid().ok_or_else(unsupported)?;
                (EC, Some(AnyRef::from(&curve_oid)), self.point())
            }
            JavaPublicKey::Ed25519(octets) => (ED25519, None, octets.to_vec()),
            JavaPublicKey::Ed448 => return Err(unsupported()),
        };
        let info = SubjectPublicKeyInfo {
            algorithm: AlgorithmIdentifierRef { oid, parameters },
            subject_public_key: BitStringRef::from_bytes(&octets).map_err(failed)?,
        };
        info.to_der().map_err(failed)
    }

    /// An elliptic curve point, uncompressed (SEC 1, section 2.3.3); empty for other keys.
    pub(crate) fn point(&self) -> Vec<u8> {
        let JavaPublicKey::Ec { x, y, .. } = self else { return Vec::new() };
        [&[4], x.as_slice(), y.as_slice()].concat()
    }
}

fn unsupported() -> Reason {
    "Unsupported key type or invalid key format. Tried algorithms: RSA, EC, EdDSA".to_owned()
}

fn read_rsa(octets: &[u8]) -> Result<JavaPublicKey, Reason> {
    let (modulus, exponent) = read_pair(octets).ok_or_else(unsupported)?;
    JavaPublicKey::rsa(BigUint::from_bytes_be(modulus), BigUint::from_bytes_be(exponent))
}

/// The two positive numbers of a DER sequence, without zeros in front.
pub(super) fn read_pair(der: &[u8]) -> Option<(&[u8], &[u8])> {
    match Vec::<UintRef<'_>>::from_der(der).ok()?.as_slice() {
        [first, second] => Some((first.as_bytes(), second.as_bytes())),
        _ => None,
    }
}

fn encode_rsa(modulus: &BigUint, exponent: &BigUint) -> x509_cert::der::Result<Vec<u8>> {
    let (modulus, exponent) = (modulus.to_bytes_be(), exponent.to_bytes_be());
    vec![UintRef::new(&modulus)?, UintRef::new(&exponent)?].to_der()
}

fn read_ec(parameters: Option<AnyRef<'_>>, octets: &[u8]) -> Result<JavaPublicKey, Reason> {
    let oid = parameters.and_then(|parameters| parameters.decode_as::<ObjectIdentifier>().ok());
    let curve = oid.and_then(JavaCurve::of_oid).ok_or_else(unsupported)?;
    let Some((4, coordinates)) = octets.split_first() else { return Err(unsupported()) };
    match coordinates.split_at_checked(curve.octets()) {
        // Java halves the length: one octet more than there should be goes unseen.
        Some((x, y)) if y.len() == x.len() || y.len() == x.len() + 1 => {
            let y = y.get(..x.len()).unwrap_or_default();
            Ok(JavaPublicKey::Ec { curve, x: x.to_vec(), y: y.to_vec() })
        }
        Some(_) | None => Err(unsupported()),
    }
}

/// The curves that Java knows beside those of NIST that have a name here: the object identifier, how many octets a
/// coordinate takes, and the length of the order in bits.
#[rustfmt::skip]
const OTHERS: &[(&str, usize, u32)] = &[
    ("1.3.132.0.6", 14, 112), ("1.3.132.0.7", 14, 110), ("1.3.132.0.28", 16, 128),
    ("1.3.132.0.29", 16, 126), ("1.3.132.0.9", 20, 161), ("1.3.132.0.8", 20, 161),
    ("1.3.132.0.30", 20, 161), ("1.3.132.0.31", 24, 192), ("1.2.840.10045.3.1.1", 24, 192),
    ("1.3.132.0.32", 28, 225), ("1.3.132.0.33", 28, 224), ("1.3.132.0.10", 32, 256),
    ("1.2.840.10045.3.1.2", 24, 192), ("1.2.840.10045.3.1.3", 24, 192), ("1.2.840.10045.3.1.4", 30, 239),
    ("1.2.840.10045.3.1.5", 30, 239), ("1.2.840.10045.3.1.6", 30, 239), ("1.3.132.0.4", 15, 113),
    ("1.3.132.0.5", 15, 113), ("1.3.132.0.22", 17, 131), ("1.3.132.0.23", 17, 131),
    ("1.3.132.0.1", 21, 163), ("1.3.132.0.2", 21, 162), ("1.3.132.0.15", 21, 163),
    ("1.3.132.0.24", 25, 193), ("1.3.132.0.25", 25, 193), ("1.3.132.0.26", 30, 232),
    ("1.3.132.0.27", 30, 233), ("1.3.132.0.3", 30, 238), ("1.3.132.0.16", 36, 281),
    ("1.3.132.0.17", 36, 282), ("1.3.132.0.36", 52, 407), ("1.3.132.0.37", 52, 409),
    ("1.3.132.0.38", 72, 570), ("1.3.132.0.39", 72, 570), ("1.2.840.10045.3.0.5", 24, 191),
    ("1.2.840.10045.3.0.6", 24, 190), ("1.2.840.10045.3.0.7", 24, 189), ("1.2.840.10045.3.0.11", 30, 238),
    ("1.2.840.10045.3.0.12", 30, 237), ("1.2.840.10045.3.0.13", 30, 236), ("1.2.840.10045.3.0.18", 45, 353),
    ("1.2.840.10045.3.0.20", 54, 418), ("1.3.36.3.3.2.8.1.1.1", 20, 160), ("1.3.36.3.3.2.8.1.1.3", 24, 192),
    ("1.3.36.3.3.2.8.1.1.5", 28, 224), ("1.3.36.3.3.2.8.1.1.7", 32, 256), ("1.3.36.3.3.2.8.1.1.9", 40, 320),
    ("1.3.36.3.3.2.8.1.1.11", 48, 384), ("1.3.36.3.3.2.8.1.1.13", 64, 512),
];

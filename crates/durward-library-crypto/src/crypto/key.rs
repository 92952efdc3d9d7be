//! Public keys with the checks Java makes, and the kinds that it can name but nothing is verified with.
//!
//! Those that verify are read and written by `durward-jwt`; here is what Java knows beyond.

use durward_jwt::spki::SubjectPublicKeyInfoRef;
use durward_jwt::spki::der::Decode;
use durward_jwt::spki::der::asn1::{AnyRef, ObjectIdentifier};
use durward_jwt::{EcKey, KeyError, RsaKey};

use super::Reason;

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ED448: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.113");
/// Kinds that are read elsewhere: one of them that could not be read is broken, not another kind.
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// The smallest and largest RSA keys Java reads, in bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 512..=durward_jwt::RSA_BITS_MAX;
/// Above so many bits the exponent may have [`RSA_EXPONENT_BYTES_MAX`], as in Java: verifying must not take forever.
const RSA_SMALL_BITS_MAX: usize = 3072;
const RSA_EXPONENT_BYTES_MAX: usize = 8;

/// A curve that Java knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JavaCurve {
    Nist(durward_jwt::Curve),
    /// Keys can be on it and have a size, and that is all.
    Other(OtherCurve),
}

/// A curve without a name in SAPL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherCurve {
    octets: usize,
    bits: u32,
}

impl JavaCurve {
    /// The curve of this object identifier.
    fn of_oid(oid: ObjectIdentifier) -> Option<JavaCurve> {
        if let Some(curve) = durward_jwt::Curve::of_oid(oid) {
            return Some(JavaCurve::Nist(curve));
        }
        let oid = oid.to_string();
        let other = OTHERS.iter().find(|(known, _, _)| *known == oid);
        other.map(|(_, octets, bits)| JavaCurve::Other(OtherCurve { octets: *octets, bits: *bits }))
    }

    /// The name that Java and SAPL use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            JavaCurve::Nist(curve) => name(curve),
            JavaCurve::Other(_) => "unknown",
        }
    }

    /// The length of the order.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            JavaCurve::Nist(durward_jwt::Curve::P256) => 256,
            JavaCurve::Nist(durward_jwt::Curve::P384) => 384,
            JavaCurve::Nist(durward_jwt::Curve::P521) => 521,
            JavaCurve::Other(other) => other.bits,
        }
    }

    const fn octets(self) -> usize {
        match self {
            JavaCurve::Nist(curve) => curve.octets(),
            JavaCurve::Other(other) => other.octets,
        }
    }
}

/// The name of a curve of NIST in Java and SAPL.
pub(crate) const fn name(curve: durward_jwt::Curve) -> &'static str {
    match curve {
        durward_jwt::Curve::P256 => "secp256r1",
        durward_jwt::Curve::P384 => "secp384r1",
        durward_jwt::Curve::P521 => "secp521r1",
    }
}

/// A public key of a kind that Java's `RSA`, `EC` and `EdDSA` key factories make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JavaPublicKey {
    /// One that verifies.
    Usable(durward_jwt::PublicKey),
    /// On a curve that nothing is verified on: its coordinates.
    OtherCurve { curve: OtherCurve, x: Vec<u8>, y: Vec<u8> },
    /// It can be named but not used.
    Ed448,
}

impl JavaPublicKey {
    /// Reads a `SubjectPublicKeyInfo` (RFC 5280, section 4.1).
    pub(crate) fn from_der(der: &[u8]) -> Result<JavaPublicKey, Reason> {
        let info = SubjectPublicKeyInfoRef::from_der(der).map_err(|_| unsupported())?;
        JavaPublicKey::from_info(&info)?.ok_or_else(unsupported)
    }

    /// `None` for another kind of key.
    pub(crate) fn from_info(info: &SubjectPublicKeyInfoRef<'_>) -> Result<Option<JavaPublicKey>, Reason> {
        match durward_jwt::PublicKey::from_spki(info) {
            Ok(key) => return checked(key).map(Some),
            Err(error @ (KeyError::Rsa | KeyError::RsaExponent)) => return Err(jwk_reason(error)),
            Err(_) => {}
        }
        let octets = info.subject_public_key.as_bytes().ok_or_else(unsupported)?;
        let parameters = info.algorithm.parameters;
        match info.algorithm.oid {
            EC => read_ec(parameters, octets).map(Some),
            ED448 if parameters.is_none() && octets.len() == 57 => Ok(Some(JavaPublicKey::Ed448)),
            RSA | ED25519 | ED448 => Err(unsupported()),
            _ => Ok(None),
        }
    }

    /// Reads a JSON Web Key: `member` gives those of its members that are texts.
    pub(crate) fn from_jwk<'m>(member: impl Fn(&str) -> Option<&'m str>) -> Result<JavaPublicKey, Reason> {
        durward_jwt::PublicKey::from_jwk(member).map_err(jwk_reason).and_then(checked)
    }

    /// The name of the algorithm in Java.
    pub(crate) const fn algorithm(&self) -> &'static str {
        match self {
            JavaPublicKey::Usable(durward_jwt::PublicKey::Rsa(_)) => "RSA",
            JavaPublicKey::Usable(durward_jwt::PublicKey::Ec(_)) | JavaPublicKey::OtherCurve { .. } => "EC",
            JavaPublicKey::Usable(durward_jwt::PublicKey::Ed25519(_)) | JavaPublicKey::Ed448 => "EdDSA",
        }
    }

    /// The size in bits.
    pub(crate) fn bits(&self) -> i64 {
        match self {
            JavaPublicKey::Usable(durward_jwt::PublicKey::Rsa(key)) => {
                i64::try_from(key.bits()).unwrap_or(i64::MAX)
            }
            JavaPublicKey::Usable(durward_jwt::PublicKey::Ec(key)) => {
                JavaCurve::Nist(key.curve()).bits().into()
            }
            JavaPublicKey::Usable(durward_jwt::PublicKey::Ed25519(_)) => 256,
            JavaPublicKey::OtherCurve { curve, .. } => curve.bits.into(),
            JavaPublicKey::Ed448 => 448,
        }
    }

    /// The curve of a key on one.
    pub(crate) fn curve(&self) -> Option<JavaCurve> {
        match self {
            JavaPublicKey::Usable(durward_jwt::PublicKey::Ec(key)) => Some(JavaCurve::Nist(key.curve())),
            JavaPublicKey::OtherCurve { curve, .. } => Some(JavaCurve::Other(*curve)),
            JavaPublicKey::Usable(durward_jwt::PublicKey::Rsa(_) | durward_jwt::PublicKey::Ed25519(_))
            | JavaPublicKey::Ed448 => None,
        }
    }

    /// The `SubjectPublicKeyInfo`.
    pub(crate) fn to_der(&self) -> Result<Vec<u8>, Reason> {
        match self {
            JavaPublicKey::Usable(key) => key.to_der().map_err(|error| error.to_string()),
            JavaPublicKey::OtherCurve { .. } | JavaPublicKey::Ed448 => Err(unsupported()),
        }
    }
}

fn unsupported() -> Reason {
    "Unsupported key type or invalid key format. Tried algorithms: RSA, EC, EdDSA".to_owned()
}

/// A key, if Java accepts its size.
fn checked(key: durward_jwt::PublicKey) -> Result<JavaPublicKey, Reason> {
    if let durward_jwt::PublicKey::Rsa(key) = &key {
        check_rsa(key)?;
    }
    Ok(JavaPublicKey::Usable(key))
}

fn rsa_size() -> Reason {
    let (least, most) = (RSA_BITS.start(), RSA_BITS.end());
    format!("RSA keys must be {least} to {most} bits long")
}

const RSA_EXPONENT: &str = "the exponent of an RSA key must be at least 3 and smaller than the modulus";

fn check_rsa(key: &RsaKey) -> Result<(), Reason> {
    if !RSA_BITS.contains(&key.bits()) {
        return Err(rsa_size());
    }
    if matches!(key.exponent(), [0..=2]) {
        return Err(RSA_EXPONENT.to_owned());
    }
    if key.bits() > RSA_SMALL_BITS_MAX && key.exponent().len() > RSA_EXPONENT_BYTES_MAX {
        return Err(
            "RSA exponents can be no longer than 64 bits if the modulus is longer than 3072".to_owned()
        );
    }
    Ok(())
}

/// What Java says of a JSON Web Key that cannot be read.
fn jwk_reason(error: KeyError) -> Reason {
    match error {
        KeyError::Missing { kind, name } => {
            let kind = if kind.is_empty() { String::new() } else { format!("{kind} ") };
            format!("{kind}JWK missing required '{name}' field")
        }
        KeyError::Encoding(name) => format!("Invalid Base64 URL encoding: '{name}'"),
        KeyError::Kind(kind) => format!("Unsupported JWK key type: {kind}"),
        KeyError::Curve { kind: "OKP", name } => {
            format!("Unsupported OKP curve: {name} (only Ed25519 supported)")
        }
        KeyError::Curve { name, .. } => format!("Unsupported EC curve: {name}"),
        KeyError::Length(length) => format!("Invalid Ed25519 key length: expected 32 bytes, got {length}"),
        KeyError::Coordinates => "Point coordinates do not match field size".to_owned(),
        KeyError::RsaExponent => RSA_EXPONENT.to_owned(),
        KeyError::Rsa | KeyError::Bits(_) => rsa_size(),
        KeyError::OffCurve | KeyError::Der | KeyError::Use | KeyError::Algorithm => unsupported(),
    }
}

/// Keys that are none elsewhere: on other curves, and with an octet too many. Java halves the length, so that it goes unseen.
fn read_ec(parameters: Option<AnyRef<'_>>, octets: &[u8]) -> Result<JavaPublicKey, Reason> {
    let oid = parameters.and_then(|parameters| parameters.decode_as::<ObjectIdentifier>().ok());
    let curve = oid.and_then(JavaCurve::of_oid).ok_or_else(unsupported)?;
    let coordinates = octets.strip_prefix(&[4]).ok_or_else(unsupported)?;
    let (x, y) = coordinates.split_at_checked(curve.octets()).ok_or_else(unsupported)?;
    if y.len() != x.len() && y.len() != x.len() + 1 {
        return Err(unsupported());
    }
    let y = y.get(..x.len()).unwrap_or_default();
    match curve {
        JavaCurve::Nist(curve) => {
            let key = EcKey::new(curve, x, y).map_err(|error| error.to_string())?;
            Ok(JavaPublicKey::Usable(durward_jwt::PublicKey::Ec(key)))
        }
        JavaCurve::Other(curve) => Ok(JavaPublicKey::OtherCurve { curve, x: x.to_vec(), y: y.to_vec() }),
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

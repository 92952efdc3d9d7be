//! Public keys, and whether one of them made a signature.

use std::cmp::Ordering;
use std::fmt;

use p521::ecdsa::signature::Verifier as _;
use ring::digest::{SHA256, digest};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519,
    RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};

use crate::algorithm::JwsAlgorithm;
use crate::base64url::encode;

/// The longest modulus of RSA, in bits; Java reads no longer ones. What verifies goes to 8192.
pub const RSA_BITS_MAX: usize = 16_384;
/// What RFC 7518, 3.3 demands of keys of RSA, in bits.
pub const RSA_STRONG_BITS_MIN: usize = 2048;

/// A curve of NIST.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// 256 bits.
    P256,
    /// 384 bits.
    P384,
    /// 521 bits.
    P521,
}

impl Curve {
    /// All of them.
    pub const ALL: [Curve; 3] = [Curve::P256, Curve::P384, Curve::P521];

    /// The name in keys (RFC 7518, 6.2.1.1).
    pub const fn name(self) -> &'static str {
        match self {
            Curve::P256 => "P-256",
            Curve::P384 => "P-384",
            Curve::P521 => "P-521",
        }
    }

    /// The curve of a name in keys.
    pub fn of(name: &str) -> Option<Curve> {
        Curve::ALL.into_iter().find(|curve| curve.name() == name)
    }

    /// How many bytes a coordinate takes.
    pub const fn octets(self) -> usize {
        match self {
            Curve::P256 => 32,
            Curve::P384 => 48,
            Curve::P521 => 66,
        }
    }

    const fn algorithm(self) -> JwsAlgorithm {
        match self {
            Curve::P256 => JwsAlgorithm::Es256,
            Curve::P384 => JwsAlgorithm::Es384,
            Curve::P521 => JwsAlgorithm::Es512,
        }
    }
}

/// Why something is no public key that verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// A member of a JSON Web Key of this kind (`kty`; empty where that is missing) is absent or no text.
    Missing {
        /// The key's `kty`.
        kind: &'static str,
        /// The member.
        name: &'static str,
    },
    /// A member is not Base64.
    Encoding(&'static str),
    /// A kind (`kty`) that is not known.
    Kind(String),
    /// A curve that is not known, of a kind.
    Curve {
        /// The key's `kty`.
        kind: &'static str,
        /// The curve.
        name: String,
    },
    /// A key of Ed25519 of so many bytes.
    Length(usize),
    /// Coordinates longer than the curve's field.
    Coordinates,
    /// A point beside its curve.
    OffCurve,
    /// A modulus of RSA that is zero or longer than [`RSA_BITS_MAX`].
    Rsa,
    /// An exponent of RSA that is zero or not smaller than its modulus.
    RsaExponent,
    /// A key of RSA of so many bits, too short or too long to verify tokens.
    Bits(usize),
    /// It is not DER, or of another kind of key.
    Der,
    /// It is for something else than signatures (`use`, `key_ops`).
    Use,
    /// It is said to be for another algorithm than its kind can (`alg`).
    Algorithm,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Missing { name, .. } => write!(f, "the key has no `{name}`"),
            KeyError::Encoding(name) => write!(f, "`{name}` of the key is not Base64"),
            KeyError::Kind(kind) => write!(f, "the key is of the kind `{kind}`"),
            KeyError::Curve { name, .. } => write!(f, "the key is on the curve `{name}`"),
            KeyError::Length(length) => write!(f, "a key of Ed25519 has 32 bytes, not {length}"),
            KeyError::Coordinates => f.write_str("the key's coordinates are too long for its curve"),
            KeyError::OffCurve => f.write_str("the key is not on its curve"),
            KeyError::Rsa => f.write_str("the modulus of the RSA key is out of range"),
            KeyError::RsaExponent => f.write_str("the exponent of the RSA key is out of range"),
            KeyError::Bits(bits) => write!(f, "RSA keys of {bits} bits verify no tokens"),
            KeyError::Der => f.write_str("it is no public key in DER of RSA, P-256, P-384, P-521 or Ed25519"),
            KeyError::Use => f.write_str("the key is not for signatures"),
            KeyError::Algorithm => f.write_str("the key is for another algorithm than its kind can"),
        }
    }
}

impl std::error::Error for KeyError {}

/// A key of RSA.
#[derive(Clone, PartialEq, Eq)]
pub struct RsaKey {
    // INVARIANT: neither begins with a zero; the modulus has 1 to `RSA_BITS_MAX` bits, the exponent is smaller.
    modulus: Vec<u8>,
    exponent: Vec<u8>,
}

impl RsaKey {
    /// The key of two numbers, most significant byte first; zeros in front do not count.
    ///
    /// # Errors
    /// A number is zero, the modulus is longer than [`RSA_BITS_MAX`], or the exponent is not smaller than it.
    pub fn new(modulus: &[u8], exponent: &[u8]) -> Result<RsaKey, KeyError> {
        let (modulus, exponent) = (significant(modulus), significant(exponent));
        let is_smaller = match exponent.len().cmp(&modulus.len()) {
            Ordering::Less => true,
            Ordering::Equal => exponent < modulus,
            Ordering::Greater => false,
        };
        if modulus.is_empty() || bits(modulus) > RSA_BITS_MAX {
            return Err(KeyError::Rsa);
        }
        if exponent.is_empty() || !is_smaller {
            return Err(KeyError::RsaExponent);
        }
        Ok(RsaKey { modulus: modulus.to_vec(), exponent: exponent.to_vec() })
    }

    /// The modulus, without zeros in front.
    pub fn modulus(&self) -> &[u8] {
        &self.modulus
    }

    /// The exponent, without zeros in front.
    pub fn exponent(&self) -> &[u8] {
        &self.exponent
    }

    /// The length of the modulus in bits.
    pub fn bits(&self) -> usize {
        bits(&self.modulus)
    }
}

/// A point on, or beside, a curve of NIST.
#[derive(Clone, PartialEq, Eq)]
pub struct EcKey {
    curve: Curve,
    /// 4, x, y (SEC 1, 2.3.3). INVARIANT: both coordinates have the curve's length.
    point: Vec<u8>,
}

impl EcKey {
    /// The key of two coordinates, whose zeros in front may be missing or too many. Whether they lie on the curve is not looked at:
    /// [`EcKey::is_on_curve`].
    ///
    /// # Errors
    /// A coordinate is longer than the curve's field.
    pub fn new(curve: Curve, x: &[u8], y: &[u8]) -> Result<EcKey, KeyError> {
        let mut point = vec![4];
        for coordinate in [significant(x), significant(y)] {
            let zeros = curve.octets().checked_sub(coordinate.len()).ok_or(KeyError::Coordinates)?;
            point.resize(point.len() + zeros, 0);
            point.extend_from_slice(coordinate);
        }
        Ok(EcKey { curve, point })
    }

    /// The key of an uncompressed point (SEC 1, 2.3.3): 4, x, y in full length.
    ///
    /// # Errors
    /// It is written in another form, or of another length.
    pub fn of_point(curve: Curve, point: &[u8]) -> Result<EcKey, KeyError> {
        if point.first() != Some(&4) || point.len() != 1 + 2 * curve.octets() {
            return Err(KeyError::Coordinates);
        }
        Ok(EcKey { curve, point: point.to_vec() })
    }

    /// The curve.
    pub fn curve(&self) -> Curve {
        self.curve
    }

    /// Both coordinates in full length.
    pub fn coordinates(&self) -> (&[u8], &[u8]) {
        self.point.get(1..).unwrap_or_default().split_at_checked(self.curve.octets()).unwrap_or_default()
    }

    /// The point, uncompressed (SEC 1, 2.3.3).
    pub fn point(&self) -> &[u8] {
        &self.point
    }

    /// Whether the point lies on its curve.
    pub fn is_on_curve(&self) -> bool {
        match self.curve {
            Curve::P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(&self.point).is_ok(),
            Curve::P384 => p384::ecdsa::VerifyingKey::from_sec1_bytes(&self.point).is_ok(),
            Curve::P521 => p521::ecdsa::VerifyingKey::from_sec1_bytes(&self.point).is_ok(),
        }
    }
}

/// A public key.
#[derive(Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// Of RSA.
    Rsa(RsaKey),
    /// On a curve of NIST.
    Ec(EcKey),
    /// Of Ed25519.
    Ed25519([u8; 32]),
}

impl PublicKey {
    /// Whether the key's kind and size can make signatures of this algorithm that are verified here.
    pub fn fits(&self, algorithm: JwsAlgorithm) -> bool {
        match self {
            PublicKey::Rsa(key) => rsa_parameters(algorithm, key.bits()).is_some(),
            PublicKey::Ec(key) => key.curve.algorithm() == algorithm,
            PublicKey::Ed25519(_) => algorithm == JwsAlgorithm::EdDsa,
        }
    }

    /// Whether the signature of the message is by this key and algorithm; ECDSA with both numbers in full length (RFC 7518, 3.4).
    /// Keys and signatures that fit no better do not verify. RSA of 1024 bits and more is taken here, for callers that must;
    /// [`Jwk::verifying`](crate::Jwk::verifying) refuses less than [`RSA_STRONG_BITS_MIN`].
    pub fn verifies(&self, algorithm: JwsAlgorithm, message: &[u8], signature: &[u8]) -> bool {
        match self {
            PublicKey::Rsa(RsaKey { modulus: n, exponent: e }) => rsa_parameters(algorithm, bits(n))
                .is_some_and(|how| RsaPublicKeyComponents { n, e }.verify(how, message, signature).is_ok()),
            PublicKey::Ec(key) => {
                key.curve.algorithm() == algorithm && ecdsa(key.curve, &key.point, message, signature)
            }
            PublicKey::Ed25519(key) => {
                algorithm == JwsAlgorithm::EdDsa
                    && UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok()
            }
        }
    }

    /// Whether the key may verify tokens: RSA has 2048 to 8192 bits, a point lies on its curve.
    ///
    /// # Errors
    /// It may not.
    pub fn check(&self) -> Result<(), KeyError> {
        match self {
            PublicKey::Rsa(key) if !(RSA_STRONG_BITS_MIN..=8192).contains(&key.bits()) => {
                Err(KeyError::Bits(key.bits()))
            }
            PublicKey::Ec(key) if !key.is_on_curve() => Err(KeyError::OffCurve),
            PublicKey::Rsa(_) | PublicKey::Ec(_) | PublicKey::Ed25519(_) => Ok(()),
        }
    }

    /// The members of a JSON Web Key that make the key, sorted by name.
    pub fn jwk_members(&self) -> Vec<(&'static str, String)> {
        match self {
            PublicKey::Rsa(key) => {
                vec![("e", encode(&key.exponent)), ("kty", "RSA".into()), ("n", encode(&key.modulus))]
            }
            PublicKey::Ec(key) => {
                let (x, y) = key.coordinates();
                vec![
                    ("crv", key.curve.name().into()),
                    ("kty", "EC".into()),
                    ("x", encode(x)),
                    ("y", encode(y)),
                ]
            }
            PublicKey::Ed25519(key) => {
                vec![("crv", "Ed25519".into()), ("kty", "OKP".into()), ("x", encode(key))]
            }
        }
    }

    /// What names the key by its content (RFC 7638): the SHA-256 of its members, sorted, in Base64.
    pub fn thumbprint(&self) -> String {
        // Names and values have no character that JSON would escape.
        let members: Vec<String> =
            self.jwk_members().iter().map(|(name, value)| format!("\"{name}\":\"{value}\"")).collect();
        encode(digest(&SHA256, format!("{{{}}}", members.join(",")).as_bytes()).as_ref())
    }
}

/// The kind and the thumbprint.
impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            PublicKey::Rsa(_) => "RSA",
            PublicKey::Ec(key) => key.curve.name(),
            PublicKey::Ed25519(_) => "Ed25519",
        };
        write!(f, "PublicKey({kind}, {})", self.thumbprint())
    }
}

/// What `ring` has for an algorithm and keys of so many bits.
fn rsa_parameters(algorithm: JwsAlgorithm, bits: usize) -> Option<&'static RsaParameters> {
    let is_legacy = (1024..RSA_STRONG_BITS_MIN).contains(&bits);
    let is_strong = (RSA_STRONG_BITS_MIN..=8192).contains(&bits);
    match algorithm {
        JwsAlgorithm::Rs256 if is_legacy => Some(&RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY),
        JwsAlgorithm::Rs512 if is_legacy => Some(&RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY),
        _ if !is_strong => None,
        JwsAlgorithm::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        JwsAlgorithm::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        JwsAlgorithm::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        JwsAlgorithm::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
        JwsAlgorithm::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
        JwsAlgorithm::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
        JwsAlgorithm::Es256 | JwsAlgorithm::Es384 | JwsAlgorithm::Es512 | JwsAlgorithm::EdDsa => None,
    }
}

/// The curve says the digest.
fn ecdsa(curve: Curve, point: &[u8], message: &[u8], signature: &[u8]) -> bool {
    match curve {
        Curve::P256 => {
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
        }
        Curve::P384 => {
            UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature).is_ok()
        }
        Curve::P521 => {
            let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point);
            // Refuses numbers that are zero or as large as the order of the curve.
            let signature = p521::ecdsa::Signature::from_slice(signature);
            key.is_ok_and(|key| signature.is_ok_and(|signature| key.verify(message, &signature).is_ok()))
        }
    }
}

/// A number without zeros in front.
fn significant(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

fn bits(significant: &[u8]) -> usize {
    let zeros = significant.first().map_or(0, |first| first.leading_zeros());
    (significant.len() * 8).saturating_sub(zeros as usize)
}

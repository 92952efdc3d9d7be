//! JSON Web Keys and sets of them (RFC 7517; RFC 7518, 6; RFC 8037, 2).

use std::fmt;

use serde_json::{Map, Value};

use crate::algorithm::JwsAlgorithm;
use crate::base64url::Base64Url;
use crate::json;
use crate::key::{Curve, EcKey, KeyError, PublicKey, RsaKey};

/// The longest text of a key set, in bytes: hundreds of keys.
pub const JWK_SET_LENGTH_MAX: usize = 1 << 20;
/// The longest name of a key, in bytes.
pub const KEY_ID_LENGTH_MAX: usize = 256;

impl PublicKey {
    /// Reads the members of a JSON Web Key that make the key: `member` gives one by name where it is a text. Zeros in front of numbers
    /// may be missing, padding of Base64 may be there: both are published.
    ///
    /// # Errors
    /// A member is missing or not what it should be; the key is of another kind than RSA, EC on a curve of NIST, and Ed25519.
    pub fn from_jwk<'m>(member: impl Fn(&str) -> Option<&'m str>) -> Result<PublicKey, KeyError> {
        let text =
            |kind: &'static str, name: &'static str| member(name).ok_or(KeyError::Missing { kind, name });
        let bytes = |kind: &'static str, name: &'static str| {
            Base64Url::Java.decode(text(kind, name)?).ok_or(KeyError::Encoding(name))
        };
        match text("", "kty")? {
            "RSA" => RsaKey::new(&bytes("RSA", "n")?, &bytes("RSA", "e")?).map(PublicKey::Rsa),
            "EC" => {
                let name = text("EC", "crv")?;
                let (x, y) = (bytes("EC", "x")?, bytes("EC", "y")?);
                let curve =
                    Curve::of(name).ok_or_else(|| KeyError::Curve { kind: "EC", name: name.to_owned() })?;
                EcKey::new(curve, &x, &y).map(PublicKey::Ec)
            }
            "OKP" => {
                let name = text("OKP", "crv")?;
                if name != "Ed25519" {
                    return Err(KeyError::Curve { kind: "OKP", name: name.to_owned() });
                }
                let key = bytes("OKP", "x")?;
                let length = key.len();
                key.try_into().map(PublicKey::Ed25519).map_err(|_| KeyError::Length(length))
            }
            other => Err(KeyError::Kind(other.to_owned())),
        }
    }
}

/// A key that may verify signatures of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingJwk {
    public: PublicKey,
    algorithm: Option<JwsAlgorithm>,
}

impl VerifyingJwk {
    /// The key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Whether the key verifies by this algorithm: its kind can, and it is not said to be for another one.
    pub fn allows(&self, algorithm: JwsAlgorithm) -> bool {
        self.public.fits(algorithm) && self.algorithm.is_none_or(|own| own == algorithm)
    }
}

/// A key of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwk {
    id: Option<String>,
    key: Result<VerifyingJwk, KeyError>,
}

impl Jwk {
    /// Takes a key apart. One that cannot be used is a `Jwk` too, and says so when it is asked: a set may hold such keys (RFC 7517, 5).
    pub fn of(members: &Map<String, Value>) -> Jwk {
        let id = members.get("kid").and_then(Value::as_str);
        let id = id.filter(|id| !id.is_empty() && id.len() <= KEY_ID_LENGTH_MAX);
        Jwk { id: id.map(str::to_owned), key: verifying(members) }
    }

    /// Reads one key.
    ///
    /// # Errors
    /// It is no object of JSON, or longer than [`JWK_SET_LENGTH_MAX`].
    pub fn read(text: &[u8]) -> Result<Jwk, JwkSetError> {
        Ok(Jwk::of(&object(text)?))
    }

    /// Its name; `None` where it has none, an empty one, or one longer than [`KEY_ID_LENGTH_MAX`].
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The key, where it verifies signatures.
    ///
    /// # Errors
    /// It is broken or of an unknown kind, for something else (`use`, `key_ops`), for an algorithm that its kind cannot (`alg`), RSA of
    /// less than 2048 bits, or a point beside its curve.
    pub fn verifying(&self) -> Result<&VerifyingJwk, &KeyError> {
        self.key.as_ref()
    }
}

fn verifying(members: &Map<String, Value>) -> Result<VerifyingJwk, KeyError> {
    let public = PublicKey::from_jwk(|name| members.get(name).and_then(Value::as_str))?;
    if members.get("use").is_some_and(|purpose| purpose != "sig") {
        return Err(KeyError::Use);
    }
    let verifies = |operations: &Value| {
        operations.as_array().is_some_and(|operations| operations.iter().any(|one| one == "verify"))
    };
    if !members.get("key_ops").is_none_or(verifies) {
        return Err(KeyError::Use);
    }
    public.check()?;
    let algorithm = match members.get("alg") {
        None => None,
        Some(name) => Some(name.as_str().and_then(JwsAlgorithm::of).ok_or(KeyError::Algorithm)?),
    };
    if algorithm.is_some_and(|algorithm| !public.fits(algorithm)) {
        return Err(KeyError::Algorithm);
    }
    Ok(VerifyingJwk { public, algorithm })
}

/// The keys that an issuer publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JwkSet {
    keys: Vec<Jwk>,
}

impl JwkSet {
    /// Reads a key set. Members of `keys` that are no objects are passed over.
    ///
    /// # Errors
    /// It is no key set, or longer than [`JWK_SET_LENGTH_MAX`].
    pub fn read(text: &[u8]) -> Result<JwkSet, JwkSetError> {
        JwkSet::of(&object(text)?)
    }

    /// The same of an object of JSON that was read.
    ///
    /// # Errors
    /// It has no array `keys`.
    pub fn of(members: &Map<String, Value>) -> Result<JwkSet, JwkSetError> {
        let keys = members.get("keys").and_then(Value::as_array);
        let keys = keys.ok_or_else(|| JwkSetError::new("it is no key set: the array `keys` is missing"))?;
        Ok(JwkSet { keys: keys.iter().filter_map(Value::as_object).map(Jwk::of).collect() })
    }

    /// All keys, in their order.
    pub fn keys(&self) -> &[Jwk] {
        &self.keys
    }
}

/// Why a text is no key or set of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwkSetError {
    message: String,
}

impl JwkSetError {
    fn new(message: impl Into<String>) -> JwkSetError {
        JwkSetError { message: message.into() }
    }
}

impl fmt::Display for JwkSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JwkSetError {}

fn object(text: &[u8]) -> Result<Map<String, Value>, JwkSetError> {
    if text.len() > JWK_SET_LENGTH_MAX {
        return Err(JwkSetError::new(format!("it is longer than {JWK_SET_LENGTH_MAX} bytes")));
    }
    match json::read(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(JwkSetError::new("it is no object of JSON")),
        Err(error) => Err(JwkSetError::new(error.to_string())),
    }
}

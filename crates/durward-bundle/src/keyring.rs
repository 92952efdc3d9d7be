//! The keys that secrets are sealed to and opened with: X25519, as JSON Web Keys (RFC 8037).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_ir::json;
use durward_ir::{Value, value::Object};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::error::failed;
use crate::{BundleError, random};

/// Longest file with a key.
const TEXT_BYTES_MAX: usize = 4096;

/// Whom secrets are sealed to.
#[derive(Clone, PartialEq, Eq)]
pub struct RecipientKey {
    id: String,
    pub(crate) key: PublicKey,
}

impl RecipientKey {
    /// Reads a public key.
    ///
    /// # Errors
    /// No JWK of X25519 with a `kid`.
    pub fn read(text: &str) -> Result<RecipientKey, BundleError> {
        let object = jwk(text)?;
        Ok(RecipientKey { id: key_id(&object)?, key: PublicKey::from(octets(&object, "x")?) })
    }

    /// The identifier, which sealed secrets name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key as JSON.
    pub fn to_jwk(&self) -> String {
        let x = URL_SAFE_NO_PAD.encode(self.key.as_bytes());
        let members = [("kty", "OKP"), ("crv", "X25519"), ("kid", &self.id), ("x", &x)];
        Value::object(members.map(|(name, text)| (name, Value::Text(text.into())))).to_json()
    }
}

impl fmt::Debug for RecipientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecipientKey").field(&self.id).finish()
    }
}

/// Opens what is sealed to one recipient.
pub struct SecretKey {
    id: String,
    pub(crate) key: StaticSecret,
}

impl SecretKey {
    /// Makes a key with an identifier that nothing else has.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn generate() -> Result<SecretKey, BundleError> {
        Ok(SecretKey { id: random::random_id()?, key: StaticSecret::from(random::random_bytes::<32>()?) })
    }

    /// Reads a private key.
    ///
    /// # Errors
    /// No JWK of X25519 with `kid` and `d`, or one whose halves are not of one key. The text is in no message.
    pub fn read(text: &str) -> Result<SecretKey, BundleError> {
        let object = jwk(text)?;
        if !object.contains_key("d") {
            return failed("it is a public key; whoever opens secrets needs the private one");
        }
        let key = SecretKey { id: key_id(&object)?, key: StaticSecret::from(octets(&object, "d")?) };
        if octets(&object, "x")? != PublicKey::from(&key.key).to_bytes() {
            return failed("`d` and `x` are not of one key");
        }
        Ok(key)
    }

    /// The identifier, which sealed secrets name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key that seals what this one opens.
    pub fn recipient(&self) -> RecipientKey {
        RecipientKey { id: self.id.clone(), key: PublicKey::from(&self.key) }
    }

    /// The key as JSON. Whoever has it can read secrets: write it nowhere that others read.
    pub fn to_jwk(&self) -> String {
        let encode = |octets: &[u8]| URL_SAFE_NO_PAD.encode(octets);
        let (d, x) = (encode(self.key.as_bytes()), encode(PublicKey::from(&self.key).as_bytes()));
        let members = [("kty", "OKP"), ("d", d.as_str()), ("crv", "X25519"), ("kid", &self.id), ("x", &x)];
        Value::object(members.map(|(name, text)| (name, Value::Text(text.into())))).to_json()
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SecretKey").field(&self.id).finish()
    }
}

/// The keys of whoever receives sealed secrets, by their identifiers. The default opens nothing.
#[derive(Debug, Default)]
pub struct Keyring(Vec<SecretKey>);

impl Keyring {
    /// These keys.
    ///
    /// # Errors
    /// Two have one identifier.
    pub fn new(keys: Vec<SecretKey>) -> Result<Keyring, BundleError> {
        for (at, key) in keys.iter().enumerate() {
            if keys.iter().take(at).any(|other| other.id == key.id) {
                return failed(format!("two keys are called `{}`", key.id));
            }
        }
        Ok(Keyring(keys))
    }

    /// # Errors
    /// There is no such key.
    pub(crate) fn key(&self, id: &str) -> Result<&SecretKey, BundleError> {
        let key = self.0.iter().find(|key| key.id == id);
        key.ok_or_else(|| BundleError::new(format!("it is sealed to the key `{id}`, which is not here")))
    }
}

fn jwk(text: &str) -> Result<std::sync::Arc<Object>, BundleError> {
    if text.len() > TEXT_BYTES_MAX {
        return failed("it is longer than a key");
    }
    let Ok(Value::Object(object)) = json::read(text) else { return failed("it is no JSON Web Key") };
    let is =
        |name: &str, text: &str| object.get(name).and_then(Value::as_text).is_some_and(|found| found == text);
    if is("kty", "OKP") && is("crv", "X25519") {
        Ok(object)
    } else {
        failed("it is no JSON Web Key of X25519")
    }
}

fn key_id(object: &Object) -> Result<String, BundleError> {
    match object.get("kid").and_then(Value::as_text) {
        Some(id) if !id.trim().is_empty() && !id.chars().any(char::is_control) => Ok(id.to_string()),
        Some(_) | None => failed("it has no identifier (`kid`)"),
    }
}

/// 32 bytes of a member of a key.
pub(crate) fn octets(object: &Object, name: &str) -> Result<[u8; 32], BundleError> {
    let wrong = || BundleError::new(format!("`{name}` is not 32 bytes in Base64"));
    let text = object.get(name).and_then(Value::as_text).ok_or_else(wrong)?;
    URL_SAFE_NO_PAD.decode(text.as_bytes()).ok().and_then(|octets| octets.try_into().ok()).ok_or_else(wrong)
}

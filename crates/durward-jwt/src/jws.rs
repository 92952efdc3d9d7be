//! JSON Web Signatures in compact form (RFC 7515, 7.1): read, and verified.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::algorithm::JwsAlgorithm;
use crate::base64url::Base64Url;
use crate::json;
use crate::key::PublicKey;

/// The longest token, in bytes. Surfaces that know better take less.
pub const JWS_LENGTH_MAX: usize = 1 << 20;
/// The longest header, decoded, in bytes.
pub const JWS_HEADER_LENGTH_MAX: usize = 64 * 1024;

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwsRefusal {
    /// It is no signed token in compact form, or too long a one.
    Malformed,
    /// It demands that its reader understands extensions (`crit`, or `b64` that is false).
    Critical,
    /// Its algorithm is unknown, not allowed here, or not one of the key's.
    Algorithm,
    /// The signature is wrong.
    Signature,
}

impl fmt::Display for JwsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JwsRefusal::Malformed => "no signed token",
            JwsRefusal::Critical => "the token demands an extension that is not understood",
            JwsRefusal::Algorithm => "another algorithm than its key is for",
            JwsRefusal::Signature => "a wrong signature",
        })
    }
}

impl std::error::Error for JwsRefusal {}

/// A token that was taken apart. Nothing in it can be believed yet.
pub struct Jws<'t> {
    header: Header,
    header_json: Vec<u8>,
    payload: Vec<u8>,
    /// Header and payload as they were written.
    signed: &'t str,
    signature: Vec<u8>,
}

impl<'t> Jws<'t> {
    /// Takes a token apart: three parts in Base64, a header that is an object with an algorithm, whose members have names of their own and
    /// whose `kid` and `typ` are texts. Encrypted tokens are others.
    ///
    /// # Errors
    /// [`JwsRefusal::Malformed`].
    pub fn read(text: &'t str, base64: Base64Url) -> Result<Jws<'t>, JwsRefusal> {
        Jws::parts(text, base64).ok_or(JwsRefusal::Malformed)
    }

    fn parts(text: &'t str, base64: Base64Url) -> Option<Jws<'t>> {
        if text.len() > JWS_LENGTH_MAX {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        if payload.contains('.') || header.len() / 4 * 3 > JWS_HEADER_LENGTH_MAX {
            return None;
        }
        let header_json = base64.decode(header)?;
        let header: Header = serde_json::from_str(std::str::from_utf8(&header_json).ok()?).ok()?;
        let (payload, signature) = (base64.decode(payload)?, base64.decode(signature)?);
        Some(Jws { header, header_json, payload, signed, signature })
    }

    /// The name of the key that the token says it is signed with.
    pub fn key_id(&self) -> Option<&str> {
        self.header.key_id.as_deref()
    }

    /// The algorithm that the token says it is signed by; `None` for one that is unknown or needs no public key.
    pub fn algorithm(&self) -> Option<JwsAlgorithm> {
        JwsAlgorithm::of(&self.header.algorithm)
    }

    /// The kind of token that it says it is (`typ`).
    pub fn kind(&self) -> Option<&str> {
        self.header.kind.as_deref()
    }

    /// Whether it demands that its reader understands extensions; then nothing verifies it here.
    pub fn is_critical(&self) -> bool {
        self.header.is_critical
    }

    /// The header, as JSON. Anybody may have written it.
    pub fn header_json(&self) -> &[u8] {
        &self.header_json
    }

    /// The members of the header. Anybody may have written them: a key among them is worth what vouches for it elsewhere.
    ///
    /// # Errors
    /// [`JwsRefusal::Malformed`]: two members of one name, at any depth.
    pub fn header(&self) -> Result<Map<String, Value>, JwsRefusal> {
        match json::read(&self.header_json) {
            Ok(Value::Object(members)) => Ok(members),
            Ok(_) | Err(_) => Err(JwsRefusal::Malformed),
        }
    }

    /// The payload of a token that nobody verified: to be shown, not to be believed.
    pub fn untrusted_payload(&self) -> &[u8] {
        &self.payload
    }

    /// The signature.
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Verifies the token with a key, by the algorithm that its header names, which must be one of these and one of the key's.
    ///
    /// # Errors
    /// It is not signed by this key, or may not be verified that way.
    pub fn verify(&self, key: &PublicKey, allowed: &[JwsAlgorithm]) -> Result<Verified<'_>, JwsRefusal> {
        if self.header.is_critical {
            return Err(JwsRefusal::Critical);
        }
        let algorithm = self.algorithm().filter(|algorithm| allowed.contains(algorithm));
        let algorithm = algorithm.filter(|algorithm| key.fits(*algorithm)).ok_or(JwsRefusal::Algorithm)?;
        if !key.verifies(algorithm, self.signed.as_bytes(), &self.signature) {
            return Err(JwsRefusal::Signature);
        }
        Ok(Verified { payload: &self.payload })
    }
}

impl fmt::Debug for Jws<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jws").field("header", &self.header).finish_non_exhaustive()
    }
}

/// The payload of a token whose signature was verified. There is no other way to have one.
#[derive(Clone, Copy)]
pub struct Verified<'t> {
    payload: &'t [u8],
}

impl Verified<'_> {
    /// The payload.
    pub fn payload(&self) -> &[u8] {
        self.payload
    }

    /// The claims (RFC 7519): the members of the payload.
    ///
    /// # Errors
    /// [`JwsRefusal::Malformed`]: the payload is no object of JSON, or one with two members of one name at any depth.
    pub fn claims(&self) -> Result<Map<String, Value>, JwsRefusal> {
        match json::read(self.payload) {
            Ok(Value::Object(claims)) => Ok(claims),
            Ok(_) | Err(_) => Err(JwsRefusal::Malformed),
        }
    }
}

impl fmt::Debug for Verified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verified({} bytes)", self.payload.len())
    }
}

/// What a header says that matters here; other members are read past, as `jwk`, `jku` and `x5c` have to be: keys come from who is trusted,
/// not from the token.
#[derive(Debug)]
struct Header {
    algorithm: String,
    key_id: Option<String>,
    kind: Option<String>,
    is_critical: bool,
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Header, D::Error> {
        from.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the header of a signed token")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Header, A::Error> {
        let mut seen = HashSet::new();
        let (mut algorithm, mut key_id, mut kind, mut is_critical) = (None, None, None, false);
        while let Some(name) = from.next_key::<String>()? {
            match name.as_str() {
                "alg" => algorithm = Some(from.next_value()?),
                "kid" => key_id = Some(from.next_value()?),
                "typ" => kind = Some(from.next_value()?),
                "b64" => is_critical |= !from.next_value::<bool>()?,
                "crit" => {
                    from.next_value::<IgnoredAny>()?;
                    is_critical = true;
                }
                "enc" => return Err(A::Error::custom("an encrypted token")),
                _ => {
                    from.next_value::<IgnoredAny>()?;
                }
            }
            if !seen.insert(name) {
                return Err(A::Error::custom("two members of one name"));
            }
        }
        let algorithm = algorithm.ok_or_else(|| A::Error::missing_field("alg"))?;
        Ok(Header { algorithm, key_id, kind, is_critical })
    }
}

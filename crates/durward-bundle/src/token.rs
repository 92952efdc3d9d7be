//! One sealed text: JSON Web Encryption in its compact form (RFC 7516), of which exactly one combination is known:
//! ECDH-ES over X25519, A256GCM. What a token says of itself is compared with that and never obeyed.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use durward_ir::json;
use durward_ir::{Value, value::Object};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::error::failed;
use crate::keyring::{Keyring, RecipientKey, octets};
use crate::{BundleError, random};

const ALGORITHM: &str = "ECDH-ES";
const ENCRYPTION: &str = "A256GCM";
/// Bytes of the tag that GCM appends.
const TAG_LENGTH: usize = 16;

/// Seals a text.
///
/// # Errors
/// The system has no randomness.
pub(crate) fn seal(recipient: &RecipientKey, plain: &[u8]) -> Result<String, BundleError> {
    let ephemeral = StaticSecret::from(random::random_bytes::<32>()?);
    let x = URL_SAFE_NO_PAD.encode(PublicKey::from(&ephemeral).as_bytes());
    let text = |text: &str| Value::Text(text.into());
    let public = Value::object([("kty", text("OKP")), ("crv", text("X25519")), ("x", text(&x))]);
    let header =
        [("epk", public), ("kid", text(recipient.id())), ("enc", text(ENCRYPTION)), ("alg", text(ALGORITHM))];
    let header = URL_SAFE_NO_PAD.encode(Value::object(header).to_json());
    let key = agreed(&ephemeral, &recipient.key, &[], &[])?;
    let nonce = random::random_bytes::<NONCE_LEN>()?;
    let mut sealed = plain.to_vec();
    let tag = key
        .seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(header.as_bytes()),
            &mut sealed,
        )
        .map_err(|_| BundleError::new("it cannot be sealed"))?;
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    // The second part, an encrypted key, is empty: the agreed key is used itself.
    Ok(format!("{header}..{}.{}.{}", encode(&nonce), encode(&sealed), encode(tag.as_ref())))
}

/// To which key a token is sealed.
///
/// # Errors
/// No token, or one that does not say.
pub(crate) fn recipient(token: &str) -> Result<String, BundleError> {
    key_id(&*SealedParts::of(token)?.header()?)
}

/// Opens a token with the key it names.
///
/// # Errors
/// No token of this form, no such key, or something was changed.
pub(crate) fn open(keyring: &Keyring, token: &str) -> Result<Vec<u8>, BundleError> {
    let parts = SealedParts::of(token)?;
    let header = parts.header()?;
    check(&header)?;
    let key = keyring.key(&key_id(&header)?)?;
    let Some(Value::Object(public)) = header.get("epk") else { return failed("the token has no `epk`") };
    let public = PublicKey::from(octets(public, "x")?);
    let party = |name: &str| match header.get(name) {
        None => Ok(Vec::new()),
        Some(value) => decode(value.as_text().map_or("=", |text| text)),
    };
    let key = agreed(&key.key, &public, &party("apu")?, &party("apv")?)?;
    let wrong = || BundleError::new("it cannot be opened: another key, or something was changed");
    let nonce = Nonce::try_assume_unique_for_key(&decode(parts.nonce)?).map_err(|_| wrong())?;
    let tag = decode(parts.tag)?;
    if tag.len() != TAG_LENGTH {
        return Err(wrong());
    }
    let mut sealed = decode(parts.sealed)?;
    sealed.extend_from_slice(&tag);
    let plain =
        key.open_in_place(nonce, Aad::from(parts.header.as_bytes()), &mut sealed).map_err(|_| wrong())?;
    Ok(plain.to_vec())
}

struct SealedParts<'t> {
    header: &'t str,
    nonce: &'t str,
    sealed: &'t str,
    tag: &'t str,
}

impl<'t> SealedParts<'t> {
    fn of(token: &'t str) -> Result<SealedParts<'t>, BundleError> {
        match token.split('.').collect::<Vec<_>>().as_slice() {
            [header, "", nonce, sealed, tag] => Ok(SealedParts { header, nonce, sealed, tag }),
            _ => failed("it is no token of five parts, the second empty"),
        }
    }

    fn header(&self) -> Result<Arc<Object>, BundleError> {
        match json::read(decode(self.header)?) {
            Ok(Value::Object(header)) => Ok(header),
            Ok(_) | Err(_) => failed("the header of the token is no JSON object"),
        }
    }
}

fn key_id(header: &Object) -> Result<String, BundleError> {
    let id = header.get("kid").and_then(Value::as_text).filter(|id| !id.chars().any(char::is_control));
    id.map(|id| id.to_string())
        .ok_or_else(|| BundleError::new("the token does not say to which key it is sealed"))
}

fn check(header: &Object) -> Result<(), BundleError> {
    let is =
        |name: &str, text: &str| header.get(name).and_then(Value::as_text).is_some_and(|found| found == text);
    if !is("alg", ALGORITHM) || !is("enc", ENCRYPTION) {
        return failed(format!("it is not sealed with {ALGORITHM} and {ENCRYPTION}"));
    }
    match ["zip", "crit", "b64"].into_iter().find(|name| header.contains_key(name)) {
        Some(name) => failed(format!("its header has `{name}`, which is not allowed")),
        None => Ok(()),
    }
}

fn decode(text: &str) -> Result<Vec<u8>, BundleError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| BundleError::new("a part of the token is no Base64"))
}

/// The key that both sides come to.
fn agreed(own: &StaticSecret, other: &PublicKey, apu: &[u8], apv: &[u8]) -> Result<LessSafeKey, BundleError> {
    let shared = own.diffie_hellman(other);
    if !shared.was_contributory() {
        return failed("the key in the token is none that could have been made");
    }
    let key = derived(shared.as_bytes(), ENCRYPTION, apu, apv, 256);
    let key = UnboundKey::new(&AES_256_GCM, &key).map_err(|_| BundleError::new("no key comes of it"))?;
    Ok(LessSafeKey::new(key))
}

/// Concat KDF with one round (RFC 7518, 4.6).
fn derived(shared: &[u8], algorithm: &str, apu: &[u8], apv: &[u8], bits: u32) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(1_u32.to_be_bytes());
    hasher.update(shared);
    for part in [algorithm.as_bytes(), apu, apv] {
        hasher.update(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
        hasher.update(part);
    }
    hasher.update(bits.to_be_bytes());
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7518, appendix C.
    #[test]
    fn keys_are_derived_as_in_the_standard() {
        let shared = [
            158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156, 251, 49, 110, 163,
            218, 128, 106, 72, 246, 218, 167, 121, 140, 254, 144, 196,
        ];
        let key = derived(&shared, "A128GCM", b"Alice", b"Bob", 128);
        assert_eq!(key[..16], [86, 170, 141, 234, 248, 35, 109, 32, 92, 34, 40, 205, 113, 167, 16, 26]);
    }
}

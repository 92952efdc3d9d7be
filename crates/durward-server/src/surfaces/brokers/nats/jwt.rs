//! Tokens as NATS signs them: `ed25519-nkey`, with keys that say what they are of.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use durward_session::identity::{Entropy, Moment, SystemEntropy, hex};
use nkeys::{KeyPair, KeyPairType};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The algorithm of all of them.
const ALGORITHM: &str = "ed25519-nkey";

/// The account that signs.
pub(super) struct Issuer(KeyPair);

#[derive(Deserialize)]
struct Header {
    alg: String,
}

#[derive(Deserialize)]
struct Signer {
    iss: String,
}

impl Issuer {
    /// `None` where it is no seed of an account.
    pub(super) fn of_seed(seed: &str) -> Option<Issuer> {
        let key = KeyPair::from_seed(seed).ok()?;
        matches!(key.key_pair_type(), KeyPairType::Account).then_some(Issuer(key))
    }

    /// A token about `subject`, with these claims beside those that every token has.
    pub(super) fn signed(&self, now: Moment, subject: &str, claims: Value) -> Option<String> {
        let mut id = [0; 16];
        SystemEntropy.fill(&mut id).ok()?;
        let mut all = Map::new();
        all.insert("jti".to_owned(), hex(&id).into());
        all.insert("iat".to_owned(), (now.ms() / 1000).into());
        all.insert("iss".to_owned(), self.0.public_key().into());
        all.insert("sub".to_owned(), subject.into());
        let Value::Object(claims) = claims else { return None };
        all.extend(claims);
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({ "typ": "JWT", "alg": ALGORITHM })), part(&all.into()));
        let signature = self.0.sign(signed.as_bytes()).ok()?;
        Some(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// The claims of a token of a server, and which server signed it.
///
/// # Errors
/// In words, why it is none.
pub(super) fn of_server(token: &str) -> Result<(String, Vec<u8>), &'static str> {
    let mut parts = token.rsplitn(2, '.');
    let (signature, signed) = (parts.next().unwrap_or_default(), parts.next().ok_or("it is no token")?);
    let (header, claims) = signed.split_once('.').ok_or("it is no token")?;
    let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| "it is no token");
    let Header { alg } = serde_json::from_slice(&decoded(header)?).map_err(|_| "it has no header")?;
    if alg != ALGORITHM {
        return Err("it is signed with another algorithm");
    }
    let claims = decoded(claims)?;
    let Signer { iss } = serde_json::from_slice(&claims).map_err(|_| "it names nobody who signed it")?;
    let key = KeyPair::from_public_key(&iss).map_err(|_| "its signer is no key")?;
    if !matches!(key.key_pair_type(), KeyPairType::Server) {
        return Err("its signer is no server");
    }
    key.verify(signed.as_bytes(), &decoded(signature)?).map_err(|_| "its signature is wrong")?;
    Ok((iss, claims))
}

/// Whether this is the public key of a user.
pub(super) fn is_user(key: &str) -> bool {
    KeyPair::from_public_key(key).is_ok_and(|key| matches!(key.key_pair_type(), KeyPairType::User))
}

//! Keys from servers: each is fetched once, however many tokens it signed, and kept for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use durward_library::jwt::TrustedKey;
use durward_pdp::Value;
use durward_pdp::ir::json;
use durward_pdp::ir::value::Object;
use durward_pdp::stream::Context;

use super::settings::KeyServer;
use crate::Clock;
use crate::clock::milliseconds;
use crate::http::{Client, Request};

/// How long it is believed that a key cannot be had, in milliseconds.
const ABSENCE_MS: i64 = 10_000;
/// How many keys are cached. Names of keys come from tokens, so anybody can invent them.
const KEYS_MAX: usize = 10_000;
/// The largest answer of a server, in bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// What a server said last about a key.
#[derive(Clone)]
pub(super) struct Fetched {
    pub(super) key: Option<TrustedKey>,
    /// Whether the server said that there is no such key, rather than nothing.
    pub(super) is_certain: bool,
    /// Until when that is believed, in milliseconds since 1970.
    pub(super) until_ms: i64,
}

type Place = Arc<tokio::sync::Mutex<Option<Fetched>>>;

/// The keys of all servers.
pub(super) struct Keys {
    client: Arc<Client>,
    clock: Clock,
    places: Mutex<HashMap<(String, String), Place>>,
}

impl Keys {
    pub(super) fn new(client: Arc<Client>, clock: Clock) -> Keys {
        Keys { client, clock, places: Mutex::default() }
    }

    /// The key of this name, fetched if it is not known.
    pub(super) async fn get(&self, server: &KeyServer, id: &str) -> Fetched {
        let Some(address) = server.address(id) else {
            return Fetched { key: None, is_certain: true, until_ms: i64::MAX };
        };
        let place = self.place((address.clone(), id.to_owned()));
        // Whoever else wants it waits here for the answer.
        let mut known = place.lock().await;
        let now_ms = milliseconds(&self.clock);
        if let Some(fetched) = known.as_ref().filter(|fetched| fetched.until_ms > now_ms) {
            return fetched.clone();
        }
        let fetched = match self.fetch(server, &address, id).await {
            Ok(Some(key)) => {
                Fetched { key: Some(key), is_certain: true, until_ms: now_ms.saturating_add(server.key_ms) }
            }
            Ok(None) => Fetched { key: None, is_certain: true, until_ms: now_ms.saturating_add(ABSENCE_MS) },
            Err(reason) => {
                tracing::warn!(key = id, reason, "a key for tokens cannot be fetched");
                Fetched { key: None, is_certain: false, until_ms: now_ms.saturating_add(ABSENCE_MS) }
            }
        };
        *known = Some(fetched.clone());
        fetched
    }

    fn place(&self, name: (String, String)) -> Place {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= KEYS_MAX && !places.contains_key(&name) {
            places.clear();
        }
        Arc::clone(places.entry(name).or_default())
    }

    /// # Errors
    /// A server that does not answer, or with what is no key.
    async fn fetch(&self, server: &KeyServer, address: &str, id: &str) -> Result<Option<TrustedKey>, String> {
        let settings = Value::object([("accept", Value::Text("text/plain, application/json;q=0.9".into()))]);
        let empty = Arc::default();
        let settings = settings.as_object().unwrap_or(&empty);
        let context = Context::default();
        let method = server.method.clone();
        let request = Request::custom(method, address, settings, None, &context, ANSWER_BYTES_MAX)?;
        let answer = self.client.ask(request).await?;
        let answer = answer.as_text().unwrap_or_default().trim();
        if !answer.starts_with('{') {
            return TrustedKey::read(answer).map(Some).map_err(|fault| fault.message.to_string());
        }
        let set = json::read(answer).map_err(|error| error.to_string())?;
        of_set(&set, id)
    }
}

/// The key of this name in a set of keys, or the only key (RFC 7517).
fn of_set(set: &Value, id: &str) -> Result<Option<TrustedKey>, String> {
    let member = |value: &Value, name: &str| value.as_object().and_then(|object| object.get(name)).cloned();
    let Some(keys) = member(set, "keys") else {
        return set.as_object().map_or(Ok(None), |key| of_jwk(key).map(Some));
    };
    let keys = keys.as_array().ok_or("`keys` is not an array")?;
    let is_it = |key: &&Value| member(key, "kid").is_some_and(|name| name.as_text() == Some(id));
    let key = keys.iter().find(is_it).and_then(Value::as_object);
    key.map(|key| of_jwk(key)).transpose()
}

/// A key written as JSON, by way of the form that certificates have (RFC 5280, "SubjectPublicKeyInfo").
fn of_jwk(key: &Object) -> Result<TrustedKey, String> {
    let octets = |name: &str| {
        let text = key.get(name).and_then(Value::as_text).ok_or_else(|| format!("a key has no `{name}`"))?;
        URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|_| format!("`{name}` of a key is no Base64"))
    };
    let kind = key.get("kty").and_then(Value::as_text).unwrap_or_default();
    let curve = key.get("crv").and_then(Value::as_text).unwrap_or_default();
    let (algorithm, public) = match kind {
        "RSA" => {
            let numbers = [integer(&octets("n")?), integer(&octets("e")?)].concat();
            (RSA.to_vec(), element(0x30, &numbers))
        }
        "EC" => {
            let (name, length): (&[u8], usize) = match curve {
                "P-256" => (P_256, 32),
                "P-384" => (P_384, 48),
                "P-521" => (P_521, 66),
                other => return Err(format!("a key is on the curve `{other}`")),
            };
            let (x, y) = (octets("x")?, octets("y")?);
            if x.len() != length || y.len() != length {
                return Err("a key is no point of its curve".into());
            }
            ([EC, name].concat(), [&[4][..], &x, &y].concat())
        }
        other => return Err(format!("a key is of the kind `{other}`")),
    };
    let public = element(0x03, &[&[0][..], &public].concat());
    let whole = element(0x30, &[element(0x30, &algorithm), public].concat());
    TrustedKey::read(&STANDARD.encode(whole)).map_err(|fault| fault.message.to_string())
}

/// `rsaEncryption`, with nothing after it.
const RSA: &[u8] = &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 0x05, 0];
/// `ecPublicKey`; the curve follows.
const EC: &[u8] = &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P_256: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const P_384: &[u8] = &[0x06, 5, 0x2b, 0x81, 4, 0, 34];
const P_521: &[u8] = &[0x06, 5, 0x2b, 0x81, 4, 0, 35];

/// An element of DER: tag, length, content.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len().to_be_bytes();
    let length = length.iter().copied().skip_while(|byte| *byte == 0).collect::<Vec<_>>();
    match length.as_slice() {
        [] => out.push(0),
        [short @ 0..=127] => out.push(*short),
        long => {
            out.push(0x80 | u8::try_from(long.len()).unwrap_or(8));
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(content);
    out
}

/// A number from its octets, which must not look negative.
fn integer(octets: &[u8]) -> Vec<u8> {
    let octets: Vec<u8> = octets.iter().copied().skip_while(|byte| *byte == 0).collect();
    let sign: &[u8] = if octets.first().is_none_or(|first| *first >= 0x80) { &[0] } else { &[] };
    element(0x02, &[sign, &octets].concat())
}

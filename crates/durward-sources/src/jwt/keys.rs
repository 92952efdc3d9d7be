//! Keys from servers: each is fetched once, however many tokens it signed, and kept for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use durward_library::jwt::TrustedKey;
use durward_pdp::ir::Fault;
use durward_pdp::stream::Context;
use durward_pdp::{SourceError, Value};

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

/// What is cached of one key; whoever fetches it holds the lock.
type CachedKey = Arc<tokio::sync::Mutex<Option<Fetched>>>;

/// The keys of all servers.
pub(super) struct Keys {
    client: Arc<Client>,
    clock: Clock,
    cached_keys: Mutex<HashMap<(String, String), CachedKey>>,
}

impl Keys {
    pub(super) fn new(client: Arc<Client>, clock: Clock) -> Keys {
        Keys { client, clock, cached_keys: Mutex::default() }
    }

    /// The key of this name, fetched if it is not known.
    pub(super) async fn get(&self, server: &KeyServer, id: &str) -> Fetched {
        let Some(address) = server.address(id) else {
            return Fetched { key: None, is_certain: true, until_ms: i64::MAX };
        };
        let cached = self.cached_key((address.clone(), id.to_owned()));
        // Whoever else wants it waits here for the answer.
        let mut known = cached.lock().await;
        let now_ms = milliseconds(&self.clock);
        if let Some(fetched) = known.as_ref().filter(|fetched| fetched.until_ms > now_ms) {
            return fetched.clone();
        }
        let fetched = match self.fetch(server, &address, id).await {
            Ok(Some(key)) => {
                Fetched { key: Some(key), is_certain: true, until_ms: now_ms.saturating_add(server.key_ms) }
            }
            Ok(None) => Fetched { key: None, is_certain: true, until_ms: now_ms.saturating_add(ABSENCE_MS) },
            Err(error) => {
                tracing::warn!(key = id, reason = error.message, "a key for tokens cannot be fetched");
                Fetched { key: None, is_certain: false, until_ms: now_ms.saturating_add(ABSENCE_MS) }
            }
        };
        *known = Some(fetched.clone());
        fetched
    }

    fn cached_key(&self, name: (String, String)) -> CachedKey {
        let mut cached = self.cached_keys.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= KEYS_MAX && !cached.contains_key(&name) {
            cached.clear();
        }
        Arc::clone(cached.entry(name).or_default())
    }

    /// # Errors
    /// A server that does not answer, or with what is no key.
    async fn fetch(
        &self,
        server: &KeyServer,
        address: &str,
        id: &str,
    ) -> Result<Option<TrustedKey>, SourceError> {
        let failed = |fault: Box<Fault>| SourceError::new(fault.message);
        let settings = Value::object([("accept", Value::Text("text/plain, application/json;q=0.9".into()))]);
        let empty = Arc::default();
        let settings = settings.as_object().unwrap_or(&empty);
        let context = Context::default();
        let method = server.method.clone();
        let request =
            Request::custom(method, address, settings, None, &context, ANSWER_BYTES_MAX).map_err(failed)?;
        let answer = self.client.ask(request).await?;
        let answer = answer.as_text().unwrap_or_default().trim();
        if !answer.starts_with('{') {
            return TrustedKey::read(answer).map(Some).map_err(failed);
        }
        TrustedKey::published(answer, id).map_err(failed)
    }
}

//! The keys of an issuer: out of a file, or from where the issuer publishes them.
//!
//! Fetched keys are used for a while, and fetched again when a token names one that is not among them; not too often,
//! because anybody can name a key. While the issuer cannot be reached, the keys it had serve on.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use durward_jwt::{JWK_SET_LENGTH_MAX, JwkSet, JwsAlgorithm, PublicKey, VerifyingJwk};
use durward_net::connect::Connector;
use durward_net::http::{HttpClient, HttpError, read_within};
use durward_net::tls::Trust;
use http_body_util::Full;
use hyper::header::{ACCEPT, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::super::Denied;
use crate::base::settings::{ConfigError, JwtSettings};

/// How long fetched keys are used without looking for newer ones.
const AGE_MAX: Duration = Duration::from_secs(300);
/// How often keys are fetched at most.
const FETCH_PAUSE: Duration = Duration::from_secs(10);
/// How long fetching may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(10);
/// How long connecting to an issuer may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// Most keys that one issuer may have.
const KEYS_MAX: usize = 256;

/// One key that may verify.
struct Key {
    id: Option<String>,
    key: VerifyingJwk,
}

/// The keys known at one moment.
#[derive(Default)]
struct KeySet {
    keys: Vec<Key>,
    /// When they were fetched; `None` before the first time.
    fetched: Option<Instant>,
}

pub(super) struct Keys {
    set: ArcSwap<KeySet>,
    /// Where the keys are published; `None` where they are out of a file.
    source: Option<Source>,
    /// When fetching was tried last. Held while fetching: one is enough.
    tried: Mutex<Option<Instant>>,
}

#[derive(Clone)]
struct Source {
    issuer: String,
    http: HttpClient,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").field("count", &self.set.load().keys.len()).finish_non_exhaustive()
    }
}

impl Keys {
    pub(super) fn new(settings: &JwtSettings) -> Result<Keys, ConfigError> {
        let wrong = |name: &str, path: &Path, error: &dyn std::fmt::Display| {
            ConfigError::of_setting(name, format!("is `{}`: {error}", path.display()))
        };
        let (set, source) = match &settings.keys {
            Some(path) => {
                let failed = |error: &dyn std::fmt::Display| wrong("auth.jwt.keys", path, error);
                let text = fs::read(path).map_err(|error| failed(&error))?;
                let keys = read(&text).map_err(|error| failed(&error))?;
                (KeySet { keys, fetched: None }, None)
            }
            None => {
                let trust = match &settings.authorities {
                    Some(path) => Trust::Only(path, "auth.jwt.authorities"),
                    None => Trust::Authorities(None, "auth.jwt.authorities"),
                };
                let connector = Connector::trusting(trust, CONNECT_TIME_MAX)
                    .map_err(|error| ConfigError::of_setting("auth.jwt.authorities", error.to_string()))?;
                (KeySet::default(), Some(Source::new(&settings.issuer, connector)))
            }
        };
        Ok(Keys { set: ArcSwap::from_pointee(set), source, tried: Mutex::new(None) })
    }

    /// The keys that may have signed a token with this key id and algorithm.
    ///
    /// # Errors
    /// There is none, or nobody could be asked.
    pub(super) async fn for_token(
        &self,
        id: Option<&str>,
        algorithm: JwsAlgorithm,
    ) -> Result<Vec<PublicKey>, Denied> {
        let known = self.set.load().find(id, algorithm);
        let is_fresh = self.source.is_none() || self.set.load().is_fresh();
        if !known.is_empty() && is_fresh {
            return Ok(known);
        }
        let fetched = self.fetch().await;
        let found = self.set.load().find(id, algorithm);
        match (found.is_empty(), fetched) {
            (false, _) => Ok(found),
            (true, Fetched::Yes) => Err(Denied::Wrong),
            (true, Fetched::No) => Err(Denied::Busy),
        }
    }

    async fn fetch(&self) -> Fetched {
        let Some(source) = &self.source else { return Fetched::Yes };
        let mut tried = self.tried.lock().await;
        if tried.is_some_and(|tried| tried.elapsed() < FETCH_PAUSE) {
            // Somebody has just fetched them, or has just failed to.
            return if self.set.load().fetched >= *tried { Fetched::Yes } else { Fetched::No };
        }
        *tried = Some(Instant::now());
        let source = source.clone();
        let name = source.issuer.clone();
        // To its end, though the caller may hang up meanwhile: others wait for it.
        match tokio::spawn(async move { source.fetch().await }).await {
            Ok(Ok(keys)) => {
                tracing::info!(count = keys.len(), "keys of the issuer fetched");
                self.set.store(Arc::new(KeySet { keys, fetched: Some(Instant::now()) }));
                Fetched::Yes
            }
            Ok(Err(error)) => {
                tracing::warn!(issuer = name, error, "the keys of an issuer of tokens cannot be fetched");
                Fetched::No
            }
            Err(_) => Fetched::No,
        }
    }
}

/// Whether the keys known are the newest.
enum Fetched {
    Yes,
    No,
}

impl KeySet {
    fn is_fresh(&self) -> bool {
        self.fetched.is_some_and(|fetched| fetched.elapsed() < AGE_MAX)
    }

    /// A token that names no key may be signed by any.
    fn find(&self, id: Option<&str>, algorithm: JwsAlgorithm) -> Vec<PublicKey> {
        let fits = |key: &&Key| (id.is_none() || key.id.as_deref() == id) && key.key.allows(algorithm);
        self.keys.iter().filter(fits).map(|key| key.key.public().clone()).collect()
    }
}

/// The keys of a set that can verify; others are passed over, as RFC 7517 has it.
fn read(text: &[u8]) -> Result<Vec<Key>, String> {
    let set = JwkSet::read(text).map_err(|error| error.to_string())?;
    let keys = set.keys().iter().filter_map(|jwk| {
        let key = jwk.verifying().ok()?.clone();
        Some(Key { id: jwk.id().map(str::to_owned), key })
    });
    let keys: Vec<Key> = keys.take(KEYS_MAX).collect();
    if keys.is_empty() { Err("there is no key in it that verifies signatures".into()) } else { Ok(keys) }
}

/// What an issuer says of itself (OpenID Connect Discovery).
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl Source {
    fn new(issuer: &str, connector: Connector) -> Source {
        // Keys are fetched too seldom for connections to be kept.
        Source { issuer: issuer.into(), http: HttpClient::new(connector, Duration::ZERO, 0) }
    }

    async fn fetch(&self) -> Result<Vec<Key>, String> {
        let fetch = timeout(FETCH_TIME_MAX, self.fetch_patiently()).await;
        fetch.unwrap_or_else(|_| Err(format!("no keys within {} s", FETCH_TIME_MAX.as_secs())))
    }

    async fn fetch_patiently(&self) -> Result<Vec<Key>, String> {
        let place = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let discovery: Discovery =
            serde_json::from_slice(&self.get(&place).await?).map_err(|error| format!("{place}: {error}"))?;
        if discovery.issuer != self.issuer {
            return Err(format!("{place}: it is the document of `{}`", discovery.issuer));
        }
        let place = discovery.jwks_uri;
        // Who took care to protect the one must not lose it with the other.
        if self.issuer.starts_with("https://") && !place.starts_with("https://") {
            return Err(format!("{place}: the keys are not to be had over `https`"));
        }
        read(&self.get(&place).await?).map_err(|error| format!("{place}: {error}"))
    }

    /// A document, which is answered with 200 (OpenID Connect Discovery 1.0, 4.2): no issuer sends elsewhere for it.
    async fn get(&self, place: &str) -> Result<Vec<u8>, String> {
        let failed = |error: HttpError| format!("{place}: {error}");
        let uri: Uri = place.parse().map_err(|_| format!("`{place}` is no address"))?;
        let mut request = Request::new(Full::<Bytes>::default());
        *request.uri_mut() = uri;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let answer = self.http.send(request).await.map_err(failed)?;
        if answer.status() != StatusCode::OK {
            return Err(format!("{place}: it answers {}", answer.status().as_u16()));
        }
        read_within(answer.into_body(), JWK_SET_LENGTH_MAX).await.map_err(failed)
    }
}

//! What an issuer publishes of itself: what it is (OpenID Connect Discovery), and its keys, which may also come out of a file.
//!
//! What was fetched is used for a while, and fetched again when a token names a key that is not among them; not too often,
//! because anybody can name a key. While the issuer cannot be reached, what it had serves on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use durward_jwt::{JWK_SET_LENGTH_MAX, JwkSet, JwsAlgorithm, PublicKey, VerifyingJwk};
use durward_net::connect::Connector;
use durward_net::http::{HttpClient, HttpError, read_within};
use http_body_util::Full;
use hyper::header::{ACCEPT, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long what was fetched is used without looking for anything newer.
const AGE_MAX: Duration = Duration::from_secs(300);
/// How often it is fetched at most.
const FETCH_PAUSE: Duration = Duration::from_secs(10);
/// How long fetching may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(10);
/// Most keys that one issuer may have.
const KEYS_MAX: usize = 256;

/// Why there is no key, or nothing else that is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotPublished {
    /// The issuer was asked, and has none such.
    Unknown,
    /// The issuer could not be asked.
    Unreachable,
}

/// What an issuer says of itself (OpenID Connect Discovery 1.0, 3; RFC 9207, 3).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Metadata {
    issuer: String,
    jwks_uri: String,
    pub authorization_endpoint: Option<String>,
    pub token_endpoint: Option<String>,
    pub userinfo_endpoint: Option<String>,
    pub end_session_endpoint: Option<String>,
    /// Whether it says in its answers that they are its own.
    #[serde(default, rename = "authorization_response_iss_parameter_supported")]
    pub says_issuer: bool,
}

/// One key that may verify.
struct Key {
    id: Option<String>,
    key: VerifyingJwk,
}

/// What is known at one moment.
#[derive(Default)]
struct KeySet {
    keys: Vec<Key>,
    metadata: Option<Arc<Metadata>>,
    /// When it was fetched; `None` before the first time.
    fetched: Option<Instant>,
}

/// What is known of an issuer.
pub(crate) struct Published {
    set: ArcSwap<KeySet>,
    /// Where it is published; `None` where keys are out of a file.
    source: Option<Source>,
    /// When fetching was tried last. Held while fetching: one is enough.
    tried: Mutex<Option<Instant>>,
}

#[derive(Clone)]
struct Source {
    issuer: String,
    http: HttpClient,
}

impl std::fmt::Debug for Published {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Published").field("count", &self.set.load().keys.len()).finish_non_exhaustive()
    }
}

impl Published {
    /// Keys that do not change.
    ///
    /// # Errors
    /// It is no set of keys, or has none that verifies.
    pub(crate) fn keys(text: &[u8]) -> Result<Published, String> {
        Ok(Published::with(KeySet { keys: read(text)?, ..KeySet::default() }, None))
    }

    /// What an issuer publishes. It is asked when something of it is wanted.
    pub(crate) fn of(issuer: &str, connector: Connector) -> Published {
        Published::with(KeySet::default(), Some(Source::new(issuer, connector)))
    }

    fn with(set: KeySet, source: Option<Source>) -> Published {
        Published { set: ArcSwap::from_pointee(set), source, tried: Mutex::new(None) }
    }

    /// What the issuer says of itself.
    ///
    /// # Errors
    /// Nobody could be asked.
    pub(crate) async fn metadata(&self) -> Result<Arc<Metadata>, NotPublished> {
        if !self.set.load().is_fresh() {
            self.fetch().await;
        }
        self.set.load().metadata.clone().ok_or(NotPublished::Unreachable)
    }

    /// The keys that may have signed a token with this key id and algorithm.
    ///
    /// # Errors
    /// There is none, or nobody could be asked.
    pub(crate) async fn for_token(
        &self,
        id: Option<&str>,
        algorithm: JwsAlgorithm,
    ) -> Result<Vec<PublicKey>, NotPublished> {
        let known = self.set.load().find(id, algorithm);
        let is_fresh = self.source.is_none() || self.set.load().is_fresh();
        if !known.is_empty() && is_fresh {
            return Ok(known);
        }
        let fetched = self.fetch().await;
        let found = self.set.load().find(id, algorithm);
        match (found.is_empty(), fetched) {
            (false, _) => Ok(found),
            (true, Fetched::Yes) => Err(NotPublished::Unknown),
            (true, Fetched::No) => Err(NotPublished::Unreachable),
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
            Ok(Ok((metadata, keys))) => {
                tracing::info!(count = keys.len(), "keys of the issuer fetched");
                let metadata = Some(Arc::new(metadata));
                self.set.store(Arc::new(KeySet { keys, metadata, fetched: Some(Instant::now()) }));
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

impl Source {
    fn new(issuer: &str, connector: Connector) -> Source {
        // Keys are fetched too seldom for connections to be kept.
        Source { issuer: issuer.into(), http: HttpClient::new(connector, Duration::ZERO, 0) }
    }

    async fn fetch(&self) -> Result<(Metadata, Vec<Key>), String> {
        let fetch = timeout(FETCH_TIME_MAX, self.fetch_patiently()).await;
        fetch.unwrap_or_else(|_| Err(format!("no keys within {} s", FETCH_TIME_MAX.as_secs())))
    }

    async fn fetch_patiently(&self) -> Result<(Metadata, Vec<Key>), String> {
        let place = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let metadata: Metadata =
            serde_json::from_slice(&self.get(&place).await?).map_err(|error| format!("{place}: {error}"))?;
        if metadata.issuer != self.issuer {
            return Err(format!("{place}: it is the document of `{}`", metadata.issuer));
        }
        let place = &metadata.jwks_uri;
        // Who took care to protect the one must not lose it with the other.
        if self.issuer.starts_with("https://") && !place.starts_with("https://") {
            return Err(format!("{place}: the keys are not to be had over `https`"));
        }
        let keys = read(&self.get(place).await?).map_err(|error| format!("{place}: {error}"))?;
        Ok((metadata, keys))
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

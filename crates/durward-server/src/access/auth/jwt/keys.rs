//! The keys of an issuer: out of a file, or from where the issuer publishes them.
//!
//! Fetched keys are used for a while, and fetched again when a token names one that is not among them; not too often,
//! because anybody can name a key. While the issuer cannot be reached, the keys it had serve on.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use durward_jwt::{JwkSet, JwsAlgorithm, PublicKey, VerifyingJwk};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use tokio::sync::Mutex;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::super::Denied;
use crate::base::settings::{ConfigError, JwtSettings};

/// How long fetched keys are used without looking for newer ones.
const AGE_MAX: Duration = Duration::from_secs(300);
/// How often keys are fetched at most.
const FETCH_PAUSE: Duration = Duration::from_secs(10);
/// How long fetching may take.
const FETCH_TIME_MAX: Duration = Duration::from_secs(10);
/// Longest document of an issuer: hundreds of keys.
const DOCUMENT_BYTES_MAX: u64 = 1024 * 1024;
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
    agent: Agent,
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
                let roots = match &settings.authorities {
                    Some(path) => {
                        authorities(path).map_err(|error| wrong("auth.jwt.authorities", path, &error))?
                    }
                    None => system_authorities(),
                };
                (KeySet::default(), Some(Source::new(&settings.issuer, roots)))
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
        match tokio::task::spawn_blocking(move || source.fetch()).await {
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

fn authorities(path: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err("no certificate in it".into()),
        Ok(certificates) => {
            Ok(certificates.iter().map(|one| Certificate::from_der(one).to_owned()).collect())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Those of the machine. Where it has none, no issuer is believed.
fn system_authorities() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs();
    found.certs.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
}

/// What an issuer says of itself (OpenID Connect Discovery).
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl Source {
    fn new(issuer: &str, roots: Vec<Certificate<'static>>) -> Source {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&roots))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config =
            Agent::config_builder().timeout_global(Some(FETCH_TIME_MAX)).max_redirects(3).tls_config(tls);
        Source { issuer: issuer.into(), agent: config.build().into() }
    }

    fn fetch(&self) -> Result<Vec<Key>, String> {
        let place = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let discovery: Discovery =
            serde_json::from_slice(&self.get(&place)?).map_err(|error| format!("{place}: {error}"))?;
        if discovery.issuer != self.issuer {
            return Err(format!("{place}: it is the document of `{}`", discovery.issuer));
        }
        // Who took care to protect the one must not lose it with the other.
        if self.issuer.starts_with("https://") && !discovery.jwks_uri.starts_with("https://") {
            return Err(format!("{place}: the keys are not to be had over `https`"));
        }
        read(&self.get(&discovery.jwks_uri)?).map_err(|error| format!("{}: {error}", discovery.jwks_uri))
    }

    fn get(&self, place: &str) -> Result<Vec<u8>, String> {
        let failed = |error: ureq::Error| format!("{place}: {error}");
        let mut answer = self.agent.get(place).call().map_err(failed)?;
        answer.body_mut().with_config().limit(DOCUMENT_BYTES_MAX).read_to_vec().map_err(failed)
    }
}

//! Who asks over SAPL's protocols, and for which tenant: nobody in particular, a password, an API key, or a token.
//!
//! The tenant comes from the credentials alone; nothing else that a caller sends can choose it. What was verified is
//! remembered for a while, because verifying a secret is slow on purpose.

mod cache;
#[cfg_attr(not(feature = "tls"), path = "jwt_absent.rs")]
mod jwt;
mod secret;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use durward_sources::{Claims, NotBelieved, TokenIssuer};
use smol_str::SmolStr;

use crate::base::Clock;
use crate::base::metrics::Metrics;
use crate::base::settings::{AuthSettings, ConfigError, UserSettings};
use cache::Cache;
pub(crate) use jwt::Tokens;
use secret::Secrets;
pub use secret::{SecretDigestError, digest_of_secret};

/// The longest credentials that are verified; tokens of identity providers have some thousand bytes.
const CREDENTIALS_BYTES_MAX: usize = 16 * 1024;

/// What every API key begins with.
const API_KEY_PREFIX: &str = "sapl_";

/// What a caller presents.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Presented {
    /// Nothing.
    Nothing,
    /// A name and a password.
    Simple { name: String, password: String },
    /// A token or an API key.
    Bearer(String),
    /// Something that cannot be understood.
    Unknown,
}

/// Who asks. Only an [`Authenticator`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Whose policies decide.
    pub(crate) tenant: SmolStr,
    /// The caller's name in logs.
    pub(crate) name: SmolStr,
    /// When the credentials end.
    pub(crate) expires: Option<Instant>,
}

/// Why somebody may not ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The credentials are wrong, missing, or of a kind that is not taken.
    Wrong,
    /// Too many are being verified, or the keys of the issuer cannot be had: nothing is known about them.
    Busy,
}

/// Verifies credentials.
pub(crate) struct Authenticator {
    settings: AuthSettings,
    metrics: Arc<Metrics>,
    clock: Clock,
    /// Users by the name they log in with.
    names: HashMap<String, usize>,
    /// Users by the id of their API key.
    keys: HashMap<String, usize>,
    secrets: Secrets,
    tokens: Option<Tokens>,
    cache: Cache,
}

impl TokenIssuer for Tokens {
    fn claims<'a>(&'a self, token: &'a str, now: SystemTime) -> Claims<'a> {
        Box::pin(async move {
            Tokens::claims(self, token, now).await.map_err(|denied| match denied {
                Denied::Wrong => NotBelieved::Refused,
                Denied::Busy => NotBelieved::NoKeys,
            })
        })
    }
}

impl Presented {
    /// Reads the `Authorization` of a request.
    pub(crate) fn from_header(header: Option<&str>) -> Presented {
        let Some(header) = header else { return Presented::Nothing };
        let Some((scheme, rest)) = header.split_once(' ') else { return Presented::Unknown };
        let rest = rest.trim();
        if scheme.eq_ignore_ascii_case("Bearer") {
            return Presented::Bearer(rest.to_owned());
        }
        if !scheme.eq_ignore_ascii_case("Basic") {
            return Presented::Unknown;
        }
        let decoded = BASE64_STANDARD.decode(rest).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        match decoded.as_deref().and_then(|text| text.split_once(':')) {
            Some((name, password)) => {
                Presented::Simple { name: name.to_owned(), password: password.to_owned() }
            }
            None => Presented::Unknown,
        }
    }

    /// Reads the credentials of an RSocket setup.
    pub(crate) fn from_setup(credentials: &durward_wire::rsocket::Credentials) -> Presented {
        use durward_wire::rsocket::Credentials;
        let text = |bytes: &[u8]| str::from_utf8(bytes).map(str::to_owned);
        match credentials {
            Credentials::None => Presented::Nothing,
            Credentials::Unknown => Presented::Unknown,
            Credentials::Bearer(token) => text(token).map_or(Presented::Unknown, Presented::Bearer),
            Credentials::Simple { user, password } => match (text(user), text(password)) {
                (Ok(name), Ok(password)) => Presented::Simple { name, password },
                (Err(_), _) | (_, Err(_)) => Presented::Unknown,
            },
        }
    }

    fn length(&self) -> usize {
        match self {
            Presented::Nothing | Presented::Unknown => 0,
            Presented::Simple { name, password } => name.len() + password.len(),
            Presented::Bearer(token) => token.len(),
        }
    }
}

impl std::fmt::Debug for Presented {
    /// Secrets are not for logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Presented::Nothing => "Nothing",
            Presented::Simple { .. } => "Simple(..)",
            Presented::Bearer(_) => "Bearer(..)",
            Presented::Unknown => "Unknown",
        })
    }
}

impl Authenticator {
    /// # Errors
    /// A digest that cannot be read, keys that cannot be read, a build without the means to verify tokens.
    pub(crate) fn new(
        settings: &AuthSettings,
        metrics: &Arc<Metrics>,
        clock: &Clock,
    ) -> Result<Authenticator, ConfigError> {
        let secrets = Secrets::new(&settings.users)?;
        let by = |of: fn(&UserSettings) -> Option<&String>| {
            let named = settings.users.iter().enumerate();
            named.filter_map(|(at, user)| Some((of(user)?.clone(), at))).collect()
        };
        Ok(Authenticator {
            names: by(|user| user.name.as_ref()),
            keys: by(|user| user.api_key_id.as_ref()),
            secrets,
            tokens: settings.jwt.as_ref().map(Tokens::new).transpose()?,
            cache: Cache::new(settings),
            settings: settings.clone(),
            metrics: Arc::clone(metrics),
            clock: Arc::clone(clock),
        })
    }

    /// Who this is.
    ///
    /// # Errors
    /// Whoever may not ask.
    pub(crate) async fn verify(&self, presented: Presented) -> Result<Identity, Denied> {
        let verified = self.verified(presented).await;
        self.metrics.authenticated(match &verified {
            Ok(_) => "ok",
            Err(Denied::Wrong) => "refused",
            Err(Denied::Busy) => "busy",
        });
        verified
    }

    /// Who this is, where that is known without verifying: credentials that were right a moment ago, or nobody where none are needed.
    pub(crate) fn remembered(&self, presented: &Presented, now: Instant) -> Option<Identity> {
        let cache_key = match presented {
            Presented::Nothing if self.settings.danger_allow_no_auth => return Some(self.nobody()),
            Presented::Nothing | Presented::Unknown => return None,
            _ if presented.length() > CREDENTIALS_BYTES_MAX => return None,
            Presented::Simple { name, password } => self.key_of_password(name, password),
            Presented::Bearer(key) if key.starts_with(API_KEY_PREFIX) => self.key_of_api_key(key),
            Presented::Bearer(token) => self.key_of_token(token),
        };
        self.cache.get(&cache_key, now)?.ok()
    }

    fn key_of_password(&self, name: &str, password: &str) -> cache::CacheKey {
        self.cache.key_of(&[b"password", name.as_bytes(), password.as_bytes()])
    }

    fn key_of_api_key(&self, key: &str) -> cache::CacheKey {
        self.cache.key_of(&[b"key", key.as_bytes()])
    }

    fn key_of_token(&self, token: &str) -> cache::CacheKey {
        self.cache.key_of(&[b"token", token.as_bytes()])
    }

    /// Who asks where nobody need say who they are.
    fn nobody(&self) -> Identity {
        let tenant = self.settings.default_tenant.as_str().into();
        Identity { tenant, name: SmolStr::default(), expires: None }
    }

    async fn verified(&self, presented: Presented) -> Result<Identity, Denied> {
        if presented.length() > CREDENTIALS_BYTES_MAX {
            return Err(Denied::Wrong);
        }
        match presented {
            Presented::Nothing if self.settings.danger_allow_no_auth => Ok(self.nobody()),
            // Credentials of a kind that is not taken are refused also where none are needed: the caller thinks that
            // they count.
            Presented::Nothing | Presented::Unknown => Err(Denied::Wrong),
            Presented::Simple { name, password } => self.verify_password(&name, password).await,
            Presented::Bearer(token) if token.starts_with(API_KEY_PREFIX) => self.verify_key(token).await,
            Presented::Bearer(token) => self.verify_token(&token).await,
        }
    }

    async fn verify_password(&self, name: &str, password: String) -> Result<Identity, Denied> {
        if self.names.is_empty() {
            return Err(Denied::Wrong);
        }
        let cache_key = self.key_of_password(name, &password);
        let user = self.names.get(name).copied();
        self.verify_secret(cache_key, user, secret::Kind::Password, password).await
    }

    async fn verify_key(&self, key: String) -> Result<Identity, Denied> {
        if self.keys.is_empty() {
            return Err(Denied::Wrong);
        }
        let cache_key = self.key_of_api_key(&key);
        let id = key.strip_prefix(API_KEY_PREFIX).and_then(|rest| rest.split_once('_'));
        let user = id.and_then(|(id, _)| self.keys.get(id)).copied();
        self.verify_secret(cache_key, user, secret::Kind::ApiKey, key).await
    }

    /// A user that does not exist takes as long to be refused as one that does: names are not to be found out by time.
    async fn verify_secret(
        &self,
        cache_key: cache::CacheKey,
        user: Option<usize>,
        kind: secret::Kind,
        secret: String,
    ) -> Result<Identity, Denied> {
        if let Some(known) = self.cache.get(&cache_key, Instant::now()) {
            return known;
        }
        let _permit = self.secrets.permit().await?;
        // Meanwhile, somebody may have come with the same.
        if let Some(known) = self.cache.get(&cache_key, Instant::now()) {
            return known;
        }
        let is_right = self.secrets.is_right(user, kind, secret).await?;
        let user = user.filter(|_| is_right).and_then(|user| self.settings.users.get(user));
        let verified = match user {
            Some(user) => self.identity(user.tenant.as_deref(), &user.id, None),
            None => Err(Denied::Wrong),
        };
        if verified.is_err() {
            tracing::debug!(?kind, "wrong credentials");
        }
        self.cache.put(cache_key, &verified, Instant::now());
        verified
    }

    async fn verify_token(&self, token: &str) -> Result<Identity, Denied> {
        let Some(tokens) = &self.tokens else { return Err(Denied::Wrong) };
        let cache_key = self.key_of_token(token);
        if let Some(known) = self.cache.get(&cache_key, Instant::now()) {
            return known;
        }
        let now = (self.clock)();
        let verified = match tokens.verify(token, now).await {
            Ok(claims) => {
                let expires = claims
                    .expires
                    .map(|expires| Instant::now() + expires.duration_since(now).unwrap_or_default());
                self.identity(claims.tenant.as_deref(), &claims.subject, expires)
            }
            Err(denied) => Err(denied),
        };
        self.cache.put(cache_key, &verified, Instant::now());
        verified
    }

    fn identity(
        &self,
        tenant: Option<&str>,
        name: &str,
        expires: Option<Instant>,
    ) -> Result<Identity, Denied> {
        let tenant = match tenant {
            Some(tenant) => tenant,
            None if self.settings.reject_without_tenant => return Err(Denied::Wrong),
            None => &self.settings.default_tenant,
        };
        Ok(Identity { tenant: tenant.into(), name: name.into(), expires })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_or_not_understood() {
        let simple =
            |name: &str, password: &str| Presented::Simple { name: name.into(), password: password.into() };
        let cases = [
            (None, Presented::Nothing),
            (Some("Basic dTpw"), simple("u", "p")),
            (Some("basic  dTpwOnE="), simple("u", "p:q")),
            (Some("Basic Og=="), simple("", "")),
            (Some("Bearer abc"), Presented::Bearer("abc".into())),
            (Some("BEARER abc "), Presented::Bearer("abc".into())),
            (Some(""), Presented::Unknown),
            (Some("Basic"), Presented::Unknown),
            (Some("Basic dXA="), Presented::Unknown),
            (Some("Basic !!"), Presented::Unknown),
            (Some("Digest abc"), Presented::Unknown),
        ];
        for (header, presented) in cases {
            assert!(Presented::from_header(header) == presented, "{header:?}");
        }
        assert_eq!(format!("{:?}", simple("u", "p")), "Simple(..)");
    }
}

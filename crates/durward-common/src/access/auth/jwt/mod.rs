//! Tokens of an identity provider: signed by one of its keys, meant for this server, in time, with a scope.
//!
//! Only public keys verify. A token without a signature, or with one by a shared secret, is none.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use durward_jwt::{Base64Url, Jws};
use durward_net::connect::Connector;
use durward_net::tls::Trust;
use durward_session::identity::jwt::Binding;
use durward_settings::{ConfigError, JwtSettings, is_tenant};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Denied;
use crate::access::published::{NotPublished, Published};

/// How far the clocks of issuer and server may differ.
const LEEWAY: Duration = Duration::from_secs(60);

/// How long connecting to an issuer may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// What a verified token says.
#[derive(Debug)]
pub(super) struct Claims {
    /// Who it is about.
    pub(super) subject: String,
    /// Whose policies decide.
    pub(super) tenant: Option<String>,
    /// When it ends.
    pub(super) expires: Option<SystemTime>,
    /// The thumbprint of the key that the token is bound to.
    pub(super) bound: Option<String>,
}

/// Verifies tokens.
#[derive(Debug)]
pub struct Tokens {
    settings: JwtSettings,
    keys: Published,
}

/// A claim that is one text or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Tokens {
    /// # Errors
    /// A file of keys or certificates that cannot be read.
    pub fn new(settings: &JwtSettings) -> Result<Tokens, ConfigError> {
        Ok(Tokens { settings: settings.clone(), keys: keys(settings)? })
    }

    /// What the token says, if it may be believed.
    ///
    /// # Errors
    /// A token that may not, or keys that cannot be had.
    pub(super) async fn verify(&self, token: &str, now: SystemTime) -> Result<Claims, Denied> {
        let claims = self.signed(token).await?;
        let bound = match Binding::of(&claims) {
            Binding::Bearer => None,
            Binding::Key(thumbprint) => Some(thumbprint),
            Binding::Unknown => return Err(Denied::Wrong),
        };
        self.read(&claims, now).map(|read| Claims { bound, ..read }).ok_or(Denied::Wrong)
    }

    /// All that the token says, if it may be believed by itself. One that is bound to something says what it says together with that, of
    /// which nothing is shown here: whoever has found it has no more than this.
    ///
    /// # Errors
    /// As [`Tokens::verify`].
    pub async fn claims(&self, token: &str, now: SystemTime) -> Result<Map<String, Value>, Denied> {
        let claims = self.signed(token).await?;
        self.read(&claims, now).ok_or(Denied::Wrong)?;
        match Binding::of(&claims) {
            Binding::Bearer => Ok(claims),
            Binding::Key(_) | Binding::Unknown => Err(Denied::Wrong),
        }
    }

    /// The claims of a token with a good signature, of the issuer and for this server, whose times and scopes were not looked at.
    async fn signed(&self, token: &str) -> Result<Map<String, Value>, Denied> {
        let token = Jws::read(token, Base64Url::Exact).map_err(|_| Denied::Wrong)?;
        if token.kind().is_some_and(is_of_another_use) {
            return Err(Denied::Wrong);
        }
        let algorithm = token.algorithm().ok_or(Denied::Wrong)?;
        let keys = self.keys.for_token(token.key_id(), algorithm).await.map_err(|why| match why {
            NotPublished::Unknown => Denied::Wrong,
            NotPublished::Unreachable => Denied::Busy,
        })?;
        let verified = keys.iter().find_map(|key| token.verify(key, &[algorithm]).ok());
        let claims = verified.and_then(|verified| verified.claims().ok()).ok_or(Denied::Wrong)?;
        if self.is_meant(&claims) { Ok(claims) } else { Err(Denied::Wrong) }
    }

    /// Whether the token is of the issuer and for one of the audiences of this server.
    fn is_meant(&self, claims: &Map<String, Value>) -> bool {
        let is_ours = |audience: &str| self.settings.audiences.iter().any(|ours| ours == audience);
        let is_for_us = match claims.get("aud").map(Texts::deserialize) {
            Some(Ok(Texts::One(audience))) => is_ours(&audience),
            Some(Ok(Texts::Several(audiences))) => audiences.iter().any(|audience| is_ours(audience)),
            Some(Err(_)) | None => false,
        };
        claims.get("iss").and_then(Value::as_str) == Some(&*self.settings.issuer) && is_for_us
    }

    /// The claims that count; `None` where one of them is wrong.
    fn read(&self, claims: &Map<String, Value>, now: SystemTime) -> Option<Claims> {
        let expires = moment(claims.get("exp"))?;
        let begins = moment(claims.get("nbf"))?;
        if expires.is_none() && !self.settings.danger_allow_without_expiry {
            return None;
        }
        if expires.is_some_and(|expires| expires + LEEWAY <= now)
            || begins.is_some_and(|begins| begins > now + LEEWAY)
            || !self.has_scope(claims)
        {
            return None;
        }
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        Some(Claims { subject: subject.into(), tenant: self.tenant(claims)?, expires, bound: None })
    }

    fn has_scope(&self, claims: &Map<String, Value>) -> bool {
        let wanted = &self.settings.scopes;
        let has = |name: &str| match claims.get(name).map(Texts::deserialize) {
            Some(Ok(Texts::One(text))) => text.split(' ').any(|scope| wanted.iter().any(|one| one == scope)),
            Some(Ok(Texts::Several(texts))) => texts.iter().any(|scope| wanted.contains(scope)),
            Some(Err(_)) | None => false,
        };
        wanted.is_empty() || has("scope") || has("scp")
    }

    /// The tenant, if one is named; `None` where what is named is none.
    fn tenant(&self, claims: &Map<String, Value>) -> Option<Option<String>> {
        let mut steps = self.settings.tenant_claim.split('.');
        let first = steps.next().and_then(|step| claims.get(step));
        match first.and_then(|first| steps.try_fold(first, |value, step| value.get(step))) {
            None | Some(Value::Null) => Some(None),
            Some(Value::String(tenant)) if is_tenant(tenant) => Some(Some(tenant.clone())),
            Some(_) => None,
        }
    }
}

/// The keys of the issuer: out of a file, or as it publishes them.
fn keys(settings: &JwtSettings) -> Result<Published, ConfigError> {
    let Some(path) = &settings.keys else {
        let trust = match &settings.authorities {
            Some(path) => Trust::Only(path, "auth.jwt.authorities"),
            None => Trust::Authorities(None, "auth.jwt.authorities"),
        };
        let connector = Connector::trusting(trust, CONNECT_TIME_MAX)
            .map_err(|error| ConfigError::of_setting("auth.jwt.authorities", error.to_string()))?;
        return Ok(Published::of(&settings.issuer, connector));
    };
    let wrong = |path: &Path, error: &dyn Display| {
        ConfigError::of_setting("auth.jwt.keys", format!("is `{}`: {error}", path.display()))
    };
    let text = fs::read(path).map_err(|error| wrong(path, &error))?;
    Published::keys(&text).map_err(|error| wrong(path, &error))
}

/// A time in seconds since 1970, whole or not. `None` where it is none, `Some(None)` where there is none.
fn moment(claim: Option<&Value>) -> Option<Option<SystemTime>> {
    let Some(claim) = claim else { return Some(None) };
    let since = Duration::try_from_secs_f64(claim.as_f64()?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since).map(Some)
}
/// Whether a token says by its `typ` that it is for something else than access, such as `logout+jwt` or `dpop+jwt` (RFC 8725, 3.11). Providers
/// write `JWT`, `at+jwt` or nothing into those for access, and some a word of their own.
fn is_of_another_use(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let kind = kind.strip_prefix("application/").unwrap_or(&kind);
    kind.ends_with("+jwt") && kind != "at+jwt"
}

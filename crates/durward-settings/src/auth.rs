//! `[auth]`: who may ask over SAPL's protocols, and for which tenant.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use durward_sources::JwtSettings;

use super::ConfigError;
use super::oauth::is_issuer;

/// Longest name of a tenant: it becomes the name of a directory.
const TENANT_LENGTH_MAX: usize = 128;

/// What `[auth]` can guard beside SAPL's protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guarded {
    /// `/pdp`, and the paths of other XACML servers.
    Pdp,
    /// `/metrics`.
    Metrics,
}

/// Who may ask. Without any way to authenticate, and without saying that nobody has to, nothing that needs it starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthSettings {
    /// Whether callers without credentials may ask, for the default tenant. Default: false.
    pub danger_allow_no_auth: bool,
    /// The tenant of callers whose credentials name none. Default: `default`.
    pub default_tenant: String,
    /// Whether callers whose credentials name no tenant are refused. Default: false.
    pub reject_without_tenant: bool,
    /// How long credentials that were right are believed without a further look. Default: 5 min.
    pub cache_positive_ms: u64,
    /// How long credentials that were wrong are refused without a further look. Default: 5 s.
    pub cache_negative_ms: u64,
    /// Most credentials remembered. Default: 10000.
    pub cache_entries_max: usize,
    /// Most requests for decisions a second, over all surfaces and of all callers together; 0 means any number. Default: 0.
    pub requests_per_second_max: u32,
    /// Most requests for decisions a second of one caller, over all surfaces together; 0 means any number. Callers are told apart by the
    /// name of their credentials, and where nobody authenticates by their address: of IPv6 by its first 64 bits. Default: 0.
    pub requests_per_second_per_caller_max: u32,
    /// Most callers whose requests are counted one by one; those beyond share what one caller may ask. Default: 50000, about 3 MB.
    pub rate_callers_max: usize,
    /// The addresses at which callers reach this server: proofs that they have the key of their token (DPoP) name one of them. Default:
    /// `oauth.issuer`.
    pub addresses: Vec<String>,
    /// What only these callers may ask beside SAPL's protocols. Default: nothing.
    pub guards: Vec<Guarded>,
    /// Whether `/v1/explain` tells callers with `may_explain` why a question is answered as it is: with policies, and values of attributes.
    /// Policies take some hundred bytes more each. Default: false.
    pub explain: bool,
    /// Who has a password or a key.
    pub users: Vec<UserSettings>,
    /// Tokens of an identity provider. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<JwtSettings>,
}

/// One user with a password, an API key, or both.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSettings {
    /// What the user is called in logs.
    pub id: String,
    /// The tenant the user asks for. Default: the default tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The name for Basic authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The password for Basic authentication, as Argon2id writes it (`$argon2id$...`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// What stands between the underscores of `sapl_<id>_<secret>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_id: Option<String>,
    /// The whole API key, as Argon2id writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<String>,
    /// Whether the user may assert who a question is about, where there are users who show tokens
    /// (`identity.subjects_asserted_by`). Default: false.
    #[serde(default)]
    pub may_assert_subjects: bool,
    /// Whether the user may administer users over SCIM (`identity.scim`). Default: false.
    #[serde(default)]
    pub may_administer: bool,
    /// Whether the user may have decisions explained (`auth.explain`). Default: false.
    #[serde(default)]
    pub may_explain: bool,
    /// Most requests for decisions a second of this user, in the place of `auth.requests_per_second_per_caller_max`; 0 means any number.
    /// Default: as for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_second_max: Option<u32>,
}

impl Default for AuthSettings {
    fn default() -> AuthSettings {
        AuthSettings {
            danger_allow_no_auth: false,
            default_tenant: "default".into(),
            reject_without_tenant: false,
            cache_positive_ms: 300_000,
            cache_negative_ms: 5_000,
            cache_entries_max: 10_000,
            requests_per_second_max: 0,
            requests_per_second_per_caller_max: 0,
            rate_callers_max: 50_000,
            addresses: Vec::new(),
            guards: Vec::new(),
            explain: false,
            users: Vec::new(),
            jwt: None,
        }
    }
}

impl fmt::Debug for UserSettings {
    /// Even digests of secrets are not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserSettings")
            .field("id", &self.id)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

/// Whether this can name a tenant: letters, digits, `.`, `_` and `-`, and no way up a directory.
pub fn is_tenant(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=TENANT_LENGTH_MAX).contains(&name.len())
        && name.bytes().all(is_allowed)
        && !matches!(name, "." | "..")
}

impl AuthSettings {
    /// Whether callers can be told apart at all, or need not be.
    pub fn has_a_way(&self) -> bool {
        self.danger_allow_no_auth || !self.users.is_empty() || self.jwt.is_some()
    }

    /// Whether callers may show a name and a password.
    pub fn has_basic(&self) -> bool {
        self.users.iter().any(|user| user.name.is_some())
    }

    /// Whether callers may show a bearer token: an API key of `[[auth.users]]`, or a token of `[auth.jwt]`.
    pub fn has_bearer(&self) -> bool {
        self.jwt.is_some() || self.users.iter().any(|user| user.api_key.is_some())
    }

    /// Whether only callers that this accepts may ask that.
    #[inline]
    pub fn guards(&self, what: Guarded) -> bool {
        self.guards.contains(&what)
    }

    /// What is guarded is not left open by mistake.
    fn check_guards(&self) -> Result<(), ConfigError> {
        let wrong = |message: &str| Err(ConfigError::of_setting("auth.guards", message.into()));
        match self.guards.as_slice() {
            [] => Ok(()),
            _ if self.danger_allow_no_auth => {
                wrong("guards nothing from anybody with `auth.danger_allow_no_auth`: set one of them")
            }
            _ if self.has_a_way() => Ok(()),
            _ => wrong("is set, and nobody can authenticate: name `[[auth.users]]` or `[auth.jwt]`"),
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_guards()?;
        check_tenant("auth.default_tenant", &self.default_tenant)?;
        if self.cache_entries_max == 0 {
            let message = "is 0; the least is 1: every request would cost what a login costs".into();
            return Err(ConfigError::of_setting("auth.cache_entries_max", message));
        }
        if self.explain && !self.users.iter().any(|user| user.may_explain) {
            let message = "is set, and nobody may ask: set `may_explain` of one of `[[auth.users]]`".into();
            return Err(ConfigError::of_setting("auth.explain", message));
        }
        if self.rate_callers_max == 0 {
            let message = "is 0; the least is 1: all callers would share what one of them may ask".into();
            return Err(ConfigError::of_setting("auth.rate_callers_max", message));
        }
        if let Some(address) = self.addresses.iter().find(|address| !is_issuer(address)) {
            let message = format!("has `{address}`; it must be an address such as `https://pdp.example.org`");
            let message = message + ", without `?`, `#` and a slash at its end";
            return Err(ConfigError::of_setting("auth.addresses", message));
        }
        for (at, user) in self.users.iter().enumerate() {
            user.check()?;
            let before = self.users.get(..at).unwrap_or_default();
            let same = |other: &&UserSettings| {
                other.id == user.id
                    || (user.name.is_some() && other.name == user.name)
                    || (user.api_key_id.is_some() && other.api_key_id == user.api_key_id)
            };
            if let Some(other) = before.iter().find(same) {
                let message = format!("and `{}` share an id, a name or an API key id", other.id);
                return Err(ConfigError::of_setting(&format!("auth.users.{}", user.id), message));
            }
        }
        self.jwt.as_ref().map_or(Ok(()), |jwt| Ok(jwt.check("auth.jwt")?))
    }

    pub(super) fn weaknesses(&self) -> Vec<String> {
        let mut weak = Vec::new();
        if self.danger_allow_no_auth {
            weak.push("`auth.danger_allow_no_auth` is set: whoever may connect may ask".into());
        }
        weak.extend(self.jwt.iter().flat_map(|jwt| jwt.weaknesses("auth.jwt")));
        weak
    }

    /// How long credentials that were accepted are remembered.
    pub fn cache_positive(&self) -> Duration {
        Duration::from_millis(self.cache_positive_ms)
    }

    /// How long credentials that were refused are remembered.
    pub fn cache_negative(&self) -> Duration {
        Duration::from_millis(self.cache_negative_ms)
    }
}

fn check_tenant(setting: &str, tenant: &str) -> Result<(), ConfigError> {
    if is_tenant(tenant) {
        return Ok(());
    }
    let message = format!("is `{tenant}`; a tenant is named with letters, digits, `.`, `_` and `-`");
    Err(ConfigError::of_setting(setting, message))
}

impl UserSettings {
    fn check(&self) -> Result<(), ConfigError> {
        let wrong =
            |message: &str| Err(ConfigError::of_setting(&format!("auth.users.{}", self.id), message.into()));
        if let Some(tenant) = &self.tenant {
            check_tenant(&format!("auth.users.{}.tenant", self.id), tenant)?;
        }
        match (&self.name, &self.password, &self.api_key_id, &self.api_key) {
            (None, None, None, None) => wrong("has neither a password nor an API key"),
            (Some(_), None, _, _) | (None, Some(_), _, _) => {
                wrong("has one of `name` and `password` and not the other")
            }
            (_, _, Some(_), None) | (_, _, None, Some(_)) => {
                wrong("has one of `api_key_id` and `api_key` and not the other")
            }
            (_, _, Some(id), _) if id.is_empty() || id.contains('_') => {
                wrong("has an `api_key_id` that is empty or has an underscore in it")
            }
            (Some(name), ..) if name.contains(':') => wrong("has a colon in its `name`"),
            (_, password, _, key) => {
                let is_digest =
                    |text: &Option<String>| text.as_ref().is_none_or(|text| text.starts_with("$argon2id$"));
                if is_digest(password) && is_digest(key) {
                    Ok(())
                } else {
                    wrong("has a secret that is not an Argon2id digest (`$argon2id$...`)")
                }
            }
        }
    }
}

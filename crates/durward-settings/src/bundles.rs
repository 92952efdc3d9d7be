//! `[bundles]` and `[remote_bundles]`: whose bundles of policies are taken, and where they come from.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use durward_bundle::Limits;
use serde::{Deserialize, Serialize};

use super::{ConfigError, is_tenant};

/// Whose bundles are taken, and how large they may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BundleSettings {
    /// The public key (Ed25519), Base64 or PEM, for tenants that have no list in `tenants`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// The same in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key_path: Option<PathBuf>,
    /// Public keys by the names that signatures give them.
    pub keys: BTreeMap<String, String>,
    /// The same in files.
    pub key_paths: BTreeMap<String, PathBuf>,
    /// The names of the keys that may sign for a tenant.
    pub tenants: BTreeMap<String, Vec<String>>,
    /// Whether bundles need no signature. Default: false.
    pub danger_allow_unsigned: bool,
    /// Tenants whose bundles need no signature. Default: none.
    pub danger_unsigned_tenants: Vec<String>,
    /// Whether a bundle may be older than the one in force. Default: false: it may be an old one sent again.
    pub danger_allow_rollback: bool,
    /// Whether bundles may have secrets that are not sealed. Default: false.
    pub danger_accept_unencrypted_secrets: bool,
    /// Most bytes of a bundle. Default: 64 MiB.
    pub archive_bytes_max: usize,
    /// Most bytes of all its files, unpacked. Default: 256 MiB.
    pub content_bytes_max: usize,
    /// Most files in it. Default: 10000.
    pub files_max: usize,
}

/// Where bundles are fetched from.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RemoteBundleSettings {
    /// The address below which a tenant's bundle is found by the tenant's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The tenants whose bundles are fetched.
    pub tenants: Vec<String>,
    /// How changes are noticed. Default: `polling`.
    pub mode: RemoteMode,
    /// How long after an answer the server is asked again. Default: 5 s.
    pub poll_ms: u64,
    /// The same for single tenants.
    pub tenant_poll_ms: BTreeMap<String, u64>,
    /// How long a server may hold a question back in the mode `long-poll`. Default: 30 s.
    pub long_poll_ms: u64,
    /// How long a server may take for its whole answer, beside that. Default: 30 s.
    pub answer_time_ms_max: u64,
    /// The header field that says who asks. Default: `Authorization`.
    pub auth_header: String,
    /// What it says, such as `Bearer ...`. Default: nothing is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_value: Option<String>,
    /// The same in a file, read again for each question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_value_path: Option<PathBuf>,
    /// Whether `http://` is allowed. Default: false.
    pub danger_allow_http: bool,
    /// Whether redirects are followed. Default: false. Credentials never go to another origin.
    pub follow_redirects: bool,
    /// How long to wait after a failure; each further one doubles it. Default: 0.5 s.
    pub backoff_first_ms: u64,
    /// How long to wait at most after failures. Default: 5 s.
    pub backoff_max_ms: u64,
    /// After how long without contact policies count as stale; 0 is never. Default: never.
    pub stale_after_ms: u64,
    /// After how long without contact nothing is decided any more; 0 is never. Default: never.
    pub fail_closed_after_ms: u64,
}

/// How changes of a remote bundle are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteMode {
    /// The server is asked again and again.
    #[default]
    Polling,
    /// The server answers when there is something new.
    LongPoll,
}

impl Default for BundleSettings {
    fn default() -> BundleSettings {
        let limits = Limits::default();
        BundleSettings {
            public_key: None,
            public_key_path: None,
            keys: BTreeMap::new(),
            key_paths: BTreeMap::new(),
            tenants: BTreeMap::new(),
            danger_allow_unsigned: false,
            danger_unsigned_tenants: Vec::new(),
            danger_allow_rollback: false,
            danger_accept_unencrypted_secrets: false,
            archive_bytes_max: limits.archive_bytes_max,
            content_bytes_max: limits.content_bytes_max,
            files_max: limits.files_max,
        }
    }
}

impl Default for RemoteBundleSettings {
    fn default() -> RemoteBundleSettings {
        RemoteBundleSettings {
            url: None,
            tenants: Vec::new(),
            mode: RemoteMode::Polling,
            poll_ms: 5_000,
            tenant_poll_ms: BTreeMap::new(),
            long_poll_ms: 30_000,
            answer_time_ms_max: 30_000,
            auth_header: "Authorization".into(),
            auth_value: None,
            auth_value_path: None,
            danger_allow_http: false,
            follow_redirects: false,
            backoff_first_ms: 500,
            backoff_max_ms: 5_000,
            stale_after_ms: 0,
            fail_closed_after_ms: 0,
        }
    }
}

impl fmt::Debug for RemoteBundleSettings {
    /// What proves who we are is not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteBundleSettings")
            .field("url", &self.url)
            .field("tenants", &self.tenants)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl BundleSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| Err(ConfigError::of_setting(name, message.into()));
        if self.public_key.is_some() && self.public_key_path.is_some() {
            return wrong(
                "bundles.public_key",
                "and `bundles.public_key_path` are both set; one key is enough",
            );
        }
        if let Some(name) = self.keys.keys().find(|name| self.key_paths.contains_key(*name)) {
            return wrong(&format!("bundles.keys.{name}"), "is in `bundles.key_paths` too");
        }
        for (tenant, names) in &self.tenants {
            check_tenant("bundles.tenants", tenant)?;
            let is_unknown =
                |name: &&String| !self.keys.contains_key(*name) && !self.key_paths.contains_key(*name);
            if let Some(name) = names.iter().find(is_unknown) {
                let message =
                    format!("names the key `{name}`, which is not in `bundles.keys` or `bundles.key_paths`");
                return wrong(&format!("bundles.tenants.{tenant}"), &message);
            }
        }
        self.danger_unsigned_tenants
            .iter()
            .try_for_each(|tenant| check_tenant("bundles.danger_unsigned_tenants", tenant))
    }

    /// Whether there is a key for anybody, or nobody needs one.
    pub(super) fn has_trust(&self) -> bool {
        self.public_key.is_some()
            || self.public_key_path.is_some()
            || !self.tenants.is_empty()
            || self.danger_allow_unsigned
            || !self.danger_unsigned_tenants.is_empty()
    }

    pub(super) fn weaknesses(&self) -> Vec<String> {
        let all = [
            (
                self.danger_allow_unsigned,
                "danger_allow_unsigned",
                "whoever can write a bundle can write policies",
            ),
            (
                !self.danger_unsigned_tenants.is_empty(),
                "danger_unsigned_tenants",
                "whoever can write their bundles can write their policies",
            ),
            (self.danger_allow_rollback, "danger_allow_rollback", "an old bundle sent again counts"),
            (
                self.danger_accept_unencrypted_secrets,
                "danger_accept_unencrypted_secrets",
                "secrets travel where everybody on the way can read them",
            ),
        ];
        let set = all.into_iter().filter(|(is_set, ..)| *is_set);
        set.map(|(_, name, why)| format!("`bundles.{name}` is set: {why}")).collect()
    }

    /// The limits that reading a bundle keeps to.
    pub fn limits(&self) -> Limits {
        Limits {
            archive_bytes_max: self.archive_bytes_max,
            content_bytes_max: self.content_bytes_max,
            files_max: self.files_max,
        }
    }
}

fn check_tenant(setting: &str, tenant: &str) -> Result<(), ConfigError> {
    if is_tenant(tenant) {
        return Ok(());
    }
    let message = format!("has `{tenant}`; a tenant is named with letters, digits, `.`, `_` and `-`");
    Err(ConfigError::of_setting(setting, message))
}

impl RemoteBundleSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| {
            Err(ConfigError::of_setting(&format!("remote_bundles.{name}"), message.into()))
        };
        let Some(url) = &self.url else {
            return wrong("url", "is not set; bundles are fetched from below it");
        };
        let is_http = url.starts_with("http://");
        if !is_http && !url.starts_with("https://") {
            return wrong("url", "begins neither with `https://` nor with `http://`");
        }
        if is_http && !self.danger_allow_http {
            let message = "is not `https`: whoever is on the way can hold back changes, and read what authenticates; \
                           `remote_bundles.danger_allow_http` allows it";
            return wrong("url", message);
        }
        if self.tenants.is_empty() {
            return wrong("tenants", "is empty; name the tenants whose bundles are to be fetched");
        }
        for tenant in self.tenants.iter().chain(self.tenant_poll_ms.keys()) {
            check_tenant("remote_bundles.tenants", tenant)?;
        }
        if let Some(tenant) = self.tenant_poll_ms.keys().find(|tenant| !self.tenants.contains(tenant)) {
            return wrong(
                &format!("tenant_poll_ms.{tenant}"),
                "is of a tenant that is not in `remote_bundles.tenants`",
            );
        }
        if self.auth_value.is_some() && self.auth_value_path.is_some() {
            return wrong("auth_value", "and `remote_bundles.auth_value_path` are both set");
        }
        let times = [
            ("poll_ms", self.poll_ms),
            ("long_poll_ms", self.long_poll_ms),
            ("answer_time_ms_max", self.answer_time_ms_max),
            ("backoff_first_ms", self.backoff_first_ms),
            ("backoff_max_ms", self.backoff_max_ms),
        ];
        let own = self.tenant_poll_ms.values().map(|ms| ("tenant_poll_ms", *ms));
        match times.into_iter().chain(own).find(|(_, ms)| *ms == 0) {
            Some((name, _)) => wrong(name, "is 0; the least is 1"),
            None => Ok(()),
        }
    }

    pub(super) fn weaknesses(&self) -> Vec<String> {
        let is_weak = self.url.as_ref().is_some_and(|url| url.starts_with("http://"));
        let weak = "`remote_bundles.url` is not `https`: whoever is on the way can hold back changes";
        is_weak.then(|| weak.to_owned()).into_iter().collect()
    }

    /// How long after an answer a tenant's bundle is asked for again.
    pub fn poll_time(&self, tenant: &str) -> Duration {
        Duration::from_millis(self.tenant_poll_ms.get(tenant).copied().unwrap_or(self.poll_ms))
    }

    /// How long to wait after so many failures in a row, before chance is added.
    pub fn backoff(&self, failures: u32) -> Duration {
        let doubled = self
            .backoff_first_ms
            .saturating_mul(1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX));
        Duration::from_millis(doubled.min(self.backoff_max_ms))
    }

    /// How long an answer may take.
    pub fn answer_time(&self) -> Duration {
        let held = match self.mode {
            RemoteMode::Polling => 0,
            RemoteMode::LongPoll => self.long_poll_ms,
        };
        Duration::from_millis(self.answer_time_ms_max.saturating_add(held))
    }
}

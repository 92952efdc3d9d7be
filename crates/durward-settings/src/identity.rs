//! `[identity]`: users, logins and sessions.

use std::path::{Path, PathBuf};
use std::time::Duration;

use durward_session::identity::IdentityError;
use durward_session::identity::login::{PoolSettings, ThrottleSettings};
use durward_session::identity::protocol::{Mode, NodeSettings, OnLost};
use durward_session::identity::session::{LimitPolicy, SessionSettings};
use durward_session::identity::user::{HashCosts, PasswordRules};
use durward_session::{AuditSettings, AuditSync, SecondStepPolicy, ServiceSettings};
use serde::{Deserialize, Serialize};

use super::{
    ConfigError, LdapUserSettings, NatsStoreSettings, OauthSettings, PagesSettings, PasskeysSettings,
    ResetSettings, ScimSettings, UpstreamSettings, upstream,
};

/// The greatest value of `identity.password_length_min`.
const LENGTH_MIN_MAX: usize = 128;

/// The longest time for which a device is known: browsers keep cookies for no longer.
const DEVICE_S_MAX: u64 = 400 * 24 * 3600;

/// What is promised about sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// Sessions live and die with the process.
    #[default]
    None,
    /// Logins and logouts are written down behind the answer.
    BestEffort,
    /// Logins and logouts are answered once they are written down.
    AssuredWrite,
    /// And each validation sees every logout that was answered anywhere.
    AssuredRead,
}

/// What becomes of validations while the store cannot be reached, in the assured modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WithoutStore {
    /// They are refused.
    #[default]
    Refuse,
    /// They are answered by what this node knows.
    ServeStale,
}

/// What a login beyond `sessions_per_user_max` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondMax {
    /// Ends the user's oldest session.
    #[default]
    DropOldest,
    /// Is refused.
    Refuse,
}

/// When those who have a second step take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecondStepAt {
    /// At each login.
    #[default]
    Login,
    /// When they step up.
    StepUp,
}

/// When the disk is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditSyncs {
    /// Never.
    Never,
    /// Once a second.
    #[default]
    EverySecond,
    /// After each batch of lines.
    Always,
}

/// Which callers may say who a question is about without a token of that user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectsAssertedBy {
    /// Users of `[[auth.users]]` with `may_assert_subjects`.
    #[default]
    MarkedUsers,
    /// Callers with credentials that `[auth]` accepts.
    Authenticated,
    /// Whoever may ask for decisions.
    DangerAnybody,
}

/// Users, logins and sessions. Without `users` or `ldap` there are none, and `/v1` is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IdentitySettings {
    /// The file of the built-in directory, which `durward users` fills; begun where there is none. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<PathBuf>,
    /// The realms whose users are in it. Default: the root realm.
    pub realms: Vec<String>,
    /// What is promised about sessions. Default: `none`.
    pub mode: SessionMode,
    /// What becomes of validations while the store cannot be reached. Default: `refuse`.
    pub without_store: WithoutStore,
    /// The directory of the journal of sessions and of the cluster key, for modes other than `none`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// A file with the secret of the cluster, 64 hexadecimal digits. Default: made in `data`; without that, a new one at each start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_key_path: Option<PathBuf>,
    /// The store for several nodes, in NATS JetStream. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nats: Option<NatsStoreSettings>,
    /// Users in LDAP directories. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ldap: Vec<LdapUserSettings>,
    /// Other OpenID providers at which users may log in. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub upstreams: Vec<UpstreamSettings>,
    /// Whether the login pages ask for a name and a password. Default: yes.
    pub password_form: bool,
    /// How the login pages look and speak. Default: as durward does, in English and German.
    pub pages: PagesSettings,
    /// Passkeys of users. Default: none.
    pub passkeys: PasskeysSettings,
    /// Users for provisioning systems. Default: not answered.
    pub scim: ScimSettings,
    /// Links by which users choose a password that they have forgotten. Default: there are none.
    pub reset: ResetSettings,
    /// How long a session lives at most. Default: 2 hours.
    pub lifetime_s_max: u64,
    /// How long a session may be idle; 0 means for ever. Default: 30 minutes.
    pub idle_s_max: u64,
    /// How many sessions a user may have; 0 means no limit. Default: 0.
    pub sessions_per_user_max: usize,
    /// What a login beyond that does. Default: `drop-oldest`.
    pub beyond_max: BeyondMax,
    /// How many sessions a node holds. Default: 4 million.
    pub sessions_max: usize,
    /// How long a key seals tokens before the next one does. Default: a day.
    pub key_period_s: u64,
    /// The cookie that a login sets when it is asked to. Default: `durward_session`.
    pub cookie_name: String,
    /// Whether browsers send that cookie over TLS only. Default: true, also without TLS here: a proxy may end it.
    pub cookie_secure: bool,
    /// The group whose members administer. Default: `administrators`.
    pub administrators_group: String,
    /// The properties that holders of sessions may set themselves. Default: none.
    pub settable_properties: Vec<String>,
    /// Which callers may ask about subjects that they name without a token. Default: those that are marked in `[[auth.users]]`.
    pub subjects_asserted_by: SubjectsAssertedBy,
    /// When those who have a second step take it. Default: at the login.
    pub second_step: SecondStepAt,
    /// How many passwords are hashed at once. Default: 1.
    pub hashing_threads: usize,
    /// What all of them may take of memory together, in KiB: beyond it there are fewer threads. Default: 256 MiB.
    pub hashing_memory_kib_max: u32,
    /// How long a login may wait for its password to be hashed. Default: 3 seconds.
    pub hashing_wait_ms_max: u64,
    /// What a hash takes of memory, in KiB. Default: 19 MiB.
    pub hash_memory_kib: u32,
    /// How often a hash goes through it. Default: 2.
    pub hash_passes: u32,
    /// How many characters a new password has at least. Default: 8, as NIST wants it.
    pub password_length_min: usize,
    /// A file with passwords that nobody gets any more. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breached_passwords_path: Option<PathBuf>,
    /// How many days old a password may be before another one must be chosen; 0 means however old. Default: 0, as NIST wants it.
    pub password_age_days_max: u64,
    /// How many failures of a user cost nothing. Default: 3.
    pub user_failures_free: u32,
    /// How many failures from an address cost nothing. Default: 20.
    pub address_failures_free: u32,
    /// The longest delay for a user on a known device or at a usual address, and for an address with the user. Default: 1 minute.
    pub user_delay_s_max: u64,
    /// The longest delay for an address. Default: 15 minutes.
    pub address_delay_s_max: u64,
    /// How long a device is known after the last login on it; 0 means never. Default: 30 days.
    pub device_s_max: u64,
    /// The directory of the audit record. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<PathBuf>,
    /// The size at which the next file of the audit record begins. Default: 64 MiB.
    pub audit_file_bytes_max: u64,
    /// How many full files of the audit record are kept; 0 means all. Default: 0.
    pub audit_files_max: usize,
    /// When the disk is waited for. Default: once a second.
    pub audit_sync: AuditSyncs,
}

impl Default for IdentitySettings {
    fn default() -> IdentitySettings {
        let throttle = ThrottleSettings::default();
        let costs = HashCosts::default();
        let session = SessionSettings::default();
        IdentitySettings {
            users: None,
            realms: vec!["/".to_owned()],
            mode: SessionMode::None,
            without_store: WithoutStore::Refuse,
            data: None,
            cluster_key_path: None,
            nats: None,
            ldap: Vec::new(),
            upstreams: Vec::new(),
            password_form: true,
            pages: PagesSettings::default(),
            passkeys: PasskeysSettings::default(),
            scim: ScimSettings::default(),
            reset: ResetSettings::default(),
            lifetime_s_max: session.lifetime_max.as_secs(),
            idle_s_max: session.idle_max.as_secs(),
            sessions_per_user_max: 0,
            beyond_max: BeyondMax::DropOldest,
            sessions_max: session.sessions_max,
            key_period_s: NodeSettings::default().key_period.as_secs(),
            cookie_name: "durward_session".to_owned(),
            cookie_secure: true,
            administrators_group: "administrators".to_owned(),
            settable_properties: Vec::new(),
            subjects_asserted_by: SubjectsAssertedBy::MarkedUsers,
            second_step: SecondStepAt::Login,
            hashing_threads: 1,
            hashing_memory_kib_max: 256 * 1024,
            hashing_wait_ms_max: 3_000,
            hash_memory_kib: costs.memory_kib,
            hash_passes: costs.passes,
            password_length_min: 8,
            breached_passwords_path: None,
            password_age_days_max: 0,
            user_failures_free: throttle.user_free,
            address_failures_free: throttle.address_free,
            user_delay_s_max: throttle.user_delay_max.as_secs(),
            address_delay_s_max: throttle.address_delay_max.as_secs(),
            device_s_max: ServiceSettings::default().session.devices_max.as_secs(),
            audit: None,
            audit_file_bytes_max: 64 << 20,
            audit_files_max: 0,
            audit_sync: AuditSyncs::EverySecond,
        }
    }
}

impl IdentitySettings {
    /// Whether there are users at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.users.is_some() || !self.ldap.is_empty()
    }

    /// Several nodes share keys: one that each has made for itself would do for none of the others.
    fn check_cluster(&self) -> Result<(), ConfigError> {
        let Some(nats) = &self.nats else { return Ok(()) };
        nats.store().map_err(|error| ConfigError::of_setting("identity.nats", error.to_string()))?;
        if self.cluster_key_path.is_none() {
            let message = "is needed with `[identity.nats]`: all nodes have the same secret, 64 hexadecimal digits in a file";
            return Err(ConfigError::of_setting("identity.cluster_key_path", message.to_owned()));
        }
        Ok(())
    }

    fn check_ldap(&self) -> Result<(), ConfigError> {
        for ldap in &self.ldap {
            ldap.directory().map_err(|error| ConfigError::of_setting("identity.ldap", error.to_string()))?;
            if ldap.realms.is_empty() {
                let message = "is empty; the root realm is `/`".to_owned();
                return Err(ConfigError::of_setting("identity.ldap.realms", message));
            }
            if self.users.is_some()
                && let Some(twice) = ldap.realms.iter().find(|realm| self.realms.contains(realm))
            {
                let message =
                    format!("has the realm `{twice}`, which `identity.realms` has too: one of them may");
                return Err(ConfigError::of_setting("identity.ldap.realms", message));
            }
        }
        Ok(())
    }

    /// What is allowed but weak.
    pub(super) fn weaknesses(&self) -> Vec<String> {
        let mut weak = Vec::new();
        if self.ldap.iter().any(LdapUserSettings::is_plain) {
            weak.push(
                "`identity.ldap.danger_plain_text`: passwords go over the network unencrypted".to_owned(),
            );
        }
        if self.nats.as_ref().is_some_and(NatsStoreSettings::is_plain) {
            weak.push("`identity.nats`: sessions go over the network unencrypted; set `tls`".to_owned());
        }
        if self.is_on() && !self.cookie_secure {
            weak.push("`identity.cookie_secure` is off: browsers send session tokens without TLS".to_owned());
        }
        if self.is_on() && !self.asks_for_tokens() {
            weak.push(
                "`identity.subjects_asserted_by` is `danger-anybody`: whoever may ask for decisions may ask as any user".to_owned(),
            );
        }
        weak
    }

    /// Whether there are users, and not everybody may ask about them without their tokens.
    pub fn asks_for_tokens(&self) -> bool {
        self.is_on() && self.subjects_asserted_by != SubjectsAssertedBy::DangerAnybody
    }

    pub(super) fn check(&self, oauth: &OauthSettings) -> Result<(), ConfigError> {
        let wrong = |name: &str, message: &str| {
            Err(ConfigError::of_setting(&format!("identity.{name}"), message.to_owned()))
        };
        if !self.is_on() {
            // Whoever says how sessions are kept means to have some, and nobody could log in: that is told at the start,
            // not to the first user.
            let without = "keeps sessions, and there are no users: name their file with `identity.users`, or a \
                           directory with `[[identity.ldap]]`";
            if !self.upstreams.is_empty() {
                return wrong("upstreams", "are there, and no users: name their file with `identity.users`");
            }
            return match (self.mode == IdentitySettings::default().mode, &self.nats) {
                (true, None) => Ok(()),
                // Revoked tokens of clients travel by it as well.
                (true, Some(_)) if oauth.is_on() => Ok(()),
                (false, _) => wrong("mode", without),
                (true, Some(_)) => wrong("nats", without),
            };
        }
        if self.mode != SessionMode::None && self.data.is_none() && self.nats.is_none() {
            return wrong(
                "mode",
                "keeps sessions: name the directory for them with `identity.data`, or `[identity.nats]`",
            );
        }
        self.check_cluster()?;
        self.check_ldap()?;
        self.passkeys.check(self)?;
        if self.realms.is_empty() && self.ldap.is_empty() {
            return wrong("realms", "is empty; the root realm is `/`");
        }
        let positive: [(&str, u64); 5] = [
            ("lifetime_s_max", self.lifetime_s_max),
            ("key_period_s", self.key_period_s),
            ("hashing_threads", self.hashing_threads as u64),
            ("sessions_max", self.sessions_max as u64),
            ("audit_file_bytes_max", self.audit_file_bytes_max),
        ];
        for (name, value) in positive {
            if value == 0 {
                return wrong(name, "is 0; the least is 1");
            }
        }
        if self.hash_memory_kib > self.hashing_memory_kib_max {
            return wrong(
                "hashing_memory_kib_max",
                "is less than one hash takes: see `identity.hash_memory_kib`",
            );
        }
        if self.password_length_min > LENGTH_MIN_MAX {
            return wrong("password_length_min", "is more than 128, which few could meet");
        }
        // A key opens tokens for as long as sessions under it live: with 64 keys at most, this many follow each other.
        if self.lifetime_s_max / self.key_period_s > 60 {
            return wrong(
                "key_period_s",
                "is too short for `identity.lifetime_s_max`: at most 60 keys are kept",
            );
        }
        if self.lifetime_s_max > u64::from(u32::MAX / 4) {
            return wrong("lifetime_s_max", "is longer than thirty years");
        }
        if self.device_s_max > DEVICE_S_MAX {
            return wrong("device_s_max", "is longer than 400 days, for which browsers keep a cookie");
        }
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if self.cookie_name.is_empty() || !self.cookie_name.bytes().all(is_token) {
            return wrong("cookie_name", "is no name that a cookie can have");
        }
        upstream::check(self, oauth)
    }

    /// What new passwords must be, over HTTP and by commands.
    ///
    /// # Errors
    /// The list of breached ones cannot be used.
    pub fn password_rules(&self) -> Result<PasswordRules, IdentityError> {
        PasswordRules::new(self.password_length_min, self.breached_passwords_path.as_deref())
            .map_err(|error| error.of("`identity.breached_passwords_path`"))
    }

    /// The costs of hashes that are made from now on.
    pub fn costs(&self) -> HashCosts {
        HashCosts { memory_kib: self.hash_memory_kib, passes: self.hash_passes, lanes: 1 }
    }

    /// How many passwords are hashed at once: as many as there are threads for, and memory.
    pub fn hashing_at_once(&self) -> usize {
        let fit = self.hashing_memory_kib_max / self.hash_memory_kib.max(1);
        self.hashing_threads.min(usize::try_from(fit).unwrap_or(usize::MAX)).max(1)
    }

    /// These settings as the session service takes them.
    pub fn service(&self) -> ServiceSettings {
        let seconds = Duration::from_secs;
        ServiceSettings {
            node: NodeSettings {
                mode: match self.mode {
                    SessionMode::None => Mode::None,
                    SessionMode::BestEffort => Mode::BestEffort,
                    SessionMode::AssuredWrite => Mode::AssuredWrite,
                    SessionMode::AssuredRead => Mode::AssuredRead,
                },
                on_lost: match self.without_store {
                    WithoutStore::Refuse => OnLost::Refuse,
                    WithoutStore::ServeStale => OnLost::ServeStale,
                },
                key_period: seconds(self.key_period_s),
                ..NodeSettings::default()
            },
            session: SessionSettings {
                lifetime_max: seconds(self.lifetime_s_max),
                idle_max: seconds(self.idle_s_max),
                per_user_max: (self.sessions_per_user_max > 0).then_some(self.sessions_per_user_max),
                on_limit: match self.beyond_max {
                    BeyondMax::DropOldest => LimitPolicy::DropOldest,
                    BeyondMax::Refuse => LimitPolicy::Refuse,
                },
                sessions_max: self.sessions_max,
                devices_max: seconds(self.device_s_max),
                ..SessionSettings::default()
            },
            throttle: ThrottleSettings {
                user_free: self.user_failures_free,
                address_free: self.address_failures_free,
                user_delay_max: seconds(self.user_delay_s_max),
                address_delay_max: seconds(self.address_delay_s_max),
                ..ThrottleSettings::default()
            },
            pool: PoolSettings {
                at_once: self.hashing_at_once(),
                wait_max: Duration::from_millis(self.hashing_wait_ms_max),
                ..PoolSettings::default()
            },
            administrators_group: self.administrators_group.clone(),
            settable_properties: self.settable_properties.clone(),
            password_age_max: (self.password_age_days_max > 0)
                .then(|| seconds(self.password_age_days_max.saturating_mul(24 * 3600))),
            second_step: match self.second_step {
                SecondStepAt::Login => SecondStepPolicy::AtLogin,
                SecondStepAt::StepUp => SecondStepPolicy::OnStepUp,
            },
            // It was checked.
            passkeys: self.passkeys.service(self).ok().flatten(),
            ..ServiceSettings::default()
        }
    }

    /// A record at another place, kept as `identity.audit` is.
    pub fn audit_at(&self, path: &Path) -> AuditSettings {
        AuditSettings {
            path: path.to_owned(),
            file_bytes_max: self.audit_file_bytes_max,
            files_max: self.audit_files_max,
            sync: self.sync(),
        }
    }

    /// When the audit waits for the disk.
    pub fn sync(&self) -> AuditSync {
        match self.audit_sync {
            AuditSyncs::Never => AuditSync::Never,
            AuditSyncs::EverySecond => AuditSync::EverySecond,
            AuditSyncs::Always => AuditSync::Always,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_hash_fit_into_the_memory_they_may_take() {
        let of = |threads, memory_kib, hash_kib| {
            let settings = IdentitySettings {
                users: Some(PathBuf::from("users")),
                hashing_threads: threads,
                hashing_memory_kib_max: memory_kib,
                hash_memory_kib: hash_kib,
                ..IdentitySettings::default()
            };
            settings.check(&OauthSettings::default()).map(|()| settings.service().pool.at_once)
        };
        assert_eq!(of(1, 65_536, 19_456), Ok(1));
        assert_eq!(of(8, 65_536, 19_456), Ok(3));
        assert!(of(8, 16_384, 19_456).unwrap_err().to_string().contains("identity.hashing_memory_kib_max"));
    }
}

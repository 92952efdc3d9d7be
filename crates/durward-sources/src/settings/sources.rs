//! `[sources]`: where policies get attributes from over the network, and what that may cost.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use durward_session::identity::IdentityError;
use durward_session::ldap::{LdapSecurity, LdapSettings};
use serde::{Deserialize, Serialize};

use super::{JwtSettings, SettingError};

/// What attribute sources may cost, and attributes from services that speak HTTP and JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceSettings {
    /// A file in PEM form with authorities that services' certificates may come from, beside those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// How long connecting may take, TLS included. Default: 10 s.
    pub connect_time_ms_max: u64,
    /// How long a service may take for its whole answer. Default: 30 s.
    pub answer_time_ms_max: u64,
    /// Most bytes of an answer, an event or a message that a policy may ask for. Default: 16 MiB.
    pub answer_bytes_max: usize,
    /// Most requests under way at once; further ones wait. Default: 256.
    pub requests_max: usize,
    /// Most event streams and WebSockets open at once; further ones are errors. Default: 1000.
    pub streams_max: usize,
    /// Most bytes of answers that `cache_s` of `[[attributes]]` remembers, with the questions; 0 remembers none. Default: 16 MiB.
    pub cache_bytes_max: usize,
    /// A JSON file of attributes that are published rather than asked for; it is read again when it changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<PathBuf>,
    /// How often that file is looked at. Default: 1 s.
    pub published_poll_ms: u64,
    /// Attributes by their names, such as `hr.department`.
    pub attributes: BTreeMap<String, AttributeSourceSettings>,
    /// Directories that `[[attributes]]` search, by their names.
    pub ldap: BTreeMap<String, LdapSourceSettings>,
    /// Issuers whose tokens `[[attributes]]` believe, by their names.
    pub jwt: BTreeMap<String, JwtSettings>,
}

/// How far below an entry is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LdapDepth {
    /// Anywhere.
    #[default]
    Subtree,
    /// Directly.
    OneLevel,
}

/// An LDAP directory that attributes are searched in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LdapSourceSettings {
    /// Servers with the same content, in the order in which they are preferred.
    pub servers: Vec<String>,
    /// Below which entry is searched.
    pub base: String,
    /// Whether `ldap://` stays without TLS. Default: no.
    #[serde(default)]
    pub danger_plain_text: bool,
    /// The certificates that servers are held to, in PEM. Default: the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
    /// Who searches. Default: nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_as: Option<String>,
    /// The file with his password. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_password_path: Option<PathBuf>,
    /// How long connecting may take, TLS included. Default: 2 seconds.
    #[serde(default = "two_seconds")]
    pub connect_time_ms_max: u64,
    /// How long an answer may take. Default: 3 seconds.
    #[serde(default = "three_seconds")]
    pub answer_time_ms_max: u64,
    /// How many connections there may be. Default: 16.
    #[serde(default = "sixteen")]
    pub connections_max: usize,
}

fn two_seconds() -> u64 {
    2_000
}

fn three_seconds() -> u64 {
    3_000
}

fn sixteen() -> usize {
    16
}

impl LdapSourceSettings {
    /// The settings as the directory takes them.
    ///
    /// # Errors
    /// What contradicts itself, or cannot be.
    pub(crate) fn settings(&self) -> Result<LdapSettings, IdentityError> {
        let search_as = match (&self.search_as, &self.search_password_path) {
            (Some(dn), Some(path)) => Some((dn.clone(), path.clone())),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(IdentityError::new("`search_as` and `search_password_path` go together"));
            }
        };
        let settings = LdapSettings {
            security: if self.danger_plain_text { LdapSecurity::DangerPlainText } else { LdapSecurity::Tls },
            ca_file: self.authorities.clone(),
            search_as,
            connect_within: Duration::from_millis(self.connect_time_ms_max),
            answer_within: Duration::from_millis(self.answer_time_ms_max),
            connections_max: self.connections_max,
            ..LdapSettings::new(self.servers.clone(), &self.base)
        };
        settings.check()?;
        Ok(settings)
    }

    /// Whether a password goes over the network in plain text.
    fn is_plain(&self) -> bool {
        self.danger_plain_text && self.servers.iter().any(|server| server.starts_with("ldap://"))
    }
}

/// One attribute whose values come from a service that speaks HTTP and JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttributeSourceSettings {
    /// The address to ask. `{entity}` stands for the entity, `{0}`, `{1}`, ... for the arguments.
    pub url: String,
    /// The method. Default: `GET`.
    #[serde(default = "get")]
    pub method: String,
    /// Header fields, other than credentials.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The name of the credentials: `http.NAME` in the secrets, as for `http.get`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// What is sent, as JSON: `{entity}` and `{0}` stand for whole values. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Which part of the answer is the value, as a JSON pointer (RFC 6901). Default: all of it.
    #[serde(default)]
    pub pointer: String,
    /// How long after an answer the service is asked again. Default: 30 s.
    #[serde(default = "half_a_minute")]
    pub poll_ms: u64,
    /// Most bytes of an answer. Default: 1 MiB.
    #[serde(default = "mebibyte")]
    pub answer_bytes_max: usize,
}

fn get() -> String {
    "GET".into()
}

fn half_a_minute() -> u64 {
    30_000
}

fn mebibyte() -> usize {
    1 << 20
}

impl Default for SourceSettings {
    fn default() -> SourceSettings {
        SourceSettings {
            authorities: None,
            connect_time_ms_max: 10_000,
            answer_time_ms_max: 30_000,
            answer_bytes_max: 16 << 20,
            requests_max: 256,
            streams_max: 1_000,
            cache_bytes_max: 16 << 20,
            published: None,
            published_poll_ms: 1_000,
            attributes: BTreeMap::new(),
            ldap: BTreeMap::new(),
            jwt: BTreeMap::new(),
        }
    }
}

impl SourceSettings {
    /// What can be said of them without opening anything.
    ///
    /// # Errors
    /// A limit of zero, or what is wrong with a directory, an issuer or an attribute.
    pub fn check(&self) -> Result<(), SettingError> {
        for (name, number) in [
            ("sources.connect_time_ms_max", self.connect_time_ms_max),
            ("sources.answer_time_ms_max", self.answer_time_ms_max),
            ("sources.answer_bytes_max", self.answer_bytes_max as u64),
            ("sources.requests_max", self.requests_max as u64),
            ("sources.streams_max", self.streams_max as u64),
            ("sources.published_poll_ms", self.published_poll_ms),
        ] {
            if number == 0 {
                return Err(SettingError::new(name, "is 0: nothing could be asked".into()));
            }
        }
        for (name, directory) in &self.ldap {
            let wrong = |error: IdentityError| {
                SettingError::new(&format!("sources.ldap.{name}"), format!("cannot be used: {error}"))
            };
            directory.settings().map_err(wrong)?;
        }
        self.jwt.iter().try_for_each(|(name, issuer)| issuer.check(&format!("sources.jwt.{name}")))?;
        self.attributes.iter().try_for_each(|(name, attribute)| crate::custom::check(name, attribute))
    }

    /// Reads `sources.published` once: what a server says where nothing else reads that file.
    ///
    /// # Errors
    /// The file cannot be read or publishes no attributes.
    pub fn check_published(&self) -> Result<(), SettingError> {
        self.published.as_deref().map_or(Ok(()), crate::published::check)
    }

    /// What is allowed but weak.
    pub fn weaknesses(&self) -> Vec<String> {
        let plain = self.ldap.iter().filter(|(_, directory)| directory.is_plain());
        let plain = plain.map(|(name, _)| {
            format!(
                "`sources.ldap.{name}.danger_plain_text` is set: whoever is on the way can say what is in it"
            )
        });
        let issuers =
            self.jwt.iter().flat_map(|(name, issuer)| issuer.weaknesses(&format!("sources.jwt.{name}")));
        plain.chain(issuers).collect()
    }

    /// Every file that is named.
    pub fn paths(&mut self) -> impl Iterator<Item = &mut Option<PathBuf>> {
        let directories = self.ldap.values_mut();
        let directories = directories.flat_map(|one| [&mut one.authorities, &mut one.search_password_path]);
        let issuers = self.jwt.values_mut().flat_map(|one| [&mut one.keys, &mut one.authorities]);
        [&mut self.authorities, &mut self.published].into_iter().chain(directories).chain(issuers)
    }

    /// How long connecting may take.
    pub fn connect_time_max(&self) -> Duration {
        Duration::from_millis(self.connect_time_ms_max)
    }

    /// How long an answer may take.
    pub fn answer_time_max(&self) -> Duration {
        Duration::from_millis(self.answer_time_ms_max)
    }
}
